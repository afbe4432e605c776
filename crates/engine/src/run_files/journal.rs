//! Reads the journal of a run, finished or not.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use ralph_core::ids::RunId;
use ralph_core::run::RunEvent;
use serde::Deserialize;

use crate::untrusted::open_own;

/// Reads a journal. Lines that this version cannot read, and a last line cut short by a crash, are
/// skipped.
pub fn read(path: &Path) -> io::Result<Vec<RunEvent>> {
    let mut events = Vec::new();
    let mut reader = BufReader::new(open_own(path, OpenOptions::new().read(true))?);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(events);
        }
        if let Ok(event) = serde_json::from_slice(&line) {
            events.push(event);
        }
    }
}

/// The part of a line that identifies the run of a journal.
#[derive(Deserialize)]
struct Named {
    run: RunId,
}

/// The run of a journal; `None` where it is unknown.
pub fn run_of(path: &Path) -> Option<RunId> {
    let mut line = Vec::new();
    let file = open_own(path, OpenOptions::new().read(true)).ok()?;
    BufReader::new(file).read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice::<Named>(&line).ok().map(|named| named.run)
}

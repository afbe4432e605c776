//! Follows a run from another process: reads its events as they happen, until it ends.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ralph_engine::socket::client::{self, ClientError};

use crate::error::{CliError, Result, quoted};
use crate::status_query::{self, RunFiles};
use crate::wiring::Context;

/// How often, and how long each time, to wait for a run that has just started.
const TRIES: u32 = 40;
const MOMENT: Duration = Duration::from_millis(50);

/// The lines of the journal of the active run, from the first on. The channel closes when the run ends. `None` if no
/// run is active here.
pub(crate) fn follow(context: &mut Context<'_>) -> Result<Option<Receiver<String>>> {
    context.refuse_in_session()?;
    match socket(context)? {
        Some(socket) => lines_of(&socket),
        None => Ok(None),
    }
}

/// The same of the run with this control socket.
pub(crate) fn lines_of(socket: &Path) -> Result<Option<Receiver<String>>> {
    let lines = match client::feed(socket, 1) {
        Ok(lines) => lines,
        // It ended a moment ago.
        Err(ClientError::NobodyThere(_)) => return Ok(None),
        Err(error) => {
            return Err(failed!("the run cannot be followed: {error}"));
        }
    };
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    Ok(Some(receiver))
}

fn socket(context: &mut Context<'_>) -> Result<Option<PathBuf>> {
    for _ in 0..TRIES {
        let run_files = RunFiles::read(context)?;
        if run_files.holder.is_none() {
            return Ok(None);
        }
        if let Some(socket) = run_files.socket() {
            return Ok(Some(socket));
        }
        if let Some(folder) = status_query::first_lane(context)? {
            return Err(CliError::failed("several branches are active, each with its own run")
                .hint(format!("follow one: ralph -C {} logs -f", quoted(&folder)))
                .hint("see all of them: ralph status"));
        }
        std::thread::park_timeout(MOMENT);
    }
    Err(CliError::failed("the run has not opened its socket yet").hint("try again in a moment"))
}

pub(crate) fn report_no_run(context: &mut Context<'_>) {
    context.out.note("no run is active in this worktree; start one: ralph build");
}

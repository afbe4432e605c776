//! The real output of opencode in every case that was provoked: file, how the process ended, and what we make of it. A
//! new transcript in `testkit/transcripts/opencode` needs a row here.

use std::path::{Path, PathBuf};

use ralph_core::agent::EndClass::{self, *};
use ralph_core::agent::{AgentEvent, ProcessEnd, SessionEnd};

use crate::agents::find;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/transcripts/opencode")
}

/// File, end of the process, class, final text, tokens read and written, price in millionths of a dollar.
type Row = (&'static str, ProcessEnd, EndClass, &'static str, (u64, u64), Option<u64>);

const DONE: &str = "All done. <task-done>t-1</task-done>";
const OK: ProcessEnd = ProcessEnd::Exited { code: 0 };
const BAD: ProcessEnd = ProcessEnd::Exited { code: 1 };
const NONE: (u64, u64) = (0, 0);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("cut", BAD, Network, "", NONE, None),
    ("done", OK, Completed, DONE, (3_300, 100), Some(2_800)),
    ("e400", BAD, Rejected, "", NONE, None),
    ("e401", BAD, Auth, "", NONE, None),
    ("e403", BAD, Forbidden, "", NONE, None),
    ("e429", BAD, RateLimit, "", NONE, None),
    // It waits for an hour and prints nothing at all.
    ("e429ra", ProcessEnd::Silent { after_ms: 900_000 }, Silence, "", NONE, None),
    ("e500", BAD, Overload, "", NONE, None),
    // It would go on forever, and ralph ended it.
    ("etoolong", ProcessEnd::Signalled { signal: 15 }, TooLong, "", (100, 20), None),
    ("noauto", OK, Completed, DONE, (3_300, 100), Some(2_800)),
    ("sse-error", BAD, Overload, "", NONE, None),
    ("text", OK, Completed, DONE, (2_200, 30), Some(1_350)),
    ("toolerr", OK, Completed, "It failed.", (200, 40), None),
];

fn play(file: &str, end: &ProcessEnd) -> (Vec<AgentEvent>, SessionEnd) {
    let bytes = std::fs::read(folder().join(format!("{file}.ndjson"))).unwrap();
    let (mut driver, mut events) = ((find("opencode").unwrap().driver)(None), Vec::new());
    for line in bytes.split(|byte| *byte == b'\n') {
        driver.line(line, false, &mut events, &mut vec![]);
    }
    (events, driver.end(end, ""))
}

#[test]
fn every_transcript_is_read_as_the_table_says() {
    for (file, process, class, text, tokens, cost) in ROWS {
        let (events, end) = play(file, process);
        assert_eq!(end.class, *class, "{file}: {end:?}");
        assert_eq!(end.text, *text, "{file}");
        assert_eq!((end.usage.input_tokens, end.usage.output_tokens), *tokens, "{file}");
        assert_eq!(end.usage.cost_micro_usd, *cost, "{file}");
        assert_eq!((end.model, end.resets_at), (None, None), "{file}");
        let unknown = events.iter().find(|event| matches!(event, AgentEvent::Unknown { .. }));
        assert_eq!(unknown, None, "{file}");
    }
}

#[test]
fn every_transcript_has_a_row() {
    let names = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut files: Vec<String> =
        names.filter_map(|name| Some(name.to_str()?.strip_suffix(".ndjson")?.to_owned())).collect();
    files.sort();
    let mut rows: Vec<&str> = ROWS.iter().map(|row| row.0).collect();
    rows.sort_unstable();
    assert_eq!(files, rows);
}

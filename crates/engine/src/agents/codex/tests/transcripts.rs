//! The real output of Codex in every case that was provoked: file, how the process ended, and what we make of it. A
//! new transcript in `testkit/transcripts/codex` needs a row here.

use std::path::{Path, PathBuf};

use ralph_core::agent::EndClass::{self, *};
use ralph_core::agent::{AgentEvent, ProcessEnd, SessionEnd};

use crate::agents::find;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/transcripts/codex")
}

/// File, end of the process, class, final text, tokens read and written.
type Row = (&'static str, ProcessEnd, EndClass, &'static str, (u64, u64));

const DONE: &str = "All done. <task-done>t-1</task-done>";
const OK: ProcessEnd = ProcessEnd::Exited { code: 0 };
const BAD: ProcessEnd = ProcessEnd::Exited { code: 1 };
const NONE: (u64, u64) = (0, 0);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("cut", BAD, Network, "", NONE),
    ("done", OK, Completed, DONE, (3_300, 100)),
    ("e400", BAD, Rejected, "", NONE),
    ("e401", BAD, Auth, "", NONE),
    ("e403", BAD, Forbidden, "", NONE),
    ("e429", BAD, RateLimit, "", NONE),
    // It waits for an hour without a word.
    ("e429ra", ProcessEnd::Silent { after_ms: 900_000 }, UsageWindow, "", NONE),
    ("e500", BAD, Overload, "", NONE),
    // The provider calls it an invalid request, and nothing else.
    ("etoolong", BAD, Rejected, "", NONE),
    ("patch", OK, Completed, DONE, (2_400, 70)),
    ("sandbox-ro", OK, Completed, DONE, (3_300, 100)),
    ("sandbox-ww", OK, Completed, DONE, (3_300, 100)),
    ("sandbox-ww2", OK, Completed, DONE, (3_300, 100)),
    ("sig-INT", BAD, Crash, "", NONE),
    ("sig-KILL", ProcessEnd::Signalled { signal: 9 }, Crash, "", NONE),
    ("sig-TERM", ProcessEnd::Stopped, Cancelled, "", NONE),
    ("sse-error", BAD, Network, "", NONE),
    ("text", OK, Completed, DONE, (2_200, 30)),
    ("toolerr", OK, Completed, "It failed.", (200, 40)),
];

fn play(file: &str, end: &ProcessEnd) -> (Vec<AgentEvent>, SessionEnd) {
    let bytes = std::fs::read(folder().join(format!("{file}.ndjson"))).unwrap();
    let (mut driver, mut events) = ((find("codex").unwrap().driver)(None), Vec::new());
    for line in bytes.split(|byte| *byte == b'\n') {
        driver.line(line, false, &mut events, &mut vec![]);
    }
    (events, driver.end(end, ""))
}

#[test]
fn every_transcript_is_read_as_the_table_says() {
    for (file, process, class, text, tokens) in ROWS {
        let (events, end) = play(file, process);
        assert_eq!(end.class, *class, "{file}: {end:?}");
        assert_eq!(end.text, *text, "{file}");
        assert_eq!((end.usage.input_tokens, end.usage.output_tokens), *tokens, "{file}");
        // Codex names neither its model nor a price.
        assert_eq!(
            (end.model, end.usage.cost_micro_usd, end.resets_at),
            (None, None, None),
            "{file}"
        );
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

#[test]
fn a_session_is_reported_in_order() {
    let (events, _) = play("done", &OK);
    let reported: Vec<String> = events
        .iter()
        .map(|event| match event {
            AgentEvent::Started { .. } => "started".to_owned(),
            AgentEvent::Thinking { text } | AgentEvent::Text { text } => text.clone(),
            AgentEvent::ToolStarted { name, .. } => name.clone(),
            AgentEvent::ToolEnded { is_error, .. } => format!("error: {is_error}"),
            AgentEvent::Result { .. } => "result".to_owned(),
            other => format!("{other:?}"),
        })
        .collect();
    let work = ["shell", "error: false", "shell", "error: true", DONE, "result"];
    assert_eq!(reported[..3], ["started", "I think.", "I will write the file."]);
    assert_eq!(reported[3..], work);
}

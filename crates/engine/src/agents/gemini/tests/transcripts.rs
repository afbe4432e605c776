//! The real output of Gemini CLI in every case that was provoked: file, how the process ended, and what we make of it.
//! A new transcript in `testkit/transcripts/gemini` needs a row here.

use std::path::{Path, PathBuf};

use ralph_core::agent::EndClass::{self, *};
use ralph_core::agent::{AgentEvent, ProcessEnd, SessionEnd};

use crate::agents::find;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/transcripts/gemini")
}

/// File, end of the process, last line of stderr, class, final text, tokens read and written.
type Row = (&'static str, ProcessEnd, &'static str, EndClass, &'static str, (u64, u64));

const DONE: &str = "All done. <task-done>t-1</task-done>";
const NONE: (u64, u64) = (0, 0);
const LATE: ProcessEnd = ProcessEnd::TimedOut { after_ms: 180_000 };

const fn code(code: i32) -> ProcessEnd {
    ProcessEnd::Exited { code }
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("cut", code(1), "bytesRead: 397", Network, "", NONE),
    ("done", code(0), "", Completed, DONE, (3_300, 100)),
    ("e400", code(144), "status: 400", Rejected, "", NONE),
    ("e401", code(145), "status: 401", Auth, "", NONE),
    ("e403", code(147), "status: 403", Forbidden, "", NONE),
    ("e429", LATE, "status: 429", RateLimit, "", NONE),
    ("e429ra", code(173), "status: 429", UsageWindow, "", NONE),
    ("e500", LATE, "status: 500", Overload, "", NONE),
    // The provider calls it an invalid argument, and nothing else.
    ("etoolong", code(144), "status: 400", Rejected, "", NONE),
    ("noyolo", code(0), "", Completed, DONE, (3_300, 100)),
    ("sse-error", code(0), "", Overload, "", NONE),
    ("text", code(0), "", Completed, DONE, (2_200, 30)),
    ("toolerr", code(0), "", Completed, "It failed.", (200, 40)),
];

fn play(file: &str, end: &ProcessEnd, stderr: &str) -> (Vec<AgentEvent>, SessionEnd) {
    let bytes = std::fs::read(folder().join(format!("{file}.ndjson"))).unwrap();
    let (mut driver, mut events) = ((find("gemini").unwrap().driver)(None), Vec::new());
    for line in bytes.split(|byte| *byte == b'\n') {
        driver.line(line, false, &mut events, &mut vec![]);
    }
    (events, driver.end(end, stderr))
}

#[test]
fn every_transcript_is_read_as_the_table_says() {
    for (file, process, stderr, class, text, tokens) in ROWS {
        let (events, end) = play(file, process, stderr);
        assert_eq!(end.class, *class, "{file}: {end:?}");
        assert_eq!(end.text, *text, "{file}");
        assert_eq!((end.usage.input_tokens, end.usage.output_tokens), *tokens, "{file}");
        assert_eq!(end.usage.cost_micro_usd, None, "{file}");
        assert_eq!(end.model.as_deref(), Some("gemini-2.5-pro"), "{file}");
        assert_eq!(end.resets_at.is_some(), *file == "e429ra", "{file}");
        let unknown = events.iter().find(|event| matches!(event, AgentEvent::Unknown { .. }));
        assert_eq!(unknown, None, "{file}");
    }
    let (_, end) = play("noyolo", &code(0), "");
    assert_eq!(end.denied, ["write_file", "run_shell_command"]);
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

//! The real output of Claude Code in every case that was provoked: file, how the process ended, and
//! what we make of it. A new transcript in `testkit/transcripts/claude` needs a row here.

use std::path::{Path, PathBuf};

use ralph_core::agent::EndClass::{self, *};
use ralph_core::agent::{AgentEvent, ProcessEnd, SessionEnd};

use crate::agents::find;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/transcripts/claude")
}

/// What a session came to.
struct Row {
    file: &'static str,
    end: ProcessEnd,
    class: EndClass,
    text: &'static str,
    /// In millionths of a dollar; `None`: the transcript reports no price.
    cost: Option<u64>,
    denied: &'static [&'static str],
}

const fn row(
    file: &'static str,
    code: i32,
    class: EndClass,
    text: &'static str,
    cost: Option<u64>,
    denied: &'static [&'static str],
) -> Row {
    Row { file, end: ProcessEnd::Exited { code }, class, text, cost, denied }
}

const fn ended(file: &'static str, end: ProcessEnd, class: EndClass) -> Row {
    Row { file, end, class, text: "", cost: None, denied: &[] }
}

const DONE: &str = "All done. <task-done>t-1</task-done>";
const LATE: ProcessEnd = ProcessEnd::TimedOut { after_ms: 150_000 };
const KILLED: ProcessEnd = ProcessEnd::Signalled { signal: 9 };
const TERMED: ProcessEnd = ProcessEnd::Exited { code: 143 };

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("acceptedits", 0, Completed, DONE, Some(18_440), &["Bash"]),
    row("allowedtools", 0, Completed, DONE, Some(18_440), &[]),
    row("automode", 0, Completed, DONE, Some(18_440), &["Bash"]),
    row("bg-disabled", 0, Completed, DONE, Some(2_400), &[]),
    row("budget", 1, MaxTurns, "", Some(240_000), &[]),
    row("control", 0, Completed, DONE, Some(1_600), &[]),
    row("cut", 0, Completed, "this text will be cut in the middle of it all", Some(1_640), &[]),
    row("cutconn", 1, Network, "", Some(0), &[]),
    row("cutx1", 0, Completed, DONE, Some(1_220), &[]),
    row("default-perms", 0, Completed, DONE, Some(18_440), &["Write", "Bash"]),
    row("done", 0, Completed, DONE, Some(18_440), &[]),
    row("dontask", 0, Completed, DONE, Some(18_440), &["Write", "Bash"]),
    row("e400", 1, Rejected, "", Some(0), &[]),
    ended("e401", LATE, Auth),
    row("e401-r2", 1, Auth, "", Some(0), &[]),
    row("e403", 1, Forbidden, "", Some(0), &[]),
    row("e404", 1, UnknownModel, "", Some(0), &[]),
    row("e429", 1, RateLimit, "", Some(0), &[]),
    row("e429noretry", 1, UsageWindow, "", Some(0), &[]),
    row("e429ra", 1, UsageWindow, "", Some(0), &[]),
    row("e429unified", 1, UsageWindow, "", Some(0), &[]),
    row("e429x2", 0, Completed, DONE, Some(800), &[]),
    row("e500", 1, Overload, "", Some(0), &[]),
    row("e500-r2", 1, Overload, "", Some(0), &[]),
    row("e529", 1, Overload, "", Some(0), &[]),
    row("e529-r0", 1, Overload, "", Some(0), &[]),
    row("ecredit", 1, Billing, "", Some(0), &[]),
    row("empty", 0, Empty, "", Some(1_600), &[]),
    row("etoolong", 1, TooLong, "", Some(0), &[]),
    row("hang", 0, Completed, "this text will hang in the middle of it all", Some(800), &[]),
    ended("hanghdr", ProcessEnd::Silent { after_ms: 400_000 }, Silence),
    row("hooks", 0, Completed, DONE, Some(18_440), &[]),
    row("hooks-bare", 0, Completed, DONE, Some(18_440), &[]),
    row("hooks-events", 0, Completed, DONE, Some(18_440), &[]),
    row("json", 0, Completed, DONE, Some(5_600), &[]),
    row("maxtok", 1, MaxTurns, "", Some(3_200), &[]),
    row("maxturns", 1, MaxTurns, "", Some(120_000), &[]),
    row("nonroot", 0, Completed, DONE, Some(18_440), &[]),
    row("nosession", 0, Completed, DONE, Some(5_600), &[]),
    row("partial", 0, Completed, DONE, Some(5_600), &[]),
    row("refusal", 1, Refusal, "", Some(1_600), &[]),
    row("resume", 0, Completed, DONE, Some(11_200), &[]),
    row("schema", 0, Completed, r#"{"done":true,"task":"t-1"}"#, Some(800), &[]),
    row("schemabad", 0, Completed, "I give up", Some(2_400), &[]),
    row("session", 0, Completed, DONE, Some(5_600), &[]),
    row("sig-bg-exit", 0, Completed, DONE, Some(3_200), &[]),
    ended("sig-hup-bash", ProcessEnd::Exited { code: 129 }, Crash),
    row("sig-int-bash", 0, Crash, "", Some(800), &[]),
    ended("sig-int-hang", ProcessEnd::Exited { code: 0 }, Crash),
    ended("sig-kill-bash", KILLED, Crash),
    ended("sig-killpg-bash", KILLED, Crash),
    row("sig-nohup", 0, Completed, DONE, Some(1_600), &[]),
    ended("sig-term-bash", TERMED, Crash),
    ended("sig-term-hang", ProcessEnd::Stopped, Cancelled),
    ended("sig-termpg-bash", TERMED, Crash),
    row("slow", 0, Completed, "a slow stream of a text that takes its time to come out of the model, all of it", Some(800), &[]),
    row("sseerr", 0, Completed, DONE, Some(800), &[]),
    row("stdin", 0, Completed, DONE, Some(5_600), &[]),
    row("stdin-and-arg", 0, Completed, DONE, Some(5_600), &[]),
    row("strace", 0, Completed, DONE, Some(5_600), &[]),
    row("stream-in", 0, Completed, DONE, Some(11_200), &[]),
    row("text", 0, Completed, DONE, Some(5_600), &[]),
    row("text-out", 0, Completed, DONE, None, &[]),
    ended("text-out-err", ProcessEnd::Exited { code: 1 }, Crash),
];

fn play(file: &str, end: &ProcessEnd) -> (Vec<AgentEvent>, SessionEnd) {
    let bytes = std::fs::read(folder().join(format!("{file}.ndjson"))).unwrap();
    let (mut driver, mut events) = ((find("claude").unwrap().driver)(None), Vec::new());
    for line in bytes.split(|byte| *byte == b'\n') {
        driver.line(line, false, &mut events, &mut vec![]);
    }
    (events, driver.end(end, ""))
}

#[test]
fn every_transcript_is_read_as_the_table_says() {
    for row in ROWS {
        let (_, end) = play(row.file, &row.end);
        assert_eq!(end.class, row.class, "{}: {end:?}", row.file);
        assert_eq!(end.text, row.text, "{}", row.file);
        assert_eq!(end.usage.cost_micro_usd, row.cost, "{}", row.file);
        assert_eq!(end.denied, row.denied, "{}", row.file);
        assert_eq!(end.resets_at, None, "{}", row.file);
    }
}

#[test]
fn every_transcript_has_a_row() {
    let mut files: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| name.strip_suffix(".ndjson").expect("a transcript").to_owned())
        .collect();
    files.sort();
    let mut rows: Vec<&str> = ROWS.iter().map(|row| row.file).collect();
    rows.sort_unstable();
    assert_eq!(files, rows);
}

#[test]
fn no_transcript_holds_an_event_that_is_unknown() {
    for row in ROWS {
        let (events, _) = play(row.file, &row.end);
        let unknown = events.iter().find(|event| matches!(event, AgentEvent::Unknown { .. }));
        assert_eq!(unknown, None, "{}", row.file);
    }
}

#[test]
fn usage_and_model_are_reported() {
    let (_, end) = play("done", &ProcessEnd::Exited { code: 0 });
    assert_eq!(end.model.as_deref(), Some("claude-opus-5-5"));
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (4_900, 160));
    assert_eq!(end.usage.turns, Some(5));
    // Price and tokens of a second result are of the whole session, its turns are not.
    let (_, end) = play("control", &ProcessEnd::Exited { code: 0 });
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (200, 40));
    assert_eq!(end.usage.turns, Some(4));
    // Without messages, the result names the model.
    let (_, end) = play("json", &ProcessEnd::Exited { code: 0 });
    assert_eq!(end.model.as_deref(), Some("claude-opus-5-5"));
    // An error that the CLI itself words was answered by no model.
    let (_, end) = play("e400", &ProcessEnd::Exited { code: 1 });
    assert_eq!(end.model, None);
    assert_eq!(end.detail, "API Error: 400 scripted bad request");
}

#[test]
fn partial_messages_are_not_reported_twice() {
    let (events, _) = play("partial", &ProcessEnd::Exited { code: 0 });
    let texts = events.iter().filter(|event| matches!(event, AgentEvent::Text { .. })).count();
    assert_eq!(texts, 1);
}

#[test]
fn a_session_is_reported_in_order() {
    let (events, _) = play("done", &ProcessEnd::Exited { code: 0 });
    let reported: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::Started { model, .. } => Some(format!("started {}", model.as_deref()?)),
            AgentEvent::Text { text } => Some(text.clone()),
            AgentEvent::ToolStarted { name, input, .. } => Some(format!("{name} {input}")),
            AgentEvent::ToolEnded { is_error, .. } => Some(format!("error: {is_error}")),
            AgentEvent::Result { duration_ms, .. } => Some(format!("{duration_ms:?}")),
            _ => None,
        })
        .collect();
    assert_eq!(reported[0], "started claude-opus-5-5");
    assert_eq!(
        reported[1..4],
        ["I will write the file.", "Write /project/hello.txt", "error: false"]
    );
    assert_eq!(
        reported[4..6],
        ["Bash cat hello.txt; echo appended >> hello.txt; exit 3", "error: true"]
    );
    assert_eq!(reported[reported.len() - 2..], [DONE, "Some(2710)"]);
}

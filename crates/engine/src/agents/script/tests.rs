//! The profile and the player against each other: a cassette goes in, events and an end come out.

use std::io::{Read, Seek};
use std::path::Path;

use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd};

use super::player::{Play, PlayError};
use super::*;
use crate::agents::{Permissions, Written};

/// A folder with a cassette.
struct CassetteFolder {
    folder: tempfile::TempDir,
}

impl CassetteFolder {
    fn new(cassette: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cassette.jsonl"), cassette).unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder }
    }

    fn work(&self) -> std::path::PathBuf {
        self.folder.path().join("work")
    }

    /// Plays a session; what it printed and how it ended.
    fn play(&self, session: Option<u32>) -> (String, Result<u8, PlayError>) {
        let cassette = self.folder.path().join("cassette.jsonl");
        let folder = self.work();
        let play = Play { cassette: Some(&cassette), session, task: Some("t-7"), folder: &folder };
        let mut out = tempfile::tempfile().unwrap();
        let ended = play.run(&mut out);
        let mut printed = String::new();
        out.rewind().unwrap();
        out.read_to_string(&mut printed).unwrap();
        (printed, ended)
    }

    /// Plays the next session as the loop would see it.
    fn next(&self) -> (Vec<AgentEvent>, SessionEnd) {
        let (printed, ended) = self.play(None);
        let (code, stderr) = match ended {
            Ok(code) => (code, String::new()),
            Err(error) => (1, format!("error: {error}")),
        };
        decode(&printed, &ProcessEnd::Exited { code: code.into() }, &stderr)
    }
}

fn decode(printed: &str, end: &ProcessEnd, stderr: &str) -> (Vec<AgentEvent>, SessionEnd) {
    let (mut driver, mut events) = ((PROFILE.driver)(None), Vec::new());
    for line in printed.lines() {
        let heard = driver.line(line.as_bytes(), false, &mut events, &mut vec![]);
        assert_eq!(heard == LineEffect::Result, line.contains(r#""event":"result""#), "{line}");
    }
    (events, driver.end(end, stderr))
}

#[test]
fn a_session_is_played_reported_and_ended() {
    let stage = CassetteFolder::new(
        r#"{"do":"session"}
{"do":"think","text":"What is {id}?"}
{"do":"say","text":"I begin."}
{"do":"write","path":"src/{id}.txt","text":"made for {id}\n"}
{"do":"run","argv":["cat","src/{id}.txt"]}
{"do":"run","argv":["sh","-c","echo out; echo err >&2; exit 3"]}
{"do":"run","argv":["/no/such/program"]}
{"do":"usage","input":100,"output":10,"usd":0.25}
{"do":"usage","input":1,"output":1,"usd":0.5}
{"do":"say","text":"<task-done>{id}</task-done>"}
"#,
    );
    let (events, end) = stage.next();
    assert_eq!(end.class, EndClass::Completed);
    assert_eq!(end.text, "<task-done>t-7</task-done>");
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (101, 11));
    assert_eq!(end.usage.cost_micro_usd, Some(750_000));
    assert_eq!(
        std::fs::read_to_string(stage.work().join("src/t-7.txt")).unwrap(),
        "made for t-7\n"
    );

    let ends: Vec<(bool, &str)> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolEnded { is_error, text, .. } => Some((*is_error, text.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(ends[0], (false, "13 bytes"));
    assert_eq!(ends[1], (false, "made for t-7\n"));
    assert_eq!(ends[2], (true, "exit status: 3\nout\nerr\n"));
    assert!(ends[3].0 && ends[3].1.starts_with("/no/such/program cannot be started"));
    assert!(matches!(&events[0], AgentEvent::Started { version: Some(_), .. }));
    assert_eq!(events[1], AgentEvent::Thinking { text: "What is t-7?".into() });
    assert!(matches!(events.last(), Some(AgentEvent::Result { usage, .. }) if *usage == end.usage));
}

#[test]
fn sessions_come_one_after_the_other_and_then_no_more() {
    let stage = CassetteFolder::new(
        "{\"do\":\"session\"}\n{\"do\":\"say\",\"text\":\"one\"}\n\
         {\"do\":\"session\"}\n{\"do\":\"say\",\"text\":\"two\"}\n",
    );
    assert_eq!(stage.next().1.text, "one");
    assert_eq!(stage.next().1.text, "two");
    let (events, end) = stage.next();
    assert_eq!((events, end.class), (vec![], EndClass::NotStarted));
    assert!(end.detail.ends_with("has no session left to play (it has 2)"), "{}", end.detail);
    // A session by its number needs no cursor and moves none.
    let (printed, ended) = stage.play(Some(1));
    assert!(printed.contains("one"));
    assert_eq!(ended.unwrap(), 0);
    assert!(matches!(stage.play(Some(3)).1, Err(PlayError::AtEnd { count: 2, .. })));
    assert!(matches!(stage.play(Some(0)).1, Err(PlayError::AtEnd { .. })));
}

#[test]
fn a_cassette_that_is_not_right_is_reported_with_file_and_line() {
    let stage = CassetteFolder::new("{\"do\":\"session\"}\n{\"do\":\"jump\"}\n");
    let (_, end) = stage.next();
    assert_eq!(end.class, EndClass::NotStarted);
    let reported = "cassette.jsonl is not valid: line 2: column 12: unknown variant `jump`";
    assert!(end.detail.contains(reported), "{}", end.detail);
    assert!(!stage.folder.path().join("cassette.jsonl.cursor").exists());

    let play = Play { cassette: None, session: None, task: None, folder: Path::new(".") };
    let ended = play.run(&mut tempfile::tempfile().unwrap());
    assert!(matches!(ended, Err(PlayError::NoCassette)));
    let gone = Play { cassette: Some(Path::new("/no/such/file")), ..play };
    let ended = gone.run(&mut tempfile::tempfile().unwrap());
    assert!(matches!(ended, Err(PlayError::Unreadable { .. })));
}

#[test]
fn writes_stay_beneath_the_folder() {
    let stage = CassetteFolder::new(
        "{\"do\":\"write\",\"path\":\"away/x\",\"text\":\"\"}\n\
         {\"do\":\"write\",\"path\":\"link\",\"text\":\"\"}\n\
         {\"do\":\"write\",\"path\":\"{id}/x\",\"text\":\"\"}\n",
    );
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), stage.work().join("away")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("y"), stage.work().join("link")).unwrap();
    let (events, _) = stage.next();
    let errors: Vec<bool> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolEnded { is_error, .. } => Some(*is_error),
            _ => None,
        })
        .collect();
    assert_eq!(errors, [true, true, false]);
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    assert!(stage.work().join("t-7/x").exists());
}

#[test]
fn a_program_left_in_the_background_holds_nothing_up() {
    let stage = CassetteFolder::new(
        r#"{"do":"run","argv":["sh","-c","sleep 60 & echo $! > pid; echo started"]}
{"do":"run","argv":["sh","-c","kill $(cat pid)"]}
"#,
    );
    let (events, _) = stage.next();
    let ends: Vec<(bool, &str)> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolEnded { is_error, text, .. } => Some((*is_error, text.as_str())),
            _ => None,
        })
        .collect();
    // Killing it works, so it was still running.
    assert_eq!(ends, [(false, "started\n"), (false, "")]);
}

#[test]
fn ends_are_distinguished() {
    let stage = CassetteFolder::new(
        r#"{"do":"say","text":"half"}
{"do":"exit","code":7}
{"do":"session"}
{"do":"say","text":"whole"}
{"do":"sleep","ms":1}
{"do":"exit","code":0}
{"do":"say","text":"never"}
{"do":"session"}
{"do":"usage","input":1}
{"do":"session"}
{"do":"usage","input":9}
{"do":"limit","reset_in":"30m"}
"#,
    );
    let (_, end) = stage.next();
    assert_eq!((end.class, end.text.as_str()), (EndClass::Crash, ""));
    assert_eq!(end.detail, "exited with code 7");
    let (_, end) = stage.next();
    assert_eq!((end.class, end.text.as_str()), (EndClass::Completed, "whole"));
    assert_eq!(stage.next().1.class, EndClass::Empty);
    let before = crate::clock::now().plus_seconds(1800);
    let (_, end) = stage.next();
    let after = crate::clock::now().plus_seconds(1800);
    assert_eq!((end.class, end.usage.input_tokens), (EndClass::UsageWindow, 9));
    assert!((before..=after).contains(&end.resets_at.unwrap()));
}

#[test]
fn what_ended_the_process_counts_where_there_is_no_result() {
    let output = r#"{"event":"say","text":"partial"}"#;
    for (end, class) in [
        (ProcessEnd::TimedOut { after_ms: 1 }, EndClass::Timeout),
        (ProcessEnd::Silent { after_ms: 1 }, EndClass::Silence),
        (ProcessEnd::Stopped, EndClass::Cancelled),
        (ProcessEnd::Signalled { signal: 9 }, EndClass::Crash),
        (ProcessEnd::NotStarted { error: "gone".into() }, EndClass::NotStarted),
    ] {
        let reported = decode(output, &end, "").1;
        assert_eq!((reported.class, reported.text.as_str()), (class, ""));
    }
    let done = format!("{output}\n{{\"event\":\"result\",\"duration_ms\":1}}");
    let reported = decode(&done, &ProcessEnd::Lingered { after_ms: 1 }, "").1;
    assert_eq!((reported.class, reported.text.as_str()), (EndClass::Completed, "partial"));
    let reported = decode("noise\n\n{", &ProcessEnd::Exited { code: 0 }, "").1;
    assert_eq!(reported.detail, "ended without a result; 2 lines could not be parsed");
}

#[test]
fn the_command_is_ralph_itself_and_takes_any_prompt() {
    let mut spec = SessionSpec {
        executable: "/opt/ralph".into(),
        extra_args: vec![],
        folder: "/project".into(),
        environment: vec![("RALPH_TASK_ID".into(), "t-7".into())],
        prompt: PromptBy::System {
            system: Written { text: "rules".into(), file: "/run/s".into() },
            task: Written { text: "task".into(), file: "/run/t".into() },
        },
        model: Some("opus".into()),
        permissions: Permissions::Boxed,
        sandboxed: true,
        cassette: Some("/tmp/a b.jsonl".into()),
        session: None,
        verifies: false,
    };
    let command = (PROFILE.command)(&spec);
    assert_eq!(command.args, ["__script-agent", "--cassette", "/tmp/a b.jsonl"]);
    assert_eq!(command.stdin.opening(), b"rules\n\ntask");
    assert_eq!(command.env, spec.environment);
    spec.session = Some(4);
    spec.prompt = PromptBy::Argument("-x".into());
    let command = (PROFILE.command)(&spec);
    assert_eq!(command.args[3..], ["--session", "4"]);
    assert_eq!(command.stdin.opening(), b"-x");
    assert_eq!(PROFILE.version("ralph 0.1.0\n").as_deref(), Some("0.1.0"));
}

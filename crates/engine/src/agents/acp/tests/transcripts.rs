//! Sessions of real agents, recorded with both directions: the driver answers each as the recording client did.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ralph_core::agent::{AgentEvent, EndClass};
use serde_json::Value;

use super::*;

/// What a transcript decodes to.
struct Row {
    file: &'static str,
    class: EndClass,
    text: &'static str,
    input: u64,
    output: u64,
    micro_usd: Option<u64>,
    tools: usize,
    model: Option<&'static str>,
}

const DONE: &str = "All done. <task-done>t-1</task-done>";

const ROWS: &[Row] = &[
    Row {
        file: "acp-claude/cancel",
        class: EndClass::Cancelled,
        text: "",
        input: 100,
        output: 20,
        micro_usd: Some(800),
        tools: 1,
        model: Some("claude-opus-5-5"),
    },
    Row {
        file: "acp-claude/done",
        class: EndClass::Completed,
        text: DONE,
        input: 4900,
        output: 160,
        micro_usd: Some(18_440),
        tools: 4,
        model: Some("claude-opus-5-5"),
    },
    Row {
        file: "acp-codexacp/done",
        class: EndClass::Completed,
        text: DONE,
        input: 3300,
        output: 100,
        micro_usd: None,
        tools: 2,
        model: Some("scripted"),
    },
    Row {
        file: "acp-gemini/done",
        class: EndClass::Completed,
        text: DONE,
        input: 3300,
        output: 100,
        micro_usd: None,
        tools: 2,
        model: Some("gemini-2.5-pro"),
    },
    Row {
        file: "acp-opencode/done",
        class: EndClass::Completed,
        text: DONE,
        input: 2200,
        output: 30,
        micro_usd: Some(2800),
        tools: 2,
        model: Some("x/scripted"),
    },
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testkit/transcripts")
}

/// The messages of a transcript, and whether the agent sent them.
fn recorded(file: &str) -> Vec<(bool, Value)> {
    let path = folder().join(format!("{file}.ndjson"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let read = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        (line["dir"] == "<", line["m"].clone())
    };
    text.lines().map(read).collect()
}

/// A client that logged in by itself, which ralph does not do.
const READ_ONLY: [&str; 1] = ["acp-codexacp/done-auth"];

#[test]
fn every_transcript_is_decoded_and_answered_as_it_was() {
    for row in ROWS {
        // No mode is chosen, as in the recording, and every request for permission is granted.
        let kinds = PROFILE.tools.usual.iter().map(|kind| (*kind).to_owned()).collect();
        let mut spec = spec(Permissions::Tools(kinds));
        spec.prompt = PromptBy::Stdin("go".into());
        let mut session = Session::new(&spec);
        let mut replies: Vec<Value> = vec![];
        let mut wanted: Vec<Value> = vec![];
        for (by_agent, message) in recorded(row.file) {
            match by_agent {
                true => replies.extend(session.feed(message)),
                false if message["method"] == "session/cancel" => {
                    replies.extend(messages(&session.driver.interrupt().unwrap()));
                    wanted.push(message);
                }
                false => wanted.push(message),
            }
        }
        assert_eq!(wanted.remove(0)["method"], "initialize");
        for reply in &mut replies {
            // The recording client had no options for one agent.
            let params = reply.get_mut("params").and_then(Value::as_object_mut);
            params.map(|params| params.remove("_meta"));
        }
        assert_eq!(replies, wanted, "{}", row.file);
        assert_eq!(session.effect, LineEffect::Result, "{}", row.file);
        let started = |event: &&AgentEvent| matches!(event, AgentEvent::ToolStarted { .. });
        let ended = |event: &&AgentEvent| matches!(event, AgentEvent::ToolEnded { .. });
        assert_eq!(session.events.iter().filter(started).count(), row.tools, "{}", row.file);
        assert_eq!(session.events.iter().filter(ended).count(), row.tools, "{}", row.file);
        let unknown = |event: &&AgentEvent| matches!(event, AgentEvent::Unknown { .. });
        assert_eq!(session.events.iter().find(unknown), None, "{}", row.file);
        let end = session.end();
        assert_eq!((end.class, end.text.as_str()), (row.class, row.text), "{}", row.file);
        assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (row.input, row.output));
        assert_eq!(end.usage.cost_micro_usd, row.micro_usd, "{}", row.file);
        assert_eq!(end.model.as_deref(), row.model, "{}", row.file);
    }
}

#[test]
fn a_recording_without_the_requests_is_read_as_well() {
    let known = ROWS.iter().map(|row| (row.file, row.class));
    for (file, class) in known.chain(READ_ONLY.map(|file| (file, EndClass::Completed))) {
        let (mut driver, mut events) = ((PROFILE.driver)(None), vec![]);
        for (by_agent, message) in recorded(file) {
            if by_agent {
                driver.line(message.to_string().as_bytes(), false, &mut events, &mut vec![]);
            }
        }
        assert!(events.iter().any(|event| matches!(event, AgentEvent::ToolStarted { .. })));
        assert_eq!(driver.end(&EXITED, "").class, class, "{file}");
    }
}

#[test]
fn the_table_has_every_transcript() {
    let known = ROWS.iter().map(|row| row.file).chain(READ_ONLY);
    let known: BTreeSet<String> = known.map(str::to_owned).collect();
    let mut there = BTreeSet::new();
    for entry in std::fs::read_dir(folder()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if !name.starts_with("acp-") {
            continue;
        }
        for file in std::fs::read_dir(entry.path()).unwrap().flatten() {
            let file = file.file_name().into_string().unwrap();
            there.extend(file.strip_suffix(".ndjson").map(|file| format!("{name}/{file}")));
        }
    }
    assert_eq!(there, known);
}

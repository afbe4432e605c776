//! The Anthropic Messages API as Claude Code uses it.

use serde_json::{Value, json};

use super::super::request::Request;
use super::super::turn::{Block, HttpError, Message};
use super::{Label, Protocol, Said, Stream, halves, list, named, stop, texts};

/// `POST /v1/messages`.
pub(super) struct Anthropic;

impl Protocol for Anthropic {
    fn session(&self, request: &Request) -> String {
        if let Some(id) = request.header("x-claude-code-session-id") {
            return id.to_owned();
        }
        let user = request.body["metadata"]["user_id"].as_str().unwrap_or_default();
        let reported: Value = serde_json::from_str(user).unwrap_or_default();
        reported["session_id"].as_str().unwrap_or(user).to_owned()
    }

    fn tools<'a>(&self, request: &'a Request) -> Vec<&'a str> {
        list(&request.body["tools"]).iter().filter_map(|tool| tool["name"].as_str()).collect()
    }

    fn said(&self, request: &Request) -> Vec<Said> {
        let mut said = vec![Said::System(texts(&request.body["system"]))];
        for message in list(&request.body["messages"]) {
            let content = &message["content"];
            match message["role"].as_str() {
                Some("system") => said.push(Said::System(texts(content))),
                Some("user") => {
                    let results = list(content).iter().filter(|b| b["type"] == "tool_result");
                    said.extend(results.map(|block| {
                        let is_error = block["is_error"].as_bool().unwrap_or_default();
                        Said::Result(texts(&block["content"]), is_error)
                    }));
                    said.push(Said::User(texts(content)));
                }
                _ => {}
            }
        }
        said
    }

    fn shell(&self, _: &[&str], command: &str) -> (String, Value) {
        ("Bash".to_owned(), json!({ "command": command, "description": "runs it" }))
    }

    fn write(&self, _: &[&str], path: &str, text: &str) -> (String, Value) {
        ("Write".to_owned(), json!({ "file_path": path, "content": text }))
    }

    fn stream(&self, label: &Label<'_>, message: &Message) -> Stream {
        let (events, end) = events(label, message);
        Stream {
            frames: events.iter().map(named).collect(),
            closing: usize::from(!message.blocks.is_empty()),
            end: end.iter().map(named).collect(),
        }
    }

    fn whole(&self, label: &Label<'_>, message: &Message) -> Value {
        whole(label, message)
    }

    fn failure(&self, error: &HttpError) -> Value {
        json!({ "type": "error", "error": { "type": error.kind, "message": error.message } })
    }

    fn error_event(&self, kind: &str) -> String {
        let error = json!({ "type": kind, "message": "told by the script" });
        named(&json!({ "type": "error", "error": error }))
    }
}

/// The events of a message: those that carry it, and those that end it.
fn events(label: &Label<'_>, message: &Message) -> (Vec<Value>, Vec<Value>) {
    let mut start = envelope(label, message);
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    // As the real one: the count of output grows, and is whole only at the end.
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![json!({ "type": "message_start", "message": start })];
    for (index, block) in message.blocks.iter().enumerate() {
        let (empty, deltas) = pieces(label, index, block);
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": empty }));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let end = vec![
        json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop(message).word(), "stop_sequence": null },
            "usage": { "output_tokens": message.usage.output },
        }),
        json!({ "type": "message_stop" }),
    ];
    (events, end)
}

/// The message as one JSON.
fn whole(label: &Label<'_>, message: &Message) -> Value {
    let mut all = envelope(label, message);
    let block = |(index, block): (usize, &Block)| match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::Thinking(text) => {
            json!({ "type": "thinking", "thinking": text, "signature": SIGNATURE })
        }
        Block::Tool { name, input } => {
            let id = label.part_id("toolu", index);
            json!({ "type": "tool_use", "id": id, "name": name, "input": input })
        }
        Block::Shell(_) | Block::Write { .. } => unreachable!("resolved into tools"),
    };
    all["content"] = message.blocks.iter().enumerate().map(block).collect();
    all
}

// Looks like one; nobody can check it here.
const SIGNATURE: &str = "c2lnbmF0dXJl";

fn envelope(label: &Label<'_>, message: &Message) -> Value {
    json!({
        "id": label.id("msg"),
        "type": "message",
        "role": "assistant",
        "model": label.model,
        "stop_reason": stop(message).word(),
        "stop_sequence": null,
        "usage": {
            "input_tokens": message.usage.input,
            "output_tokens": message.usage.output,
            "cache_read_input_tokens": message.usage.cache_read,
            "cache_creation_input_tokens": message.usage.cache_creation,
        },
    })
}

/// A block without its content, and the content in deltas: two where it can be halved, so that
/// readers that take the first for all are found out.
fn pieces(label: &Label<'_>, index: usize, block: &Block) -> (Value, Vec<Value>) {
    match block {
        Block::Text(text) => (
            json!({ "type": "text", "text": "" }),
            halves(text).map(|half| json!({ "type": "text_delta", "text": half })).collect(),
        ),
        Block::Thinking(text) => {
            let mut deltas: Vec<Value> = halves(text)
                .map(|half| json!({ "type": "thinking_delta", "thinking": half }))
                .collect();
            deltas.push(json!({ "type": "signature_delta", "signature": SIGNATURE }));
            (json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas)
        }
        Block::Tool { name, input } => {
            let id = label.part_id("toolu", index);
            (
                json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                halves(&input.to_string())
                    .map(|half| json!({ "type": "input_json_delta", "partial_json": half }))
                    .collect(),
            )
        }
        Block::Shell(_) | Block::Write { .. } => unreachable!("resolved into tools"),
    }
}

//! Messages as they go over the wire: events of a stream, or one JSON.

use serde_json::{Value, json};

use super::turn::{Block, HttpError, Message, Stop};

/// What a message is called besides what it says.
pub(super) struct Label<'a> {
    /// Counts up, so that ids differ.
    pub(super) number: usize,
    pub(super) model: &'a str,
}

impl Label<'_> {
    fn message_id(&self) -> String {
        format!("msg_{:04}", self.number)
    }

    fn tool_id(&self, index: usize) -> String {
        format!("toolu_{:04}_{index}", self.number)
    }
}

/// The events of a message: those that carry it, and those that end it.
pub(super) fn events(label: &Label<'_>, message: &Message) -> (Vec<Value>, Vec<Value>) {
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
pub(super) fn whole(label: &Label<'_>, message: &Message) -> Value {
    let mut all = envelope(label, message);
    let block = |(index, block): (usize, &Block)| match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::Thinking(text) => {
            json!({ "type": "thinking", "thinking": text, "signature": SIGNATURE })
        }
        Block::Tool { name, input } => {
            json!({ "type": "tool_use", "id": label.tool_id(index), "name": name, "input": input })
        }
    };
    all["content"] = message.blocks.iter().enumerate().map(block).collect();
    all
}

/// The body of an error.
pub(super) fn failure(error: &HttpError) -> Value {
    json!({ "type": "error", "error": { "type": error.kind, "message": error.message } })
}

/// The event of an error inside a stream.
pub(super) fn error_event(kind: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": "told by the script" } })
}

/// An event in the format of a stream.
pub(super) fn sse(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

// Looks like one; nobody can check it here.
const SIGNATURE: &str = "c2lnbmF0dXJl";

fn envelope(label: &Label<'_>, message: &Message) -> Value {
    json!({
        "id": label.message_id(),
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

fn stop(message: &Message) -> Stop {
    let calls = message.blocks.iter().any(|block| matches!(block, Block::Tool { .. }));
    message.stop.unwrap_or(if calls { Stop::ToolUse } else { Stop::EndTurn })
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
            let id = label.tool_id(index);
            (
                json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                halves(&input.to_string())
                    .map(|half| json!({ "type": "input_json_delta", "partial_json": half }))
                    .collect(),
            )
        }
    }
}

fn halves(text: &str) -> impl Iterator<Item = &str> {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, second].into_iter().filter(|half| !half.is_empty())
}

//! The OpenAI Responses API as Codex uses it.

use serde_json::{Value, json};

use super::super::request::Request;
use super::super::turn::{Block, HttpError, Message, Stop};
use super::{
    Label, Protocol, Said, Stream, halves, list, named, openai_failure, stop, texts, tool,
};

/// `POST …/responses`.
pub(super) struct Responses;

impl Protocol for Responses {
    fn session(&self, request: &Request) -> String {
        let named = ["session-id", "session_id"].iter().find_map(|name| request.header(name));
        let id = named.or_else(|| request.body["prompt_cache_key"].as_str());
        id.unwrap_or_default().to_owned()
    }

    fn tools<'a>(&self, request: &'a Request) -> Vec<&'a str> {
        // Tools that the provider runs itself have a type and no name.
        let name = |tool: &'a Value| tool["name"].as_str().or_else(|| tool["type"].as_str());
        list(&request.body["tools"]).iter().filter_map(name).collect()
    }

    fn said(&self, request: &Request) -> Vec<Said> {
        let mut said = vec![Said::System(texts(&request.body["instructions"]))];
        if let Value::String(prompt) = &request.body["input"] {
            said.push(Said::User(prompt.clone()));
        }
        for item in list(&request.body["input"]) {
            match (item["type"].as_str().unwrap_or("message"), item["role"].as_str()) {
                ("message", Some("system" | "developer")) => {
                    said.push(Said::System(texts(&item["content"])));
                }
                ("message", Some("user")) => said.push(Said::User(texts(&item["content"]))),
                ("function_call_output" | "custom_tool_call_output", _) => {
                    said.push(Said::Result(texts(&item["output"]), false));
                }
                _ => {}
            }
        }
        said
    }

    fn shell(&self, tools: &[&str], command: &str) -> (String, Value) {
        // Which of them Codex offers depends on the model and on its settings.
        if tools.contains(&"shell") {
            ("shell".to_owned(), json!({ "command": ["bash", "-lc", command] }))
        } else if tools.contains(&"shell_command") {
            ("shell_command".to_owned(), json!({ "command": command }))
        } else {
            // Long enough for every command of a test: Codex hands over to the model after that time.
            ("exec_command".to_owned(), json!({ "cmd": command, "yield_time_ms": 30_000 }))
        }
    }

    /// Codex has no tool that writes a file.
    fn write(&self, tools: &[&str], path: &str, text: &str) -> (String, Value) {
        let (path, text) = (quoted(path), quoted(text));
        self.shell(tools, &format!("mkdir -p \"$(dirname {path})\" && printf %s {text} > {path}"))
    }

    fn stream(&self, label: &Label<'_>, message: &Message) -> Stream {
        let mut start = response(label, message);
        start["status"] = json!("in_progress");
        start["output"] = json!([]);
        start["usage"] = Value::Null;
        let mut events = vec![json!({ "type": "response.created", "response": start })];
        let mut closing = 0;
        for (index, block) in message.blocks.iter().enumerate() {
            let (open, close) = block_events(label, index, block);
            closing = close.len();
            events.extend(open);
            events.extend(close);
        }
        let response = response(label, message);
        let kind = format!("response.{}", response["status"].as_str().unwrap_or_default());
        let end = json!({ "type": kind, "response": response });
        Stream { frames: events.iter().map(named).collect(), closing, end: vec![named(&end)] }
    }

    fn whole(&self, label: &Label<'_>, message: &Message) -> Value {
        response(label, message)
    }

    fn failure(&self, error: &HttpError) -> Value {
        openai_failure(error)
    }

    fn error_event(&self, kind: &str) -> String {
        let error = json!({ "code": kind, "message": "told by the script" });
        let response = json!({ "id": "resp_failed", "status": "failed", "error": error });
        named(&json!({ "type": "response.failed", "response": response }))
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn response(label: &Label<'_>, message: &Message) -> Value {
    let (status, reason) = match stop(message) {
        Stop::EndTurn | Stop::ToolUse => ("completed", Value::Null),
        Stop::MaxTokens => ("incomplete", json!({ "reason": "max_output_tokens" })),
        Stop::Refusal => ("incomplete", json!({ "reason": "content_filter" })),
    };
    let usage = message.usage;
    // OpenAI counts cached tokens among those of the input.
    let input = usage.input + usage.cache_read + usage.cache_creation;
    let output: Vec<Value> =
        message.blocks.iter().enumerate().map(|(index, block)| item(label, index, block)).collect();
    json!({
        "id": label.id("resp"),
        "object": "response",
        "created_at": 1_700_000_000,
        "model": label.model,
        "status": status,
        "incomplete_details": reason,
        "error": null,
        "output": output,
        "usage": {
            "input_tokens": input,
            "input_tokens_details": { "cached_tokens": usage.cache_read },
            "output_tokens": usage.output,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input + usage.output,
        },
    })
}

/// A finished item of the output.
fn item(label: &Label<'_>, index: usize, block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({
            "type": "message", "id": label.part_id("msg", index), "role": "assistant",
            "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        Block::Thinking(text) => json!({
            "type": "reasoning", "id": label.part_id("rs", index),
            "summary": [{ "type": "summary_text", "text": text }],
            "encrypted_content": null,
        }),
        block => {
            let (name, input) = tool(block).expect("resolved into tools");
            json!({
                "type": "function_call", "id": label.part_id("fc", index),
                "call_id": label.part_id("call", index), "status": "completed",
                "name": name, "arguments": input.to_string(),
            })
        }
    }
}

/// The events that open and fill an item, and those that complete it.
fn block_events(label: &Label<'_>, index: usize, block: &Block) -> (Vec<Value>, Vec<Value>) {
    let item = item(label, index, block);
    let event = |kind: &str, more: Value| {
        let mut event = json!({
            "type": format!("response.{kind}"), "output_index": index, "item_id": item["id"],
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            event[name] = value.clone();
        }
        event
    };
    let mut empty = item.clone();
    empty["status"] = json!("in_progress");
    let (list, part, delta, text) = match block {
        Block::Text(text) => ("content", "content_part", "output_text", text.clone()),
        Block::Thinking(text) => {
            ("summary", "reasoning_summary_part", "reasoning_summary_text", text.clone())
        }
        block => {
            let (_, input) = tool(block).expect("resolved into tools");
            ("arguments", "", "function_call_arguments", input.to_string())
        }
    };
    let whole = item[list].clone();
    empty[list] = if part.is_empty() { json!("") } else { json!([]) };
    let position = json!({ if list == "summary" { "summary_index" } else { "content_index" }: 0 });
    let with = |mut more: Value| {
        if let (false, Some(all)) = (part.is_empty(), more.as_object_mut()) {
            all.extend(position.as_object().cloned().unwrap_or_default());
        }
        more
    };
    let mut open = vec![event("output_item.added", json!({ "item": empty }))];
    if !part.is_empty() {
        let mut begun = whole[0].clone();
        begun["text"] = json!("");
        open.push(event(&format!("{part}.added"), with(json!({ "part": begun }))));
    }
    open.extend(
        halves(&text).map(|half| event(&format!("{delta}.delta"), with(json!({ "delta": half })))),
    );
    let full = if part.is_empty() { "arguments" } else { "text" };
    let mut close = vec![event(&format!("{delta}.done"), with(json!({ full: text })))];
    if !part.is_empty() {
        close.push(event(&format!("{part}.done"), with(json!({ "part": whole[0] }))));
    }
    close.push(event("output_item.done", json!({ "item": item })));
    (open, close)
}

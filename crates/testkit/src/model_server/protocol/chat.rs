//! The OpenAI Chat Completions API as opencode uses it.

use serde_json::{Value, json};

use super::super::request::Request;
use super::super::turn::{Block, HttpError, Message, Stop};
use super::{
    Label, Protocol, Said, Stream, halves, list, openai_failure, stop, texts, tool, unnamed,
};

/// `POST …/chat/completions`.
pub(super) struct Chat;

impl Protocol for Chat {
    fn session(&self, request: &Request) -> String {
        let named = ["x-session-id", "x-session-affinity"].iter().find_map(|n| request.header(n));
        named.or_else(|| request.body["user"].as_str()).unwrap_or_default().to_owned()
    }

    fn tools<'a>(&self, request: &'a Request) -> Vec<&'a str> {
        let tools = list(&request.body["tools"]);
        tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
    }

    fn said(&self, request: &Request) -> Vec<Said> {
        let said = |message: &Value| {
            let text = texts(&message["content"]);
            match message["role"].as_str()? {
                "system" | "developer" => Some(Said::System(text)),
                "user" => Some(Said::User(text)),
                "tool" => Some(Said::Result(text, false)),
                _ => None,
            }
        };
        list(&request.body["messages"]).iter().filter_map(said).collect()
    }

    fn shell(&self, tools: &[&str], command: &str) -> (String, Value) {
        // Qwen Code calls it as Gemini CLI does, and needs to know whether to wait.
        let (name, is_background) = match tools.contains(&"run_shell_command") {
            true => ("run_shell_command", Some(false)),
            false => ("bash", None),
        };
        let mut input = json!({ "command": command, "description": "runs it" });
        if let Some(is_background) = is_background {
            input["is_background"] = json!(is_background);
        }
        (name.to_owned(), input)
    }

    fn write(&self, _: &[&str], path: &str, text: &str) -> (String, Value) {
        ("write".to_owned(), json!({ "filePath": path, "content": text }))
    }

    fn stream(&self, label: &Label<'_>, message: &Message) -> Stream {
        let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
        let mut calls = 0;
        for (index, block) in message.blocks.iter().enumerate() {
            match block {
                Block::Text(text) => deltas.extend(halves(text).map(|h| json!({ "content": h }))),
                Block::Thinking(text) => {
                    deltas.extend(halves(text).map(|h| json!({ "reasoning_content": h })));
                }
                block => {
                    let (name, input) = tool(block).expect("resolved into tools");
                    let mut start = call(label, index, name, "");
                    start["index"] = json!(calls);
                    deltas.push(json!({ "tool_calls": [start] }));
                    deltas.extend(halves(&input.to_string()).map(|half| {
                        let more = json!({ "index": calls, "function": { "arguments": half } });
                        json!({ "tool_calls": [more] })
                    }));
                    calls += 1;
                }
            }
        }
        let carry = |delta: &Value| {
            let choice = json!({ "index": 0, "delta": delta, "finish_reason": null });
            unnamed(&envelope(label, "chat.completion.chunk", &json!([choice])))
        };
        let finish = json!({ "index": 0, "delta": {}, "finish_reason": finish_reason(message) });
        let finish = envelope(label, "chat.completion.chunk", &json!([finish]));
        let mut counts = envelope(label, "chat.completion.chunk", &json!([]));
        counts["usage"] = usage(message);
        Stream {
            frames: deltas.iter().map(carry).collect(),
            // No frame of this API says that a block is complete.
            closing: 0,
            end: vec![unnamed(&finish), unnamed(&counts), "data: [DONE]\n\n".to_owned()],
        }
    }

    fn whole(&self, label: &Label<'_>, message: &Message) -> Value {
        let (mut text, mut thoughts, mut calls) = (String::new(), String::new(), vec![]);
        for (index, block) in message.blocks.iter().enumerate() {
            match block {
                Block::Text(more) => text += more,
                Block::Thinking(more) => thoughts += more,
                block => {
                    let (name, input) = tool(block).expect("resolved into tools");
                    calls.push(call(label, index, name, &input.to_string()));
                }
            }
        }
        let mut said = json!({ "role": "assistant", "content": text });
        if !thoughts.is_empty() {
            said["reasoning_content"] = json!(thoughts);
        }
        if !calls.is_empty() {
            said["tool_calls"] = json!(calls);
        }
        let choice =
            json!({ "index": 0, "message": said, "finish_reason": finish_reason(message) });
        let mut whole = envelope(label, "chat.completion", &json!([choice]));
        whole["usage"] = usage(message);
        whole
    }

    fn failure(&self, error: &HttpError) -> Value {
        openai_failure(error)
    }

    fn error_event(&self, kind: &str) -> String {
        let error = json!({ "message": "told by the script", "type": kind, "code": kind });
        unnamed(&json!({ "error": error }))
    }
}

fn envelope(label: &Label<'_>, object: &str, choices: &Value) -> Value {
    json!({
        "id": label.id("chatcmpl"),
        "object": object,
        "created": 1_700_000_000,
        "model": label.model,
        "choices": choices,
    })
}

fn call(label: &Label<'_>, index: usize, name: &str, arguments: &str) -> Value {
    json!({
        "id": label.part_id("call", index),
        "type": "function",
        "function": { "name": name, "arguments": arguments },
    })
}

fn finish_reason(message: &Message) -> &'static str {
    match stop(message) {
        Stop::EndTurn => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens => "length",
        Stop::Refusal => "content_filter",
    }
}

fn usage(message: &Message) -> Value {
    let usage = message.usage;
    // OpenAI counts cached tokens among those of the prompt.
    let prompt = usage.input + usage.cache_read + usage.cache_creation;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read },
    })
}

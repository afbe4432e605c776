//! The Gemini API as Gemini CLI uses it.

use serde_json::{Value, json};

use super::super::request::Request;
use super::super::turn::{Block, HttpError, Message, Stop};
use super::{Label, Protocol, Said, Stream, halves, list, stop, texts, tool, unnamed};

/// `POST …/models/MODEL:generateContent` and `:streamGenerateContent?alt=sse`.
pub(super) struct Gemini;

impl Protocol for Gemini {
    /// Gemini CLI names no session. A test that needs one adds this header.
    fn session(&self, request: &Request) -> String {
        request.header("x-session-id").unwrap_or_default().to_owned()
    }

    fn model<'a>(&self, request: &'a Request) -> &'a str {
        let (_, rest) = request.path.split_once("/models/").unwrap_or_default();
        rest.split(':').next().unwrap_or_default()
    }

    fn wants_stream(&self, request: &Request) -> bool {
        request.path.contains(":streamGenerateContent")
    }

    fn tools<'a>(&self, request: &'a Request) -> Vec<&'a str> {
        let tools = list(&request.body["tools"]).iter();
        let functions = tools.flat_map(|tool| list(&tool["functionDeclarations"]));
        functions.filter_map(|function| function["name"].as_str()).collect()
    }

    fn said(&self, request: &Request) -> Vec<Said> {
        let mut said = vec![Said::System(texts(&request.body["systemInstruction"]["parts"]))];
        for content in list(&request.body["contents"]) {
            if content["role"] == "model" {
                continue;
            }
            for part in list(&content["parts"]) {
                let result = &part["functionResponse"]["response"];
                match (result["error"].as_str(), result["output"].as_str()) {
                    (Some(error), _) => said.push(Said::Result(error.to_owned(), true)),
                    (None, Some(output)) => said.push(Said::Result(output.to_owned(), false)),
                    (None, None) if result.is_object() => {
                        said.push(Said::Result(result.to_string(), false));
                    }
                    (None, None) => {}
                }
            }
            said.push(Said::User(texts(&content["parts"])));
        }
        said
    }

    fn shell(&self, _: &[&str], command: &str) -> (String, Value) {
        ("run_shell_command".to_owned(), json!({ "command": command, "description": "runs it" }))
    }

    fn write(&self, _: &[&str], path: &str, text: &str) -> (String, Value) {
        ("write_file".to_owned(), json!({ "file_path": path, "content": text }))
    }

    fn stream(&self, label: &Label<'_>, message: &Message) -> Stream {
        let mut parts = vec![];
        for (index, block) in message.blocks.iter().enumerate() {
            match block {
                Block::Text(text) => parts.extend(halves(text).map(|h| json!({ "text": h }))),
                Block::Thinking(text) => {
                    parts.extend(halves(text).map(|h| json!({ "text": h, "thought": true })));
                }
                block => parts.push(part(label, index, block)),
            }
        }
        let carry = |part: &Value| unnamed(&answer(label, json!([part])));
        let mut last = answer(label, json!([{ "text": "" }]));
        finish(&mut last, message);
        Stream {
            frames: parts.iter().map(carry).collect(),
            // No frame of this API says that a part is complete.
            closing: 0,
            end: vec![unnamed(&last)],
        }
    }

    fn whole(&self, label: &Label<'_>, message: &Message) -> Value {
        let blocks = message.blocks.iter().enumerate();
        let parts: Vec<Value> = blocks.map(|(index, block)| part(label, index, block)).collect();
        let mut whole = answer(label, json!(parts));
        finish(&mut whole, message);
        whole
    }

    fn failure(&self, error: &HttpError) -> Value {
        let status = match error.status {
            400 | 413 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 | 529 => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        let mut body = json!({
            "code": error.status, "message": error.message, "status": status,
        });
        // Gemini says in the body when to come back, not in a header.
        if let Some((_, seconds)) = error.headers.iter().find(|(name, _)| name == "retry-after") {
            body["details"] = json!([{
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": format!("{seconds}s"),
            }]);
        }
        json!({ "error": body })
    }

    fn error_event(&self, kind: &str) -> String {
        let error = json!({ "code": 503, "message": "told by the script", "status": kind });
        unnamed(&json!({ "error": error }))
    }
}

fn part(label: &Label<'_>, index: usize, block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({ "text": text }),
        Block::Thinking(text) => json!({ "text": text, "thought": true }),
        block => {
            let (name, args) = tool(block).expect("resolved into tools");
            let id = label.part_id("call", index);
            json!({ "functionCall": { "id": id, "name": name, "args": args } })
        }
    }
}

fn answer(label: &Label<'_>, parts: Value) -> Value {
    let content = json!({ "role": "model", "parts": parts });
    json!({
        "candidates": [{ "index": 0, "content": content }],
        "modelVersion": label.model,
        "responseId": label.id("resp"),
    })
}

/// Adds why the model stopped, and what it took.
fn finish(answer: &mut Value, message: &Message) {
    let reason = match stop(message) {
        Stop::EndTurn | Stop::ToolUse => "STOP",
        Stop::MaxTokens => "MAX_TOKENS",
        Stop::Refusal => "SAFETY",
    };
    answer["candidates"][0]["finishReason"] = json!(reason);
    let usage = message.usage;
    // Gemini counts cached tokens among those of the prompt.
    let prompt = usage.input + usage.cache_read + usage.cache_creation;
    answer["usageMetadata"] = json!({
        "promptTokenCount": prompt,
        "candidatesTokenCount": usage.output,
        "cachedContentTokenCount": usage.cache_read,
        "totalTokenCount": prompt + usage.output,
    });
}

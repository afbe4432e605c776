//! The APIs that the server speaks, behind one trait: how a request is read, and how a scripted
//! message goes back. Each API has a file. Nothing here knows the script or the socket.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Value, json};

use super::request::Request;
use super::turn::{Block, HttpError, Message, Stop};

/// One API. The path of a request chooses it.
pub(super) trait Protocol: Sync {
    /// The session that a request belongs to, as the agent names it; empty if it names none.
    fn session(&self, request: &Request) -> String;

    /// The model that a request asks for.
    fn model<'a>(&self, request: &'a Request) -> &'a str {
        request.body["model"].as_str().unwrap_or_default()
    }

    /// Whether the agent wants a stream.
    fn wants_stream(&self, request: &Request) -> bool {
        request.body["stream"].as_bool().unwrap_or(false)
    }

    /// The names of the tools that the agent offers.
    fn tools<'a>(&self, request: &'a Request) -> Vec<&'a str>;

    /// Everything but the model's own messages, in order.
    fn said(&self, request: &Request) -> Vec<Said>;

    /// The tool that runs a shell command, with its input. `tools` are those that the agent offers.
    fn shell(&self, tools: &[&str], command: &str) -> (String, Value);

    /// The tool that writes a file, with its input.
    fn write(&self, tools: &[&str], path: &str, text: &str) -> (String, Value);

    /// A message as a stream.
    fn stream(&self, label: &Label<'_>, message: &Message) -> Stream;

    /// A message as one JSON.
    fn whole(&self, label: &Label<'_>, message: &Message) -> Value;

    /// The body of an HTTP error.
    fn failure(&self, error: &HttpError) -> Value;

    /// The event that reports an error inside a stream.
    fn error_event(&self, kind: &str) -> String;
}

/// A message in the frames of a stream.
pub(super) struct Stream {
    /// Frames that carry the message.
    pub(super) frames: Vec<String>,
    /// How many of the last frames complete the last block. A broken stream leaves them out.
    pub(super) closing: usize,
    /// Frames that end the stream.
    pub(super) end: Vec<String>,
}

/// One entry of the conversation that the agent sends.
pub(super) enum Said {
    System(String),
    User(String),
    /// The output of a tool, and whether the agent calls it an error.
    Result(String, bool),
}

/// The name of a message.
pub(super) struct Label<'a> {
    /// Counts up, so that ids differ.
    pub(super) number: usize,
    pub(super) model: &'a str,
}

impl Label<'_> {
    fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{:04}", self.number)
    }

    fn part_id(&self, prefix: &str, index: usize) -> String {
        format!("{prefix}_{:04}_{index}", self.number)
    }
}

/// The API at a path; `None` if the server has no such page.
pub(super) fn at(path: &str) -> Option<&'static dyn Protocol> {
    let path = path.split('?').next().unwrap_or_default();
    if path.starts_with("/v1/messages") {
        Some(&anthropic::Anthropic)
    } else if path.ends_with("/responses") {
        Some(&responses::Responses)
    } else if path.ends_with("/chat/completions") {
        Some(&chat::Chat)
    } else if path.contains("/models/")
        && [":generateContent", ":streamGenerateContent", ":countTokens"]
            .iter()
            .any(|method| path.ends_with(method))
    {
        Some(&gemini::Gemini)
    } else {
        None
    }
}

/// The API that answers where there is none.
pub(super) fn default() -> &'static dyn Protocol {
    &anthropic::Anthropic
}

/// The message with the tools that this agent knows in place of commands and writes.
pub(super) fn resolve(protocol: &dyn Protocol, request: &Request, mut message: Message) -> Message {
    let tools = request.tools();
    for block in &mut message.blocks {
        let (name, input) = match block {
            Block::Shell(command) => protocol.shell(&tools, command),
            Block::Write { path, text } => protocol.write(&tools, path, text),
            Block::Text(_) | Block::Thinking(_) | Block::Tool { .. } => continue,
        };
        *block = Block::Tool { name, input };
    }
    message
}

/// The concrete tool of a block after [`resolve`].
fn tool(block: &Block) -> Option<(&str, &Value)> {
    match block {
        Block::Tool { name, input } => Some((name, input)),
        _ => None,
    }
}

fn stop(message: &Message) -> Stop {
    let calls = message.blocks.iter().any(|block| tool(block).is_some());
    message.stop.unwrap_or(if calls { Stop::ToolUse } else { Stop::EndTurn })
}

/// A named event of a stream.
fn named(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

/// An event of a stream without a name.
fn unnamed(event: &Value) -> String {
    format!("data: {event}\n\n")
}

/// The body of an error as both OpenAI APIs have it.
fn openai_failure(error: &HttpError) -> Value {
    let code = match error.status {
        401 => json!("invalid_api_key"),
        429 => json!("rate_limit_exceeded"),
        _ => Value::Null,
    };
    json!({ "error": {
        "message": error.message, "type": error.kind, "param": null, "code": code,
    }})
}

/// The two halves of a text, so that a reader that takes the first part for the whole is found out.
fn halves(text: &str) -> impl Iterator<Item = &str> {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, second].into_iter().filter(|half| !half.is_empty())
}

/// The texts of a content: a string, or blocks of which some are text.
fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|b| b["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// The elements of a list; empty for anything else.
fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

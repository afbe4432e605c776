//! What the model does in one turn: the vocabulary of scripts.

use std::time::Duration;

use ralph_core::Timestamp;
use serde_json::Value;

/// One answer of the model, or one way to fail.
///
/// ```
/// use ralph_testkit::model_server::Turn;
///
/// let turns = [
///     Turn::rate_limited().retry_after(1).times(2),
///     Turn::thinking("A test first.").and_bash("cargo test"),
///     Turn::text("All green. <task-done>{id}</task-done>"),
/// ];
/// ```
///
/// `{id}` in a text, a thought or the input of a tool stands for the id of the task in the prompt.
#[derive(Debug, Clone)]
pub struct Turn {
    pub(super) act: Act,
    pub(super) delay: Duration,
    pub(super) pace: Duration,
    /// How many requests it answers; `None` is all that follow.
    pub(super) times: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum Act {
    /// A message, whole or broken off.
    Say(Message, Ending),
    /// An HTTP error.
    Fail(HttpError),
    /// The connection is closed without an answer.
    Reset,
    /// The request is read and nothing comes back.
    Silent,
}

/// How a message ends on the wire.
#[derive(Debug, Clone)]
pub(super) enum Ending {
    Whole,
    /// The connection is closed in the middle.
    Cut,
    /// Nothing more comes, and the connection stays.
    Hang,
    /// An error event, with its type.
    Error(String),
}

/// What the model says.
#[derive(Debug, Clone, Default)]
pub(super) struct Message {
    pub(super) blocks: Vec<Block>,
    pub(super) usage: Usage,
    pub(super) stop: Option<Stop>,
}

#[derive(Debug, Clone)]
pub(super) enum Block {
    Text(String),
    Thinking(String),
    Tool {
        name: String,
        input: Value,
    },
    /// A shell command, by the tool that the agent has for it.
    Shell(String),
    /// A file, by the tool that the agent has for it.
    Write {
        path: String,
        text: String,
    },
}

/// Tokens of one message.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Read, and not from the cache.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Put into the cache.
    pub cache_creation: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 100, output: 20, cache_read: 0, cache_creation: 0 }
    }
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It has said all.
    EndTurn,
    /// It waits for its tools.
    ToolUse,
    /// It ran out of output tokens.
    MaxTokens,
    /// It declined.
    Refusal,
}

impl Stop {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::Refusal => "refusal",
        }
    }
}

/// An answer with a status that is not 200.
#[derive(Debug, Clone)]
pub(super) struct HttpError {
    pub(super) status: u16,
    pub(super) kind: String,
    pub(super) message: String,
    pub(super) headers: Vec<(String, String)>,
}

/// Messages.
impl Turn {
    /// A message without anything in it.
    pub fn empty() -> Self {
        Self::of(Act::Say(Message::default(), Ending::Whole))
    }

    /// The model says this and stops.
    pub fn text(text: impl Into<String>) -> Self {
        Self::empty().and_text(text)
    }

    /// The model thinks this.
    pub fn thinking(text: impl Into<String>) -> Self {
        Self::empty().and_thinking(text)
    }

    /// The model calls a tool by the name that one agent knows it by.
    pub fn tool(name: &str, input: Value) -> Self {
        Self::empty().and_tool(name, input)
    }

    /// The model runs a command, with the shell tool of whichever agent asks.
    pub fn bash(command: impl Into<String>) -> Self {
        Self::empty().and_bash(command)
    }

    /// The model writes a file. Agents want the whole path.
    pub fn write(path: impl AsRef<std::path::Path>, text: impl Into<String>) -> Self {
        let path = path.as_ref().to_str().expect("paths of tests are UTF-8");
        Self::empty().and(Block::Write { path: path.to_owned(), text: text.into() })
    }

    /// The model refuses.
    pub fn refusal() -> Self {
        Self::text("I can't help with that.").stop(Stop::Refusal)
    }

    /// And says this.
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.and(Block::Text(text.into()))
    }

    /// And thinks this.
    pub fn and_thinking(self, text: impl Into<String>) -> Self {
        self.and(Block::Thinking(text.into()))
    }

    /// And calls a tool.
    pub fn and_tool(self, name: &str, input: Value) -> Self {
        self.and(Block::Tool { name: name.to_owned(), input })
    }

    /// And runs a command.
    pub fn and_bash(self, command: impl Into<String>) -> Self {
        self.and(Block::Shell(command.into()))
    }

    /// Says how many tokens it took.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.message().0.usage = usage;
        self
    }

    /// Says why it stopped. Without: it waits for its tools if it called any, else it has said all.
    pub fn stop(mut self, stop: Stop) -> Self {
        self.message().0.stop = Some(stop);
        self
    }

    fn and(mut self, block: Block) -> Self {
        self.message().0.blocks.push(block);
        self
    }

    fn message(&mut self) -> (&mut Message, &mut Ending) {
        match &mut self.act {
            Act::Say(message, ending) => (message, ending),
            other => panic!("a turn that is {other:?} says nothing"),
        }
    }
}

/// Broken streams.
impl Turn {
    /// Breaks the connection off in the middle of the message.
    pub fn then_cut(self) -> Self {
        self.ending(Ending::Cut)
    }

    /// Falls silent in the middle of the message.
    pub fn then_hang(self) -> Self {
        self.ending(Ending::Hang)
    }

    /// Sends an error event in the middle of the message, such as `overloaded_error`.
    pub fn then_error(self, kind: &str) -> Self {
        self.ending(Ending::Error(kind.to_owned()))
    }

    /// Closes the connection instead of answering.
    pub fn reset() -> Self {
        Self::of(Act::Reset)
    }

    /// Takes the request and never answers.
    pub fn silent() -> Self {
        Self::of(Act::Silent)
    }

    fn ending(mut self, ending: Ending) -> Self {
        *self.message().1 = ending;
        self
    }
}

/// Errors.
impl Turn {
    /// An HTTP error with the type and text that go with its status.
    pub fn error(status: u16) -> Self {
        let (kind, message) = match status {
            400 => ("invalid_request_error", "messages: something is wrong with them"),
            401 => ("authentication_error", "invalid x-api-key"),
            403 => ("permission_error", "Your API key does not have permission to use this"),
            404 => ("not_found_error", "model: no-such-model"),
            413 => ("request_too_large", "Request exceeds the maximum size"),
            429 => ("rate_limit_error", "This request would exceed your rate limit"),
            529 => ("overloaded_error", "Overloaded"),
            _ => ("api_error", "Internal server error"),
        };
        Self::of(Act::Fail(HttpError {
            status,
            kind: kind.to_owned(),
            message: message.to_owned(),
            headers: vec![],
        }))
    }

    /// Too many requests.
    pub fn rate_limited() -> Self {
        Self::error(429)
    }

    /// The usage limit of a subscription at Anthropic, until then.
    pub fn usage_limit(until: Timestamp) -> Self {
        let reset = (until.as_millis() / 1000).to_string();
        Self::rate_limited()
            .header("anthropic-ratelimit-unified-status", "rejected")
            .header("anthropic-ratelimit-unified-representative-claim", "five_hour")
            .header("anthropic-ratelimit-unified-reset", &reset)
            .header("anthropic-ratelimit-unified-5h-status", "rejected")
            .header("anthropic-ratelimit-unified-5h-utilization", "1.0")
            .header("anthropic-ratelimit-unified-5h-reset", &reset)
    }

    /// The provider is overloaded.
    pub fn overloaded() -> Self {
        Self::error(529)
    }

    /// The key is wrong.
    pub fn unauthorized() -> Self {
        Self::error(401)
    }

    /// There is no money left.
    pub fn no_credit() -> Self {
        Self::error(400).saying("Your credit balance is too low to access the Anthropic API.")
    }

    /// The prompt is too long for the model.
    pub fn prompt_too_long() -> Self {
        Self::error(400).saying("prompt is too long: 210000 tokens > 200000 maximum")
    }

    /// Changes the text of an error.
    pub fn saying(mut self, message: &str) -> Self {
        self.failure().message = message.to_owned();
        self
    }

    /// Changes the type of an error.
    pub fn of_type(mut self, kind: &str) -> Self {
        self.failure().kind = kind.to_owned();
        self
    }

    /// Adds a header to an error.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.failure().headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Says when to come back.
    pub fn retry_after(self, seconds: u64) -> Self {
        self.header("retry-after", &seconds.to_string())
    }

    fn failure(&mut self) -> &mut HttpError {
        match &mut self.act {
            Act::Fail(error) => error,
            other => panic!("a turn that is {other:?} is no HTTP error"),
        }
    }
}

/// Time.
impl Turn {
    /// Waits before it answers.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits so long between two events of the stream.
    pub fn slowly(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Answers so many requests alike.
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    /// Answers every request from here on alike.
    pub fn for_ever(mut self) -> Self {
        self.times = None;
        self
    }

    fn of(act: Act) -> Self {
        Self { act, delay: Duration::ZERO, pace: Duration::ZERO, times: Some(1) }
    }
}

impl Turn {
    /// The same turn with the task's id in its place.
    pub(super) fn about(mut self, id: &str) -> Self {
        if let Act::Say(message, _) = &mut self.act {
            for block in &mut message.blocks {
                match block {
                    Block::Text(text) | Block::Thinking(text) | Block::Shell(text) => {
                        *text = text.replace("{id}", id);
                    }
                    Block::Write { path, text } => {
                        *path = path.replace("{id}", id);
                        *text = text.replace("{id}", id);
                    }
                    Block::Tool { input, .. } => fill(input, id),
                }
            }
        }
        self
    }
}

fn fill(value: &mut Value, id: &str) {
    match value {
        Value::String(text) => *text = text.replace("{id}", id),
        Value::Array(values) => values.iter_mut().for_each(|value| fill(value, id)),
        Value::Object(entries) => entries.values_mut().for_each(|value| fill(value, id)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

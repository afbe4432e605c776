//! What an agent tells while it works.

use serde::{Deserialize, Serialize};

/// Something that an agent CLI told, in our words. Only for display and for watchdogs: decisions are
/// made on the [`SessionEnd`](super::SessionEnd).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The session is up.
    Started {
        /// The model it says it uses.
        model: Option<String>,
        /// The version of the agent.
        version: Option<String>,
    },
    /// A message of the agent begins, by this model.
    Message {
        /// The model.
        model: String,
    },
    /// Words of the agent.
    Text {
        /// The words.
        text: String,
    },
    /// Thoughts of the agent.
    Thinking {
        /// The thoughts.
        text: String,
    },
    /// A tool is called.
    ToolStarted {
        /// The id of the call, where it has one.
        id: String,
        /// The tool.
        name: String,
        /// What it is called with, on one line.
        input: String,
    },
    /// A tool has ended.
    ToolEnded {
        /// The id of the call, where it has one.
        id: String,
        /// It failed.
        is_error: bool,
        /// What it gave back.
        text: String,
    },
    /// A tool was refused.
    Denied {
        /// The tool.
        tool: String,
    },
    /// The agent waits and tries its request again by itself.
    Retrying {
        /// Which try this was.
        attempt: u32,
        /// How long it waits.
        delay_ms: u64,
        /// The HTTP status, where there was an answer.
        status: Option<u16>,
        /// The agent's word for the error.
        error: String,
    },
    /// The last word of the session: a result was seen.
    Result {
        /// How long the session says it took.
        duration_ms: Option<u64>,
        /// What it used so far.
        usage: Usage,
    },
    /// Something that this version does not know. Harmless.
    Unknown {
        /// Its type.
        kind: String,
    },
}

/// What a session used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, cached ones too.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Millionths of a dollar, as the agent told it; `None` when it told no price.
    pub cost_micro_usd: Option<u64>,
    /// Turns of the conversation, where told.
    pub turns: Option<u32>,
    /// Requests to the model, where told.
    pub requests: Option<u32>,
}

impl Usage {
    /// Both together. A price that one of them does not tell makes the sum a lower bound.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        fn sum<T: std::ops::Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            }
        }
        Self {
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cost_micro_usd: sum(self.cost_micro_usd, other.cost_micro_usd),
            turns: sum(self.turns, other.turns),
            requests: sum(self.requests, other.requests),
        }
    }
}

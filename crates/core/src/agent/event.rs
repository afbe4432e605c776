//! Events of an agent while it works.

use serde::{Deserialize, Serialize};

/// An event of an agent CLI, in a vocabulary that all agents share. Only for display and for watchdogs:
/// decisions are made on the [`SessionEnd`](super::SessionEnd).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AgentEvent {
    Started {
        model: Option<String>,
        version: Option<String>,
    },
    /// A message of the agent begins, by this model.
    Message {
        model: String,
        /// What the session used so far, as far as the agent reports it before its result.
        #[serde(default)]
        usage: Usage,
    },
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    ToolStarted {
        /// The id of the call, where it has one.
        id: String,
        name: String,
        /// What it is called with, on one line.
        input: String,
    },
    ToolEnded {
        /// The id of the call, where it has one.
        id: String,
        is_error: bool,
        text: String,
    },
    Denied {
        tool: String,
    },
    /// A text that the user sent into the running session has reached the agent.
    UserMessage {
        text: String,
    },
    /// The agent waits and retries its request by itself.
    Retrying {
        attempt: u32,
        delay_ms: u64,
        /// The HTTP status, where there was an answer.
        status: Option<u16>,
        error: String,
    },
    Result {
        /// How long the session says it took.
        duration_ms: Option<u64>,
        usage: Usage,
    },
    /// An event that this version does not know. It is ignored.
    Unknown {
        kind: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, cached ones too.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Millionths of a dollar, as the agent reports it; `None` when it reports no price.
    pub cost_micro_usd: Option<u64>,
    /// Turns of the conversation, where the agent reports them.
    pub turns: Option<u32>,
    /// Requests to the model, where the agent reports them.
    pub requests: Option<u32>,
}

impl Usage {
    /// The sum of both. If one of them has no price, the cost is a lower bound.
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

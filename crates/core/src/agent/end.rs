//! How a session ended, as a value. Read from structural fields only, never from prose.

use serde::{Deserialize, Serialize};

use super::event::Usage;
use crate::time::Timestamp;

/// How a process ended, the same on every system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum ProcessEnd {
    Exited {
        code: i32,
    },
    /// A signal that ralph did not send killed it.
    Signalled {
        signal: i32,
    },
    TimedOut {
        after_ms: u64,
    },
    /// It printed nothing for too long.
    Silent {
        after_ms: u64,
    },
    /// It printed its result but did not exit. The result counts.
    Lingered {
        after_ms: u64,
    },
    Stopped,
    NotStarted {
        error: String,
    },
}

/// What kind of end a session had. What a class means for the task is one table, in `attempt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndClass {
    /// It completed: the final text counts.
    Completed,
    /// It died, or ended without a result.
    Crash,
    Timeout,
    Silence,
    /// It exited with 0 and printed nothing.
    Empty,
    /// Its output is not what this agent prints.
    Malformed,
    Refusal,
    /// The agent's own limit of turns, output or money.
    MaxTurns,
    /// The prompt, or the conversation that grew from it, is too long for the model.
    TooLong,
    /// The provider calls the request invalid.
    Rejected,
    /// Too many requests, for a short time.
    RateLimit,
    /// A usage window is used up.
    UsageWindow,
    /// The provider is overloaded or failing.
    Overload,
    Network,
    Auth,
    /// Logged in, and the account may not do this.
    Forbidden,
    /// No money or no plan.
    Billing,
    UnknownModel,
    NotStarted,
    Cancelled,
    /// Another agent has the task now.
    ClaimLost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnd {
    pub class: EndClass,
    /// The final text of the assistant; empty unless the class is `Completed`.
    pub text: String,
    /// What happened, in a sentence for the user; may be empty.
    pub detail: String,
    pub usage: Usage,
    /// The model that answered, where the agent reports it.
    pub model: Option<String>,
    /// Tools that the agent asked for and was denied.
    pub denied: Vec<String>,
    /// When a limit resets, where the provider says so.
    pub resets_at: Option<Timestamp>,
}

impl SessionEnd {
    /// An end without words or usage.
    pub fn of(class: EndClass, detail: impl Into<String>) -> Self {
        Self {
            class,
            text: String::new(),
            detail: detail.into(),
            usage: Usage::default(),
            model: None,
            denied: vec![],
            resets_at: None,
        }
    }
}

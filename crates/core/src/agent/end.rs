//! How a session ended, as a value. Read from structural fields only, never from prose.

use serde::{Deserialize, Serialize};

use super::event::Usage;
use crate::time::Timestamp;

/// How a process ended, the same on every system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum ProcessEnd {
    /// It exited by itself.
    Exited {
        /// With this code.
        code: i32,
    },
    /// A signal that ralph did not send killed it.
    Signalled {
        /// The number.
        signal: i32,
    },
    /// It ran longer than the session timeout.
    TimedOut {
        /// After so many milliseconds.
        after_ms: u64,
    },
    /// It printed nothing for too long.
    Silent {
        /// For so many milliseconds.
        after_ms: u64,
    },
    /// It printed its result but did not exit. The result counts.
    Lingered {
        /// So many milliseconds after the result.
        after_ms: u64,
    },
    /// ralph stopped it on request.
    Stopped,
    /// It never ran.
    NotStarted {
        /// What the system said.
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
    /// The total timeout.
    Timeout,
    /// The silence watchdog.
    Silence,
    /// It exited with 0 and printed nothing.
    Empty,
    /// Its output is not what this agent prints.
    Malformed,
    /// The model refused.
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
    /// No connection.
    Network,
    /// Not logged in.
    Auth,
    /// Logged in, and the account may not do this.
    Forbidden,
    /// No money or no plan.
    Billing,
    /// There is no such model.
    UnknownModel,
    /// The agent could not be started.
    NotStarted,
    /// The user stopped it.
    Cancelled,
    /// Another agent has the task now.
    ClaimLost,
}

/// The end of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnd {
    /// The kind of end.
    pub class: EndClass,
    /// The final text of the assistant; empty unless the class is `Completed`.
    pub text: String,
    /// What happened, in a sentence for the user; may be empty.
    pub detail: String,
    /// What it used.
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

//! How a session ended, as a value. Read from structural fields only, never from prose.

use serde::{Deserialize, Serialize};

use super::event::Usage;
use crate::time::Timestamp;

/// Why a process is no more, in words of our own that hold on every system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum ProcessEnd {
    /// It ended by itself.
    Exited {
        /// With this code.
        code: i32,
    },
    /// A signal ended it that we did not send.
    Signalled {
        /// The number.
        signal: i32,
    },
    /// It ran longer than a session may.
    TimedOut {
        /// After so many milliseconds.
        after_ms: u64,
    },
    /// It said nothing for too long.
    Silent {
        /// For so many milliseconds.
        after_ms: u64,
    },
    /// It told its result and did not leave. The result counts.
    Lingered {
        /// So many milliseconds after the result.
        after_ms: u64,
    },
    /// We ended it because we were told to.
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
    /// It had its say: the final text counts.
    Completed,
    /// It died, or ended without a result.
    Crash,
    /// The total timeout.
    Timeout,
    /// The silence watchdog.
    Silence,
    /// It ended well and said nothing at all.
    Empty,
    /// What it printed is not what this agent prints.
    Malformed,
    /// The model refused.
    Refusal,
    /// The agent's own limit of turns, output or money.
    MaxTurns,
    /// The prompt, or what it grew to, is longer than the model takes.
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
    /// We were told to stop it.
    Cancelled,
    /// Somebody else has the task now.
    ClaimLost,
}

/// The end of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnd {
    /// What kind.
    pub class: EndClass,
    /// The final text of the assistant; empty unless the class is `Completed`.
    pub text: String,
    /// For people: what happened, in a sentence; may be empty.
    pub detail: String,
    /// What it used.
    pub usage: Usage,
    /// The model that answered, where told.
    pub model: Option<String>,
    /// Tools that were asked for and refused.
    pub denied: Vec<String>,
    /// When a limit ends, where told.
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

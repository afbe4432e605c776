//! Why a run ended, and what that is as an exit code.

use serde::{Deserialize, Serialize};

use crate::agent::Usage;
use crate::task::Counts;

/// Why a run stops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stop", rename_all = "snake_case")]
pub enum StopReason {
    /// A person said so.
    Cancelled,
    /// There is nothing to do and never was.
    NoPlan,
    /// Every task in scope is done or failed.
    Complete,
    /// The agent or the plan said that the plan is done.
    Marker {
        /// In these words.
        text: String,
    },
    /// The one session that was asked for ended well.
    Session,
    /// Money, tokens or time.
    Budget {
        /// Which, in words.
        what: String,
    },
    /// Tasks remain and none can become ready by itself.
    Blocked {
        /// Why not, in words.
        why: String,
    },
    /// The agent asks a person, and nothing can go on without the answer.
    Asked {
        /// What it asks.
        question: String,
    },
    /// The agent said FAILURE.
    Failure,
    /// Red gates exceeded the retries.
    GatesFailed,
    /// The agent failed for good.
    AgentFailed {
        /// How.
        why: String,
    },
    /// Too many errors in a row.
    Breaker {
        /// How many.
        errors: u32,
    },
    /// A git operation failed for good.
    GitFailed {
        /// How.
        why: String,
    },
    /// Iterations without a change.
    Idle {
        /// How many.
        iterations: u32,
    },
    /// The limit of sessions.
    Limit {
        /// The limit.
        sessions: u32,
        /// What is left.
        remaining: u64,
    },
    /// Ralph's own failure.
    Error {
        /// What failed.
        why: String,
    },
}

impl StopReason {
    /// The name of the outcome.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cancelled => "Cancelled",
            Self::NoPlan => "NoPlan",
            Self::Complete | Self::Marker { .. } | Self::Session => "Complete",
            Self::Budget { .. } => "BudgetReached",
            Self::Blocked { .. } | Self::Asked { .. } => "Blocked",
            Self::Failure => "Failure",
            Self::GatesFailed => "GatesFailed",
            Self::AgentFailed { .. } | Self::Breaker { .. } => "AgentFailed",
            Self::GitFailed { .. } => "GitFailed",
            Self::Idle { .. } => "Idle",
            Self::Limit { .. } => "LimitReached",
            Self::Error { .. } => "Error",
        }
    }

    /// The exit code. `strict` tells unfinished plans from finished ones.
    pub fn code(&self, left: &Counts, strict: bool) -> u8 {
        match self {
            Self::Complete | Self::Marker { .. } if strict && left.failed > 0 => 1,
            Self::Complete | Self::Marker { .. } if strict && left.unresolved() > 0 => 7,
            Self::Complete | Self::Marker { .. } | Self::Session => 0,
            Self::Limit { .. } | Self::Idle { .. } => {
                if strict {
                    9
                } else {
                    0
                }
            }
            Self::Error { .. } => 1,
            Self::NoPlan => 2,
            Self::GatesFailed => 3,
            Self::AgentFailed { .. } | Self::Breaker { .. } => 4,
            Self::GitFailed { .. } => 5,
            Self::Failure => 6,
            Self::Blocked { .. } | Self::Asked { .. } => 7,
            Self::Budget { .. } => 8,
            Self::Cancelled => 130,
        }
    }

    /// An interrupted run goes on at the next start; any other starts anew.
    pub const fn is_interruption(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Error { .. })
    }

    /// In a sentence, for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::Cancelled => "Stopped: cancelled.".to_owned(),
            Self::NoPlan => "Implementation plan not found. Run 'ralph plan' first.".to_owned(),
            Self::Complete => "Complete: every task in scope is settled.".to_owned(),
            Self::Marker { text } => format!("Complete: the plan is done, by {text}."),
            Self::Session => "Complete: the session ended well.".to_owned(),
            Self::Budget { what } => format!("Stopped: the budget is used up ({what})."),
            Self::Blocked { why } => format!("Blocked: {why}."),
            Self::Asked { .. } => "Blocked: the agent asks a person.".to_owned(),
            Self::Failure => "Stopped: the agent said FAILURE.".to_owned(),
            Self::GatesFailed => "Stopped: the gates stayed red.".to_owned(),
            Self::AgentFailed { why } => format!("Stopped: the agent failed: {why}."),
            Self::Breaker { errors } => format!("Stopped: {errors} errors in a row."),
            Self::GitFailed { why } => format!("Stopped: git failed: {why}."),
            Self::Idle { iterations } => {
                format!("Stopped: {iterations} iterations without a change.")
            }
            Self::Limit { sessions, remaining } => format!(
                "Stopped: max iterations ({sessions}) reached. Tasks remaining: {remaining}"
            ),
            Self::Error { why } => format!("Build failed: {why}"),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Why.
    pub reason: StopReason,
    /// How the plan stands.
    pub left: Counts,
    /// Iterations that were started and counted.
    pub iterations: u32,
    /// Those that ended well.
    pub successful: u32,
    /// Those that did not.
    pub failed: u32,
    /// What all sessions used.
    pub usage: Usage,
    /// From the start of the run.
    pub duration_ms: u64,
}

impl Outcome {
    /// In a sentence, for people. Where the agent picks, a plan may be over with tasks that nothing can
    /// make ready: it is said.
    pub fn sentence(&self) -> String {
        let left = self.left;
        if let (StopReason::Marker { text }, open @ 1..) = (&self.reason, left.unresolved()) {
            return format!("Complete, by {text} alone. Tasks that are not ticked: {open}.");
        }
        if self.reason != StopReason::Complete || left.unresolved() == 0 {
            return self.reason.sentence();
        }
        let part = |n: u64, word: &str| (n > 0).then(|| format!("{n} {word}"));
        let parts: Vec<String> = [
            part(left.open, "open"),
            part(left.active, "active"),
            part(left.blocked, "blocked (ralph task list --status blocked)"),
            part(left.waiting, "waiting for a person (ralph answer, ralph retry ID)"),
        ]
        .into_iter()
        .flatten()
        .collect();
        format!("Complete: no task can be claimed. What remains: {}.", parts.join(", "))
    }
}

//! Why a run ended, and what that is as an exit code.

use serde::{Deserialize, Serialize};

use super::budget::Allowance;
use super::class::Class;
use crate::agent::Usage;
use crate::amounts::count;
use crate::ids::TaskId;
use crate::task::Counts;

/// Why a run stops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stop", rename_all = "snake_case")]
pub enum StopReason {
    /// The user cancelled the run.
    Cancelled,
    /// There is no plan to work on.
    NoPlan {
        /// The file that was found and why it is not a plan; `None` when there is none at all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Every task in scope is done or failed.
    Complete,
    /// The agent or the plan said that the plan is done.
    Marker {
        /// In these words.
        text: String,
    },
    /// The only session of the run succeeded.
    Session,
    /// A budget of money, tokens or time is used up.
    Budget {
        /// The budget in words, with the amounts.
        what: String,
        /// The budget; journals of older versions do not have it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Allowance>,
    },
    /// Tasks remain and none can become ready by itself.
    Blocked { why: String },
    /// The agent asked the user, and nothing can continue without the answer.
    Asked { question: String },
    /// The agent said FAILURE.
    Failure,
    /// The gates still fail after every retry.
    GatesFailed,
    /// A gate cannot run here, with or without the work of sessions.
    GateUnusable {
        /// The gate, and what the shell said.
        why: String,
    },
    /// The agent failed in a way that retrying cannot fix.
    AgentFailed {
        /// What happened, and what to do about it.
        why: String,
        /// The class of its last end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Class>,
    },
    /// Too many errors in a row.
    Breaker {
        /// How many errors.
        errors: u32,
    },
    /// A git operation failed in a way that retrying cannot fix.
    GitFailed { why: String },
    /// Iterations without a change.
    Idle {
        /// How many iterations.
        iterations: u32,
    },
    /// The limit of sessions.
    Limit { sessions: u32, remaining: u64 },
    /// Ralph's own failure.
    Error { why: String },
}

impl StopReason {
    /// The name of the outcome.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cancelled => "Cancelled",
            Self::NoPlan { .. } => "NoPlan",
            Self::Complete | Self::Marker { .. } | Self::Session => "Complete",
            Self::Budget { .. } => "BudgetReached",
            Self::Blocked { .. } | Self::Asked { .. } => "Blocked",
            Self::Failure => "Failure",
            Self::GatesFailed | Self::GateUnusable { .. } => "GatesFailed",
            Self::AgentFailed { .. } | Self::Breaker { .. } => "AgentFailed",
            Self::GitFailed { .. } => "GitFailed",
            Self::Idle { .. } => "Idle",
            Self::Limit { .. } => "LimitReached",
            Self::Error { .. } => "Error",
        }
    }

    /// The exit code. With `strict` it is not 0 when tasks failed or remain.
    pub fn code(&self, left: &Counts, strict: bool) -> u8 {
        match self {
            Self::Complete | Self::Marker { .. } if strict && left.unresolved() > 0 => 7,
            Self::Complete | Self::Marker { .. } if strict && left.failed > 0 => 1,
            Self::Complete | Self::Marker { .. } | Self::Session => 0,
            Self::Limit { .. } | Self::Idle { .. } => {
                if strict {
                    9
                } else {
                    0
                }
            }
            Self::Error { .. } => 1,
            Self::NoPlan { .. } => 2,
            Self::GatesFailed | Self::GateUnusable { .. } => 3,
            Self::AgentFailed { .. } | Self::Breaker { .. } => 4,
            Self::GitFailed { .. } => 5,
            Self::Failure => 6,
            Self::Blocked { .. } | Self::Asked { .. } => 7,
            Self::Budget { .. } => 8,
            Self::Cancelled => 130,
        }
    }

    /// The next run continues an interrupted one; after any other it starts a new one.
    pub const fn is_interruption(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Error { .. })
    }

    /// The reason as a sentence; [`Outcome::sentence`] adds the state of the plan.
    pub fn sentence(&self) -> String {
        match self {
            Self::Cancelled => "Stopped: cancelled.".to_owned(),
            Self::NoPlan { why: Some(why) } => format!("No plan: {why}."),
            Self::NoPlan { why: None } => {
                "Implementation plan not found. Run 'ralph plan' first.".to_owned()
            }
            Self::Complete => "Finished: every task is done or has failed.".to_owned(),
            Self::Marker { text } => format!("Finished: the plan is declared done ({text})."),
            Self::Session => "Finished: the session succeeded.".to_owned(),
            Self::Budget { what, .. } => format!("Stopped: budget used up ({what})."),
            Self::Blocked { why } => format!("Stopped: {why}."),
            Self::Asked { .. } => "Stopped: the agent asked you a question.".to_owned(),
            Self::Failure => "Stopped: the agent said FAILURE.".to_owned(),
            Self::GatesFailed => "Stopped: the gates still fail after every retry.".to_owned(),
            Self::GateUnusable { why } => format!("Stopped: {}.", why.trim_end_matches('.')),
            Self::AgentFailed { why, .. } => format!("Stopped: {}.", why.trim_end_matches('.')),
            Self::Breaker { errors } => format!("Stopped: {errors} errors in a row."),
            Self::GitFailed { why } => {
                format!("Stopped: git failed: {}.", why.trim_end_matches('.'))
            }
            Self::Idle { iterations } => {
                format!("Stopped: {iterations} iterations without a change.")
            }
            Self::Limit { sessions, remaining } => format!(
                "Stopped: max iterations ({sessions}) reached. Tasks remaining: {remaining}"
            ),
            Self::Error { why } => {
                format!("Stopped by an error: {}.", why.trim_end_matches('.'))
            }
        }
    }
}

/// The plan that a planning run wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// How many tasks it has.
    pub tasks: u64,
    /// The file, as you would type its path.
    pub file: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub reason: StopReason,
    /// The tasks of the plan, by state.
    pub left: Counts,
    /// Iterations that were started and counted.
    pub iterations: u32,
    pub successful: u32,
    pub failed: u32,
    /// What all sessions used.
    pub usage: Usage,
    /// From the start of the run.
    pub duration_ms: u64,
    /// The exit code is not 0 when tasks failed or remain.
    #[serde(default)]
    pub strict: bool,
    /// A task that failed, in this run or an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_task: Option<TaskId>,
    /// The plan that a run of the plan preset wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Planned>,
    /// Publishing the branch failed, and the next run has to try again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpublished: bool,
    /// The agent's question in a run that ended for another reason: it was cancelled meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
}

impl Outcome {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self.reason.code(&self.left, self.strict) {
            0 if self.strict && self.unpublished => 1,
            code => code,
        }
    }

    /// The question that the last session asked the user, where the run is an interview.
    pub fn question(&self) -> Option<&str> {
        match &self.reason {
            StopReason::Asked { question } => Some(question),
            _ => self.asked.as_deref(),
        }
    }

    /// The outcome line. It never says more than the plan does: a plan with failed or open tasks is not
    /// called done.
    pub fn sentence(&self) -> String {
        let (left, open) = (self.left, self.left.unresolved());
        let alone = self.reason.sentence();
        if let Some(Planned { tasks, file }) = &self.planned {
            let written = format!("Plan written: {} in {file}", count(*tasks, "task"));
            return match &self.reason {
                StopReason::Complete | StopReason::Marker { .. } | StopReason::Idle { .. } => {
                    written
                }
                StopReason::Limit { sessions, .. } => {
                    format!("Stopped: max iterations ({sessions}) reached. {written}")
                }
                _ => alone,
            };
        }
        match &self.reason {
            StopReason::Marker { text } if open > 0 => {
                format!("Stopped: the plan is declared done ({text}). Tasks remaining: {open}")
            }
            StopReason::Complete if open > 0 => {
                format!("Stopped: nothing is ready. Tasks remaining: {}", self.remaining())
            }
            StopReason::Complete if left.total() == 0 => "Nothing to do.".to_owned(),
            StopReason::Complete | StopReason::Marker { .. } if left.failed > 0 => self.finished(),
            StopReason::Complete | StopReason::Marker { .. } if left.done > 0 => match left.done {
                1 => "The task is done.".to_owned(),
                done => format!("All {done} tasks done."),
            },
            StopReason::Idle { .. } if open > 0 => format!("{alone} Tasks remaining: {open}"),
            _ => alone,
        }
    }

    fn finished(&self) -> String {
        let Counts { done, failed, .. } = self.left;
        let see = match &self.failed_task {
            Some(task) if failed == 1 => format!("ralph task show {task}"),
            _ => "ralph task list --status failed".to_owned(),
        };
        format!("Finished: {done} done, {failed} failed (see: {see})")
    }

    /// What remains of a plan where nothing can be claimed.
    fn remaining(&self) -> String {
        let left = self.left;
        let part = |n: u64, word: &str| (n > 0).then(|| format!("{n} {word}"));
        let parts: Vec<String> = [
            part(left.open, "open"),
            part(left.active, "active"),
            part(left.blocked, "blocked (ralph task list --status blocked)"),
            part(left.waiting, "waiting for you (ralph answer, ralph retry ID)"),
        ]
        .into_iter()
        .flatten()
        .collect();
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests;

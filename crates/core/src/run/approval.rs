//! Approval: which work that passed every check waits for the user before it lands, and why.

use serde::{Deserialize, Serialize};

use super::class::Class;
use super::slot::Work;
use crate::amounts::first_of;
use crate::ids::TaskId;
use crate::records::{Attempt, LogEntry, LogKind};
use crate::task::{Status, Task};

/// How many files a reason names.
const NAMED: usize = 3;

/// Which work waits for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approve {
    #[default]
    Never,
    /// Work with a [`Risk`].
    Risky,
    Always,
}

impl Approve {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
    pub(super) const fn is_never(&self) -> bool {
        matches!(self, Self::Never)
    }
}

/// What the change of a task is, as far as approval depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeSize {
    /// Lines added and removed, in all files.
    pub lines: u64,
    /// Protected files that it changes.
    pub protected: Vec<String>,
    /// Tests that it makes weaker, a sentence each.
    pub weakened: Vec<String>,
    /// Files in it that look like secrets.
    pub secrets: Vec<String>,
}

/// Why work is risky.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "risk", rename_all = "snake_case")]
pub enum Risk {
    Protected {
        files: Vec<String>,
    },
    Weakened {
        /// A sentence for each weakened test.
        tests: Vec<String>,
    },
    Secrets {
        files: Vec<String>,
    },
    Large {
        lines: u64,
        /// The most lines that need no approval.
        most: u64,
    },
}

impl Risk {
    /// The risks of a change, where more than `most` changed lines are one.
    pub fn of(change: &ChangeSize, most: u64) -> Vec<Self> {
        let named = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
        let large = (change.lines > most).then_some(Self::Large { lines: change.lines, most });
        let risks = [
            named(&change.protected).map(|files| Self::Protected { files }),
            named(&change.weakened).map(|tests| Self::Weakened { tests }),
            named(&change.secrets).map(|files| Self::Secrets { files }),
            large,
        ];
        risks.into_iter().flatten().collect()
    }

    pub fn words(&self) -> String {
        match self {
            Self::Protected { files } => {
                format!("it changes protected files ({})", first_of(files, NAMED))
            }
            Self::Weakened { tests } => format!("it weakens tests ({})", first_of(tests, NAMED)),
            Self::Secrets { files } => {
                format!("it has files that look like secrets ({})", first_of(files, NAMED))
            }
            Self::Large { lines, most } => {
                format!("it changes {lines} lines, more than {most}")
            }
        }
    }
}

impl Work {
    /// Why the work waits for the user, in words, although it passed every check; `None` if it may land.
    pub(super) fn needs_approval(&self, approve: Approve, task: &TaskId) -> Option<String> {
        if self.session.is_approved() {
            return None;
        }
        let risks: Vec<String> = self.risks.iter().map(Risk::words).collect();
        let why = match approve {
            Approve::Never => return None,
            Approve::Risky if risks.is_empty() => return None,
            Approve::Risky | Approve::Always => match risks.join(", and ") {
                risks if risks.is_empty() => String::new(),
                risks => format!(": {risks}"),
            },
        };
        Some(format!("waiting for your approval{why}. {}", commands(task)))
    }
}

/// What to type about work that waits for approval.
fn commands(task: &TaskId) -> String {
    format!("See it: ralph diff {task}, then ralph approve {task} or ralph reject {task} \"WHY\"")
}

/// What the user said last about the work of the last attempt.
fn decision<'a>(attempts: &[Attempt], log: &'a [LogEntry]) -> Option<&'a LogEntry> {
    let last = attempts.last()?;
    log.iter().rev().take_while(|entry| entry.at >= last.started_at).find(|entry| {
        matches!(
            entry.kind,
            LogKind::Approved | LogKind::Retry | LogKind::Failed | LogKind::Reset | LogKind::Done
        )
    })
}

/// The last attempt passed every check, and its work waits for the user or did.
fn ended_with_approval(attempts: &[Attempt]) -> bool {
    let end = attempts.last().and_then(|last| last.end.as_ref());
    end.is_some_and(|end| end.outcome == Class::Approval.as_str())
}

/// Whether a task waits until the user approves or rejects the work of its last attempt.
pub fn awaits_approval(task: &Task, attempts: &[Attempt], log: &[LogEntry]) -> bool {
    let open = || decision(attempts, log).is_none_or(|entry| entry.kind == LogKind::Approved);
    task.status == Status::Waiting && ended_with_approval(attempts) && open()
}

/// Whether the user approved the work of the last attempt, and it has not landed yet.
pub fn is_approved(attempts: &[Attempt], log: &[LogEntry]) -> bool {
    ended_with_approval(attempts)
        && decision(attempts, log).is_some_and(|entry| entry.kind == LogKind::Approved)
}

//! What lies over the screen until the user closes it: help, a task, a list, a question, a line to type.

use ralph_core::TaskId;
use ralph_core::ids::QuestionId;
use ralph_core::run::Cancel;
use serde_json::Value;

use super::input::Input;
use crate::ports::{Answer, UserAction};

/// How soon a run can be asked to stop, with what that means.
pub(super) const CANCELS: [(Cancel, &str, &str); 3] = [
    (Cancel::AfterTask, "After the task", "finish the current task, with its retries"),
    (Cancel::AfterSession, "After the session", "finish the session and check its work"),
    (Cancel::Now, "Now", "interrupt the session and save its work"),
];

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Overlay {
    Help,
    Task {
        task: TaskId,
        diff: bool,
    },
    Needs {
        selected: usize,
    },
    /// Approve the work of a task or reject it.
    Decide {
        task: TaskId,
        reason: String,
    },
    Type(Typing),
    Filter {
        selected: usize,
    },
    Cancel {
        selected: usize,
    },
    /// Asks before it does something that stops work.
    Confirm {
        action: UserAction,
        question: String,
    },
}

/// A line that the user types, and what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Typing {
    pub(super) purpose: Purpose,
    pub(super) input: Input,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    Answer {
        question: QuestionId,
        task: TaskId,
        text: String,
    },
    Reject {
        task: TaskId,
    },
    Tell {
        task: TaskId,
    },
    Search,
    /// A place of the replay.
    Place,
}

impl Purpose {
    pub(super) const fn title(&self) -> &'static str {
        match self {
            Self::Answer { .. } => "Answer",
            Self::Reject { .. } => "Reject: what is wrong with the work?",
            Self::Tell { .. } => "Message to the session",
            Self::Search => "Search",
            Self::Place => "Go to",
        }
    }

    /// What the user does with the line; `None` where it only changes what the screen shows.
    pub(super) fn action(&self, text: &str) -> Option<UserAction> {
        let text = text.trim().to_owned();
        Some(match self {
            Self::Answer { question, .. } => {
                UserAction::Answer { question: question.clone(), text }
            }
            Self::Reject { task } => UserAction::Reject { task: task.clone(), why: text },
            Self::Tell { task } => UserAction::Tell { task: task.clone(), text },
            Self::Search | Self::Place => return None,
        })
    }
}

/// The page of a task: everything that is recorded about it, and its work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Details {
    pub(super) task: TaskId,
    pub(super) page: Option<Answer<Value>>,
    pub(super) diff: Option<Answer<String>>,
}

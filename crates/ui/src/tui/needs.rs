//! What waits for the user: questions, approvals, tasks and branches to merge. As the status page has it; before there is
//! one, as the runs report it.

use ralph_core::TaskId;
use ralph_core::ids::QuestionId;
use ralph_core::run::NeedsMerge;
use ralph_core::view::live::LiveView;
use ralph_core::view::{EndedTask, QuestionView};

use crate::status::StatusPage;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Need {
    Question { id: QuestionId, task: TaskId, text: String },
    Approval { task: TaskId, reason: String },
    Waiting { task: TaskId, reason: String },
    Merge(NeedsMerge),
}

impl Need {
    pub(super) const fn task(&self) -> &TaskId {
        match self {
            Self::Question { task, .. }
            | Self::Approval { task, .. }
            | Self::Waiting { task, .. }
            | Self::Merge(NeedsMerge { task, .. }) => task,
        }
    }

    /// What it is, in a word or two.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Question { .. } => "asks",
            Self::Approval { .. } => "wants approval",
            Self::Waiting { .. } => "waits",
            Self::Merge(_) => "needs a merge",
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Question { text, .. } => text.clone(),
            Self::Approval { reason, .. } | Self::Waiting { reason, .. } => reason.clone(),
            Self::Merge(merge) => format!("{}: {}", merge.reason(), merge.command()),
        }
    }

    /// What Enter does about it.
    pub(super) const fn does(&self) -> &'static str {
        match self {
            Self::Question { .. } => "answer",
            Self::Approval { .. } => "decide",
            Self::Waiting { .. } | Self::Merge(_) => "show the task",
        }
    }
}

pub(super) fn needs(status: Option<&StatusPage>, live: &LiveView) -> Vec<Need> {
    let current = live.current();
    let merges = current.iter().flat_map(|run| &run.view.merges).cloned().map(Need::Merge);
    let Some(page) = status else {
        let asked = current.iter().flat_map(|run| &run.view.questions).map(question);
        let held = current.iter().flat_map(|run| &run.view.held_tasks).map(held);
        return asked.chain(held).chain(merges).collect();
    };
    let waiting = page.waiting.iter().map(|waits| {
        let (task, reason) = (waits.task.clone(), waits.reason.clone());
        match waits.approval {
            true => Need::Approval { task, reason },
            false => Need::Waiting { task, reason },
        }
    });
    page.questions.iter().map(question).chain(waiting).chain(merges).collect()
}

fn question(asked: &QuestionView) -> Need {
    let (id, task, text) = (asked.id.clone(), asked.task.clone(), asked.text.clone());
    Need::Question { id, task, text }
}

fn held(held: &EndedTask) -> Need {
    let (task, reason) = (held.id.clone(), held.reason.clone());
    match held.approval {
        true => Need::Approval { task, reason },
        false => Need::Waiting { task, reason },
    }
}

//! Plans as text: the formats for importing and exporting tasks.
//!
//! A format turns text into a [`Plan`] and tasks into text. It never touches a store: checking and
//! applying a plan is the store's one transaction. To add a format, write a file beside this one and
//! name it in [`FORMATS`].

mod beads_jsonl;
mod claude_tasks;
mod json;
pub mod markdown;
mod prd_json;
mod proposal;
mod sync_jsonl;
mod tally;
mod task_master;

use self::markdown::PlanKind;
use crate::ids::TaskId;
use crate::task::{Task, TaskPatch};
use crate::text::Title;
use crate::time::Timestamp;

pub use proposal::{Proposal, Proposals};
pub use sync_jsonl::parse_sync;

/// A task as a plan names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanTask {
    /// The line of the text that it stands on, from 1.
    pub line: usize,
    pub id: TaskId,
    /// Its title; `fields.title` is not read.
    pub title: Title,
    /// The other fields that the plan names. What it does not name stays as it is.
    pub fields: TaskPatch,
    /// When it was finished, for a plan that says so.
    pub done: Option<Done>,
    /// Why it waits for the user, for a plan that says so.
    pub waits: Option<String>,
}

/// That a plan calls a task finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// When, if the plan says.
    pub at: Option<Timestamp>,
}

/// The content of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The tasks, in the order of the text.
    pub tasks: Vec<PlanTask>,
    /// The tasks that the text says are not wanted any more.
    pub dropped: Vec<TaskId>,
    /// Lines that the user should look at, one sentence each.
    pub warnings: Vec<String>,
    /// What the text says and tasks cannot, one sentence each.
    pub not_kept: Vec<String>,
}

/// Tasks as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rendered {
    pub text: String,
    /// What the tasks say and the format cannot, one sentence each.
    pub not_kept: Vec<String>,
}

/// Why a text is not a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct PlanError {
    /// The line, from 1.
    pub line: usize,
    pub problem: String,
}

/// A way to write plans.
#[derive(Debug)]
pub struct PlanFormat {
    /// The word for `--format` and for `ralph export`.
    pub name: &'static str,
    /// What it is, in half a line.
    pub about: &'static str,
    /// Whether a file of this name and content is meant to be in this format.
    pub recognizes: fn(&str, &str) -> bool,
    /// Reads a text. All of it is checked; the first problem is returned.
    pub parse: fn(&str) -> Result<Plan, PlanError>,
    /// Writes tasks, without deleted ones; `None` for a format that is only read.
    pub render: Option<fn(&[Task]) -> Rendered>,
    /// Whether its ids are unique in one file only, such as `T001` or `1.2`: two files of a repository may use the
    /// same id for different tasks.
    pub has_local_ids: bool,
}

/// Every format, in the order in which they are asked whether they recognize a file. Formats that look at the content
/// come before those that take any file with their ending.
pub static FORMATS: &[PlanFormat] = &[
    PlanFormat {
        name: "task-master",
        about: "task-master's tasks.json, tasks with subtasks",
        recognizes: task_master::recognizes,
        parse: task_master::parse,
        render: None,
        has_local_ids: true,
    },
    PlanFormat {
        name: "claude",
        about: "Claude Code's tasks or todos",
        recognizes: claude_tasks::recognizes,
        parse: claude_tasks::parse,
        render: None,
        has_local_ids: true,
    },
    PlanFormat {
        name: "prd",
        about: "prd.json, one document with user stories",
        recognizes: prd_json::recognizes,
        parse: prd_json::parse,
        render: Some(prd_json::render),
        has_local_ids: false,
    },
    PlanFormat {
        name: "beads",
        about: "beads' issues.jsonl, one issue per line",
        recognizes: beads_jsonl::recognizes,
        parse: beads_jsonl::parse,
        render: Some(beads_jsonl::render),
        has_local_ids: false,
    },
    PlanFormat {
        name: "branches",
        about: "markdown with \"## Branch: name\" sections",
        recognizes: |name, text| markdown::recognizes(PlanKind::Branches, name, text),
        parse: |text| markdown::parse(PlanKind::Branches, text),
        render: Some(|tasks| markdown::render(PlanKind::Branches, tasks)),
        has_local_ids: false,
    },
    PlanFormat {
        name: "progress",
        about: "markdown that starts with \"# Progress: name\"",
        recognizes: |name, text| markdown::recognizes(PlanKind::Progress, name, text),
        parse: |text| markdown::parse(PlanKind::Progress, text),
        render: Some(|tasks| markdown::render(PlanKind::Progress, tasks)),
        has_local_ids: false,
    },
    PlanFormat {
        name: "spec-kit",
        about: "spec-kit's tasks.md, checkboxes T001 in phases",
        recognizes: markdown::spec_kit::recognizes,
        parse: markdown::spec_kit::parse,
        render: None,
        has_local_ids: true,
    },
    PlanFormat {
        name: "openspec",
        about: "OpenSpec's tasks.md, checkboxes 1.1 below numbered headings",
        recognizes: markdown::openspec::recognizes,
        parse: markdown::openspec::parse,
        render: None,
        has_local_ids: true,
    },
    PlanFormat {
        name: "checklist",
        about: "markdown with checkboxes or \"### Task N: title\"",
        recognizes: |name, text| markdown::recognizes(PlanKind::Checklist, name, text),
        parse: |text| markdown::parse(PlanKind::Checklist, text),
        render: Some(|tasks| markdown::render(PlanKind::Checklist, tasks)),
        has_local_ids: false,
    },
];

/// The format of a file with this name and content.
pub fn recognized(file_name: &str, text: &str) -> Option<&'static PlanFormat> {
    FORMATS.iter().find(|format| (format.recognizes)(file_name, text))
}

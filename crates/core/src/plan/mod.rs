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
    /// Its id.
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
    /// The text.
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
    /// What is wrong with it.
    pub problem: String,
}

/// A way to write plans.
pub trait PlanFormat: Sync {
    /// The word for `--format` and for `ralph export`.
    fn name(&self) -> &'static str;

    /// What it is, in half a line.
    fn about(&self) -> &'static str;

    /// Whether a file of this name and content is meant to be in this format.
    fn recognises(&self, file_name: &str, text: &str) -> bool;

    /// Reads a text. All of it is checked; the first problem is returned.
    fn parse(&self, text: &str) -> Result<Plan, PlanError>;

    /// What writes this format; `None` for a format that is only read.
    fn writer(&self) -> Option<&dyn PlanWriter> {
        None
    }

    /// Whether its ids are unique in one file only, such as `T001` or `1.2`: two files of a repository may use the
    /// same id for different tasks.
    fn has_local_ids(&self) -> bool {
        false
    }
}

/// A format that tasks can be exported to.
pub trait PlanWriter {
    /// Writes tasks. Deleted ones are left out.
    fn render(&self, tasks: &[Task]) -> Rendered;
}

/// Every format, in the order in which they are asked whether they recognize a file. Formats that look at the content
/// come before those that take any file with their ending.
pub static FORMATS: &[&dyn PlanFormat] = &[
    &task_master::TaskMaster,
    &claude_tasks::ClaudeTasks,
    &prd_json::PrdJson,
    &beads_jsonl::BeadsJsonl,
    &markdown::Markdown(markdown::PlanKind::Branches),
    &markdown::Markdown(markdown::PlanKind::Progress),
    &markdown::SpecKit,
    &markdown::OpenSpec,
    &markdown::Markdown(markdown::PlanKind::Checklist),
];

/// The format of a file with this name and content.
pub fn recognized(file_name: &str, text: &str) -> Option<&'static dyn PlanFormat> {
    FORMATS.iter().copied().find(|format| format.recognises(file_name, text))
}

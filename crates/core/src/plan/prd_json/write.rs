//! Tasks as a document of stories.

use std::collections::HashSet;

use serde::Serialize;

use crate::ids::TaskId;
use crate::plan::Rendered;
use crate::plan::tally::Tally;
use crate::task::{Status, Task};

/// The document, in its usual order of keys.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'t> {
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_name: Option<&'t str>,
    user_stories: Vec<Story<'t>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Story<'t> {
    id: &'t TaskId,
    title: &'t str,
    description: &'t str,
    acceptance_criteria: &'t [String],
    priority: i64,
    passes: bool,
    notes: &'static str,
    depends_on: Vec<&'t TaskId>,
}

impl<'t> Story<'t> {
    fn of(task: &'t Task, deleted: &HashSet<&TaskId>) -> Self {
        Self {
            id: &task.id,
            title: task.title.as_str(),
            description: &task.description,
            acceptance_criteria: &task.steps,
            priority: task.priority.into(),
            passes: task.status == Status::Done,
            notes: "",
            depends_on: task.deps.iter().filter(|dep| !deleted.contains(dep)).collect(),
        }
    }
}

/// Writes all tasks but the deleted ones, in the order given.
pub(in crate::plan) fn render(tasks: &[Task]) -> Rendered {
    let is_deleted = |task: &&Task| task.status == Status::Deleted;
    let deleted: HashSet<&TaskId> = tasks.iter().filter(is_deleted).map(|task| &task.id).collect();
    let live: Vec<&Task> = tasks.iter().filter(|task| !is_deleted(task)).collect();
    let shared = live.first().and_then(|task| task.branch.as_deref());
    let branch_name = shared.filter(|b| live.iter().all(|t| t.branch.as_deref() == Some(b)));
    let mut tally = Tally::default();
    for task in &live {
        if !matches!(task.status, Status::Done | Status::Pending) {
            tally.add(format!("status {} of ", task.status), "task", " (exported as not passed)");
        }
        let deleted_deps = task.deps.iter().filter(|dep| deleted.contains(dep));
        deleted_deps.for_each(|_| tally.add("", "link", " to deleted tasks"));
        for (has, what) in [
            (task.branch.is_some() && branch_name.is_none(), "the branch"),
            (task.category.is_some(), "the category"),
            (task.feature.is_some(), "the feature"),
            (task.parent.is_some(), "the parent"),
            (task.reason.is_some(), "the reason"),
            (task.reference.is_some(), "the reference"),
            (task.result.is_some(), "the result"),
            (task.spec.is_some(), "the spec"),
            (task.done_at.is_some(), "the time of completion"),
            (!task.touches.is_empty(), "the touches"),
        ] {
            tally.lost(has, what, "task");
        }
    }
    let document = Document {
        branch_name,
        user_stories: live.iter().map(|task| Story::of(task, &deleted)).collect(),
    };
    // Texts and numbers can always be written.
    let text = serde_json::to_string_pretty(&document).unwrap_or_default() + "\n";
    Rendered { text, not_kept: tally.sentences() }
}

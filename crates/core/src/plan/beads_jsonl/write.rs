//! Tasks as lines of beads.

use std::collections::HashSet;

use serde::Serialize;

use super::{LAST_PRIORITY, OWN_TYPES, after_checkbox};
use crate::ids::{FeatureName, TaskId};
use crate::plan::Rendered;
use crate::plan::tally::Tally;
use crate::task::{Status, Task};
use crate::time::Timestamp;

/// An issue, in beads' order of fields.
#[derive(Serialize)]
struct BeadsIssue<'t> {
    id: &'t TaskId,
    title: &'t str,
    description: &'t str,
    #[serde(skip_serializing_if = "String::is_empty")]
    acceptance_criteria: String,
    status: &'static str,
    priority: i64,
    issue_type: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    assignee: Option<&'t str>,
    created_at: String,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_ref: Option<&'t str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dependencies: Vec<Link<'t>>,
}

#[derive(Serialize)]
struct Link<'t> {
    issue_id: &'t TaskId,
    depends_on_id: &'t TaskId,
    #[serde(rename = "type")]
    kind: &'static str,
    created_at: String,
}

/// Writes all tasks but the deleted ones, in the order given.
pub(in crate::plan) fn render(tasks: &[Task]) -> Rendered {
    let is_deleted = |task: &&Task| task.status == Status::Deleted;
    let deleted: HashSet<&TaskId> = tasks.iter().filter(is_deleted).map(|task| &task.id).collect();
    let mut tally = Tally::default();
    let mut text = String::new();
    for task in tasks.iter().filter(|task| task.status != Status::Deleted) {
        let line = line(task, &deleted, &mut tally);
        // Texts and numbers can always be written.
        text.push_str(&serde_json::to_string(&line).unwrap_or_default());
        text.push('\n');
    }
    Rendered { text, not_kept: tally.sentences() }
}

fn line<'t>(task: &'t Task, deleted: &HashSet<&TaskId>, tally: &mut Tally) -> BeadsIssue<'t> {
    let priority = i64::from(task.priority);
    if priority > LAST_PRIORITY {
        tally.add("the priority of ", "task", " (above 4, exported as 4)");
    }
    let status = match task.status {
        Status::InProgress => "in_progress",
        Status::Done => "closed",
        Status::Pending => "open",
        other => {
            tally.add(format!("status {other} of "), "task", " (exported as open)");
            "open"
        }
    };
    tally.lost(task.reason.is_some(), "the reason", "task");
    tally.lost(task.result.is_some(), "the result", "task");
    let done_at = task.done_at.unwrap_or(task.updated_at);
    BeadsIssue {
        id: &task.id,
        title: task.title.as_str(),
        description: &task.description,
        acceptance_criteria: criteria(&task.steps),
        status,
        priority: priority.min(LAST_PRIORITY),
        issue_type: own_type(task).unwrap_or(OWN_TYPES[0]),
        assignee: task.claim.as_ref().map(|claim| claim.agent.as_str()),
        created_at: exact(task.created_at),
        updated_at: exact(task.updated_at),
        closed_at: (task.status == Status::Done).then(|| exact(done_at)),
        external_ref: task.reference.as_deref(),
        labels: labels(task),
        dependencies: links(task, deleted, tally),
    }
}

/// The category, where beads has it as a type that says something.
fn own_type(task: &Task) -> Option<&str> {
    task.category.as_deref().filter(|category| OWN_TYPES[1..].contains(category))
}

/// One item a step. A step that looks like a checkbox gets one in front, or its own would be taken off.
fn criteria(steps: &[String]) -> String {
    let item = |step: &String| match after_checkbox(step) {
        Some(_) => format!("- [ ] {step}"),
        None => format!("- {step}"),
    };
    steps.iter().map(item).collect::<Vec<_>>().join("\n")
}

/// What beads has no field for.
fn labels(task: &Task) -> Vec<String> {
    let category = task.category.as_deref().filter(|_| own_type(task).is_none());
    let feature = task.feature.as_ref().map(FeatureName::as_str);
    let single = [
        ("category", category),
        ("spec", task.spec.as_deref()),
        ("feature", feature),
        ("branch", task.branch.as_deref()),
    ];
    let single = single.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let touches = task.touches.iter().map(|glob| ("touches", glob.as_str()));
    single.chain(touches).map(|(name, value)| format!("{name}:{value}")).collect()
}

/// The parent and the dependencies; a deleted task holds nothing up and is not in the text.
fn links<'t>(task: &'t Task, deleted: &HashSet<&TaskId>, tally: &mut Tally) -> Vec<Link<'t>> {
    let parent = task.parent.iter().map(|parent| ("parent-child", parent));
    let deps = task.deps.iter().map(|dep| ("blocks", dep));
    let mut links = Vec::new();
    for (kind, to) in parent.chain(deps) {
        if deleted.contains(to) {
            tally.add("", "link", " to deleted tasks");
            continue;
        }
        let created_at = exact(task.created_at);
        links.push(Link { issue_id: &task.id, depends_on_id: to, kind, created_at });
    }
    links
}

/// RFC 3339 with its milliseconds, so that the time reads back as it was.
fn exact(time: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(time.as_millis())
        .map_or_else(|_| time.to_string(), |time| time.to_string())
}

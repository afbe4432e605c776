//! Tasks as headings `### Task N: title`: the form of a checklist that has words for specifications
//! and dependencies.

use std::collections::HashMap;

use super::doc::{Item, PlanKind, read};
use crate::ids::TaskId;
use crate::task::{Status, Task};

/// Writes tasks, each with the heading of its group if it has one, in the order given. `None` if
/// they would not come back as they are: a text may hold headings or fields of its own.
pub(super) fn render(groups: &[(String, Vec<&Task>)]) -> Option<String> {
    let tasks = || groups.iter().flat_map(|(_, tasks)| tasks.iter().copied());
    let numbers: HashMap<&TaskId, usize> =
        tasks().enumerate().map(|(index, task)| (&task.id, index + 1)).collect();
    let mut text = "# Plan\n".to_owned();
    for (name, tasks) in groups {
        if !name.is_empty() {
            text.push_str(&format!("\n## {name}\n"));
        }
        for task in tasks {
            text.push_str(&section(task, &numbers));
        }
    }
    let doc = read(PlanKind::Checklist, &text).ok()?;
    let whole = doc.items.len() == numbers.len() && PlanKind::of("", &text) == PlanKind::Checklist;
    let deps = doc.all_dependencies();
    let back = doc.items.iter().zip(&deps);
    let same = |(task, (item, deps))| is_same(item, deps, task, &numbers);
    (whole && tasks().zip(back).all(same)).then_some(text)
}

/// What stands below the fields of a task.
fn below(task: &Task) -> String {
    let mut below = task.description.trim_end().to_owned();
    if !task.steps.is_empty() {
        let steps: Vec<String> = task.steps.iter().map(|step| format!("- {step}")).collect();
        below.push_str(if below.is_empty() { "" } else { "\n\n" });
        below.push_str(&steps.join("\n"));
    }
    below
}

fn section(task: &Task, numbers: &HashMap<&TaskId, usize>) -> String {
    let number = numbers.get(&task.id).copied().unwrap_or_default();
    // A second run of `#` at the end is the one that closes the heading.
    let close = if task.title.as_str().ends_with('#') { " #" } else { "" };
    let mut text = format!("\n### Task {number}: {}{close}\n", task.title);
    let status = if task.status == Status::Done { "complete" } else { "planned" };
    text.push_str(&format!("**Status:** {status}\n"));
    if let Some(spec) = &task.spec {
        text.push_str(&format!("**Spec:** {spec}\n"));
    }
    let deps = task.deps.iter().filter_map(|dep| numbers.get(dep));
    let deps: Vec<String> = deps.map(|number| format!("Task {number}")).collect();
    if !deps.is_empty() {
        text.push_str(&format!("**Dependencies:** {}\n", deps.join(", ")));
    }
    match below(task) {
        below if below.is_empty() => text,
        below => format!("{text}\n{below}\n"),
    }
}

/// Whether a task comes back from the page as it was.
fn is_same(
    item: &Item,
    deps: &(Vec<usize>, Vec<&str>),
    task: &Task,
    numbers: &HashMap<&TaskId, usize>,
) -> bool {
    let wanted = task.deps.iter().filter_map(|dep| numbers.get(dep).map(|number| number - 1));
    item.title == task.title.as_str()
        && item.is_done() == (task.status == Status::Done)
        && item.spec == task.spec
        && item.body.split_whitespace().eq(below(task).split_whitespace())
        && wanted.eq(deps.0.iter().copied())
        && deps.1.is_empty()
}

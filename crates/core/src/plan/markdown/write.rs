//! Tasks as a markdown plan.

use std::collections::{HashMap, HashSet};

use super::branches;
use super::doc::PlanKind;
use super::outline::{LineKind, Outline};
use super::progress::Section;
use super::write_tasks;
use crate::ids::TaskId;
use crate::plan::Rendered;
use crate::plan::tally::Tally;
use crate::task::{Priority, Status, Task};

/// The section of tasks that belong to no branch.
const NO_BRANCH: &str = "work";

/// Writes all tasks but the deleted ones, parts below their parents, under their groups.
pub(in crate::plan) fn render(kind: PlanKind, tasks: &[Task]) -> Rendered {
    let live: Vec<&Task> = tasks.iter().filter(|task| task.status != Status::Deleted).collect();
    let mut tally = Tally::default();
    let needs_fields = live.iter().any(|task| task.spec.is_some() || !task.deps.is_empty());
    let groups = grouped(kind, &live);
    let headings = match kind {
        PlanKind::Checklist if needs_fields => write_tasks::render(&groups),
        _ => None,
    };
    for task in &live {
        lost(task, headings.is_some(), &mut tally);
    }
    let text = headings.unwrap_or_else(|| boxes(kind, &live, &mut tally));
    Rendered { text, not_kept: tally.sentences() }
}

/// Tasks under the names of their groups, those without one first: without a heading they would
/// belong to the one above them.
fn grouped<'t>(kind: PlanKind, tasks: &[&'t Task]) -> Vec<(String, Vec<&'t Task>)> {
    let mut groups: Vec<(String, Vec<&Task>)> = Vec::new();
    let mut place: HashMap<String, usize> = HashMap::new();
    for task in tasks {
        let name = group_of(kind, task).unwrap_or_default();
        let at = *place.entry(name.clone()).or_insert_with(|| {
            groups.push((name, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(task);
    }
    groups.sort_by_key(|(name, _)| !name.is_empty());
    groups
}

/// The page as checkboxes, parts below their parents.
fn boxes(kind: PlanKind, live: &[&Task], tally: &mut Tally) -> String {
    let tree = Tree::of(live);
    let mut text = head(kind, live.iter().all(|task| task.status == Status::Done));
    for (name, roots) in &grouped(kind, &tree.roots) {
        text.push_str(&heading(kind, name, roots, tally));
        for root in roots {
            tree.write(kind, root, &mut text, tally);
        }
    }
    text.push_str(foot(kind));
    text
}

/// Says what of a task the page has no words for.
fn lost(task: &Task, headings: bool, tally: &mut Tally) {
    if !matches!(task.status, Status::Done | Status::Pending) {
        tally.add(format!("status {} of ", task.status), "task", " (exported as not done)");
    }
    for (has, what) in [
        (true, "the id"),
        (!task.deps.is_empty() && !headings, "the dependencies"),
        (task.feature.is_some(), "the feature"),
        (task.priority != Priority::default(), "the priority"),
        (task.reason.is_some(), "the reason"),
        (task.reference.is_some(), "the reference"),
        (task.result.is_some(), "the result"),
        (task.spec.is_some() && !headings, "the spec"),
        (task.branch.is_some() && headings, "the branch"),
        (task.parent.is_some() && headings, "the parent"),
        (!task.steps.is_empty() && headings, "the steps (written into the text)"),
        (!task.touches.is_empty() && headings, "the touches"),
        (task.done_at.is_some(), "the time of completion"),
    ] {
        tally.lost(has, what, "task");
    }
}

/// The name of a task's group as it comes back from its heading.
fn group_of(kind: PlanKind, task: &Task) -> Option<String> {
    let mut name = match kind {
        PlanKind::Branches => task.branch.as_deref().unwrap_or(NO_BRANCH),
        PlanKind::Progress | PlanKind::Checklist => task.category.as_deref()?,
    }
    .to_owned();
    // What is taken off the end may leave something else that is taken off there.
    loop {
        let read = read_back(kind, &name);
        if read == name {
            break;
        }
        name = read;
    }
    match (name.is_empty(), kind) {
        (true, PlanKind::Branches) => Some(NO_BRANCH.to_owned()),
        (empty, _) => (!empty).then_some(name),
    }
}

fn read_back(kind: PlanKind, name: &str) -> String {
    let line = match kind {
        PlanKind::Branches => format!("## Branch: {name}"),
        PlanKind::Progress | PlanKind::Checklist => format!("## {name}"),
    };
    let outline = Outline::of(&line);
    let words = outline.headings().next().map(|(_, words)| words).unwrap_or_default();
    let words = match kind {
        PlanKind::Branches => branches::name(words).unwrap_or_default(),
        // A heading with a checkbox would be a task.
        PlanKind::Progress | PlanKind::Checklist => {
            match outline.lines.first().map(|line| &line.kind) {
                Some(LineKind::Heading { checkbox: Some(at), .. }) => &line[at.words.clone()],
                _ => words.trim_matches('`').trim(),
            }
        }
    };
    words.to_owned()
}

fn head(kind: PlanKind, all_done: bool) -> String {
    match kind {
        PlanKind::Branches | PlanKind::Checklist => "# Plan\n".to_owned(),
        PlanKind::Progress => {
            let status = if all_done { "All tasks are done." } else { "In Progress" };
            let (first, second, third) = (Section::Status, Section::Analysis, Section::Tasks);
            format!("# Progress: plan\n\n## {first}\n\n{status}\n\n## {second}\n\n## {third}\n")
        }
    }
}

const fn foot(kind: PlanKind) -> &'static str {
    match kind {
        PlanKind::Branches | PlanKind::Checklist => "",
        PlanKind::Progress => concat!(
            "\n## Testing Strategy\n\n## Completed This Iteration\n\n## Recent Attempts\n\n",
            "## Iteration Log\n\n| Iteration | Started | Duration | Tasks Completed | Notes |\n",
            "|---|---|---|---|---|\n"
        ),
    }
}

/// The heading of a group, with what a branch says below it.
fn heading(kind: PlanKind, name: &str, roots: &[&Task], tally: &mut Tally) -> String {
    let touches = &roots.first().map(|root| root.touches.as_slice()).unwrap_or_default();
    let shared = kind == PlanKind::Branches && roots.iter().all(|root| root.touches == *touches);
    for root in roots {
        tally.lost(!shared && !root.touches.is_empty(), "the touches", "task");
        let other = if kind == PlanKind::Branches { &root.category } else { &root.branch };
        let what = if kind == PlanKind::Branches { "the category" } else { "the branch" };
        tally.lost(other.is_some(), what, "task");
    }
    match kind {
        PlanKind::Branches => {
            let missing = roots.iter().filter(|root| root.branch.is_none());
            missing.for_each(|_| tally.add("that ", "task", " had no branch (put under \"work\")"));
            let touches = match shared && !touches.is_empty() {
                true => format!("Touches: {}\n", touches.join(", ")),
                false => String::new(),
            };
            format!("\n## Branch: {name}\n{touches}\n")
        }
        _ if name.is_empty() => "\n".to_owned(),
        PlanKind::Progress => format!("\n### {name}\n\n"),
        // A page with a heading of level 2 like this would be another kind of plan.
        PlanKind::Checklist if name.to_lowercase().starts_with("branch") => {
            format!("\n### {name}\n\n")
        }
        PlanKind::Checklist => format!("\n## {name}\n\n"),
    }
}

struct Tree<'t> {
    roots: Vec<&'t Task>,
    parts: HashMap<&'t TaskId, Vec<&'t Task>>,
}

impl<'t> Tree<'t> {
    fn of(live: &[&'t Task]) -> Self {
        let ids: HashSet<&TaskId> = live.iter().map(|task| &task.id).collect();
        let parents: HashMap<&TaskId, &TaskId> =
            live.iter().filter_map(|task| Some((&task.id, task.parent.as_ref()?))).collect();
        let (mut roots, mut parts) = (Vec::new(), HashMap::<_, Vec<_>>::new());
        // A task is written below its parent unless it is its own ancestor: then it would be lost.
        let is_part = |task: &Task| {
            let mut above = parents.get(&task.id).copied().filter(|parent| ids.contains(parent));
            let mut steps = 0;
            while let Some(ancestor) = above {
                steps += 1;
                if *ancestor == task.id || steps > parents.len() {
                    return false;
                }
                above = parents.get(ancestor).copied();
            }
            steps > 0
        };
        for task in live {
            match task.parent.as_ref().filter(|_| is_part(task)) {
                Some(parent) => parts.entry(parent).or_default().push(*task),
                None => roots.push(*task),
            }
        }
        Self { roots, parts }
    }

    /// Writes a task and what is inside it.
    fn write(&self, kind: PlanKind, root: &'t Task, text: &mut String, tally: &mut Tally) {
        let mut waiting = vec![(root, 0)];
        while let Some((task, depth)) = waiting.pop() {
            let item = item(task, tally);
            for line in item.lines() {
                let indent = if line.is_empty() { 0 } else { 2 * depth };
                text.push_str(&" ".repeat(indent));
                text.push_str(line);
                text.push('\n');
            }
            let parts = self.parts.get(&task.id).map(Vec::as_slice).unwrap_or_default();
            for part in parts.iter().rev() {
                waiting.push((part, depth + 1));
            }
            let elsewhere = task.id != root.id && group_of(kind, task) != group_of(kind, root);
            let what = if kind == PlanKind::Branches { "the branch" } else { "the category" };
            tally.lost(elsewhere, what, "task inside another");
            tally.lost(task.id != root.id && !task.touches.is_empty(), "the touches", "task");
        }
    }
}

fn item(task: &Task, tally: &mut Tally) -> String {
    let mark = if task.status == Status::Done { 'x' } else { ' ' };
    let mut text = format!("- [{mark}] {}", task.title);
    let mut below = |line: &str| {
        text.push('\n');
        let line: String = line.chars().filter(|c| *c != '\0').collect();
        if !line.trim().is_empty() {
            text.push_str("  ");
            text.push_str(line.trim_end());
        }
    };
    task.description.trim_end().lines().for_each(&mut below);
    if !task.steps.is_empty() {
        tally.lost(true, "the steps (written into the text)", "task");
        below("");
        task.steps.iter().for_each(|step| below(&format!("- {step}")));
    }
    escaped(text, tally)
}

/// What would be read as a checkbox inside the item is disarmed, and code that is not closed is closed.
fn escaped(mut text: String, tally: &mut Tally) -> String {
    let outline = Outline::of(&text);
    let checkboxes = outline.lines.iter().skip(1).filter_map(|line| match line.kind {
        LineKind::Box { ref at, .. } => Some(at.inner.start - 1),
        _ => None,
    });
    let checkboxes: Vec<usize> = checkboxes.collect();
    tally.lost(!checkboxes.is_empty(), "checkboxes in the text (escaped)", "task");
    let closing = outline.closing();
    for at in checkboxes.into_iter().rev() {
        text.insert(at, '\\');
    }
    if let Some(closing) = closing {
        tally.lost(true, "code that is not closed (closed now)", "task");
        text.push_str(&format!("\n  {closing}"));
    }
    text
}

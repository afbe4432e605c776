//! `ralph import --dry-run`: what each task of a plan would become.

use ralph_core::amounts::first_of;
use ralph_core::plan::{Plan, PlanFormat, PlanTask};
use ralph_core::task::{Status, Task};
use ralph_ui::line::TextLine;
use ralph_ui::style::Meaning;
use serde_json::json;

use crate::error::{Done, known_task};
use crate::wiring::Context;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    New,
    Update,
    Unchanged,
    /// It is done, and done tasks stay as they are.
    Skip,
}

impl Fate {
    const ALL: [Self; 4] = [Self::New, Self::Update, Self::Unchanged, Self::Skip];

    fn of(plan: &PlanTask, known: Option<&Task>) -> Self {
        match known.filter(|task| task.status != Status::Deleted) {
            None => Self::New,
            Some(task) if task.status == Status::Done => Self::Skip,
            Some(task) if changes(plan, task) => Self::Update,
            Some(_) => Self::Unchanged,
        }
    }

    /// Its word in a line, and after a number.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::New => ("new", "new"),
            Self::Update => ("update", "to update"),
            Self::Unchanged => ("unchanged", "unchanged"),
            Self::Skip => ("skip", "done before"),
        }
    }
}

/// Whether the plan says something else than the task.
fn changes(plan: &PlanTask, task: &Task) -> bool {
    fn differs<T: PartialEq>(output: Option<&T>, is: &T) -> bool {
        output.is_some_and(|output| output != is)
    }
    let sorted = |ids: &[ralph_core::TaskId]| {
        let mut ids = ids.to_vec();
        ids.sort();
        ids
    };
    let fields = &plan.fields;
    plan.title != task.title
        || plan.done.is_some()
        || (plan.waits.is_some() && task.status != Status::Waiting)
        || differs(fields.description.as_ref(), &task.description)
        || differs(fields.priority.as_ref(), &task.priority)
        || differs(fields.category.as_ref(), &task.category)
        || differs(fields.spec.as_ref(), &task.spec)
        || differs(fields.reference.as_ref(), &task.reference)
        || differs(fields.parent.as_ref(), &task.parent)
        || differs(fields.feature.as_ref(), &task.feature)
        || differs(fields.branch.as_ref(), &task.branch)
        || differs(fields.touches.as_ref(), &task.touches)
        || differs(fields.steps.as_ref(), &task.steps)
        || fields.deps.as_ref().is_some_and(|deps| sorted(deps) != sorted(&task.deps))
}

pub(super) fn show(
    plan: &Plan,
    format: &PlanFormat,
    as_json: bool,
    context: &mut Context<'_>,
) -> Done {
    let mut store = context.reader()?;
    let mut fates = Vec::with_capacity(plan.tasks.len());
    for task in &plan.tasks {
        fates.push(Fate::of(task, known_task(&task.id, &mut *store)?.as_ref()));
    }
    let count = |wanted: Fate| fates.iter().filter(|fate| **fate == wanted).count();
    if as_json {
        let tasks = plan.tasks.iter().zip(&fates).map(|(task, fate)| {
            json!({
                "id": task.id, "title": task.title.as_str(), "change": fate.words().0,
                "done": task.done.is_some(), "deps": task.fields.deps.as_deref().unwrap_or_default(),
            })
        });
        return context.out.json(&json!({
            "format": format.name, "tasks": plan.tasks.len(),
            "plan": tasks.collect::<Vec<_>>(), "dropped": plan.dropped,
        }));
    }
    let counted = Fate::ALL.map(|fate| (count(fate), fate.words().1));
    let counted: Vec<String> = counted
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let tasks = ralph_core::amounts::count(plan.tasks.len() as u64, "task");
    context.out.line(format!("{tasks} in {}: {}", format.about, counted.join(", ")))?;
    let style = context.out.style;
    let width = plan.tasks.iter().map(|task| task.id.as_str().len()).max().unwrap_or_default();
    for (task, fate) in plan.tasks.iter().zip(&fates) {
        let line = TextLine::new()
            .plain(format!("  {:<9}  ", fate.words().0))
            .add(Meaning::Name, format!("{:<width$}", task.id))
            .plain("  ")
            .flexible(None, task.title.as_str())
            .add(Meaning::Faint, remark(task));
        context.out.line(line.show(style))?;
    }
    Ok(())
}

fn remark(task: &PlanTask) -> String {
    const NAMED: usize = 3;
    let deps = task.fields.deps.as_deref().unwrap_or_default();
    if task.done.is_some() {
        return "  done".to_owned();
    }
    if task.waits.is_some() {
        return "  waits for you".to_owned();
    }
    if deps.is_empty() { String::new() } else { format!("  after {}", first_of(deps, NAMED)) }
}

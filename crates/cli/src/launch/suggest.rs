//! Plans and task lists under usual names. ralph only suggests them: it would change a plan, and an import is the user's
//! decision.

use std::path::Path;

use ralph_core::amounts::count;
use ralph_core::plan::markdown::{ItemState, PlanKind};
use ralph_core::plan::{Plan, recognized};
use ralph_engine::plan_file::{PlanFile, has_no_tasks};
use ralph_engine::project::Project;
use ralph_engine::untrusted;
use ralph_engine::worktree_files;

use crate::error::{Result, quoted};

/// Names of markdown plans at the top, in lower case: file systems and habits differ.
const PLANS: [&str; 5] = ["plan.md", "fix_plan.md", "@fix_plan.md", "tasks.md", "todo.md"];
/// Plans at fixed places.
const PLACES: [&str; 2] = [".ralph/fix_plan.md", ".ralph/@fix_plan.md"];
/// Lists that ralph imports.
const LISTS: [&str; 4] =
    ["prd.json", ".taskmaster/tasks/tasks.json", "tasks.json", ".beads/issues.jsonl"];
/// Folders whose folders have a `tasks.md` each.
const FEATURES: [&str; 2] = ["specs", "openspec/changes"];
/// The number of features that are suggested.
const MANY: usize = 3;

/// A file that looks like a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suggestion {
    pub(crate) name: String,
    /// The number of open tasks; `None` for a text without checkboxes.
    open: Option<usize>,
    pub(super) import: bool,
}

impl Suggestion {
    pub(crate) fn command(&self) -> String {
        let verb = if self.import { "import" } else { "build" };
        format!("ralph {verb} {}", quoted(Path::new(&self.name)))
    }

    /// Why, for a list of commands.
    pub(crate) fn why(&self) -> String {
        let verb = if self.import { "import" } else { "work through" };
        format!("{verb} {} ({})", self.name, self.size())
    }

    /// Both, for a hint.
    pub(crate) fn sentence(&self) -> String {
        format!("found {} ({}): {}", self.name, self.size(), self.command())
    }

    fn size(&self) -> String {
        match self.open {
            Some(open) => count(open as u64, "open task"),
            None => "text without checkboxes".to_owned(),
        }
    }
}

/// Every such file with something to do, the likeliest first.
pub(crate) fn lists(project: &Project) -> Vec<Suggestion> {
    let root = project.worktree.as_path();
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    };
    let at_top = names(root);
    let usual = PLANS.iter().flat_map(|wanted| {
        at_top.iter().filter(|name| name.to_ascii_lowercase() == **wanted).cloned()
    });
    let usual = usual.chain(PLACES.map(str::to_owned));
    let mut found: Vec<Suggestion> = usual.filter_map(|name| plan(root, name)).collect();
    for folder in FEATURES {
        let features = names(&root.join(folder)).into_iter().rev();
        let lists = features.map(|feature| format!("{folder}/{feature}/tasks.md"));
        found.extend(lists.filter_map(|name| plan(root, name)).take(MANY));
    }
    found.extend(LISTS.iter().filter_map(|name| list(root, name)));
    found
}

fn plan(root: &Path, name: String) -> Option<Suggestion> {
    let plan = PlanFile::find(root, Path::new(&name)).ok().flatten()?;
    let read = plan.read().ok().flatten()?;
    if has_no_tasks(&read.text, &read.doc) {
        return None;
    }
    let is_text = plan.kind() == PlanKind::Checklist && read.doc.items.is_empty();
    let standings = read.doc.standings();
    let open = standings.iter().filter(|run_files| **run_files == ItemState::Open).count();
    let open = (!is_text).then_some(open);
    // spec-kit and OpenSpec say more than checkboxes can.
    let import = numbered_list(&name, &read.text).is_some();
    (open != Some(0)).then_some(Suggestion { name, open, import })
}

fn list(root: &Path, name: &str) -> Option<Suggestion> {
    let text =
        worktree_files::read_text(root, Path::new(name), untrusted::DOCUMENT).ok().flatten()?;
    let (_, plan) = read_list(name, &text)?;
    let open = open_tasks(&plan);
    (open > 0).then(|| Suggestion { name: name.to_owned(), open: Some(open), import: true })
}

/// The name of the format of a list, and its tasks; `None` if ralph cannot import it.
fn read_list(name: &str, text: &str) -> Option<(&'static str, Plan)> {
    let file_name = name.rsplit('/').next().unwrap_or(name);
    let format = recognized(file_name, text)?;
    let plan = (format.parse)(text).ok()?;
    Some((format.name, plan)).filter(|(_, plan)| !plan.tasks.is_empty())
}

fn open_tasks(plan: &Plan) -> usize {
    plan.tasks.iter().filter(|task| task.done.is_none()).count()
}

/// Refuses a list in JSON: as a plan it would be a text that every session gets.
pub(super) fn refuse_list_of_another_tool(plan: &PlanFile) -> Result<()> {
    let name = plan.name();
    let Ok(Some(read)) = plan.read() else { return Ok(()) };
    let lower = name.to_ascii_lowercase();
    let is_json = [".json", ".jsonl", ".ndjson"].iter().any(|end| lower.ends_with(end))
        || serde_json::from_str::<serde::de::IgnoredAny>(&read.text).is_ok();
    if !is_json {
        return Ok(());
    }
    let command = quoted(Path::new(name));
    Err(match read_list(name, &read.text) {
        Some((format, tasks)) => {
            let open = count(open_tasks(&tasks) as u64, "open task");
            no_plan!(
                "{name} is a {format} list with {open}, not a markdown plan; import it first: ralph import {command}"
            )
        }
        None => {
            no_plan!("{name} is JSON that ralph does not know as a task list, not a markdown plan")
                .hint(format!("see what is missing: ralph import {command} --dry-run"))
                .hint("or let the agent write a plan: ralph plan")
        }
    })
}

/// What to say about a markdown list of spec-kit or OpenSpec that is built as it is.
pub(super) fn numbered_list(name: &str, text: &str) -> Option<String> {
    let file_name = name.rsplit('/').next().unwrap_or(name);
    let format = recognized(file_name, text)?;
    if !matches!(format.name, "spec-kit" | "openspec") {
        return None;
    }
    Some(format!(
        "{name} is a task list in the format {}; ralph works through its checkboxes in order. To keep its ids and \
         its parallel tasks, import it: ralph import {}",
        format.name,
        quoted(Path::new(name))
    ))
}

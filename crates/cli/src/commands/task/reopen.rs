//! `ralph task reopen`: a done or failed task is open again, in the task database and in its plan file.

use std::collections::BTreeMap;

use clap::Args;
use ralph_core::task::{Status, Task};
use ralph_core::{TaskId, text};
use ralph_engine::clock;
use ralph_engine::plan_file::PlanFile;
use ralph_engine::ports::{Store, StoreError};
use ralph_engine::project::Project;
use serde::Serialize;

use crate::error::{CliError, Done, Result, task_id, with_store};
use crate::wiring::Context;

/// Reopen done or failed tasks; their attempts, evidence and log stay
///
/// The code stays as it is: to revert the commits of a task too, use ralph undo. In a plan file, ralph clears the
/// checkbox. Tasks that depend on a reopened task and are done stay done; open ones are blocked until it is done again.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task reopen t-abcd2345 --reason \"it ignores empty lines\"")]
pub(super) struct ReopenArgs {
    /// The tasks
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Why: a note in the log of the task, which its next session reads
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Reopened {
    /// The tasks, and those that they are parts of.
    reopened: Vec<TaskId>,
    /// Dependents that are done, each with the reopened task that it depends on.
    done_dependents: Vec<Dependent>,
    plan_files: Vec<String>,
}

/// A task that is done although one that it depends on is open again.
#[derive(Debug, Serialize)]
struct Dependent {
    task: TaskId,
    depends_on: TaskId,
}

pub(super) fn cmd_reopen(args: &ReopenArgs, context: &mut Context<'_>) -> Done {
    let ids = args.ids.iter().map(|id| task_id(id)).collect::<Result<Vec<_>, _>>()?;
    let reason = given_reason(args.reason.as_deref())?.unwrap_or_default();
    let reopened = reopen(&ids, &reason, context)?;
    if args.json {
        return context.out.json(&reopened);
    }
    reopened.tell(context);
    Ok(())
}

/// The argument of `--reason`, which must say something.
pub(crate) fn given_reason(text: Option<&str>) -> Result<Option<String>> {
    match text.map(str::trim) {
        Some("") => Err(CliError::failed("the reason is empty")
            .hint("say what is wrong, or omit --reason: --reason TEXT")),
        Some(reason) => Ok(Some(text::long("reason", reason)?)),
        None => Ok(None),
    }
}

/// Reopens tasks in their plan files and in the task database, all or none.
pub(crate) fn reopen(ids: &[TaskId], reason: &str, context: &mut Context<'_>) -> Result<Reopened> {
    let by = context.actor()?;
    let project = context.project()?;
    let mut store = context.store()?;
    let store = &mut *store;
    let mut tasks: Vec<Task> = Vec::new();
    for id in ids {
        let task = store.get(id).map_err(|error| with_store(error, store))?;
        if !tasks.iter().any(|known| known.id == task.id) {
            tasks.push(task);
        }
    }
    // Tried first: a refusal must leave the plan file alone.
    let unique: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
    let may_reopen = |task: &&Task| task.status.is_finished() && task.neighbors.children == 0;
    if let Some(refused) = tasks.iter().find(|task| !may_reopen(task)) {
        let refused = store.reopen(std::slice::from_ref(&refused.id), reason, &by, clock::now());
        return refused.map_err(|error| with_store(error, store)).map(|()| Reopened::nothing());
    }
    let parents = done_parents(&tasks, store)?;
    let plan_files = clear_boxes(&tasks, &project)?;
    store.reopen(&unique, reason, &by, clock::now()).map_err(|error| with_store(error, store))?;
    let mut done_dependents = Vec::new();
    for id in &unique {
        let done = store.dependents(id)?.into_iter().filter(|task| task.status == Status::Done);
        done_dependents
            .extend(done.map(|task| Dependent { task: task.id, depends_on: id.clone() }));
    }
    let reopened = unique.into_iter().chain(parents).collect();
    Ok(Reopened { reopened, done_dependents, plan_files })
}

/// The done tasks that these are parts of: they reopen too.
fn done_parents(tasks: &[Task], store: &mut dyn Store) -> Result<Vec<TaskId>, StoreError> {
    let mut found: Vec<TaskId> = Vec::new();
    for task in tasks {
        let mut above = task.parent.clone();
        while let Some(id) = above {
            let parent = store.get(&id)?;
            if parent.status != Status::Done || found.contains(&id) {
                break;
            }
            found.push(id);
            above = parent.parent;
        }
    }
    Ok(found)
}

/// Clears the checkboxes of tasks that come from plan files. Returns the files that changed.
fn clear_boxes(tasks: &[Task], project: &Project) -> Result<Vec<String>> {
    let mut by_plan: BTreeMap<&str, Vec<TaskId>> = BTreeMap::new();
    for task in tasks {
        if let Some(key) = &task.reference {
            by_plan.entry(key).or_default().push(task.id.clone());
        }
    }
    let mut changed = Vec::new();
    for (key, ids) in by_plan {
        let mut places = vec![&project.worktree, &project.root];
        places.dedup();
        for place in places {
            let Some(plan) = PlanFile::known(place, key).map_err(plan_error)? else { continue };
            if plan.reopen(&ids).map_err(plan_error)? {
                changed.push(plan.name().to_owned());
            }
            break;
        }
    }
    Ok(changed)
}

fn plan_error(error: ralph_engine::plan_file::PlanFileError) -> CliError {
    failed!("the task was not reopened: {error}")
        .hint("clear its checkbox yourself, and the task is open again")
}

impl Reopened {
    fn nothing() -> Self {
        Self { reopened: vec![], done_dependents: vec![], plan_files: vec![] }
    }

    /// What happened, a sentence each.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let tasks = self.reopened.iter().map(|id| format!("{id} is open again"));
        let files = self.plan_files.iter();
        let files = files.map(|file| format!("ralph cleared its checkbox in {file}"));
        tasks.chain(files).collect()
    }

    pub(crate) fn tell(&self, context: &mut Context<'_>) {
        for sentence in self.sentences() {
            context.out.note(sentence);
        }
        for Dependent { task, depends_on } in &self.done_dependents {
            context.out.warning(format!(
                "{task} depends on {depends_on} and stays done; to reopen it: ralph task reopen {task}"
            ));
        }
    }
}

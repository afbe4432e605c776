//! `ralph undo`: reverts the commits of a task or of iterations, and reopens the tasks.

mod choose;

use std::collections::BTreeMap;

use clap::Args;
use ralph_core::TaskId;
use ralph_core::amounts::count;
use ralph_core::task::Status;
use ralph_core::text;
use ralph_core::view::history::{FinishedTask, LandedIteration};
use ralph_engine::git::check_version;
use ralph_engine::plan_file::PlanFile;
use ralph_engine::ports::Vcs;
use ralph_engine::project::Project;
use ralph_engine::run_files::WorktreeLock;
use ralph_engine::undo::{PlanEdit, Revert, Undo, UndoError};
use serde::Serialize;

use self::choose::{Place, Target, choose};
use crate::commands::task::{Reopened, given_reason, reopen};
use crate::error::{CliError, Done, Result, quoted, task_id};
use crate::trust::{ask, may_ask};
use crate::wiring::Context;

/// Undo a task or the last iterations: revert their commits with new commits and reopen the tasks
///
/// ralph never rewrites history and never touches uncommitted changes. If a revert conflicts with later commits, or
/// if you have uncommitted changes in a file that would change back, nothing happens. In a plan file only the
/// checkboxes change back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralph undo                    # the last iteration that committed
  ralph undo 3                  # the last three of them
  ralph undo t-abcd2345         # all commits of a task
  ralph undo t-abcd2345 --dry-run")]
pub(crate) struct UndoArgs {
    /// A task, or a number of iterations [default: the last iteration that committed]
    #[arg(value_name = "TASK|N", conflicts_with_all = ["task", "iterations"])]
    target: Option<String>,
    /// Undo this task, even if its id is a number
    #[arg(long, value_name = "ID", conflicts_with = "iterations")]
    task: Option<String>,
    /// Undo this many iterations
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,
    /// Why: a note in the logs of the tasks, which their next sessions read
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    /// Show what would happen and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Told<'a> {
    dry_run: bool,
    branch: Option<&'a str>,
    tasks: Vec<&'a FinishedTask>,
    reverted: Vec<Reverted<'a>>,
    files: &'a [String],
    #[serde(flatten)]
    reopened: Option<&'a Reopened>,
}

#[derive(Serialize)]
struct Reverted<'a> {
    commit: &'a str,
    subject: &'a str,
    /// The new commit; `None` in a dry run.
    by: Option<&'a str>,
}

pub(crate) fn cmd_undo(args: &UndoArgs, context: &mut Context<'_>) -> Done {
    context.refuse_in_session()?;
    let reason = given_reason(args.reason.as_deref())?;
    check_version()?;
    let target = target(args, context)?;
    let chosen = choose(&target, context)?;
    let Place { project, vcs } = &chosen.place;
    let ralph = project.worktree.join(".ralph");
    let _lock = match args.dry_run {
        true => {
            if let Some(pid) = WorktreeLock::holder(&ralph) {
                let why = format!("another run is active in this worktree (pid {pid})");
                return Err(locked(&why));
            }
            None
        }
        false => {
            project.exclude_state()?;
            let lock = WorktreeLock::take(&ralph).map_err(|error| locked(&error.to_string()))?;
            vcs.finish_landing()?;
            Some(lock)
        }
    };
    let tasks = tasks_of(&chosen.iterations);
    let plans = plans(&tasks, project, context)?;
    let commits: Vec<(String, String)> = chosen
        .iterations
        .iter()
        .flat_map(|one| one.commits.iter().rev())
        .map(|commit| (commit.id.clone(), commit.subject.clone()))
        .collect();
    let edits: Vec<_> = plans
        .iter()
        .map(|(plan, ids)| {
            let edit = move |text: &str| plan.reopened_in(text, ids).ok().flatten();
            (plan.name().to_owned(), edit)
        })
        .collect();
    let edits: Vec<PlanEdit<'_>> =
        edits.iter().map(|(path, edit)| PlanEdit { path: path.clone(), edit }).collect();
    let undo = vcs.prepare_undo(&commits, &edits).map_err(|error| refused(error, &tasks))?;
    let lines = preview(&undo, &tasks, project, context);
    if args.dry_run {
        if args.json {
            return context.out.json(&told(&undo, &tasks, &[], None));
        }
        context.out.data(format!("{}\n", lines.join("\n")))?;
        return context.out.conclude("dry run: nothing was changed");
    }
    if may_ask() && !args.yes && !args.json {
        context.out.error(lines.join("\n"));
        if !ask("Undo this?", context)? {
            return context.out.conclude("nothing was changed");
        }
    }
    let made = vcs
        .finish_undo(&undo, |revert| message(revert, &chosen.iterations))
        .map_err(|error| refused(error, &tasks))?;
    for warning in vcs.warnings() {
        context.out.warning(warning);
    }
    let note = reason.unwrap_or_else(|| {
        let ids: Vec<&str> = undo.reverts.iter().map(|revert| short(&revert.commit)).collect();
        format!("the user undid this task: its commits are reverted ({})", ids.join(", "))
    });
    let reopened = reopen_done(&tasks, &note, context)?;
    if args.json {
        return context.out.json(&told(&undo, &tasks, &made, reopened.as_ref()));
    }
    tell(&undo, &made, reopened.as_ref(), context);
    Ok(())
}

fn target(args: &UndoArgs, context: &mut Context<'_>) -> Result<Target> {
    let number = |text: &str| text.parse::<usize>().ok();
    let target = match (&args.target, &args.task, args.iterations) {
        (_, Some(id), _) => Target::Task(task_id(id)?),
        (_, _, Some(many)) => Target::Iterations(many),
        (None, None, None) => Target::Iterations(1),
        (Some(word), None, None) => match number(word) {
            Some(many) => {
                let is_task = TaskId::new(word)
                    .is_ok_and(|id| context.reader().is_ok_and(|mut store| store.get(&id).is_ok()));
                if is_task {
                    return Err(usage!("{word} is the id of a task and a number of iterations")
                        .hint(format!("to undo the task: ralph undo --task {word}"))
                        .hint(format!("to undo iterations: ralph undo --iterations {word}")));
                }
                Target::Iterations(many)
            }
            None => Target::Task(task_id(word)?),
        },
    };
    match target {
        Target::Iterations(0) => Err(CliError::usage("0 iterations are nothing to undo")),
        target => Ok(target),
    }
}

/// The tasks that were done with these iterations, each once.
fn tasks_of(iterations: &[LandedIteration]) -> Vec<FinishedTask> {
    let mut found: Vec<FinishedTask> = Vec::new();
    for task in iterations.iter().flat_map(|one| &one.tasks) {
        if !found.iter().any(|known| known.id == task.id) {
            found.push(task.clone());
        }
    }
    found
}

/// The plan files of the worktree that have these tasks. The plan of branches is in no commit.
fn plans(
    tasks: &[FinishedTask],
    project: &Project,
    context: &mut Context<'_>,
) -> Result<Vec<(PlanFile, Vec<TaskId>)>> {
    let mut store = context.reader()?;
    let mut by_key: BTreeMap<String, Vec<TaskId>> = BTreeMap::new();
    for task in tasks {
        if let Some(key) = store.get(&task.id).ok().and_then(|task| task.reference) {
            by_key.entry(key).or_default().push(task.id.clone());
        }
    }
    let mut found = Vec::new();
    for (key, ids) in by_key {
        let plan = PlanFile::known(&project.worktree, &key);
        let plan = plan.map_err(|error| CliError::failed(error.to_string()))?;
        found.extend(plan.filter(|plan| plan.lane().is_none()).map(|plan| (plan, ids)));
    }
    Ok(found)
}

fn reopen_done(
    tasks: &[FinishedTask],
    note: &str,
    context: &mut Context<'_>,
) -> Result<Option<Reopened>> {
    let mut store = context.reader()?;
    let mut is_done = |id: &TaskId| store.get(id).is_ok_and(|task| task.status == Status::Done);
    let done: Vec<TaskId> =
        tasks.iter().map(|task| task.id.clone()).filter(|id| is_done(id)).collect();
    drop(store);
    if done.is_empty() {
        return Ok(None);
    }
    reopen(&done, note, context).map(Some)
}

/// The message of a revert, as git words it, with the tasks.
fn message(revert: &Revert, iterations: &[LandedIteration]) -> String {
    let is_of = |one: &&LandedIteration| one.commits.iter().any(|c| c.id == revert.commit);
    let tasks = iterations.iter().find(is_of).map(|one| one.tasks.as_slice()).unwrap_or_default();
    let mut text =
        format!("Revert \"{}\"\n\nThis reverts commit {}.\n", revert.subject, revert.commit);
    for task in tasks {
        text.push_str(&format!("\nUndone task: {} {}", task.id, task.title));
    }
    format!("{}\n", text.trim_end()).replace('\0', "")
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

fn preview(
    undo: &Undo,
    tasks: &[FinishedTask],
    project: &Project,
    context: &Context<'_>,
) -> Vec<String> {
    let branch = undo.branch.as_deref().unwrap_or("a detached HEAD");
    let elsewhere = context.project().is_ok_and(|own| own.worktree != project.worktree);
    let place = match elsewhere {
        true => format!("{branch} ({})", quoted(&project.worktree)),
        false => branch.to_owned(),
    };
    let commits = count(undo.reverts.len() as u64, "commit");
    let mut lines = vec![format!("Revert {commits} on {place}:")];
    for revert in &undo.reverts {
        lines.push(format!("  {}  {}", short(&revert.commit), revert.subject));
    }
    if !tasks.is_empty() {
        lines.push(format!("Reopen {}:", count(tasks.len() as u64, "task")));
        lines.extend(tasks.iter().map(|task| format!("  {}  {}", task.id, task.title)));
    }
    lines.push(format!("Change back {}:", count(undo.files.len() as u64, "file")));
    const NAMED: usize = 20;
    lines.extend(undo.files.iter().take(NAMED).map(|file| format!("  {file}")));
    if undo.files.len() > NAMED {
        lines.push(format!("  and {} more", undo.files.len() - NAMED));
    }
    lines.iter().map(|line| text::printable_line(line).into_owned()).collect()
}

fn told<'a>(
    undo: &'a Undo,
    tasks: &'a [FinishedTask],
    made: &'a [String],
    reopened: Option<&'a Reopened>,
) -> Told<'a> {
    let reverted = undo.reverts.iter().enumerate().map(|(at, revert)| Reverted {
        commit: &revert.commit,
        subject: &revert.subject,
        by: made.get(at).map(String::as_str),
    });
    Told {
        dry_run: made.is_empty(),
        branch: undo.branch.as_deref(),
        tasks: tasks.iter().collect(),
        reverted: reverted.collect(),
        files: &undo.files,
        reopened,
    }
}

fn tell(undo: &Undo, made: &[String], reopened: Option<&Reopened>, context: &mut Context<'_>) {
    for (revert, by) in undo.reverts.iter().zip(made) {
        let subject = text::printable_line(&revert.subject).into_owned();
        context.out.note(format!("reverted {} by {}  {subject}", short(&revert.commit), short(by)));
    }
    if let Some(reopened) = reopened {
        reopened.tell(context);
    }
    let all = match made {
        [one] => short(one).to_owned(),
        [first, .., last] => format!("{}^..{}", short(first), short(last)),
        [] => return,
    };
    context.out.note(format!("to take this back: git revert {all}"));
}

fn locked(why: &str) -> CliError {
    failed!("nothing was undone: {why}").hint("stop it first: ralph cancel")
}

fn refused(error: UndoError, tasks: &[FinishedTask]) -> CliError {
    let failed = failed!("nothing was undone: {error}");
    match error {
        UndoError::Conflict { commit, .. } => {
            let failed = failed.hint(format!(
                "revert it yourself and resolve the conflict: git revert {}",
                short(&commit)
            ));
            match tasks {
                [] => failed,
                [one, ..] => {
                    failed.hint(format!("then reopen the task: ralph task reopen {}", one.id))
                }
            }
        }
        UndoError::InTheWay { .. } => {
            failed.hint("commit these files, or run `git stash`, and try again")
        }
        UndoError::Nothing => match tasks {
            [] => failed,
            [one, ..] => failed.hint(format!("to reopen the task: ralph task reopen {}", one.id)),
        },
        UndoError::Git(error) => error.into(),
    }
}

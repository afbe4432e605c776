//! The session of a task: the one that runs now, wherever its run is, and the last one that there was.

use std::path::PathBuf;

use ralph_core::TaskId;
use ralph_core::branch::BranchName;
use ralph_core::ids::RunId;
use ralph_core::run::{Fact, RunEvent, SlotId};
use ralph_core::task::Task;
use ralph_core::view::RunView;
use ralph_engine::run_files::{RunLogs, journal};

use crate::config::key;
use crate::error::{CliError, Result};
use crate::status_query::{JOURNALS, RunFiles};
use crate::wiring::Context;

/// A session of a task that runs now, or whose work is being checked.
pub(crate) struct ActiveSession {
    /// The control socket of its run.
    pub(crate) socket: PathBuf,
    pub(crate) slot: SlotId,
    pub(crate) iteration: u32,
    /// The number of the last event of its run so far.
    pub(crate) seen: u64,
}

/// The last session of a task, as its run recorded it.
pub(crate) struct LastSession {
    pub(crate) run: RunId,
    pub(crate) agent: String,
    pub(crate) model: Option<String>,
    /// Where it worked.
    pub(crate) folder: PathBuf,
    /// The file with its rules, where it had one.
    pub(crate) system: Option<PathBuf>,
    /// The file with its task.
    pub(crate) task: Option<PathBuf>,
}

/// The session of a task that runs now.
pub(crate) fn active(task: &Task, context: &mut Context<'_>) -> Result<Option<ActiveSession>> {
    let project = context.project()?;
    let mut worktrees = vec![project.worktree.clone(), project.root.clone()];
    worktrees.extend(context.places(&project)?.into_iter().map(|(_, path)| path));
    for worktree in worktrees {
        let files = RunFiles::of(&worktree, context)?;
        let Some(socket) = files.socket() else { continue };
        let journal = files.journal()?;
        let view = RunView::of(&journal);
        let of_task = |slot: &ralph_core::view::SlotView| {
            slot.task.as_ref().is_some_and(|held| held.id == task.id)
        };
        let Some((slot, held)) = view.busy().find(|(_, slot)| of_task(slot)) else { continue };
        let seen = journal.last().map_or(0, |event| event.seq);
        return Ok(Some(ActiveSession { socket, slot, iteration: held.iteration, seen }));
    }
    Ok(None)
}

/// The last session of a task whose run has kept its files.
pub(crate) fn last(task: &TaskId, context: &mut Context<'_>) -> Result<Option<LastSession>> {
    let project = context.project()?;
    let all = RunLogs::all(&project.resolve(context.config()?.get(key::LOGS_DIR)))?;
    for logs in all.iter().rev().take(JOURNALS) {
        let path = logs.journal();
        let journal = journal::read(&path).map_err(|error| CliError::file(&path, "read", error))?;
        let Some(found) = last_of(task, logs, &journal) else { continue };
        let places = context.places(&project)?;
        let own = BranchName::of_task(task).ok();
        let at = |name: &BranchName| places.iter().find(|(known, _)| known == name);
        let of_run = branch(&journal).and_then(|branch| BranchName::new(branch).ok());
        let place = own.as_ref().and_then(at).or_else(|| of_run.as_ref().and_then(at));
        let folder = place.map_or_else(|| project.root.clone(), |(_, path)| path.clone());
        return Ok(Some(LastSession { folder, ..found }));
    }
    Ok(None)
}

fn branch(journal: &[RunEvent]) -> Option<&str> {
    journal.iter().find_map(|event| match &event.fact {
        Fact::RunStarted { branch, .. } => branch.as_deref(),
        _ => None,
    })
}

/// The last session on the task in this journal; its folder is not known yet.
fn last_of(task: &TaskId, logs: &RunLogs, journal: &[RunEvent]) -> Option<LastSession> {
    let agent = journal.iter().find_map(|event| match &event.fact {
        Fact::RunStarted { agent, .. } => Some(agent.clone()),
        _ => None,
    })?;
    let (run, iteration, model) = journal.iter().rev().find_map(|event| match &event.fact {
        Fact::IterationStarted { iteration, task: Some(held), model, .. } if held.id == *task => {
            Some((event.run.clone(), *iteration, model.clone()))
        }
        _ => None,
    })?;
    let file = |rest: &str| Some(logs.iteration(iteration, rest)).filter(|path| path.exists());
    let prompt = file(".task.md").or_else(|| file(".prompt.md"))?;
    let system = file(".system.md").filter(|path| path.metadata().is_ok_and(|it| it.len() > 0));
    let folder = PathBuf::new();
    Some(LastSession { run, agent, model, folder, system, task: Some(prompt) })
}

//! Which commits `ralph undo` reverts, and in which worktree.

use std::collections::HashSet;
use std::path::PathBuf;

use ralph_core::amounts::count;
use ralph_core::ids::RunId;
use ralph_core::run::WorkPlace;
use ralph_core::task::{Status, Task};
use ralph_core::view::CommitView;
use ralph_core::view::history::{FinishedTask, LandedIteration};
use ralph_core::{TaskId, Timestamp};
use ralph_engine::ports::Trees;
use ralph_engine::project::Project;
use ralph_engine::vcs::GitVcs;

use crate::error::{CliError, Result, quoted};
use crate::exit_codes::Exit;
use crate::history;
use crate::wiring::Context;

pub(super) enum Target {
    Task(TaskId),
    Iterations(usize),
}

pub(super) struct Chosen {
    pub(super) place: Place,
    pub(super) iterations: Vec<LandedIteration>,
}

/// A worktree with the branch that has the commits.
pub(super) struct Place {
    pub(super) project: Project,
    pub(super) vcs: GitVcs,
}

/// The iterations to undo, the newest first, and the worktree whose branch has them.
pub(super) fn choose(target: &Target, context: &mut Context<'_>) -> Result<Chosen> {
    let all = history::all_landed(context)?;
    match target {
        Target::Iterations(many) => {
            let place = here(context)?;
            let on = on_branch(&all, &place.vcs)?;
            let open = not_reverted(on, &place.vcs)?.0;
            if open.len() < *many {
                return Err(too_few(*many, open.len(), &all, context)?);
            }
            let iterations = open.into_iter().take(*many).collect();
            Ok(Chosen { place, iterations })
        }
        Target::Task(id) => {
            let task = context.task(id)?;
            let is_of = |one: &&LandedIteration| one.tasks.iter().any(|task| task.id == *id);
            let mut of_task: Vec<LandedIteration> = all.iter().filter(is_of).cloned().collect();
            if of_task.is_empty() {
                of_task = named_by_commits(&task, context)?;
            }
            let Some(first) = of_task.first().and_then(|one| one.commits.last()).cloned() else {
                return Err(no_commits(&task));
            };
            for place in places(context)? {
                let on = on_branch(&of_task, &place.vcs)?;
                if on.is_empty() {
                    continue;
                }
                let (iterations, by) = not_reverted(on, &place.vcs)?;
                return match iterations.is_empty() {
                    false => Ok(Chosen { place, iterations }),
                    true => Err(already(&task, &by)),
                };
            }
            Err(elsewhere(&task, &first, &here(context)?))
        }
    }
}

/// The commits that name a task, where the journal of its run is gone.
fn named_by_commits(task: &Task, context: &mut Context<'_>) -> Result<Vec<LandedIteration>> {
    let found = here(context)?.vcs.commits_naming(task.id.as_str())?;
    let tasks = vec![FinishedTask { id: task.id.clone(), title: task.title.to_string() }];
    let run = RunId::new("r-unknown").ok();
    let one = |(id, subject): (String, String)| {
        Some(LandedIteration {
            run: run.clone()?,
            iteration: 0,
            at: Timestamp::from_millis(0),
            tasks: tasks.clone(),
            commits: vec![CommitView { id, subject }],
        })
    };
    Ok(found.into_iter().filter_map(one).collect())
}

/// The iterations with only those commits that the branch has; those without any are left out.
fn on_branch(all: &[LandedIteration], vcs: &GitVcs) -> Result<Vec<LandedIteration>> {
    let recent: HashSet<String> = vcs.recent_commits()?;
    let mut found = Vec::new();
    for one in all {
        let mut here = one.clone();
        here.commits.clear();
        for commit in &one.commits {
            if recent.contains(&commit.id) || vcs.has_commit(&commit.id)? {
                here.commits.push(commit.clone());
            }
        }
        if !here.commits.is_empty() {
            found.push(here);
        }
    }
    Ok(found)
}

/// The same without the commits that are reverted already, and the commits that revert them.
fn not_reverted(
    mut all: Vec<LandedIteration>,
    vcs: &GitVcs,
) -> Result<(Vec<LandedIteration>, Vec<String>)> {
    let Some(oldest) = all.last().and_then(|one| one.commits.first()) else {
        return Ok((all, vec![]));
    };
    let reverted = vcs.reverted_since(&oldest.id)?;
    let by = |commit: &CommitView| reverted.iter().find(|(id, _)| *id == commit.id);
    let commits = all.iter().flat_map(|one| &one.commits);
    let reverting = commits.filter_map(|commit| Some(by(commit)?.1.clone())).collect();
    for one in &mut all {
        one.commits.retain(|commit| by(commit).is_none());
    }
    all.retain(|one| !one.commits.is_empty());
    Ok((all, reverting))
}

fn here(context: &Context<'_>) -> Result<Place> {
    let project = context.project()?;
    let vcs = GitVcs::new(project.clone())?;
    Ok(Place { project, vcs })
}

/// This worktree, the main one, and those of branches.
fn places(context: &mut Context<'_>) -> Result<Vec<Place>> {
    let project = context.project()?;
    let mut paths: Vec<PathBuf> = vec![project.worktree.clone(), project.root.clone()];
    paths.extend(context.places(&project)?.into_iter().map(|(_, path)| path));
    let mut seen = HashSet::new();
    paths.retain(|path| seen.insert(path.clone()) && path.exists());
    let mut found = Vec::new();
    for path in paths {
        let project = Project::find(&path)?;
        let vcs = GitVcs::new(project.clone())?;
        found.push(Place { project, vcs });
    }
    Ok(found)
}

fn no_commits(task: &Task) -> CliError {
    let id = &task.id;
    let failed = refused!("ralph knows of no commit of {id} to revert");
    match task.status {
        Status::Done | Status::Failed => {
            failed.hint(format!("to reopen it without a revert: ralph task reopen {id}"))
        }
        _ => failed.hint(format!("see its attempts: ralph task show {id}")),
    }
}

fn already(task: &Task, by: &[String]) -> CliError {
    let id = &task.id;
    let by: Vec<&str> = by.iter().map(|commit| super::short(commit)).collect();
    let failed = refused!("{id} is undone already: {} reverts it", by.join(", "));
    match task.status {
        Status::Done => failed.hint(format!("to reopen it: ralph task reopen {id}")),
        _ => failed.hint(format!("see the log of the task: ralph task log {id}")),
    }
}

/// The commits of a task are on no branch that is checked out.
fn elsewhere(task: &Task, commit: &CommitView, here: &Place) -> CliError {
    let id = &task.id;
    let failed = |why: String| CliError::new(Exit::NotEligible, why);
    match here.vcs.work_place(&commit.id) {
        Ok(WorkPlace::Branch(branch)) => failed(format!(
            "the commits of {id} are on branch {branch}, which is not checked out here"
        ))
        .hint(format!("git switch {branch} && ralph undo {id}")),
        Ok(WorkPlace::Here) => failed(format!(
            "the commits of {id} are not on this branch, but their changes are: they were squashed or \
             picked into another commit"
        ))
        .hint(format!("find that commit, revert it, and reopen the task: ralph task reopen {id}")),
        _ => failed(format!("the commits of {id} are on no branch any more"))
            .hint(format!("to reopen it without a revert: ralph task reopen {id}")),
    }
}

fn too_few(
    wanted: usize,
    found: usize,
    all: &[LandedIteration],
    context: &mut Context<'_>,
) -> Result<CliError> {
    if found > 0 {
        let there = count(found as u64, "iteration");
        return Ok(refused!("cannot undo {wanted} iterations: this branch has only {there}")
            .hint(format!("undo what there is: ralph undo {found}")));
    }
    let nothing = CliError::refused("nothing to undo: no iteration has committed to this branch");
    let project = context.project()?;
    for place in places(context)?.iter().filter(|place| place.project != project) {
        if !on_branch(all, &place.vcs)?.is_empty() {
            let path = quoted(&place.project.worktree);
            return Ok(nothing.hint(format!("in another worktree: ralph -C {path} undo")));
        }
    }
    Ok(nothing.hint("see all runs: ralph runs"))
}

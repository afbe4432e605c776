//! Recovers from an interrupted run: its claims, its unfinished work, and the work that was uncommitted before it.

use ralph_core::TaskId;
use ralph_core::amounts::first_of;
use ralph_core::records::Attempt;
use ralph_core::run::Notice;

use super::setup::Setup;
use crate::crash;
use crate::ports::{Filter, GitError, RunBase, Store};
use crate::process::is_alive;
use crate::run::RunError;
use crate::run::activity::survey::{is_here, take_back_dead_claims};

/// How many files a sentence names.
const NAMED: usize = 5;

/// Looks at the worktree, saves what a killed session left, gives back the claims of dead runs.
pub(super) fn begin(setup: &mut Setup, store: &mut dyn Store) -> Result<RunBase, RunError> {
    if let Err(error) = setup.files.record.sweep() {
        let text = format!("{} cannot be cleaned up: {error}", setup.files.record.copy.display());
        setup.notices.push(Notice::Other { text });
    }
    if let Some(resume) = &setup.resume {
        setup.ports.vcs.remove_dead_locks(resume.started_at)?;
    }
    let resumes = setup.resume.as_ref();
    let resumes = resumes.map(|resume| (&resume.run, resume.last_commit.as_deref()));
    let mut base = setup.ports.vcs.begin(&setup.run, resumes)?;
    let warnings = setup.ports.vcs.warnings().into_iter();
    setup.notices.extend(warnings.map(|text| Notice::Other { text }));
    if setup.policy.adds_all() && setup.resume.is_none() && base.start.is_some() {
        // It is committed with the work, and is none of it.
        base.settled_tree = setup.ports.vcs.candidate(&base)?.tree;
    }
    base.plan =
        setup.work.plan.as_ref().filter(|plan| plan.lane().is_none()).map(|p| p.name().to_owned());
    let branch = setup.branch_key();
    let cut_off = cut_off(store, branch.as_deref())?;
    crate::run::activity::integrate::recover(setup, store, &cut_off)?;
    if setup.work.pool.is_none() {
        save_unfinished(setup, store, &base, &cut_off)?;
    }
    let taken = take_back_dead_claims(store, &[], branch.as_deref(), setup.ports.clock.now())?;
    if !taken.is_empty() {
        crash::point("claims-taken-back");
        setup.notices.push(Notice::ClaimsTakenBack { tasks: taken });
    }
    if let (Some(start), Some(head)) = (&base.start, &base.head) {
        let paths = setup.ports.vcs.changes(head, start).unwrap_or_default();
        setup.notices.push(Notice::DirtyStart {
            saved: format!("refs/ralph/start/{}", setup.run),
            paths: u32::try_from(paths.len()).unwrap_or(u32::MAX),
        });
        if setup.policy.adds_all() {
            let taken = setup.ports.vcs.changes(head, &base.settled_tree).unwrap_or_default();
            setup.notices.extend(added_words(&paths, &taken));
        }
    }
    Ok(base)
}

/// What is said where your uncommitted files are committed with the work, and which of them are not.
fn added_words(paths: &[String], taken: &[String]) -> Vec<Notice> {
    let (added, secret): (Vec<&String>, Vec<&String>) =
        paths.iter().partition(|path| taken.contains(path));
    let named = |paths: &[&String]| first_of(paths, NAMED);
    let mut notices = Vec::new();
    if !added.is_empty() {
        let text = format!("Your uncommitted files are committed with the work: {}", named(&added));
        notices.push(Notice::Other { text });
    }
    if !secret.is_empty() {
        let text = format!("Not committed, because they look like secrets: {}", named(&secret));
        notices.push(Notice::Other { text });
    }
    notices
}

/// Saves what killed sessions left in the worktree, under the tasks that they were about.
fn save_unfinished(
    setup: &mut Setup,
    store: &mut dyn Store,
    base: &RunBase,
    cut_off: &[Attempt],
) -> Result<(), RunError> {
    let mut tasks: Vec<TaskId> = cut_off.iter().map(|attempt| attempt.task.clone()).collect();
    // Where a whole iteration is retried, there is no attempt for it.
    if let Some(owner) = setup.ports.vcs.interrupted()?.filter(|owner| !tasks.contains(owner)) {
        tasks.push(owner);
    }
    for task in tasks {
        let number = match store.attempts(&task) {
            Ok(attempts) => u32::try_from(attempts.len().max(1)).unwrap_or(u32::MAX),
            Err(_) => setup.resume.as_ref().map_or(1, |resume| resume.iteration + 1),
        };
        let saved = setup
            .ports
            .vcs
            .candidate(base)
            .and_then(|candidate| setup.ports.vcs.save(base, &candidate, &task, number));
        let text = match saved {
            Ok(Some(saved)) => format!("unfinished work on {task} is saved under {}", saved.name),
            Ok(None) => continue,
            Err(error @ GitError::NotStarted(_)) => return Err(error.into()),
            Err(error) => format!("unfinished work on {task} could not be saved: {error}"),
        };
        setup.notices.push(Notice::Other { text });
        crash::point("unfinished-saved");
    }
    Ok(())
}

/// The attempts of dead runs on tasks that they still hold and worked on here.
fn cut_off(store: &mut dyn Store, branch: Option<&str>) -> Result<Vec<Attempt>, RunError> {
    let mut found = Vec::new();
    for agent in store.agents()? {
        let dead = agent.liveness.as_ref().and_then(is_alive) == Some(false);
        if !dead {
            continue;
        }
        let filter = Filter { assignee: Some(agent.id.clone()), ..Filter::default() };
        for task in store.list(&filter)?.into_iter().filter(|task| is_here(task, branch)) {
            let open = store.attempts(&task.id)?.into_iter().rev().find(|a| a.end.is_none());
            found.extend(open);
        }
    }
    Ok(found)
}

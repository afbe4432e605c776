//! Which ready tasks wait until you merge a branch: this module gathers the work of their dependencies from the task
//! database and from git; `ralph_core` decides.

use std::collections::HashSet;

use ralph_core::TaskId;
use ralph_core::run::{NeedsMerge, WorkPlace, needs_merge};
use ralph_core::task::Task;

use super::ports::{Failed, Ports};
use crate::ports::{Filter, GitError, Store, StoreError, Vcs};

/// How deep the parts of a task that others need are looked at.
const DEEPEST: u32 = 8;

/// Why it could not be found out.
#[derive(Debug, thiserror::Error)]
pub enum MergingError {
    /// The task database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl From<MergingError> for Failed {
    fn from(error: MergingError) -> Self {
        match error {
            MergingError::Store(error) => error.into(),
            MergingError::Git(error) => error.into(),
        }
    }
}

/// Those of these ready tasks that have to wait on the branch that is checked out. `here` are commits that
/// are known to be in its history.
pub fn merges_needed(
    store: &mut dyn Store,
    vcs: &dyn Vcs,
    tasks: &[Task],
    here: &mut HashSet<String>,
) -> Result<Vec<NeedsMerge>, MergingError> {
    let mut found = Vec::new();
    for task in tasks {
        let mut works = Vec::new();
        for dep in &task.deps {
            for commit in commits_of(store, dep, DEEPEST)? {
                let place = match here.contains(&commit) {
                    true => WorkPlace::Here,
                    false => vcs.work_place(&commit)?,
                };
                if place == WorkPlace::Here {
                    here.insert(commit);
                }
                works.push((dep.clone(), place));
            }
        }
        found.extend(needs_merge(&task.id, &works));
    }
    Ok(found)
}

/// The commits in which a task was accepted, or its parts were.
fn commits_of(store: &mut dyn Store, task: &TaskId, deep: u32) -> Result<Vec<String>, StoreError> {
    let attempts = store.attempts(task)?;
    let last = attempts.iter().rev().find_map(|attempt| attempt.end.as_ref()?.commit.clone());
    let mut commits: Vec<String> = last.into_iter().collect();
    if attempts.is_empty() && deep > 0 {
        let filter = Filter { parent: Some(task.clone()), ..Filter::default() };
        for part in store.list(&filter)? {
            commits.extend(commits_of(store, &part.id, deep - 1)?);
        }
    }
    Ok(commits)
}

impl Ports {
    /// Takes those that wait for a merge out of the tasks that can be claimed.
    pub(super) fn without_merges(
        &self,
        store: &mut dyn Store,
        ready: &mut Vec<Task>,
    ) -> Result<Vec<NeedsMerge>, Failed> {
        if ready.iter().all(|task| task.deps.is_empty()) {
            return Ok(vec![]);
        }
        let found = merges_needed(store, &*self.setup.ports.vcs, ready, &mut self.merged())?;
        ready.retain(|task| found.iter().all(|waiting| waiting.task != task.id));
        Ok(found)
    }
}

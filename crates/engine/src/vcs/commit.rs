//! What a commit of ralph's changes beside the branch: only the committed paths change in the user's index.

use std::collections::HashMap;

use super::in_place::GitVcs;
use crate::git::entries::{Change, Entry, RepoPath, index_info};
use crate::git::position::Position;
use crate::git::scratch::Scratch;
use crate::git::{GitError, GitResult};
use crate::ports::RunBase;
use crate::sync::lock;

/// Committed paths that are still missing in the user's index, because another git held it.
#[derive(Debug)]
pub(super) struct Unrefreshed {
    pub(super) commit: String,
    pub(super) changes: Vec<Change>,
}

impl GitVcs {
    /// Updates the user's index with a commit, now or as soon as it is unlocked.
    pub(super) fn bring_into_index(&self, missed: Unrefreshed) {
        let brought = self.refresh_index(&missed.commit, &missed.changes);
        self.retry_later(missed, brought);
    }

    fn retry_later(&self, missed: Unrefreshed, brought: GitResult<()>) {
        if let Err(error) = brought {
            let id = &missed.commit;
            self.warn(format!("{id} is committed, but the index is not updated yet: {error}"));
            *lock(&self.unrefreshed) = Some(missed);
        }
    }

    /// What is checked out, which must be the branch of the run: also where the agent has committed
    /// everything itself, for what is on another branch is not done.
    pub(super) fn on_branch(&self, base: &RunBase) -> GitResult<Position> {
        let at = self.position()?;
        match at.branch == base.branch {
            true => Ok(at),
            false => Err(GitError::OtherBranch { expected: base.branch.clone(), found: at.branch }),
        }
    }

    fn refresh_index(&self, like: &str, changes: &[Change]) -> GitResult<()> {
        self.set_index(like, changes.iter().map(|c| (&c.path, c.to.as_ref())))
    }

    /// Makes paths of the user's index hold these entries.
    pub(super) fn set_index<'e>(
        &self,
        like: &str,
        wanted: impl Iterator<Item = (&'e RepoPath, Option<&'e Entry>)> + Clone,
    ) -> GitResult<()> {
        let lines = index_info(like, wanted);
        if lines.is_empty() {
            return Ok(());
        }
        self.git(&["update-index", "-z", "--index-info"]).input(&lines).run()?;
        if self.sandboxed.is_some() {
            // It would read files of the worktree, and only for the times of them.
            return Ok(());
        }
        // So that scripts which only compare times do not see changes; the content is right already.
        let _ = self.git(&["update-index", "-q", "--refresh"]).run();
        Ok(())
    }

    pub(super) fn staged_beyond(&self, tree: &str) -> GitResult<Vec<Change>> {
        Scratch::at(self.worktree(), &self.index).changes_from(tree)
    }

    /// Brings into the index what it missed, if nothing has changed it since.
    pub(super) fn catch_up(&self) {
        let missed = lock(&self.unrefreshed).take();
        if let Some(missed) = missed {
            let brought = self.bring_in(&missed);
            self.retry_later(missed, brought);
        }
    }

    fn bring_in(&self, missed: &Unrefreshed) -> GitResult<()> {
        if self.position()?.head.as_deref() != Some(&missed.commit) {
            return Ok(());
        }
        let staged = self.staged_beyond(&self.tree_of(Some(&missed.commit))?)?;
        let staged: HashMap<_, _> = staged.into_iter().map(|now| (now.path, now.to)).collect();
        let still_old = |change: &&Change| staged.get(&change.path) == Some(&change.from);
        let changes: Vec<Change> = missed.changes.iter().filter(still_old).cloned().collect();
        self.refresh_index(&missed.commit, &changes)
    }
}

/// A commit message: a line, and below it the reasons.
pub(super) fn message(subject: &str, body: &str) -> String {
    let text = match body.trim() {
        "" => format!("{}\n", subject.trim()),
        body => format!("{}\n\n{body}\n", subject.trim()),
    };
    // Git takes any message but one with this in it.
    text.replace('\0', "")
}

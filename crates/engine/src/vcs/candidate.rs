//! The tree to judge.
//!
//! Git processes: 1 where nothing changed (`status`), 3 where something did (`add`, `write-tree`), 5 where
//! something was dirty before the run (`diff-index`, `update-index`); two more (`diff-index`, `read-tree`) while
//! something is staged.

use std::collections::BTreeSet;

use ralph_core::secret_files::looks_secret;

use super::in_place::GitVcs;
use super::sandboxed::WorktreeSandbox;
use super::start::Start;
use crate::git::GitResult;
use crate::git::entries::{Change, folders_above};
use crate::git::scratch::Scratch;
use crate::git::spelling::spelled;
use crate::ports::{Candidate, RunBase, SessionCommits};

impl GitVcs {
    /// The candidate by a look from inside a sandbox. What sessions committed is below the work, and `head` is
    /// what the user has all the same.
    pub(super) fn seen_candidate(
        &self,
        sandboxed: &WorktreeSandbox,
        base: &RunBase,
    ) -> GitResult<Candidate> {
        self.import_commits()?;
        let at = self.position()?;
        let head_tree = self.tree_of(at.head.as_deref())?;
        let seen = self.see(sandboxed)?;
        let taken = self.beyond(sandboxed, &at, &seen)?;
        let (head, mut tree) = (at.head, seen.tree);
        if self.leaves_out(base) {
            let below = self.tree_of(taken.as_deref().or(head.as_deref()))?;
            let changes = self.diff(&below, &tree)?;
            let kept = self.left_out(base, &changes)?;
            tree = self.with_entries(&tree, kept.iter().map(|c| (&c.path, c.from.as_ref())))?;
        }
        let leftovers = tree != head_tree;
        Ok(Candidate { tree, head, head_tree, leftovers, taken })
    }

    /// Whether something in the worktree may not be part of the work.
    pub(super) fn leaves_out(&self, base: &RunBase) -> bool {
        self.adds_all.is_some() || base.start.is_some()
    }

    /// The differences between HEAD and the worktree that are not part of the work: what the user had before
    /// and no session touched, or, where everything is added, new files that look like secrets.
    pub(super) fn left_out<'a>(
        &self,
        base: &RunBase,
        changes: &'a [Change],
    ) -> GitResult<Vec<&'a Change>> {
        let Some(more) = &self.adds_all else {
            return Ok(untouched(self.start_of(base)?.as_ref(), changes));
        };
        let is_secret =
            |change: &&Change| change.from.is_none() && looks_secret(&spelled(&change.path), more);
        Ok(changes.iter().filter(is_secret).collect())
    }

    /// The tree of the worktree overlaid on what is checked out.
    pub(super) fn worktree_tree(&self, head: Option<&str>) -> GitResult<String> {
        match &self.sandboxed {
            Some(sandboxed) => Ok(self.see(sandboxed)?.tree),
            None => match self.worktree_as_index(head)? {
                Some(scratch) => scratch.write_tree(),
                None => self.tree_of(head),
            },
        }
    }

    /// Whether the worktree is exactly what is committed. Where git does not know, the answer is no, and a
    /// candidate decides.
    pub(crate) fn is_as_committed(&self, head: &str) -> GitResult<bool> {
        if let Some(sandboxed) = &self.sandboxed {
            return Ok(self.see(sandboxed)?.tree == self.tree_of(Some(head))?);
        }
        let scratch = Scratch::copy_of(self.worktree(), &self.index)?;
        Ok(scratch.survey(Some(head)).is_ok_and(|survey| !survey.changed))
    }

    /// An index of our own that holds the commit overlaid by the worktree; `None` where nothing differs.
    pub(super) fn worktree_as_index(&self, head: Option<&str>) -> GitResult<Option<Scratch<'_>>> {
        let scratch = Scratch::copy_of(self.worktree(), &self.index)?;
        let survey = scratch.survey(head)?;
        if !survey.changed {
            return Ok(None);
        }
        scratch.overlay(head, survey)?.into_iter().for_each(|left_out| self.warn(left_out));
        Ok(Some(scratch))
    }
}

/// Of the differences between HEAD and the worktree those that the user made before the run and
/// that no session touched: they go back to what HEAD has.
pub(super) fn untouched<'a>(start: &Start, changes: &'a [Change]) -> Vec<&'a Change> {
    let is_untouched = |change: &&Change| {
        let personal = start.personal(&change.path, change.from.as_ref());
        personal.is_some_and(|dirty| dirty.saved == change.to)
    };
    let (untouched, touched): (Vec<_>, Vec<_>) = changes.iter().partition(is_untouched);
    // Where a session built on a folder that the user put in place of a file, or the other way
    // round, the committed one cannot be there as well.
    let present = || touched.iter().filter(|change| change.to.is_some());
    let files: BTreeSet<&[u8]> = present().map(|change| change.path.as_slice()).collect();
    let folders: BTreeSet<&[u8]> = present().flat_map(|c| folders_above(&c.path)).collect();
    let fits = |change: &&Change| {
        change.from.is_none()
            || (!folders.contains(change.path.as_slice())
                && !folders_above(&change.path).any(|folder| files.contains(folder)))
    };
    untouched.into_iter().filter(fits).collect()
}

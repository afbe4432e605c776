//! The work that was uncommitted before the run: saved once, and kept out of every candidate.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ralph_core::ids::RunId;

use super::in_place::GitVcs;
use super::trees::Author;
use super::workspace::Record;
use crate::git::entries::{Entry, RepoPath};
use crate::git::scratch::{Scratch, Survey};
use crate::git::{GitError, GitResult};
use crate::ports::RunBase;
use crate::sync::lock;

/// The paths that were dirty before the run.
#[derive(Debug, Default)]
pub(super) struct Start {
    dirty: BTreeMap<RepoPath, Dirty>,
}

/// A path that was dirty before the run; `None` is absence.
#[derive(Debug)]
pub(super) struct Dirty {
    committed: Option<Entry>,
    pub(super) staged: Option<Entry>,
    pub(super) saved: Option<Entry>,
}

impl Start {
    /// What the user had at a path, while it is still the user's: once a commit took in what a
    /// session made of it, it is a path like any other. `committed` is what HEAD has there now. An
    /// agent that commits without naming paths takes in what the user had staged; that changes
    /// nothing.
    pub(super) fn personal(&self, path: &[u8], committed: Option<&Entry>) -> Option<&Dirty> {
        let dirty = self.dirty.get(path)?;
        let known = [&dirty.committed, &dirty.staged, &dirty.saved];
        known.into_iter().any(|entry| entry.as_ref() == committed).then_some(dirty)
    }
}

/// Refs that hold what was uncommitted before a run.
pub(super) const START: &str = "refs/ralph/start/";

pub(super) fn ref_of(run: &RunId) -> String {
    format!("{START}{run}")
}

impl GitVcs {
    /// Saves the worktree under a ref, without what a task left in it by the record. As a second parent the
    /// index, the way a stash does; a branch without commits has no parent to begin with, and there the
    /// worktree alone is saved. `before` is an earlier save, which stays where nothing has changed.
    pub(super) fn save_start(
        &self,
        name: &str,
        head: Option<&str>,
        record: &Record,
        before: Option<&String>,
    ) -> GitResult<Option<String>> {
        let head_tree = self.tree_of(head)?;
        let scratch = Scratch::copy_of(self.worktree(), &self.index)?;
        let survey = match &self.sandboxed {
            None => scratch.survey(head)?,
            Some(_) => Survey::UNKNOWN,
        };
        let staged = match head {
            // An index in the middle of a merge is not a tree; the worktree holds the merge.
            Some(_) if survey.staged => scratch.write_tree().ok().filter(|tree| *tree != head_tree),
            _ => None,
        };
        let mut tree = match &self.sandboxed {
            Some(sandboxed) => self.see(sandboxed)?.tree,
            None if !survey.changed => head_tree.clone(),
            None => {
                scratch.overlay(head, survey)?.into_iter().for_each(|left_out| self.warn(left_out));
                scratch.write_tree()?
            }
        };
        let has_saved = record.owner.as_ref().is_some_and(|owner| owner.save.is_some());
        if tree != head_tree && has_saved {
            let own = self.leftovers(record)?;
            let changes = self.diff(&head_tree, &tree)?;
            let theirs =
                changes.iter().filter_map(|change| Some((&change.path, own.below(change)?)));
            tree = self.with_entries(&tree, theirs)?;
        }
        if tree == head_tree && staged.is_none() {
            return Ok(None);
        }
        if let Some(same) = self.same_start(before, &tree, head, staged.as_deref())? {
            return Ok(Some(same));
        }
        let mut parents: Vec<String> = head.map(str::to_owned).into_iter().collect();
        if let Some(staged) = staged {
            let message = "ralph: staged by the user\n";
            parents.push(self.commit_tree(&staged, head, message, Author::Ralph)?);
        }
        let start = self.commit_start(&tree, &parents)?;
        self.git(&["update-ref", name, &start]).run()?;
        Ok(Some(start))
    }

    /// A commit with the user's uncommitted work; no ref leads to it.
    pub(super) fn commit_start(&self, tree: &str, parents: &[String]) -> GitResult<String> {
        self.commit_tree(tree, parents, "ralph: uncommitted work of the user\n", Author::Ralph)
    }

    /// The earlier save, where it says the same.
    fn same_start(
        &self,
        before: Option<&String>,
        tree: &str,
        head: Option<&str>,
        staged: Option<&str>,
    ) -> GitResult<Option<String>> {
        let Some(commit) = self.recorded(before)?.filter(|commit| commit.tree == tree) else {
            return Ok(None);
        };
        let index = commit.parents.get(1).map(|index| self.tree_of(Some(index))).transpose()?;
        let same = commit.parents.first().map(String::as_str) == head && index.as_deref() == staged;
        Ok(same.then_some(commit.id))
    }

    /// The paths that were dirty before the run.
    pub(super) fn start_of(&self, base: &RunBase) -> GitResult<Arc<Start>> {
        let Some(id) = &base.start else {
            return Ok(Arc::default());
        };
        if let Some(start) = lock(&self.starts).get(id) {
            return Ok(Arc::clone(start));
        }
        let start = Arc::new(self.read_start(id)?);
        lock(&self.starts).insert(id.clone(), Arc::clone(&start));
        Ok(start)
    }

    fn read_start(&self, id: &str) -> GitResult<Start> {
        let Some(commit) = self.commit_parts(id)? else {
            let message = format!("the commit {id} with your saved uncommitted work is missing");
            return Err(GitError::Failed { verb: "cat-file".to_owned(), message });
        };
        let committed = self.tree_before(&commit)?;
        let mut staged: HashMap<RepoPath, Option<Entry>> = HashMap::new();
        if let Some(index) = commit.parents.get(1) {
            let changes = self.diff(&committed, &self.tree_of(Some(index))?)?;
            staged.extend(changes.into_iter().map(|change| (change.path, change.to)));
        }
        let dirty = self.diff(&committed, &commit.tree)?.into_iter().map(|change| {
            let staged = staged.remove(&change.path).unwrap_or_else(|| change.from.clone());
            (change.path, Dirty { committed: change.from, staged, saved: change.to })
        });
        Ok(Start { dirty: dirty.collect() })
    }
}

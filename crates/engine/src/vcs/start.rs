//! What was uncommitted before the run: saved once, and known at every candidate.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ralph_core::ids::RunId;

use super::checkout;
use super::entries::{Entry, RepoPath};
use super::git::GitError;
use super::in_place::{Author, GitVcs, lock};
use super::position::Position;
use super::scratch::{self, Scratch};
use crate::ports::RunBase;

/// The paths that were dirty before the run.
#[derive(Debug, Default)]
pub(super) struct Start {
    dirty: BTreeMap<RepoPath, Dirty>,
}

/// A path that was dirty before the run; `None` is absence.
#[derive(Debug)]
pub(super) struct Dirty {
    /// As it was committed.
    committed: Option<Entry>,
    /// As it was staged.
    pub(super) staged: Option<Entry>,
    /// As it lay in the worktree.
    pub(super) saved: Option<Entry>,
}

impl Start {
    pub(super) fn is_clean(&self) -> bool {
        self.dirty.is_empty()
    }

    /// What the person had at a path, while it is still the person's: once a commit took in what a
    /// session made of it, it is a path like any other. `committed` is what HEAD has there now. An
    /// agent that commits without naming paths takes in what the person had staged; that changes
    /// nothing.
    pub(super) fn personal(&self, path: &[u8], committed: Option<&Entry>) -> Option<&Dirty> {
        let dirty = self.dirty.get(path)?;
        let known = [&dirty.committed, &dirty.staged, &dirty.saved];
        known.into_iter().any(|entry| entry.as_ref() == committed).then_some(dirty)
    }
}

fn ref_of(run: &RunId) -> String {
    format!("refs/ralph/start/{run}")
}

impl GitVcs {
    pub(super) fn begin_run(
        &self,
        run: &RunId,
        resumes: Option<(&RunId, Option<&str>)>,
    ) -> Result<RunBase, GitError> {
        self.project.exclude_state()?;
        scratch::sweep(self.worktree());
        checkout::sweep(self.worktree());
        self.begin_boxed(run, resumes.is_some())?;
        let Position { branch, head } = self.position()?;
        let head_tree = self.tree_of(head.as_deref())?;
        let Some((before, settled)) = resumes else {
            let start = self.save_start(run, head.as_deref(), &head_tree)?;
            return Ok(RunBase { head, branch, start, settled_tree: head_tree });
        };
        let start = self.commit_parts(&ref_of(before))?.map(|commit| commit.id);
        if let Some(start) = &start {
            self.git(&["update-ref", &ref_of(run), start]).run()?;
        }
        let settled_tree = match (settled, &head) {
            // Nothing that a session committed is on the branch before it is accepted: whatever came since
            // is the user's.
            _ if self.boxed.is_some() => head_tree,
            (Some(settled), Some(head)) if self.is_ancestor(settled, head)? => {
                self.tree_of(Some(settled))?
            }
            _ => head_tree,
        };
        Ok(RunBase { head, branch, start, settled_tree })
    }

    /// `tree` with what was committed on top of `seen` since, file by file: as the branch has it now.
    pub(super) fn with_commits(&self, tree: &str, seen: &str) -> Result<String, GitError> {
        let Some(head) = self.position()?.head else { return Ok(tree.to_owned()) };
        let head_tree = self.tree_of(Some(&head))?;
        if head == seen || head_tree == tree {
            return Ok(tree.to_owned());
        }
        if !self.is_ancestor(seen, &head)? {
            // History was rewritten, which sessions that have ended did not do.
            return Ok(head_tree);
        }
        let changes = self.diff(&self.tree_of(Some(seen))?, &head_tree)?;
        let scratch = Scratch::empty(self.worktree())?;
        scratch.git(&["read-tree", tree]).run()?;
        scratch.set(tree, changes.iter().map(|change| (&change.path, change.to.as_ref())))?;
        scratch.write_tree()
    }

    pub(super) fn is_ancestor(&self, older: &str, newer: &str) -> Result<bool, GitError> {
        match self.git(&["merge-base", "--is-ancestor", older, newer]).run() {
            Ok(_) => Ok(true),
            // Not an ancestor, or no commit of this repository at all.
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Saves the worktree, and as a second parent the index, the way a stash does. A branch without
    /// commits has no parent to begin with, and there the worktree alone is saved.
    fn save_start(
        &self,
        run: &RunId,
        head: Option<&str>,
        head_tree: &str,
    ) -> Result<Option<String>, GitError> {
        let scratch = Scratch::copy_of(self.worktree(), &self.index)?;
        let staged = match head {
            // An index in the middle of a merge is no tree; the worktree holds the merge.
            Some(_) => scratch.write_tree().ok().filter(|tree| tree != head_tree),
            None => None,
        };
        let tree = match &self.boxed {
            Some(boxed) => self.see(boxed)?.tree,
            None => {
                for left_out in scratch.overlay(head)? {
                    self.warn(left_out);
                }
                scratch.write_tree()?
            }
        };
        if tree == head_tree && staged.is_none() {
            return Ok(None);
        }
        let message = format!("ralph: uncommitted before run {run}\n");
        let mut parents: Vec<&str> = head.into_iter().collect();
        let index_commit;
        if let Some(staged) = staged {
            let message = format!("ralph: staged before run {run}\n");
            index_commit = self.commit_tree(&staged, &parents, &message, Author::Ralph)?;
            parents.push(&index_commit);
        }
        let start = self.commit_tree(&tree, &parents, &message, Author::Ralph)?;
        self.git(&["update-ref", &ref_of(run), &start]).run()?;
        Ok(Some(start))
    }

    /// The paths that were dirty before the run.
    pub(super) fn start_of(&self, base: &RunBase) -> Result<Arc<Start>, GitError> {
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

    fn read_start(&self, id: &str) -> Result<Start, GitError> {
        let Some(commit) = self.commit_parts(id)? else {
            let message = format!("{id} is gone, in which uncommitted work was saved");
            return Err(GitError::Failed { verb: "cat-file".to_owned(), message });
        };
        let committed = self.tree_of(commit.parents.first().map(String::as_str))?;
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

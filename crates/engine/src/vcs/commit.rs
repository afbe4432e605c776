//! Commits the work of a session: the branch moves only from where the candidate found it, and only the committed
//! paths change in the user's index.

use std::collections::HashMap;

use super::branch::Files;
use super::in_place::{Author, GitVcs};
use crate::git::entries::{Change, RAW, index_info, parse_changes};
use crate::git::position::Position;
use crate::git::{GitError, GitResult};
use crate::ports::{Candidate, RunBase};
use crate::sync::lock;

/// Committed paths that are still missing in the user's index, because another git held it.
#[derive(Debug)]
pub(super) struct Unrefreshed {
    commit: String,
    changes: Vec<Change>,
}

impl GitVcs {
    pub(super) fn commit_leftovers(
        &self,
        base: &RunBase,
        candidate: &Candidate,
        subject: &str,
        body: &str,
    ) -> GitResult<Option<String>> {
        let at = self.on_branch(base)?;
        if !candidate.leftovers && candidate.taken.is_none() {
            return Ok(None);
        }
        if at.head != candidate.head {
            return Err(GitError::HeadMoved { expected: candidate.head.clone(), found: at.head });
        }
        let below = candidate.taken.as_deref().or(candidate.head.as_deref());
        if candidate.taken.is_some() && self.tree_of(below)? == candidate.tree {
            // All of it is committed, and by the session.
            return self.land_imported(base, candidate).map(|_| None);
        }
        let hooks = self.hooks_folder()?;
        let mut message = message(subject, body);
        if let Some(folder) = &hooks {
            self.pre_commit(folder, base, candidate)?;
            message = self.message_by_hooks(folder, message)?;
        }
        let parents: Vec<&str> = below.into_iter().collect();
        let id = self.commit_tree(&candidate.tree, &parents, &message, Author::User)?;
        let logged = format!("ralph: {}", message.lines().next().unwrap_or_default());
        self.remember_tree(&id, &candidate.tree);
        let expected = candidate.head.as_deref();
        self.advance(expected, &id, Files::There, &logged)?.or_moved(expected)?;
        // Before the last hook: it is to find the commit.
        if let Some(sandboxed) = &self.sandboxed {
            self.discard_finished(sandboxed);
        }
        if let Some(folder) = &hooks {
            self.post_commit(folder);
        }
        Ok(Some(id))
    }

    /// Updates the user's index with a commit, now or as soon as it is unlocked.
    pub(super) fn bring_into_index(&self, id: &str, changes: Vec<Change>) {
        if let Err(error) = self.refresh_index(id, &changes) {
            self.warn(format!("{id} is committed, but the index is not updated yet: {error}"));
            *lock(&self.unrefreshed) = Some(Unrefreshed { commit: id.to_owned(), changes });
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

    /// The same for what another run had committed, if nothing has changed it since.
    pub(super) fn bring_in_missed(&self, commit: String, changes: Vec<Change>) {
        *lock(&self.unrefreshed) = Some(Unrefreshed { commit, changes });
        self.catch_up();
    }

    fn refresh_index(&self, like: &str, changes: &[Change]) -> GitResult<()> {
        let lines = index_info(like, changes.iter().map(|c| (&c.path, c.to.as_ref())));
        self.set_index(&lines)
    }

    /// Makes paths of the user's index hold these entries.
    pub(super) fn set_index(&self, lines: &[u8]) -> GitResult<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.git(&["update-index", "-z", "--index-info"]).input(lines).run()?;
        if self.sandboxed.is_some() {
            // It would read files of the worktree, and only for the times of them.
            return Ok(());
        }
        // So that scripts which only compare times do not see changes; the content is right already.
        let _ = self.git(&["update-index", "-q", "--refresh"]).run();
        Ok(())
    }

    pub(super) fn staged_beyond(&self, tree: &str) -> GitResult<Vec<Change>> {
        let mut arguments = vec!["diff-index", "--cached"];
        arguments.extend(RAW);
        arguments.extend([tree, "--"]);
        parse_changes("diff-index", &self.git(&arguments).run()?)
    }

    /// Brings into the index what it missed, if nothing has changed it since.
    pub(super) fn catch_up(&self) {
        let Some(missed) = lock(&self.unrefreshed).take() else {
            return;
        };
        if let Err(error) = self.bring_in(&missed) {
            let id = &missed.commit;
            self.warn(format!("{id} is committed, but the index is not updated yet: {error}"));
            *lock(&self.unrefreshed) = Some(missed);
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
fn message(subject: &str, body: &str) -> String {
    let text = match body.trim() {
        "" => format!("{}\n", subject.trim()),
        body => format!("{}\n\n{body}\n", subject.trim()),
    };
    // Git takes any message but one with this in it.
    text.replace('\0', "")
}

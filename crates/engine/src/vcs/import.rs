//! Imports the commits of sessions from their own git directory: in the user's worktree when the gates pass, and at
//! once in a worktree whose branch belongs to ralph.

use std::collections::HashMap;

use super::branch::Files;
use super::in_place::GitVcs;
use super::sandboxed::WorktreeSandbox;
use crate::crash;
use crate::git::entries::zeros;
use crate::git::scratch::Scratch;
use crate::git::{GitError, GitResult};
use crate::ports::{Candidate, RunBase};
use crate::sync::lock;

/// The fewest letters by which a commit is named.
const SHORTEST: usize = 7;

impl GitVcs {
    /// Moves the branch to what sessions committed, and brings the paths into the user's index.
    pub(super) fn land_imported(
        &self,
        base: &RunBase,
        candidate: &Candidate,
    ) -> GitResult<Option<String>> {
        let (Some(sandboxed), Some(taken)) = (&self.sandboxed, &candidate.taken) else {
            return Ok(None);
        };
        let at = self.on_branch(base)?;
        if at.head.as_ref() != Some(taken) {
            if at.head != candidate.head {
                let expected = candidate.head.clone();
                return Err(GitError::HeadMoved { expected, found: at.head });
            }
            let why = "ralph: what a session committed";
            let expected = candidate.head.as_deref();
            self.advance(expected, taken, Files::There, why)?.or_moved(expected)?;
        }
        self.discard_finished(sandboxed);
        Ok(Some(taken.clone()))
    }

    /// The outcome is recorded: the session's directory is not needed any more. A failure to remove it stops
    /// nothing.
    pub(super) fn discard_finished(&self, sandboxed: &WorktreeSandbox) {
        if let Err(error) = self.discard(sandboxed) {
            self.warn(format!("the git directory of the session could not be removed: {error}"));
        }
    }

    /// In a worktree whose branch belongs to ralph: HEAD, branch and index become those of the session. If the
    /// session is on another branch, HEAD is detached at its commit.
    pub(super) fn adopt_head(&self) -> GitResult<()> {
        let Some(sandboxed) = &self.sandboxed else { return Ok(()) };
        if !sandboxed.git_dir.is_linked() || !sandboxed.git_dir.was_issued() {
            return Ok(());
        }
        let at = self.position()?;
        if sandboxed.git_dir.fits(&at) {
            let seen = self.see(sandboxed)?;
            let elsewhere = seen.branch != at.branch;
            if seen.refused.is_none()
                && let Some(head) = seen.head
                && (elsewhere || at.head.as_ref() != Some(&head))
            {
                let head = self.signed(at.head.as_deref(), &head)?;
                match elsewhere {
                    false => {
                        let why = "ralph: what a session committed";
                        let expected = at.head.as_deref();
                        self.advance(expected, &head, Files::There, why)?.or_moved(expected)?;
                    }
                    true => self.detach_at(&head, at.head.as_deref())?,
                }
            }
        }
        self.discard(sandboxed)
    }

    /// HEAD is at a commit of the session's and on no branch; the branch stays where it is.
    fn detach_at(&self, head: &str, from: Option<&str>) -> GitResult<()> {
        // The index before HEAD: what is seen in between is the work as if it were staged, and seen again it
        // is moved again.
        Scratch::at(self.worktree(), &self.index).reset_to(head)?;
        crash::point("commits-mirrored");
        let before = from.map_or_else(|| zeros(head), str::to_owned);
        let why = "ralph: what a session committed";
        self.git(&["update-ref", "-m", why, "--no-deref", "HEAD", head, &before]).run()?;
        crash::point("commits-landed");
        Ok(())
    }

    /// The same commits signed, where this worktree has a key: in a sandbox nothing is.
    fn signed(&self, from: Option<&str>, head: &str) -> GitResult<String> {
        if !self.signs() {
            return Ok(head.to_owned());
        }
        let without = from.map(|from| format!("^{from}"));
        let mut arguments = vec!["rev-list", "--reverse", "--topo-order", head];
        arguments.extend(without.as_deref());
        arguments.push("--");
        let mut new: HashMap<String, String> = HashMap::new();
        for id in self.git(&arguments).lines()? {
            let Some(parts) = self.commit_parts(&id)? else { continue };
            let parents: Vec<String> =
                parts.parents.iter().map(|old| new.get(old).unwrap_or(old).clone()).collect();
            let raw = self.git(&["cat-file", "commit", &id]).run()?;
            let made = self.like(&raw, &parts.tree, &parents, None)?;
            lock(&self.renames).push((id.clone(), made.clone()));
            new.insert(id, made);
        }
        Ok(new.get(head).cloned().unwrap_or_else(|| head.to_owned()))
    }

    /// A text in which commits that were recreated go by their new names.
    pub(super) fn with_new_names(&self, text: &str) -> String {
        let renames = lock(&self.renames);
        if renames.is_empty() {
            return text.to_owned();
        }
        let mut reported = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
            let (before, from) = rest.split_at(start);
            let end = from.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(from.len());
            let (word, after) = from.split_at(end);
            let named = |(old, _): &&(String, String)| old.starts_with(&word.to_ascii_lowercase());
            let new = renames.iter().find(named).filter(|_| word.len() >= SHORTEST);
            reported.push_str(before);
            reported.push_str(new.and_then(|(_, new)| new.get(..word.len())).unwrap_or(word));
            rest = after;
        }
        reported + rest
    }
}

//! Sessions with a git directory of their own: what goes into it, and how ralph imports their commits. In the user's
//! worktree that happens when the gates pass, in a worktree whose branch belongs to ralph at once.

use std::collections::HashMap;

use super::branch::Files;
use super::in_place::GitVcs;
use super::like::with_new;
use crate::crash;
use crate::git::entries::zeros;
use crate::git::scratch::Scratch;
use crate::git::{GitError, GitResult};
use crate::ports::{Candidate, RunBase, SandboxMounts, SessionCommits};
use crate::sync::lock;

/// The fewest letters by which a commit is named.
const SHORTEST: usize = 7;
/// What the log of a ref says when it moves to a session's commit.
const WHY: &str = "ralph: what a session committed";

impl SessionCommits for GitVcs {
    fn lands_when_accepted(&self) -> bool {
        self.sandboxed.is_some() && self.linked_sandbox().is_none()
    }

    /// The directory is recreated if the branch has moved since: commits in the old one are saved.
    fn shown(&self) -> GitResult<SandboxMounts> {
        let Some(sandboxed) = &self.sandboxed else { return Ok(SandboxMounts::default()) };
        let at = self.position()?;
        // One that no session had yet may be older than what the user has done since.
        if !(sandboxed.git_dir.was_issued() && sandboxed.git_dir.fits(&at)) {
            self.discard(sandboxed)?;
            sandboxed.git_dir.ensure(&at)?;
            sandboxed.git_dir.mark_issued()?;
        }
        sandboxed.git_dir.issued(at.head.as_deref())
    }

    fn shown_to_judges(&self, head: Option<&str>) -> GitResult<SandboxMounts> {
        let Some(sandboxed) = &self.sandboxed else { return Ok(SandboxMounts::default()) };
        let at = self.position()?;
        if !sandboxed.git_dir.was_issued() && !sandboxed.git_dir.fits(&at) {
            self.discard(sandboxed)?;
        }
        sandboxed.git_dir.ensure(&at)?;
        sandboxed.git_dir.for_judges(head)
    }

    /// HEAD, branch and index become those of the session. If the session is on another branch, HEAD is
    /// detached at its commit.
    fn import_commits(&self) -> GitResult<()> {
        let Some(sandboxed) = self.linked_sandbox() else { return Ok(()) };
        if !sandboxed.git_dir.was_issued() {
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
                        let expected = at.head.as_deref();
                        self.advance(expected, &head, Files::There, WHY)?.or_moved(expected)?;
                    }
                    true => self.detach_at(&head, at.head.as_deref())?,
                }
            }
        }
        self.discard(sandboxed)
    }

    fn land(&self, base: &RunBase, candidate: &Candidate) -> GitResult<Option<String>> {
        let (Some(_), Some(taken)) = (&self.sandboxed, &candidate.taken) else {
            return Ok(None);
        };
        let at = self.on_branch(base)?;
        if at.head.as_ref() != Some(taken) {
            let expected = candidate.head.as_deref();
            if at.head.as_deref() != expected {
                return Err(GitError::HeadMoved {
                    expected: candidate.head.clone(),
                    found: at.head,
                });
            }
            self.advance(expected, taken, Files::There, WHY)?.or_moved(expected)?;
        }
        self.discard_finished();
        Ok(Some(taken.clone()))
    }

    fn renamed(&self, text: &str) -> String {
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

impl GitVcs {
    /// The outcome is recorded: the session's directory is not needed any more. A failure to remove it stops
    /// nothing.
    pub(super) fn discard_finished(&self) {
        let Some(sandboxed) = &self.sandboxed else { return };
        if let Err(error) = self.discard(sandboxed) {
            self.warn(format!("the git directory of the session could not be removed: {error}"));
        }
    }

    /// HEAD is at a commit of the session's and on no branch; the branch stays where it is.
    fn detach_at(&self, head: &str, from: Option<&str>) -> GitResult<()> {
        // The index before HEAD: what is seen in between is the work as if it were staged, and seen again it
        // is moved again.
        Scratch::at(self.worktree(), &self.index).reset_to(head)?;
        crash::point("commits-mirrored");
        let before = from.map_or_else(|| zeros(head), str::to_owned);
        self.git(&["update-ref", "-m", WHY, "--no-deref", "HEAD", head, &before]).run()?;
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
            let Some(commit) = self.commit_parts(&id)? else { continue };
            let parents = with_new(&commit.parents, &new);
            let made = self.like(&commit, &commit.tree, &parents, None)?;
            lock(&self.renames).push((id.clone(), made.clone()));
            new.insert(id, made);
        }
        Ok(new.get(head).cloned().unwrap_or_else(|| head.to_owned()))
    }
}

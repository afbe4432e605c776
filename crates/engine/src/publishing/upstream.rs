//! Reads from a remote: the commit of a branch there, and the objects of commits. Git connects as for a push, with
//! the user's own credentials and without prompts.

use std::path::Path;

use ralph_core::agent::ProcessEnd;
use ralph_core::forge::Relation;
use tokio::sync::watch;

use crate::git::pinned::check_leads;
use crate::git::{Git, GitError};
use crate::process::Stop;
use crate::publishing::push::{Push, PushError};

impl Push<'_> {
    /// The commits of these branches at the remote, in their order; `None` for one that it does not have.
    pub fn remote_tips(
        &self,
        branches: &[&str],
        stop: &watch::Receiver<Stop>,
    ) -> Result<Vec<Option<String>>, PushError> {
        if branches.is_empty() {
            return Ok(vec![]);
        }
        check_leads(self.folder, self.remote)?;
        let full: Vec<String> = branches.iter().map(|name| format!("refs/heads/{name}")).collect();
        let mut arguments = vec!["ls-remote", "--refs", "--", self.remote];
        arguments.extend(full.iter().map(String::as_str));
        let done = self.call(&arguments, self.patience, stop)?;
        match &done.end {
            ProcessEnd::Exited { code: 0 } => {}
            ProcessEnd::Exited { .. } => return Err(self.unreachable(&done)),
            other => return Err(self.cut_short(other)),
        }
        let printed = String::from_utf8_lossy(&done.stdout).into_owned();
        let found: Vec<(&str, &str)> =
            printed.lines().filter_map(|line| line.split_once('\t')).collect();
        let tip = |name: &String| {
            let line = found.iter().find(|(id, known)| known == name && is_commit(id));
            line.map(|(id, _)| (*id).to_owned())
        };
        Ok(full.iter().map(tip).collect())
    }

    /// Fetches branches into the refs that git itself keeps for them, and other refs without keeping any.
    pub fn fetch(
        &self,
        branches: &[&str],
        others: &[&str],
        stop: &watch::Receiver<Stop>,
    ) -> Result<(), PushError> {
        if branches.is_empty() && others.is_empty() {
            return Ok(());
        }
        check_leads(self.folder, self.remote)?;
        let mut refs: Vec<String> = branches
            .iter()
            .map(|name| format!("+refs/heads/{name}:refs/remotes/{}/{name}", self.remote))
            .collect();
        refs.extend(others.iter().map(|name| (*name).to_owned()));
        let mut arguments = vec!["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        arguments.extend(["--no-recurse-submodules", "--no-auto-maintenance", "--", self.remote]);
        arguments.extend(refs.iter().map(String::as_str));
        let done = self.call(&arguments, self.patience, stop)?;
        match &done.end {
            ProcessEnd::Exited { code: 0 } => Ok(()),
            ProcessEnd::Exited { .. } => Err(self.unreachable(&done)),
            other => Err(self.cut_short(other)),
        }
    }
}

/// Whether a text of others is the id of a commit, and nothing that git reads otherwise.
pub fn is_commit(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The commit that a name means; `None` where there is none here.
pub fn commit_of(folder: &Path, name: &str) -> Result<Option<String>, GitError> {
    let asked = format!("{name}^{{commit}}");
    let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &asked];
    match Git::plumbing(folder, &asked).line() {
        Ok(id) => Ok(Some(id)),
        Err(GitError::Failed { .. } | GitError::Odd { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// How one of your commits relates to another one.
pub fn relation(folder: &Path, ours: &str, other: &str) -> Result<Relation, GitError> {
    if !is_commit(other) || commit_of(folder, other)?.is_none() {
        return Ok(Relation::Unknown);
    }
    let contains = |inner: &str, outer: &str| {
        let asked = ["merge-base", "--is-ancestor", inner, outer];
        match Git::plumbing(folder, &asked).run() {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    };
    Ok(match contains(ours, other)? {
        true => Relation::Contained,
        false if contains(other, ours)? => Relation::Extended,
        false => Relation::Apart,
    })
}

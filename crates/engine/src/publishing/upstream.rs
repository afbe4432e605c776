//! Reads from a remote: the commit of a branch there, and the objects of commits. Git connects as for a push, with
//! the user's own credentials and without prompts.

use std::path::Path;

use ralph_core::forge::Relation;
use tokio::sync::watch;

use super::push::{Push, PushError};
use crate::git::pinned::check_leads;
use crate::git::position::object_id;
use crate::git::{GitResult, commit_of, is_ancestor};
use crate::process::Stop;

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
        self.check(&done)?;
        let printed = String::from_utf8_lossy(&done.stdout).into_owned();
        let found: Vec<(&str, &str)> =
            printed.lines().filter_map(|line| line.split_once('\t')).collect();
        let tip = |name: &String| {
            let line = found.iter().find(|(id, known)| known == name && object_id(id).is_some());
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
        self.check(&done)
    }
}

/// How one of your commits relates to another one.
pub fn relation(folder: &Path, ours: &str, other: &str) -> GitResult<Relation> {
    if object_id(other).is_none() || commit_of(folder, other)?.is_none() {
        return Ok(Relation::Unknown);
    }
    Ok(match is_ancestor(folder, ours, other)? {
        true => Relation::Contained,
        false if is_ancestor(folder, other, ours)? => Relation::Extended,
        false => Relation::Apart,
    })
}

//! Questions about commits, by their names.

use std::path::Path;

use super::{Git, GitError, GitResult};

/// The commit that a name means; `None` where there is none here.
pub fn commit_of(folder: &Path, name: &str) -> GitResult<Option<String>> {
    let asked = format!("{name}^{{commit}}");
    let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &asked];
    match Git::plumbing(folder, &asked).line() {
        Ok(id) => Ok(Some(id)),
        Err(GitError::Failed { .. } | GitError::Odd { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The refs in these places, each with what it leads to.
pub(crate) fn refs_in(folder: &Path, places: &[&str]) -> GitResult<Vec<(String, String)>> {
    let list = ["for-each-ref", "--format=%(refname) %(objectname)"];
    Git::plumbing(folder, &[&list[..], places].concat()).pairs()
}

/// Deletes refs that still lead where they did: all of them or none.
pub(crate) fn delete_refs<'a>(
    folder: &Path,
    refs: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> GitResult<()> {
    let lines = refs.into_iter().map(|(name, commit)| format!("delete {name} {commit}\n"));
    let asked: String = lines.collect();
    if asked.is_empty() {
        return Ok(());
    }
    Git::plumbing(folder, &["update-ref", "--stdin"]).input(asked.as_bytes()).run().map(drop)
}

/// Whether a commit is part of the history of another; no where one of them is not here.
pub(crate) fn is_ancestor(folder: &Path, older: &str, newer: &str) -> GitResult<bool> {
    match Git::plumbing(folder, &["merge-base", "--is-ancestor", older, newer]).run() {
        Ok(_) => Ok(true),
        Err(GitError::Failed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

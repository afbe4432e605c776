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

/// Whether a commit is part of the history of another; no where one of them is not here.
pub(crate) fn is_ancestor(folder: &Path, older: &str, newer: &str) -> GitResult<bool> {
    match Git::plumbing(folder, &["merge-base", "--is-ancestor", older, newer]).run() {
        Ok(_) => Ok(true),
        Err(GitError::Failed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

//! The base branch of pull requests, and the commit where a branch starts.

use super::position::position;
use super::{Git, GitError, GitResult, commit_of, is_ancestor};
use crate::project::Project;

/// A branch that others are merged into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// Its name as the remote has it: `main`.
    pub name: String,
    /// What git takes for its commit here: `main`, or `origin/main`.
    pub commit: String,
}

/// The branch that pull requests go to: the one that is `set`, else the default branch of the remote, else
/// the one that is checked out; `None` where none of them is there.
pub fn pr_base(project: &Project, remote: &str, set: &str) -> GitResult<Option<Base>> {
    if !set.is_empty() {
        let commit = start_of(project, remote, set)?;
        return Ok(commit.map(|commit| Base { name: set.to_owned(), commit }));
    }
    if let Some(name) = remote_default(project, remote)? {
        let commit = format!("{remote}/{name}");
        return Ok(Some(Base { name, commit }));
    }
    Ok(position(project)?.branch.map(|name| Base { commit: name.clone(), name }))
}

/// What git takes for the commit that `base` means: the name itself, or that branch of the remote. `None`
/// when it is neither.
pub fn start_of(project: &Project, remote: &str, base: &str) -> GitResult<Option<String>> {
    for name in [base.to_owned(), format!("{remote}/{base}")] {
        if commit_of(&project.root, &name)?.is_some() {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The name of the branch that `base` means, here or at the remote; `None` where it is a tag or a commit.
pub fn branch_named(project: &Project, remote: &str, base: &str) -> GitResult<Option<String>> {
    let name = base.strip_prefix(&format!("{remote}/")).unwrap_or(base);
    for full in [format!("refs/heads/{name}"), format!("refs/remotes/{remote}/{name}")] {
        if Git::plumbing(&project.root, &["show-ref", "--quiet", "--verify", &full]).yes_or_no()?.0
        {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

/// The branch that is checked out in the worktree; `None` for a detached HEAD.
pub fn current_branch(project: &Project) -> GitResult<Option<String>> {
    Ok(position(project)?.branch)
}

fn remote_default(project: &Project, remote: &str) -> GitResult<Option<String>> {
    let head = format!("refs/remotes/{remote}/HEAD");
    let asked = ["symbolic-ref", "--quiet", &head];
    match Git::plumbing(&project.root, &asked).line() {
        Ok(full) => {
            let name = full.strip_prefix(&format!("refs/remotes/{remote}/")).map(str::to_owned);
            // A default that was never fetched, or is gone, is none.
            match name {
                Some(name) if start_of(project, remote, &format!("{remote}/{name}"))?.is_some() => {
                    Ok(Some(name))
                }
                _ => Ok(None),
            }
        }
        Err(GitError::Failed { .. } | GitError::Odd { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// How many commits a branch has beyond another commit.
pub fn commits_since(project: &Project, began: &str, branch: &str) -> GitResult<u64> {
    let range = format!("{began}..refs/heads/{branch}");
    let asked = ["rev-list", "--count", "--end-of-options", &range];
    let line = Git::plumbing(&project.root, &asked).line()?;
    Ok(line.parse().unwrap_or(0))
}

/// Whether all commits of a branch are in another one.
pub fn is_merged(project: &Project, branch: &str, base: &str) -> GitResult<bool> {
    let branch = format!("refs/heads/{branch}");
    is_ancestor(&project.root, &branch, base)
}

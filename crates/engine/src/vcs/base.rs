//! Which branch pull requests go to.

use super::git::{Git, GitError};
use super::position::position;
use crate::project::Project;

/// The branch that pull requests go to: the one that is configured, else the default branch of the remote,
/// else the one that is checked out. Empty where there is none of them.
pub fn pr_base(project: &Project, configured: &str, remote: &str) -> Result<String, GitError> {
    if !configured.is_empty() {
        return Ok(configured.to_owned());
    }
    let here = format!("refs/remotes/{remote}/");
    let head = format!("{here}HEAD");
    let asked = Git::plumbing(&project.worktree, &["symbolic-ref", "--quiet", &head]).line();
    match asked {
        Ok(name) => {
            if let Some(branch) = name.strip_prefix(&here) {
                return Ok(branch.to_owned());
            }
        }
        Err(GitError::Failed { .. } | GitError::Odd { .. }) => {}
        Err(error) => return Err(error),
    }
    Ok(position(project)?.branch.unwrap_or_default())
}

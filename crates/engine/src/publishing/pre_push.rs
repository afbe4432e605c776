//! Runs the `pre-push` hook before ralph pushes.
//!
//! `core.hooksPath` may point into the worktree (husky, `.githooks`), where a session can write a hook that git
//! would run outside the sandbox, with the user's keys. So git pushes with hooks off, and ralph runs the hook
//! itself: as git would if no session can have written it, and in the sandbox otherwise.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_core::forge::without_credentials;
use tokio::sync::watch;

use crate::host::{may_run, stops_on};
use crate::process::{CommandSpec, Stop};
use crate::project::Project;

/// Runs a hook of the worktree in the sandbox: how it ended, and what it printed.
pub type RunHook<'a> =
    dyn Fn(CommandSpec, Duration, watch::Receiver<Stop>) -> (ProcessEnd, String) + 'a;

/// A hook that git would run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PrePush {
    /// The file, without links on the way.
    file: PathBuf,
    /// No session can have written it or turned the way to it.
    pub(super) is_users: bool,
}

pub(super) struct Update<'a> {
    pub(super) remote: &'a str,
    pub(super) url: &'a str,
    /// The full name of the branch, here and there.
    pub(super) branch: &'a str,
    pub(super) local: &'a str,
    /// `None` where the remote does not have the branch.
    pub(super) there: Option<&'a str>,
}

impl PrePush {
    /// The hook in the folder that git names for this worktree.
    pub(super) fn find(worktree: &Path, hooks: &Path) -> Option<Self> {
        let path = worktree.join(hooks).join("pre-push");
        if !may_run(&path) {
            return None;
        }
        let file = path.canonicalize().ok()?;
        let is_users = Project::find(worktree).is_ok_and(|project| is_users(&project, &path));
        Some(Self { file, is_users })
    }

    /// The hook with the arguments and the input that git gives it.
    pub(super) fn spec(&self, update: &Update<'_>, git: CommandSpec) -> CommandSpec {
        // What a session wrote has no use for the user's token.
        let url = match self.is_users {
            true => update.url.to_owned(),
            false => without_credentials(update.url),
        };
        let none = "0".repeat(update.local.len());
        let (branch, there) = (update.branch, update.there.unwrap_or(&none));
        CommandSpec {
            program: self.file.clone().into(),
            args: vec![update.remote.into(), url.into()],
            stdin: format!("{branch} {} {branch} {there}\n", update.local).into_bytes().into(),
            ..git
        }
    }
}

/// Whether the file and every link on the way to it are where sessions cannot write: outside the repository
/// and its worktrees, or in the `hooks` folder of git's own directory.
fn is_users(project: &Project, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let trees = [real(&project.worktree), real(&project.root)];
    let (git_dir, own) = (real(&project.git_dir), project.own_git_dir().map(|own| real(&own)));
    let hooks = git_dir.join("hooks");
    let is_theirs = |stop: &PathBuf| {
        let in_git =
            stop.starts_with(&git_dir) || own.as_ref().is_ok_and(|own| stop.starts_with(own));
        let in_tree = in_git || trees.iter().any(|tree| stop.starts_with(tree));
        let in_sibling = || {
            let found = Project::find(stop.parent().unwrap_or(stop));
            found.is_ok_and(|found| real(&found.git_dir) == git_dir)
        };
        !stop.starts_with(&hooks) && (in_tree || in_sibling())
    };
    stops_on(path).is_some_and(|stops| !stops.iter().any(is_theirs))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_hook_is_the_users_where_no_session_can_write_it() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let repo = folder.join("repo");
        let hook = |place: &str| {
            let path = folder.join(place).join("pre-push");
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        };
        for place in ["repo/.git/hooks", "repo/.git/other", "repo/.githooks", "home/hooks"] {
            hook(place);
        }
        std::fs::create_dir(folder.join("links")).unwrap();
        symlink("../repo/.githooks/pre-push", folder.join("links/pre-push")).unwrap();
        symlink("../home/hooks", repo.join("out")).unwrap();
        let found = |hooks: &str| PrePush::find(&repo, Path::new(hooks)).map(|hook| hook.is_users);
        assert_eq!(found(".git/hooks"), Some(true));
        assert_eq!(found("../home/hooks"), Some(true));
        assert_eq!(found(".githooks"), Some(false));
        assert_eq!(found(".git/other"), Some(false));
        assert_eq!(found("../links"), Some(false), "a link to a file of the tree");
        assert_eq!(found("out"), Some(false), "a link of the tree, which a session can turn");
        assert_eq!(found("nowhere"), None);
        std::fs::remove_dir_all(repo.join(".git/hooks")).unwrap();
        symlink("../.githooks", repo.join(".git/hooks")).unwrap();
        assert_eq!(found(".git/hooks"), Some(false), "the folder leads into the tree");
    }
}

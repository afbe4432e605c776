//! The worktrees of tasks that run in parallel, and the author of commits there.

use std::time::Duration;

use ralph_core::branch::TASK_PREFIX;
use ralph_engine::git::{Signing, signing};
use ralph_engine::project::Project;
use ralph_engine::run::WorktreePool;
use ralph_engine::session_git::GitSandbox;
use ralph_engine::vcs::trunk::Trunk;
use ralph_engine::worktrees::{Identity, Worktrees};

use super::{GATE_TIMEOUT, agent, gates, git_failed};
use crate::config::{Config, Key, Text, key};
use crate::error::Result;
use crate::exit_codes::Exit;
use crate::wiring::{Context, worktree_folder};

/// How long a key may take to sign.
const SIGNING: Duration = Duration::from_secs(10);

/// The author and keys of commits in ralph's worktrees; the home directory is added later.
pub(super) fn identity(config: &Config) -> Identity {
    let text = |key: Key<Text>| config.get(key).to_owned();
    Identity {
        name: text(key::GIT_WORKTREE_NAME),
        email: text(key::GIT_WORKTREE_EMAIL),
        signing_key: text(key::GIT_WORKTREE_SIGNING_KEY),
        ssh_key: text(key::GIT_WORKTREE_SSH_KEY),
        home: None,
    }
}

/// Tries the key that signs commits in worktrees, before ralph creates a worktree or pays for a session.
pub(super) fn check_key(project: &Project, config: &Config, context: &Context<'_>) -> Result<()> {
    let name = config.get(key::GIT_WORKTREE_SIGNING_KEY);
    if name.is_empty() {
        return Ok(());
    }
    let tried = signing(&project.worktree, name, &context.environment.all, SIGNING);
    match tried.map_err(git_failed)? {
        Signing::Off | Signing::Works => Ok(()),
        Signing::Broken(why) => {
            Err(failed!("git.worktree.signing_key is {name}, but signing does not work: {why}")
                .with_exit(Exit::GitFailed)
                .hint("see your keys: gpg --list-secret-keys"))
        }
    }
}

/// The worktrees of tasks, if tasks `have` them; or else those that an earlier run left behind, if this run is `alone`.
pub(super) fn pools(
    project: &Project,
    config: &Config,
    (have, alone): (bool, bool),
    sandbox: Option<GitSandbox>,
    context: &Context<'_>,
) -> Result<(Option<WorktreePool>, Option<WorktreePool>)> {
    let home = context.environment.home.clone();
    let worktrees = Worktrees::new(project, &worktree_folder(project, config, home.as_deref()));
    if have {
        check_key(project, config, context)?;
    } else {
        // Without a branch to merge into, their state is unknown.
        let Some(trunk) = Trunk::new(project).ok().filter(|_| alone) else {
            return Ok((None, None));
        };
        if !worktrees.has_traces() && trunk.branches(TASK_PREFIX).map_err(git_failed)?.is_empty() {
            return Ok((None, None));
        }
    }
    let pool = WorktreePool {
        trunk: Trunk::new(project).map_err(git_failed)?,
        worktrees: worktrees.sandboxed(sandbox),
        identity: Identity { home, ..identity(config) },
        setup_command: config.get(key::GIT_WORKTREE_SETUP).trim().to_owned(),
        include: gates::include(project, context)?,
        hooks: (agent::gate_environment(context.environment), GATE_TIMEOUT),
        keep: config.get(key::GIT_WORKTREE_KEEP) == "always",
    };
    Ok(if have { (Some(pool), None) } else { (None, Some(pool)) })
}

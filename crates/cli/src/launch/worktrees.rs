//! Where tasks of the store work that run side by side, and who commits there.

use ralph_core::run::Policy;
use ralph_engine::project::Project;
use ralph_engine::run::Grounds;
use ralph_engine::vcs::Boxes;
use ralph_engine::vcs::trunk::Trunk;
use ralph_engine::vcs::worktree::{Identity, Worktrees};

use super::{GATE_TIMEOUT, agent, gates, git_failed};
use crate::config::Config;
use crate::error::CliError;
use crate::wire::Context;

/// Who commits in worktrees of ralph's; where the home is, is told later.
pub(super) fn identity(config: &Config) -> Identity {
    let text = |key: &str| config.text(&format!("git.worktree.{key}")).to_owned();
    Identity {
        name: text("name"),
        email: text("email"),
        signing_key: text("signing_key"),
        ssh_key: text("ssh_key"),
        home: None,
    }
}

/// What work in worktrees of its own needs, where tasks have them.
pub(super) fn grounds(
    project: &Project,
    config: &Config,
    policy: &Policy,
    boxes: Option<Boxes>,
    context: &Context<'_>,
) -> Result<Option<Grounds>, CliError> {
    if !policy.integrates {
        return Ok(None);
    }
    let folder = project.resolve(config.text("git.worktree.dir"));
    let home = context.environment.home.clone();
    Ok(Some(Grounds {
        trunk: Trunk::new(project).map_err(git_failed)?,
        worktrees: Worktrees::new(project, &folder).boxed(boxes),
        identity: Identity { home, ..identity(config) },
        set_up: config.text("git.worktree.setup").trim().to_owned(),
        include: gates::rules(project, config)?.include,
        hooks: (agent::gate_environment(context.environment), GATE_TIMEOUT),
        keep: config.text("git.worktree.keep") == "always",
    }))
}

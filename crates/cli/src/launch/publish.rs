//! Whether the branch of a run goes out, and where.

use ralph_core::run::{Policy, Publish};
use ralph_engine::project::Project;
use ralph_engine::run::PublishSetup;
use ralph_engine::run::place::RunLogs;
use ralph_engine::vcs::base::{branch_named, pr_base};

use super::lanes::Lane;
use super::{Mode, RunOptions, Target, git_failed};
use crate::config::{Config, Preset, key};
use crate::error::CliError;

/// What is asked for. Only work on a plan goes out; `branches` is the preset that opens pull requests.
pub(super) fn wanted(options: &RunOptions, config: &Config, preset: &Preset) -> Option<Publish> {
    let auto_push = config.get(key::GIT_AUTO_PUSH);
    let set = config.get(key::GIT_AUTO_PR);
    let auto_pr = set.unwrap_or(preset.name == "branches");
    let wanted = options.mode == Mode::Build && (auto_push || auto_pr);
    wanted.then_some(Publish { auto_push, auto_pr })
}

/// Where it goes. `project` is where the person works: a branch in a worktree of its own is not what pull
/// requests go to.
pub(super) fn setup(
    options: &RunOptions,
    config: &Config,
    project: &Project,
    policy: &Policy,
    logs: &RunLogs,
    lane: Option<&Lane>,
) -> Result<Option<PublishSetup>, CliError> {
    if policy.publish.is_none() {
        return Ok(None);
    }
    let remote = config.get(key::GIT_REMOTE).to_owned();
    let set = config.get(key::GIT_PR_BASE);
    let found = pr_base(project, &remote, set).map_err(git_failed)?;
    // The server may know one that is not here.
    let base = found.map_or_else(|| set.to_owned(), |base| base.name);
    let protected =
        config.get(key::GIT_PROTECTED_BRANCHES).into_iter().map(str::to_owned).collect();
    // Where the section of a branch says that it begins is where it goes back to, if that is a branch.
    let begins = lane.and_then(|lane| lane.base.as_deref());
    let begins = begins.map(|begins| branch_named(project, &remote, begins)).transpose();
    let base = begins.map_err(git_failed)?.flatten().unwrap_or(base);
    let goal = match &options.target {
        _ if lane.is_some() => lane.map(|lane| lane.work.goal.clone()).unwrap_or_default(),
        Target::All => String::new(),
        Target::Feature(name) => format!("feature {name}"),
        Target::Task(id) => format!("task {id}"),
    };
    Ok(Some(PublishSetup { remote, base, protected, goal, drafts: logs.folder.clone() }))
}

//! Whether and where ralph publishes the branch of a run.

use std::path::Path;

use ralph_core::forge::HostEntry;
use ralph_core::run::{Policy, Publish};
use ralph_engine::forge::Retry;
use ralph_engine::git::base::{branch_named, pr_base};
use ralph_engine::project::Project;
use ralph_engine::publishing::{PublishRecords, PublishSetup, WatchSetup};
use ralph_engine::run_files::RunLogs;
use ralph_engine::run_files::state_file::folder;

use super::lanes::Lane;
use super::{Mode, RunOptions, Target, git_failed};
use crate::config::{Config, Preset, key};
use crate::error::Result;

/// What to publish. ralph publishes only work on a plan; the preset `branches` opens pull requests.
pub(super) fn wanted(options: &RunOptions, config: &Config, preset: &Preset) -> Option<Publish> {
    let auto_push = config.get(key::GIT_AUTO_PUSH);
    let auto_pr = config.or_preset(key::GIT_AUTO_PR, preset);
    let wanted = options.mode == Mode::Build && (auto_push || auto_pr);
    let watch_ms = match (auto_pr, &options.target) {
        (true, Target::All | Target::Feature(_)) => {
            let wanted = config.get(key::PUBLISH_WATCH).map_or(0, |time| time.as_millis());
            u64::try_from(wanted).unwrap_or(u64::MAX)
        }
        // A run for one task cannot take up tasks from reviews.
        (_, Target::Task(_)) | (false, _) => 0,
    };
    wanted.then_some(Publish { auto_push, auto_pr, watch_ms })
}

/// The remote for pushes, and the one for pull requests.
pub(crate) fn remotes(config: &Config) -> (String, String) {
    let usual = config.get(key::GIT_REMOTE);
    let or_usual = |set: &str| if set.is_empty() { usual.to_owned() } else { set.to_owned() };
    (or_usual(config.get(key::GIT_PUSH_REMOTE)), or_usual(config.get(key::GIT_PR_REMOTE)))
}

/// The servers that the user names. Invalid ones were refused when the settings were read.
pub(crate) fn hosts(config: &Config) -> Vec<HostEntry> {
    config
        .get(key::PUBLISH_HOSTS)
        .into_iter()
        .filter_map(|text| HostEntry::read(text).ok())
        .collect()
}

/// The record of a repository's published branches, kept between runs.
pub(super) fn records(state_home: Option<&Path>, home: &Project) -> PublishRecords {
    PublishRecords::of(state_home.map(|state| folder(state, home)).as_deref())
}

/// Where to publish. `project` is where the user works: a branch in its own worktree is not the base of pull
/// requests.
pub(super) fn setup(
    options: &RunOptions,
    config: &Config,
    project: &Project,
    policy: &Policy,
    logs: &RunLogs,
    lane: Option<&Lane>,
    state_home: Option<&Path>,
) -> Result<Option<PublishSetup>> {
    if policy.publish.is_none() {
        return Ok(None);
    }
    let (push_remote, remote) = remotes(config);
    let set = config.get(key::GIT_PR_BASE);
    let found = pr_base(project, &remote, set).map_err(git_failed)?;
    // The server may have a default branch that does not exist locally.
    let base = found.map_or_else(|| set.to_owned(), |base| base.name);
    // The base that a section names is also the base of its pull request, if it is a branch.
    let begins = lane.and_then(|lane| lane.base.as_deref());
    let begins = begins.map(|begins| branch_named(project, &remote, begins)).transpose();
    let base = begins.map_err(git_failed)?.flatten().unwrap_or(base);
    let goal = match &options.target {
        _ if lane.is_some() => lane.map(|lane| lane.work.goal.clone()).unwrap_or_default(),
        Target::All => String::new(),
        target => target.words(),
    };
    Ok(Some(PublishSetup {
        remote: push_remote,
        pr_remote: remote,
        base,
        protected: config.texts(key::GIT_PROTECTED_BRANCHES),
        goal,
        drafts: logs.folder.clone(),
        hosts: hosts(config),
        records: records(state_home, project),
        retry: Retry::default(),
        watch: WatchSetup {
            authors: config.texts(key::PUBLISH_AUTHORS),
            rounds: super::policy::count(config.get(key::PUBLISH_ROUNDS)),
        },
    }))
}

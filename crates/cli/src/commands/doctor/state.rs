//! Checks the settings, the task database, the disk, the files of `ralph init`, trust and notifications.

use ralph_core::trust::TrustState;
use ralph_engine::disk;
use ralph_engine::notify::Channel;
use ralph_engine::ports::{Scope, Store};
use ralph_engine::project::Project;
use ralph_engine::store::SqliteStore;

use super::check::Check;
use crate::commands::init::{Did, Mode, Step, agents_in_use, install};
use crate::config::{Config, key};
use crate::error::CliError;
use crate::launch::{DISK_FLOOR, wished_notifiers};
use crate::trust::decisions;
use crate::wiring::Context;

const MIB: u64 = 1 << 20;
/// Below this the check warns: a session can still start, but builds are large.
const LOW: u64 = 2048 * MIB;
/// Below this the check fails: a task database, a log and a commit need more.
const TOO_LOW: u64 = 200 * MIB;

/// Whether the settings can be read, and the settings; the defaults if they cannot.
pub(super) fn settings(context: &Context<'_>) -> (Check, Config) {
    let sources = match context.sources() {
        Ok(sources) => sources,
        Err(error) => return (Check::error("settings", &error), Config::default()),
    };
    let says = sources.files();
    match Config::load(sources) {
        Err(error) => (Check::error("settings", &error), Config::default()),
        Ok(loaded) => {
            let check = match loaded.warnings.as_slice() {
                [] => Check::ok("settings", says),
                warnings => {
                    let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
                    Check::warn("settings", texts.join("; "))
                        .remedy("see every setting: ralph config defaults")
                }
            };
            (check, loaded.config)
        }
    }
}

pub(super) fn disk(project: &Project) -> Check {
    let free = match disk::free(&project.worktree) {
        Ok(free) => free,
        Err(error) => return Check::warn("disk", format!("free space is unknown: {error}")),
    };
    let says = if free >= 10 * 1024 * MIB {
        format!("{} GiB free", free / (1024 * MIB))
    } else {
        format!("{} MiB free", free / MIB)
    };
    match free {
        ..TOO_LOW => Check::fail("disk", says)
            .remedy(format!("free some space: a run waits below {} MiB", DISK_FLOOR / MIB)),
        TOO_LOW..LOW => Check::warn("disk", says).remedy("free some space: builds are large"),
        _ => Check::ok("disk", says),
    }
}

pub(super) fn store(project: &Project, config: &Config) -> Check {
    let path = project.resolve(config.get(key::STORE_PATH));
    let counted = || match SqliteStore::open_existing(&path)? {
        None => Ok(None),
        Some(mut store) => {
            store.verify()?;
            store.counts(&Scope::All).map(Some)
        }
    };
    match counted() {
        Ok(None) => Check::ok("store", "no task database yet; the first task creates it"),
        Ok(Some(counts)) => Check::ok("store", format!("the task database is intact: {counts}")),
        Err(error) => Check::error("store", &CliError::from(error)),
    }
}

pub(super) fn installed(project: &Project, config: &Config) -> Check {
    let steps = install(project, Mode::Look, &agents_in_use(config), "", "");
    let refused = |step: &Step| Some(format!("{}: {}", step.path, step.did.why()?));
    let refused: Vec<String> = steps.iter().filter_map(refused).collect();
    if !refused.is_empty() {
        return Check::warn("init", refused.join("; ")).remedy("fix it, then: ralph init");
    }
    let missing: Vec<&str> =
        steps.iter().filter(|step| step.did != Did::Kept).map(|step| step.path.as_str()).collect();
    if missing.is_empty() {
        return Check::ok("init", "skills, hooks, prompt and exclude lines are in place");
    }
    Check::warn("init", format!("missing or incomplete: {}", missing.join(", ")))
        .remedy("ralph init, or ralph doctor --fix")
}

/// The check, and whether the gates may run.
pub(super) fn trusted(project: &Project, config: &Config, context: &Context<'_>) -> (Check, bool) {
    let decisions = decisions(project, config);
    let trust_state = match context.trust_state(!decisions.is_empty()) {
        Ok(trust_state) => trust_state,
        Err(error) => return (Check::error("trust", &error), false),
    };
    // The gates say which files they come from.
    let _ = context.test_command(project);
    let waiting = context.take_replaced();
    let check = match (trust_state, waiting.as_slice()) {
        (TrustState::Asks, _) => Check::fail(
            "trust",
            "you have not approved the files that decide what ralph runs here; gates skipped",
        )
        .remedy("review and approve them: ralph trust"),
        (_, [_, ..]) => Check::warn("trust", waiting.join("; ")).remedy("ralph trust"),
        (TrustState::Approved, []) => Check::ok("trust", "you approved this repository"),
        (TrustState::Yours, []) if decisions.is_empty() => {
            Check::ok("trust", "no file here decides what ralph runs")
        }
        (TrustState::Yours, []) => Check::ok("trust", "created here: its files are yours"),
    };
    (check, trust_state != TrustState::Asks)
}

/// A line for the channels that work, and one for each missing program; none if no channel is set.
pub(super) fn channels(config: &Config, context: &Context<'_>) -> Vec<Check> {
    let wished = match wished_notifiers(config, context) {
        Ok(wished) => wished,
        Err(error) => return vec![Check::error("notify", &error)],
    };
    let names: Vec<&str> = wished.channels.iter().map(Channel::name).collect();
    let works =
        (!names.is_empty()).then(|| Check::ok("notify", format!("through {}", names.join(", "))));
    let missing = wished.missing.into_iter();
    let missing = missing.map(|one| Check::warn("notify", one.says).remedy(one.remedy));
    works.into_iter().chain(missing).collect()
}

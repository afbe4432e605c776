//! Checks for leftovers of killed runs.

use ralph_engine::ports::Store;
use ralph_engine::process::{count_leftovers, is_alive};
use ralph_engine::project::{Project, halves, sweep_halves};
use ralph_engine::run_files::WorktreeLock;
use ralph_engine::run_files::state_file;
use ralph_engine::store::SqliteStore;

use super::check::Check;
use crate::config::{Config, key};
use crate::error::quoted;

/// Whether a run is active, was interrupted, or left something behind. The next run cleans up all of it.
pub(super) fn inspect(project: &Project, config: &Config) -> Vec<Check> {
    let own = project.worktree.join(".ralph");
    let path = own.join("state.toml");
    if let Some(pid) = WorktreeLock::holder(&own) {
        return vec![Check::ok("runs", format!("one is active here (pid {pid})"))];
    }
    let state = match state_file::read(&path) {
        Ok(state) => state,
        Err(error) => {
            let says = format!("{} cannot be read: {error}", path.display());
            let remedy = format!("if you do not need it: rm {}", quoted(&path));
            return vec![Check::fail("runs", says).remedy(remedy)];
        }
    };
    let mut found = vec![];
    let interrupted = state.filter(|state| !state.finished);
    let processes = count_leftovers(&project.root);
    if processes > 0 {
        let says = format!("{processes} processes of a killed run are still running");
        found.push(Check::warn("runs", says).remedy("the next ralph build kills them"));
    }
    let claims = dead_claims(project, config);
    if !claims.is_empty() {
        let says = format!("killed runs still hold tasks: {}", claims.join(", "));
        found.push(Check::warn("runs", says).remedy("the next ralph build reopens them"));
    }
    let left = halves(&path).len();
    if left > 0 {
        let says = format!("{left} half-written copies of {} are left", path.display());
        found.push(Check::warn("runs", says).remedy("ralph doctor --fix"));
    }
    if found.is_empty() {
        let says = match interrupted {
            Some(state) => {
                format!("one was interrupted; ralph {} resumes it", state.mode)
            }
            None => "no leftovers of earlier runs".to_owned(),
        };
        found.push(Check::ok("runs", says));
    }
    found
}

fn dead_claims(project: &Project, config: &Config) -> Vec<String> {
    let path = project.resolve(config.get(key::STORE_PATH));
    // A task database that cannot be read has its own line.
    let Ok(Some(mut store)) = SqliteStore::open_existing(&path) else { return vec![] };
    let agents = store.agents().unwrap_or_default();
    let dead = |liveness: &Option<_>| liveness.as_ref().is_some_and(|l| is_alive(l) == Some(false));
    let held = agents.into_iter().filter(|agent| dead(&agent.liveness));
    held.flat_map(|agent| agent.claims).map(|task| task.to_string()).collect()
}

/// Removes half-written files if no run is active. Returns what it did.
pub(super) fn fix(project: &Project) -> Vec<String> {
    let own = project.worktree.join(".ralph");
    let path = own.join("state.toml");
    let left = halves(&path);
    if left.is_empty() {
        return vec![];
    }
    // Keep the lock meanwhile: a run that starts now would write such a file.
    let Ok(_lock) = WorktreeLock::take(&own) else { return vec![] };
    match sweep_halves(&path) {
        Ok(()) => left.iter().map(|half| format!("removed {}", half.display())).collect(),
        Err(_) => vec![],
    }
}

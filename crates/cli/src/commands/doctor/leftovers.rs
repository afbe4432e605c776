//! What runs that are dead left behind.

use ralph_engine::ports::Store;
use ralph_engine::process::{count_leftovers, is_alive};
use ralph_engine::project::{Project, halves, sweep_halves};
use ralph_engine::run::place::WorktreeLock;
use ralph_engine::run::state_file;
use ralph_engine::store::SqliteStore;

use super::check::Check;
use crate::config::{Config, key};
use crate::error::quoted;

/// Whether a run lives, was cut off, or left something. A run takes up all of it by itself.
pub(super) fn look(project: &Project, config: &Config) -> Vec<Check> {
    let own = project.worktree.join(".ralph");
    let path = own.join("state.toml");
    if let Some(pid) = WorktreeLock::holder(&own) {
        return vec![Check::ok("runs", format!("one is at work here (pid {pid})"))];
    }
    let state = match state_file::read(&path) {
        Ok(state) => state,
        Err(error) => {
            let says = format!("{} cannot be read: {error}", path.display());
            let remedy = format!("if it is not needed: rm {}", quoted(&path));
            return vec![Check::fail("runs", says).remedy(remedy)];
        }
    };
    let mut found = vec![];
    let interrupted = state.filter(|state| !state.finished);
    let processes = count_leftovers(&project.root);
    if processes > 0 {
        let says = format!("{processes} processes of a run that is dead are still there");
        found.push(Check::warn("runs", says).remedy("the next ralph build ends them"));
    }
    let claims = dead_claims(project, config);
    if !claims.is_empty() {
        let says = format!("tasks are held by runs that are dead: {}", claims.join(", "));
        found.push(Check::warn("runs", says).remedy("the next ralph build takes them back"));
    }
    let left = halves(&path).len();
    if left > 0 {
        let says = format!("{left} half-written copies of {} are there", path.display());
        found.push(Check::warn("runs", says).remedy("ralph doctor --fix"));
    }
    if found.is_empty() {
        let says = match interrupted {
            Some(state) => {
                format!("one was cut off; ralph {} goes on with it", state.mode)
            }
            None => "nothing is left of earlier ones".to_owned(),
        };
        found.push(Check::ok("runs", says));
    }
    found
}

fn dead_claims(project: &Project, config: &Config) -> Vec<String> {
    let path = project.resolve(config.get(key::STORE_PATH));
    // A store that cannot be read has its own line.
    let Ok(Some(mut store)) = SqliteStore::open_existing(&path) else { return vec![] };
    let agents = store.agents().unwrap_or_default();
    let dead = |liveness: &Option<_>| liveness.as_ref().is_some_and(|l| is_alive(l) == Some(false));
    let held = agents.into_iter().filter(|agent| dead(&agent.liveness));
    held.flat_map(|agent| agent.claims).map(|task| task.to_string()).collect()
}

/// Removes what was half-written, where no run is at work; what was done.
pub(super) fn fix(project: &Project) -> Vec<String> {
    let own = project.worktree.join(".ralph");
    let path = own.join("state.toml");
    let left = halves(&path);
    if left.is_empty() {
        return vec![];
    }
    // Held meanwhile: a run that begins now would write such a file.
    let Ok(_lock) = WorktreeLock::take(&own) else { return vec![] };
    match sweep_halves(&path) {
        Ok(()) => left.iter().map(|half| format!("removed {}", half.display())).collect(),
        Err(_) => vec![],
    }
}

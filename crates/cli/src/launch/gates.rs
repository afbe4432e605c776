//! The gates that are in force: one answer for the loop and for `ralph doctor`.

use std::time::Duration;

use ralph_core::agents_md;
use ralph_core::glob::Patterns;
use ralph_engine::project::{Project, read_small_text};
use ralph_engine::run::{GateRules, GateSpec};

use super::GATE_TIMEOUT;
use crate::commands::init::found_commands;
use crate::config::Config;
use crate::error::CliError;

/// A gate, and who says so.
#[derive(Debug, Clone)]
pub(crate) struct InForce {
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) timeout: Duration,
    pub(crate) from: String,
}

impl InForce {
    pub(super) fn spec(self) -> GateSpec {
        GateSpec { name: self.name, command: self.command, timeout: self.timeout }
    }
}

/// How the gates judge, as it stands before the run.
pub(super) fn rules(project: &Project, config: &Config) -> Result<GateRules, CliError> {
    let include = project.worktree.join(".worktreeinclude");
    Ok(GateRules {
        clean: config.boolean("gates.clean"),
        setup: config.text("git.worktree.setup").to_owned(),
        include: read_small_text(&include),
        baseline: config.boolean("gates.baseline"),
        protected: Patterns::read(config.list("gates.protected")).map_err(|error| {
            CliError::failed(format!("a pattern of gates.protected cannot be used: {error}"))
        })?,
        reject: config.text("gates.on_protected") == "reject",
    })
}

/// The gates of the config; without any the test command of `AGENTS.md`, or else the one that the
/// project shows. An empty test command means that there is none.
pub(crate) fn in_force(project: &Project, config: &Config) -> Vec<InForce> {
    let gates = config.gates().iter().map(|gate| InForce {
        name: gate.name.clone(),
        command: gate.command.clone(),
        timeout: gate.timeout().unwrap_or(GATE_TIMEOUT),
        from: config.gates_origin().to_string(),
    });
    let gates: Vec<InForce> = gates.collect();
    if !gates.is_empty() {
        return gates;
    }
    let test = |command: String, from: String| {
        vec![InForce { name: "test".to_owned(), command, timeout: GATE_TIMEOUT, from }]
    };
    let text = read_small_text(&project.worktree.join("AGENTS.md"));
    match agents_md::test_command(&text) {
        Some(command) if command.is_empty() => vec![],
        Some(command) => test(command, "AGENTS.md".to_owned()),
        None => match found_commands(project).into_iter().next() {
            Some(found) => test(found.command, found.from),
            None => vec![],
        },
    }
}

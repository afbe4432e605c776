//! Which gates a run uses: one answer for the loop and for `ralph doctor`.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::glob::Patterns;
use ralph_core::run::Notice;
use ralph_core::shell::first_program;
use ralph_core::trust::INCLUDE;
use ralph_engine::gates::{GateRules, GateSpec, GateTrial};
use ralph_engine::host::may_run;
use ralph_engine::project::Project;
use ralph_engine::sandbox::Level;
use ralph_engine::vcs::GitVcs;

use super::agent;
use super::{GATE_TIMEOUT, sandbox};
use crate::config::{Config, Gate, key};
use crate::environment::Environment;
use crate::error::{CliError, Result};
use crate::exit_codes::Exit;
use crate::wiring::{Context, text_of};

/// A gate, and the file it comes from.
#[derive(Debug, Clone)]
pub(crate) struct ActiveGate {
    pub(crate) spec: GateSpec,
    pub(crate) from: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Missing {
    /// A program that is not on the PATH.
    Program(String),
    /// A file, which the work may still create.
    File(String),
}

impl ActiveGate {
    fn new(name: &str, command: &str, timeout: Option<Duration>, from: String) -> Self {
        let timeout = timeout.unwrap_or(GATE_TIMEOUT);
        Self {
            spec: GateSpec { name: name.to_owned(), command: command.to_owned(), timeout },
            from,
        }
    }

    /// The first thing that it needs and would not find, as far as ralph can tell without running it.
    pub(crate) fn missing(
        &self,
        worktree: &Path,
        environment: &[(OsString, OsString)],
    ) -> Option<Missing> {
        let first = first_program(&self.spec.command)?;
        let folder = worktree.join(first.folder);
        if first.word.contains('/') {
            let missing = !folder.join(first.word).exists();
            return missing.then(|| Missing::File(first.word.to_owned()));
        }
        let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path)?;
        let found =
            std::env::split_paths(path).any(|place| may_run(&folder.join(place).join(first.word)));
        // The sandbox always has ralph, wherever it is installed.
        (!found && first.word != "ralph").then(|| Missing::Program(first.word.to_owned()))
    }
}

/// Refuses gates that cannot run, before anything is spent. Returns the warnings.
pub(super) fn resolve(
    gates: &[ActiveGate],
    project: &Project,
    config: &Config,
    environment: &Environment,
) -> Result<Vec<Notice>> {
    let inside = match sandbox::foreseen(config) {
        Level::None => agent::gate_environment(environment),
        _ => agent::sandboxed_environment(environment, config),
    };
    let mut notices = Vec::new();
    // The command that prepares a clean checkout must exist too.
    let setup = Some(config.get(key::GIT_WORKTREE_SETUP))
        .filter(|command| !gates.is_empty() && config.get(key::GATES_CLEAN) && !command.is_empty())
        .map(|command| ActiveGate::new("setup", command, None, "git.worktree.setup".to_owned()));
    for gate in gates.iter().chain(&setup) {
        let ActiveGate { spec: GateSpec { name, command, .. }, from } = gate;
        match gate.missing(&project.worktree, &inside) {
            None => {}
            Some(Missing::Program(program)) => {
                let text = format!("gate command not found: {program}");
                return Err(CliError::new(Exit::GatesFailed, text)
                    .hint(format!("install {program}, or fix gate {name} in {from}: {command}"))
                    .hint("check all gates: ralph doctor"));
            }
            Some(Missing::File(file)) => notices.push(Notice::Other {
                text: format!("gate {name} runs {file}, which does not exist yet"),
            }),
        }
    }
    Ok(notices)
}

/// The gates as `ralph doctor` runs them: with the code, the sandbox and the environment of a run.
pub(crate) fn trial(
    project: &Project,
    config: &Config,
    context: &Context<'_>,
) -> Result<GateTrial> {
    let sandboxed = sandbox::of_run(project, config, &[], context)?;
    let environment = context.environment;
    let mut vcs = GitVcs::new(project.clone())?;
    if let Some(git_sandbox) = sandbox::of_git(&sandboxed.sandbox, context) {
        vcs = vcs.sandboxed(&git_sandbox)?;
    }
    Ok(GateTrial {
        project: project.clone(),
        environment: match sandboxed.sandbox.holds() {
            true => agent::sandboxed_environment(environment, config),
            false => agent::gate_environment(environment),
        },
        sandbox: sandboxed.sandbox,
        vcs: Arc::new(vcs),
        rules: rules(project, config, context)?,
        secrets: agent::secrets(environment, config),
    })
}

pub(super) fn rules(
    project: &Project,
    config: &Config,
    context: &Context<'_>,
) -> Result<GateRules> {
    Ok(GateRules {
        clean: config.get(key::GATES_CLEAN),
        setup: config.get(key::GIT_WORKTREE_SETUP).to_owned(),
        include: include(project, context)?,
        baseline: config.get(key::GATES_BASELINE),
        protected: Patterns::read(config.get(key::GATES_PROTECTED))
            .map_err(|error| failed!("a pattern in gates.protected is invalid: {error}"))?,
        reject: config.get(key::GATES_ON_PROTECTED) == "reject",
    })
}

/// The gates of the config; without any the test command in `AGENTS.md`, or else the detected one. An empty test
/// command means that there is none.
pub(crate) fn active_gates(
    project: &Project,
    config: &Config,
    context: &Context<'_>,
) -> Result<Vec<ActiveGate>> {
    let from = config.gates_origin();
    let active =
        |gate: &Gate| ActiveGate::new(&gate.name, &gate.command, gate.timeout(), from.to_string());
    let gates: Vec<ActiveGate> = config.gates().iter().map(active).collect();
    if !gates.is_empty() {
        return Ok(gates);
    }
    let test = context.test_command(project)?.filter(|test| !test.command.is_empty());
    let test = test.map(|test| ActiveGate::new("test", &test.command, None, test.from));
    Ok(test.into_iter().collect())
}

/// Which ignored files a clean checkout and a new worktree get.
pub(super) fn include(project: &Project, context: &Context<'_>) -> Result<String> {
    match context.instead_of(&project.worktree, INCLUDE)? {
        Some(version) => Ok(version.text().unwrap_or_default().to_owned()),
        None => text_of(project, INCLUDE),
    }
}

//! Checks the gates by running them exactly as the loop does.

use std::path::Path;

use ralph_core::agents_md;
use ralph_engine::gates::{GateTrial, GateTried};
use ralph_engine::project::Project;
use ralph_engine::run_files::WorktreeLock;
use ralph_engine::session_git::SessionGitDir;

use super::check::Check;
use crate::config::Config;
use crate::error::CliError;
use crate::launch::{ActiveGate, Missing, active_gates, gate_trial};
use crate::wiring::{Context, text_of};

pub(super) fn all(
    project: &Project,
    config: &Config,
    context: &Context<'_>,
) -> Result<Vec<ActiveGate>, Check> {
    let gates =
        active_gates(project, config, context).map_err(|error| Check::error("gates", &error))?;
    if gates.is_empty() { Err(none(project)) } else { Ok(gates) }
}

fn none(project: &Project) -> Check {
    let text = text_of(project, "AGENTS.md").unwrap_or_default();
    let says = match agents_md::test_command(&text) {
        Some(_) => "none: TEST_COMMAND in AGENTS.md is empty, so work is accepted unchecked",
        None => "none: work is accepted unchecked",
    };
    Check::warn("gates", says).remedy("set your test command in AGENTS.md, after TEST_COMMAND=")
}

/// The place where gates run: the sandbox of a run, while no run is active.
pub(super) struct Stand {
    trial: GateTrial,
    /// Keeps other runs from starting meanwhile.
    _lock: Option<WorktreeLock>,
    /// The temporary git directory for the gates.
    made: Option<SessionGitDir>,
}

impl Stand {
    pub(super) fn prepare(
        project: &Project,
        config: &Config,
        context: &Context<'_>,
    ) -> Result<Self, Check> {
        let failed = |error: CliError| Check::error("gates", &error);
        let folder = project.worktree.join(".ralph");
        if let Some(pid) = WorktreeLock::holder(&folder) {
            let says = format!("skipped: a run is active here (pid {pid})");
            return Err(
                Check::warn("gates", says).remedy("wait until it ends: ralph status --watch")
            );
        }
        let trial = gate_trial(project, config, context).map_err(failed)?;
        if !trial.sandbox.mounts() {
            return Ok(Self { trial, _lock: None, made: None });
        }
        project
            .check_ours()
            .and_then(|()| project.exclude_state())
            .map_err(|e| failed(e.into()))?;
        let lock = WorktreeLock::take(&folder)
            .map_err(|error| failed(CliError::failed(error.to_string())))?;
        let git_dir = SessionGitDir::of(project).map_err(|error| failed(error.into()))?;
        let made = Some(git_dir).filter(|git_dir| !git_dir.is_there());
        Ok(Self { trial, _lock: Some(lock), made })
    }

    /// Runs a gate as the loop would. `None` if the user interrupted it.
    pub(super) fn run(&self, gate: &ActiveGate) -> Option<Check> {
        let name = format!("gate {}", gate.spec.name);
        let what = format!("{} ({})", gate.spec.command, gate.from);
        let worktree: &Path = &self.trial.project.worktree;
        if let Some(Missing::Program(program)) = gate.missing(worktree, &self.trial.environment) {
            let says = format!("gate command not found: {program}, for {what}");
            return Some(
                Check::fail(name, says).remedy(format!("install {program}, or fix the command")),
            );
        }
        match self.trial.run(&gate.spec) {
            Ok(tried) if tried.interrupted => None,
            Ok(tried) => Some(self.report(name, &what, &tried)),
            Err(error) => Some(Check::error(name, &error.into())),
        }
    }

    fn report(&self, name: String, what: &str, tried: &GateTried) -> Check {
        let took = format!("{:.1}s", tried.took.as_secs_f64());
        let place = if self.trial.rules.clean { ", in a fresh checkout" } else { "" };
        let level = self.trial.sandbox.level();
        let where_run = match self.trial.sandbox.holds() {
            true => format!("in the sandbox ({level}){place}"),
            false => format!("without a sandbox{place}"),
        };
        if tried.green {
            return Check::ok(name, format!("passed in {took} {where_run}: {what}"));
        }
        let how = match (tried.exit_code, &tried.note) {
            (Some(code), Some(note)) => format!("failed with exit code {code} ({note})"),
            (Some(code), None) => format!("failed with exit code {code}"),
            (None, Some(note)) => note.clone(),
            (None, None) => "failed".to_owned(),
        };
        let setup = match name.strip_prefix("gate ") == Some(&tried.name) {
            true => String::new(),
            false => format!("{} ", tried.name),
        };
        let check = Check::fail(name, format!("{setup}{how} after {took} {where_run}: {what}"))
            .output(&tried.output);
        let check = tried.findings.iter().fold(check, Check::remedy);
        match tried.exit_code {
            Some(126 | 127) => check.remedy("install the missing program, or fix the command"),
            None => check.remedy("raise its timeout in [[gate]], or make it end by itself"),
            Some(_) if self.trial.sandbox.holds() => check
                .remedy("make it pass first: the loop checks work with it")
                .remedy("if it needs one of your variables, name it in agent.env: gates in the sandbox get no others"),
            Some(_) => check.remedy("make it pass first: the loop checks work with it"),
        }
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        if let Some(git_dir) = &self.made {
            // The next run removes the rest.
            let _ = git_dir.remove();
        }
    }
}

//! The gates that are in force, and whether they are green now.

use std::path::Path;

use ralph_core::agents_md;
use ralph_engine::probe::{self, Ended};
use ralph_engine::project::Project;

use super::check::Check;
use crate::config::Config;
use crate::environment::Environment;
use crate::launch::{InForce, in_force};

/// The gates that judge the work. Where there is none, that is what there is to say.
pub(super) fn all(project: &Project, config: &Config) -> Vec<Result<InForce, Check>> {
    let gates = in_force(project, config);
    if gates.is_empty() {
        return vec![Err(none(project))];
    }
    gates.into_iter().map(Ok).collect()
}

fn none(project: &Project) -> Check {
    let text = std::fs::read_to_string(project.worktree.join("AGENTS.md")).unwrap_or_default();
    let says = match agents_md::test_command(&text) {
        Some(_) => "none: the TEST_COMMAND of AGENTS.md is empty, so nothing proves the work",
        None => "none, so nothing proves the work",
    };
    Check::warn("gates", says)
        .remedy("write the command that proves the work into AGENTS.md, after TEST_COMMAND=")
}

/// Runs a gate where the loop would. `None` when somebody interrupted it.
pub(super) fn run(gate: &InForce, project: &Project, environment: &Environment) -> Option<Check> {
    let ran = probe::run(
        Path::new("sh"),
        &["-c", &gate.command],
        &project.worktree,
        &environment.all,
        gate.timeout,
    );
    let name = format!("gate {}", gate.name);
    let took = format!("{:.1}s", ran.took.as_secs_f64());
    let what = format!("{} ({})", gate.command, gate.from);
    Some(match ran.end {
        Ended::Exited(0) => Check::ok(name, format!("green in {took}: {what}")),
        Ended::Exited(code) => {
            let check = Check::fail(name, format!("red with exit code {code} in {took}: {what}"));
            let check = check.output(&ran.output);
            match code {
                126 | 127 => check.remedy("the shell cannot run it: install it, or correct it"),
                _ => check.remedy("make it green first: the loop judges work by it"),
            }
        }
        Ended::TimedOut => Check::fail(name, format!("did not end in {took}: {what}"))
            .output(&ran.output)
            .remedy("give it a longer timeout in [[gate]], or make it end by itself"),
        Ended::Interrupted => return None,
        Ended::NotStarted(error) => {
            Check::fail(name, format!("sh cannot be started: {error}")).remedy("install a shell")
        }
    })
}

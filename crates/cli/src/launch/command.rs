//! The command that starts a run, in errors: its name, what a failed run means, and that no session may type it.

use ralph_engine::ports::GitError;
use ralph_engine::run::RunError;

use super::{FeatureStep, FeatureWork, Mode, RunOptions};
use crate::error::{CliError, Result};
use crate::exit_codes::Exit;
use crate::wiring::Context;

impl RunOptions {
    /// The command as it begins a sentence.
    fn command(&self) -> &'static str {
        match &self.mode {
            _ if self.branches => "Loop",
            Mode::Build if self.by_target => "Run",
            Mode::Build => "Build",
            Mode::Plan => "Plan",
            Mode::Prompt(_) => "Prompt",
            Mode::Feature(FeatureWork { stage: FeatureStep::Spec(_), .. }) => "Feature create",
            Mode::Feature(FeatureWork { stage: FeatureStep::Plan, .. }) => "Feature plan",
            Mode::Feature(FeatureWork { stage: FeatureStep::Tasks, .. }) => "Feature build",
        }
    }
}

/// Does something for the command, whose name is in the error where the run failed.
pub(super) fn named<T>(
    options: &RunOptions,
    context: &mut Context<'_>,
    act: impl FnOnce(&mut Context<'_>) -> Result<T>,
) -> Result<T> {
    let done = match context.session_socket() {
        Some(_) => Err(CliError::run_failed("a session cannot start another run")),
        None => act(context),
    };
    done.map_err(|error| error.of_command(options.command()))
}

pub(super) fn run_error(error: RunError) -> CliError {
    match error {
        RunError::Store(error) => CliError::from(error),
        RunError::Git(error) => git_failed(error),
        error => CliError::run_failed(error.to_string()),
    }
}

pub(super) fn git_failed(error: GitError) -> CliError {
    CliError::from(error).with_exit(Exit::GitFailed)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ralph_core::FeatureName;

    use super::*;

    #[test]
    fn a_failure_names_the_command_that_failed() {
        let feature =
            |stage| Mode::Feature(FeatureWork { name: FeatureName::new("login").unwrap(), stage });
        let of = |mode| RunOptions { mode, ..RunOptions::default() };
        let rows = [
            (RunOptions::default(), "Build"),
            (RunOptions { by_target: true, ..RunOptions::default() }, "Run"),
            (RunOptions { branches: true, ..RunOptions::default() }, "Loop"),
            (RunOptions { branches: true, ..of(Mode::Plan) }, "Loop"),
            (of(Mode::Plan), "Plan"),
            (of(Mode::Prompt(PathBuf::from("p.md"))), "Prompt"),
            (of(feature(FeatureStep::Spec(Default::default()))), "Feature create"),
            (of(feature(FeatureStep::Plan)), "Feature plan"),
            (of(feature(FeatureStep::Tasks)), "Feature build"),
        ];
        for (options, name) in rows {
            let error = CliError::run_failed("no disk").of_command(options.command());
            assert_eq!(error.message(), format!("{name} failed: no disk"));
        }
        let other = CliError::failed("a pattern is invalid").of_command("Plan");
        assert_eq!(other.message(), "a pattern is invalid");
    }
}

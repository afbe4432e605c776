//! `ralph __look`: inspects the files of a worktree from inside a sandbox. A hidden command that the loop starts.

use clap::Args;
use ralph_engine::session_git::inspect::{self, InspectionRequest};

use crate::error::{CliError, Done};
use crate::wiring::Context;

/// Inspect a worktree and the commits of a session, and print the ids
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// What to inspect, as JSON
    #[arg(value_name = "JSON")]
    asked: String,
}

pub(crate) fn cmd_inspect(args: &InspectArgs, context: &mut Context<'_>) -> Done {
    let asked: InspectionRequest = serde_json::from_str(&args.asked)
        .map_err(|error| usage!("the request cannot be read: {error}"))?;
    let seen =
        inspect::inspect_inside(&asked).map_err(|error| CliError::failed(error.to_string()))?;
    let text = serde_json::to_string(&seen).map_err(|error| CliError::failed(error.to_string()))?;
    context.out.data(text + "\n")
}

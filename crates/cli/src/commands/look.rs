//! `ralph __look`: a look at the files of a worktree from inside a box. Started by the loop, hidden from people.

use clap::Args;
use ralph_engine::vcs::look::{self, Look};

use crate::error::{CliError, Done};
use crate::wire::Context;

/// Look at a worktree and at what a session committed, and tell the ids
#[derive(Debug, Args)]
pub(crate) struct LookArgs {
    /// What to look at, as JSON
    #[arg(value_name = "JSON")]
    asked: String,
}

pub(crate) fn cmd_look(args: &LookArgs, context: &mut Context<'_>) -> Done {
    let asked: Look = serde_json::from_str(&args.asked)
        .map_err(|error| CliError::usage(format!("that cannot be looked at: {error}")))?;
    let seen = look::look_inside(&asked).map_err(|error| CliError::failed(error.to_string()))?;
    let text = serde_json::to_string(&seen).map_err(|error| CliError::failed(error.to_string()))?;
    Ok(context.out.data(text + "\n")?)
}

//! `ralph __script-agent`: the agent that plays a cassette. A hidden command that the loop starts.

use std::io;
use std::path::PathBuf;

use clap::Args;
use ralph_engine::agents::script::player::{Play, PlayError};

use crate::error::{CliError, Done};
use crate::wiring::Context;

/// Play the next session of a cassette
#[derive(Debug, Args)]
pub(crate) struct ScriptAgentArgs {
    /// The cassette
    #[arg(long, value_name = "FILE")]
    cassette: Option<PathBuf>,
    /// Which session, from 1, instead of the next one
    #[arg(long, value_name = "N")]
    session: Option<u32>,
}

pub(crate) fn cmd_script_agent(args: &ScriptAgentArgs, context: &mut Context<'_>) -> Done {
    // The prompt is read to its end and ignored: an unread pipe would block its writer.
    std::thread::spawn(|| io::copy(&mut io::stdin().lock(), &mut io::sink()));
    let play = Play {
        cassette: args.cassette.as_deref(),
        session: args.session,
        task: context.environment.get("RALPH_TASK_ID"),
        folder: &context.folder(),
    };
    match play.run(&mut io::stdout().lock()) {
        Ok(0) => Ok(()),
        // The exit code comes from the cassette, not from ralph's table.
        Ok(code) => std::process::exit(code.into()),
        Err(PlayError::Closed(error)) => Err(CliError::from(error)),
        Err(error) => Err(CliError::failed(error.to_string())),
    }
}

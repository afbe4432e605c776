//! `ralph prompt FILE`: one session with the user's own prompt.

use std::path::PathBuf;

use clap::Args;

use super::flags::OneSessionArgs;
use crate::config::Flags;
use crate::error::Done;
use crate::launch::{self, Mode, RunOptions};
use crate::wiring::Context;

/// Run one session with the prompt in FILE
///
/// ralph logs the session like any other and commits its changes. There is no loop: no gate runs and no task
/// changes. The file is a template; an unknown variable is an error that lists the known ones.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph prompt prompts/refactor-analysis.md\n\nExit codes: 0 success, 4 the agent failed, 5 git failed"
)]
pub(crate) struct PromptArgs {
    /// The prompt
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    session: OneSessionArgs,
}

pub(crate) fn cmd_prompt(args: &PromptArgs, context: &mut Context<'_>) -> Done {
    let file = context.folder().join(&args.file);
    let file = file.strip_prefix(".").map(PathBuf::from).unwrap_or(file);
    let mut flags = Flags::default();
    args.session.lay(&mut flags);
    context.lay(flags);
    launch::launch(&RunOptions { mode: Mode::Prompt(file), ..RunOptions::default() }, context)
}

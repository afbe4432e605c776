//! `ralph completions`.

use clap::Args;
use clap_complete::Shell;

use crate::app::command_line;
use crate::error::Done;
use crate::wire::Context;

/// Print the completions for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Example: ralph completions bash > ~/.local/share/bash-completion/completions/ralph"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn cmd_completions(args: &CompletionsArgs, context: &mut Context<'_>) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command_line(), "ralph", &mut script);
    Ok(context.out.data(String::from_utf8_lossy(&script))?)
}

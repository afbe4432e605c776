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
    clap_complete::generate(args.shell, &mut visible(command_line()), "ralph", &mut script);
    Ok(context.out.data(String::from_utf8_lossy(&script))?)
}

/// The command line without hidden commands, which the generator would offer too.
fn visible(full: clap::Command) -> clap::Command {
    let shown = full.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    clap::Command::new("ralph")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .args(full.get_arguments().cloned())
        .subcommands(shown)
}

//! `ralph completions`: the script that makes a shell complete commands, options and values of ralph.

use clap::Args;
use clap_complete::Shell;

use crate::error::Done;
use crate::wiring::Context;

/// Print the completions for a shell
///
/// Completions for bash, zsh and fish also offer task ids, features, settings, presets, runs, questions and saved
/// work of the repository that you are in. Those for elvish and powershell offer commands and options.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples; make the folder first if it is missing, and open a new shell afterward:
  bash  ralph completions bash > ~/.local/share/bash-completion/completions/ralph
  zsh   ralph completions zsh > ~/.zfunc/_ralph
        and in ~/.zshrc, before compinit: fpath+=~/.zfunc
  fish  ralph completions fish > ~/.config/fish/completions/ralph.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn cmd_completions(args: &CompletionsArgs, context: &mut Context<'_>) -> Done {
    let script = match args.shell {
        Shell::Bash => include_str!("complete/ralph.bash").into(),
        Shell::Zsh => include_str!("complete/ralph.zsh").into(),
        Shell::Fish => include_str!("complete/ralph.fish").into(),
        shell => {
            let mut script = Vec::new();
            let mut command = visible((context.program.command_line)());
            clap_complete::generate(shell, &mut command, "ralph", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    };
    context.out.data(script)
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

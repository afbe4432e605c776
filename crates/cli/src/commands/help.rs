//! `ralph help`.

use clap::Args;

use crate::error::{Done, Result};
use crate::exit_codes::Exit;
use crate::wiring::Context;

/// Print help for ralph, a command, or the topic exit-codes
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph help exit-codes")]
pub(crate) struct HelpArgs {
    /// A command, such as `task claim`, or the topic exit-codes
    topic: Vec<String>,
}

pub(crate) fn cmd_help(args: &HelpArgs, context: &mut Context<'_>) -> Done {
    if args.topic == ["exit-codes"] {
        return context.out.data(Exit::table());
    }
    let help = find(&args.topic, context)?.render_long_help();
    let text = if context.out.style.color { help.ansi().to_string() } else { help.to_string() };
    context.out.data(text)
}

/// The command that these words name, with its full name.
pub(super) fn find(words: &[String], context: &Context<'_>) -> Result<clap::Command> {
    let mut command = (context.program.command_line)();
    command.build();
    for word in words {
        let Some(next) = command.find_subcommand(word) else {
            let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
            let known: Vec<&str> = shown.map(clap::Command::get_name).collect();
            return Err(usage!("unknown command {word:?}").near(
                word,
                known,
                "see all commands: ralph help",
            ));
        };
        command = next.clone();
    }
    Ok(command)
}

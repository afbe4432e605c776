//! `ralph man`.

use clap::Args;

use crate::error::Done;
use crate::wiring::Context;

/// Print the manual page of ralph or of one of its commands
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph man task | man -l -")]
pub(crate) struct ManArgs {
    /// The command, such as `task` or `task claim` [default: the overview]
    command: Vec<String>,
}

pub(crate) fn cmd_man(args: &ManArgs, context: &mut Context<'_>) -> Done {
    let command = super::help::find(&args.command, context)?;
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    context.out.data(String::from_utf8_lossy(&page))
}

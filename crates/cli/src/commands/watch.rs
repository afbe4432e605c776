//! `ralph watch`: the active runs of the repository, or one run, on the whole screen.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use clap::Args;
use ralph_core::ids::RunId;
use ralph_core::view::stream::EventSource;
use ralph_ui::ports::{Ports, Refused};
use ralph_ui::tui::{self, Ended};

use crate::error::{CliError, Done, Result};
use crate::history;
use crate::wiring::Context;

/// Watch the active runs on the whole screen, and control them
///
/// Shows the plan, what every session does, its gates and what waits for you. Keys pause, cancel, skip, retry, answer,
/// approve and send messages; ? lists them. Without an active run it shows the last one. Runs go on when you quit.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ralph watch\n  ralph watch r-jvcq    # a run that has ended")]
pub(crate) struct WatchArgs {
    /// The run, or the beginning of its id; all active runs without one
    run: Option<String>,
}

pub(crate) fn cmd_watch(args: &WatchArgs, context: &mut Context<'_>) -> Done {
    let ports = (context.program.ports)(context)?;
    need_terminal("ralph status", context)?;
    let source = match &args.run {
        None => ports.live(),
        Some(run) => one(run, &*ports, context)?,
    };
    match show(&ports, source, context)? {
        Ended::Detached => context.out.conclude(GOES_ON),
        Ended::Quit | Ended::Lost => Ok(()),
    }
}

/// What the user can type once the display is closed while a run is active.
pub(crate) const GOES_ON: &str =
    "The run continues. Watch it again: ralph watch. Stop it: ralph cancel";

/// Refuses where the whole screen cannot be used; `instead` is what to type then.
pub(crate) fn need_terminal(instead: &str, context: &Context<'_>) -> Done {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if is_terminal && !context.environment.is_dumb {
        return Ok(());
    }
    Err(CliError::failed("this display needs a terminal for its keys and its screen")
        .hint(format!("use lines of text instead: {instead}")))
}

/// Shows a stream until the user quits.
pub(crate) fn show(
    ports: &Arc<dyn Ports>,
    source: Box<dyn EventSource + Send>,
    context: &mut Context<'_>,
) -> Result<Ended> {
    // The settings may say whether there are colors.
    context.config()?;
    let color = context.out.style.color;
    tui::run(ports, source, color).map_err(unusable)
}

/// Says why there is no display.
pub(super) fn unusable(error: io::Error) -> CliError {
    failed!("the terminal cannot be used for this display: {error}")
}

fn one(
    given: &str,
    ports: &dyn Ports,
    context: &mut Context<'_>,
) -> Result<Box<dyn EventSource + Send>> {
    let known: Vec<RunId> = history::runs(context)?.into_iter().map(|kept| kept.run).collect();
    let found: Vec<&RunId> = known.iter().filter(|run| run.as_str().starts_with(given)).collect();
    let run = match found.as_slice() {
        [run] => (*run).clone(),
        _ => {
            RunId::new(given).map_err(|error| failed!("{given} is not the id of a run: {error}"))?
        }
    };
    ports.run(&run).map_err(refused)
}

fn refused(refused: Refused) -> CliError {
    refused.hints.into_iter().fold(CliError::failed(refused.message), CliError::hint)
}

//! `ralph __crash-points`: the points at which a test can kill a run. A hidden command.

use clap::Args;
use ralph_engine::crash;

use crate::error::Done;
use crate::wiring::Context;

/// List the points at which RALPH_TEST_CRASH can kill a run, one per line
#[derive(Debug, Args)]
pub(crate) struct CrashPointsArgs {}

pub(crate) fn cmd_crash_points(_: &CrashPointsArgs, context: &mut Context<'_>) -> Done {
    let text: String = crash::POINTS.iter().map(|point| format!("{point}\n")).collect();
    context.out.data(text)
}

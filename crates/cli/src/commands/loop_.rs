//! `ralph loop`: the loop over the branches of a plan.

use clap::{Args, ValueEnum};

use super::build::go;
use super::flags::{LaneArgs, LoopArgs};
use super::plan;
use crate::error::Done;
use crate::launch::{self, RunOptions};
use crate::wiring::Context;

/// Write a plan of branches, or build all of its branches in parallel
///
/// `plan` writes IMPLEMENTATION_PLAN.md with a section `## Branch: name` for each pull request. `build`
/// works on each section in its own worktree, all in parallel unless you limit them. Without either, ralph
/// resumes the interrupted run, or builds.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph loop plan\n  ralph loop build\n  ralph loop build --sequential\n  ralph loop build --branch add-login --max 5\n  ralph loop"
)]
pub(crate) struct LoopCommandArgs {
    /// What to do [default: resume the interrupted run, else build]
    #[arg(value_name = "WHAT")]
    mode: Option<LoopMode>,
    /// Maximum number of sessions for each branch (0 = unlimited)
    #[arg(long, value_name = "N", conflicts_with_all = ["max_iterations", "unlimited"])]
    max: Option<u32>,
    #[command(flatten)]
    lanes: LaneArgs,
    #[command(flatten)]
    options: LoopArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LoopMode {
    /// Write the plan
    Plan,
    /// Work through it
    Build,
}

pub(crate) fn cmd_loop(args: &LoopCommandArgs, context: &mut Context<'_>) -> Done {
    let mode = match args.mode {
        Some(mode) => mode,
        None if launch::was_planning(context)? => LoopMode::Plan,
        None => LoopMode::Build,
    };
    match mode {
        LoopMode::Plan => {
            if let Some(flag) = args.options.first_of_building(&args.lanes) {
                return Err(usage!(
                    "{flag} is for building branches, but this call writes the plan"
                )
                .hint("build the existing plan: ralph loop build"));
            }
            let options = RunOptions { branches: true, ..RunOptions::default() };
            plan::start(options, args.max, (&args.options.limits, &args.options.session), context)
        }
        LoopMode::Build => {
            let branch = args.lanes.branch.clone();
            let options = RunOptions { branches: true, branch, ..RunOptions::default() };
            go(options, args.max, (&args.options, &args.lanes.jobs), context)
        }
    }
}

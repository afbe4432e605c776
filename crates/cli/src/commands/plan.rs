//! `ralph plan`: writes or updates the plan.

use clap::Args;

use super::build::{refuse_inside_a_session, sorted_out};
use super::flags::{LimitArgs, LoopArgs, SessionArgs, of_limits};
use crate::config::key;
use crate::error::Done;
use crate::launch::{self, Mode, RunOptions};
use crate::wire::Context;

/// Compare the specifications with the code and write the plan
///
/// The agent reads specs/ and the code and updates the existing plan, in its format; without one it writes
/// implementation_plan.md. If you name a file, the agent writes or updates it; a text without checkboxes becomes
/// a list of tasks. ralph does not commit changes outside the plan: it saves them and names them.
///
/// Planning ends when the agent says that the plan is complete, when two sessions in a row change nothing, or
/// after 10 sessions. If ralph cannot read the plan, the agent gets the line with the error. The instructions
/// are in PROMPT_plan.md, if that file exists.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph plan\n  ralph plan 3 --model opus\n  ralph plan TODO.md"
)]
pub(crate) struct PlanArgs {
    /// Maximum number of sessions (0 = unlimited) and the file to write or to turn into a plan, both
    /// optional
    #[arg(value_name = "N|FILE", num_args = 0..=2)]
    given: Vec<String>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    session: SessionArgs,
}

pub(crate) fn cmd_plan(args: &PlanArgs, context: &mut Context<'_>) -> Done {
    let (sessions, plan) = sorted_out(&args.given)?;
    let options = RunOptions { plan, ..RunOptions::default() };
    start(options, sessions, (&args.limits, &args.session), context)
}

/// `ralph loop plan`: the same, for a plan of branches.
pub(super) fn of_branches(
    sessions: Option<u32>,
    options: &LoopArgs,
    context: &mut Context<'_>,
) -> Done {
    let wanted = RunOptions { branches: true, ..RunOptions::default() };
    start(wanted, sessions, (&options.limits, &options.session), context)
}

fn start(
    options: RunOptions,
    sessions: Option<u32>,
    (limits, session): (&LimitArgs, &SessionArgs),
    context: &mut Context<'_>,
) -> Done {
    refuse_inside_a_session(context)?;
    context.lay(of_limits(sessions, limits, session, key::PROMPTS_PLAN, &context.folder())?);
    let (once, new) = (limits.once, limits.new);
    let options = RunOptions { mode: Mode::Plan, once, new, ..options };
    launch::launch(&options, context)
}

/// `ralph --plan`, as other loops spell it.
pub(crate) fn cmd_plan_flag(context: &mut Context<'_>) -> Done {
    refuse_inside_a_session(context)?;
    launch::launch(&RunOptions { mode: Mode::Plan, ..RunOptions::default() }, context)
}

//! `ralph feature`: from an idea to a spec, a plan and tasks.
//!
//! | file | owns |
//! |---|---|
//! | `texts` | `create` and `plan`: the spec and the plan, written by the user or by the agent |
//! | `interview` | the agent's questions before it writes the spec |
//! | `tasks` | `build`: tasks that the agent proposes and the user approves |
//! | `query` | `list`, `show`, `delete` |

mod interview;
mod query;
mod tasks;
mod texts;

use clap::{Args, Subcommand};
use ralph_core::run::{Outcome, StopReason};
use ralph_ui::plain::Conversation;

use super::flags::SessionArgs;
use crate::config::{Flags, key};
use crate::error::{CliError, Done, Result, feature_name};
use crate::exit_codes::Exit;
use crate::launch::{self, FeatureWork, Mode, RunOptions, Target};
use crate::wiring::Context;

/// Group tasks into features, each with a spec and a plan on disk
///
/// The steps of a feature: `create` makes its spec, which you write or the agent writes in an interview with
/// you; `plan` compares the spec with the code and writes plan.md; `build` has the agent propose tasks for it;
/// `ralph run NAME` works through them.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Example: ralph feature create login-form --interview \"Log in by mail\"\n         ralph feature plan login-form\n         ralph feature build login-form\n         ralph run login-form"
)]
pub(crate) struct FeatureArgs {
    #[command(subcommand)]
    command: FeatureCommand,
}

#[derive(Debug, Subcommand)]
enum FeatureCommand {
    Create(texts::CreateArgs),
    Plan(texts::PlanArgs),
    Build(tasks::BuildArgs),
    /// List the features with the state of their tasks
    #[command(after_help = "Example: ralph feature list")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a feature: its files and its tasks
    #[command(after_help = "Example: ralph feature show login-form")]
    Show {
        /// The feature
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a feature with its unfinished tasks; its files stay
    #[command(after_help = "Example: ralph feature delete login-form --confirm")]
    Delete {
        /// The feature
        name: String,
        /// Delete its unfinished tasks too
        #[arg(long)]
        confirm: bool,
    },
}

pub(crate) fn cmd_feature(args: &FeatureArgs, context: &mut Context<'_>) -> Done {
    match &args.command {
        FeatureCommand::Create(args) => texts::cmd_create(args, context),
        FeatureCommand::Plan(args) => texts::cmd_plan(args, context),
        FeatureCommand::Build(args) => tasks::cmd_build(args, context),
        FeatureCommand::List { json } => query::list(*json, context),
        FeatureCommand::Show { name, json } => query::show(&feature_name(name)?, *json, context),
        FeatureCommand::Delete { name, confirm } => {
            query::delete(&feature_name(name)?, *confirm, context)
        }
    }
}

#[derive(Debug, Default)]
struct Call {
    /// The sessions that remain; `None` means that the settings decide.
    sessions: Option<u32>,
    /// The cost of the earlier runs, in millionths of a dollar.
    spent: u64,
    conversation: Option<Conversation>,
}

fn run(
    work: FeatureWork,
    call: &Call,
    session: &SessionArgs,
    context: &mut Context<'_>,
) -> Result<Outcome> {
    let target = Target::Feature(work.name.clone());
    let conversation = call.conversation.clone();
    let mode = Mode::Feature(work);
    let options = RunOptions { mode, target, conversation, ..RunOptions::default() };
    let mut flags = Flags::default();
    session.lay(&mut flags)?;
    flags.given("N", key::LOOP_MAX_ITERATIONS, call.sessions);
    context.lay(flags.clone());
    let usd = context.config()?.get(key::BUDGET_USD);
    if usd > 0.0 && call.spent > 0 {
        let rest = usd - call.spent as f64 / 1e6;
        if rest <= 0.0 {
            return Err(CliError::new(Exit::BudgetReached, "the budget of this call is used up")
                .hint("continue with a new budget: --budget USD"));
        }
        flags.set("--budget", key::BUDGET_USD, rest);
        context.lay(flags);
    }
    launch::run_to_end(&options, context)
}

/// The error for a run that has not produced its result. Its display has already said why, unless it stopped at a
/// limit, which does not count as a failure in other runs.
fn fallen_short(outcome: &Outcome, what: &str, again: &str) -> CliError {
    match (&outcome.reason, outcome.reason.code(&outcome.left, false)) {
        (StopReason::Limit { .. }, _) | (_, 0) => {
            failed!("{what} was not written").hint(format!("try again: {again}"))
        }
        (_, code) => CliError::already_reported(code),
    }
}

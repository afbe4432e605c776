//! The plan as a whole: `plan-status` and `plan-sync`.

use std::io::IsTerminal;
use std::path::Path;

use clap::Args;
use ralph_core::plan::parse_sync;
use ralph_engine::ports::SyncMode;

use super::query::scope;
use crate::commands::import::{at_line, print_sync_report, read_plan};
use crate::error::{CliError, Done};
use crate::wiring::Context;

/// Count the tasks in one line
#[derive(Debug, Args)]
#[command(
    after_help = "Example: ralph task plan-status\nPrints: 3 open, 1 active, 2 done, 0 blocked, 0 deleted"
)]
pub(super) struct PlanStatusArgs {
    /// Only tasks of this feature
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_plan_status(args: &PlanStatusArgs, context: &mut Context<'_>) -> Done {
    let mut store = context.reader()?;
    let scope = scope(args.feature.as_deref(), &mut *store)?;
    let counts = store.counts(&scope)?;
    if args.json {
        return context.out.json(&counts);
    }
    context.out.line(counts)
}

/// Update the plan from JSON lines on standard input: all of them or none
///
/// One object per line, with the keys id, t (title), d (description), p (priority), cat, spec, ref, deps
/// and steps. A missing key leaves its field unchanged. Done tasks never change. If the input names a spec, ralph
/// deletes the tasks of that spec that the input omits. Running it twice changes nothing more.
#[derive(Debug, Args)]
#[command(after_help = "Example: ralph task plan-sync < plan.jsonl")]
pub(super) struct PlanSyncArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_plan_sync(args: &PlanSyncArgs, context: &mut Context<'_>) -> Done {
    if std::io::stdin().is_terminal() {
        return Err(CliError::usage("plan-sync reads JSON lines from standard input")
            .hint("ralph task plan-sync < plan.jsonl"));
    }
    let stdin = Path::new("-");
    let text = read_plan(stdin)?;
    let plan = parse_sync(&text).map_err(|error| at_line(stdin, &text, &error))?;
    let report = context
        .change(|store, by, now| store.sync(&plan.tasks, SyncMode::ReplaceSpecs, by, now))?;
    print_sync_report(&report, args.json, context)
}

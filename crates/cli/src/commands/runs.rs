//! `ralph runs`: the runs of this repository in a table.

use std::path::Path;

use clap::Args;
use ralph_core::ids::RunId;
use ralph_core::view::history::RunSummary;
use ralph_engine::run_files::WorktreeLock;
use ralph_engine::run_files::state_file;
use ralph_ui::runs::{RunRow, RunState, table};

use crate::error::{Done, Result};
use crate::history;
use crate::launch;
use crate::wiring::Context;

/// List the runs of this repository, the newest first
///
/// The list comes from the logs that ralph keeps, of all worktrees and branches; logs.keep_runs and logs.keep_size say
/// how many.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ralph runs\n  ralph logs r-jvcq    # show one of them again")]
pub(crate) struct RunsArgs {
    /// Show at most this many
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 20)]
    most: usize,
    /// Show all
    #[arg(long, conflicts_with = "most")]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_runs(args: &RunsArgs, context: &mut Context<'_>) -> Done {
    let kept = history::runs(context)?;
    let most = if args.all { usize::MAX } else { args.most };
    let summaries = kept.iter().filter_map(|one| RunSummary::of(&one.events())).take(most);
    let rows = rows(summaries.collect(), context)?;
    if args.json {
        return context.out.json(&rows);
    }
    if rows.is_empty() {
        return context.out.conclude("no runs yet; start one: ralph build");
    }
    let zone = launch::display_options(&context.project()?, context).zone;
    context.out.data(table(&rows, &zone, context.out.style))?;
    let more = kept.len().saturating_sub(rows.len());
    if more > 0 && !args.all {
        context.out.note(format!("{more} more: ralph runs --all"));
    }
    Ok(())
}

/// Runs with the state of each.
pub(crate) fn rows(runs: Vec<RunSummary>, context: &mut Context<'_>) -> Result<Vec<RunRow>> {
    let active = active(context)?;
    let row = |summary: RunSummary| {
        let state = match (&summary.outcome, active.contains(&summary.run)) {
            (Some(_), _) => RunState::Ended,
            (None, true) => RunState::Running,
            (None, false) => RunState::Interrupted,
        };
        RunRow { summary, state }
    };
    Ok(runs.into_iter().map(row).collect())
}

/// The runs that are active now, in this worktree, the main one and those of branches.
fn active(context: &mut Context<'_>) -> Result<Vec<RunId>> {
    let project = context.project()?;
    let lanes = context.places(&project)?.into_iter().map(|(_, path)| path);
    let places = [project.worktree.clone(), project.root.clone()].into_iter().chain(lanes);
    let run = |place: &Path| {
        let ralph = place.join(".ralph");
        WorktreeLock::holder(&ralph)?;
        Some(state_file::read(&ralph.join("state.toml")).ok()??.run)
    };
    Ok(places.filter_map(|place| run(&place)).collect())
}

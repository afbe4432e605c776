//! `ralph report`: what attempts cost, by task, model and day.

use clap::Args;
use ralph_core::Timestamp;
use ralph_core::ids::RunId;
use ralph_core::nearest::nearest;
use ralph_core::view::report::Report;
use ralph_engine::run::journal;
use ralph_engine::run::place::RunLogs;

use crate::error::{CliError, Done};
use crate::wire::Context;

/// Show what attempts on tasks took: tokens, money and time, by task, model and day
///
/// Days are those of UTC. Sessions that work on no task in particular (ralph plan, ralph prompt, checklists)
/// are no attempts; what a run cost as a whole is in its summary and in ralph status.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph report\n  ralph report --csv > attempts.csv\n  ralph report r-jvcqbuyd --json"
)]
pub(crate) struct ReportArgs {
    /// Only this run, by its name in the journal [default: all runs of this repository]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Print CSV: a header and one line per attempt, without sums
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print JSON: the sums and every attempt
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_report(args: &ReportArgs, context: &mut Context<'_>) -> Done {
    let mut attempts = context.reader()?.history(Timestamp::from_millis(0))?;
    if let Some(name) = &args.run {
        let run = RunId::new(name)
            .map_err(|error| CliError::usage(format!("{name:?} cannot be a run: {error}")))?;
        let mut known: Vec<RunId> = attempts.iter().filter_map(|one| one.run.clone()).collect();
        attempts.retain(|attempt| attempt.run.as_ref() == Some(&run));
        if attempts.is_empty() {
            known.extend(runs_with_journals(context)?);
            if !known.contains(&run) {
                return Err(unknown(&run, &known));
            }
        }
    }
    let report = Report::of(attempts);
    if args.csv {
        return Ok(context.out.data(report.csv())?);
    }
    if args.json {
        return Ok(context.out.json(&report)?);
    }
    if report.attempts.is_empty() {
        context.out.note("there was no attempt on a task");
        return Ok(());
    }
    let look = context.out.look;
    Ok(context.out.data(ralph_ui::report::text(&report, look))?)
}

/// The runs that left a journal: one that worked on no task has nothing in the store.
fn runs_with_journals(context: &mut Context<'_>) -> Result<Vec<RunId>, CliError> {
    let project = context.project()?;
    let all = RunLogs::all(&project.resolve(context.config()?.text("logs.dir")))?;
    Ok(all.iter().filter_map(|logs| journal::run_of(&logs.journal())).collect())
}

fn unknown(run: &RunId, known: &[RunId]) -> CliError {
    let failed = CliError::failed(format!("there was no run {run} here"));
    match nearest(run.as_str(), known.iter().map(RunId::as_str), 1).first() {
        Some(like) => failed.hint(format!("did you mean {like}?")),
        None => failed.hint("see all runs together: ralph report"),
    }
}

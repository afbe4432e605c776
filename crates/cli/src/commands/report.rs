//! `ralph report`: what sessions cost, by task, model and day.

use std::path::PathBuf;

use clap::Args;
use ralph_core::Timestamp;
use ralph_core::ids::RunId;
use ralph_core::nearest::nearest;
use ralph_core::view::report::Report;
use ralph_core::view::sessions::{SessionCost, sessions};
use ralph_engine::run::journal;
use ralph_engine::run::run_files::RunLogs;

use crate::config::key;
use crate::error::{CliError, Done};
use crate::wiring::Context;

/// Show what sessions cost in tokens, money and time, by task, model and day
///
/// Days are in UTC. The cost of a verifier is part of the attempt that it checked. Sessions without a task
/// (ralph plan, ralph prompt, features, checklists) have their own rows, such as (plan).
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph report\n  ralph report --csv > attempts.csv\n  ralph report r-jvcqbuyd --json"
)]
pub(crate) struct ReportArgs {
    /// Show only this run, by its id in the journal [default: all runs of this repository]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Print CSV: a header and one line per attempt or other session, without sums
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print JSON: the sums, every attempt and every other session
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_report(args: &ReportArgs, context: &mut Context<'_>) -> Done {
    let mut attempts = context.reader()?.history(Timestamp::from_millis(0))?;
    let mut sessions = sessions_of_all_runs(context)?;
    if let Some(name) = &args.run {
        let run = RunId::new(name).map_err(|error| usage!("{name:?} is not a run id: {error}"))?;
        let mut known: Vec<RunId> = attempts.iter().filter_map(|one| one.run.clone()).collect();
        attempts.retain(|attempt| attempt.run.as_ref() == Some(&run));
        sessions.retain(|session| session.run == run);
        if attempts.is_empty() && sessions.is_empty() {
            known.extend(runs_with_journals(context)?);
            if !known.contains(&run) {
                return Err(unknown(&run, &known));
            }
        }
    }
    let report = Report::of(attempts, sessions);
    if args.csv {
        return Ok(context.out.data(report.csv())?);
    }
    if args.json {
        return Ok(context.out.json(&report)?);
    }
    if report.is_empty() {
        return context.out.conclude("Nothing to report yet");
    }
    Ok(context.out.data(ralph_ui::report::text(&report, context.out.style))?)
}

fn journals(context: &mut Context<'_>) -> Result<Vec<PathBuf>, CliError> {
    let project = context.project()?;
    let all = RunLogs::all(&project.resolve(context.config()?.get(key::LOGS_DIR)))?;
    Ok(all.iter().map(RunLogs::journal).collect())
}

/// The sessions in the journals. A journal that cannot be read is skipped.
fn sessions_of_all_runs(context: &mut Context<'_>) -> Result<Vec<SessionCost>, CliError> {
    let journals = journals(context)?;
    let read = |path: &PathBuf| sessions(&journal::read(path).unwrap_or_default());
    Ok(journals.iter().flat_map(read).collect())
}

/// The runs that left a journal: one that was stopped before its first session has nothing else.
fn runs_with_journals(context: &mut Context<'_>) -> Result<Vec<RunId>, CliError> {
    Ok(journals(context)?.iter().filter_map(|path| journal::run_of(path)).collect())
}

fn unknown(run: &RunId, known: &[RunId]) -> CliError {
    let failed = failed!("there is no run {run} here");
    match nearest(run.as_str(), known.iter().map(RunId::as_str), 1).first() {
        Some(like) => failed.hint(format!("did you mean {like}?")),
        None => failed.hint("see all runs together: ralph report"),
    }
}

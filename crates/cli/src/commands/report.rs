//! `ralph report`: what sessions cost, by task, model and day.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use ralph_core::Timestamp;
use ralph_core::ids::RunId;
use ralph_core::run::RunEvent;
use ralph_core::view::junit::junit;
use ralph_core::view::report::Report;
use ralph_core::view::sessions::{SessionCost, sessions};
use ralph_core::view::tries::{Try, tries};
use ralph_engine::run_files::RunLogs;
use ralph_engine::run_files::journal;

use crate::config::key;
use crate::error::{CliError, Done, Result};
use crate::wiring::Context;

/// Show what sessions cost in tokens, money and time, by task, model and day
///
/// Days are in UTC. The cost of a verifier is part of the attempt that it checked. Sessions without a task
/// (ralph plan, ralph prompt, features, checklists) have their own rows, such as (plan).
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ralph report\n  ralph report --csv > attempts.csv\n  ralph report --html=week.html\n  ralph report --junit=junit.xml\n  ralph report r-jvcqbuyd --json"
)]
pub(crate) struct ReportArgs {
    /// Show only this run, by its id in the journal [default: all runs of this repository]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Print CSV: a header and one line per attempt or other session, without sums
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Write a JUnit report for CI, with a suite per run and a case per task [default: to stdout]
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "-",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["json", "csv"]
    )]
    junit: Option<PathBuf>,
    /// Write the page of ralph serve with its data as one HTML file that needs no server [default: ralph-report.html]
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "ralph-report.html",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["json", "csv", "junit"]
    )]
    html: Option<PathBuf>,
    /// Show only this day in UTC
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day, conflicts_with = "junit")]
    day: Option<String>,
    /// Print JSON: the sums, every attempt and every other session
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_report(args: &ReportArgs, context: &mut Context<'_>) -> Done {
    let (report, journals) = read(args.run.as_deref(), context)?;
    let report = report.only(None, args.day.as_deref());
    if let Some(file) = args.html.as_ref().filter(|_| !report.is_empty()) {
        return super::report_page::write(
            file,
            (args.run.as_deref(), args.day.as_deref()),
            context,
        );
    }
    if let Some(file) = &args.junit {
        return write_junit(file, &junit(journals.iter().map(Vec::as_slice)), context);
    }
    if args.csv {
        let tries: Vec<Try> = journals.iter().flat_map(|journal| tries(journal)).collect();
        return context.out.data(report.csv(&tries));
    }
    if args.json {
        return context.out.json(&report);
    }
    if report.is_empty() {
        return context.out.conclude("Nothing to report yet");
    }
    context.out.data(ralph_ui::report::text(&report, context.out.style))
}

/// Writes the report to a file, or to stdout for `-`.
fn write_junit(file: &Path, text: &str, context: &mut Context<'_>) -> Done {
    if file == Path::new("-") {
        return context.out.data(text);
    }
    std::fs::write(file, text).map_err(|error| CliError::file(file, "written", error))?;
    context.out.conclude(format!("Wrote {}", file.display()))
}

/// What all sessions cost, or those of the run with this id.
pub(crate) fn report(run: Option<&str>, context: &mut Context<'_>) -> Result<Report> {
    Ok(read(run, context)?.0)
}

/// The same with the journals that it is about.
fn read(run: Option<&str>, context: &mut Context<'_>) -> Result<(Report, Vec<Vec<RunEvent>>)> {
    let mut attempts = context.reader()?.history(Timestamp::from_millis(0))?;
    let project = context.project()?;
    let logs = RunLogs::all(&project.resolve(context.config()?.get(key::LOGS_DIR)))?;
    // A journal that cannot be read is skipped.
    let read = |logs: &RunLogs| journal::read(&logs.journal()).unwrap_or_default();
    let mut journals: Vec<Vec<RunEvent>> = logs.iter().map(read).collect();
    let mut sessions: Vec<SessionCost> =
        journals.iter().flat_map(|journal| sessions(journal)).collect();
    if let Some(name) = run {
        let run = RunId::new(name).map_err(|error| usage!("{name:?} is not a run id: {error}"))?;
        let mut known: Vec<RunId> = attempts.iter().filter_map(|one| one.run.clone()).collect();
        attempts.retain(|attempt| attempt.run.as_ref() == Some(&run));
        sessions.retain(|session| session.run == run);
        journals.retain(|journal| journal.first().is_some_and(|event| event.run == run));
        if attempts.is_empty() && sessions.is_empty() {
            // A run that was stopped before its first session has nothing but a journal.
            known.extend(logs.iter().filter_map(|logs| journal::run_of(&logs.journal())));
            if !known.contains(&run) {
                return Err(unknown(&run, &known));
            }
        }
    }
    Ok((Report::of(attempts, sessions), journals))
}

fn day(text: &str) -> std::result::Result<String, String> {
    match Timestamp::parse(&format!("{text}T00:00:00Z")) {
        Some(_) => Ok(text.to_owned()),
        None => Err("write a day as YYYY-MM-DD, such as 2026-11-15".to_owned()),
    }
}

fn unknown(run: &RunId, known: &[RunId]) -> CliError {
    let failed = failed!("there is no run {run} here");
    let known = known.iter().map(RunId::as_str);
    failed.near(run.as_str(), known, "see all runs together: ralph report")
}

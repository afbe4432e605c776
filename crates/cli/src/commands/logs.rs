//! `ralph logs`: shows a run again, or follows the current one. The run that an argument names is found here for
//! `ralph replay` and `ralph bundle` too.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use clap::Args;
use ralph_core::run::{Fact, RunEvent};
use ralph_core::view::part::{LogFilter, Part};
use ralph_core::view::show;
use ralph_engine::observe::StoredSource;
use ralph_engine::run_files::RunLogs;
use ralph_engine::untrusted::open_own;
use ralph_ui::plain::{Options, PlainReporter};

use super::follow::follow;
use super::replay;
use crate::attach;
use crate::error::{CliError, Done, Result, quoted};
use crate::history;
use crate::launch;
use crate::status_query::{self, RunFiles};
use crate::wiring::Context;

/// Show a run again, as it was displayed
///
/// Events come from the journal of the run, the agents' words from their raw output. Both are in the folder
/// of the run, in .ralph/logs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralph logs                # the newest run
  ralph logs 3              # its third iteration
  ralph logs r-jvcqbuyd     # another run: see ralph runs
  ralph logs r-jv 3         # the first letters of the id are enough
  ralph logs -f
  ralph replay              # at the pace of the run")]
pub(crate) struct LogsArgs {
    /// The run, by its id or the first letters of it [default: the newest run of this worktree]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Show only this iteration
    #[arg(value_name = "ITER")]
    iteration: Option<u32>,
    /// Follow the active runs, from their beginning
    #[arg(short, long, conflicts_with_all = ["run", "iteration", "replay"])]
    follow: bool,
    /// The same as ralph replay
    #[arg(long, hide = true, conflicts_with = "json")]
    replay: bool,
    /// Print the lines of the journal
    #[arg(long)]
    json: bool,
}

pub(crate) fn cmd_logs(args: &LogsArgs, context: &mut Context<'_>) -> Done {
    if args.follow {
        return match attach::follow(context)? {
            Some(mut runs) => follow(&mut runs, Part::Whole, args.json, context, |_, _| Ok(true)),
            None => {
                attach::report_no_run(context);
                Ok(())
            }
        };
    }
    let named = NamedRun::find(args.run.as_deref(), args.iteration, context)?;
    if args.json {
        return lines(&named.logs.journal(), named.part, context);
    }
    if args.replay {
        return replay::play_plain(named, None, replay::NORMAL, context);
    }
    let options = Options { progress: false, ..options(context)? };
    let mut reporter = PlainReporter::new(io::stdout().lock(), options);
    let mut source = StoredSource::new(named.journal.into(), named.part);
    show(&mut source, named.part, &mut reporter, |last| last);
    Ok(reporter.close()?)
}

/// A run that arguments name, or a part of it.
pub(super) struct NamedRun {
    pub(super) logs: RunLogs,
    pub(super) journal: Vec<RunEvent>,
    pub(super) part: Part,
}

impl NamedRun {
    /// The run and the iteration. A number alone is an iteration: no id of a run is one.
    pub(super) fn find(
        run: Option<&str>,
        iteration: Option<u32>,
        context: &mut Context<'_>,
    ) -> Result<Self> {
        let (run, iteration) = match (run, iteration) {
            (Some(text), None) => match text.parse() {
                Ok(number) => (None, Some(number)),
                Err(_) => (Some(text), None),
            },
            named => named,
        };
        let (logs, journal) = match run {
            Some(name) => {
                let kept = history::find(name, context)?;
                let journal = kept.events();
                (kept.logs, journal)
            }
            None => newest(context)?,
        };
        let part = match iteration {
            None => Part::Whole,
            Some(number) => part(number, &journal, run)?,
        };
        Ok(Self { logs, journal, part })
    }
}

fn newest(context: &mut Context<'_>) -> Result<(RunLogs, Vec<RunEvent>)> {
    let run_files = RunFiles::read(context)?;
    let journal = run_files.journal()?;
    if let Some(logs) = run_files.logs.filter(|_| !journal.is_empty()) {
        return Ok((logs, journal));
    }
    let nothing = CliError::failed("nothing to show: no run has written a log here");
    Err(match status_query::first_place(context)? {
        Some(folder) => {
            nothing.hint(format!("see the run of a branch: ralph -C {} logs", quoted(&folder)))
        }
        None => nothing.hint("start one: ralph build"),
    })
}

fn part(number: u32, journal: &[RunEvent], run: Option<&str>) -> Result<Part> {
    let iterations = journal.iter().filter_map(|event| match &event.fact {
        Fact::IterationStarted { iteration, .. } => Some(*iteration),
        _ => None,
    });
    let known: Vec<u32> = iterations.collect();
    if known.contains(&number) {
        return Ok(Part::Iteration(number));
    }
    let (first, last) = (known.iter().min(), known.iter().max());
    let has = match first.zip(last) {
        None => "it has none".to_owned(),
        Some((first, last)) if first == last => format!("it has only {first}"),
        Some((first, last)) => format!("it has {first} to {last}"),
    };
    let (which, all) = match run {
        Some(run) => (format!("run {run}"), format!("ralph logs {run}")),
        None => ("the newest run".to_owned(), "ralph logs".to_owned()),
    };
    Err(failed!("{which} has no iteration {number}; {has}").hint(format!("see all of it: {all}")))
}

/// The look of a run on stdout: here the run is the data.
pub(super) fn options(context: &Context<'_>) -> Result<Options> {
    let options = launch::display_options(&context.project()?, context);
    Ok(Options { style: context.out.style, progress: context.out.style.is_terminal(), ..options })
}

/// The lines of a journal, byte for byte.
fn lines(path: &Path, part: Part, context: &mut Context<'_>) -> Done {
    let mut shown = LogFilter::new(part);
    for line in BufReader::new(open_own(path, OpenOptions::new().read(true))?).lines() {
        let line = line?;
        if let Ok(event) = serde_json::from_str(&line)
            && shown.admits(&event)
        {
            context.out.line(line)?;
        }
    }
    Ok(())
}

//! `ralph logs`: shows a run again, follows the current one, or replays one at its own pace.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use clap::Args;
use ralph_core::agent::AgentEvent;
use ralph_core::run::{Fact, RunEvent, SlotId};
use ralph_core::view::Reporter;
use ralph_engine::agents;
use ralph_engine::run_files::{RunLogs, VERIFIER_LOG};
use ralph_engine::untrusted::open_own;
use ralph_ui::logs::{self, LogFilter, Part};
use ralph_ui::plain::{Options, PlainReporter};

use super::follow::follow;
use crate::attach;
use crate::error::{CliError, Done, Result, quoted};
use crate::history;
use crate::launch;
use crate::status_query::{self, RunFiles};
use crate::wiring::Context;

/// A replay shortens pauses and sessions to this.
const LONGEST_PAUSE: u64 = 800;
const LONGEST_SESSION: u64 = 4_000;
/// A replay shortens the time between an agent's outputs to this.
const LONGEST_WORD: u64 = 150;

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
  ralph logs --replay")]
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
    /// Replay at the original pace, with long pauses shortened
    #[arg(long, conflicts_with = "json")]
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
    let (run, iteration) = args.named();
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
    if args.json {
        return lines(&logs.journal(), part, context);
    }
    let options = options(context)?;
    let agents = Agents::of(&journal);
    if args.replay {
        return Ok(replay(&journal, part, options, &agents)?);
    }
    let events_of = |log: &str| agent_events(Path::new(log), agents.of_log(log));
    Ok(logs::show(&journal, part, options, io::stdout().lock(), events_of)?)
}

impl LogsArgs {
    /// The run and the iteration. A number alone is an iteration: no id of a run is one.
    fn named(&self) -> (Option<&str>, Option<u32>) {
        match (self.run.as_deref(), self.iteration) {
            (Some(text), None) => match text.parse() {
                Ok(number) => (None, Some(number)),
                Err(_) => (Some(text), None),
            },
            named => named,
        }
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

/// The agents whose output the logs of a run hold.
#[derive(Default)]
struct Agents {
    builder: String,
    verifier: Option<String>,
    /// The agent of each slot's iteration, and of each log, where a run has several.
    of_slots: HashMap<SlotId, String>,
    of_logs: HashMap<String, String>,
}

impl Agents {
    fn of<'a>(journal: impl IntoIterator<Item = &'a RunEvent>) -> Self {
        let mut agents = Self::default();
        journal.into_iter().for_each(|event| agents.follow(&event.fact));
        agents
    }

    fn follow(&mut self, fact: &Fact) {
        match fact {
            Fact::RunStarted { agent, policy, .. } => {
                self.builder.clone_from(agent);
                self.verifier = policy.verify.as_ref().map(|verifier| verifier.agent.clone());
            }
            Fact::IterationStarted { slot, agent: Some(agent), .. } => {
                self.of_slots.insert(*slot, agent.clone());
            }
            Fact::SessionStarted { slot, log } => {
                if let Some(agent) = self.of_slots.get(slot) {
                    self.of_logs.insert(log.clone(), agent.clone());
                }
            }
            _ => {}
        }
    }

    fn of_log(&self, path: &str) -> &str {
        let verifier = self.verifier.as_deref().filter(|_| path.ends_with(VERIFIER_LOG));
        verifier.or(self.of_logs.get(path).map(String::as_str)).unwrap_or(&self.builder)
    }
}

/// What an agent said in a session, from its raw output; nothing where the journal names no agent.
fn agent_events(log: &Path, agent: &str) -> Vec<AgentEvent> {
    let mut driver = match agents::find(agent) {
        Some(profile) => (profile.driver)(None),
        None if agent.is_empty() => return vec![],
        // An agent by config prints text.
        None => agents::command::driver(),
    };
    let Ok(file) = open_own(log, OpenOptions::new().read(true)) else { return vec![] };
    let (mut events, mut reader, mut line) = (vec![], BufReader::new(file), vec![]);
    // A line without its end is still being written.
    while reader.read_until(b'\n', &mut line).is_ok()
        && line.pop_if(|last| *last == b'\n').is_some()
    {
        driver.line(&line, false, &mut events, &mut vec![]);
        line.clear();
    }
    events
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

fn replay(journal: &[RunEvent], part: Part, options: Options, agents: &Agents) -> io::Result<()> {
    let mut reporter = PlainReporter::new(io::stdout(), options);
    let mut shown = LogFilter::new(part);
    let mut before = None;
    let mut words: Vec<(SlotId, AgentEvent)> = Vec::new();
    for event in journal {
        if !shown.admits(event) {
            reporter.skip(event);
            continue;
        }
        let gap = before.map_or(0, |at| event.at.millis_since(at));
        let spoken = words.len() as u64;
        let session = gap.min(LONGEST_SESSION);
        for (slot, reported) in words.drain(..) {
            reporter.agent(slot, &reported);
            pause((session / spoken.max(1)).min(LONGEST_WORD));
        }
        pause(if spoken == 0 { gap.min(LONGEST_PAUSE) } else { 0 });
        reporter.event(event);
        if let Fact::SessionStarted { slot, log } = &event.fact {
            let reported = agent_events(Path::new(log), agents.of_log(log));
            words.extend(reported.into_iter().map(|reported| (*slot, reported)));
        }
        before = Some(event.at);
    }
    reporter.close()
}

fn pause(millis: u64) {
    if millis > 0 {
        std::thread::park_timeout(Duration::from_millis(millis));
    }
}

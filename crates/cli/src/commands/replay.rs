//! `ralph replay`: a finished run again, at the pace at which it happened.

use std::io;

use clap::{Args, ValueEnum};
use ralph_core::time::Timestamp;
use ralph_core::view::playback::{Place, Speed, Timeline, span};
use ralph_core::view::show;
use ralph_engine::clock;
use ralph_engine::observe::playback::{Pace, Playback};
use ralph_ui::jsonl::JsonReporter;
use ralph_ui::plain::PlainReporter;
use ralph_ui::tui;

use super::logs::{NamedRun, options};
use super::watch::{need_terminal, unusable};
use crate::error::{CliError, Done, Result};
use crate::wiring::Context;

/// The pace without options.
pub(super) const NORMAL: (Speed, Option<u64>) = (Speed::NORMAL, Some(2_000));

/// Replay a run: everything that happened, at the pace at which it happened
///
/// Facts come from the journal of the run, the agents' words from their raw output. Raw output has no times: what an agent
/// said is spread evenly over its session.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ralph replay                          # the newest run
  ralph replay 3                        # its third iteration
  ralph replay r-jvcq --speed 50        # another run, 50 times faster: see ralph runs
  ralph replay --from 80%               # also 12 (an iteration), 1h20m (from the beginning), 14:30
  ralph replay --ui tui                 # on the whole screen; ? lists the keys
  ralph replay --ui json --speed max    # every line, with what agents said between the facts")]
pub(crate) struct ReplayArgs {
    /// The run, by its id or the first letters of it [default: the newest run of this worktree]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Replay only this iteration
    #[arg(value_name = "ITER")]
    iteration: Option<u32>,
    /// How much faster than the run, from 0.25 to 1000; max shows everything at once
    #[arg(long, value_name = "X", default_value = "1", value_parser = speed)]
    speed: Speed,
    /// Show what came before this at once: an iteration, a percentage (80%), a length of time from the beginning (1h20m),
    /// a time of day (14:30) or a time (2026-11-15T14:30:00Z)
    #[arg(long, value_name = "PLACE", value_parser = place)]
    from: Option<Place>,
    /// Shorten longer pauses of the run to this; 0s keeps them
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = pause)]
    max_pause: u64,
    /// How to show it
    #[arg(long, value_enum, default_value = "plain", value_name = "MODE")]
    ui: ReplayDisplay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReplayDisplay {
    /// Lines on stdout
    Plain,
    /// Lines of JSON on stdout
    Json,
    /// The whole screen, with keys that pause, jump and change the speed
    Tui,
}

fn speed(text: &str) -> Result<Speed, String> {
    Speed::parse(text).ok_or_else(|| "it must be a number from 0.25 to 1000, or max".to_owned())
}

fn place(text: &str) -> Result<Place, String> {
    let kinds = "it must be an iteration (12), a percentage (80%), a length of time (1h20m) or a time (14:30)";
    Place::parse(text).ok_or_else(|| kinds.to_owned())
}

fn pause(text: &str) -> Result<u64, String> {
    span(text).ok_or_else(|| "it must be a length of time, such as 2s or 1m".to_owned())
}

pub(crate) fn cmd_replay(args: &ReplayArgs, context: &mut Context<'_>) -> Done {
    if args.ui == ReplayDisplay::Tui {
        need_terminal("ralph replay", context)?;
    }
    let named = NamedRun::find(args.run.as_deref(), args.iteration, context)?;
    let pace = (args.speed, Some(args.max_pause).filter(|longest| *longest > 0));
    let from = match args.from {
        Some(place) => Some(find(place, &named)?),
        None => None,
    };
    match args.ui {
        ReplayDisplay::Plain => play_plain(named, from, pace, context),
        ReplayDisplay::Json => {
            let part = named.part;
            let mut playback = open(named, from, pace);
            let mut reporter = JsonReporter::new(io::stdout().lock());
            show(&mut playback, part, &mut reporter, |last| last);
            Ok(())
        }
        ReplayDisplay::Tui => play_on_screen(named, from, pace, context),
    }
}

/// Replays a run on the whole screen, until the user quits.
fn play_on_screen(
    named: NamedRun,
    from: Option<Timestamp>,
    pace: (Speed, Option<u64>),
    context: &mut Context<'_>,
) -> Done {
    let ports = (context.program.ports)(context)?;
    // The settings may say whether there are colors.
    context.config()?;
    let mut playback = open(named, from, pace);
    let control = playback.control();
    tui::replay(&ports, Box::new(playback), control, context.out.style.color)
        .map(|_| ())
        .map_err(unusable)
}

/// Replays a run as lines.
pub(super) fn play_plain(
    named: NamedRun,
    from: Option<Timestamp>,
    pace: (Speed, Option<u64>),
    context: &Context<'_>,
) -> Done {
    let part = named.part;
    let mut reporter = PlainReporter::new(io::stdout(), options(context)?);
    show(&mut open(named, from, pace), part, &mut reporter, |last| last);
    Ok(reporter.close()?)
}

fn open(
    named: NamedRun,
    from: Option<Timestamp>,
    (speed, longest_pause): (Speed, Option<u64>),
) -> Playback {
    let part = named.part;
    Playback::of_run(named.journal, Pace { speed, longest_pause, from, part })
}

/// The time of a place in a run.
fn find(place: Place, named: &NamedRun) -> Result<Timestamp> {
    let timeline = Timeline::of(&named.journal);
    let Some(at) = timeline.find(place, &clock::zone()) else {
        let last = timeline.iterations.iter().map(|(number, _)| *number).max().unwrap_or(0);
        return Err(failed!("the run has no such iteration; its last one is {last}")
            .hint("see its iterations: ralph logs"));
    };
    if at > timeline.last {
        return Err(CliError::failed("that is after the end of the run")
            .hint("start in the middle: ralph replay --from 50%"));
    }
    Ok(at)
}

//! Runs the branches of a plan in parallel, each in its own worktree.
//!
//! A lane is a run like any other, with its own lock, state, socket and journal; nothing here loops over sessions.
//! Lanes share the plan, the store, the screen, the budget and the exit code.
//!
//! | file | owns |
//! |---|---|
//! | `mod` | when each lane starts, and their joint outcome |
//! | `call` | checks before any branch starts: sections, names, bases |
//! | `remote` | the branches on the remote: their bases, and which are merged |
//! | `make` | the worktree of a branch, and the run in it |
//! | `controls` | the user's commands, for lanes that start later |
//! | `record` | the record of the call, for the next one |

mod call;
mod controls;
mod make;
mod record;
mod remote;

use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ralph_core::attempt::context::BranchWork;
use ralph_core::ids::RunId;
use ralph_core::run::lanes::joint_code;
use ralph_core::run::{Outcome, Publication, PublishEnd, Review, ReviewEnd, StopReason};
use ralph_engine::clock::Stopwatch;
use ralph_engine::git::base::commits_since;
use ralph_engine::interrupts::Interrupts;
use ralph_engine::plan_file::PlanFile;
use ralph_engine::run::shared_budget::SharedBudget;
use ralph_ui::lanes::{LaneLine, prefixes, summary};

use super::display::{self, Shared};
use super::{DisplayKind, RunOptions, lock, tidy, worktrees};
use crate::error::{CliError, Done, Result};
use crate::exit_codes::Exit;
use crate::wiring::Context;
use call::Call;
use controls::Controls;
use record::CallRecord;

/// A branch that ralph works on in parallel with others.
pub(crate) struct Lane {
    pub(super) number: u64,
    pub(super) call: Option<RunId>,
    pub(super) plan: PlanFile,
    /// The base that its section names.
    pub(super) base: Option<String>,
    /// Its description in the prompts of sessions.
    pub(super) work: BranchWork,
    pub(super) shared_budget: SharedBudget,
    pub(super) display: Shared,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Went {
    publication: Option<Publication>,
    review: Option<Review>,
}

#[derive(Debug)]
pub(super) enum End {
    /// Like any run, with the publication and the review of its branch.
    Ran(Box<Outcome>, Went),
    /// It was already done.
    Done,
    /// It could not start.
    Failed { code: u8, why: String },
    /// The user stopped it before it started.
    Cancelled,
    /// The branches that it needs are not complete.
    Blocked { why: String },
}

impl End {
    fn code(&self) -> u8 {
        match self {
            Self::Ran(outcome, _) => outcome.code(),
            Self::Done => 0,
            Self::Failed { code, .. } => *code,
            Self::Cancelled => Exit::Cancelled.code(),
            Self::Blocked { .. } => Exit::Blocked.code(),
        }
    }

    /// Whether branches that need it may start.
    fn is_complete(&self) -> bool {
        match self {
            Self::Ran(outcome, _) => {
                outcome.reason == StopReason::Complete
                    && outcome.left.failed == 0
                    && outcome.left.unresolved() == 0
            }
            Self::Done => true,
            Self::Failed { .. } | Self::Cancelled | Self::Blocked { .. } => false,
        }
    }

    /// The same, plus what the lane used when it ran earlier in this call.
    fn after(mut self, before: Option<Self>) -> Self {
        if let (Self::Ran(outcome, _), Some(Self::Ran(earlier, _))) = (&mut self, &before) {
            outcome.usage = earlier.usage.plus(outcome.usage);
        }
        self
    }

    fn is_cancelled(&self) -> bool {
        match self {
            Self::Ran(outcome, _) => outcome.reason == StopReason::Cancelled,
            other => matches!(other, Self::Cancelled),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Ran(outcome, _) => outcome.reason.name(),
            Self::Done => "Complete",
            Self::Failed { .. } => "Error",
            Self::Cancelled => "Cancelled",
            Self::Blocked { .. } => "Blocked",
        }
    }

    /// Why it is not complete, in a few words.
    fn why(&self) -> Option<String> {
        match self {
            Self::Ran(..) if self.is_complete() => None,
            Self::Ran(outcome, _) => Some(outcome.sentence()),
            Self::Failed { why, .. } | Self::Blocked { why } => Some(why.clone()),
            Self::Done | Self::Cancelled => None,
        }
    }

    /// The page of the pull request that has already merged its branch.
    fn merged_as(&self) -> Option<&str> {
        match self {
            Self::Ran(_, Went { review: Some(review), .. }) if review.end == ReviewEnd::Merged => {
                Some(&review.page)
            }
            Self::Ran(_, Went { publication: Some(made), .. })
                if made.end == PublishEnd::Merged =>
            {
                Some(&made.page)
            }
            _ => None,
        }
    }

    /// Whether its branch could not be published.
    const fn is_unpublished(&self) -> bool {
        matches!(self, Self::Ran(_, Went { publication: Some(made), .. }) if made.is_pending())
    }

    /// The publication of its branch, if it was asked for.
    fn published(&self) -> Option<String> {
        let Self::Ran(_, Went { publication, review }) = self else { return None };
        if let Some(review) = review {
            return Some(review.sentence());
        }
        let publication = publication.as_ref()?;
        match publication.command.as_str() {
            "" => Some(publication.sentence()),
            command => Some(format!("{}: {command}", publication.sentence())),
        }
    }
}

/// An event of a lane, by its number.
#[derive(Debug)]
enum LaneEvent {
    Ended(usize, Box<End>),
    /// It only watches its pull request now, or has work again.
    Watches(usize, bool),
}

/// Works on all branches of a plan until each has ended.
pub(super) fn launch(options: &RunOptions, plan: &PlanFile, context: &mut Context<'_>) -> Done {
    let home = context.project()?;
    home.check_ours()?;
    call::check_home(&home)?;
    home.exclude_state()?;
    // Held for the whole call, so that no other run works on this plan.
    let _lock = lock(&home)?;
    let config = context.config()?;
    let mut call = Call::read(options, plan, &home, config.clone(), context)?;
    worktrees::check_key(&home, &config, context)?;
    tidy(Some(plan), &home, &config)?;
    call.warn(context);
    call.ask_remote(context)?;
    call.warn_of_unpushed(context)?;
    call.remove_merged(context)?;
    call.remove_merged_since(context)?;
    let interrupts = Interrupts::listen().map_err(CliError::from)?;
    let record = CallRecord::begin(options, plan, &home, &config, context)?;
    call.run = Some(record.state.run.clone());
    let ends = run_all(&mut call, interrupts, options, context)?;
    record.end(&ends)?;
    finish(&call, &ends, context)
}

pub(super) fn dry_run(options: &RunOptions, plan: &PlanFile, context: &mut Context<'_>) -> Done {
    let home = context.project()?;
    call::check_home(&home)?;
    let call = Call::read(options, plan, &home, context.config()?, context)?;
    call.warn(context);
    context.out.data(call.rehearsed(options)?)
}

/// How long until the plan is read again while lanes run.
const PLAN_AGAIN: Duration = Duration::from_millis(500);

fn run_all(
    call: &mut Call,
    interrupts: Interrupts,
    options: &RunOptions,
    context: &mut Context<'_>,
) -> Result<Vec<End>> {
    let count = call.sections.len();
    let mut schedule = call.schedule();
    let mut purses = Vec::new();
    let mut displays = displays(call, context)?;
    let mut ends: Vec<Option<End>> = (0..count).map(|_| None).collect();
    let (events, notices) = mpsc::channel();
    let (began, controls) = (Stopwatch::start(), Controls::default());
    let shares = make::Shares { began, interrupts, controls, events };
    let is_stopped = || shares.interrupts.was_interrupted() || shares.controls.cancelled();
    loop {
        if is_stopped() {
            schedule.stop();
        }
        call.refresh(&mut schedule, context);
        if ends.len() < call.sections.len() {
            displays = self::displays(call, context)?;
            ends.resize_with(call.sections.len(), || None);
        }
        while let Some(number) = schedule.next_lane() {
            // A lane that starts again keeps what it has already spent.
            let shared_budget = SharedBudget::beside(&purses);
            purses.push(shared_budget.clone());
            let begun = call.check_late(number, count).and_then(|()| {
                let own = (shared_budget, displays[number].clone());
                call.begin(number, own, &shares, options, context)
            });
            let end = match begun {
                Ok(None) => End::Done,
                Ok(Some(ready)) => {
                    spawn(number, ready, &shares.events)?;
                    continue;
                }
                Err(error) => {
                    let mut out = displays[number].writer();
                    let _ = writeln!(out, "{}", error.render(context.out.message_style));
                    End::Failed { code: error.exit.code(), why: error.message().to_owned() }
                }
            };
            schedule.ended(number, end.is_complete());
            ends[number] = Some(end.after(ends[number].take()));
        }
        if !schedule.is_busy() {
            break;
        }
        let (number, end) = match notices.recv_timeout(PLAN_AGAIN) {
            Ok(LaneEvent::Ended(number, end)) => (number, *end),
            Ok(LaneEvent::Watches(number, watches)) => {
                schedule.watches(number, watches);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        schedule.ended(number, end.is_complete());
        if end.is_cancelled() {
            schedule.stop();
        } else if let Some(page) = end.merged_as() {
            call.remove_merged_branch(&call.sections[number].name, page, context)?;
        } else if end.is_complete() {
            call.remove_finished(number, context);
        }
        ends[number] = Some(end.after(ends[number].take()));
    }
    let cancelled = is_stopped() || ends.iter().flatten().any(End::is_cancelled);
    for (number, missing) in schedule.left_out() {
        ends[number] = Some(match cancelled {
            true => End::Cancelled,
            false => End::Blocked { why: call.needs_words(&missing) },
        });
    }
    Ok(ends.into_iter().map(|end| end.unwrap_or(End::Done)).collect())
}

/// Runs a lane on its own thread, which reports how it ended.
fn spawn(number: usize, ready: make::ReadyLane, events: &Sender<LaneEvent>) -> Done {
    let events = events.clone();
    std::thread::Builder::new()
        .name(format!("lane {number}"))
        .spawn(move || {
            let run = std::panic::AssertUnwindSafe(ready);
            let end = std::panic::catch_unwind(run).unwrap_or_else(|_| End::Failed {
                code: Exit::Error.code(),
                why: "ralph crashed while working on this branch".to_owned(),
            });
            // The receiver is gone only after the call has ended.
            let _ = events.send(LaneEvent::Ended(number, Box::new(end)));
        })
        .map(drop)
        .map_err(|error| run_failed!("no thread for a branch: {error}"))
}

fn displays(call: &Call, context: &mut Context<'_>) -> Result<Vec<Shared>> {
    let names: Vec<&str> = call.sections.iter().map(|section| section.name.as_str()).collect();
    let json = display::shown(&context.config()?) == DisplayKind::Json;
    let out: Box<dyn Write + Send> =
        if json { Box::new(io::stdout()) } else { Box::new(io::stderr()) };
    let out = Arc::new(Mutex::new(out));
    let shared = |(prefix, margin): (String, usize)| match json {
        true => Shared { out: Arc::clone(&out), prefix: String::new(), margin: 0 },
        false => Shared { out: Arc::clone(&out), prefix, margin },
    };
    Ok(prefixes(&names, context.out.message_style).into_iter().map(shared).collect())
}

/// The summary, and the exit code of all.
fn finish(call: &Call, ends: &[End], context: &mut Context<'_>) -> Done {
    let meant = |number: &usize| call.only.is_none_or(|only| only == *number);
    let numbers: Vec<usize> = (0..ends.len()).filter(meant).collect();
    let stray = call.unread_words().or_else(|| call.stray_words());
    let blocked = stray.as_ref().map(|_| Exit::Blocked.code());
    let code = joint_code(numbers.iter().map(|number| ends[*number].code()).chain(blocked));
    let mut lines = Vec::new();
    for number in &numbers {
        lines.push(lane_line(call, *number, &ends[*number], context)?);
    }
    if display::shown(&context.config()?) == DisplayKind::Json {
        context.out.leave_stdout(true);
    } else {
        let complete = numbers.iter().filter(|number| ends[**number].is_complete()).count();
        let done = match (complete == numbers.len(), numbers.len()) {
            (true, 1) => "1 branch done".to_owned(),
            (true, all) => format!("All {all} branches done"),
            (false, all) => format!("{complete} of {all} branches done"),
        };
        let unpublished = numbers.iter().filter(|number| ends[**number].is_unpublished()).count();
        let joint = match stray {
            Some(stray) => format!("{done}, but {stray}"),
            None if unpublished > 0 => {
                let are = if unpublished == 1 { "is" } else { "are" };
                format!("{done}, but {unpublished} {are} not published; to retry: ralph loop")
            }
            None if complete == numbers.len() => format!("{done}."),
            None => format!("{done}; to continue: ralph loop"),
        };
        let text = summary(&lines, &joint, context.out.message_style).join("\n");
        let mut out = io::stderr();
        let _ = writeln!(out, "{text}");
    }
    CliError::ended_with(code)
}

fn lane_line(call: &Call, number: usize, end: &End, context: &mut Context<'_>) -> Result<LaneLine> {
    let section = &call.sections[number];
    let (done, total) = call.tally(number, context)?;
    let branch = section.name.to_string();
    let commits = match call.begun.borrow()[number].clone() {
        Some(began) => commits_since(&call.home, &began, &branch).unwrap_or(0),
        None => 0,
    };
    let style = || match commits {
        0 => None,
        _ => Some(format!("git log {}..{branch}", call.base_of(number).unwrap_or_default())),
    };
    Ok(LaneLine {
        state: end.name().to_owned(),
        good: end.is_complete(),
        done,
        total,
        commits,
        cost_micro_usd: match end {
            End::Ran(outcome, _) => outcome.usage.cost_micro_usd,
            _ => None,
        },
        more: end.why().or_else(|| end.published()).or_else(style),
        branch,
    })
}

//! The worktree of a branch, and the run in it.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ralph_core::Timestamp;
use ralph_core::agent::AgentEvent;
use ralph_core::attempt::context::BranchWork;
use ralph_core::branch::BranchName;
use ralph_core::run::{Fact, Notice, RunEvent, SlotId};
use ralph_core::view::Reporter;
use ralph_engine::ports::{GitError, Shown};
use ralph_engine::project::Project;
use ralph_engine::run::interrupts::Interrupts;
use ralph_engine::run::purse::Purse;
use ralph_engine::run::{self, Ended, SetUpError, Setup};
use ralph_engine::sandbox::Sandbox;
use ralph_engine::vcs::upstream::commit_of;
use ralph_engine::vcs::worktree::{Prepared, Wanted, Worktrees};

use super::super::display::Shared;
use super::super::{Place, RunOptions, assemble, git_failed, lock, run_error};
use super::call::Call;
use super::controls::Controls;
use super::{End, Lane, Told, Went};
use crate::error::CliError;
use crate::exit_codes::Exit;
use crate::wire::Context;

/// What a lane has together with the others.
pub(super) struct Shares {
    pub(super) purse: Purse,
    pub(super) display: Shared,
    /// How long the call has lasted.
    pub(super) elapsed: Duration,
    /// Whether the call was told to stop.
    pub(super) interrupts: Interrupts,
    /// What the user told the lanes that run.
    pub(super) controls: Controls,
    /// Hears of the lanes.
    pub(super) tell: Sender<Told>,
}

/// A lane that can begin.
pub(super) struct Ready {
    setup: Setup,
    reporters: Vec<Box<dyn Reporter + Send>>,
    set_up: Option<SetUp>,
    published: Published,
    display: Shared,
    interrupts: Interrupts,
    controls: Controls,
}

/// Hears what became of the branch of a lane, and tells when it has nothing to do but to watch.
#[derive(Debug, Clone)]
struct Published {
    went: Arc<Mutex<Went>>,
    number: usize,
    tell: Sender<Told>,
}

impl Published {
    fn went(&self) -> MutexGuard<'_, Went> {
        self.went.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reporter for Published {
    fn event(&mut self, event: &RunEvent) {
        let watches = match &event.fact {
            Fact::Published { publication } => {
                *self.went() = Went { publication: Some(publication.clone()), review: None };
                return;
            }
            Fact::Watching { .. } => true,
            Fact::Reviewed { review } => {
                self.went().review = Some(review.clone());
                false
            }
            _ => return,
        };
        // Nobody waits any more only when the call has ended.
        let _ = self.tell.send(Told::Watches(self.number, watches));
    }

    fn agent(&mut self, _slot: SlotId, _event: &AgentEvent) {}

    fn tick(&mut self, _now: Timestamp) {}

    fn finish(&mut self) {}
}

/// What prepares a new worktree.
struct SetUp {
    command: String,
    folder: PathBuf,
    environment: Vec<(OsString, OsString)>,
    sandbox: Arc<Sandbox>,
    shown: Shown,
    log: PathBuf,
    worktrees: Worktrees,
    branch: BranchName,
}

impl Call {
    /// Makes the worktree of a branch, or takes it up, and puts the run in it together. `None` when all of
    /// it is done and nothing of it is there.
    pub(super) fn begin(
        &self,
        number: usize,
        shares: &Shares,
        options: &RunOptions,
        context: &mut Context<'_>,
    ) -> Result<Option<Ready>, CliError> {
        let section = &self.sections[number];
        let branch = &section.name;
        let worktrees = self.worktrees();
        let is_there = worktrees.places()?.iter().any(|(name, _)| name == branch);
        let mut pending = self.pending(branch);
        if section.ticked == section.tasks && !is_there {
            let full = format!("refs/heads/{branch}");
            if commit_of(&self.home.root, &full).map_err(git_failed)?.is_none() {
                pending = None;
            }
            if pending.is_none() {
                return Ok(None);
            }
        }
        let (base, continued) = self.continues(number)?;
        let Some(base) = base else {
            return Err(CliError::failed(format!(
                "there is nothing to begin branch {branch} from"
            ))
            .hint("set git.pr_base to a branch"));
        };
        let identity = self.identity_of(context);
        let wanted = Wanted {
            branch,
            base: &base,
            identity: &identity,
            include: &self.include,
            carried: Some(Path::new(self.plan.name())),
        };
        let prepared = worktrees.prepare(&wanted).map_err(|error| match error {
            GitError::Worktree(_) => CliError::from(error),
            other => git_failed(other),
        })?;
        self.begun.borrow_mut()[number] = Some(prepared.began.clone());
        let project = Project::find(&prepared.path)?;
        let lock = lock(&project)?;
        let lane = Lane {
            number: number as u64 + 1,
            call: self.run.clone(),
            plan: self.plan.of_branch(branch.as_str(), &prepared.path, &prepared.began),
            base: section.base.clone(),
            work: BranchWork { name: branch.to_string(), goal: section.goal.clone() },
            purse: shares.purse.clone(),
            display: shares.display.clone(),
        };
        let place = Place { project, home: self.home.clone(), lane: Some(lane) };
        let (mut setup, mut reporters) = assemble(options, place, lock, context)?;
        setup.paused = shares.controls.paused();
        reporters.insert(0, Box::new(shares.controls.clone()));
        setup.notices.extend(continued);
        setup.notices.extend(pending.map(|why| Notice::Other {
            text: format!("{branch} is not published yet ({why}); ralph tries again"),
        }));
        setup.notices.extend(told(branch, &base, &prepared));
        let time = &mut setup.policy.budget.time_ms;
        if *time > 0 {
            let elapsed = u64::try_from(shares.elapsed.as_millis()).unwrap_or(u64::MAX);
            *time = time.saturating_sub(elapsed).max(1);
        }
        let shown = setup.ports.vcs.shown_to_judges(None)?;
        let set_up = (!self.set_up.is_empty() && !prepared.set_up).then(|| SetUp {
            command: self.set_up.clone(),
            folder: prepared.path.clone(),
            environment: setup.judge_environment().to_vec(),
            sandbox: Arc::clone(&setup.sandbox),
            shown,
            log: setup.files.logs.folder.join("setup.log"),
            worktrees: self.worktrees(),
            branch: branch.clone(),
        });
        let (display, interrupts) = (shares.display.clone(), shares.interrupts.clone());
        let controls = shares.controls.clone();
        let published = Published { went: Arc::default(), number, tell: shares.tell.clone() };
        let mut reporters = reporters;
        reporters.push(Box::new(published.clone()));
        Ok(Some(Ready { setup, reporters, set_up, published, display, interrupts, controls }))
    }

    fn identity_of(&self, context: &Context<'_>) -> ralph_engine::vcs::worktree::Identity {
        let mut identity = self.identity.clone();
        identity.home.clone_from(&context.environment.home);
        identity
    }
}

/// What a person should know about a worktree.
fn told(branch: &BranchName, base: &str, prepared: &Prepared) -> Vec<Notice> {
    let mut notes = prepared.notes.clone();
    if prepared.made && !prepared.new_branch {
        notes.push(format!("branch {branch} was there before and is taken up as it is"));
    }
    if prepared.behind.is_some() {
        notes.push(format!("{base} has commits that branch {branch} does not have"));
    }
    notes.into_iter().map(|text| Notice::Other { text }).collect()
}

impl Ready {
    /// Runs the lane to its end.
    pub(super) fn run(self) -> End {
        let Self { setup, reporters, set_up, display, interrupts, controls, published } = self;
        if let Some(end) = set_up.and_then(|set_up| set_up.run(&display)) {
            return end;
        }
        // From here on the run hears for itself.
        if interrupts.heard() || controls.cancelled() {
            return End::Cancelled;
        }
        match run::run(setup, reporters) {
            Ok(Ended { outcome, notes }) => {
                for note in notes {
                    let _ = writeln!(display.writer(), "warning: {note}");
                }
                End::Ran(Box::new(outcome), published.went().clone())
            }
            Err(error) => {
                let error = run_error(error);
                failed(&display, error.exit.code(), error.message().to_owned())
            }
        }
    }
}

impl SetUp {
    /// Runs the command; the end of the lane, unless it went well.
    fn run(self, display: &Shared) -> Option<End> {
        let Self { command, folder, environment, sandbox, shown, log, worktrees, branch } = self;
        let boxed = (sandbox.as_ref(), shown);
        let ran = run::set_up(&worktrees, &branch, &command, &folder, &environment, boxed, &log);
        match ran {
            Ok(()) => None,
            Err(SetUpError::Interrupted) => Some(End::Cancelled),
            Err(error @ SetUpError::Failed { .. }) => {
                Some(failed(display, Exit::Error.code(), error.to_string()))
            }
            Err(error @ SetUpError::Git(_)) => {
                Some(failed(display, Exit::GitFailed.code(), error.to_string()))
            }
        }
    }
}

fn failed(display: &Shared, code: u8, why: String) -> End {
    let _ = writeln!(display.writer(), "error: {why}");
    End::Failed { code, why }
}

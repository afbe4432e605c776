//! The worktree of a branch, and the run in it.

use std::io::Write;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ralph_core::attempt::context::BranchWork;
use ralph_core::branch::BranchName;
use ralph_core::run::{Fact, Notice, RunEvent};
use ralph_core::view::Reporter;
use ralph_engine::git::commit_of;
use ralph_engine::interrupts::Interrupts;
use ralph_engine::ports::GitError;
use ralph_engine::project::Project;
use ralph_engine::run::shared_budget::SharedBudget;
use ralph_engine::run::{self, Ended, Setup};
use ralph_engine::worktrees::WorktreeSetupError;
use ralph_engine::worktrees::{Identity, Prepared, Wanted};

use super::super::display::Shared;
use super::super::{RunLocation, RunOptions, assemble, git_failed, lock, run_error};
use super::call::Call;
use super::controls::Controls;
use super::{End, Lane, LaneEvent, Went};
use crate::error::{CliError, Result};
use crate::exit_codes::Exit;
use crate::wiring::Context;

/// What all lanes share.
pub(super) struct Shares {
    pub(super) shared_budget: SharedBudget,
    pub(super) display: Shared,
    /// How long the call has been running.
    pub(super) elapsed: Duration,
    pub(super) interrupts: Interrupts,
    pub(super) controls: Controls,
    pub(super) events: Sender<LaneEvent>,
}

/// A lane that is ready to start.
pub(super) struct Ready {
    setup: Setup,
    reporters: Vec<Box<dyn Reporter + Send>>,
    worktree_setup: Option<WorktreeSetup>,
    published: Published,
    display: Shared,
    interrupts: Interrupts,
    controls: Controls,
}

/// Follows the publication of a lane's branch, and reports when the lane has nothing left to do but watch.
#[derive(Debug, Clone)]
struct Published {
    went: Arc<Mutex<Went>>,
    number: usize,
    events: Sender<LaneEvent>,
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
        // The receiver is gone only after the call has ended.
        let _ = self.events.send(LaneEvent::Watches(self.number, watches));
    }
}

/// Runs the command that prepares a new worktree.
type WorktreeSetup = Box<dyn FnOnce() -> Result<(), WorktreeSetupError> + Send>;

impl Call {
    /// Creates or reuses the worktree of a branch, and sets up the run in it. `None` if the branch is done and has no
    /// worktree.
    pub(super) fn begin(
        &self,
        number: usize,
        shares: &Shares,
        options: &RunOptions,
        context: &mut Context<'_>,
    ) -> Result<Option<Ready>> {
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
            return Err(failed!("there is no commit to start branch {branch} from")
                .hint("set git.pr_base to a branch"));
        };
        let home = context.environment.home.clone();
        let identity = Identity { home, ..self.identity.clone() };
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
            shared_budget: shares.shared_budget.clone(),
            display: shares.display.clone(),
        };
        let place = RunLocation { project, home: self.home.clone(), lane: Some(lane) };
        let (mut setup, mut reporters) = assemble(options, place, lock, context)?;
        setup.paused = shares.controls.paused();
        reporters.insert(0, Box::new(shares.controls.clone()));
        setup.notices.extend(continued);
        setup.notices.extend(pending.map(|why| Notice::Other {
            text: format!("{branch} is not published yet ({why}); ralph retries"),
        }));
        setup.notices.extend(worktree_notices(branch, &base, &prepared));
        let time = &mut setup.policy.budget.time_ms;
        if *time > 0 {
            let elapsed = u64::try_from(shares.elapsed.as_millis()).unwrap_or(u64::MAX);
            *time = time.saturating_sub(elapsed).max(1);
        }
        let shown = setup.ports.vcs.shown_to_judges(None)?;
        let is_new = !self.setup_command.is_empty() && !prepared.setup_done;
        let worktree_setup = is_new.then(|| {
            let (command, folder) = (self.setup_command.clone(), prepared.path.clone());
            let environment = setup.judge_environment().to_vec();
            let sandbox = Arc::clone(&setup.sandbox);
            let log = setup.files.logs.folder.join("setup.log");
            let branch = branch.clone();
            Box::new(move || {
                let (env, jail) = (environment, (sandbox.as_ref(), shown));
                ralph_engine::worktrees::run_worktree_setup(
                    &worktrees, &branch, &command, &folder, &env, jail, &log,
                )
            }) as WorktreeSetup
        });
        let (display, interrupts) = (shares.display.clone(), shares.interrupts.clone());
        let controls = shares.controls.clone();
        let published = Published { went: Arc::default(), number, events: shares.events.clone() };
        reporters.push(Box::new(published.clone()));
        Ok(Some(Ready {
            setup,
            reporters,
            worktree_setup,
            published,
            display,
            interrupts,
            controls,
        }))
    }
}

/// Notes for the user about a worktree.
fn worktree_notices(branch: &BranchName, base: &str, prepared: &Prepared) -> Vec<Notice> {
    let mut notes = prepared.notes.clone();
    if prepared.made && !prepared.new_branch {
        notes.push(format!("branch {branch} already exists; ralph continues it"));
    }
    if prepared.behind.is_some() {
        notes.push(format!("{base} has commits that are missing from branch {branch}"));
    }
    notes.into_iter().map(|text| Notice::Other { text }).collect()
}

impl Ready {
    pub(super) fn run(self) -> End {
        let Self { setup, reporters, worktree_setup, display, interrupts, controls, published } =
            self;
        match worktree_setup.map_or(Ok(()), |prepare| prepare()) {
            Ok(()) => {}
            Err(WorktreeSetupError::Interrupted) => return End::Cancelled,
            Err(error) => {
                let is_git = matches!(error, WorktreeSetupError::Git(_));
                let exit = if is_git { Exit::GitFailed } else { Exit::Error };
                return failed(&display, exit.code(), error.to_string());
            }
        }
        // From here on the run receives commands itself.
        if interrupts.was_interrupted() || controls.cancelled() {
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

fn failed(display: &Shared, code: u8, why: String) -> End {
    let _ = writeln!(display.writer(), "error: {why}");
    End::Failed { code, why }
}

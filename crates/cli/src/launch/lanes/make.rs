//! The worktree of a branch, and the run in it.

use std::io::Write;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ralph_core::attempt::context::BranchWork;
use ralph_core::branch::BranchName;
use ralph_core::run::{Fact, Notice, RunEvent};
use ralph_core::view::Reporter;
use ralph_engine::clock::Stopwatch;
use ralph_engine::git::commit_of;
use ralph_engine::interrupts::Interrupts;
use ralph_engine::ports::GitError;
use ralph_engine::project::Project;
use ralph_engine::run::shared_budget::SharedBudget;
use ralph_engine::run::{self, Ended};
use ralph_engine::worktrees::{Identity, Prepared, Wanted, WorktreeSetupError, run_worktree_setup};

use super::super::display::Shared;
use super::super::worktrees::identity;
use super::super::{RunLocation, RunOptions, assemble, git_failed, lock, run_error};
use super::call::Call;
use super::controls::Controls;
use super::{End, Lane, LaneEvent, Went};
use crate::config::key;
use crate::error::{CliError, Result};
use crate::exit_codes::Exit;
use crate::wiring::Context;

/// What all lanes share.
pub(super) struct Shares {
    pub(super) began: Stopwatch,
    pub(super) interrupts: Interrupts,
    pub(super) controls: Controls,
    pub(super) events: Sender<LaneEvent>,
}

/// A lane that is ready to start.
pub(super) type ReadyLane = Box<dyn FnOnce() -> End + Send>;

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

impl Call {
    /// Creates or reuses the worktree of a branch, and sets up the run in it. `None` if the branch is done and has no
    /// worktree.
    pub(super) fn begin(
        &self,
        number: usize,
        (shared_budget, display): (SharedBudget, Shared),
        shares: &Shares,
        options: &RunOptions,
        context: &mut Context<'_>,
    ) -> Result<Option<ReadyLane>> {
        let elapsed = shares.began.elapsed();
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
        let identity = Identity { home, ..identity(&self.config) };
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
            shared_budget,
            display: display.clone(),
        };
        let place = RunLocation { project, home: self.home.clone(), lane: Some(lane) };
        let (mut setup, mut displays) = assemble(options, place, lock, context)?;
        setup.paused = shares.controls.paused();
        displays.others.insert(0, Box::new(shares.controls.clone()));
        setup.notices.extend(continued);
        setup.notices.extend(pending.map(|why| Notice::Other {
            text: format!("{branch} is not published yet ({why}); ralph retries"),
        }));
        setup.notices.extend(worktree_notices(branch, &base, &prepared));
        let time = &mut setup.policy.budget.time_ms;
        if *time > 0 {
            let elapsed = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
            *time = time.saturating_sub(elapsed).max(1);
        }
        let shown = setup.ports.vcs.shown_to_judges(None)?;
        let prepare = self.config.get(key::GIT_WORKTREE_SETUP).trim().to_owned();
        let is_prepared = prepare.is_empty() || prepared.setup_done;
        let (branch, folder) = (branch.clone(), prepared.path);
        let (interrupts, controls) = (shares.interrupts.clone(), shares.controls.clone());
        let published = Published { went: Arc::default(), number, events: shares.events.clone() };
        displays.others.push(Box::new(published.clone()));
        Ok(Some(Box::new(move || {
            if !is_prepared {
                let (env, jail) = (setup.judge_environment(), (setup.sandbox.as_ref(), shown));
                let log = setup.files.logs.folder.join("setup.log");
                let ran =
                    run_worktree_setup(&worktrees, &branch, &prepare, &folder, env, jail, &log);
                match ran {
                    Ok(()) => {}
                    Err(WorktreeSetupError::Interrupted) => return End::Cancelled,
                    Err(error) => {
                        let is_git = matches!(error, WorktreeSetupError::Git(_));
                        let exit = if is_git { Exit::GitFailed } else { Exit::Error };
                        return failed(&display, exit.code(), error.to_string());
                    }
                }
            }
            // From here on the run receives commands itself.
            if interrupts.was_interrupted() || controls.cancelled() {
                return End::Cancelled;
            }
            match run::run(setup, displays.readers()) {
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
        })))
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

fn failed(display: &Shared, code: u8, why: String) -> End {
    let _ = writeln!(display.writer(), "error: {why}");
    End::Failed { code, why }
}

//! Publishes the branch of a run: pushes it after iterations that pass, if configured, and at the end pushes it and
//! opens its pull request. Doing it twice changes nothing, so the next run makes up for a killed one. A failure here
//! is reported and recorded, and fails nothing else.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_core::run::{
    Class, Effect, Input, Publication, PublishEnd, Settlement, SlotId, SlotStep,
};
use tokio::sync::watch;

use crate::git::commit_of;
use crate::ports::Scope;
use crate::process::{CommandSpec, Stop, capture};
use crate::publishing::{Outlet, PublishSetup, Trouble, decided, published, pull_text};
use crate::run::ports::Ports;
use crate::sandbox::ProgramKind;

/// What the pushes of a run share.
#[derive(Debug)]
pub(in crate::run) struct Publisher {
    /// Ends what is under way.
    pub(in crate::run) stop: watch::Sender<Stop>,
    /// What went wrong, each reported once.
    reported: Mutex<HashSet<String>>,
    /// One push at a time: two of the same branch would be in each other's way.
    turn: Mutex<()>,
    /// The server was asked about the branch, and it may be pushed after green iterations.
    asked: AtomicBool,
}

impl Default for Publisher {
    fn default() -> Self {
        Self {
            stop: watch::Sender::new(Stop::Go),
            reported: Mutex::default(),
            turn: Mutex::default(),
            asked: AtomicBool::new(false),
        }
    }
}

impl Ports {
    /// Publishes at the end of the run, and sends the result to the loop.
    pub(in crate::run) fn publish(&self) -> Vec<Effect> {
        let branch = self.home.base().branch.unwrap_or_default();
        let act = || {
            self.publish_left_over(&branch);
            self.publication(&branch)
        };
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        let made = made.unwrap_or_else(|_| Publication {
            why: "a step of the loop panicked".to_owned(),
            ..Publication::blank(PublishEnd::Failed, &branch)
        });
        self.step(&Input::Published(made))
    }

    /// Pushes the accepted commit, if configured. The next iteration that passes retries a failed push.
    pub(in crate::run) fn push_settled(&self, slot: SlotId, settlement: &Settlement) {
        let wanted = self.setup.policy.publish.is_some_and(|wanted| wanted.auto_push);
        let (Some(setup), true) = (&self.setup.publish, wanted) else { return };
        if settlement.class != Class::Done || *self.publisher.stop.borrow() != Stop::Go {
            return;
        }
        self.step(&Input::StepStarted { slot, step: SlotStep::Push, timeout_ms: None });
        let branch = self.home.base().branch.unwrap_or_default();
        let reported = match self.push_if_wanted(setup, &branch) {
            Ok(None) => return,
            Ok(Some(kept)) => kept.sentence(),
            Err(trouble) => trouble.publication(setup, &branch).sentence(),
        };
        let mut all = self.publisher.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if all.insert(reported.clone()) {
            drop(all);
            self.notice(reported);
        }
    }

    /// Pushes, unless the server knows better: then what that comes to. It is asked once for all green
    /// iterations, and again at the end.
    fn push_if_wanted(
        &self,
        setup: &PublishSetup,
        branch: &str,
    ) -> Result<Option<Publication>, Trouble> {
        self.with_outlet(setup, |outlet| {
            let asked = &self.publisher.asked;
            if !asked.load(Ordering::SeqCst) {
                if let Some(kept) = decided(&outlet.course(branch)?, setup, branch) {
                    return Ok(Some(kept));
                }
                asked.store(true, Ordering::SeqCst);
            }
            outlet.push(branch)?;
            Ok(None)
        })
    }

    /// Tries again what earlier runs could not publish of other branches. Branches of a plan have runs of their
    /// own for that.
    fn publish_left_over(&self, branch: &str) {
        let Some(setup) = &self.setup.publish else { return };
        if self.setup.branch_key().is_some() {
            return;
        }
        for record in setup.records.pending() {
            if record.branch == branch || !record.plan.is_empty() {
                continue;
            }
            let name = format!("refs/heads/{}", record.branch);
            let is_gone = commit_of(&self.setup.files.project.worktree, &name);
            if is_gone.is_ok_and(|found| found.is_none()) {
                let _ = setup.records.forget(&record.branch);
                continue;
            }
            let theirs = PublishSetup { base: record.base, goal: record.goal, ..setup.clone() };
            let made = self.publish_branch(&theirs, &record.branch, &Scope::All);
            self.notice(format!("retried {}: {}", record.branch, made.sentence()));
        }
    }

    fn publication(&self, branch: &str) -> Publication {
        let Some(setup) = &self.setup.publish else {
            return Publication::blank(PublishEnd::Nothing, branch);
        };
        let scope = self.plan.scope(&self.setup).unwrap_or(Scope::All);
        self.publish_branch(setup, branch, &scope)
    }

    /// Publishes a branch, and records what is left to do.
    fn publish_branch(&self, setup: &PublishSetup, branch: &str, scope: &Scope) -> Publication {
        let made = self.published(setup, branch, scope);
        let mut made = made.unwrap_or_else(|trouble| trouble.publication(setup, branch));
        let plan = self.setup.branch_key().unwrap_or_default();
        match self.with_outlet(setup, |outlet| outlet.keep(&made, &plan)) {
            Ok(false) => {}
            Ok(true) => {
                made.why.push_str("; the next run retries it");
            }
            Err(error) => {
                made.why.push_str(&format!("; ralph cannot record it for the next run: {error}"));
            }
        }
        made
    }

    fn published(
        &self,
        setup: &PublishSetup,
        branch: &str,
        scope: &Scope,
    ) -> Result<Publication, Trouble> {
        let pull_request = self.setup.policy.publish.is_some_and(|wanted| wanted.auto_pr);
        let blank = |end| Publication::blank(end, branch);
        let nothing = |why: String| Ok(Publication { why, ..blank(PublishEnd::Nothing) });
        if pull_request && branch == setup.base && !branch.is_empty() {
            return nothing(format!(
                "`{branch}` is the base branch of pull requests; see git.pr_base"
            ));
        }
        self.with_outlet(setup, |outlet| {
            let course = outlet.course(branch)?;
            if let Some(kept) = decided(&course, setup, branch) {
                return Ok(kept);
            }
            if !pull_request {
                outlet.push(branch)?;
                return Ok(blank(PublishEnd::Pushed));
            }
            let folder = &self.setup.files.project.worktree;
            let commits = pull_text::commits(folder, setup, branch)?;
            if commits.as_ref().is_some_and(Vec::is_empty) {
                return nothing(format!("`{branch}` has no commits beyond `{}`", setup.base));
            }
            let link = outlet.push(branch)?;
            let commits = commits.unwrap_or_default();
            let words = pull_text::words(self.store().as_mut(), setup, scope, branch, commits)?;
            let words = words.redacted(&self.setup.files.secrets);
            Ok(published(outlet.open(&words, link.as_deref())?, branch))
        })
    }

    /// One at a time: two pushes of the same branch would be in each other's way.
    pub(in crate::run) fn with_outlet<T>(
        &self,
        setup: &PublishSetup,
        act: impl FnOnce(&Outlet<'_>) -> T,
    ) -> T {
        let _turn = self.publisher.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let sandboxed = |spec: CommandSpec, limit: Duration, stop| self.run_hook(spec, limit, stop);
        let outlet = Outlet {
            folder: &self.setup.files.project.worktree,
            environment: &self.setup.gates.environment,
            setup,
            sandboxed: &sandboxed,
            stop: self.publisher.stop.subscribe(),
        };
        act(&outlet)
    }

    /// Runs a hook of the worktree as gates are run.
    fn run_hook(
        &self,
        spec: CommandSpec,
        limit: Duration,
        stop: watch::Receiver<Stop>,
    ) -> (ProcessEnd, String) {
        let never = |error: String| (ProcessEnd::NotStarted { error }, String::new());
        let spec = CommandSpec { env: self.setup.judge_environment().to_vec(), ..spec };
        let sandboxed = match self.sandboxed(&self.home, ProgramKind::Judge, None) {
            Ok(sandboxed) => sandboxed,
            Err(error) => return never(error.error),
        };
        let wrapped = match self.setup.sandbox.wrap(spec, &sandboxed) {
            Ok(wrapped) => wrapped,
            Err(error) => return never(format!("the sandbox could not be created: {error}")),
        };
        let done = self.watched(|| capture(&wrapped.command, limit, stop));
        for text in wrapped.put_right() {
            self.notice(text);
        }
        (done.end, String::from_utf8_lossy(&done.stdout).into_owned() + &done.stderr)
    }
}

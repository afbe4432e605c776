//! Runs gates outside a run: `ralph doctor` runs each once, with the code, the sandbox and the environment of the
//! loop, so that its result also holds for the next run.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::records::Verdict;
use ralph_core::redact::Secrets;
use tokio::sync::watch;

use super::command::{GateLocation, Judging, Ran};
use super::{GateRules, GateSpec, setup_gate};
use crate::ports::{Checkout, GitError, RunBase, Vcs};
use crate::probe::wait_for_stop_signal;
use crate::process::{Mark, Stop, Watch, runtime};
use crate::project::Project;
use crate::sandbox::{ProgramKind, Sandbox, SandboxedCommand};

/// Everything that running a gate takes.
pub struct GateTrial {
    pub project: Project,
    /// The sandbox of a run.
    pub sandbox: Arc<Sandbox>,
    pub vcs: Arc<dyn Vcs>,
    /// What gates find in their environment at this level.
    pub environment: Vec<(OsString, OsString)>,
    /// How gates judge.
    pub rules: GateRules,
    /// What must not be shown.
    pub secrets: Secrets,
}

/// The result of a gate.
#[derive(Debug)]
pub struct GateTried {
    /// Its name, or that of the setup command if that failed.
    pub name: String,
    pub green: bool,
    /// Its exit code, if it ended by itself.
    pub exit_code: Option<i32>,
    /// What there is to say beside its output.
    pub note: Option<String>,
    /// What it printed, without secrets.
    pub output: String,
    /// What the sandbox refused.
    pub findings: Vec<String>,
    pub took: Duration,
    /// It was stopped because ralph was.
    pub interrupted: bool,
}

impl GateTrial {
    /// Runs a gate where a run would. No other process may work in the worktree meanwhile.
    pub fn run(&self, gate: &GateSpec) -> Result<GateTried, GitError> {
        let checkout = self.checkout()?;
        let worktree = GateLocation::of(&self.project.worktree);
        let place = &checkout.as_ref().map_or(worktree, GateLocation::in_checkout);
        let runtime = runtime()
            .map_err(|source| GitError::File { path: self.project.worktree.clone(), source })?;
        let prepares = checkout.as_ref().and_then(|_| setup_gate(&self.rules, gate.timeout));
        let prepared = match prepares {
            Some(setup) => Some(runtime.block_on(self.attend(&setup, place))?),
            None => None,
        };
        let failed = prepared.filter(|(ran, _)| ran.report.verdict != Verdict::Pass);
        let (ran, findings) = match failed {
            Some(failed) => failed,
            None => runtime.block_on(self.attend(gate, place))?,
        };
        Ok(GateTried {
            name: ran.report.name,
            green: ran.report.verdict == Verdict::Pass,
            exit_code: ran.report.exit_code,
            note: ran.note,
            output: ran.text,
            findings,
            took: Duration::from_millis(ran.report.duration_ms),
            interrupted: ran.stopped,
        })
    }

    /// A fresh checkout of what is in the worktree, where gates get one.
    fn checkout(&self) -> Result<Option<Checkout>, GitError> {
        if !self.rules.clean {
            return Ok(None);
        }
        let head = self.vcs.head()?;
        let base = RunBase { head, ..RunBase::default() };
        let candidate = self.vcs.candidate(&base)?;
        let checkout = self.vcs.checkout(&candidate, &self.rules.include)?;
        let caches = self.sandbox.fresh_caches();
        let failed = |source| GitError::File { path: checkout.folder().to_owned(), source };
        let caches = caches.map_err(failed)?;
        Ok(Some(checkout.with_caches(caches)))
    }

    async fn attend(
        &self,
        gate: &GateSpec,
        place: &GateLocation<'_>,
    ) -> Result<(Ran, Vec<String>), GitError> {
        let mut sandboxed =
            SandboxedCommand::in_worktree(ProgramKind::Judge, &self.project.worktree);
        if self.sandbox.mounts() {
            sandboxed.show(self.vcs.shown_to_judges(None)?);
        }
        let (stop, stopped) = watch::channel(Stop::Go);
        let reported = tokio::spawn(async move {
            wait_for_stop_signal().await;
            stop.send_replace(Stop::Kill);
            std::future::pending::<()>().await;
        });
        let judging = Judging {
            gate,
            place,
            environment: &self.environment,
            programs: &*self.sandbox,
            sandbox: &self.sandbox,
            sandboxed,
            watch: &Watch::default(),
            mark: Mark::new(&self.project.root, 0),
            secrets: &self.secrets,
            log: None,
            stop: stopped,
        };
        let ran = judging.run().await;
        reported.abort();
        Ok(ran)
    }
}

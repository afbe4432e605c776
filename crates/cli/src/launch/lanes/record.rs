//! The record of a call over several branches, so that the next call can resume it: plan, branch, flags and budget.
//! The progress of each branch is in the record of its own run.

use ralph_core::run::StopReason;
use ralph_engine::clock;
use ralph_engine::plan_file::PlanFile;
use ralph_engine::project::Project;
use ralph_engine::run_files::state_file::{Record, Spending, StateFile};

use super::super::policy::{budget, sessions_of};
use super::super::{RunOptions, resume, sandbox, source};
use super::End;
use crate::config::Config;
use crate::error::Result;
use crate::exit_codes::Exit;
use crate::wiring::Context;

pub(super) struct CallRecord {
    record: Record,
    pub(super) state: StateFile,
}

impl CallRecord {
    pub(super) fn begin(
        options: &RunOptions,
        plan: &PlanFile,
        home: &Project,
        config: &Config,
        context: &Context<'_>,
    ) -> Result<Self> {
        let bad_id = |error| failed!("ralph could not create an id: {error}");
        let preset = source::named("branches")?;
        let run = context.ids().run().map_err(bad_id)?;
        let before = options.interrupted.as_deref();
        let mut request = resume::request(options, config, (preset, Some(plan)), home, None);
        request.branches = true;
        let state = StateFile {
            active: true,
            iteration: 0,
            mode: options.mode.name().to_owned(),
            started_at: before.map_or_else(clock::now, |before| before.found.state.started_at),
            last_iteration_at: None,
            max_iterations: sessions_of(options, config, preset),
            sessions_used: 0,
            error_count: 0,
            consecutive_errors: 0,
            last_error: None,
            last_commit: None,
            idle_iterations: 0,
            run,
            pid: std::process::id(),
            pid_started: 0,
            control_socket: None,
            finished: false,
            level: sandbox::foreseen(config).to_string(),
            request,
            budget: resume::budget(config, budget(config), before),
            spent: Spending::default(),
        };
        let this = Self { record: resume::record(context, home, options.mode.name()), state };
        this.write()?;
        Ok(this)
    }

    /// Records that the call has ended. The next call resumes one that was cancelled or failed.
    pub(super) fn end(mut self, ends: &[End]) -> Result<()> {
        self.state.active = false;
        self.state.finished = !ends.iter().any(|end| match end {
            End::Ran(outcome, _) => StopReason::is_interruption(&outcome.reason),
            End::Cancelled => true,
            End::Failed { code, .. } => *code == Exit::Error.code(),
            End::Done | End::Blocked { .. } => false,
        });
        self.write()
    }

    fn write(&self) -> Result<()> {
        self.state.text().and_then(|text| self.record.keep(&text)).map_err(|error| {
            let path = self.record.kept.as_ref().unwrap_or(&self.record.copy);
            run_failed!("{} cannot be written: {error}", path.display())
        })
    }
}

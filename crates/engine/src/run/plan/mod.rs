//! Where the tasks of a run are: in the task database, in a markdown file, or nowhere, where the run is about a text.
//!
//! A [`PlanSource`] says what an iteration reads from the plan, what a session requests by it, and what ralph writes into
//! it. The loop and its activities know nothing else about plans. To add a source: one file, and one line in [`source`].

mod database;
mod file;
mod text;
mod written;

use std::sync::Arc;

use ralph_core::TaskId;
use ralph_core::run::{Input, SessionReport, Settlement, Survey, TaskBrief};

use super::activity::session::Job;
use super::ports::{Answer, Failed, Ports};
use super::setup::Setup;
use super::slot_state::SlotState;
use crate::plan_file::NewBox;
use crate::ports::{Candidate, Scope};
use crate::socket::Adds;

/// A plan file before and after ralph wrote an outcome into it.
pub(super) struct PlanEdit {
    before: String,
    after: String,
}

/// Where the tasks of a run are.
pub(super) trait PlanSource: Send + Sync {
    /// The state of the plan, without what all sources have in common.
    fn survey(&self, ports: &Ports, slot: &mut SlotState) -> Result<Survey, Failed>;

    /// Claims the next task, or `only` that one.
    fn claim(&self, ports: &Ports, slot: &mut SlotState, only: Option<&TaskId>) -> Answer;

    /// What the agent picks from.
    fn peek(&self, ports: &Ports, slot: &mut SlotState) -> Answer {
        let about = ports.subject().or_else(|| file::subject(slot));
        Ok(Input::Peeked { slot: slot.id, offered: 0, about })
    }

    /// A session is about to begin.
    fn before_session(&self, _: &Ports, _: &mut SlotState) -> Result<(), Failed> {
        Ok(())
    }

    /// The tasks that a session holds now that it is over. What it requests by the plan is added to its report.
    fn after_session(
        &self,
        ports: &Ports,
        slot: &mut SlotState,
        job: &Job,
        report: &mut SessionReport,
    ) -> Result<Vec<TaskBrief>, Failed>;

    /// Writes the outcome into the plan. Doing it twice changes nothing.
    fn record(
        &self,
        _: &Ports,
        _: &mut SlotState,
        _: &Settlement,
    ) -> Result<Option<PlanEdit>, Failed> {
        Ok(None)
    }

    /// Takes back what [`record`](Self::record) wrote, because nothing was committed.
    fn take_back(&self, _: &mut SlotState, _: &PlanEdit) -> Result<(), Failed> {
        Ok(())
    }

    /// The judged candidate with what was written into the plan.
    fn with_outcome(
        &self,
        _: &Ports,
        _: &SlotState,
        judged: Candidate,
    ) -> Result<Candidate, Failed> {
        Ok(judged)
    }

    /// The iteration is finished.
    fn settled(&self, _: &Ports, _: &SlotState, _: &Settlement) {}

    /// Keeps the plan out of what a session committed, where it is not part of the work.
    fn keep_out(&self, _: &Ports) -> Result<(), Failed> {
        Ok(())
    }

    /// Adds tasks to the plan.
    fn add(&self, ports: &Ports, tasks: &[NewBox]) -> Result<(), String>;

    /// What a session may add to the plan by itself.
    fn adds(&self, _: &Ports) -> Option<Adds> {
        None
    }

    /// The tasks of the plan, as the store names them; `None` where there are none.
    fn scope(&self, setup: &Setup) -> Option<Scope>;
}

/// The answer of a source that claimed this task, or none.
fn claimed(slot: &SlotState, task: Option<TaskBrief>) -> Input {
    match task {
        Some(task) => Input::Claimed { slot: slot.id, task: Box::new(task) },
        None => Input::NothingToClaim { slot: slot.id },
    }
}

/// The source of the plan of a run.
pub(super) fn source(setup: &Setup) -> Arc<dyn PlanSource> {
    match &setup.work.plan {
        Some(file) if setup.policy.mode == "build" => Arc::new(file::FilePlan::new(file.clone())),
        _ if setup.policy.by_iteration() => Arc::new(text::TextPlan),
        _ => Arc::new(database::DatabasePlan),
    }
}

//! A run without tasks: each iteration is about a text, such as a prompt or a plan to be written.

use ralph_core::TaskId;
use ralph_core::run::{SessionReport, Survey, TaskBrief};

use super::{PlanSource, claimed};
use crate::plan_file::NewBox;
use crate::ports::Scope;
use crate::run::activity::session::Job;
use crate::run::ports::{Answer, Failed, Ports};
use crate::run::setup::Setup;
use crate::run::slot_state::SlotState;

pub(super) struct TextPlan;

impl PlanSource for TextPlan {
    fn survey(&self, _: &Ports, _: &mut SlotState) -> Result<Survey, Failed> {
        Ok(Survey { claimable: 1, ..Survey::default() })
    }

    fn claim(&self, _: &Ports, slot: &mut SlotState, _: Option<&TaskId>) -> Answer {
        Ok(claimed(slot, None))
    }

    fn after_session(
        &self,
        _: &Ports,
        _: &mut SlotState,
        _: &Job,
        _: &mut SessionReport,
    ) -> Result<Vec<TaskBrief>, Failed> {
        Ok(vec![])
    }

    fn add(&self, _: &Ports, _: &[NewBox]) -> Result<(), String> {
        Err("this run has no plan to add tasks to".to_owned())
    }

    fn scope(&self, setup: &Setup) -> Option<Scope> {
        (setup.policy.mode == "build").then(|| setup.work.scope.clone())
    }
}

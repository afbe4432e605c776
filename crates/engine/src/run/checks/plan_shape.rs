//! Judges a plan that the run writes: it can be read, and it keeps its format.

use ralph_core::plan::markdown::PlanKind;
use ralph_core::run::GateReport;

use super::Check;
use super::deliverable::judged;
use crate::plan_file::{PlanFile, PlanFileError};
use crate::ports::Candidate;
use crate::run::ports::{Failed, Ports};
use crate::run::slot_state::SlotState;

pub(super) struct PlanShape;

impl Check for PlanShape {
    fn run(
        &self,
        ports: &Ports,
        _: &mut SlotState,
        _: &Candidate,
    ) -> Result<Option<GateReport>, Failed> {
        Ok(ports.written_plan().map(|plan| judged("plan", plan_fault(plan))))
    }
}

/// Why a plan cannot be kept as it is.
fn plan_fault(plan: &PlanFile) -> Option<String> {
    let read = match plan.read() {
        Ok(Some(read)) => read,
        Ok(None) => return Some(format!("{} does not exist", plan.name())),
        Err(PlanFileError::Broken { path, error, excerpt }) => {
            return Some(format!("{}: {error}\n  {excerpt}", path.display()));
        }
        Err(error) => return Some(error.to_string()),
    };
    let kind = PlanKind::of(plan.name(), &read.text);
    match kind == plan.kind() {
        _ if read.text.trim().is_empty() => Some(format!("{} is empty", plan.name())),
        true => None,
        false => Some(format!(
            "{} changed from a {} plan to a {} plan; keep its format",
            plan.name(),
            plan.kind().as_str(),
            kind.as_str()
        )),
    }
}

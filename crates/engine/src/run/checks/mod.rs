//! What judges the work of a session.
//!
//! A [`Check`] looks at the candidate itself, before any command runs. [`CHECKS`] has them in their order, and the first
//! that reports something ends them: a report that fails refuses the work, one that passes accepts it without gates.
//! Then come the gates of the user ([`crate::gates`]), each compared with what it said before the first session
//! (`baseline`).
//!
//! To add a check: one file with a unit struct, and one line in [`CHECKS`].

pub(in crate::run) mod baseline;
pub(in crate::run) mod deliverable;
mod forbidden;
mod gate;
mod place;
mod plan_shape;
mod protected;
mod weakened;

use ralph_core::run::GateReport;

use super::ports::{Failed, Ports};
use super::slot_state::SlotState;
use crate::ports::Candidate;

/// A check of the candidate that runs no command.
pub(in crate::run) trait Check: Sync {
    /// Its report, where it has something to say about the work that decides. What is only worth knowing goes to the
    /// user as a notice.
    fn run(
        &self,
        ports: &Ports,
        slot: &mut SlotState,
        candidate: &Candidate,
    ) -> Result<Option<GateReport>, Failed>;
}

/// Every check, in the order in which they run.
const CHECKS: &[&dyn Check] = &[
    &deliverable::DeliverableCheck,
    &plan_shape::PlanShape,
    &place::Place,
    &forbidden::ForbiddenFiles,
    &weakened::WeakenedTests,
    &protected::ProtectedFiles,
];

impl Ports {
    /// The report that ends the checks of a candidate, if any does.
    pub(super) fn check_candidate(
        &self,
        slot: &mut SlotState,
        candidate: &Candidate,
    ) -> Result<Option<GateReport>, Failed> {
        for check in CHECKS {
            if let Some(report) = check.run(self, slot, candidate)? {
                return Ok(Some(report));
            }
        }
        Ok(None)
    }
}

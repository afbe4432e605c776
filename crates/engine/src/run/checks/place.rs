//! Refuses work that a session did on another branch than that of its worktree.

use ralph_core::records::Verdict;
use ralph_core::run::{GateReport, MERGE};

use super::Check;
use crate::ports::Candidate;
use crate::run::ports::{Failed, Ports};
use crate::run::slot_state::SlotState;

pub(super) struct Place;

impl Check for Place {
    fn run(
        &self,
        _: &Ports,
        slot: &mut SlotState,
        _: &Candidate,
    ) -> Result<Option<GateReport>, Failed> {
        let refused = slot.off_branch.as_deref().map(|digest| GateReport {
            exit_code: Some(1),
            ..GateReport::of_check(MERGE, Verdict::Fail, digest)
        });
        Ok(refused)
    }
}

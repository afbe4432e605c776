//! Fair landing: detects a conflict before ralph pays for a verifier, and locks a branch that keeps moving while
//! ralph judges work for it.

use ralph_core::records::Verdict;
use ralph_core::run::Input;

use super::ports::{Answer, Failed, Ports};
use super::slot_state::SlotState;
use super::workspace::Workspace;
use crate::ports::GitError;

/// How often ralph retries to lock a branch that moves at that moment.
pub(super) const TRIES: u32 = 20;

impl Ports {
    /// The result of the gates; if they passed and ralph should look, with the conflict between the work and landed
    /// commits.
    pub(super) fn with_conflict(
        &self,
        slot: &SlotState,
        mut judged: Input,
        foresee: bool,
    ) -> Answer {
        let (Some(pool), Some(candidate), Some(from)) =
            (&self.setup.work.pool, &slot.candidate, slot.workspace().base().head)
        else {
            return Ok(judged);
        };
        if let Input::Judged { gates, conflict, .. } = &mut judged
            && foresee
            && gates.iter().all(|gate| gate.verdict == Verdict::Pass)
        {
            let tip = pool.trunk.tip()?;
            if let Some((files, text)) = pool.trunk.conflicts(&from, &candidate.tree, &tip)? {
                *conflict = Some(self.conflict(pool, (&from, &tip), files, &text)?);
            }
        }
        Ok(judged)
    }

    /// Locks the branch that the work is committed to.
    pub(super) fn hold_in_place(
        &self,
        slot: &mut SlotState,
        workspace: &Workspace,
    ) -> Result<(), Failed> {
        self.try_to_hold(slot, || workspace.vcs.hold()).map(drop)
    }

    /// Locks a branch, unless that is impossible: then the work is judged as before, and the user knows why
    /// others may overtake it again. `false` when the branch moved.
    pub(super) fn try_to_hold(
        &self,
        slot: &mut SlotState,
        hold: impl Fn() -> Result<bool, GitError>,
    ) -> Result<bool, Failed> {
        match hold() {
            Ok(held) => {
                slot.holds = held;
                Ok(held)
            }
            Err(error @ GitError::Failed { .. }) => {
                self.notice(format!("ralph cannot lock the branch: {error}"));
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The branch that was held for this slot may move again.
    pub(super) fn release_branch(&self, slot: &mut SlotState) {
        if !std::mem::take(&mut slot.holds) {
            return;
        }
        match &self.setup.work.pool {
            Some(pool) => pool.trunk.release(),
            None => slot.workspace().vcs.release(),
        }
    }
}

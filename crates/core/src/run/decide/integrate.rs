//! Landing: from accepted work in a task's worktree to the branch of the run, one task at a time.

use super::Draft;
use super::settle::settlement;
use crate::run::SlotId;
use crate::run::class::Class;
use crate::run::control::Cancel;
use crate::run::effect::Effect;
use crate::run::fact::Fact;
use crate::run::landing::{Conflict, Landing};
use crate::run::notice::Notice;
use crate::run::slot::{OVERTAKES, Phase, Slot};

impl Draft {
    /// Queues judged work to land, if it was accepted and lands at all; else records the result.
    pub(super) fn conclude(&mut self, slot: SlotId) {
        if self.is_to_land(slot) {
            self.fact(Fact::Queued { slot });
        } else {
            self.settle(slot);
        }
    }

    fn is_to_land(&self, slot: SlotId) -> bool {
        let Some(current) = self.slot(slot) else { return false };
        self.state.policy.integrates
            && current.work().is_some_and(|work| work.landing.is_none())
            && settlement(&self.state, current).is_some_and(|decided| decided.class == Class::Done)
    }

    /// Gives the turn to the slot that waits longest, when no slot has it.
    pub(super) fn next_turn(&mut self) {
        let slots = &self.state.slots;
        if slots.iter().any(Slot::has_turn) {
            return;
        }
        let waiting = slots.iter().zip(0..).filter_map(|(slot, id)| match slot.phase {
            Phase::Queued(_, place) => Some((place, id)),
            _ => None,
        });
        let Some((_, next)) = waiting.min() else { return };
        self.fact(Fact::Integrating { slot: next });
        self.integrate(next);
    }

    /// Asks to rebase the work onto work that has landed.
    pub(super) fn integrate(&mut self, slot: SlotId) {
        let decided = self.slot(slot).and_then(|slot| settlement(&self.state, slot));
        match decided.filter(|decided| decided.class == Class::Done) {
            Some(decided) => {
                let commit = decided.commit.map(Box::new);
                let hold = self.slot(slot).is_some_and(Slot::is_overtaken);
                self.effect(Effect::Integrate { slot, commit, gates: decided.gates, hold });
            }
            // The task was skipped or its claim lost.
            None => self.settle(slot),
        }
    }

    pub(super) fn integrated(
        &mut self,
        slot: SlotId,
        onto: Option<&String>,
        tree: &str,
        landing: &Landing,
    ) {
        let (onto, tree, landing) = (onto.cloned(), tree.to_owned(), landing.clone());
        let again = landing == Landing::Rebased;
        self.fact(Fact::Integrated { slot, onto, tree, landing });
        let wanted = self.slot(slot).is_some_and(Slot::is_wanted);
        if again && wanted && self.state.cancel < Some(Cancel::Now) {
            self.judge(slot);
        } else {
            self.settle(slot);
        }
    }

    /// The work passed the gates but conflicts with work that has landed: running a verifier would waste money.
    pub(super) fn conflicts_already(&mut self, slot: SlotId, tree: &str, conflict: &Conflict) {
        let landing = Landing::Conflict(conflict.clone());
        self.fact(Fact::Integrated { slot, onto: None, tree: tree.to_owned(), landing });
        self.settle(slot);
    }

    /// Says once that the branch moves faster than the gates judge, and what ralph does about it.
    pub(super) fn report_overtakes(&mut self, slot: SlotId) {
        let current = self.slot(slot).and_then(Slot::iteration);
        let Some(current) = current.filter(|iteration| iteration.overtaken == OVERTAKES) else {
            return;
        };
        let task = current.task.as_ref().map(|task| task.id.clone());
        self.notice(Notice::Overtaken { task, times: OVERTAKES, gates_ms: current.gates_ms });
    }

    /// Takes the work out of the queue.
    pub(super) fn leave_queue(&mut self, slot: SlotId) {
        if self.slot(slot).is_some_and(|slot| matches!(slot.phase, Phase::Queued(..))) {
            self.settle(slot);
        }
    }
}

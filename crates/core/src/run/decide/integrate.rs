//! From a good tree in a worktree of its own to the branch of the run, one at a time.

use super::Draft;
use super::settle::settlement;
use crate::run::SlotId;
use crate::run::class::Class;
use crate::run::control::Cancel;
use crate::run::effect::Effect;
use crate::run::fact::Fact;
use crate::run::input::Input;
use crate::run::landing::Landing;
use crate::run::notice::Notice;
use crate::run::slot::{OVERTAKES, Phase, Slot};

impl Draft {
    /// What was judged waits for its turn to land, if it is good and has to; else it is written down.
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
            && current.landing.is_none()
            && settlement(&self.state, current).is_some_and(|decided| decided.class == Class::Done)
    }

    /// Gives the turn to whoever waits longest for it, when nobody has it.
    pub(super) fn next_turn(&mut self) {
        let slots = &self.state.slots;
        if slots.iter().any(|slot| slot.turn) {
            return;
        }
        let waiting = slots.iter().enumerate().filter(|(_, slot)| slot.phase == Phase::Queued);
        let Some((next, _)) = waiting.min_by_key(|(_, slot)| slot.queued) else { return };
        let next = next as SlotId;
        self.fact(Fact::Integrating { slot: next });
        self.integrate(next);
    }

    /// Asks for the work to be brought onto what has landed.
    pub(super) fn integrate(&mut self, slot: SlotId) {
        let decided = self.slot(slot).and_then(|slot| settlement(&self.state, slot));
        match decided.filter(|decided| decided.class == Class::Done) {
            Some(decided) => {
                let commit = decided.commit.map(Box::new);
                let hold = self.slot(slot).is_some_and(Slot::is_overtaken);
                self.effect(Effect::Integrate { slot, commit, hold });
            }
            // It is not wanted any more.
            None => self.settle(slot),
        }
    }

    pub(super) fn integrated(
        &mut self,
        input: &Input,
        slot: SlotId,
        onto: &Option<String>,
        tree: &str,
        landing: &Landing,
    ) {
        if self.phase(slot) != Some(Phase::Integrating) {
            self.anomaly(input, Some(slot));
            return;
        }
        let (onto, tree, landing) = (onto.clone(), tree.to_owned(), landing.clone());
        let again = landing == Landing::Rebased;
        self.fact(Fact::Integrated { slot, onto, tree, landing });
        let wanted = self.slot(slot).is_some_and(Slot::is_wanted);
        if again && wanted && self.state.cancel < Some(Cancel::Now) {
            self.effect(Effect::Judge { slot });
        } else {
            self.settle(slot);
        }
    }

    /// The gates passed the work, but it cannot land as it is: a verifier would be paid for nothing.
    pub(super) fn conflicts_already(&mut self, slot: SlotId, tree: &str, files: &[String]) {
        let landing = Landing::Conflict { files: files.to_vec() };
        self.fact(Fact::Integrated { slot, onto: None, tree: tree.to_owned(), landing });
        self.settle(slot);
    }

    /// Says once that the branch moves faster than the gates judge, and what ralph does about it.
    pub(super) fn tell_of_overtakes(&mut self, slot: SlotId) {
        let Some(current) = self.slot(slot).filter(|slot| slot.overtaken == OVERTAKES) else {
            return;
        };
        let task = current.task.as_ref().map(|task| task.id.clone());
        let notice = Notice::Overtaken { task, times: OVERTAKES, gates_ms: current.gates_ms };
        self.fact(Fact::Noticed { notice });
    }

    /// The work is not to land any more.
    pub(super) fn leave_queue(&mut self, slot: SlotId) {
        if self.phase(slot) == Some(Phase::Queued) {
            self.settle(slot);
        }
    }
}

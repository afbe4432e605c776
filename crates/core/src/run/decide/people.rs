//! What people tell a running loop.

use super::Draft;
use crate::run::SlotId;
use crate::run::control::Control;
use crate::run::effect::{Effect, Stopping};
use crate::run::fact::{Fact, Wait};
use crate::run::outcome::StopReason;
use crate::run::slot::Phase;
use crate::run::state::Cancel;

impl Draft {
    pub(super) fn control(&mut self, control: &Control) {
        let before = self.state.cancel;
        self.fact(Fact::ControlReceived { control: control.clone() });
        let slots = 0..self.state.slots.len() as SlotId;
        match control {
            Control::Pause => {}
            Control::Resume => {
                for slot in slots {
                    let paused =
                        |slot: &crate::run::Slot| matches!(slot.wait, Some((Wait::Paused, _)));
                    if self.slot(slot).is_some_and(paused) {
                        self.fact(Fact::WaitEnded { slot });
                        self.look(slot);
                    }
                }
            }
            Control::Cancel { .. } => {
                if self.state.cancel > before {
                    self.stop_publishing();
                    self.cancel_slots();
                }
            }
            Control::Skip { task } => {
                let running = slots
                    .into_iter()
                    .find(|slot| self.slot(*slot).is_some_and(|slot| slot.holds(task)));
                match running {
                    Some(slot) => {
                        self.effect(Effect::StopSession { slot, how: Stopping::Kill });
                        self.stop_waiting_for_verdict(slot);
                        self.leave_queue(slot);
                    }
                    None => self.effect(Effect::HoldTask { task: task.clone() }),
                }
            }
            Control::Retry { task } => self.effect(Effect::ResetTask { task: task.clone() }),
        }
    }

    fn cancel_slots(&mut self) {
        let how = match self.state.cancel {
            Cancel::No => return,
            Cancel::Soft => Stopping::Interrupt,
            Cancel::Now => Stopping::Kill,
        };
        for slot in 0..self.state.slots.len() as SlotId {
            let Some(current) = self.slot(slot).cloned() else { continue };
            match current.phase {
                Phase::Running | Phase::Verifying => {
                    self.effect(Effect::StopSession { slot, how });
                }
                Phase::Judging if how == Stopping::Kill => {
                    self.effect(Effect::StopSession { slot, how });
                }
                Phase::Queued if how == Stopping::Kill => self.leave_queue(slot),
                _ => {}
            }
            if current.wait.is_some() {
                self.fact(Fact::WaitEnded { slot });
                self.effect(Effect::StopWaiting { slot });
                if current.phase != Phase::Free {
                    self.take_up_again(slot, &current);
                }
            }
        }
        if self.state.slots.iter().all(|slot| slot.phase == Phase::Free) {
            self.stop(StopReason::Cancelled);
        }
    }
}

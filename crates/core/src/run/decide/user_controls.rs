//! Controls from the user: pause, resume, cancel, skip, retry, tell.

use super::Draft;
use crate::run::SlotId;
use crate::run::control::{Cancel, Control};
use crate::run::effect::{Effect, Stopping};
use crate::run::fact::{Fact, Wait};
use crate::run::slot::{Phase, Slot};

impl Draft {
    pub(super) fn control(&mut self, control: &Control) {
        let before = self.state.cancel;
        self.fact(Fact::ControlReceived { control: control.clone() });
        let slots = self.slots();
        match control {
            Control::Pause => {}
            Control::Resume => {
                for slot in slots {
                    let paused = |slot: &Slot| matches!(slot.wait, Some((Wait::Paused, _)));
                    if self.slot(slot).is_some_and(paused) {
                        self.fact(Fact::WaitEnded { slot });
                        self.survey(slot);
                    }
                }
            }
            Control::Cancel(_) => {
                if self.state.cancel > before {
                    self.stop_publishing();
                    self.cancel_slots();
                }
            }
            Control::Skip { task } => {
                match slots.into_iter().find(|slot| self.state.holds(*slot, task)) {
                    Some(slot) => {
                        self.effect(Effect::StopSession { slot, how: Stopping::Kill });
                        self.stop_waiting_for_verdict(slot);
                        self.leave_queue(slot);
                    }
                    None => self.effect(Effect::HoldTask { task: task.clone() }),
                }
            }
            Control::Tell { task, message } => {
                let runs =
                    |slot: &Slot| slot.holds(task) && matches!(slot.phase, Phase::Running(_));
                if let Some(slot) = slots.into_iter().find(|at| self.slot(*at).is_some_and(runs)) {
                    let (task, message) = (task.clone(), message.clone());
                    self.effect(Effect::Say { slot, task, message });
                }
            }
            Control::Retry { task } => self.effect(Effect::ResetTask { task: task.clone() }),
        }
    }

    /// Ctrl-C: each one takes the run a level further.
    pub(super) fn ctrl_c(&mut self) {
        self.control(&Control::Cancel(Cancel::pressed(self.state.cancel)));
    }

    fn cancel_slots(&mut self) {
        let Some(cancel) = self.state.cancel else { return };
        for slot in self.slots() {
            let Some(current) = self.slot(slot).cloned() else { continue };
            if let Some(how) = stopping(cancel, &current) {
                self.effect(Effect::StopSession { slot, how });
            }
            if cancel >= Cancel::Now {
                self.leave_queue(slot);
            }
            // A retry that waits belongs to a current task, which may still finish.
            if current.wait.is_some()
                && !(cancel == Cancel::AfterTask && current.has_task_in_hand())
            {
                self.end_wait(slot, &current);
            }
        }
        if !self.state.slots.iter().any(Slot::is_busy) {
            self.end_if_cancelled();
        }
    }

    /// Ends a wait: the slot starts nothing new, and work in progress continues at once.
    fn end_wait(&mut self, slot: SlotId, current: &Slot) {
        if self.leave_wait(slot, current) {
            return;
        }
        self.stop_waiting(slot);
        if current.is_busy() {
            self.take_up_again(slot);
        }
    }
}

/// How to stop what runs in the slot; `None` where it may continue.
fn stopping(cancel: Cancel, slot: &Slot) -> Option<Stopping> {
    let how = match cancel {
        Cancel::AfterTask => return None,
        // It is being prepared: that is not a running session yet.
        Cancel::AfterSession => {
            let Phase::Running(iteration) = &slot.phase else { return None };
            return (!iteration.started).then_some(Stopping::Interrupt);
        }
        Cancel::Now => Stopping::Interrupt,
        Cancel::Kill => Stopping::Kill,
    };
    slot.runs_a_process().then_some(how)
}

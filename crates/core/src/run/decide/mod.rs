//! Decides what follows from an input. Pure: the same state, input and time give the same step.
//!
//! The input is matched first, exhaustively; then the phase of its slot, whose last arm is always
//! [`Draft::anomaly`]: an answer that no slot waits for is recorded and changes nothing.

mod after;
mod integrate;
mod publish;
mod session;
mod settle;
mod survey;
#[cfg(test)]
mod tests;
mod unsignaled;
mod user_controls;
mod verify;

use super::SlotId;
use super::class::Class;
use super::effect::Effect;
use super::fact::{Fact, Wait};
use super::input::Input;
use super::outcome::StopReason;
use super::slot::{Phase, Slot};
use super::state::RunState;
use crate::time::Timestamp;

/// What follows from an input: facts first, then effects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// What happened. Written to the journal before any effect is carried out.
    pub facts: Vec<Fact>,
    /// What to do.
    pub effects: Vec<Effect>,
}

/// The step that follows from an input.
pub fn decide(state: &RunState, input: &Input, now: Timestamp) -> Step {
    let mut draft = Draft { state: state.clone(), now, step: Step::default() };
    if state.ended {
        draft.anomaly(input, None);
        return draft.step;
    }
    match input {
        Input::Begin { started, notices } => draft.begin(input, started, notices),
        Input::Surveyed { slot, survey } => draft.surveyed(input, *slot, survey),
        Input::Claimed { slot, task } => draft.claimed(input, *slot, task),
        Input::Peeked { slot, offered, about } => {
            draft.peeked(input, *slot, *offered, about.as_ref());
        }
        Input::NothingToClaim { slot } => draft.nothing_to_claim(input, *slot),
        Input::WorkFound { slot, task } => draft.work_found(input, *slot, task),
        Input::SessionStarted { slot, log } => draft.session_started(input, *slot, log),
        Input::SessionEnded { slot, report } => draft.session_ended(input, *slot, report),
        Input::CandidateMade { slot, .. } => draft.candidate_made(input, *slot),
        Input::Judged { slot, .. } => draft.judged(input, *slot),
        Input::Verified { slot, report } => draft.verified(input, *slot, report),
        Input::Integrated { slot, onto, tree, landing } => {
            draft.integrated(input, *slot, onto, tree, landing);
        }
        Input::Settled { slot, settled } => draft.settled(input, *slot, settled),
        Input::HeadMoved { slot } => draft.head_moved(input, *slot),
        Input::HookRefused { slot, gate } => draft.hook_refused(input, *slot, gate),
        Input::ClaimLost { agent, task } => draft.claim_lost(input, agent, task),
        Input::PortFailed { slot, port, error, for_good } => {
            draft.port_failed(input, *slot, *port, error, *for_good);
        }
        Input::Woken { slot } => draft.woken(input, *slot),
        Input::Published(publication) => draft.published(input, publication),
        Input::Reviewed(review) => draft.reviewed(input, review),
        Input::Control(control) => draft.control(control),
        Input::CtrlC => draft.ctrl_c(),
        Input::Notice(notice) => draft.fact(Fact::Noticed { notice: notice.clone() }),
        Input::GateStarted { slot, gate } => {
            draft.fact(Fact::GateStarted { slot: *slot, gate: gate.clone() });
        }
    }
    draft.next_turn();
    draft.finish_when_free();
    draft.step
}

/// A step in the making, and the state that its facts lead to.
struct Draft {
    state: RunState,
    now: Timestamp,
    step: Step,
}

impl Draft {
    fn fact(&mut self, fact: Fact) {
        self.state.evolve(&fact, self.now);
        self.step.facts.push(fact);
    }

    fn effect(&mut self, effect: Effect) {
        self.step.effects.push(effect);
    }

    fn slot(&self, slot: SlotId) -> Option<&Slot> {
        self.state.slot(slot)
    }

    fn phase(&self, slot: SlotId) -> Option<Phase> {
        self.slot(slot).map(|slot| slot.phase)
    }

    /// Records an input that the phase does not expect.
    fn anomaly(&mut self, input: &Input, slot: Option<SlotId>) {
        let phase = slot.and_then(|slot| self.phase(slot));
        let phase = phase.map_or_else(|| "none".to_owned(), |phase| format!("{phase:?}"));
        self.fact(Fact::Anomaly { input: input.name().to_owned(), phase });
    }

    /// The slot looks for work, unless the run is ending or paused.
    fn survey(&mut self, slot: SlotId) {
        if self.state.stop.is_some() {
            return;
        }
        if !self.state.may_begin(slot) {
            self.leave(slot);
            return;
        }
        if self.state.paused {
            self.wait(slot, Wait::Paused, None);
            return;
        }
        self.fact(Fact::Surveying { slot });
        self.effect(Effect::Survey { slot });
    }

    /// The slot starts nothing until the wait is over.
    fn wait(&mut self, slot: SlotId, wait: Wait, until: Option<Timestamp>) {
        let on_change = matches!(wait, Wait::Others { .. });
        let silent = matches!(wait, Wait::Paused);
        self.fact(Fact::WaitStarted { slot, wait, until });
        if !silent {
            self.effect(Effect::Wake { slot, at: until, on_change });
        }
    }

    /// The run is going to end. The first reason stands.
    fn stop(&mut self, reason: StopReason) {
        if self.state.stop.is_some() {
            return;
        }
        self.fact(Fact::StopDecided { reason });
        for slot in 0..self.state.slots.len() as SlotId {
            let waiting = self.slot(slot).filter(|slot| slot.wait.is_some()).cloned();
            if let Some(current) = waiting {
                self.leave_wait(slot, &current);
            }
        }
    }

    /// Ends a wait before a start: the slot starts nothing. `false` where it waits for something else.
    fn leave_wait(&mut self, slot: SlotId, current: &Slot) -> bool {
        match current.phase {
            Phase::Surveying | Phase::Claiming => {
                self.effect(Effect::StopWaiting { slot });
                self.free(slot);
            }
            Phase::Running => {
                self.effect(Effect::StopWaiting { slot });
                self.give_slot_up(slot, current);
            }
            Phase::Verifying => {
                self.effect(Effect::StopWaiting { slot });
                self.fact(Fact::WaitEnded { slot });
                self.unverified(slot, Class::Cancelled, "the run ended first".to_owned());
            }
            Phase::Free
            | Phase::Candidate
            | Phase::Judging
            | Phase::Queued
            | Phase::Integrating
            | Phase::Settling => return false,
        }
        true
    }

    /// The slot starts nothing more in a run that is being cancelled.
    fn leave(&mut self, slot: SlotId) {
        if self.slot(slot) != Some(&Slot::default()) {
            self.free(slot);
        }
        self.end_if_cancelled();
    }

    /// The slot has nothing under way any more.
    fn free(&mut self, slot: SlotId) {
        self.fact(Fact::SlotFreed { slot });
    }

    /// Ends the run once it is to end and no slot has anything under way.
    fn finish_when_free(&mut self) {
        let Some(reason) = self.state.stop.clone() else { return };
        if self.state.ended || self.state.slots.iter().any(|slot| slot.phase != Phase::Free) {
            return;
        }
        if self.publishes(&reason) {
            return;
        }
        let waiting: Vec<SlotId> = (0..self.state.slots.len() as SlotId)
            .filter(|slot| self.slot(*slot).is_some_and(|slot| slot.wait.is_some()))
            .collect();
        for slot in waiting {
            self.fact(Fact::WaitEnded { slot });
            self.effect(Effect::StopWaiting { slot });
        }
        let outcome = self.state.outcome(reason, self.now);
        self.fact(Fact::RunEnded { outcome: outcome.clone() });
        self.effect(Effect::Finish { outcome });
    }
}

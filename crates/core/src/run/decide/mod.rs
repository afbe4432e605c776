//! Decides what follows from an input. Pure: the same state, input and time give the same step.
//!
//! [`decide`] is the table: which input meets which phase of its slot, and the function that says what follows. An
//! input that fits no row is recorded as an anomaly and changes nothing. The rows of an iteration, in order:
//!
//! | phase | input | file |
//! |---|---|---|
//! | `Surveying`, `Claiming` | the plan was read, a task was claimed | `survey` |
//! | `Running`, `Candidate`, `Judging` | the session ended, its tree was written, the gates judged | `session` |
//! | `Verifying` | the verifier ended | `verify` |
//! | `Queued`, `Integrating` | the work was rebased onto the branch | `integrate` |
//! | `Settling` | the result was recorded | `settle`, then `after` |
//!
//! `agents` decides which agent works where a run has several.

mod after;
mod agents;
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

use std::ops::Range;

use super::SlotId;
use super::class::Class;
use super::effect::Effect;
use super::fact::{Fact, Wait};
use super::input::Input;
use super::notice::Notice;
use super::outcome::StopReason;
use super::publish::Publishing;
use super::slot::{Phase, Slot};
use super::state::RunState;
use crate::time::Timestamp;

/// What follows from an input: facts first, then effects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// What happened. Written to the journal before any effect is carried out.
    pub facts: Vec<Fact>,
    pub effects: Vec<Effect>,
}

/// The step that follows from an input.
pub fn decide(state: &RunState, input: &Input, now: Timestamp) -> Step {
    let mut draft = Draft { state: state.clone(), now, step: Step::default() };
    if state.ended {
        draft.anomaly(input, None);
        return draft.step;
    }
    let at = slot_of(state, input);
    let slot = at.and_then(|at| state.slot(at));
    let at = at.unwrap_or_default();
    match (input, slot.map(|slot| &slot.phase)) {
        // The run as a whole.
        (Input::Begin { started, notices }, _) if state.may_start(started) => {
            draft.begin(started, notices);
        }
        (Input::Control(control), _) => draft.control(control),
        (Input::CtrlC, _) => draft.ctrl_c(),
        (Input::Notice(notice), _) => draft.notice(notice.clone()),
        (Input::Published(publication), _) if state.publishing == Publishing::UnderWay => {
            draft.published(publication);
        }
        (Input::Reviewed(review), _) if state.publishing == Publishing::Watching => {
            draft.reviewed(review);
        }

        // From the plan to a session.
        (Input::Surveyed { survey, .. }, Some(Phase::Surveying)) => draft.surveyed(at, survey),
        (Input::Claimed { task, .. }, Some(Phase::Claiming)) => draft.claimed(at, task),
        (Input::Peeked { offered, about, .. }, Some(Phase::Claiming)) => {
            draft.peeked(at, *offered, about.as_ref());
        }
        (Input::NothingToClaim { .. }, Some(Phase::Claiming)) => draft.nothing_to_claim(at),
        (Input::Parked { .. }, Some(Phase::Claiming)) => draft.survey(at),
        (Input::WorkFound { task, .. }, Some(Phase::Running(iteration)))
            if iteration.task.as_ref().is_some_and(|held| held.id == task.id) =>
        {
            draft.work_found(at, task);
        }
        (Input::WorkMissing { task, why, .. }, Some(Phase::Running(iteration)))
            if iteration.task.as_ref().is_some_and(|held| held.id == *task) =>
        {
            draft.work_missing(at, why);
        }
        (Input::SessionStarted { log, .. }, Some(Phase::Running(_) | Phase::Verifying(_))) => {
            draft.session_started(at, log);
        }

        (
            Input::MessageGiven { task, message, live, .. },
            Some(Phase::Running(_) | Phase::Candidate(_)),
        ) => draft.message_given(at, task, message, *live),

        // From the end of a session to a judged tree.
        (Input::SessionEnded { report, .. }, Some(Phase::Running(_))) => {
            draft.session_ended(at, report);
        }
        (
            Input::CandidateMade { tree, files, file_count, plan_only, .. },
            Some(Phase::Candidate(_)),
        ) => {
            draft.candidate_made(at, tree, (files, *file_count), *plan_only);
        }
        (Input::GateStarted { gate, timeout_ms, .. }, _) => {
            let (gate, timeout_ms) = (gate.clone(), *timeout_ms);
            draft.fact(Fact::GateStarted { slot: at, gate, timeout_ms });
        }
        (Input::StepStarted { step, timeout_ms, .. }, _) => {
            draft.fact(Fact::StepStarted { slot: at, step: *step, timeout_ms: *timeout_ms });
        }
        (
            Input::Judged { tree, gates, tree_changed_while_judging, conflict, change, .. },
            Some(Phase::Judging(_)),
        ) => {
            let unstable = *tree_changed_while_judging;
            draft.judged(at, tree, (gates, unstable), conflict.as_ref(), change);
        }
        (Input::Verified { report, .. }, Some(Phase::Verifying(_))) => draft.verified(at, report),

        // From accepted work to a recorded result.
        (Input::Integrated { onto, tree, landing, .. }, Some(Phase::Integrating(_))) => {
            draft.integrated(at, onto.as_ref(), tree, landing);
        }
        (Input::HookRefused { gate, .. }, Some(Phase::Settling(..) | Phase::Integrating(_))) => {
            draft.hook_refused(at, gate);
        }
        (Input::HeadMoved { .. }, Some(Phase::Settling(..) | Phase::Integrating(_))) => {
            draft.head_moved(at);
        }
        (Input::Settled { settled, .. }, Some(Phase::Settling(work, _))) => {
            draft.settled(at, work, settled);
        }

        // What can happen in any phase of an iteration.
        (Input::ClaimLost { task, .. }, Some(phase))
            if !matches!(phase, Phase::Settling(..)) && state.holds(at, task) =>
        {
            draft.claim_lost(at, task);
        }
        (Input::PortFailed { port, error, for_good, .. }, Some(phase)) if *phase != Phase::Free => {
            draft.port_failed(at, *port, error, *for_good);
        }
        (Input::Woken { .. }, Some(_)) if state.can_be_woken(at) => draft.woken(at),

        // A claim that no slot waits for would block the task for everyone.
        (Input::Claimed { task, .. }, _) => {
            draft.anomaly(input, slot);
            draft.effect(Effect::Release { slot: at, task: task.id.clone() });
        }
        (
            Input::Begin { .. }
            | Input::Published(_)
            | Input::Reviewed(_)
            | Input::Surveyed { .. }
            | Input::Peeked { .. }
            | Input::NothingToClaim { .. }
            | Input::Parked { .. }
            | Input::WorkFound { .. }
            | Input::WorkMissing { .. }
            | Input::SessionStarted { .. }
            | Input::MessageGiven { .. }
            | Input::SessionEnded { .. }
            | Input::CandidateMade { .. }
            | Input::Judged { .. }
            | Input::Verified { .. }
            | Input::Integrated { .. }
            | Input::HookRefused { .. }
            | Input::HeadMoved { .. }
            | Input::Settled { .. }
            | Input::ClaimLost { .. }
            | Input::PortFailed { .. }
            | Input::Woken { .. },
            _,
        ) => draft.anomaly(input, slot),
    }
    draft.next_turn();
    draft.finish_when_free();
    draft.step
}

/// The slot that an input is about.
fn slot_of(state: &RunState, input: &Input) -> Option<SlotId> {
    match input {
        Input::ClaimLost { agent, .. } => {
            let slot = state.agent_ids.iter().position(|id| id == agent);
            slot.map(|slot| slot as SlotId)
        }
        _ => input.slot(),
    }
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

    /// The slots of the run.
    fn slots(&self) -> Range<SlotId> {
        0..self.state.slots.len() as SlotId
    }

    fn notice(&mut self, notice: Notice) {
        self.fact(Fact::Noticed { notice });
    }

    /// Records an input that the phase does not expect.
    fn anomaly(&mut self, input: &Input, slot: Option<&Slot>) {
        let phase = slot.map_or("none", |slot| slot.phase.name()).to_owned();
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
        for slot in self.slots() {
            let waiting = self.slot(slot).filter(|slot| slot.wait.is_some()).cloned();
            if let Some(current) = waiting {
                self.leave_wait(slot, &current);
            }
        }
    }

    /// Ends a wait, if there is one.
    fn stop_waiting(&mut self, slot: SlotId) {
        if self.slot(slot).is_some_and(|slot| slot.wait.is_some()) {
            self.fact(Fact::WaitEnded { slot });
            self.effect(Effect::StopWaiting { slot });
        }
    }

    /// Ends a wait before a start: the slot starts nothing. `false` where it waits for something else.
    fn leave_wait(&mut self, slot: SlotId, current: &Slot) -> bool {
        match &current.phase {
            Phase::Surveying | Phase::Claiming => {
                self.effect(Effect::StopWaiting { slot });
                self.free(slot);
            }
            // Its session is over and was paid for: what it did is recorded.
            Phase::Running(iteration) if iteration.started => return false,
            Phase::Running(_) => {
                self.effect(Effect::StopWaiting { slot });
                self.give_slot_up(slot, current);
            }
            Phase::Verifying(_) => {
                self.effect(Effect::StopWaiting { slot });
                self.fact(Fact::WaitEnded { slot });
                self.unverified(slot, Class::Cancelled, "the run ended first".to_owned());
            }
            Phase::Free
            | Phase::Candidate(_)
            | Phase::Judging(_)
            | Phase::Queued(..)
            | Phase::Integrating(_)
            | Phase::Settling(..) => return false,
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
        if self.state.ended || self.state.slots.iter().any(Slot::is_busy) {
            return;
        }
        if self.publishes(&reason) {
            return;
        }
        for slot in self.slots() {
            self.stop_waiting(slot);
        }
        let outcome = self.state.outcome(reason, self.now);
        self.fact(Fact::RunEnded { outcome: outcome.clone() });
        self.effect(Effect::Finish { outcome });
    }
}

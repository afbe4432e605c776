//! Carries out effects: each is an activity that has the state of its slot, and whose answer is an input. Anything that may block runs on a thread that may; that thread takes the next step of the
//! loop itself and continues with its effects, because every switch between threads is noticeable when sessions are
//! short.

pub(in crate::run) mod integrate;
pub(in crate::run) mod judge;
pub(in crate::run) mod publish;
mod review;
pub(in crate::run) mod session;
mod session_listener;
mod settle;
pub(in crate::run) mod survey;
mod verify;

use std::sync::Arc;

use ralph_core::AgentId;
use ralph_core::TaskId;
use ralph_core::run::{Effect, Port, SlotId, Stopping};
use ralph_core::task::Actor;

use tokio::sync::oneshot;

use crate::ports::StoreError;
use crate::process::Stop;
use crate::run::activity::session::Job;
use crate::run::ports::{Answer, Failed, Ports};
use crate::run::slot_state::SlotState;

/// An activity that ends with an answer and may wait for files, git and the store meanwhile.
type Work = Box<dyn FnOnce(&Arc<Ports>) -> Vec<Effect> + Send>;

impl Ports {
    /// Starts an effect. `Finish` is the dispatcher's own.
    pub(in crate::run) fn start(self: &Arc<Self>, effect: Effect) {
        if let Some(work) = self.begin(effect) {
            let ports = Arc::clone(self);
            self.tasks().spawn_blocking(move || ports.go_on(work));
        }
    }

    /// Does the work, and then the effects that follow.
    fn go_on(self: &Arc<Self>, work: Work) {
        let mut mine = Some(work);
        while let Some(work) = mine.take() {
            for effect in work(self) {
                match mine {
                    None => mine = self.begin(effect),
                    Some(_) => self.start(effect),
                }
            }
        }
    }

    /// Starts an effect, or returns the work that it takes.
    fn begin(self: &Arc<Self>, effect: Effect) -> Option<Work> {
        match effect {
            Effect::Survey { slot } => {
                return self.activity(slot, |ports, slot| ports.survey(slot));
            }
            Effect::Claim { slot, only } => {
                return self.activity(slot, move |ports, slot| ports.claim(slot, only.as_ref()));
            }
            Effect::Peek { slot } => {
                return self.activity(slot, |ports, slot| ports.plan.peek(ports, slot));
            }
            Effect::RunSession {
                slot,
                iteration,
                task,
                model,
                agent,
                overridden,
                raised,
                earlier,
            } => {
                let task = task.map(|task| *task);
                let job = Job { iteration, task, model, agent, overridden, raised, earlier };
                let slot = self.take_slot(slot)?;
                return Some(Box::new(move |ports| ports.begin_session(slot, job)));
            }
            Effect::ReportSession { slot } => {
                return self.activity(slot, |ports, slot| ports.report_session(slot));
            }
            Effect::StopSession { slot, how } => {
                let stop = match how {
                    Stopping::Interrupt => Stop::Interrupt,
                    Stopping::Kill => Stop::Kill,
                };
                self.stop(slot).send_if_modified(|now| {
                    let rises = stop > *now;
                    *now = stop.max(*now);
                    rises
                });
            }
            Effect::MakeCandidate { slot, hold } => {
                return self.activity(slot, move |ports, slot| ports.make_candidate(slot, hold));
            }
            Effect::Judge { slot, foresee } if self.setup.gates.specs.is_empty() => {
                return self.activity(slot, move |ports, slot| {
                    let answer = ports.judge_without_gates(slot)?;
                    ports.with_conflict(slot, answer, foresee)
                });
            }
            Effect::Judge { slot, foresee } => {
                let slot = self.take_slot(slot)?;
                self.tasks().spawn(Arc::clone(self).judge(slot, foresee));
            }
            Effect::Verify { slot, tasks, gates, model } => {
                let slot = self.take_slot(slot)?;
                self.tasks().spawn(Arc::clone(self).verify(slot, tasks, gates, model));
            }
            Effect::Integrate { slot, commit, gates, hold } => {
                return self.activity(slot, move |ports, slot| {
                    ports.integrate(slot, commit.as_deref(), &gates, hold)
                });
            }
            Effect::Settle { slot, settlement } => {
                return self.activity(slot, move |ports, slot| {
                    let answer = ports.settle(slot, &settlement);
                    ports.release_branch(slot);
                    answer
                });
            }
            Effect::Park { slot, task, reason } => {
                return self.activity(slot, move |ports, slot| ports.park(slot, &task, &reason));
            }
            Effect::Release { slot, task } => {
                self.spawn_detached(move |ports| ports.release(slot, &task));
            }
            Effect::HoldTask { task } => {
                self.spawn_detached(move |ports| {
                    ports.store().hold(&task, &Actor::User(by_control()), ports.now())
                });
            }
            Effect::ResetTask { task } => {
                self.spawn_detached(move |ports| {
                    ports.store().reset(&task, &Actor::User(by_control()), ports.now())
                });
            }
            Effect::Say { slot, task, message } => {
                self.hand_over(slot, task, message, oneshot::channel().0);
            }
            Effect::Wake { slot, at, on_change } => self.wake_later(slot, at, on_change),
            Effect::StopWaiting { slot } => self.stop_waiting(slot),
            Effect::Publish => return Some(Box::new(|ports| ports.publish())),
            Effect::Watch { number, page, until } => {
                return Some(Box::new(move |ports| ports.watch_review(number, &page, until)));
            }
            Effect::StopPublishing => {
                self.publisher.stop.send_replace(Stop::Kill);
            }
            Effect::Finish { .. } => {}
        }
        None
    }

    /// The state of a slot, for the activity that the loop wants there. The loop waits for one at a time.
    fn take_slot(&self, slot: SlotId) -> Option<Box<SlotState>> {
        let state = self.dispatcher().take_slot(slot);
        if state.is_none() {
            self.notice(format!("slot {slot} is busy; ralph ignored a step of the loop"));
        }
        state
    }

    /// An activity whose answer is the next input.
    fn activity(
        self: &Arc<Self>,
        slot: SlotId,
        act: impl FnOnce(&Arc<Self>, &mut SlotState) -> Answer + Send + 'static,
    ) -> Option<Work> {
        let mut slot = self.take_slot(slot)?;
        Some(Box::new(move |ports| {
            let answer = catch_panic(Port::Store, || act(ports, &mut slot));
            ports.step_with(slot, answer)
        }))
    }

    /// Runs on a thread that may block. Nothing waits for it; a failure is reported.
    fn spawn_detached(
        self: &Arc<Self>,
        act: impl FnOnce(&Arc<Self>) -> Result<(), StoreError> + Send + 'static,
    ) {
        let ports = Arc::clone(self);
        self.tasks().spawn_blocking(move || {
            if let Err(error) = act(&ports) {
                ports.notice(error.to_string());
            }
        });
    }

    fn release(&self, slot: SlotId, task: &TaskId) -> Result<(), StoreError> {
        let by = Actor::Agent(self.agent_id(slot).clone(), None);
        let held = self.store().get(task)?;
        self.mark_released(task, held.generation);
        match self.store().release(task, &by, self.now()) {
            // Another process has it, or it is finished: there is nothing to give back.
            Err(StoreError::Refused(_)) => Ok(()),
            other => other,
        }
    }
}

/// A panic in an effect is a failure of its port: the loop must learn of it, or it would wait forever.
pub(in crate::run) fn catch_panic<T>(
    port: Port,
    act: impl FnOnce() -> Result<T, Failed>,
) -> Result<T, Failed> {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
    done.unwrap_or_else(|_| Err(Failed::new(port, "a step of the loop panicked", true)))
}

/// The name under which controls act.
fn by_control() -> AgentId {
    #[expect(clippy::expect_used, reason = "a constant that is an id")]
    AgentId::new("control").expect("control is an id")
}

//! Effects, carried out: each as a task of its own, whose answer is an input.

use std::sync::Arc;

use ralph_core::AgentId;
use ralph_core::TaskId;
use ralph_core::run::{Effect, Port, SlotId, Stopping};
use ralph_core::task::Actor;
use tokio::task::JoinSet;

use super::crew::{Answer, Crew, Failed};
use super::session::Job;
use crate::clock::now;
use crate::ports::StoreError;
use crate::process::Stop;

impl Crew {
    /// Starts an effect. `Finish` is the dispatcher's own.
    pub(super) fn carry_out(self: &Arc<Self>, effect: Effect, tasks: &mut JoinSet<()>) {
        match effect {
            Effect::Survey { slot } => self.blocking(slot, tasks, move |crew| crew.survey(slot)),
            Effect::Claim { slot } => self.blocking(slot, tasks, move |crew| crew.claim(slot)),
            Effect::Peek { slot } => self.blocking(slot, tasks, move |crew| crew.peek(slot)),
            Effect::RunSession { slot, iteration, task, model, overridden } => {
                let task = task.map(|task| *task);
                let job = Job { slot, iteration, task, model, overridden };
                tasks.spawn(Arc::clone(self).session(job));
            }
            Effect::StopSession { slot, how } => {
                let stop = match how {
                    Stopping::Interrupt => Stop::Interrupt,
                    Stopping::Kill => Stop::Kill,
                };
                self.kit(slot).stop.send_if_modified(|now| {
                    let rises = stop > *now;
                    *now = stop.max(*now);
                    rises
                });
            }
            Effect::MakeCandidate { slot } => {
                self.blocking(slot, tasks, move |crew| crew.make_candidate(slot));
            }
            Effect::Judge { slot } => {
                tasks.spawn(Arc::clone(self).judge(slot));
            }
            Effect::Settle { slot, settlement } => {
                self.blocking(slot, tasks, move |crew| crew.settle(slot, &settlement));
            }
            Effect::Release { slot, task } => {
                self.aside(tasks, move |crew| crew.release(slot, &task));
            }
            Effect::HoldTask { task } => {
                self.aside(tasks, move |crew| {
                    crew.store().hold(&task, &Actor::Person(by_control()), now())
                });
            }
            Effect::ResetTask { task } => {
                self.aside(tasks, move |crew| {
                    crew.store().reset(&task, &Actor::Person(by_control()), now())
                });
            }
            Effect::Wake { slot, at, on_change } => self.wake_later(slot, at, on_change),
            Effect::StopWaiting { slot } => self.stop_waiting(slot),
            Effect::Finish { .. } => {}
        }
    }

    /// Runs where waiting is allowed, and answers from there: every change of threads is felt when the
    /// sessions are short.
    fn blocking(
        self: &Arc<Self>,
        slot: SlotId,
        tasks: &mut JoinSet<()>,
        act: impl FnOnce(&Arc<Self>) -> Answer + Send + 'static,
    ) {
        let crew = Arc::clone(self);
        tasks.spawn_blocking(move || {
            let answer = unbroken(Port::Store, || act(&crew));
            crew.answer(slot, answer);
        });
    }

    /// Runs where waiting is allowed. Nothing waits for it; a failure is told.
    fn aside(
        self: &Arc<Self>,
        tasks: &mut JoinSet<()>,
        act: impl FnOnce(&Arc<Self>) -> Result<(), StoreError> + Send + 'static,
    ) {
        let crew = Arc::clone(self);
        tasks.spawn_blocking(move || {
            if let Err(error) = act(&crew) {
                crew.notice(error.to_string());
            }
        });
    }

    fn release(&self, slot: SlotId, task: &TaskId) -> Result<(), StoreError> {
        let by = Actor::Agent(self.agent_id(slot).clone(), None);
        let held = self.store().get(task)?;
        self.let_go(task, held.generation);
        match self.store().release(task, &by, now()) {
            // Somebody else has it, or it was settled: there is nothing to give back.
            Err(StoreError::Refused(_)) => Ok(()),
            other => other,
        }
    }
}

/// A panic in an effect is a failure of its port: the loop must hear of it, or it would wait for ever.
pub(super) fn unbroken<T>(
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

//! Carries out effects. Anything that may block runs on a thread that may; that thread takes the next step of the
//! loop itself and continues with its effects, because every switch between threads is noticeable when sessions are
//! short.

use std::sync::Arc;

use ralph_core::AgentId;
use ralph_core::TaskId;
use ralph_core::run::{Effect, Port, SlotId, Stopping};
use ralph_core::task::Actor;

use super::crew::{Answer, Crew, Failed, input};
use super::session::Job;
use crate::clock::now;
use crate::ports::StoreError;
use crate::process::Stop;

/// An effect that ends with an answer and may wait for files, git and the store meanwhile.
type Work = Box<dyn FnOnce(&Arc<Crew>) -> Vec<Effect> + Send>;

impl Crew {
    /// Starts an effect. `Finish` is the dispatcher's own.
    pub(super) fn start(self: &Arc<Self>, effect: Effect) {
        if let Some(work) = self.begin(effect) {
            let crew = Arc::clone(self);
            self.tasks().spawn_blocking(move || crew.go_on(work));
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
            Effect::Survey { slot } => return work(slot, move |crew| crew.survey(slot)),
            Effect::Claim { slot, only } => {
                return work(slot, move |crew| crew.claim(slot, only.as_ref()));
            }
            Effect::Peek { slot } => return work(slot, move |crew| crew.peek(slot)),
            Effect::RunSession { slot, iteration, task, model, overridden, raised } => {
                let task = task.map(|task| *task);
                let job = Job { slot, iteration, task, model, overridden, raised };
                return Some(Box::new(move |crew| crew.begin_session(job)));
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
            Effect::MakeCandidate { slot, hold } => {
                return work(slot, move |crew| crew.make_candidate(slot, hold));
            }
            Effect::Judge { slot } if self.setup.gates.specs.is_empty() => {
                return work(slot, move |crew| crew.foresee(slot, crew.judge_without_gates(slot)));
            }
            Effect::Judge { slot } => {
                self.tasks().spawn(Arc::clone(self).judge(slot));
            }
            Effect::Verify { slot, tasks, model } => {
                self.tasks().spawn(Arc::clone(self).verify(slot, tasks, model));
            }
            Effect::Integrate { slot, commit, hold } => {
                return work(slot, move |crew| crew.integrate(slot, commit.as_deref(), hold));
            }
            Effect::Settle { slot, settlement } => {
                return work(slot, move |crew| {
                    let answer = crew.settle(slot, &settlement);
                    crew.release_branch(slot);
                    answer
                });
            }
            Effect::Release { slot, task } => {
                self.spawn_detached(move |crew| crew.release(slot, &task));
            }
            Effect::HoldTask { task } => {
                self.spawn_detached(move |crew| {
                    crew.store().hold(&task, &Actor::User(by_control()), now())
                });
            }
            Effect::ResetTask { task } => {
                self.spawn_detached(move |crew| {
                    crew.store().reset(&task, &Actor::User(by_control()), now())
                });
            }
            Effect::Wake { slot, at, on_change } => self.wake_later(slot, at, on_change),
            Effect::StopWaiting { slot } => self.stop_waiting(slot),
            Effect::Publish => return Some(Box::new(|crew| crew.publish())),
            Effect::Watch { number, page, until } => {
                return Some(Box::new(move |crew| crew.watch_review(number, &page, until)));
            }
            Effect::StopPublishing => {
                self.publisher.stop.send_replace(Stop::Kill);
            }
            Effect::Finish { .. } => {}
        }
        None
    }

    /// Runs on a thread that may block. Nothing waits for it; a failure is reported.
    fn spawn_detached(
        self: &Arc<Self>,
        act: impl FnOnce(&Arc<Self>) -> Result<(), StoreError> + Send + 'static,
    ) {
        let crew = Arc::clone(self);
        self.tasks().spawn_blocking(move || {
            if let Err(error) = act(&crew) {
                crew.notice(error.to_string());
            }
        });
    }

    fn release(&self, slot: SlotId, task: &TaskId) -> Result<(), StoreError> {
        let by = Actor::Agent(self.agent_id(slot).clone(), None);
        let held = self.store().get(task)?;
        self.mark_released(task, held.generation);
        match self.store().release(task, &by, now()) {
            // Another process has it, or it is finished: there is nothing to give back.
            Err(StoreError::Refused(_)) => Ok(()),
            other => other,
        }
    }
}

/// Work whose answer is the next input.
#[expect(clippy::unnecessary_wraps, reason = "the return type of `begin`")]
fn work(slot: SlotId, act: impl FnOnce(&Arc<Crew>) -> Answer + Send + 'static) -> Option<Work> {
    Some(Box::new(move |crew| {
        let answer = catch_panic(Port::Store, || act(crew));
        crew.step(&input(slot, answer))
    }))
}

/// A panic in an effect is a failure of its port: the loop must learn of it, or it would wait forever.
pub(super) fn catch_panic<T>(
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

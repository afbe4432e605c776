//! After an iteration: records it, then stops, waits or looks for the next task.

use super::Draft;
use super::settle::settlement;
use crate::policy::backoff::{transient, usage_probe};
use crate::policy::strategy::{Choice, ModelFacts, choose};
use crate::run::SlotId;
use crate::run::class::Class;
use crate::run::control::Cancel;
use crate::run::effect::{Effect, Settlement, TaskAction};
use crate::run::exit::{self, View};
use crate::run::fact::{Fact, Wait};
use crate::run::input::{Port, Settled};
use crate::run::notice::Notice;
use crate::run::outcome::StopReason;
use crate::run::policy::Picker;
use crate::run::report::TaskBrief;
use crate::run::slot::{EndedSession, Phase, Slot, Work};
use crate::task::Status;
use crate::time::Timestamp;

/// How long ralph waits before it checks a full disk again.
const DISK_AGAIN_MS: u64 = 10_000;

impl Draft {
    pub(super) fn settled(&mut self, slot: SlotId, work: &Work, settled: &Settled) {
        let decided = self.slot(slot).and_then(|slot| settlement(&self.state, slot));
        let Some(decided) = decided else { return };
        self.agent_limited(slot, work, decided.class);
        for ending in &decided.tasks {
            let Some(result) = settled.tasks.iter().find(|result| result.id == ending.task.id)
            else {
                continue;
            };
            let Some(status) = result.status else { continue };
            if let (Some(TaskAction::Ask { text }), Some(question)) =
                (&ending.action, &result.question)
            {
                let task = ending.task.id.clone();
                let (question, text) = (question.clone(), text.clone());
                self.fact(Fact::QuestionAsked { task, question, text });
            }
            let reason = match &ending.action {
                Some(TaskAction::Fail { reason, .. } | TaskAction::Hold { reason }) => {
                    reason.clone()
                }
                _ => ending.detail.clone(),
            };
            self.warn_of_unread(slot, &ending.task, status);
            self.fact(Fact::TaskSettled {
                slot,
                task: ending.task.id.clone(),
                title: ending.task.title.clone(),
                class: ending.class,
                status,
                reason,
                retry_count: result.retry_count,
            });
        }
        for (commit, subject) in settled.by_agent.iter().chain(&settled.commit).cloned() {
            self.fact(Fact::Committed { slot, commit, subject });
        }
        if let Some((task, name)) = settled.saved.clone() {
            self.fact(Fact::WorkSaved { task, name });
        }
        if let (true, Some(ending)) = (settled.put_back > 0, decided.tasks.first()) {
            let task = ending.task.id.clone();
            self.fact(Fact::WorkPutBack { task, paths: settled.put_back });
        }
        if let Some(counts) = settled.counts.filter(|counts| *counts != self.state.counts) {
            self.fact(Fact::PlanCounted { counts });
        }
        if let Some(planned) = settled.planned.clone() {
            self.fact(Fact::PlanWritten { planned });
        }
        self.marker(decided.marker.as_ref());
        self.iteration_over(slot, &work.session, &decided, settled);
    }

    /// The user told something about a task while its result was being recorded, or it used up its last retry.
    fn warn_of_unread(&mut self, slot: SlotId, task: &TaskBrief, status: Status) {
        let unread = self.slot(slot).is_some_and(|slot| slot.holds(&task.id) && slot.has_unread());
        if unread && matches!(status, Status::Done | Status::Failed) {
            let text = format!(
                "{id} ended before a session got your message. To reopen it with the message: ralph task reopen {id}",
                id = task.id
            );
            self.notice(Notice::Other { text });
        }
    }

    fn iteration_over(
        &mut self,
        slot: SlotId,
        session: &EndedSession,
        decided: &Settlement,
        settled: &Settled,
    ) {
        let class = decided.class;
        self.fact(Fact::IterationEnded {
            slot,
            iteration: session.iteration.number,
            class,
            detail: decided.detail.clone(),
            head: settled.head.clone(),
            tree: settled.tree.clone(),
            settled: class == Class::Done || decided.put_back,
            again: self.state.tries_again(class),
            duration_ms: self.now.millis_since(session.iteration.began),
        });
        let unreadable = settled.counts.is_none();
        let streak = match self.state.agents.is_several() {
            true => self.state.agents.streak(session.iteration.agent).max(1),
            false => self.state.limit_streak,
        };
        self.go_on(slot, class, (streak, session.report.end.resets_at), unreadable);
    }

    /// Stops, waits, or looks for the next task.
    fn go_on(
        &mut self,
        slot: SlotId,
        class: Class,
        (streak, resets_at): (u32, Option<Timestamp>),
        unreadable: bool,
    ) {
        let view = View { state: &self.state, slot, survey: None, now: self.now };
        let reason = exit::first(exit::AFTER, view);
        // A plan that could not be read is not a finished one.
        let reason = reason.filter(|reason| !(unreadable && *reason == StopReason::Complete));
        if let Some(reason) = reason {
            self.stop(reason);
        }
        if self.state.stop.is_some() {
            return;
        }
        if !self.state.may_begin(slot) {
            self.leave(slot);
            return;
        }
        if self.state.last_limited && self.state.agents.first_to_return(self.now).is_some() {
            self.wait_for_an_agent(slot);
        } else if class.is_limit() && !self.state.last_limited {
            self.wait_for_provider(slot, class, streak, resets_at);
        } else {
            self.survey(slot);
        }
        self.wake_idle_slots(slot);
    }

    /// Waits until the provider can be asked again.
    pub(super) fn wait_for_provider(
        &mut self,
        slot: SlotId,
        class: Class,
        streak: u32,
        resets_at: Option<Timestamp>,
    ) {
        let (until, reset_known) = match (class, resets_at) {
            (Class::UsageWindow, Some(reset)) => (reset.max(self.now.plus_millis(1000)), true),
            (Class::UsageWindow, None) => (later(self.now, usage_probe(streak)), false),
            _ => (later(self.now, transient(streak - 1, self.jitter())), false),
        };
        self.wait(slot, Wait::Limit { class, streak, reset_known, agent: None }, Some(until));
    }

    /// A finished task may have made others ready: slots without work look again.
    fn wake_idle_slots(&mut self, not: SlotId) {
        let idle = |slot: &Slot| !slot.is_busy() && slot.wait.is_none();
        let slots = self.slots().filter(|slot| *slot != not);
        for slot in slots.filter(|slot| self.slot(*slot).is_some_and(idle)).collect::<Vec<_>>() {
            self.survey(slot);
        }
    }

    pub(super) fn port_failed(&mut self, slot: SlotId, port: Port, error: &str, for_good: bool) {
        let Some(current) = self.slot(slot).cloned() else { return };
        let streak = current.port_streak + 1;
        let looking = matches!(current.phase, Phase::Surveying | Phase::Claiming);
        if looking && self.starts_nothing_new() {
            // The survey is not needed any more, and may have been stopped for that reason.
            self.leave(slot);
            return;
        }
        self.fact(Fact::PortFailed { slot, port, error: error.to_owned(), streak });
        let by_peeking =
            self.state.policy.picker == Picker::Agent && !self.state.policy.by_iteration();
        let patient = looking && by_peeking && !for_good;
        if looking && self.is_ending(slot) {
            self.leave(slot);
            return;
        }
        if port == Port::Disk {
            let until = self.now.plus_millis(DISK_AGAIN_MS);
            self.wait(slot, Wait::DiskLow, Some(until));
            return;
        }
        if for_good || (streak > self.state.policy.port_retries && !patient) {
            self.give_slot_up(slot, &current);
            self.stop(match port {
                Port::Git => StopReason::GitFailed { why: error.to_owned() },
                Port::Gate => StopReason::GateUnusable { why: error.to_owned() },
                Port::Store | Port::Prompt | Port::Disk => {
                    StopReason::Error { why: error.to_owned() }
                }
            });
            return;
        }
        if patient {
            let view = View { state: &self.state, slot, survey: None, now: self.now };
            if let Some(reason) = exit::first(&exit::AFTER[exit::AFTER.len() - 1..], view) {
                self.free(slot);
                self.stop(reason);
                return;
            }
        }
        let until = later(self.now, transient(streak - 1, self.jitter()));
        self.wait(slot, Wait::Port { port }, Some(until));
    }

    /// Leaves the slot's work as it is and releases its claims.
    pub(super) fn give_slot_up(&mut self, slot: SlotId, current: &Slot) {
        let session = current.session();
        let held = session.map(|session| session.report.held.as_slice()).unwrap_or_default();
        let claimed = current.task().filter(|task| !held.iter().any(|held| held.id == task.id));
        let all: Vec<_> = held.iter().chain(claimed).map(|task| task.id.clone()).collect();
        if !current.iteration().is_some_and(|iteration| iteration.lost) {
            for task in all {
                self.effect(Effect::Release { slot, task });
            }
        }
        self.free(slot);
    }

    pub(super) fn woken(&mut self, slot: SlotId) {
        self.fact(Fact::WaitEnded { slot });
        self.take_up_again(slot);
    }

    /// Asks again for what the slot waits for.
    pub(super) fn take_up_again(&mut self, slot: SlotId) {
        let Some(current) = self.slot(slot).cloned() else { return };
        match &current.phase {
            Phase::Free => self.survey(slot),
            Phase::Surveying => self.effect(Effect::Survey { slot }),
            Phase::Claiming => self.effect(match self.state.policy.picker {
                Picker::Loop => Effect::Claim { slot, only: current.only_task() },
                Picker::Agent => Effect::Peek { slot },
            }),
            Phase::Running(iteration) if iteration.started => {
                self.effect(Effect::ReportSession { slot });
            }
            Phase::Running(iteration) => self.effect(Effect::RunSession {
                slot,
                iteration: iteration.number,
                task: iteration.task.clone().map(Box::new),
                model: iteration.model.clone(),
                agent: iteration.agent,
                overridden: None,
                raised: None,
                earlier: Box::new(self.state.earlier.clone()),
            }),
            Phase::Candidate(_) => self.make_candidate(slot),
            Phase::Judging(_) if self.state.cancel >= Some(Cancel::Now) => self.settle(slot),
            Phase::Judging(_) => self.judge(slot),
            Phase::Verifying(_) => self.verify(slot),
            Phase::Queued(..) => {}
            Phase::Integrating(_) => self.integrate(slot),
            Phase::Settling(..) => self.settle_again(slot),
        }
    }

    /// Between 0 and 1, the same for the same state: no two runs wait in step.
    pub(super) fn jitter(&self) -> f64 {
        let seed = self.state.began_at.as_millis().unsigned_abs()
            ^ u64::from(self.state.counted).wrapping_mul(0x9E37_79B9)
            ^ u64::from(self.state.limit_streak).wrapping_mul(0x85EB_CA6B)
            ^ u64::from(self.state.error_count).wrapping_mul(0xC2B2_AE35);
        let mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 40) as f64 / (1u64 << 24) as f64
    }

    pub(super) fn choose_model(&self, iteration: u32, task: Option<&TaskBrief>) -> Choice {
        let failed = task.and_then(|task| task.failed.as_ref());
        let facts = ModelFacts {
            iteration,
            trouble: self.state.trouble,
            done_in_a_row: self.state.done_in_a_row,
            same_failures: failed.map_or(0, |failed| failed.times),
        };
        choose(&self.state.policy.strategy, &self.state.models, &facts)
    }
}

/// The moment `wait` after `now`.
pub(super) fn later(now: Timestamp, wait: std::time::Duration) -> Timestamp {
    now.plus_millis(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}

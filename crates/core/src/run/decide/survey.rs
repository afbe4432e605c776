//! From the plan to a session: survey the plan, check the exit rules, claim a task or list tasks for the agent.

use super::Draft;
use super::after::later;
use crate::ids::TaskId;
use crate::policy::backoff::transient;
use crate::policy::strategy::{By, Model};
use crate::run::SlotId;
use crate::run::budget::{self, Used};
use crate::run::control::Cancel;
use crate::run::effect::Effect;
use crate::run::exit::{self, View};
use crate::run::fact::{Fact, Wait};
use crate::run::input::Survey;
use crate::run::notice::Notice;
use crate::run::policy::Picker;
use crate::run::report::{About, TaskBrief};
use crate::run::slot::Slot;

impl Draft {
    pub(super) fn begin(&mut self, started: &Fact, notices: &[Notice]) {
        self.fact(started.clone());
        for notice in notices {
            self.notice(notice.clone());
        }
        for slot in self.slots() {
            self.survey(slot);
        }
    }

    pub(super) fn surveyed(&mut self, slot: SlotId, survey: &Survey) {
        if !survey.taken_back.is_empty() {
            self.notice(Notice::ClaimsTakenBack { tasks: survey.taken_back.clone() });
        }
        if survey.counts != self.state.counts {
            self.fact(Fact::PlanCounted { counts: survey.counts });
        }
        if survey.left != self.state.left_tasks {
            self.fact(Fact::TasksLeft { tasks: survey.left.clone() });
        }
        if survey.needs_merge != self.state.merges {
            self.fact(Fact::MergesNeeded { tasks: survey.needs_merge.clone() });
        }
        if self.state.stop.is_some() {
            self.free(slot);
            return;
        }
        let stays = survey.claimable > 0 && self.state.may_begin(slot);
        if self.state.cancel == Some(Cancel::AfterTask) && !stays {
            self.leave(slot);
            return;
        }
        self.marker(survey.marker.as_ref());
        let view = View { state: &self.state, slot, survey: Some(survey), now: self.now };
        if let Some(reason) = exit::first(exit::BEFORE, view) {
            self.stop(reason);
            self.free(slot);
            return;
        }
        let view = View { state: &self.state, slot, survey: Some(survey), now: self.now };
        for used in budget::of_run(view) {
            self.warn_of(used, None);
        }
        if self.state.paused {
            self.free(slot);
            self.wait(slot, Wait::Paused, None);
            return;
        }
        let full = self
            .state
            .policy
            .max_sessions
            .is_some_and(|most| self.state.counted + self.state.under_way() >= most);
        // Nothing can start while every agent is at a limit. Approved work needs none.
        let all_limited = self.state.cancel.is_none()
            && survey.approved.is_none()
            && self.state.agents.is_several()
            && self.state.agents.first_to_return(self.now).is_some();
        match self.state.policy.picker {
            // A session in another slot may free a place; this slot looks again after it.
            _ if full => self.free(slot),
            Picker::Loop if survey.claimable == 0 => self.free(slot),
            _ if all_limited && survey.claimable > 0 => {
                self.free(slot);
                self.wait_for_an_agent(slot);
            }
            Picker::Loop => {
                self.fact(Fact::Claiming { slot });
                let own = self.slot(slot).and_then(Slot::only_task);
                let only = own.or_else(|| survey.approved.clone());
                self.effect(Effect::Claim { slot, only });
            }
            // Nothing is left to pick: approved work lands without a session.
            Picker::Agent if survey.approved.is_some() => {
                self.fact(Fact::Claiming { slot });
                self.effect(Effect::Claim { slot, only: survey.approved.clone() });
            }
            Picker::Agent if survey.claimable == 0 => {
                self.free(slot);
                self.wait(slot, Wait::Others { tasks: survey.foreign }, survey.next_expiry);
            }
            Picker::Agent => {
                self.fact(Fact::Claiming { slot });
                self.effect(Effect::Peek { slot });
            }
        }
    }

    /// Warns once that a budget is nearly used up.
    pub(super) fn warn_of(&mut self, used: Used, task: Option<&TaskId>) {
        let Used { budget, used: amount, limit } = used;
        let known = |(of, on): &(_, Option<TaskId>)| *of == budget && on.as_ref() == task;
        if used.is_near() && !self.state.warned.iter().any(known) {
            let task = task.cloned();
            self.notice(Notice::BudgetNear { budget, task, used: amount, limit });
        }
    }

    pub(super) fn claimed(&mut self, slot: SlotId, task: &TaskBrief) {
        let other = self.slot(slot).and_then(Slot::only_task).is_some_and(|only| only != task.id);
        if self.is_ending(slot) || other {
            self.effect(Effect::Release { slot, task: task.id.clone() });
            self.leave(slot);
            return;
        }
        // Its earlier attempts used up its budget: the user decides, and the slot looks for another one.
        let spent = self.state.policy.budget.holds_task(task.spent_micro_usd);
        if let Some(reason) = spent.filter(|_| !task.has_approved_work()) {
            let text = format!("{} is waiting for you: {reason}", task.id);
            self.notice(Notice::Other { text });
            self.effect(Effect::Park { slot, task: Box::new(task.clone()), reason });
            return;
        }
        self.start(slot, Some(task), 0, None);
    }

    pub(super) fn peeked(&mut self, slot: SlotId, offered: u32, about: Option<&About>) {
        if self.is_ending(slot) {
            self.leave(slot);
            return;
        }
        self.start(slot, None, offered, about);
    }

    /// The plan or the agent says that the plan is done.
    pub(super) fn marker(&mut self, found: Option<&String>) {
        if let Some(marker) = found.filter(|found| self.state.marker.as_ref() != Some(*found)) {
            self.fact(Fact::MarkerFound { marker: marker.clone() });
        }
    }

    fn start(
        &mut self,
        slot: SlotId,
        task: Option<&TaskBrief>,
        offered: u32,
        about: Option<&About>,
    ) {
        let iteration = self.state.next_iteration();
        let choice = self.choose_model(iteration, task);
        let agent = self.next_agent(slot);
        let policy = &self.state.policy;
        let name = |model: &Model| match agent.checked_sub(1).and_then(|at| policy.fallback.get(at))
        {
            Some(fallback) => fallback.model(model),
            None => policy.tiers.sent(model),
        };
        let model = choice.model.as_ref().and_then(name);
        let raised = choice.overridden.as_ref().and_then(|instead| match instead.by {
            By::SameFailure(times) => Some(times),
            By::Hint(_) => None,
        });
        let overridden = choice.overridden.map(|instead| {
            let strategy = instead.strategy.as_ref().and_then(name);
            strategy.unwrap_or_else(|| "the agent's default".to_owned())
        });
        let several = self.state.agents.is_several();
        self.fact(Fact::IterationStarted {
            slot,
            iteration,
            task: task.cloned(),
            offered,
            about: about.cloned(),
            retry: self.state.iteration_retries,
            model: model.clone(),
            agent: several.then(|| self.state.agents.name(agent).to_owned()),
            overridden: overridden.clone(),
            raised,
            models: choice.state,
        });
        self.effect(Effect::RunSession {
            slot,
            iteration,
            task: task.cloned().map(Box::new),
            model,
            agent,
            overridden,
            raised,
            earlier: Box::new(self.state.earlier.clone()),
        });
    }

    pub(super) fn nothing_to_claim(&mut self, slot: SlotId) {
        self.fact(Fact::ClaimMissed { slot });
        if self.is_ending(slot) {
            self.end_if_cancelled();
            return;
        }
        // Another agent was faster. After the second time ralph waits.
        let missed = self.slot(slot).map_or(0, |slot| slot.missed);
        if missed < 2 {
            self.survey(slot);
        } else {
            let until = later(self.now, transient(missed - 2, self.jitter()));
            self.wait(slot, Wait::Others { tasks: 0 }, Some(until));
        }
    }

    /// The slot is to start nothing.
    pub(super) fn is_ending(&self, slot: SlotId) -> bool {
        self.state.stop.is_some() || !self.state.may_begin(slot)
    }

    /// No session is to start, whatever it is about.
    pub(super) fn starts_nothing_new(&self) -> bool {
        self.state.stop.is_some() || self.state.cancel >= Some(Cancel::AfterSession)
    }

    /// A cancellation takes effect once nothing is under way that the user lets finish.
    pub(super) fn end_if_cancelled(&mut self) {
        if self.state.is_cancelled() {
            self.stop(crate::run::StopReason::Cancelled);
        }
    }
}

//! From passed gates to the verdict of the verifier.

use super::Draft;
use crate::run::SlotId;
use crate::run::budget;
use crate::run::class::Class;
use crate::run::control::Cancel;
use crate::run::effect::Effect;
use crate::run::exit::View;
use crate::run::fact::Fact;
use crate::run::report::SessionReport;
use crate::run::slot::{Phase, Slot};
use crate::run::verifier::VerifierReport;

impl Draft {
    /// Whether the verifier has to judge the work: there is a task to judge, it is still claimed by this run, and
    /// the user has not skipped it.
    pub(super) fn wants_verifying(&self, slot: SlotId) -> bool {
        let policy = &self.state.policy;
        policy.verify.is_some()
            && self.slot(slot).filter(|slot| slot.is_wanted()).and_then(Slot::work).is_some_and(
                |work| {
                    let judges = !work.tasks_to_judge(policy).is_empty();
                    let task = work.session.iteration.task.as_ref();
                    let known = task.and_then(|task| task.finished.as_ref());
                    let verified = work.session.found && known.is_some_and(|work| work.verified);
                    judges && work.landing.is_none() && !verified
                },
            )
    }

    /// Starts the verifier, unless the run is cancelled or the budget used up. Without a verdict no task is
    /// done: the work stays where it is.
    pub(super) fn verify(&mut self, slot: SlotId) {
        let Some(verifier) = self.state.policy.verify.as_deref().cloned() else { return };
        let Some(current) = self.slot(slot) else { return };
        let Some(work) = current.work() else { return };
        if !current.is_wanted() {
            self.settle(slot);
            return;
        }
        if self.state.cancel >= Some(Cancel::Now) {
            self.unverified(slot, Class::Cancelled, "the run was cancelled".to_owned());
            return;
        }
        if let Some(used_up) = self.nothing_left(&work.session.report) {
            let detail = format!("no budget is left for the verifier, {used_up}");
            self.unverified(slot, Class::Cancelled, detail);
            return;
        }
        // The verifier is the preferred agent or another one: models of one that stands in mean nothing to it.
        let iteration = &work.session.iteration;
        let same = iteration.model.as_ref().filter(|_| iteration.agent == 0);
        let model = verifier.model(same);
        let tasks = work.tasks_to_judge(&self.state.policy);
        let gates = work.gates().to_vec();
        self.fact(Fact::Verifying { slot, agent: verifier.agent, model: model.clone() });
        self.effect(Effect::Verify { slot, tasks, gates, model });
    }

    /// The budget of the run or the task that is used up.
    fn nothing_left(&self, report: &SessionReport) -> Option<String> {
        let view = View { state: &self.state, slot: 0, survey: None, now: self.now };
        let run = budget::of_run(view).into_iter().find(|used| used.is_up());
        run.map(budget::Used::words).or_else(|| {
            let spent = report.held.iter().map(|task| super::settle::spent(report, task));
            spent.into_iter().find_map(|spent| self.state.policy.budget.holds_task(spent))
        })
    }

    /// The work gets no verdict.
    pub(super) fn unverified(&mut self, slot: SlotId, class: Class, detail: String) {
        self.fact(Fact::Unverified { slot, class, detail });
        self.settle(slot);
    }

    pub(super) fn verified(&mut self, slot: SlotId, report: &VerifierReport) {
        self.fact(Fact::Verified { slot, report: report.clone() });
        let Some(current) = self.slot(slot) else { return };
        let streak = current.work().map_or(0, |work| work.verifier_limits);
        match report.obstacle() {
            _ if !current.is_wanted() => self.settle(slot),
            None => self.conclude(slot),
            Some(class) if class.is_limit() && !self.starts_nothing_new() => {
                self.wait_for_provider(slot, class, streak, report.end.resets_at);
            }
            Some(class) => {
                let detail = match report.end.detail.as_str() {
                    "" => format!("the verifier's session ended with {class}"),
                    detail => format!("the verifier: {detail}"),
                };
                self.unverified(slot, class, detail);
            }
        }
    }

    /// Stops waiting for a verdict that is no longer needed.
    pub(super) fn stop_waiting_for_verdict(&mut self, slot: SlotId) {
        let waits = |slot: &Slot| matches!(slot.phase, Phase::Verifying(_)) && slot.wait.is_some();
        if self.slot(slot).is_some_and(waits) {
            self.stop_waiting(slot);
            self.settle(slot);
        }
    }
}

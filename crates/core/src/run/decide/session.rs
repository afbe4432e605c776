//! From the end of a session to a judged tree.

use super::Draft;
use crate::agent::EndClass;
use crate::ids::TaskId;
use crate::records::{GateReport, UserMessage, Verdict};
use crate::run::SlotId;
use crate::run::approval::{Approve, ChangeSize, Risk};
use crate::run::control::Cancel;
use crate::run::effect::{Effect, Stopping};
use crate::run::fact::Fact;
use crate::run::landing::Conflict;
use crate::run::notice::Notice;
use crate::run::policy::Policy;
use crate::run::report::{RequestedOutcome, SessionReport, TaskBrief};
use crate::run::slot::{Difference, Phase, Slot, Work};

impl Draft {
    /// An earlier attempt already did the work: the gates judge it again, and no session is paid for.
    pub(super) fn work_found(&mut self, slot: SlotId, task: &TaskBrief) {
        // Nothing runs yet: the next run finds the work, too.
        if self.starts_nothing_new() {
            self.effect(Effect::Release { slot, task: task.id.clone() });
            self.leave(slot);
            return;
        }
        self.fact(Fact::WorkFound { slot, task: task.clone() });
        self.make_candidate(slot);
    }

    /// The approved work is not there any more, or not as the user saw it. Without a session nothing can land, and the
    /// user did not ask for one: the task waits for the user again.
    pub(super) fn work_missing(&mut self, slot: SlotId, why: &str) {
        let Some(task) = self.slot(slot).and_then(Slot::task).cloned() else { return };
        self.fact(Fact::Claiming { slot });
        if self.starts_nothing_new() {
            self.effect(Effect::Release { slot, task: task.id });
            self.leave(slot);
            return;
        }
        let reason = format!("the approved work could not be restored: {why}");
        let text = format!("{} is waiting for you: {reason}", task.id);
        self.notice(Notice::Other { text });
        self.effect(Effect::Park { slot, task: Box::new(task), reason });
    }

    pub(super) fn session_started(&mut self, slot: SlotId, log: &str) {
        self.fact(Fact::SessionStarted { slot, log: log.to_owned() });
        // A cancellation may have come before there was anything to cancel. A verifier belongs to a session
        // that may still end by itself.
        let new = self.slot(slot).is_some_and(|slot| matches!(slot.phase, Phase::Running(_)));
        let how = match self.state.cancel {
            None | Some(Cancel::AfterTask) => None,
            Some(Cancel::AfterSession) => new.then_some(Stopping::Interrupt),
            Some(Cancel::Now) => Some(Stopping::Interrupt),
            Some(Cancel::Kill) => Some(Stopping::Kill),
        };
        if let Some(how) = how {
            self.effect(Effect::StopSession { slot, how });
        }
    }

    pub(super) fn message_given(
        &mut self,
        slot: SlotId,
        task: &TaskId,
        message: &UserMessage,
        live: bool,
    ) {
        let (task, message) = (task.clone(), message.clone());
        self.fact(Fact::MessageGiven { slot, task, message, live });
    }

    pub(super) fn session_ended(&mut self, slot: SlotId, report: &SessionReport) {
        self.fact(Fact::SessionEnded { slot, report: report.clone() });
        if !report.end.denied.is_empty() {
            self.notice(Notice::Denied { tools: report.end.denied.clone() });
        }
        // A promise that ends the run counts once the iteration is green; any other is only reported.
        let ends = self.state.policy.promises.clone();
        let promises = report.signals.promises.iter();
        for text in promises.filter(|text| *text == "COMPLETE" && !ends.contains(text)) {
            self.notice(Notice::Promise { text: text.clone() });
        }
        self.make_candidate(slot);
    }

    pub(super) fn candidate_made(
        &mut self,
        slot: SlotId,
        tree: &str,
        (files, file_count): (&[String], u32),
        plan_only: bool,
    ) {
        self.fact(Fact::CandidateMade {
            slot,
            tree: tree.to_owned(),
            changed: file_count > 0,
            plan_only,
            files: files.to_vec(),
            file_count,
        });
        let policy = &self.state.policy;
        let wanted = self.slot(slot).filter(|slot| slot.is_wanted()).and_then(Slot::work);
        let judge = self.state.cancel < Some(Cancel::Now)
            && wanted.is_some_and(|work| work.wants_judging(policy));
        let approved = wanted.and_then(|work| work.session.finished()).cloned();
        let approved = approved.filter(|work| work.approved && work.tree == tree);
        if let (true, Some(work)) = (judge, approved) {
            self.fact(Fact::Approved { slot, tree: work.tree, gates: work.gates });
            self.conclude(slot);
        } else if judge {
            self.judge(slot);
        } else {
            self.settle(slot);
        }
    }

    /// Runs the gates. A conflict with work that has landed is worth knowing before ralph pays for a verifier.
    pub(super) fn judge(&mut self, slot: SlotId) {
        let policy = &self.state.policy;
        let foresee = policy.integrates && self.wants_verifying(slot);
        self.effect(Effect::Judge { slot, foresee });
    }

    pub(super) fn judged(
        &mut self,
        slot: SlotId,
        tree: &str,
        (gates, tree_changed_while_judging): (&[GateReport], bool),
        conflict: Option<&Conflict>,
        change: &ChangeSize,
    ) {
        let green =
            !tree_changed_while_judging && gates.iter().all(|gate| gate.verdict == Verdict::Pass);
        let policy = &self.state.policy;
        let risks = match policy.approve {
            Approve::Never => vec![],
            Approve::Risky | Approve::Always => Risk::of(change, policy.approve_lines),
        };
        let (tree_id, reports) = (tree.to_owned(), gates.to_vec());
        self.fact(Fact::Judged { slot, tree: tree_id, gates: reports, green, risks });
        if green && self.wants_verifying(slot) {
            match conflict.filter(|_| self.state.policy.integrates) {
                Some(conflict) => self.conflicts_already(slot, tree, conflict),
                None => self.verify(slot),
            }
        } else {
            self.conclude(slot);
        }
    }

    pub(super) fn head_moved(&mut self, slot: SlotId) {
        self.fact(Fact::HeadMoved { slot });
        self.report_overtakes(slot);
        match self.slot(slot).map(|slot| &slot.phase) {
            Some(Phase::Integrating(_)) => self.integrate(slot),
            _ => self.make_candidate(slot),
        }
    }

    /// Asks for the tree that the gates judge.
    pub(super) fn make_candidate(&mut self, slot: SlotId) {
        let hold = !self.state.policy.integrates && self.slot(slot).is_some_and(Slot::is_overtaken);
        self.effect(Effect::MakeCandidate { slot, hold });
    }

    pub(super) fn claim_lost(&mut self, slot: SlotId, task: &TaskId) {
        self.fact(Fact::ClaimLost { slot, task: task.clone() });
        if self.slot(slot).is_some_and(Slot::runs_a_process) {
            self.effect(Effect::StopSession { slot, how: Stopping::Kill });
        }
        self.stop_waiting_for_verdict(slot);
        self.leave_queue(slot);
    }
}

impl Slot {
    /// Whether a session, a gate or a verifier runs here, which can be stopped.
    pub(super) const fn runs_a_process(&self) -> bool {
        matches!(self.phase, Phase::Running(_) | Phase::Judging(_) | Phase::Verifying(_))
    }
}

impl Work {
    /// Whether there is something to judge: a task that the session holds and calls done, work that it says
    /// nothing about where a verifier judges, or all that it left, where the iteration is judged.
    fn wants_judging(&self, policy: &Policy) -> bool {
        let report = &self.session.report;
        if report.says_failure() {
            return false;
        }
        if policy.by_iteration() {
            let changed = self.difference != Difference::None;
            let wanted = changed || policy.always_judged || report.promise(policy).is_some();
            return report.end.class == EndClass::Completed
                && wanted
                && report.asked(policy).is_none();
        }
        report.promise(policy).is_some() || !self.tasks_to_judge(policy).is_empty()
    }
}

impl SessionReport {
    /// The promise that says that the plan is done.
    pub(super) fn promise(&self, policy: &Policy) -> Option<&String> {
        self.signals.promises.iter().find(|text| policy.promises.contains(text))
    }

    /// The tasks that it holds and calls done.
    pub(super) fn called_done(&self) -> Vec<TaskBrief> {
        let done = |task: &&TaskBrief| {
            matches!(self.requested_for(&task.id), Some(RequestedOutcome::Done { .. }))
        };
        self.held.iter().filter(done).cloned().collect()
    }

    /// The agent's question to the user, where that ends the run.
    pub(super) fn asked(&self, policy: &Policy) -> Option<&String> {
        self.signals.question.as_ref().filter(|_| policy.asks)
    }

    /// The agent wants the whole run to stop.
    pub(super) fn says_failure(&self) -> bool {
        self.signals.promises.iter().any(|text| text == "FAILURE")
    }

    /// What the session requests for a task, by command or by signal. Done comes before failed, failed
    /// before a question, all of them before what a hook says.
    pub(super) fn requested_for(&self, task: &TaskId) -> Option<RequestedOutcome> {
        let asked = || self.requests.iter().filter(|request| request.task == *task);
        let done = asked().find(|request| matches!(request.outcome, RequestedOutcome::Done { .. }));
        if let Some(request) = done {
            return Some(request.outcome.clone());
        }
        if self.signals.names_done(task.as_str()) {
            return Some(RequestedOutcome::Done { result: None });
        }
        if self.signals.names_failed(task.as_str()) {
            let reason = self.signals.reason.clone();
            let reason = reason.unwrap_or_else(|| "the agent gave up on the task".to_owned());
            return Some(RequestedOutcome::Fail { reason, for_good: true });
        }
        let failed =
            asked().find(|request| matches!(request.outcome, RequestedOutcome::Fail { .. }));
        if let Some(request) = failed {
            return Some(request.outcome.clone());
        }
        let question =
            asked().find(|request| matches!(request.outcome, RequestedOutcome::Ask { .. }));
        if let Some(request) = question {
            return Some(request.outcome.clone());
        }
        if let Some(text) = self.signals.question.clone() {
            return Some(RequestedOutcome::Ask { text });
        }
        let left = asked().find(|request| matches!(request.outcome, RequestedOutcome::Left { .. }));
        left.map(|request| request.outcome.clone())
    }
}

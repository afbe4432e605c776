//! From the end of a session to a judged tree.

use super::Draft;
use crate::ids::{AgentId, TaskId};
use crate::records::Verdict;
use crate::run::SlotId;
use crate::run::effect::{Effect, Stopping};
use crate::run::fact::{Fact, GateReport, Notice, SessionReport, Wish};
use crate::run::input::Input;
use crate::run::state::{Cancel, Phase, Slot};

impl Draft {
    pub(super) fn session_started(&mut self, input: &Input, slot: SlotId, log: &str) {
        if self.phase(slot) != Some(Phase::Running) {
            self.anomaly(input, Some(slot));
            return;
        }
        self.fact(Fact::SessionStarted { slot, log: log.to_owned() });
        // A cancellation may have come before there was anything to cancel.
        match self.state.cancel {
            Cancel::No => {}
            Cancel::Soft => self.effect(Effect::StopSession { slot, how: Stopping::Interrupt }),
            Cancel::Now => self.effect(Effect::StopSession { slot, how: Stopping::Kill }),
        }
    }

    pub(super) fn session_ended(&mut self, input: &Input, slot: SlotId, report: &SessionReport) {
        if self.phase(slot) != Some(Phase::Running) {
            self.anomaly(input, Some(slot));
            return;
        }
        self.fact(Fact::SessionEnded { slot, report: report.clone() });
        if !report.end.denied.is_empty() {
            let tools = report.end.denied.clone();
            self.fact(Fact::Noticed { notice: Notice::Denied { tools } });
        }
        for text in report.signals.promises.iter().filter(|text| *text == "COMPLETE") {
            self.fact(Fact::Noticed { notice: Notice::Promise { text: text.clone() } });
        }
        self.effect(Effect::MakeCandidate { slot });
    }

    pub(super) fn candidate_made(
        &mut self,
        input: &Input,
        slot: SlotId,
        tree: &str,
        files: &[String],
        file_count: u32,
    ) {
        if self.phase(slot) != Some(Phase::Candidate) {
            self.anomaly(input, Some(slot));
            return;
        }
        let changed = tree != self.state.settled_tree;
        self.fact(Fact::CandidateMade {
            slot,
            tree: tree.to_owned(),
            changed,
            files: files.to_vec(),
            file_count,
        });
        let judge = self.state.cancel != Cancel::Now
            && self.slot(slot).is_some_and(|slot| !slot.lost && !slot.skip && slot.wants_judging());
        if judge {
            self.effect(Effect::Judge { slot });
        } else {
            self.settle(slot);
        }
    }

    pub(super) fn judged(
        &mut self,
        input: &Input,
        slot: SlotId,
        tree: &str,
        gates: &[GateReport],
        restless: bool,
    ) {
        if self.phase(slot) != Some(Phase::Judging) {
            self.anomaly(input, Some(slot));
            return;
        }
        let green = !restless && gates.iter().all(|gate| gate.verdict == Verdict::Pass);
        let tree = tree.to_owned();
        self.fact(Fact::Judged { slot, tree, gates: gates.to_vec(), green });
        self.settle(slot);
    }

    pub(super) fn head_moved(&mut self, input: &Input, slot: SlotId) {
        if self.phase(slot) != Some(Phase::Settling) {
            self.anomaly(input, Some(slot));
            return;
        }
        self.fact(Fact::HeadMoved { slot });
        self.effect(Effect::MakeCandidate { slot });
    }

    pub(super) fn claim_lost(&mut self, input: &Input, agent: &AgentId, task: &TaskId) {
        let slot = self.state.agent_ids.iter().position(|id| id == agent);
        let Some(slot) = slot.map(|slot| slot as SlotId) else {
            self.anomaly(input, None);
            return;
        };
        let settling = self.phase(slot) == Some(Phase::Settling);
        if settling || !self.slot(slot).is_some_and(|slot| slot.holds(task)) {
            self.anomaly(input, Some(slot));
            return;
        }
        self.fact(Fact::ClaimLost { slot, task: task.clone() });
        if matches!(self.phase(slot), Some(Phase::Running | Phase::Judging)) {
            self.effect(Effect::StopSession { slot, how: Stopping::Kill });
        }
    }
}

impl Slot {
    /// Whether the session asked for a task that it holds to be judged.
    fn wants_judging(&self) -> bool {
        let Some(report) = &self.report else { return false };
        if report.says_failure() {
            return false;
        }
        report.held.iter().any(|task| matches!(report.wish_for(&task.id), Some(Wish::Done { .. })))
    }
}

impl SessionReport {
    /// The agent wants the whole run to stop.
    pub(super) fn says_failure(&self) -> bool {
        self.signals.promises.iter().any(|text| text == "FAILURE")
    }

    /// What the session wants for a task, by command or by signal. Done comes before failed, failed
    /// before a question, all of them before what a hook says.
    pub(super) fn wish_for(&self, task: &TaskId) -> Option<Wish> {
        let asked = || self.requests.iter().filter(|request| request.task == *task);
        let named = |ids: &[String]| ids.iter().any(|id| id == task.as_str());
        let done = asked().find(|request| matches!(request.wish, Wish::Done { .. }));
        if let Some(request) = done {
            return Some(request.wish.clone());
        }
        if named(&self.signals.done) {
            return Some(Wish::Done { result: None });
        }
        if named(&self.signals.failed) {
            let reason = self.signals.reason.clone();
            let reason = reason.unwrap_or_else(|| "the agent gave the task up".to_owned());
            return Some(Wish::Fail { reason, for_good: true });
        }
        let failed = asked().find(|request| matches!(request.wish, Wish::Fail { .. }));
        if let Some(request) = failed {
            return Some(request.wish.clone());
        }
        let question = asked().find(|request| matches!(request.wish, Wish::Ask { .. }));
        if let Some(request) = question {
            return Some(request.wish.clone());
        }
        if let Some(text) = self.signals.question.clone() {
            return Some(Wish::Ask { text });
        }
        let left = asked().find(|request| matches!(request.wish, Wish::Left { .. }));
        left.map(|request| request.wish.clone())
    }
}

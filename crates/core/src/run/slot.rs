//! A slot: one place where sessions run one after the other, and its state.

use super::class::Class;
use super::fact::Wait;
use super::landing::Landing;
use super::report::{About, GateReport, SessionReport, TaskBrief};
use super::verifier::VERIFIER;
use crate::ids::TaskId;
use crate::time::Timestamp;

/// The phase of a slot. Each but `Free` waits for the answer to one effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing is under way.
    #[default]
    Free,
    /// The plan is being read.
    Surveying,
    /// A task is being claimed, or tasks are being listed for the agent to pick from.
    Claiming,
    /// A session runs.
    Running,
    /// The tree is being written.
    Candidate,
    /// The gates run.
    Judging,
    /// The verifier runs.
    Verifying,
    /// The work passed every check and waits for its turn to land.
    Queued,
    /// The work is being rebased onto work that landed meanwhile.
    Integrating,
    /// The result is being recorded.
    Settling,
}

/// After the branch moved so often under the same work, ralph locks the branch for the next try.
pub(super) const OVERTAKES: u32 = 2;

/// What the user and other agents did to an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interventions {
    /// The user skipped the task.
    pub skip: bool,
    /// Another agent claimed the task.
    pub lost: bool,
    /// The run was cancelled, and waits for nothing.
    pub cancelled: bool,
}

/// What a slot still has to finish while the run stops after its current tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InHand {
    /// A task that was returned for retry.
    Task(TaskId),
    /// An iteration that is retried, where iterations are judged as a whole.
    Iteration,
}

/// How a tree differs from the last accepted tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// Not at all.
    None,
    /// In the plan file and nothing else.
    Plan,
    /// In the work.
    Work,
}

/// One place where sessions run, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slot {
    /// Its phase.
    pub phase: Phase,
    /// What it waits for before it continues, and until when.
    pub wait: Option<(Wait, Option<Timestamp>)>,
    /// The number of its iteration.
    pub iteration: u32,
    /// When that iteration began.
    pub began: Timestamp,
    /// The task that the loop claimed for it.
    pub task: Option<TaskBrief>,
    /// Its work is that of an earlier attempt; no session ran.
    pub found: bool,
    /// What the plan has next, where the agent picks.
    pub about: Option<About>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// Its session was started.
    pub started: bool,
    /// The session, once it has ended.
    pub report: Option<SessionReport>,
    /// The tree, and how it differs from the last accepted one.
    pub candidate: Option<(String, Difference)>,
    /// The results of the gates, and whether all passed.
    pub judged: Option<(Vec<GateReport>, bool)>,
    /// Why there is no verdict of the verifier, and the class that the attempt gets for it.
    pub unverified: Option<(Class, String)>,
    /// Limits that the verifier hit in a row.
    pub verifier_limits: u32,
    /// Its place in the queue of work that waits to land.
    pub queued: u64,
    /// It has its turn: no other work lands meanwhile.
    pub turn: bool,
    /// How often others moved the branch while the gates judged this work.
    pub overtaken: u32,
    /// How long the gates took the last time, in milliseconds.
    pub gates_ms: u64,
    /// The result of landing the work.
    pub landing: Option<Landing>,
    /// The user skipped this task.
    pub skip: bool,
    /// Another agent claimed this task.
    pub lost: bool,
    /// A task of the iteration waits for the user.
    pub parked: bool,
    /// The task that the loop claimed was returned for retry.
    pub returned: bool,
    /// What it still has to finish, where the run stops after its current tasks.
    pub in_hand: Option<InHand>,
    /// The circumstances when its end was decided: what comes later does not change that.
    pub decided: Option<Interventions>,
    /// Failures of a port in a row.
    pub port_streak: u32,
    /// Claims missed in a row.
    pub missed: u32,
}

impl Slot {
    /// Whether a run that stops after its tasks has to wait for this slot.
    pub fn has_task_in_hand(&self) -> bool {
        let idle = matches!(self.phase, Phase::Free | Phase::Surveying | Phase::Claiming);
        !idle || self.in_hand.is_some()
    }

    /// The only task that it may claim, where it has one to finish.
    pub(super) fn only_task(&self) -> Option<TaskId> {
        match &self.in_hand {
            Some(InHand::Task(task)) => Some(task.clone()),
            Some(InHand::Iteration) | None => None,
        }
    }

    /// What is left to finish of the task or iteration that ended so; nothing where the agent picks its tasks.
    pub(super) fn left_in_hand(&self, by_iteration: bool, again: bool) -> Option<InHand> {
        match &self.task {
            _ if by_iteration => again.then_some(InHand::Iteration),
            Some(task) if self.returned => Some(InHand::Task(task.id.clone())),
            _ => None,
        }
    }

    /// Whether a session on this task is under way here.
    pub fn holds(&self, task: &TaskId) -> bool {
        self.phase != Phase::Free && self.task.as_ref().is_some_and(|brief| brief.id == *task)
    }

    /// Whether the branch moves faster than the gates can judge the work.
    pub(super) fn is_overtaken(&self) -> bool {
        self.overtaken >= OVERTAKES
    }

    /// The branch moved. Work that was about to land is rebased onto it; for any other work the tree is written
    /// again.
    pub(super) fn head_moved(&mut self) {
        self.wait = None;
        self.decided = None;
        self.landing = None;
        self.overtaken += u32::from(self.phase == Phase::Settling);
        self.turn = self.turn && self.phase == Phase::Settling;
        if self.turn {
            self.phase = Phase::Integrating;
            return;
        }
        self.phase = Phase::Candidate;
        self.candidate = None;
        self.judged = None;
        self.unverified = None;
    }

    /// A commit hook rejected work that had passed the gates.
    pub(super) fn refused(&mut self, gate: &GateReport) {
        let mut gates = self.judged.take().map(|(gates, _)| gates).unwrap_or_default();
        gates.push(gate.clone());
        self.judged = Some((gates, false));
        self.decided = None;
    }

    /// The gates have judged. A verdict of the verifier on work that was rebased since still counts: the verifier
    /// runs once.
    pub(super) fn judged(&mut self, gates: &[GateReport], green: bool) {
        let before = self.judged.take().filter(|_| self.landing.is_some());
        let verdict = before.into_iter().flat_map(|(gates, _)| gates);
        let verdict = verdict.filter(|gate| gate.name == VERIFIER);
        self.gates_ms = gates.iter().map(|gate| gate.duration_ms).sum();
        self.judged = Some((gates.iter().cloned().chain(verdict).collect(), green));
    }
}

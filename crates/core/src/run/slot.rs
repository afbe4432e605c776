//! One place where sessions run, and where it stands.

use super::class::Class;
use super::fact::Wait;
use super::landing::Landing;
use super::report::{About, GateReport, SessionReport, TaskBrief};
use super::verifier::VERIFIER;
use crate::ids::TaskId;
use crate::time::Timestamp;

/// Where a slot stands. Each but `Free` waits for the answer to one effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing is under way.
    #[default]
    Free,
    /// The plan is being looked at.
    Surveying,
    /// A task is being claimed, or the plan peeked at.
    Claiming,
    /// A session runs.
    Running,
    /// The tree is being written.
    Candidate,
    /// The gates run.
    Judging,
    /// The verifier looks.
    Verifying,
    /// It is good and waits for its turn to go onto the branch of the run.
    Queued,
    /// It is being brought onto what has landed there meanwhile.
    Integrating,
    /// What was decided is being written down.
    Settling,
}

/// After so many moves of the branch under the same work, ralph holds the branch for the next try.
pub(super) const OVERTAKES: u32 = 2;

/// What people and others did to an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Circumstances {
    /// A person does not want the task done now.
    pub skip: bool,
    /// The claim went to somebody else.
    pub lost: bool,
    /// The run was cancelled, and nothing is waited for.
    pub cancelled: bool,
}

/// What a slot goes on with while the run stops after the tasks in hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InHand {
    /// A task that was returned for retry.
    Task(TaskId),
    /// The iteration is tried again, where iterations are judged as a whole.
    Iteration,
}

/// How a tree differs from the one that was settled last.
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
    /// Where it stands.
    pub phase: Phase,
    /// What it waits for before it goes on, and until when.
    pub wait: Option<(Wait, Option<Timestamp>)>,
    /// The number of its iteration.
    pub iteration: u32,
    /// When that began.
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
    /// The tree, and how it differs from the settled one.
    pub candidate: Option<(String, Difference)>,
    /// What the gates said of it, and whether that is green.
    pub judged: Option<(Vec<GateReport>, bool)>,
    /// Why the verifier has no say, and what becomes of the work for it.
    pub unverified: Option<(Class, String)>,
    /// Limits that the verifier met in a row.
    pub verifier_limits: u32,
    /// Its place among those that wait for their turn.
    pub queued: u64,
    /// It has the turn: nothing else goes onto the branch meanwhile.
    pub turn: bool,
    /// How often others moved the branch while this work was judged.
    pub overtaken: u32,
    /// How long the gates took when they judged it last, in milliseconds.
    pub gates_ms: u64,
    /// What came of bringing the work onto the branch.
    pub landing: Option<Landing>,
    /// A person does not want this task done now.
    pub skip: bool,
    /// The claim went to somebody else.
    pub lost: bool,
    /// A task of the iteration waits for you.
    pub parked: bool,
    /// The task that the loop claimed was returned for retry.
    pub returned: bool,
    /// What it goes on with, where the run is to stop after the tasks in hand.
    pub in_hand: Option<InHand>,
    /// How things stood when its end was decided: what comes later does not change that.
    pub decided: Option<Circumstances>,
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

    /// The only task that it may claim, where it goes on with one.
    pub(super) fn only_task(&self) -> Option<TaskId> {
        match &self.in_hand {
            Some(InHand::Task(task)) => Some(task.clone()),
            Some(InHand::Iteration) | None => None,
        }
    }

    /// What is left to do on the task or iteration that ended so; nothing where the agent picks its tasks.
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

    /// Whether the branch moves faster than the work can be judged.
    pub(super) fn is_overtaken(&self) -> bool {
        self.overtaken >= OVERTAKES
    }

    /// Somebody committed. Work that was about to land is brought onto that; any other is written as a
    /// tree once more.
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

    /// A commit hook refused what the gates had passed.
    pub(super) fn refused(&mut self, gate: &GateReport) {
        let mut gates = self.judged.take().map(|(gates, _)| gates).unwrap_or_default();
        gates.push(gate.clone());
        self.judged = Some((gates, false));
        self.decided = None;
    }

    /// The gates have judged. What the verifier said of work that is now on top of what has landed still
    /// counts: it is asked once.
    pub(super) fn judged(&mut self, gates: &[GateReport], green: bool) {
        let before = self.judged.take().filter(|_| self.landing.is_some());
        let verdict = before.into_iter().flat_map(|(gates, _)| gates);
        let verdict = verdict.filter(|gate| gate.name == VERIFIER);
        self.gates_ms = gates.iter().map(|gate| gate.duration_ms).sum();
        self.judged = Some((gates.iter().cloned().chain(verdict).collect(), green));
    }
}

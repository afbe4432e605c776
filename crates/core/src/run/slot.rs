//! A slot: one place where sessions run one after the other, and its state.

use super::approval::Risk;
use super::class::Class;
use super::fact::Wait;
use super::landing::{Conflict, Landing};
use super::report::{About, FinishedWork, SessionReport, TaskBrief};
use super::verifier::VERIFIER;
use crate::ids::TaskId;
use crate::records::GateReport;
use crate::time::Timestamp;

/// The phase of a slot, with what is known in it. Each but `Free` waits for the answer to one effect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing is under way.
    #[default]
    Free,
    /// The plan is being read.
    Surveying,
    /// A task is being claimed, or tasks are being listed for the agent to pick from.
    Claiming,
    /// A session runs.
    Running(Box<Iteration>),
    /// The tree is being written.
    Candidate(Box<EndedSession>),
    /// The gates run.
    Judging(Box<Work>),
    /// The verifier runs.
    Verifying(Box<Work>),
    /// The work passed every check and waits for its turn to land, at this place in the queue.
    Queued(Box<Work>, u64),
    /// The work is being rebased onto work that landed meanwhile.
    Integrating(Box<Work>),
    /// The result is being recorded. Interventions that come later do not change it.
    Settling(Box<Work>, Interventions),
}

impl Phase {
    /// The name of the phase, for anomalies.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Free => "Free",
            Self::Surveying => "Surveying",
            Self::Claiming => "Claiming",
            Self::Running(_) => "Running",
            Self::Candidate(_) => "Candidate",
            Self::Judging(_) => "Judging",
            Self::Verifying(_) => "Verifying",
            Self::Queued(..) => "Queued",
            Self::Integrating(_) => "Integrating",
            Self::Settling(..) => "Settling",
        }
    }
}

/// An iteration under way, from the start of its session to the recorded result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Iteration {
    pub number: u32,
    pub began: Timestamp,
    /// The task that the loop claimed for it.
    pub task: Option<TaskBrief>,
    /// What the plan has next, where the agent picks.
    pub about: Option<About>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// Which agent of the run works, 0 for the preferred one.
    pub agent: usize,
    /// Its agent met a limit that lasts: another one goes on, and the iteration does not count.
    pub limited: bool,
    /// Its session was started.
    pub started: bool,
    /// The user skipped its task.
    pub skip: bool,
    /// Another agent claimed its task.
    pub lost: bool,
    /// A task of the iteration waits for the user.
    pub parked: bool,
    /// The task that the loop claimed was returned for retry.
    pub returned: bool,
    /// Messages of the user about its task that its session did not get so far, by their numbers.
    pub unread: Vec<u32>,
    /// Those that its session got.
    pub got: Vec<u32>,
    /// How often others moved the branch while the gates judged its work.
    pub overtaken: u32,
    /// How long the gates took the last time, in milliseconds.
    pub gates_ms: u64,
}

/// An iteration whose session has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedSession {
    pub iteration: Iteration,
    pub report: SessionReport,
    /// The work is that of an earlier attempt; no session ran.
    pub found: bool,
}

/// The work of a session as a tree, and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    pub session: EndedSession,
    pub tree: String,
    /// How the tree differs from the last accepted one.
    pub difference: Difference,
    /// The results of the gates and of the verifier, and whether all passed.
    pub judged: Option<(Vec<GateReport>, bool)>,
    /// Why the change is risky.
    pub risks: Vec<Risk>,
    /// Why there is no verdict of the verifier, and the class that the attempt gets for it.
    pub unverified: Option<(Class, String)>,
    /// Limits that the verifier hit in a row.
    pub verifier_limits: u32,
    /// The result of landing the work.
    pub landing: Option<Landing>,
    /// It has its turn: no other work lands meanwhile.
    pub turn: bool,
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
    /// The user told something that the session did not get.
    pub unread: bool,
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
    None,
    /// In the plan file and nothing else.
    Plan,
    Work,
}

/// One place where sessions run, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slot {
    pub phase: Phase,
    /// What it waits for before it continues, and until when.
    pub wait: Option<(Wait, Option<Timestamp>)>,
    /// What it still has to finish, where the run stops after its current tasks.
    pub in_hand: Option<InHand>,
    /// Failures of a port in a row.
    pub port_streak: u32,
    /// Claims missed in a row.
    pub missed: u32,
}

impl Slot {
    /// The iteration that is under way.
    pub fn iteration(&self) -> Option<&Iteration> {
        match &self.phase {
            Phase::Free | Phase::Surveying | Phase::Claiming => None,
            Phase::Running(iteration) => Some(iteration),
            _ => self.session().map(|session| &session.iteration),
        }
    }

    /// Its session, once that has ended.
    pub fn session(&self) -> Option<&EndedSession> {
        match &self.phase {
            Phase::Candidate(session) => Some(session),
            _ => self.work().map(|work| &work.session),
        }
    }

    /// The work of its session, once the tree is written.
    pub fn work(&self) -> Option<&Work> {
        match &self.phase {
            Phase::Judging(work)
            | Phase::Verifying(work)
            | Phase::Queued(work, _)
            | Phase::Integrating(work)
            | Phase::Settling(work, _) => Some(work),
            Phase::Free
            | Phase::Surveying
            | Phase::Claiming
            | Phase::Running(_)
            | Phase::Candidate(_) => None,
        }
    }

    pub(super) fn iteration_mut(&mut self) -> Option<&mut Iteration> {
        match &mut self.phase {
            Phase::Free | Phase::Surveying | Phase::Claiming => None,
            Phase::Running(iteration) => Some(iteration),
            Phase::Candidate(session) => Some(&mut session.iteration),
            Phase::Judging(work)
            | Phase::Verifying(work)
            | Phase::Queued(work, _)
            | Phase::Integrating(work)
            | Phase::Settling(work, _) => Some(&mut work.session.iteration),
        }
    }

    pub(super) fn work_mut(&mut self) -> Option<&mut Work> {
        match &mut self.phase {
            Phase::Judging(work)
            | Phase::Verifying(work)
            | Phase::Queued(work, _)
            | Phase::Integrating(work)
            | Phase::Settling(work, _) => Some(work),
            Phase::Free
            | Phase::Surveying
            | Phase::Claiming
            | Phase::Running(_)
            | Phase::Candidate(_) => None,
        }
    }

    /// Whether anything is under way.
    pub fn is_busy(&self) -> bool {
        self.phase != Phase::Free
    }

    /// The task that the loop claimed.
    pub fn task(&self) -> Option<&TaskBrief> {
        self.iteration().and_then(|iteration| iteration.task.as_ref())
    }

    /// Whether it has the turn to land its work.
    pub fn has_turn(&self) -> bool {
        self.work().is_some_and(|work| work.turn)
    }

    /// Whether a run that stops after its tasks has to wait for this slot.
    pub fn has_task_in_hand(&self) -> bool {
        self.iteration().is_some() || self.in_hand.is_some()
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
        let iteration = self.iteration()?;
        match &iteration.task {
            _ if by_iteration => again.then_some(InHand::Iteration),
            Some(task) if iteration.returned => Some(InHand::Task(task.id.clone())),
            _ => None,
        }
    }

    /// Whether a session on this task is under way here.
    pub fn holds(&self, task: &TaskId) -> bool {
        self.task().is_some_and(|brief| brief.id == *task)
    }

    /// The claim is not lost, and the user has not skipped the task.
    pub(super) fn is_wanted(&self) -> bool {
        self.iteration().is_some_and(|iteration| !iteration.lost && !iteration.skip)
    }

    /// Whether the loop has heard of this message about its task.
    pub fn knows_message(&self, number: u32) -> bool {
        self.iteration().is_some_and(|iteration| {
            iteration.unread.contains(&number) || iteration.got.contains(&number)
        })
    }

    /// Whether the user told it something about its task that its session did not get.
    pub(super) fn has_unread(&self) -> bool {
        self.iteration().is_some_and(|iteration| !iteration.unread.is_empty())
    }

    /// Whether the branch moves faster than the gates can judge the work.
    pub(super) fn is_overtaken(&self) -> bool {
        self.iteration().is_some_and(|iteration| iteration.overtaken >= OVERTAKES)
    }

    /// Moves on to the next phase with what is known. A fact that does not fit leaves the phase as it is.
    pub(super) fn advance(&mut self, next: impl FnOnce(Phase) -> Phase) {
        self.wait = None;
        self.phase = next(std::mem::take(&mut self.phase));
    }

    /// The same, for work that has a tree.
    pub(super) fn advance_work(&mut self, next: impl FnOnce(Box<Work>) -> Phase) {
        self.advance(|phase| match phase {
            Phase::Judging(work)
            | Phase::Verifying(work)
            | Phase::Queued(work, _)
            | Phase::Integrating(work)
            | Phase::Settling(work, _) => next(work),
            other => other,
        });
    }

    /// Its session has ended, or work of an earlier one was found instead.
    pub(super) fn end_session(&mut self, report: SessionReport, found: bool) {
        self.advance(|phase| match phase {
            Phase::Running(iteration) => {
                Phase::Candidate(Box::new(EndedSession { iteration: *iteration, report, found }))
            }
            other => other,
        });
    }

    /// The branch moved. Work that was about to land is rebased onto it; for any other work the tree is written
    /// again.
    pub(super) fn head_moved(&mut self) {
        let settling = matches!(self.phase, Phase::Settling(..));
        self.advance_work(|mut work| {
            work.session.iteration.overtaken += u32::from(settling);
            if work.turn && settling {
                work.landing = None;
                return Phase::Integrating(work);
            }
            Phase::Candidate(Box::new(work.session))
        });
    }
}

impl EndedSession {
    /// The finished work of its task, where that stands in for a session.
    pub(super) fn finished(&self) -> Option<&FinishedWork> {
        let task = self.iteration.task.as_ref().filter(|_| self.found)?;
        task.finished.as_ref()
    }

    /// The user approved the work, and no session has run since.
    pub(super) fn is_approved(&self) -> bool {
        self.finished().is_some_and(|work| work.approved)
    }
}

impl Work {
    pub(super) fn new(session: EndedSession, tree: String, difference: Difference) -> Self {
        Self {
            session,
            tree,
            difference,
            judged: None,
            risks: vec![],
            unverified: None,
            verifier_limits: 0,
            landing: None,
            turn: false,
        }
    }

    /// The results of the gates and of the verifier.
    pub fn gates(&self) -> &[GateReport] {
        self.judged.as_ref().map(|(gates, _)| gates.as_slice()).unwrap_or_default()
    }

    /// The result of landing it.
    pub(super) fn integrated(&mut self, tree: &str, landing: &Landing) {
        if let (Landing::Conflict(Conflict { report: Some(report), .. }), Some((gates, _))) =
            (landing, &mut self.judged)
        {
            gates.push(report.clone());
        }
        self.landing = Some(landing.clone());
        self.tree = tree.to_owned();
    }

    /// A commit hook rejected work that had passed the gates.
    pub(super) fn refused(&mut self, gate: &GateReport) {
        let mut gates = self.judged.take().map(|(gates, _)| gates).unwrap_or_default();
        gates.push(gate.clone());
        self.judged = Some((gates, false));
    }

    /// The gates have judged. A verdict of the verifier on work that was rebased since still counts: the verifier
    /// runs once.
    pub(super) fn judged(&mut self, gates: &[GateReport], green: bool) {
        let before = self.judged.take().filter(|_| self.landing.is_some());
        let verdict = before.into_iter().flat_map(|(gates, _)| gates);
        let verdict = verdict.filter(|gate| gate.name == VERIFIER);
        self.session.iteration.gates_ms = gates.iter().map(|gate| gate.duration_ms).sum();
        self.judged = Some((gates.iter().cloned().chain(verdict).collect(), green));
    }
}

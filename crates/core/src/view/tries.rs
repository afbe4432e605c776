//! The attempts of a run, from its journal: which task, by which agent, what the gates said, and how it ended.

use std::collections::HashMap;

use crate::ids::{AttemptId, TaskId};
use crate::records::GateReport;
use crate::run::{Class, Fact, RunEvent, SlotId};
use crate::task::Status;
use crate::time::Timestamp;

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TryEnd {
    pub class: Class,
    /// What the task has become.
    pub status: Status,
    /// May be empty.
    pub reason: String,
}

/// One attempt on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Try {
    pub task: TaskId,
    pub title: String,
    /// `None` where the agent picked the task.
    pub attempt: Option<AttemptId>,
    /// The agent that worked.
    pub agent: String,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    /// The last result of each gate and of the verifier.
    pub gates: Vec<GateReport>,
    /// `None` while it runs, and where the run was killed.
    pub end: Option<TryEnd>,
}

impl Try {
    /// The gates with their verdicts, such as `fmt pass; test fail`.
    pub fn verdicts(&self) -> String {
        let one = |gate: &GateReport| format!("{} {}", gate.name, gate.verdict);
        self.gates.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

/// The attempts in a journal, in the order in which they began.
pub fn tries(events: &[RunEvent]) -> Vec<Try> {
    let mut all: Vec<Try> = Vec::new();
    let mut agent = String::new();
    // The attempts of each slot's iteration, and what is known before the agent has picked a task.
    let mut open: HashMap<SlotId, Iteration> = HashMap::new();
    for event in events {
        match &event.fact {
            Fact::RunStarted { agent: named, .. } => agent.clone_from(named),
            Fact::AgentSwitched { to, .. } => agent.clone_from(to),
            Fact::IterationStarted { slot, task, agent: own, .. } => {
                let agent = own.as_ref().unwrap_or(&agent).clone();
                let mut iteration =
                    Iteration { agent, started_at: event.at, gates: vec![], tries: vec![] };
                if let Some(task) = task {
                    let mut new = iteration.on(&task.id, &task.title, event.at);
                    new.attempt = Some(task.attempt.clone());
                    iteration.tries.push(all.len());
                    all.push(new);
                }
                open.insert(*slot, iteration);
            }
            Fact::Judged { slot, gates, .. } | Fact::Approved { slot, gates, .. } => {
                if let Some(iteration) = open.get_mut(slot) {
                    iteration.gates.clone_from(gates);
                }
            }
            Fact::HookRefused { slot, gate } => {
                if let Some(iteration) = open.get_mut(slot) {
                    iteration.gates.push(gate.clone());
                }
            }
            Fact::Verified { slot, report } if report.obstacle().is_none() => {
                if let Some(iteration) = open.get_mut(slot) {
                    iteration.gates.push(report.judged());
                }
            }
            Fact::TaskSettled { slot, task, title, class, status, reason, .. } => {
                let Some(iteration) = open.get_mut(slot) else { continue };
                let known = iteration.tries.iter().copied().find(|at| all[*at].task == *task);
                let at = known.unwrap_or_else(|| {
                    all.push(iteration.on(task, title, event.at));
                    iteration.tries.push(all.len() - 1);
                    all.len() - 1
                });
                all[at].ended_at = event.at;
                all[at].gates.clone_from(&iteration.gates);
                let (class, status, reason) = (*class, *status, reason.clone());
                all[at].end = Some(TryEnd { class, status, reason });
            }
            Fact::IterationEnded { slot, .. } => {
                open.remove(slot);
            }
            _ => {}
        }
        for at in open.values().flat_map(|iteration| &iteration.tries) {
            if all[*at].end.is_none() {
                all[*at].ended_at = event.at;
            }
        }
    }
    all
}

/// What is known of an iteration that is under way.
struct Iteration {
    agent: String,
    started_at: Timestamp,
    gates: Vec<GateReport>,
    /// The places of its attempts.
    tries: Vec<usize>,
}

impl Iteration {
    fn on(&self, task: &TaskId, title: &str, at: Timestamp) -> Try {
        Try {
            task: task.clone(),
            title: title.to_owned(),
            attempt: None,
            agent: self.agent.clone(),
            started_at: self.started_at,
            ended_at: at,
            gates: vec![],
            end: None,
        }
    }
}

//! What runs did, from their journals: which commits each iteration put on the branch and for which tasks, and each
//! run in a line. `ralph undo`, `ralph diff` and `ralph runs` go by it.

use std::collections::HashMap;

use serde::Serialize;

use super::run_view::{CommitView, RunView};
use crate::ids::{RunId, TaskId};
use crate::run::{Fact, Outcome, RunEvent, SlotId};
use crate::task::Status;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FinishedTask {
    pub id: TaskId,
    pub title: String,
}

/// An iteration whose work is on the branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LandedIteration {
    pub run: RunId,
    pub iteration: u32,
    /// When its first commit was recorded.
    pub at: Timestamp,
    /// The tasks that were done with it; empty if no checkbox was ticked, and for `ralph plan`.
    pub tasks: Vec<FinishedTask>,
    /// Its commits, the oldest first.
    pub commits: Vec<CommitView>,
}

/// The iterations of a run that committed something, in the order in which they did.
pub fn landed(events: &[RunEvent]) -> Vec<LandedIteration> {
    let mut found = Vec::new();
    let mut open: HashMap<SlotId, LandedIteration> = HashMap::new();
    for event in events {
        let fresh = |iteration| LandedIteration {
            run: event.run.clone(),
            iteration,
            at: event.at,
            tasks: vec![],
            commits: vec![],
        };
        match &event.fact {
            Fact::IterationStarted { slot, iteration, .. } => {
                found.extend(open.insert(*slot, fresh(*iteration)));
            }
            Fact::TaskSettled { slot, task, title, status: Status::Done, .. } => {
                let done = FinishedTask { id: task.clone(), title: title.clone() };
                open.entry(*slot).or_insert_with(|| fresh(0)).tasks.push(done);
            }
            Fact::Committed { slot, commit, subject } => {
                let iteration = open.entry(*slot).or_insert_with(|| fresh(0));
                if iteration.commits.is_empty() {
                    iteration.at = event.at;
                }
                let (id, subject) = (commit.clone(), subject.clone());
                iteration.commits.push(CommitView { id, subject });
            }
            Fact::IterationEnded { slot, iteration, .. } => {
                found.extend(
                    open.remove(slot).map(|of| LandedIteration { iteration: *iteration, ..of }),
                );
            }
            _ => {}
        }
    }
    // A run that was killed did not say that they ended.
    found.extend(open.into_values());
    found.retain(|iteration| !iteration.commits.is_empty());
    found.sort_by_key(|iteration| iteration.at);
    found
}

/// A run in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    pub run: RunId,
    pub started_at: Timestamp,
    /// Milliseconds from its start to its end, or to the newest line of its journal.
    pub duration_ms: u64,
    /// `build`, `plan`, `prompt` and so on.
    pub command: String,
    pub preset: String,
    pub target: String,
    /// The branch, where that is not the one of the main worktree.
    pub branch: Option<String>,
    pub agent: String,
    /// Iterations that counted.
    pub iterations: u32,
    pub done: u64,
    pub failed: u64,
    pub commits: u32,
    /// Millionths of a dollar; `None` when no session reported a price.
    pub cost_micro_usd: Option<u64>,
    /// Sessions whose price is unknown: the cost is a lower bound.
    pub unpriced: u32,
    /// The name of the outcome, as in the journal; `None` when the run has not ended, or was killed.
    pub outcome: Option<String>,
    /// How it ended, in a sentence.
    pub ended: Option<String>,
}

impl RunSummary {
    /// Of a journal; `None` when it has no beginning.
    pub fn of(events: &[RunEvent]) -> Option<Self> {
        let view = RunView::of(events);
        let run = view.run.clone()?;
        let settled = |wanted: Status| {
            let is_it = |event: &&RunEvent| matches!(&event.fact, Fact::TaskSettled { status, .. } if *status == wanted);
            events.iter().filter(is_it).count() as u64
        };
        Some(Self {
            run,
            started_at: view.began_at,
            duration_ms: view.elapsed(view.last_at),
            command: view.mode.clone(),
            preset: view.preset.clone(),
            target: view.target.clone(),
            branch: view.branch.clone(),
            agent: view.agent.clone(),
            iterations: view.successful + view.failed,
            done: settled(Status::Done),
            failed: settled(Status::Failed),
            commits: view.commit_count,
            cost_micro_usd: view.usage.cost_micro_usd,
            unpriced: view.unpriced,
            outcome: view.outcome.as_ref().map(|outcome| outcome.reason.name().to_owned()),
            ended: view.outcome.as_ref().map(Outcome::sentence),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::strategy::ModelState;
    use crate::run::Class;

    fn event(seq: u64, fact: Fact) -> RunEvent {
        let run = RunId::new("r-abcd2345").unwrap();
        let at = Timestamp::from_millis(i64::try_from(seq).unwrap() * 1000);
        RunEvent { v: RunEvent::VERSION, run, seq, at, fact }
    }

    fn started(slot: SlotId, iteration: u32) -> Fact {
        Fact::IterationStarted {
            slot,
            iteration,
            task: None,
            offered: 0,
            about: None,
            retry: 0,
            model: None,
            agent: None,
            overridden: None,
            raised: None,
            models: ModelState::default(),
        }
    }

    fn settled(slot: SlotId, task: &str, status: Status) -> Fact {
        Fact::TaskSettled {
            slot,
            task: TaskId::new(task).unwrap(),
            title: task.to_uppercase(),
            class: Class::Done,
            status,
            reason: String::new(),
            retry_count: 0,
        }
    }

    fn committed(slot: SlotId, commit: &str) -> Fact {
        Fact::Committed { slot, commit: commit.to_owned(), subject: format!("about {commit}") }
    }

    fn ended(slot: SlotId, iteration: u32) -> Fact {
        Fact::IterationEnded {
            slot,
            iteration,
            class: Class::Done,
            detail: String::new(),
            head: None,
            tree: String::new(),
            settled: true,
            again: false,
            duration_ms: 1,
        }
    }

    #[test]
    fn commits_belong_to_the_iteration_of_their_slot() {
        let facts = [
            started(0, 1),
            started(1, 2),
            settled(1, "b", Status::Done),
            committed(1, "b1"),
            ended(1, 2),
            settled(0, "a", Status::Done),
            committed(0, "a1"),
            committed(0, "a2"),
            ended(0, 1),
            started(0, 3),
            settled(0, "c", Status::Pending),
            ended(0, 3),
            started(1, 4),
            settled(1, "d", Status::Done),
            committed(1, "d1"),
        ];
        let events: Vec<RunEvent> = (1..).zip(facts).map(|(seq, fact)| event(seq, fact)).collect();
        let all = landed(&events);
        let found: Vec<(u32, Vec<&str>, Vec<&str>)> = all
            .iter()
            .map(|one| {
                let tasks = one.tasks.iter().map(|task| task.id.as_str()).collect();
                (one.iteration, tasks, one.commits.iter().map(|c| c.id.as_str()).collect())
            })
            .collect();
        assert_eq!(
            found,
            [
                (2, vec!["b"], vec!["b1"]),
                (1, vec!["a"], vec!["a1", "a2"]),
                (4, vec!["d"], vec!["d1"]),
            ]
        );
    }
}

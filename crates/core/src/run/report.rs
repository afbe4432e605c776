//! Reports about a task and a session, which facts and inputs carry. Data only: `decide` draws the
//! conclusions.

use serde::{Deserialize, Serialize};

use super::class::Class;
use crate::agent::{EndClass, ProcessEnd, SessionEnd, Signals};
use crate::ids::{AttemptId, TaskId};
use crate::records::GateReport;
use crate::task::Generation;

/// What the loop needs to know about a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskBrief {
    pub id: TaskId,
    pub title: String,
    /// The number of the run's claim on it.
    pub generation: Generation,
    /// How many retries it has used.
    pub retry_count: u32,
    /// How often in a row it was returned without progress.
    pub returns: u32,
    /// The specification it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The attempt that a session on it is recorded as.
    pub attempt: AttemptId,
    /// The number of that attempt on this task, from 1.
    pub attempt_number: u32,
    /// Millionths of a dollar that earlier attempts cost, since the user last reopened it.
    #[serde(default)]
    pub spent_micro_usd: u64,
    /// How it failed last, where it was judged red.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<SameFailure>,
    /// The work of its last attempt, where every check passed but the work did not land.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<FinishedWork>,
    /// Its last sessions, where they ended without a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsignaled: Option<Unsignaled>,
}

/// Work that passed every check and is not on the branch yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedWork {
    pub tree: String,
    /// The verifier passed it, too.
    pub verified: bool,
    /// The user approved it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    /// What the gates and the verifier said about it, where the user approved it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateReport>,
}

impl TaskBrief {
    /// Its finished work lands without a session, because the user approved it.
    pub fn has_approved_work(&self) -> bool {
        self.finished.as_ref().is_some_and(|work| work.approved)
    }

    /// How often in a row it has failed like this, this time counted.
    pub fn times_like(&self, fingerprint: &str) -> u32 {
        let before = self.failed.as_ref().filter(|last| last.fingerprint == fingerprint);
        before.map_or(0, |last| last.times).saturating_add(1)
    }
}

/// The last failure of a task, and how often in a row it occurred.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SameFailure {
    /// What makes two failures the same.
    pub fingerprint: String,
    /// How often it occurred.
    pub times: u32,
}

/// Sessions on a task in a row that ended without a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsignaled {
    /// How many sessions.
    pub ends: u32,
    /// How many of the last ones left no new tree.
    pub unchanged: u32,
    /// The tree that the last one left.
    pub tree: String,
}

impl Unsignaled {
    /// The count after one more session that left this tree; `changed`: it is not the last accepted tree.
    pub fn after(before: Option<&Self>, tree: &str, changed: bool) -> Self {
        let is_new = changed && before.is_none_or(|before| before.tree != tree);
        let (ends, unchanged) = before.map_or((0, 0), |before| (before.ends, before.unchanged));
        Self {
            ends: ends.saturating_add(1),
            unchanged: if is_new { 0 } else { unchanged.saturating_add(1) },
            tree: tree.to_owned(),
        }
    }
}

/// What an iteration is about where the agent picks, as far as the plan says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// One line.
    pub title: String,
    /// The specification it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The title is that of the first of so many open tasks: the agent may work on another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<u64>,
}

/// What an agent requested for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case")]
pub enum RequestedOutcome {
    /// The task is done: judge it.
    Done {
        /// JSON text that says what was produced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    /// Fail it for good, or retry it.
    Fail {
        reason: String,
        /// For good. The command `ralph task fail` asks for a retry; the signal is for good.
        for_good: bool,
    },
    /// From a hook, not from the agent: the session ended and still holds the task. It counts only where
    /// neither the agent nor the end of the session says anything else.
    Left { reason: String },
    /// Ask the user.
    Ask { text: String },
}

/// A request made from inside a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub task: TaskId,
    #[serde(flatten)]
    pub outcome: RequestedOutcome,
}

/// Everything about a session that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionReport {
    pub end: SessionEnd,
    pub process: ProcessEnd,
    /// What its final text asks for.
    pub signals: Signals,
    /// What it requested by `ralph task` commands.
    pub requests: Vec<Request>,
    /// The tasks that it held when it ended.
    pub held: Vec<TaskBrief>,
    /// What it wrote into task logs.
    pub notes: Vec<String>,
    pub duration_ms: u64,
    /// Processes that it left running and that ralph killed.
    pub leftovers: u32,
}

impl SessionReport {
    /// A report in place of a session, where finished work of an earlier attempt was found.
    pub fn of_found_work(task: &TaskBrief) -> Self {
        Self {
            end: SessionEnd::of(EndClass::Completed, ""),
            process: ProcessEnd::Exited { code: 0 },
            signals: Signals { done: vec![task.id.to_string()], ..Signals::default() },
            requests: vec![],
            held: vec![task.clone()],
            notes: vec![],
            duration_ms: 0,
            leftovers: 0,
        }
    }
}

/// What the next session has to know about the one before it, where iterations are judged as a whole and no task
/// records it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Earlier {
    /// How often in a row the iteration failed.
    pub tries: u32,
    /// Why it failed last.
    pub reason: String,
    /// The results of its gates and of the verifier.
    pub gates: Vec<GateReport>,
    /// Texts of the last session that look like signals and did not count.
    pub ignored: Vec<String>,
}

impl Earlier {
    /// After an iteration that ended so. What does not count says nothing.
    pub(super) fn iteration_ended(&mut self, class: Class, detail: &str, gates: &[GateReport]) {
        if class.is_tried_again() {
            self.tries += 1;
            self.reason = match detail.trim() {
                "" => class.to_string(),
                detail => detail.to_owned(),
            };
            self.gates = gates.to_vec();
        } else if class.row().counts {
            *self = Self { ignored: std::mem::take(&mut self.ignored), ..Self::default() };
        }
    }
}

/// The commit hooks of the repository, as a gate.
pub const COMMIT_HOOK: &str = "commit-hook";

/// The check for changes to protected files, as evidence names it.
pub const PROTECTED: &str = "protected files";

/// The check for files that no commit may contain, as evidence names it.
pub const FORBIDDEN: &str = "forbidden files";

/// The check whether anything changed, as evidence names it.
pub const CHANGES: &str = "changes";

/// The name of evidence about weakened tests.
pub const WEAKENED: &str = "weakened tests";

/// The name of evidence about missing and invalid signals.
pub const SIGNAL: &str = "signal";

//! What facts and inputs carry about a task, a session and its gates. Data only: what follows from it is
//! decided elsewhere.

use serde::{Deserialize, Serialize};

use crate::agent::{EndClass, ProcessEnd, SessionEnd, Signals};
use crate::ids::{AttemptId, TaskId};
use crate::records::Verdict;
use crate::task::Generation;

/// What the loop needs to know of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskBrief {
    /// Its name.
    pub id: TaskId,
    /// What is to be done.
    pub title: String,
    /// The number of our claim on it.
    pub generation: Generation,
    /// How often it came back.
    pub retry_count: u32,
    /// How often in a row it came back without progress.
    pub returns: u32,
    /// The specification it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The attempt that a session on it is recorded as.
    pub attempt: AttemptId,
    /// The number of that attempt on this task, from 1.
    pub attempt_number: u32,
    /// Millionths of a dollar that earlier attempts cost, since a person last put it back.
    #[serde(default)]
    pub spent_micro_usd: u64,
    /// How it failed last, where it was judged red.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<SameFailure>,
    /// What its last attempt left, where every check passed and the work never got onto the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<FinishedWork>,
    /// Its last sessions, where they ended without a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsignaled: Option<Unsignaled>,
}

/// Work that passed every check and is not on the branch yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedWork {
    /// Its tree.
    pub tree: String,
    /// The verifier was among those that passed it.
    pub verified: bool,
}

impl TaskBrief {
    /// How often in a row it has failed like this, this time counted.
    pub fn times_like(&self, fingerprint: &str) -> u32 {
        let before = self.failed.as_ref().filter(|last| last.fingerprint == fingerprint);
        before.map_or(0, |last| last.times).saturating_add(1)
    }
}

/// A failure that a task came back with, and how often in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SameFailure {
    /// What makes two failures the same.
    pub fingerprint: String,
    /// How often.
    pub times: u32,
}

/// Sessions on a task in a row that ended without a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsignaled {
    /// How many.
    pub ends: u32,
    /// How many of the last ones left no new tree.
    pub unchanged: u32,
    /// The tree that the last one left.
    pub tree: String,
}

impl Unsignaled {
    /// With one more that left this tree; `changed`: it is not the one that was accepted last.
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

/// What an iteration is about where the agent picks, as far as the plan tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// In a line.
    pub title: String,
    /// The specification it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The title is that of the first of so many open tasks: the agent may work on another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<u64>,
}

/// What an agent asked for about a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case")]
pub enum Wish {
    /// Judge it.
    Done {
        /// JSON text that tells what was produced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    /// Give it up, or try it again.
    Fail {
        /// Why.
        reason: String,
        /// For good. A `fail` by command is another try; the signal is for good.
        for_good: bool,
    },
    /// Said by a hook, not by the agent: the session ends and still holds the task. It counts only where
    /// neither the agent nor the end of the session says anything else.
    Left {
        /// Why.
        reason: String,
    },
    /// Ask a person.
    Ask {
        /// What.
        text: String,
    },
}

/// A request made from inside a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The task it is about.
    pub task: TaskId,
    /// What is wished.
    #[serde(flatten)]
    pub wish: Wish,
}

/// Everything about a session that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionReport {
    /// How it ended.
    pub end: SessionEnd,
    /// How its process ended.
    pub process: ProcessEnd,
    /// What its final text asks for.
    pub signals: Signals,
    /// What it asked for by command.
    pub requests: Vec<Request>,
    /// The tasks that it held when it ended.
    pub held: Vec<TaskBrief>,
    /// What it wrote into task logs.
    pub notes: Vec<String>,
    /// How long it took.
    pub duration_ms: u64,
    /// Processes that it left behind and that were ended.
    pub leftovers: u32,
}

impl SessionReport {
    /// What stands for the session where finished work of an earlier attempt was found.
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

/// The commit hooks of the repository, as a gate.
pub const COMMIT_HOOK: &str = "commit-hook";

/// The judge of changes to protected files, as it is named in evidence.
pub const PROTECTED: &str = "protected files";

/// The judge of files that no commit may hold, as it is named in evidence.
pub const FORBIDDEN: &str = "forbidden files";

/// What looks whether anything changed, as it is named in evidence.
pub const CHANGES: &str = "changes";

/// What evidence about weakened tests is filed under.
pub const WEAKENED: &str = "weakened tests";

/// What evidence about a missing signal is filed under, and about texts that only look like one.
pub const SIGNAL: &str = "signal";

/// What one gate said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    /// Its name.
    pub name: String,
    /// What it said.
    pub verdict: Verdict,
    /// Its exit code, where it had one.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_ms: u64,
    /// The lines that matter.
    pub digest: String,
}

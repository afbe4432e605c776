//! What a display with a screen of its own asks of the program around it: the stream of runs, the state of the plan, and the
//! user's actions. The program implements these ports; a display knows neither files nor sockets.
//!
//! Answers are those of the commands with `--json`, so that a page and a command never disagree.

use ralph_core::ids::{QuestionId, RunId};
use ralph_core::run::Cancel;
use ralph_core::task::Task;
use ralph_core::time::{Timestamp, Zone};
use ralph_core::view::report::Report;
use ralph_core::view::stream::EventSource;
use ralph_core::{FeatureName, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::runs::RunRow;
use crate::status::StatusPage;

/// Why something was refused or failed: a sentence, and what to type or do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub message: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// What was asked for does not exist.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

pub type Answer<T> = Result<T, Refused>;

/// The repository: its tasks, runs and evidence, and what the user can do about them. Every call may take milliseconds:
/// displays ask on a thread of their own.
pub trait Board {
    /// What `ralph status` shows.
    fn status(&mut self) -> Answer<StatusPage>;

    /// Every task that is not deleted, in the order of creation. At 100,000 tasks this takes a good part of a second.
    fn tasks(&mut self) -> Answer<Vec<Task>>;

    /// A number that changes whenever a task does: displays list tasks again only then.
    fn version(&mut self) -> Answer<u64>;

    /// What `ralph task show ID --all --with-deps --json` prints in `data`.
    fn task(&mut self, id: &TaskId) -> Answer<Value>;

    /// The work of a task as a patch: what landed, or what waits for approval.
    fn diff(&mut self, id: &TaskId) -> Answer<String>;

    /// What `ralph runs` lists, the newest first.
    fn runs(&mut self) -> Answer<Vec<RunRow>>;

    /// What `ralph report --json` prints in `data`.
    fn report(&mut self) -> Answer<Report>;

    /// Does what the user asks, and says in a sentence what happens now. The same as the command.
    fn perform(&mut self, action: &UserAction) -> Answer<String>;
}

/// Something that the user can do from a display. Each is also a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum UserAction {
    Pause,
    Resume,
    Cancel {
        after: Cancel,
    },
    Skip {
        task: TaskId,
    },
    Retry {
        task: TaskId,
    },
    /// Reopens tasks that are done.
    Reopen {
        task: TaskId,
    },
    Answer {
        question: QuestionId,
        text: String,
    },
    Approve {
        task: TaskId,
    },
    Reject {
        task: TaskId,
        why: String,
    },
    Tell {
        task: TaskId,
        text: String,
    },
    Add {
        title: String,
        #[serde(default)]
        description: String,
        #[serde(default)]
        priority: Option<u8>,
        #[serde(default)]
        deps: Vec<TaskId>,
        #[serde(default)]
        feature: Option<FeatureName>,
    },
    Edit {
        task: TaskId,
        #[serde(default)]
        title: Option<String>,
        #[serde(default)]
        description: Option<String>,
        #[serde(default)]
        priority: Option<u8>,
    },
    Delete {
        task: TaskId,
    },
}

/// The program around a display.
pub trait Ports: Send + Sync {
    /// All active runs of the repository from their beginning, and those that start while the display reads; where none
    /// is active, the last one. Each call opens another stream.
    fn live(&self) -> Box<dyn EventSource + Send>;

    /// One run, active or ended.
    fn run(&self, run: &RunId) -> Answer<Box<dyn EventSource + Send>>;

    fn board(&self) -> Box<dyn Board>;

    fn now(&self) -> Timestamp;

    /// The zone in which the user reads times.
    fn zone(&self) -> Zone;

    /// The folder of the repository, for titles.
    fn root(&self) -> String;
}

//! What is kept beside the tasks: their log, attempts and evidence, who works, what was asked, and
//! the features that tasks are grouped by.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, AttemptId, FeatureId, FeatureName, QuestionId, RunId, TaskId};
use crate::task::Generation;
use crate::time::Timestamp;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// The stored word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;
            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(UnknownWord(text.to_owned())),
                }
            }
        }
    };
}

/// A stored word that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a word of this version")]
pub struct UnknownWord(String);

words! {
    /// What a line of a task's log tells.
    LogKind {
        /// Words of an agent or a person.
        Note = "note",
        /// Made by hand.
        Created = "created",
        /// Somebody took it.
        Claimed = "claimed",
        /// Given back without a verdict.
        Released = "released",
        /// Failed, to be tried again. The text is the reason.
        Retry = "retry",
        /// Given up. The text is the reason.
        Failed = "failed",
        /// Accepted.
        Done = "done",
        /// Put back to pending by hand.
        Reset = "reset",
        /// Fields changed by hand. The text names them.
        Updated = "updated",
        /// A blocker was added. The text is its id.
        Blocked = "blocked",
        /// A blocker was taken away. The text is its id.
        Unblocked = "unblocked",
        /// Taken out of the plan.
        Deleted = "deleted",
        /// Waits for a person. The text is the question.
        Asked = "asked",
        /// A person answered. The text is the answer.
        Answered = "answered",
    }
}

/// A line of a task's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: AgentId,
    /// What happened.
    pub kind: LogKind,
    /// In words; may be empty.
    pub text: String,
}

/// One session on one task. Started once, ended once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// Its name.
    pub id: AttemptId,
    /// The task.
    pub task: TaskId,
    /// The run that it is a part of, if any.
    pub run: Option<RunId>,
    /// Who held the claim.
    pub agent: AgentId,
    /// Which claim it was.
    pub generation: Generation,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The level of the box it ran in.
    pub sandbox: Option<String>,
    /// When it started.
    pub started_at: Timestamp,
    /// How it ended; `None` while it runs, or when nobody lived to tell.
    pub end: Option<AttemptEnd>,
}

/// A file that an attempt changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Its name.
    pub path: String,
    /// Lines that came; `None` where the file is no text.
    pub added: Option<u64>,
    /// Lines that went; `None` where the file is no text.
    pub removed: Option<u64>,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttemptEnd {
    /// When.
    pub at: Timestamp,
    /// The class of the end, in a word.
    pub outcome: String,
    /// In words; may be empty.
    pub detail: String,
    /// The commit that holds the work, if any.
    pub commit: Option<String>,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Millionths of a dollar, as the agent told it; `None` when it told no price.
    pub cost_micro_usd: Option<u64>,
}

words! {
    /// What a judge said.
    Verdict {
        /// Good.
        Pass = "pass",
        /// Not good.
        Fail = "fail",
        /// There was nothing to judge by.
        Ungated = "ungated",
        /// The tree is the one from before.
        Unchanged = "unchanged",
    }
}

/// The stored result of judging one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The task it speaks for.
    pub task: TaskId,
    /// The attempt that made the tree, if any.
    pub attempt: Option<AttemptId>,
    /// The git tree that was judged.
    pub tree: String,
    /// The gate or verifier that judged.
    pub judge: String,
    /// What it said.
    pub verdict: Verdict,
    /// Its exit code, where it was a program.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_ms: u64,
    /// The lines that matter.
    pub digest: String,
    /// When.
    pub at: Timestamp,
}

/// Where a run lives, so that a dead one is told from a silent one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Liveness {
    /// The machine.
    pub host: String,
    /// Its current boot.
    pub boot_id: String,
    /// The process.
    pub pid: u32,
    /// When the process started, in the system's own count: pids come again.
    pub pid_started: u64,
}

/// Somebody who claims tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentRecord {
    /// Its name.
    pub id: AgentId,
    /// Where it lives; `None` for one whose claims end only by lease.
    pub liveness: Option<Liveness>,
    /// When it came.
    pub registered_at: Timestamp,
    /// The tasks that it holds now.
    pub claims: Vec<TaskId>,
}

/// A question that an agent put to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// Its name.
    pub id: QuestionId,
    /// The task that waits.
    pub task: TaskId,
    /// Who asks.
    pub by: AgentId,
    /// What is asked.
    pub text: String,
    /// When.
    pub asked_at: Timestamp,
    /// What a person said, and when.
    pub answer: Option<(Timestamp, String)>,
}

/// A named group of tasks with a spec and a plan on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Feature {
    /// Its own id.
    pub id: FeatureId,
    /// Its name, also of its folder.
    pub name: FeatureName,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What was spent so far, and on how many tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Tasks that are done, or failed for good.
    pub tasks: u64,
    /// Millionths of a dollar; `None` when some of it is not known.
    pub micro_usd: Option<u64>,
    /// Milliseconds of work, without waits.
    pub millis: u64,
}

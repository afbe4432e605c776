//! What is kept beside the tasks: their log, attempts and evidence, who works, what was asked, and
//! the features that tasks are grouped by.

use serde::{Deserialize, Serialize, Serializer};

use crate::ids::{AgentId, AttemptId, FeatureId, FeatureName, QuestionId, RunId, TaskId};
use crate::task::Generation;
use crate::time::Timestamp;

words! {
    /// What a line of a task's log tells.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LogKind {
        /// Words of an agent or the user.
        Note = "note",
        Created = "created",
        /// An agent or the user claimed it.
        Claimed = "claimed",
        /// Given back without a verdict.
        Released = "released",
        /// Failed, to be tried again. The text is the reason.
        Retry = "retry",
        /// Given up. The text is the reason.
        Failed = "failed",
        Done = "done",
        Reset = "reset",
        /// Fields changed by a command. The text names them.
        Updated = "updated",
        /// A blocker was added. The text is its id.
        Blocked = "blocked",
        /// A blocker was taken away. The text is its id.
        Unblocked = "unblocked",
        Deleted = "deleted",
        /// Waits for the user. The text is the question.
        Asked = "asked",
        /// The user answered. The text is the answer.
        Answered = "answered",
        /// The user lets finished work land.
        Approved = "approved",
        /// A message of the user for the agent. Its number is its place among them.
        Message = "message",
        /// A session got a message of the user. The text says which message, and in which attempt.
        Delivered = "delivered",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    pub at: Timestamp,
    pub by: AgentId,
    pub kind: LogKind,
    /// In words; may be empty.
    pub text: String,
}

/// One session on one task. Started once, ended once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attempt {
    pub id: AttemptId,
    pub task: TaskId,
    /// The run that it is a part of, if any.
    pub run: Option<RunId>,
    /// Who held the claim.
    pub agent: AgentId,
    /// Which claim it was.
    pub generation: Generation,
    /// The agent CLI that worked, in a run with several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The level of the sandbox it ran in.
    pub sandbox: Option<String>,
    pub started_at: Timestamp,
    /// How it ended; `None` while it runs, or when nobody lived to tell.
    pub end: Option<AttemptEnd>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    pub path: String,
    /// Lines added; `None` for a binary file.
    pub added: Option<u64>,
    /// Lines removed; `None` for a binary file.
    pub removed: Option<u64>,
}

/// What an attempt left changed, compared with the last tree that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Changes {
    /// The files, the first of them.
    pub files: Vec<FileChange>,
    /// How many more there are.
    pub more: u64,
}

impl Changes {
    /// How many files are kept.
    const MAX: usize = 100;

    /// The first of these files, and how many there are beyond.
    pub fn of(mut files: Vec<FileChange>) -> Self {
        let more = files.len().saturating_sub(Self::MAX) as u64;
        files.truncate(Self::MAX);
        Self { files, more }
    }

    pub fn count(&self) -> u64 {
        self.more.saturating_add(self.files.len() as u64)
    }

    /// Lines that came and lines that went, in the files that are named.
    pub fn lines(&self) -> (u64, u64) {
        let sum = |of: fn(&FileChange) -> Option<u64>| self.files.iter().filter_map(of).sum();
        (sum(|file| file.added), sum(|file| file.removed))
    }

    /// As it is stored: a line per file, as `git diff --numstat` prints them, and one for the others.
    pub fn to_text(&self) -> String {
        let number = |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
        let mut text = String::new();
        for file in &self.files {
            let path = file.path.replace('\\', "\\\\").replace('\n', "\\n");
            text.push_str(&format!("{}\t{}\t{path}\n", number(file.added), number(file.removed)));
        }
        if self.more > 0 {
            text.push_str(&format!("{} more\n", self.more));
        }
        text
    }

    /// Reads what was stored. What cannot be read is left out.
    pub fn from_text(text: &str) -> Self {
        let mut all = Self::default();
        for line in text.lines() {
            let fields: Vec<&str> = line.splitn(3, '\t').collect();
            if let [added, removed, path] = fields[..] {
                let path = path.replace("\\\\", "\0").replace("\\n", "\n").replace('\0', "\\");
                let (added, removed) = (added.parse().ok(), removed.parse().ok());
                all.files.push(FileChange { path, added, removed });
            } else if let Some(more) = line.strip_suffix(" more") {
                all.more = more.parse().unwrap_or_default();
            }
        }
        all
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct AttemptEnd {
    pub at: Timestamp,
    /// The class of the end, in a word.
    pub outcome: String,
    /// In words; may be empty.
    pub detail: String,
    /// The commit that holds the work, if any.
    pub commit: Option<String>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Millionths of a dollar, as the agent told it; `None` when it told no price.
    pub cost_micro_usd: Option<u64>,
    pub changed: Changes,
    /// The end of what it said last; may be empty.
    #[serde(rename = "said")]
    pub last_message: String,
    /// What makes another failure the same as this one; `None` where nothing was judged red.
    pub fingerprint: Option<String>,
}

words! {
    /// What a judge said.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Verdict {
        Pass = "pass",
        Fail = "fail",
        /// There was nothing to judge by.
        Ungated = "ungated",
        /// The tree is the one from before.
        Unchanged = "unchanged",
        /// The session ended without a signal that asks for this.
        Unclaimed = "unclaimed",
    }
}

/// The result of one gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    pub name: String,
    pub verdict: Verdict,
    /// Its exit code, where it had one.
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    /// The lines that matter.
    pub digest: String,
    /// The file with its whole output, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

impl GateReport {
    /// The report of a check that ran no command.
    pub fn of_check(name: &str, verdict: Verdict, digest: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            verdict,
            exit_code: None,
            duration_ms: 0,
            digest: digest.into(),
            log: None,
        }
    }
}

/// The stored result of judging one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    pub task: TaskId,
    /// The attempt that made the tree, if any.
    pub attempt: Option<AttemptId>,
    /// The git tree that was judged.
    pub tree: String,
    pub judge: String,
    pub verdict: Verdict,
    /// Its exit code, where it was a program.
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    /// The lines that matter.
    pub digest: String,
    pub at: Timestamp,
}

/// Where a run lives: distinguishes a dead run from a silent one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Liveness {
    pub host: String,
    pub boot_id: String,
    pub pid: u32,
    /// When the process started, in the system's own count: pids come again.
    pub pid_started: u64,
}

/// An agent or user who claims tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentRecord {
    pub id: AgentId,
    /// Where it lives; `None` for one whose claims end only by lease.
    pub liveness: Option<Liveness>,
    pub registered_at: Timestamp,
    /// The tasks that it holds now.
    pub claims: Vec<TaskId>,
}

/// A question from an agent to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    pub id: QuestionId,
    pub task: TaskId,
    pub by: AgentId,
    pub text: String,
    pub asked_at: Timestamp,
    /// The user's answer, and when it came.
    #[serde(flatten, serialize_with = "answer")]
    pub answer: Option<(Timestamp, String)>,
}

/// An answer and its time as two keys.
fn answer<S: Serializer>(answer: &Option<(Timestamp, String)>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Answered<'a> {
        answer: Option<&'a str>,
        answered_at: Option<Timestamp>,
    }
    let (answered_at, answer) = answer.as_ref().map(|(at, text)| (*at, text.as_str())).unzip();
    Answered { answer, answered_at }.serialize(to)
}

/// The longest message, in bytes. Prompts contain messages whole.
pub const MAX_MESSAGE: usize = 4_000;
/// How many messages of a task may wait for its next attempt.
pub const MAX_UNREAD: usize = 20;

/// A message of the user about a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Its number on the task, from 1.
    pub number: u32,
    pub text: String,
}

/// A message, and which sessions got it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub message: UserMessage,
    /// The attempts whose sessions got it.
    pub given: Vec<AttemptId>,
    /// One of them ended by itself.
    pub delivered: bool,
}

/// A named group of tasks with a spec and a plan on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Feature {
    pub id: FeatureId,
    /// Its name, also of its folder.
    pub name: FeatureName,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_read_back_as_they_were_written() {
        let file =
            |path: &str, added, removed| FileChange { path: path.to_owned(), added, removed };
        let odd = "a\\nb\tc\nd\\";
        let all = Changes {
            files: vec![file("src/a.rs", Some(3), Some(0)), file(odd, None, None)],
            more: 7,
        };
        assert_eq!(Changes::from_text(&all.to_text()), all);
        assert_eq!((all.count(), all.lines()), (9, (3, 0)));
        assert_eq!(Changes::from_text(""), Changes::default());
        let many = Changes::of(vec![file("x", Some(1), Some(1)); 250]);
        assert_eq!((many.files.len(), many.more, many.count()), (100, 150, 250));
    }
}

//! The content of a prompt as data, before it becomes text.

use std::sync::Arc;

use super::fingerprint::FirstWords;
use crate::ids::TaskId;
use crate::records::{Changes, Message, UserMessage};
use crate::task::RetryLimit;

/// Everything that the prompt of one attempt says. What is absent here is absent from the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttemptContext {
    /// The task, where the loop picks it.
    pub task: Option<AssignedTask>,
    /// The markdown plan that contains the task, if there is one.
    pub plan_file: Option<String>,
    /// The branch of the task, where the plan has branches.
    pub branch: Option<BranchWork>,
    pub parent: Option<ParentTask>,
    /// The finished tasks that it depends on, oldest first.
    pub blockers: Vec<FinishedBlocker>,
    /// How many finished blockers were left out of `blockers`.
    pub more_blockers: usize,
    pub spec: Option<Document>,
    pub plan: Option<Document>,
    /// Present when the task was returned for retry at least once.
    pub retry: Option<RetryInfo>,
    pub signal: Option<SignalInfo>,
    /// What the user told about the task, oldest first. The prompt has what is not delivered yet.
    pub messages: Vec<Message>,
    /// The user's answers to earlier questions, oldest first.
    pub answers: Vec<AnsweredQuestion>,
    pub failures: Vec<GateFailure>,
    /// How the last few sessions on the task ended, oldest first.
    pub earlier: Vec<EarlierAttempt>,
    /// Notes of earlier sessions and of the user about the task, oldest first.
    pub notes: Vec<String>,
    /// Skills that the agent can read when needed.
    pub skills: Vec<Skill>,
    /// Ask the agent to record what it learns.
    pub learn: bool,
}

impl AttemptContext {
    /// The messages of the user that the prompt has.
    pub fn unread(&self) -> Vec<UserMessage> {
        let unread = self.messages.iter().filter(|message| !message.delivered);
        unread.map(|message| message.message.clone()).collect()
    }
}

/// A branch that becomes one pull request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BranchWork {
    pub name: String,
    /// What it is for; may be empty.
    pub goal: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedTask {
    /// Its id, which the agent writes into signals.
    pub id: TaskId,
    pub title: String,
    /// What to do, in detail; may be empty.
    pub description: String,
    pub steps: Vec<String>,
    pub category: Option<String>,
    pub spec: Option<String>,
    /// Where else it is known.
    pub reference: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentTask {
    pub title: String,
    pub description: String,
}

/// A task that had to be done first, and is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedBlocker {
    pub id: TaskId,
    pub title: String,
    /// Its last note, else its description; may be empty.
    pub summary: String,
    /// The commit with its work, where known.
    pub commit: Option<String>,
}

/// A file of the project that goes into the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// As the agent finds it: relative to the working tree.
    pub path: String,
    /// Shared, because it is read once for a whole run.
    pub text: Arc<str>,
}

/// Why this is not the first attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryInfo {
    /// This attempt, from 1.
    pub attempt: u32,
    pub max: RetryLimit,
    /// Why the task was returned, where that is known.
    pub reason: Option<String>,
    /// The failing tests and the first error of the last failure.
    pub first: FirstWords,
    /// The numbers of the last attempts that failed in the same way; empty when there are not several.
    pub same: Vec<u32>,
}

impl RetryInfo {
    /// The retry information of a task that was retried `retry_count` times; none before the first retry.
    pub fn of(retry_count: u32, max: RetryLimit, reason: Option<String>) -> Option<Self> {
        (retry_count > 0).then(|| Self {
            attempt: retry_count.saturating_add(1),
            max,
            reason,
            first: FirstWords::default(),
            same: vec![],
        })
    }

    /// Adds the failing gates, and how the earlier attempts ended.
    pub fn after(mut self, failures: &[GateFailure], earlier: &[EarlierAttempt]) -> Self {
        self.first = failures.first().map(|red| FirstWords::of(&red.digest)).unwrap_or_default();
        let last = earlier.last().and_then(|attempt| attempt.fingerprint.as_ref());
        let alike = earlier
            .iter()
            .rev()
            .take_while(|attempt| last.is_some() && attempt.fingerprint.as_ref() == last);
        let mut same: Vec<u32> = alike.map(|attempt| attempt.number).collect();
        same.reverse();
        self.same = if same.len() > 1 { same } else { vec![] };
        self
    }

    /// How many attempts there may be: the first one and the retries.
    pub fn attempts(&self) -> Option<u32> {
        match self.max {
            // A limit that was lowered meanwhile would make "4 of 2".
            RetryLimit::AtMost(most) => Some(most.saturating_add(1).max(self.attempt)),
            RetryLimit::Unlimited => None,
        }
    }
}

/// Problems with the signals of the last session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignalInfo {
    /// No signal was valid, although one is required.
    pub missing: bool,
    /// Texts that look like signals and were ignored, each with the reason.
    pub ignored: Vec<String>,
}

impl SignalInfo {
    /// What the evidence says: the lines that [`SignalNote::words`](crate::run::SignalNote::words) wrote.
    pub fn of(missing: bool, words: &str) -> Self {
        let ignored = words.lines().filter_map(|line| line.strip_prefix("Ignored: "));
        Self { missing, ignored: ignored.map(str::to_owned).collect() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredQuestion {
    pub question: String,
    pub answer: String,
}

/// A gate or verifier that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFailure {
    pub judge: String,
    /// Its exit code, where it was a program.
    pub exit_code: Option<i32>,
    /// The lines that matter.
    pub digest: String,
}

/// How an earlier session on the task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierAttempt {
    pub number: u32,
    pub outcome: String,
    /// The detail in words; may be empty.
    pub detail: String,
    /// The commit that holds its work, if any.
    pub commit: Option<String>,
    pub changed: Changes,
    /// The end of its last message; may be empty.
    pub last_message: String,
    /// What makes two failures the same.
    pub fingerprint: Option<String>,
}

/// A skill: instructions that an earlier session or the user recorded for repeated use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// When to use it.
    pub description: String,
}

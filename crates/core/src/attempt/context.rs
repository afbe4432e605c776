//! What an agent is told about its work, before it is text.

use std::sync::Arc;

use super::fingerprint::FirstWords;
use crate::ids::TaskId;
use crate::records::Changes;
use crate::task::RetryLimit;

/// Everything that one attempt is told. Whatever is absent here is absent from the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttemptContext {
    /// The task, where the loop picks it.
    pub task: Option<AssignedTask>,
    /// The markdown plan that the task stands in, where it stands in one.
    pub plan_file: Option<String>,
    /// The branch that the task is worked on, where the plan has branches.
    pub branch: Option<BranchWork>,
    /// What the task is a part of.
    pub parent: Option<ParentTask>,
    /// What was done for it before, oldest first.
    pub blockers: Vec<FinishedBlocker>,
    /// How many finished blockers were left out of `blockers`.
    pub more_blockers: usize,
    /// What is to be built.
    pub spec: Option<Document>,
    /// How it is to be built.
    pub plan: Option<Document>,
    /// Present when the task came back at least once.
    pub retry: Option<RetryInfo>,
    /// What was wrong with the signals of the session before.
    pub signal: Option<SignalInfo>,
    /// What people said to earlier questions, oldest first.
    pub answers: Vec<AnsweredQuestion>,
    /// What was red when the task was last judged.
    pub failures: Vec<GateFailure>,
    /// How the last few sessions on the task ended, oldest first.
    pub earlier: Vec<EarlierAttempt>,
    /// What earlier sessions and people wrote down about the task, oldest first.
    pub notes: Vec<String>,
    /// What can be looked up when needed.
    pub skills: Vec<Skill>,
    /// The agent is to write down what it learns.
    pub learn: bool,
}

/// A branch that becomes one pull request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BranchWork {
    /// Its name.
    pub name: String,
    /// What it is for; may be empty.
    pub goal: String,
}

/// The task of this attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedTask {
    /// Its name, to be written into signals.
    pub id: TaskId,
    /// In a line.
    pub title: String,
    /// At length; may be empty.
    pub description: String,
    /// How to go about it.
    pub steps: Vec<String>,
    /// The user's own grouping.
    pub category: Option<String>,
    /// The specification it comes from.
    pub spec: Option<String>,
    /// Where else it is known.
    pub reference: Option<String>,
}

/// The task that this one is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentTask {
    /// In a line.
    pub title: String,
    /// At length; may be empty.
    pub description: String,
}

/// A task that had to be done first, and is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedBlocker {
    /// Its name.
    pub id: TaskId,
    /// In a line.
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
    /// How many retries there may be.
    pub max: RetryLimit,
    /// Why the task came back, where that was told.
    pub reason: Option<String>,
    /// What the judge said first.
    pub first: FirstWords,
    /// The numbers of the last attempts that failed in the same way; empty when there are not several.
    pub same: Vec<u32>,
}

impl RetryInfo {
    /// The retry information of a task that came back `retry_count` times; none before the first.
    pub fn of(retry_count: u32, max: RetryLimit, reason: Option<String>) -> Option<Self> {
        (retry_count > 0).then(|| Self {
            attempt: retry_count.saturating_add(1),
            max,
            reason,
            first: FirstWords::default(),
            same: vec![],
        })
    }

    /// With what was red, and how the attempts before this one ended.
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

/// What was wrong with the signals of the session before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignalInfo {
    /// None counted, although one is asked for.
    pub missing: bool,
    /// Texts that look like signals and did not count, each with the reason.
    pub ignored: Vec<String>,
}

impl SignalInfo {
    /// What the evidence says: the lines that [`SignalNote::words`](crate::run::SignalNote::words) wrote.
    pub fn of(missing: bool, words: &str) -> Self {
        let ignored = words.lines().filter_map(|line| line.strip_prefix("Ignored: "));
        Self { missing, ignored: ignored.map(str::to_owned).collect() }
    }
}

/// A question and what a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredQuestion {
    /// What an agent asked.
    pub question: String,
    /// What a person said.
    pub answer: String,
}

/// A gate or verifier that said no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFailure {
    /// Its name.
    pub judge: String,
    /// Its exit code, where it was a program.
    pub exit_code: Option<i32>,
    /// The lines that matter.
    pub digest: String,
}

/// How an earlier session on the task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierAttempt {
    /// Its number, from 1.
    pub number: u32,
    /// In a word.
    pub outcome: String,
    /// In words; may be empty.
    pub detail: String,
    /// The commit that holds its work, if any.
    pub commit: Option<String>,
    /// What it left changed.
    pub changed: Changes,
    /// The end of what it said last; may be empty.
    pub said: String,
    /// What makes two failures the same.
    pub fingerprint: Option<String>,
}

/// Something that an earlier session or a person wrote down for repeated use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name of its folder.
    pub name: String,
    /// When to use it.
    pub description: String,
}

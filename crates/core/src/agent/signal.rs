//! What the final text of a session asks for. Every signal is a request: the loop checks it.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::tags::{Tag, tags};

/// The most characters of a question, a reason or an id that are kept.
const MAX_CHARS: usize = 4_000;

/// The three sizes of model, by the names that the first agent gave them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Small.
    Haiku,
    /// Middle.
    Sonnet,
    /// Large.
    Opus,
}

impl Tier {
    /// All of them, the smallest first.
    pub const ALL: [Self; 3] = [Self::Haiku, Self::Sonnet, Self::Opus];

    /// The word for it in signals and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Haiku => "haiku",
            Self::Sonnet => "sonnet",
            Self::Opus => "opus",
        }
    }
}

/// A word that is no tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not one of haiku, sonnet and opus")]
pub struct UnknownTier(pub String);

impl FromStr for Tier {
    type Err = UnknownTier;
    fn from_str(text: &str) -> Result<Self, UnknownTier> {
        let found = Self::ALL.into_iter().find(|tier| tier.name() == text);
        found.ok_or_else(|| UnknownTier(text.to_owned()))
    }
}

/// The requests found in a final text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Signals {
    /// `<task-done>ID</task-done>`: the texts between the tags, in order.
    pub done: Vec<String>,
    /// `<task-failed>ID</task-failed>`.
    pub failed: Vec<String>,
    /// `<reason>…</reason>`, the first.
    pub reason: Option<String>,
    /// `<promise>…</promise>`: the texts between the tags.
    pub promises: Vec<String>,
    /// `<next-model>…</next-model>`, the last with a known name.
    pub next_model: Option<Tier>,
    /// `<question>…</question>`, the first.
    pub question: Option<String>,
}

impl Signals {
    /// Reads the final text of a session. Tags are exact; white space around their content is left
    /// out, and a tag with nothing in it says nothing.
    ///
    /// What stands in a fenced code block, in inline code or in a quoted line (`>`) is a quotation,
    /// not a signal; so is what stands in a question or a reason. Takes linear time on any text.
    pub fn read(text: &str) -> Self {
        let mut signals = Self::default();
        for found in tags(text) {
            if found.content.is_empty() {
                continue;
            }
            let content = || bounded(found.content);
            match found.tag {
                Tag::TaskDone => signals.done.push(content()),
                Tag::TaskFailed => signals.failed.push(content()),
                Tag::Promise => signals.promises.push(content()),
                Tag::Reason => signals.reason = signals.reason.or_else(|| Some(content())),
                Tag::Question => signals.question = signals.question.or_else(|| Some(content())),
                Tag::NextModel => {
                    signals.next_model = found.content.parse().ok().or(signals.next_model);
                }
                Tag::VerifyFail | Tag::VerifyPass => {}
            }
        }
        signals
    }

    /// Whether `<promise>` holds exactly this.
    pub fn promises(&self, what: &str) -> bool {
        self.promises.iter().any(|promise| promise == what)
    }

    /// What these signals ask for the task `id`: FAILURE comes first, then done, then failed, then a
    /// question. Another task's id alone asks for nothing, and is named so that it can be told.
    pub fn request(&self, id: &str) -> Request<'_> {
        let reason = self.reason.as_deref();
        if self.promises("FAILURE") {
            Request::Failure
        } else if self.done.iter().any(|done| done == id) {
            Request::Done
        } else if self.failed.iter().any(|failed| failed == id) {
            Request::Failed { reason }
        } else if let Some(question) = &self.question {
            Request::Ask(question)
        } else if let Some(other) = self.done.first().or(self.failed.first()) {
            Request::Other(other)
        } else {
            Request::Nothing
        }
    }
}

/// What the signals of a session ask for one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// `<promise>FAILURE</promise>`: stop the run.
    Failure,
    /// Judge the task.
    Done,
    /// Give the task up.
    Failed {
        /// Why, where told.
        reason: Option<&'a str>,
    },
    /// Wait for a person to answer.
    Ask(&'a str),
    /// Only a task was named that is not this one.
    Other(&'a str),
    /// No request.
    Nothing,
}

/// What a verifier says. Only its own session is read for this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// `<verify-pass/>`.
    Pass,
    /// `<verify-fail>reason</verify-fail>`: the reason, which may be empty.
    Fail(String),
}

impl Verdict {
    /// Reads the final text of a verifier, with the same rules for quotations as [`Signals::read`].
    /// A fail beside a pass is a fail; neither is `None`.
    pub fn read(text: &str) -> Option<Self> {
        let mut verdict = None;
        for found in tags(text) {
            match found.tag {
                Tag::VerifyFail => return Some(Self::Fail(bounded(found.content))),
                Tag::VerifyPass => verdict = Some(Self::Pass),
                _ => {}
            }
        }
        verdict
    }
}

fn bounded(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;

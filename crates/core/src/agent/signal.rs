//! The signals in the final text of a session. Every signal is a request: the loop checks it.

use serde::{Deserialize, Serialize};

use super::look_alike::{near_misses, plain_letters};
use super::tags::{Tag, only_tag, tags, unquoted};

/// The most characters of a question, a reason or an id that are kept.
const MAX_CHARS: usize = 4_000;
/// How many ignored signals are reported, and how much of each, in characters.
const MAX_IGNORED: usize = 5;
const MAX_SHOWN: usize = 200;
/// How much of a verifier's text replaces a missing reason, in characters.
const MAX_REASON: usize = 1_500;

words! {
    /// The three sizes of model, the smallest first, by the names that the first agent gave them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Tier {
        #[default]
        Haiku = "haiku",
        Sonnet = "sonnet",
        Opus = "opus",
    }
}

impl Tier {
    /// The word for it whatever the agent.
    pub const fn size(self) -> &'static str {
        match self {
            Self::Haiku => "small",
            Self::Sonnet => "medium",
            Self::Opus => "large",
        }
    }

    /// The tier that a setting calls so, by its size or by Claude's name for it.
    pub fn in_settings(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.as_str() == word || tier.size() == word)
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
    /// `<task-done>` or `<task-failed>` in code, alone on the last line: it counts for the assigned task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_code: Option<InCode>,
    /// What looks like a signal and does not count, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<Ignored>,
}

/// A signal about a task in code, alone on the last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InCode {
    /// It is `<task-failed>`, else `<task-done>`.
    pub failed: bool,
    pub id: String,
}

impl InCode {
    pub fn text(&self) -> String {
        let tag = if self.failed { "task-failed" } else { "task-done" };
        format!("<{tag}>{}</{tag}>", self.id)
    }
}

/// Something that looks like a signal and does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    pub text: String,
    pub why: WhyIgnored,
}

words! {
    /// Why a text that looks like a signal does not count, in a few words that follow the text.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum WhyIgnored {
        Quoted = "is in code or a quotation",
        /// Like those of a signal, or of the task's id.
        LookAlike = "has look-alike characters",
        /// Its case, blanks or brackets.
        Misspelled = "is not spelled exactly like a signal",
    }
}

impl std::fmt::Display for Ignored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.text, self.why)
    }
}

impl Signals {
    /// Reads the final text of a session. Tags are exact; blanks around their content are left out, and
    /// around an id backticks too. A tag with nothing in it says nothing.
    ///
    /// What stands in a fenced code block, in inline code or in a quoted line (`>`) is a quotation,
    /// not a signal; so is what stands in a question or a reason. The one exception is
    /// [`in_code`](Self::in_code). Takes linear time on any text.
    pub fn read(text: &str) -> Self {
        let mut signals = Self::default();
        let found = tags(text);
        signals.in_code = found.last_quoted.and_then(only_tag).and_then(|last| {
            let failed = match last.tag {
                Tag::TaskDone => false,
                Tag::TaskFailed => true,
                _ => return None,
            };
            let id = unquoted(last.content);
            (!id.is_empty()).then(|| InCode { failed, id: bounded(id) })
        });
        for quoted in &found.quoted {
            let of_verifier = matches!(quoted.tag, Tag::VerifyFail | Tag::VerifyPass);
            if !of_verifier && !unquoted(quoted.content).is_empty() {
                signals.ignore(quoted.whole, WhyIgnored::Quoted);
            }
        }
        for near in near_misses(text) {
            let why = match near.other_letters {
                true => WhyIgnored::LookAlike,
                false => WhyIgnored::Misspelled,
            };
            signals.ignore(near.line, why);
        }
        for found in found.plain {
            if found.content.is_empty() {
                continue;
            }
            let content = || bounded(found.content);
            let id = || Some(bounded(unquoted(found.content))).filter(|id| !id.is_empty());
            match found.tag {
                Tag::TaskDone => signals.done.extend(id()),
                Tag::TaskFailed => signals.failed.extend(id()),
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

    /// Remembers a text that does not count, on one line.
    fn ignore(&mut self, text: &str, why: WhyIgnored) {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown: String = line.chars().take(MAX_SHOWN).collect();
        let known = self.ignored.iter().any(|ignored| ignored.text == shown);
        if !known && self.ignored.len() < MAX_IGNORED {
            self.ignored.push(Ignored { text: shown, why });
        }
    }

    /// Whether the text asks for `id` to be judged.
    pub fn names_done(&self, id: &str) -> bool {
        self.done.iter().any(|done| done == id) || self.names_in_code(id, false)
    }

    /// Whether the text asks for `id` to fail.
    pub fn names_failed(&self, id: &str) -> bool {
        self.failed.iter().any(|failed| failed == id) || self.names_in_code(id, true)
    }

    fn names_in_code(&self, id: &str, failed: bool) -> bool {
        self.in_code.as_ref().is_some_and(|code| code.id == id && code.failed == failed)
    }

    /// The ids in signals that are not among the assigned ones, without those that only look like one.
    pub fn strangers(&self, assigned: &[&str]) -> Vec<&str> {
        let named = self.done.iter().chain(&self.failed).map(String::as_str);
        named.filter(|id| !assigned.contains(id) && !looks_like_one(id, assigned)).collect()
    }

    /// Everything that looks like a signal and did not count for a session with these tasks. What was
    /// also said so that it counts is left out.
    pub fn ignored_for(&self, assigned: &[&str]) -> Vec<Ignored> {
        let accepted = |text: &str| {
            only_tag(text).is_some_and(|tag| {
                let is = |id: &&&str| **id == unquoted(tag.content);
                let id = assigned.iter().find(is);
                match tag.tag {
                    Tag::TaskDone => id.is_some_and(|id| self.names_done(id)),
                    Tag::TaskFailed => id.is_some_and(|id| self.names_failed(id)),
                    Tag::Promise => self.promises(tag.content),
                    Tag::Question => self.question.as_deref() == Some(tag.content),
                    Tag::Reason => self.reason.as_deref() == Some(tag.content),
                    Tag::NextModel => self.next_model.map(Tier::as_str) == Some(tag.content),
                    Tag::VerifyFail | Tag::VerifyPass => true,
                }
            })
        };
        let alike = |ids: &[String], tag: &str| -> Vec<Ignored> {
            let alike = ids.iter().filter(|id| looks_like_one(id, assigned));
            let text = |id: &String| format!("<{tag}>{id}</{tag}>");
            alike.map(|id| Ignored { text: text(id), why: WhyIgnored::LookAlike }).collect()
        };
        let quoted = self.ignored.iter().filter(|ignored| !accepted(&ignored.text)).cloned();
        let mut all = alike(&self.done, "task-done");
        all.extend(alike(&self.failed, "task-failed"));
        all.extend(quoted);
        all.truncate(MAX_IGNORED);
        all
    }

    /// Whether `<promise>` holds exactly this.
    pub fn promises(&self, what: &str) -> bool {
        self.promises.iter().any(|promise| promise == what)
    }

    /// What these signals ask for the task `id`: FAILURE comes first, then done, then failed, then a
    /// question. Another task's id alone requests nothing, and is named so that it can be reported.
    pub fn request(&self, id: &str) -> Request<'_> {
        let reason = self.reason.as_deref();
        if self.promises("FAILURE") {
            Request::Failure
        } else if self.names_done(id) {
            Request::Done
        } else if self.names_failed(id) {
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
    /// Fail the task.
    Failed {
        reason: Option<&'a str>,
    },
    /// Wait for the user to answer.
    Ask(&'a str),
    /// Only another task was named.
    Other(&'a str),
    Nothing,
}

/// The verdict of a verifier. It is read only from the verifier's own session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// `<verify-pass/>`.
    Pass,
    /// `<verify-fail>reason</verify-fail>`: the reason, which may be empty.
    Fail(String),
}

impl Verdict {
    /// Reads the final text of a verifier. It passes only with `<verify-pass/>` alone on the last line,
    /// backticks or a fence of its own around it allowed, in a text without any `<verify-fail`, however
    /// that is spelled. Everything else is a fail with its reason: a yes must not be read into a no.
    pub fn read(text: &str) -> Self {
        let found = tags(text);
        let fail = found.plain.iter().chain(&found.quoted).find(|tag| tag.tag == Tag::VerifyFail);
        if let Some(fail) = fail {
            return Self::Fail(bounded(fail.content));
        }
        let mentions_fail = mentions_fail(text);
        if !mentions_fail && is_pass(last_line(text)) {
            return Self::Pass;
        }
        let what = match (mentions_fail, text.contains("<verify-pass/>")) {
            (true, _) => "the verifier mentions a fail, but does not say why in <verify-fail>",
            (_, true) => "<verify-pass/> is not alone on the verifier's last line",
            (_, false) => "the verifier ended without a verdict",
        };
        match text.trim() {
            "" => Self::Fail(what.to_owned()),
            output => Self::Fail(format!("{what}. It said: {}", ending(output))),
        }
    }
}

/// Whether `<verify-fail` stands anywhere, however it is spelled.
fn mentions_fail(text: &str) -> bool {
    let plain = plain_letters(text).to_lowercase().replace("&lt;", "<");
    let letters: String =
        plain.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '<' | '>')).collect();
    letters.contains("<verifyfail")
}

/// The last line that is not blank. A fence that has only this line in it is passed over.
fn last_line(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).rev();
    let last = lines.next().unwrap_or_default();
    if !is_fence(last) || !last.trim_matches('`').is_empty() {
        return last;
    }
    let (inside, opening) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    if is_fence(opening) { inside } else { last }
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") && !line.trim_start_matches('`').contains('`')
}

fn is_pass(line: &str) -> bool {
    let ticks = line.bytes().take_while(|byte| *byte == b'`').count();
    let bare = line.get(ticks..line.len().saturating_sub(ticks)).unwrap_or_default();
    line.ends_with(&"`".repeat(ticks)) && bare.trim() == "<verify-pass/>"
}

/// Not one of them, but it looks like one.
fn looks_like_one(id: &str, assigned: &[&str]) -> bool {
    !id.is_ascii() && !assigned.contains(&id) && assigned.contains(&&*plain_letters(id))
}

/// The end of a text: what matters comes last.
fn ending(text: &str) -> &str {
    let start = text.char_indices().rev().nth(MAX_REASON).map_or(0, |(start, _)| start);
    &text[start..]
}

fn bounded(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;

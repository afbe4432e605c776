//! Notifications: which events of a run are worth a message to a user who is not watching, and its words.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::words;
use crate::ids::{RunId, TaskId};
use crate::run::{Class, Fact, RunEvent, SlotId, TaskBrief, Wait};
use crate::task::Status;
use crate::text::printable_line;
use crate::time::{Timestamp, duration};

/// The longest text of a message, in characters.
pub const MAX_MESSAGE: usize = 200;
/// How much of it a task's title may take where something follows.
const MAX_SUBJECT: usize = 90;
/// The longest text that is spoken, in characters: about seven seconds.
const MAX_SPOKEN: usize = 100;
/// A provider's limit that is over sooner is not worth a message.
const WORTH_TELLING_MS: u64 = 30_000;

words! {
    /// What a message is about: the words of `notify.on`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum NotificationKind {
        Done = "done",
        /// A task failed, or waits for the user.
        Failed = "failed",
        Question = "question",
        /// The run waits for something that may take long: a limit of the provider, or space on the disk.
        Limit = "limit",
        End = "end",
    }
}

/// A message to a user who is not watching. Its texts are one line each, bounded, and hold nothing that
/// could drive a terminal. As JSON it is what webhooks and commands get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    pub event: NotificationKind,
    pub run: RunId,
    /// The task, where it is about one.
    pub task: Option<TaskId>,
    /// A headline. It begins with a word of ralph's, never of the agent's.
    pub title: String,
    pub text: String,
    pub repo: String,
    /// The text to speak: short, without ids. It begins with a word of ralph's, never of the agent's.
    #[serde(skip)]
    pub spoken: String,
}

/// Turns the events of a run into messages.
#[derive(Debug)]
pub struct NotificationRules {
    on: Vec<NotificationKind>,
    repo: String,
    /// The run whose start it has seen; events of any other run are old.
    run: Option<RunId>,
    /// The titles of what each slot works on.
    titles: BTreeMap<SlotId, Vec<(TaskId, String)>>,
    /// Tasks that wait because of a question.
    asked: BTreeSet<TaskId>,
    /// The current wait was already reported.
    waits: bool,
    /// The result of publishing the branch.
    published: Option<String>,
}

impl NotificationRules {
    /// One that reports these occasions in the repository of this name.
    pub fn new(on: impl IntoIterator<Item = NotificationKind>, repo: &str) -> Self {
        Self {
            on: on.into_iter().collect(),
            repo: bounded(repo, MAX_SUBJECT),
            run: None,
            titles: BTreeMap::new(),
            asked: BTreeSet::new(),
            waits: false,
            published: None,
        }
    }

    /// The message for an event, if there is one. Give it each event once, in order.
    pub fn on_event(&mut self, event: &RunEvent) -> Option<Message> {
        if matches!(event.fact, Fact::RunStarted { .. }) {
            self.run = Some(event.run.clone());
        }
        if self.run.as_ref() != Some(&event.run) {
            return None;
        }
        let message = self.message(event)?;
        self.on.contains(&message.event).then_some(message)
    }

    fn message(&mut self, event: &RunEvent) -> Option<Message> {
        match &event.fact {
            Fact::IterationStarted { slot, task, .. } => {
                let known = task.iter().map(titled).collect();
                self.titles.insert(*slot, known);
                None
            }
            Fact::SessionEnded { slot, report } => {
                self.titles.entry(*slot).or_default().extend(report.held.iter().map(titled));
                None
            }
            Fact::IterationEnded { slot, class, .. } => {
                self.titles.remove(slot);
                self.waits &= class.is_limit();
                None
            }
            Fact::TaskSettled { task, title, class, status, reason, .. } => {
                self.settled(task, title, *class, *status, reason)
            }
            Fact::QuestionAsked { task, question, text } => {
                self.asked.insert(task.clone());
                let about = bounded(self.title_of(task), MAX_SUBJECT);
                let title = format!("Question {question} about {task}");
                let spoken = format!("Question about {about}");
                self.framed(NotificationKind::Question, Some(task), &title, text, &spoken)
            }
            Fact::WaitStarted { wait, until, .. } => self.wait(wait, event.at, *until),
            Fact::Published { publication } => {
                self.published = Some(publication.sentence());
                None
            }
            Fact::Reviewed { review } if !review.is_work() => {
                let before = self.published.take().unwrap_or_default();
                self.published = Some(format!("{before}; {}", review.sentence()));
                None
            }
            Fact::RunEnded { outcome } => {
                let output = outcome.sentence();
                let title = format!("Run ended in {}", self.repo);
                let spoken = format!("Run ended. {output}");
                let text = match &self.published {
                    Some(published) => format!("{output} Published: {published}"),
                    None => output,
                };
                self.framed(NotificationKind::End, None, &title, &text, &spoken)
            }
            _ => None,
        }
    }

    fn settled(
        &mut self,
        task: &TaskId,
        title: &str,
        class: Class,
        status: Status,
        reason: &str,
    ) -> Option<Message> {
        let asked = self.asked.remove(task);
        let (event, words) = match status {
            // The user skipped it, and knows.
            _ if class == Class::Skipped => return None,
            Status::Done => (NotificationKind::Done, "Task done"),
            Status::Failed => (NotificationKind::Failed, "Task failed"),
            Status::Waiting if !asked => (NotificationKind::Failed, "Task waiting for you"),
            Status::Waiting | Status::Pending | Status::InProgress | Status::Deleted => {
                return None;
            }
        };
        let text = match event {
            NotificationKind::Done => title.to_owned(),
            _ => words::with_detail(&bounded(title, MAX_SUBJECT), reason),
        };
        let spoken = format!("{words}: {title}");
        self.framed(event, Some(task), &format!("{words}: {task}"), &text, &spoken)
    }

    /// A long wait is reported once, however often ralph tries again meanwhile.
    fn wait(&mut self, wait: &Wait, at: Timestamp, until: Option<Timestamp>) -> Option<Message> {
        let left = until.map(|until| until.millis_since(at));
        let worth = match wait {
            Wait::Limit { class: Class::UsageWindow, .. } | Wait::DiskLow => true,
            Wait::Limit { .. } => left.is_none_or(|left| left >= WORTH_TELLING_MS),
            Wait::Others { .. } | Wait::Port { .. } | Wait::Paused => false,
        };
        if !worth || std::mem::replace(&mut self.waits, true) {
            return None;
        }
        let why = words::wait(wait);
        let text = match left {
            Some(left) => format!("{why}; ralph tries again in {}", duration(left)),
            None => why.clone(),
        };
        let title = format!("Run waiting in {}", self.repo);
        self.framed(NotificationKind::Limit, None, &title, &text, &format!("Run waiting: {why}"))
    }

    /// The message with these texts, as much of each as fits.
    fn framed(
        &self,
        event: NotificationKind,
        task: Option<&TaskId>,
        title: &str,
        text: &str,
        spoken: &str,
    ) -> Option<Message> {
        Some(Message {
            event,
            run: self.run.clone()?,
            task: task.cloned(),
            title: bounded(title, MAX_MESSAGE),
            text: bounded(text, MAX_MESSAGE),
            repo: self.repo.clone(),
            spoken: bounded(spoken, MAX_SPOKEN),
        })
    }

    /// The title of a task that is worked on, or its id.
    fn title_of<'a>(&'a self, task: &'a TaskId) -> &'a str {
        let known = self.titles.values().flatten().find(|(id, _)| id == task);
        known.map_or(task.as_str(), |(_, title)| title)
    }
}

fn titled(task: &TaskBrief) -> (TaskId, String) {
    (task.id.clone(), task.title.clone())
}

/// The text on one line, safe to show, of at most `max` characters.
fn bounded(text: &str, max: usize) -> String {
    // Making a text printable never makes it longer, so the rest need not be read.
    let some: String = text.chars().take(max * 20).collect();
    let line = printable_line(&some).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= max && some.len() == text.len() {
        return line;
    }
    let mut cut: String = line.chars().take(max - 1).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests;

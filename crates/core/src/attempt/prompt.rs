//! The text of a prompt. What stays the same from session to session is the *system prompt*, so
//! that agents can cache it; what belongs to this attempt is the *task text*.
//!
//! Everything that ralph adds shares one budget. A section that does not fit is cut, with a note that
//! says how much is missing and where to read it; the instructions themselves are never cut.

mod earlier;
mod messages;
mod returned;
mod verify;

use std::borrow::Cow;

use super::budget::{BYTES_PER_TOKEN, beginning, fit, note, shares};
use super::context::{
    AnsweredQuestion, AssignedTask, AttemptContext, Document, GateFailure, RetryInfo, SignalInfo,
    Skill,
};
use crate::records::UserMessage;
use crate::text::{printable, printable_line};

pub use messages::{from_user, live};
pub use returned::pick_prompt;
pub use verify::{VERIFIER_RULES, Work, verifier};

/// The instructions of every session, without a line break at the end.
pub const RULES: &str = include_str!("text/rules.md").trim_ascii_end();
/// The signals of a session with an assigned task.
pub const SIGNALS: &str = include_str!("text/signals.md").trim_ascii_end();
/// The signals of a session that picks from a plan file.
pub const PROMISES: &str = include_str!("text/promises.md").trim_ascii_end();
/// The signals of a session that ticks tasks in a progress file.
pub const PROGRESS_SIGNALS: &str = include_str!("text/progress_signals.md").trim_ascii_end();
/// How to record what the session learned.
pub const LEARNING: &str = include_str!("text/learning.md").trim_ascii_end();
/// The default budget of what ralph puts into a prompt, in tokens.
pub const DEFAULT_BUDGET: usize = 20_000;
/// The task text where there is none: agents need some prompt.
pub const GO_AHEAD: &str = "Follow your instructions.";

/// The longest entry of a list, in bytes. One long note must not crowd out the others.
const MAX_ENTRY: usize = 6_000;
/// The longest one-line field, in bytes.
const MAX_FIELD: usize = 1_200;

/// How many tokens a text has, roughly.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// The two texts of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Instructions, signals, skills.
    pub system: String,
    /// The task and what is known about it; empty if the system prompt has it.
    pub task: String,
    pub cuts: Vec<Cut>,
    /// The messages of the user that it has.
    pub messages: Vec<UserMessage>,
}

impl Prompt {
    /// The text for the file that the agent is pointed at; never empty.
    pub fn task_file(&self) -> &str {
        if self.task.is_empty() { GO_AHEAD } else { &self.task }
    }

    /// Both in one, for agents that take one text.
    pub fn whole(&self) -> String {
        joined([self.system.as_str(), &self.task])
    }

    /// The size of both, in tokens.
    pub fn tokens(&self) -> usize {
        tokens(&self.system) + tokens(self.task_file())
    }
}

/// A section that did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub section: &'static str,
    /// How many tokens of it are there.
    pub kept: usize,
    /// How many it has.
    pub of: usize,
}

/// The parts of a prompt. A part without content is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    pub signals: &'static str,
    pub skills: String,
    /// [`LEARNING`], if asked for.
    pub learning: &'static str,
    /// The task and what is known about it.
    pub task: String,
    pub cuts: Vec<Cut>,
    /// The messages of the user that the task has.
    pub messages: Vec<UserMessage>,
}

/// The parts of a prompt that a template already contains, and that are not added again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Placed {
    pub signals: bool,
    pub skills: bool,
    pub learning: bool,
    pub task: bool,
}

impl Parts {
    /// Writes the parts of the prompt for `context` within `budget` tokens.
    pub fn of(context: &AttemptContext, budget: usize) -> Self {
        let mut sections = sections(context);
        let skills_at = sections.len();
        sections.extend(skills(context));
        let (mut texts, cuts) = written(&sections, budget);
        let skills = texts.split_off(skills_at).pop().unwrap_or_default();
        let learning = if context.learn { LEARNING } else { "" };
        let task = joined(texts.iter().map(String::as_str));
        Self { signals: SIGNALS, skills, learning, task, cuts, messages: context.unread() }
    }

    pub fn with_signals(self, signals: &'static str) -> Self {
        Self { signals, ..self }
    }

    /// The whole prompt with `core` as the instructions. What they have `placed` is not repeated.
    pub fn prompt(self, core: &str, placed: Placed) -> Prompt {
        let unless = |there: bool, text| if there { "" } else { text };
        let system = joined([
            core.trim_end(),
            unless(placed.signals, self.signals),
            unless(placed.skills, &self.skills),
            unless(placed.learning, self.learning),
        ]);
        let task = if placed.task { String::new() } else { self.task };
        Prompt { system, task, cuts: self.cuts, messages: self.messages }
    }
}

pub fn built_in(context: &AttemptContext, budget: usize) -> Prompt {
    Parts::of(context, budget).prompt(RULES, Placed::default())
}

/// Texts with an empty line between them, without the empty ones.
fn joined<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut all = String::new();
    for text in texts.into_iter().filter(|text| !text.is_empty()) {
        if !all.is_empty() {
            all.push_str("\n\n");
        }
        all.push_str(text);
    }
    all
}

/// The texts of sections that share `budget` tokens, and what was cut.
fn written(sections: &[Section<'_>], budget: usize) -> (Vec<String>, Vec<Cut>) {
    let needs: Vec<usize> = sections.iter().map(Section::need).collect();
    let given = shares(&needs, budget.saturating_mul(BYTES_PER_TOKEN));
    let mut cuts = Vec::new();
    let texts = sections.iter().zip(given).map(|(section, share)| section.write(share, &mut cuts));
    (texts.collect(), cuts)
}

#[derive(Default)]
struct Section<'a> {
    title: &'static str,
    /// Before the body, never cut.
    head: String,
    body: Body<'a>,
    /// After the body, never cut.
    foot: String,
    /// Where to find what was cut.
    rest: String,
}

enum Body<'a> {
    Text(Cow<'a, str>),
    /// Entries that are shown whole or not at all.
    List(Vec<String>),
}

impl Default for Body<'_> {
    fn default() -> Self {
        Self::List(vec![])
    }
}

impl Section<'_> {
    fn need(&self) -> usize {
        match &self.body {
            Body::Text(text) => text.len(),
            Body::List(entries) => entries.iter().map(|entry| entry.len() + 1).sum(),
        }
    }

    fn write(&self, share: usize, cuts: &mut Vec<Cut>) -> String {
        let need = self.need();
        let (body, kept) = match &self.body {
            Body::Text(text) => (fit(text, share, &self.rest), beginning(text, share).len()),
            Body::List(entries) => self.write_list(entries, share, need),
        };
        if kept < need {
            let (kept, of) = (kept / BYTES_PER_TOKEN, need.div_ceil(BYTES_PER_TOKEN));
            cuts.push(Cut { section: self.title, kept, of });
        }
        let body = body.trim_end().trim_start_matches('\n');
        joined([&format!("## {}", self.title), self.head.as_str(), body, &self.foot])
    }

    fn write_list(&self, entries: &[String], share: usize, need: usize) -> (Cow<'_, str>, usize) {
        let mut kept = 0;
        let mut shown = Vec::new();
        for entry in entries {
            if kept + entry.len() + 1 > share {
                let cut = note(kept, need, &self.rest);
                return (Cow::Owned(joined([&shown.join("\n"), cut.as_str()])), kept);
            }
            kept += entry.len() + 1;
            shown.push(entry.as_str());
        }
        (Cow::Owned(shown.join("\n")), kept)
    }
}

fn sections(context: &AttemptContext) -> Vec<Section<'_>> {
    let task = context.task.as_ref();
    let look = |command: &str| match task {
        Some(task) => format!("see `ralph task {command} {}`", task.id),
        None => "see the plan".to_owned(),
    };
    let list = |title, entries: Vec<String>, foot: String, rest| {
        let body = Body::List(entries);
        Some(Section { title, body, foot, rest, ..Section::default() }).filter(|it| it.need() > 0)
    };
    let mut all = vec![assigned(context), messages::section(context)];
    all.push(context.parent.as_ref().map(|parent| {
        let head = format!("This task is a part of: {}", field(&parent.title));
        let body = Body::Text(printable(&parent.description));
        Section { title: "Parent context", head, body, rest: look("show"), ..Section::default() }
    }));
    let more = match context.more_blockers {
        0 => String::new(),
        more => format!("[{more} more; {}]", look("deps")),
    };
    let blockers = context.blockers.iter().map(|blocker| {
        let commit = blocker.commit.as_deref().map(|commit| format!(" (commit {})", field(commit)));
        let head =
            format!("- `{}` {}{}", blocker.id, field(&blocker.title), commit.unwrap_or_default());
        entry(head, &blocker.summary, "  ")
    });
    all.push(list("Completed prerequisites", blockers.collect(), more, look("deps")));
    all.push(context.spec.as_ref().map(|spec| document("Feature specification", spec)));
    all.push(context.plan.as_ref().map(|plan| document("Feature plan", plan)));
    all.push(context.retry.as_ref().map(|retry| retry_words(retry, look("log"))));
    all.push(context.signal.as_ref().map(signal_words));
    all.push(list("Answers", answer_entries(&context.answers), String::new(), look("log")));
    all.push(list(
        "Failing gates",
        failure_entries(&context.failures),
        "These gates failed on the last attempt, and they will run again.".to_owned(),
        look("log"),
    ));
    let earlier = earlier::entries(&context.earlier);
    all.push(list("Earlier attempts", earlier, String::new(), look("show")));
    let notes = context.notes.iter().map(|note| {
        let (first, rest) = note.trim().split_once('\n').unwrap_or((note.trim(), ""));
        entry(format!("- {}", field(first)), rest, "  ")
    });
    all.push(list("Notes", notes.collect(), String::new(), look("log")));
    all.into_iter().flatten().collect()
}

fn skills(context: &AttemptContext) -> Option<Section<'static>> {
    let entry =
        |skill: &Skill| format!("- **{}**: {}", field(&skill.name), field(&skill.description));
    (!context.skills.is_empty()).then(|| Section {
        title: "Available skills",
        head: "Each is a file `.ralph/skills/NAME/SKILL.md`. Read one before you do work that it is for."
            .to_owned(),
        body: Body::List(context.skills.iter().map(entry).collect()),
        rest: "see `.ralph/skills/`".to_owned(),
        ..Section::default()
    })
}

fn assigned(context: &AttemptContext) -> Option<Section<'_>> {
    let Some(task) = &context.task else {
        return context.plan_file.as_deref().map(picking);
    };
    let mut head = format!("- id: `{}`\n- title: {}", task.id, field(&task.title));
    if let Some(branch) = &context.branch {
        head.push_str(&format!("\n- branch: {}", field(&branch.name)));
        if !branch.goal.is_empty() {
            head.push_str(&format!("\n- goal of the branch: {}", field(&branch.goal)));
        }
    }
    let rows = [("category", &task.category), ("spec", &task.spec), ("reference", &task.reference)];
    for (name, value) in rows {
        if let Some(value) = value {
            head.push_str(&format!("\n- {name}: {}", field(value)));
        }
    }
    // Exactly as the agent has to write it: agents repeat what they see, backticks included.
    let mut foot = format!(
        "When it is finished, end your last message with this line, as plain text:\n\n\
         <task-done>{id}</task-done>\n\n\
         If it cannot be done, end with these two lines instead:\n\n\
         <reason>why it cannot be done</reason>\n<task-failed>{id}</task-failed>",
        id = task.id
    );
    if let Some(file) = &context.plan_file {
        let file = field(file);
        foot.push_str(&format!("\n\nIts checkbox is in `{file}`: tick that one, and no other."));
    }
    let rest = format!("see `ralph task show {}`", task.id);
    Some(Section { title: "Assigned task", head, body: Body::Text(body_of(task)), foot, rest })
}

fn body_of(task: &AssignedTask) -> Cow<'_, str> {
    let description = task.description.trim_end();
    if task.steps.is_empty() {
        return Cow::Borrowed(description);
    }
    let mut steps = "Steps:".to_owned();
    for (index, step) in task.steps.iter().enumerate() {
        steps.push_str(&format!("\n{}. {}", index + 1, printable_line(step)));
    }
    Cow::Owned(joined([description, &steps]))
}

/// Where the agent picks: which file to pick from.
fn picking(file: &str) -> Section<'static> {
    let file = field(file);
    Section {
        title: "Pick a task",
        head: format!(
            "Do the most important open task of `{file}`, only that one, and tick its checkbox there \
             when it is finished. If none is left, end your last message with this line, as plain text:\n\n\
             <promise>COMPLETE</promise>"
        ),
        ..Section::default()
    }
}

fn document<'a>(title: &'static str, document: &'a Document) -> Section<'a> {
    let path = field(&document.path);
    Section {
        title,
        // The text has headings of its own: it must be clear where it ends.
        head: format!("<file path=\"{path}\">"),
        body: Body::Text(Cow::Borrowed(&document.text)),
        foot: "</file>".to_owned(),
        rest: format!("read {path}"),
    }
}

fn retry_words(retry: &RetryInfo, rest: String) -> Section<'static> {
    let of = retry.attempts().map(|attempts| format!(" of {attempts}")).unwrap_or_default();
    let mut head = format!("This is retry attempt {}{of}.", retry.attempt);
    head.push_str(&earlier::first_words(retry));
    let reason = retry.reason.as_deref().map_or("", str::trim);
    let mut foot = "Look at the existing work before you continue.";
    if !reason.is_empty() {
        head.push_str("\n\nThe task was returned for this reason:");
        foot = "Fix this first: without it the task is not done.";
    }
    let body = Body::Text(Cow::Owned(prefixed(reason, "> ")));
    Section { title: "Retry information", head, body, foot: foot.to_owned(), rest }
}

/// What was wrong with the signals of the last session.
fn signal_words(signal: &SignalInfo) -> Section<'static> {
    let (title, head) = match signal.missing {
        true => (
            "Missing signal",
            "The last session on this task ended without a valid signal. If the task is finished, \
             check it and end your last message with the signal.",
        ),
        false => ("Ignored signals", "The last session wrote signals that were not valid."),
    };
    Section {
        title,
        head: head.to_owned(),
        body: Body::List(signal_lines(signal)),
        foot: "A signal is valid only as plain text on a line of its own at the end of your last message, \
               spelled exactly as shown, without backticks or a code block around it."
            .to_owned(),
        ..Section::default()
    }
}

fn signal_lines(signal: &SignalInfo) -> Vec<String> {
    signal.ignored.iter().map(|line| format!("- {}", field(line))).collect()
}

fn answer_entries(answers: &[AnsweredQuestion]) -> Vec<String> {
    let entries = answers.iter().map(|answered| {
        let asked = entry("- An earlier session asked:".to_owned(), &answered.question, "  > ");
        entry(format!("{asked}\n  The user answered:"), &answered.answer, "  > ")
    });
    entries.collect()
}

fn failure_entries(failures: &[GateFailure]) -> Vec<String> {
    let entries = failures.iter().map(|failure| {
        let code = failure.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
        // Indented, so that no output can close the block it stands in.
        entry(format!("- `{}`{code}\n", field(&failure.judge)), &failure.digest, "      ")
    });
    entries.collect()
}

/// A one-line text in its place.
fn field(text: &str) -> Cow<'_, str> {
    printable_line(beginning(text, MAX_FIELD))
}

/// A line and the text under it, each line of which gets `prefix`.
fn entry(head: String, text: &str, prefix: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() {
        return head;
    }
    let kept = beginning(text, MAX_ENTRY);
    let mut all = format!("{head}\n{}", prefixed(kept, prefix));
    if kept.len() < text.len() {
        all.push_str(&format!("\n{prefix}[…]"));
    }
    all
}

fn prefixed(text: &str, prefix: &str) -> String {
    let text = printable(text);
    let lines: Vec<String> =
        text.lines().map(|line| format!("{prefix}{line}").trim_end().to_owned()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests;

//! The last lines of a run: how it ended, what it did and cost, and what waits for the user.

use ralph_core::TaskId;
use ralph_core::agent::Usage;
use ralph_core::run::{Outcome, Publication, Review, StopReason};
use ralph_core::view::forecast::Forecast;
use ralph_core::view::{EndedTask, QuestionView, RunView, words};

use super::start::plan;
use crate::line::{TextLine, fields, paragraph};
use crate::style::{Meaning, TextStyle};
use crate::units::{brief_duration, money, tokens};

/// The longest list in a summary.
const MOST: usize = 10;

/// How a run ended and what to do next; nothing while it has not ended.
pub fn summary(view: &RunView, style: TextStyle) -> Vec<String> {
    let Some(outcome) = &view.outcome else { return vec![] };
    let width = style.width.unwrap_or(80).min(100);
    let mut lines = vec![String::new(), style.paint(Meaning::Faint, "─".repeat(width))];
    let (symbol, meaning) = verdict(outcome);
    let mut sentence = paragraph(2, Some(meaning), &outcome.sentence(), style);
    if let Some(first) = sentence.first_mut() {
        *first = format!("{} {}", style.paint(meaning, symbol), first.trim_start());
    }
    lines.append(&mut sentence);
    lines.extend(figures(view, outcome, style));
    lines.extend(questions(view.questions.iter().take(MOST), style));
    more(view.questions.len(), &mut lines, style);
    ended("Failed", &view.failed_tasks, &mut lines, style);
    ended("Waiting for you", &view.held_tasks, &mut lines, style);
    if !view.warnings.is_empty() {
        heading("Warnings", &mut lines, style);
        for warning in view.warnings.iter().take(MOST) {
            lines.extend(paragraph(2, None, warning, style));
        }
        more(view.warnings.len(), &mut lines, style);
    }
    let next = words::next(view);
    if !next.is_empty() {
        lines.push(String::new());
        lines.extend(next_commands(&next, style));
    }
    lines
}

/// What agents ask, each with the command that answers it.
pub(crate) fn questions<'a>(
    asked: impl IntoIterator<Item = &'a QuestionView>,
    style: TextStyle,
) -> Vec<String> {
    let rows = asked.into_iter().map(|asked| {
        let command = format!("ralph answer {} \"…\"", asked.id);
        (&asked.task, "  asks", asked.text.as_str(), command)
    });
    waiting("Questions", rows, style)
}

/// What waits for you: each task with its text and the command to type.
pub(crate) fn waiting<'a>(
    name: &str,
    rows: impl IntoIterator<Item = (&'a TaskId, &'a str, &'a str, String)>,
    style: TextStyle,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (task, does, text, command) in rows {
        if lines.is_empty() {
            heading(name, &mut lines, style);
        }
        let names = TextLine::new().plain("  ").add(Meaning::Name, task.as_str());
        lines.push(names.plain(does).show(style));
        lines.extend(paragraph(4, None, text, style));
        lines.push(TextLine::new().plain("    ").add(Meaning::Tool, command).show(style));
    }
    lines
}

/// `Next:` and the commands to type, one below the other.
pub(crate) fn next_commands(commands: &[String], style: TextStyle) -> Vec<String> {
    let line = |(index, command): (usize, &String)| {
        let name = if index == 0 { "Next: " } else { "      " };
        TextLine::new().add(Meaning::Heading, name).plain(command).show(style)
    };
    commands.iter().enumerate().map(line).collect()
}

fn verdict(outcome: &Outcome) -> (&'static str, Meaning) {
    match &outcome.reason {
        StopReason::Complete | StopReason::Marker { .. }
            if outcome.left.failed == 0 && outcome.left.unresolved() == 0 =>
        {
            ("✓", Meaning::Good)
        }
        StopReason::Session => ("✓", Meaning::Good),
        StopReason::Asked { .. } => ("?", Meaning::Warning),
        StopReason::Complete
        | StopReason::Marker { .. }
        | StopReason::Limit { .. }
        | StopReason::Idle { .. }
        | StopReason::Cancelled
        | StopReason::Budget { .. } => ("·", Meaning::Warning),
        StopReason::NoPlan { .. }
        | StopReason::Blocked { .. }
        | StopReason::Failure
        | StopReason::GatesFailed
        | StopReason::GateUnusable { .. }
        | StopReason::AgentFailed { .. }
        | StopReason::Breaker { .. }
        | StopReason::GitFailed { .. }
        | StopReason::Error { .. } => ("✗", Meaning::Bad),
    }
}

fn figures(view: &RunView, outcome: &Outcome, style: TextStyle) -> Vec<String> {
    let made = outcome.successful + outcome.failed;
    let took = made > 0 || outcome.duration_ms >= 1000;
    let last = view.commits.last();
    let publication = view.publication.as_ref().filter(|made| !made.is_warning());
    let review = view.review.as_ref().filter(|review| !review.is_warning());
    let start = view.saved_start.as_ref();
    let figures = [
        ("plan", (outcome.left.total() > 0).then(|| plan(&outcome.left))),
        ("iterations", (made > 0).then(|| iterations(outcome))),
        ("time", took.then(|| brief_duration(outcome.duration_ms))),
        ("cost", cost(view)),
        ("remaining", view.forecast().map(|forecast| rest(&forecast))),
        ("commits", last.map(|last| format!("{}, last {}", view.commit_count, last.short()))),
        ("published", publication.map(Publication::sentence)),
        ("review", review.map(Review::sentence)),
        ("saved", start.map(|(name, _)| format!("{name} (uncommitted before the run)"))),
    ];
    let saved = view
        .saved
        .iter()
        .take(MOST)
        .map(|saved| ("saved", Some(format!("{} (ralph recover {})", saved.name, saved.task))));
    fields(figures.into_iter().chain(saved), style)
}

fn iterations(outcome: &Outcome) -> String {
    let made = outcome.successful + outcome.failed;
    match (outcome.successful, outcome.failed) {
        (_, 0) => made.to_string(),
        (0, _) => format!("{made}, none successful"),
        (good, _) => format!("{made}, {good} successful"),
    }
}

/// The cost and tokens of the run; `None` when no session reported any.
pub(crate) fn cost(view: &RunView) -> Option<String> {
    spent(view.usage, view.unpriced > 0)
}

/// Cost and tokens; `None` when no session reported any. Where some sessions reported no price, the cost is a lower
/// bound.
pub fn spent(usage: Usage, has_unpriced: bool) -> Option<String> {
    let used = usage.input_tokens > 0 || usage.output_tokens > 0;
    let price = match usage.cost_micro_usd {
        Some(cost) if has_unpriced => format!("at least {}", money(cost)),
        Some(cost) => money(cost),
        None if used => "not reported by the agent".to_owned(),
        None => return None,
    };
    let flow =
        format!("{} tokens in, {} out", tokens(usage.input_tokens), tokens(usage.output_tokens));
    Some(if used { format!("{price} ({flow})") } else { price })
}

pub(crate) fn rest(forecast: &Forecast) -> String {
    let tasks = words::count(forecast.tasks, "task");
    let time = brief_duration(forecast.duration_ms);
    match forecast.micro_usd {
        Some(cost) => format!("about {} and {time} for {tasks}", money(cost)),
        None => format!("about {time} for {tasks}, cost unknown"),
    }
}

fn ended(name: &str, tasks: &[EndedTask], lines: &mut Vec<String>, style: TextStyle) {
    if tasks.is_empty() {
        return;
    }
    heading(name, lines, style);
    for task in tasks.iter().take(MOST) {
        let names = TextLine::new().plain("  ").add(Meaning::Name, task.id.as_str()).plain("  ");
        lines.push(names.flexible(None, &task.title).show(style));
        let reason = task.reason.lines().next().unwrap_or_default();
        lines.extend(paragraph(4, Some(Meaning::Faint), reason, style));
    }
    more(tasks.len(), lines, style);
}

pub(crate) fn heading(name: &str, lines: &mut Vec<String>, style: TextStyle) {
    lines.push(String::new());
    lines.push(style.paint(Meaning::Heading, name));
}

fn more(len: usize, lines: &mut Vec<String>, style: TextStyle) {
    if len > MOST {
        lines.push(style.paint(Meaning::Faint, format!("  … and {} more", len - MOST)));
    }
}

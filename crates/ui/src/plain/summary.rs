//! The last lines of a run: how it ended, what it did and cost, and what waits for the user.

use ralph_core::agent::Usage;
use ralph_core::run::{Outcome, StopReason};
use ralph_core::view::forecast::Forecast;
use ralph_core::view::{EndedTask, RunView, words};

use super::start::plan;
use crate::line::{Line, field, paragraph};
use crate::style::{Look, Meaning};
use crate::units::{brief_duration, money, tokens};

/// The longest list in a summary.
const MOST: usize = 10;

/// How a run ended and what to do next; nothing while it has not ended.
pub fn summary(view: &RunView, look: Look) -> Vec<String> {
    let Some(outcome) = &view.outcome else { return vec![] };
    let width = look.width.unwrap_or(80).min(100);
    let mut lines = vec![String::new(), look.paint(Meaning::Faint, "─".repeat(width))];
    let (symbol, meaning) = verdict(outcome);
    let mut sentence = paragraph(2, Some(meaning), &outcome.sentence(), look);
    if let Some(first) = sentence.first_mut() {
        *first = format!("{} {}", look.paint(meaning, symbol), first.trim_start());
    }
    lines.append(&mut sentence);
    lines.extend(figures(view, outcome, look));
    if !view.questions.is_empty() {
        heading("Questions", &mut lines, look);
        for question in view.questions.iter().take(MOST) {
            let names = Line::new().plain("  ").add(Meaning::Name, question.task.as_str());
            lines.push(names.plain("  asks").show(look));
            lines.extend(paragraph(4, None, &question.text, look));
            lines.extend(command(4, &format!("ralph answer {} \"…\"", question.id), look));
        }
        more(view.questions.len(), &mut lines, look);
    }
    ended("Failed", &view.failed_tasks, &mut lines, look);
    ended("Waiting for you", &view.held_tasks, &mut lines, look);
    if !view.warnings.is_empty() {
        heading("Warnings", &mut lines, look);
        for warning in view.warnings.iter().take(MOST) {
            lines.extend(paragraph(2, None, warning, look));
        }
        more(view.warnings.len(), &mut lines, look);
    }
    let next = words::next(view);
    if !next.is_empty() {
        lines.push(String::new());
        lines.extend(next_commands(&next, look));
    }
    lines
}

/// `Next:` and the commands to type, one below the other.
pub(crate) fn next_commands(commands: &[String], look: Look) -> Vec<String> {
    let line = |(index, command): (usize, &String)| {
        let name = if index == 0 { "Next: " } else { "      " };
        Line::new().add(Meaning::Heading, name).plain(command).show(look)
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

fn figures(view: &RunView, outcome: &Outcome, look: Look) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |name: &str, text: &str| lines.extend(field(name, Meaning::Faint, text, look));
    if outcome.left.total() > 0 {
        say("plan", &plan(&outcome.left));
    }
    let made = outcome.successful + outcome.failed;
    if made > 0 {
        say("iterations", &iterations(outcome));
    }
    if made > 0 || outcome.duration_ms >= 1000 {
        say("time", &brief_duration(outcome.duration_ms));
    }
    if let Some(cost) = cost(view) {
        say("cost", &cost);
    }
    if let Some(forecast) = view.forecast() {
        say("remaining", &rest(&forecast));
    }
    if let Some(last) = view.commits.last() {
        say("commits", &format!("{}, last {}", view.commit_count, last.short()));
    }
    if let Some(made) = view.publication.as_ref().filter(|made| !made.is_warning()) {
        say("published", &made.sentence());
    }
    if let Some(review) = view.review.as_ref().filter(|review| !review.is_warning()) {
        say("review", &review.sentence());
    }
    if let Some((name, _)) = &view.saved_start {
        say("saved", &format!("{name} (uncommitted before the run)"));
    }
    for saved in view.saved.iter().take(MOST) {
        say("saved", &format!("{} (ralph recover {})", saved.name, saved.task));
    }
    lines
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

/// The forecast in words.
pub(crate) fn rest(forecast: &Forecast) -> String {
    let tasks = words::count(forecast.tasks, "task");
    let time = brief_duration(forecast.duration_ms);
    match forecast.micro_usd {
        Some(cost) => format!("about {} and {time} for {tasks}", money(cost)),
        None => format!("about {time} for {tasks}, cost unknown"),
    }
}

fn ended(name: &str, tasks: &[EndedTask], lines: &mut Vec<String>, look: Look) {
    if tasks.is_empty() {
        return;
    }
    heading(name, lines, look);
    for task in tasks.iter().take(MOST) {
        let names = Line::new().plain("  ").add(Meaning::Name, task.id.as_str()).plain("  ");
        lines.push(names.flexible(None, &task.title).show(look));
        let reason = task.reason.lines().next().unwrap_or_default();
        lines.extend(paragraph(4, Some(Meaning::Faint), reason, look));
    }
    more(tasks.len(), lines, look);
}

fn heading(name: &str, lines: &mut Vec<String>, look: Look) {
    lines.push(String::new());
    lines.push(look.paint(Meaning::Heading, name));
}

fn command(indent: usize, text: &str, look: Look) -> Vec<String> {
    vec![Line::new().plain(" ".repeat(indent)).add(Meaning::Tool, text).show(look)]
}

fn more(len: usize, lines: &mut Vec<String>, look: Look) {
    if len > MOST {
        lines.push(look.paint(Meaning::Faint, format!("  … and {} more", len - MOST)));
    }
}

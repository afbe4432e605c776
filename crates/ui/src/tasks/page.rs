//! `ralph task show`: everything about one task on a page.

use std::fmt::Write;

use ralph_core::TaskId;
use ralph_core::records::{Attempt, Evidence, LogEntry, Verdict};
use ralph_core::task::Task;
use ralph_core::text::{printable, printable_line};

use super::json::Details;
use crate::line::{Line, paragraph};
use crate::style::{Look, Meaning};
use crate::units::money;

/// Letters of a tree's name that are shown; `--json` has all of them.
const SHORT: usize = 12;

/// A task and all that is known of it.
pub fn page(task: &Task, more: Details<'_>, look: Look) -> String {
    let mut text = String::new();
    let shown = task.shown();
    let status = match Meaning::of(shown) {
        Some(meaning) => look.paint(meaning, shown),
        None => shown.to_string(),
    };
    let title = printable_line(task.title.as_str());
    let _ = writeln!(
        text,
        "{}  {}",
        look.paint(Meaning::Name, &task.id),
        look.paint(Meaning::Heading, title)
    );
    let label = |key: &str| look.paint(Meaning::Faint, format!("{key:<13}"));
    let _ = writeln!(text, "  {} {}", label("status"), status_line(task, &status));
    let mut field = |key: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "  {} {}", label(key), printable_line(value));
        }
    };
    field("priority", &task.priority.to_string());
    field("category", task.category.as_deref().unwrap_or_default());
    field("spec", task.spec.as_deref().unwrap_or_default());
    field("ref", task.reference.as_deref().unwrap_or_default());
    field("feature", task.feature.as_ref().map_or("", |name| name.as_str()));
    field("branch", task.branch.as_deref().unwrap_or_default());
    field("parent", task.parent.as_ref().map_or("", TaskId::as_str));
    field("deps", &task.deps.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", "));
    field("touches", &task.touches.join(", "));
    if task.retry_count > 0 {
        field("retries", &task.retry_count.to_string());
    }
    field("reason", task.reason.as_deref().unwrap_or_default());
    field("result", task.result.as_deref().unwrap_or_default());
    field("verification", task.verification_status.as_deref().unwrap_or_default());
    field("created", &task.created_at.to_string());
    field("done", &task.done_at.map(|at| at.to_string()).unwrap_or_default());

    // Lines of a section stand two cells to the right.
    let inside = Look { width: look.width.map(|width| width.saturating_sub(2)), ..look };
    let mut section = |name: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{}", look.paint(Meaning::Heading, name));
            for line in lines.iter().flat_map(|line| line.lines()) {
                let _ = writeln!(text, "  {line}");
            }
        }
    };
    section("Description", printable(task.description.trim()).lines().map(str::to_owned).collect());
    section("Steps", task.steps.iter().map(|step| format!("- {}", printable_line(step))).collect());
    let neighbours = |tasks: Option<&[Task]>| -> Vec<String> {
        let line = |task: &Task| {
            format!("{}  {}  {}", task.id, task.shown(), printable_line(task.title.as_str()))
        };
        tasks.unwrap_or_default().iter().map(line).collect()
    };
    section("Waits for", neighbours(more.blockers));
    section("Holds up", neighbours(more.dependents));
    section(
        "Questions",
        more.questions
            .iter()
            .map(|question| {
                let answer = question.answer.as_ref().map_or("open", |(_, answer)| answer.as_str());
                printable_line(&format!("{}  {} -> {answer}", question.id, question.text))
                    .into_owned()
            })
            .collect(),
    );
    section(
        "Attempts",
        more.attempts.iter().map(|attempt| attempt_line(attempt, inside)).collect(),
    );
    section("Evidence", more.evidence.iter().map(|found| evidence_line(found, inside)).collect());
    section("Log", more.log.iter().map(|entry| log_line(entry, inside)).collect());
    text
}

/// When, how it ended, with which model and for how much.
fn attempt_line(attempt: &Attempt, look: Look) -> String {
    let end = attempt.end.as_ref();
    let outcome = end.map_or("running", |end| end.outcome.as_str());
    let mut facts: Vec<String> = attempt.model.iter().cloned().collect();
    facts.extend(end.and_then(|end| end.cost_micro_usd).map(money));
    let line = Line::new().add(Meaning::Faint, attempt.started_at.to_string()).plain("  ");
    with_text(line.plain(format!("{}  {outcome}", attempt.id)), &facts.join(", "), look)
}

/// When, what which judge said of which tree, and why.
fn evidence_line(found: &Evidence, look: Look) -> String {
    let meaning = match found.verdict {
        Verdict::Pass => Meaning::Good,
        Verdict::Fail => Meaning::Bad,
        Verdict::Ungated | Verdict::Unchanged => Meaning::Warning,
    };
    let why = match found.verdict {
        // What passed says something only where there is something to know.
        Verdict::Fail | Verdict::Pass => found.digest.trim().lines().next().unwrap_or_default(),
        Verdict::Ungated | Verdict::Unchanged => "",
    };
    let line = Line::new().add(Meaning::Faint, found.at.to_string()).plain("  ");
    let line = line.add(meaning, found.verdict.as_str()).plain(format!("  {}  ", found.judge));
    let tree = found.tree.get(..SHORT).unwrap_or(&found.tree);
    with_text(line.add(Meaning::Faint, format!("tree {tree}")), why, look)
}

/// A line and the text that belongs to it: behind it where that fits, else below it.
fn with_text(line: Line, text: &str, look: Look) -> String {
    if text.is_empty() {
        return line.show(look);
    }
    let whole = line.clone().plain("  ").plain(text);
    if look.width.is_none_or(|width| whole.width() <= width) {
        return whole.show(look);
    }
    let below = paragraph(2, None, &printable_line(text), look);
    std::iter::once(line.show(look)).chain(below).collect::<Vec<_>>().join("\n")
}

fn status_line(task: &Task, status: &str) -> String {
    match &task.claim {
        Some(claim) => format!("{status}, by {} until {}", claim.agent, claim.lease_expires_at),
        None => status.to_owned(),
    }
}

/// An entry of a log: one line, and the text below it where it does not fit.
pub fn log_line(entry: &LogEntry, look: Look) -> String {
    let line = Line::new().add(Meaning::Faint, entry.at.to_string());
    with_text(line.plain(format!("  {:<9}  {}", entry.kind, entry.by)), &entry.text, look)
}

//! `ralph task show`: everything about one task on a page.

use std::fmt::Write;

use ralph_core::TaskId;
use ralph_core::records::LogEntry;
use ralph_core::task::Task;
use ralph_core::text::{printable, printable_line};

use super::json::Details;
use crate::style::{Look, Meaning};

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

    let mut section = |name: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{}", look.paint(Meaning::Heading, name));
            for line in lines {
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
        more.attempts
            .iter()
            .map(|attempt| {
                let end = attempt.end.as_ref().map_or("running", |end| end.outcome.as_str());
                format!("{}  {}  {}  {end}", attempt.id, attempt.started_at, attempt.agent)
            })
            .collect(),
    );
    section(
        "Evidence",
        more.evidence
            .iter()
            .map(|e| {
                format!("{}  {}  {}  tree {}", e.at, e.verdict, printable_line(&e.judge), e.tree)
            })
            .collect(),
    );
    section("Log", more.log.iter().map(|entry| log_line(entry, look)).collect());
    text
}

fn status_line(task: &Task, status: &str) -> String {
    match &task.claim {
        Some(claim) => format!("{status}, by {} until {}", claim.agent, claim.lease_expires_at),
        None => status.to_owned(),
    }
}

/// One line of a log.
pub fn log_line(entry: &LogEntry, look: Look) -> String {
    let when = look.paint(Meaning::Faint, entry.at);
    let text = printable_line(&entry.text);
    let space = if text.is_empty() { "" } else { "  " };
    format!("{when}  {:<9}  {}{space}{text}", entry.kind, entry.by)
}

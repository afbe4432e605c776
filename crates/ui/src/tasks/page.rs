//! `ralph task show`: everything about one task on a page.

use std::fmt::Write;

use ralph_core::TaskId;
use ralph_core::records::{Evidence, LogEntry, LogKind, Verdict};
use ralph_core::task::{Status, Task};
use ralph_core::text::printable_line;
use ralph_core::time::Zone;
use ralph_core::view::words;

use super::attempts::{self, Sums};
use super::json::{Details, results_of};
use crate::line::{TextLine, paragraph, wrap};
use crate::style::{Meaning, TextStyle};

/// Letters of a tree's name that are shown; `--json` has all of them.
const SHORT: usize = 12;
/// Where the values of fields begin.
const VALUES: usize = 16;
/// How many entries of the log are shown, unless everything is asked for.
const LOG_LINES: usize = 12;

/// A task with everything that is known about it.
pub fn page(task: &Task, more: Details<'_>, style: TextStyle) -> String {
    let mut text = String::new();
    let status = style.paint(Meaning::of(task.shown()), task.shown());
    let title = printable_line(task.title.as_str());
    let _ = writeln!(
        text,
        "{}  {}",
        style.paint(Meaning::Name, &task.id),
        style.paint(Meaning::Heading, title)
    );
    let label = |key: &str| style.paint(Meaning::Faint, format!("{key:<13}"));
    let _ = writeln!(text, "  {} {}", label("status"), status_line(task, &status, more.zone));
    let room = style.width.map(|width| width.saturating_sub(VALUES));
    let mut field = |key: &str, value: &str| {
        let mut key = label(key);
        for line in wrap(&printable_line(value), room) {
            let _ = writeln!(text, "  {key} {line}");
            key = " ".repeat(VALUES - 3);
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
    field("why", why_waiting(task, more).unwrap_or_default());
    let merge = more.needs_merge.map(|found| format!("{}: {}", found.reason(), found.command()));
    field("waits", &merge.unwrap_or_default());
    field("result", task.result.as_deref().unwrap_or_default());
    field("verification", task.verification_status.as_deref().unwrap_or_default());
    field("attempts", &Sums::of(more.attempts).text());
    field("created", &task.created_at.labeled(more.zone));
    field("done", &task.done_at.map(|at| at.labeled(more.zone)).unwrap_or_default());

    // The lines of a section are indented by two cells.
    let inside = TextStyle { width: style.width.map(|width| width.saturating_sub(2)), ..style };
    let mut section = |name: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{}", style.paint(Meaning::Heading, name));
            for line in lines.iter().flat_map(|line| line.lines()) {
                let _ = writeln!(text, "  {line}");
            }
        }
    };
    section("Description", paragraph(0, None, task.description.trim(), inside));
    section("Steps", task.steps.iter().map(|step| format!("- {}", printable_line(step))).collect());
    let neighbours = |tasks: Option<&[Task]>| -> Vec<String> {
        let line = |task: &Task| {
            format!("{}  {}  {}", task.id, task.shown(), printable_line(task.title.as_str()))
        };
        tasks.unwrap_or_default().iter().map(line).collect()
    };
    section("Blocked by", neighbours(more.blockers));
    section(
        "Blocker results",
        results_of(more.blockers.unwrap_or_default())
            .into_iter()
            .map(|(id, result)| format!("{id}: {}", printable_line(result)))
            .collect(),
    );
    section("Blocks", neighbours(more.dependents));
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
    for (heading, lines) in attempts::sections(task, more, inside) {
        section(&heading, lines);
    }
    let loose = more.evidence.iter().filter(|found| found.attempt.is_none());
    section("Evidence", loose.map(|found| evidence_line(found, inside)).collect());
    section("Log", log_lines(task, more, inside));
    text
}

/// The last note on a task that waits for the user without a question.
fn why_waiting<'a>(task: &Task, more: Details<'a>) -> Option<&'a str> {
    let asks = more.questions.iter().any(|question| question.answer.is_none());
    let is_note = |entry: &&LogEntry| entry.kind == LogKind::Note;
    let note = more.log.iter().rev().find(is_note).map(|entry| entry.text.as_str());
    note.filter(|_| task.status == Status::Waiting && !asks)
}

/// The log, or its end, and where the rest is.
fn log_lines(task: &Task, more: Details<'_>, style: TextStyle) -> Vec<String> {
    let earlier = match more.all {
        true => 0,
        false => more.log.len().saturating_sub(LOG_LINES),
    };
    let mut lines = Vec::new();
    if earlier > 0 {
        let text = format!("[{earlier} earlier: ralph task log {}]", task.id);
        lines.push(style.paint(Meaning::Faint, text));
    }
    lines.extend(more.log.iter().skip(earlier).map(|entry| log_line(entry, more.zone, style)));
    lines
}

/// Time, verdict, gate, tree and reason.
fn evidence_line(found: &Evidence, style: TextStyle) -> String {
    let meaning = Meaning::of_verdict(found.verdict);
    let why = match found.verdict {
        // A gate that passed has a digest only where there is something to know.
        Verdict::Fail | Verdict::Pass | Verdict::Unclaimed => {
            found.digest.trim().lines().next().unwrap_or_default()
        }
        Verdict::Ungated | Verdict::Unchanged => "",
    };
    let line = TextLine::new().add(Meaning::Faint, found.at.to_string()).plain("  ");
    let line = line.add(meaning, words::verdict(&found.judge, found.verdict));
    let line = line.plain(format!("  {}  ", found.judge));
    let tree = found.tree.get(..SHORT).unwrap_or(&found.tree);
    with_text(line.add(Meaning::Faint, format!("tree {tree}")), why, style)
}

/// A line and the text that belongs to it: behind it where that fits, else below it.
pub(super) fn with_text(line: TextLine, text: &str, style: TextStyle) -> String {
    if text.is_empty() {
        return line.show(style);
    }
    let whole = line.clone().plain("  ").plain(text);
    if style.width.is_none_or(|width| whole.width() <= width) {
        return whole.show(style);
    }
    let below = paragraph(2, None, &printable_line(text), style);
    std::iter::once(line.show(style)).chain(below).collect::<Vec<_>>().join("\n")
}

fn status_line(task: &Task, status: &str, zone: &Zone) -> String {
    match &task.claim {
        Some(claim) => {
            format!("{status}, by {} until {}", claim.agent, claim.lease_expires_at.labeled(zone))
        }
        None => status.to_owned(),
    }
}

/// An entry of a log: one line, and the text below it where it does not fit.
pub fn log_line(entry: &LogEntry, zone: &Zone, style: TextStyle) -> String {
    let line = TextLine::new().add(Meaning::Faint, entry.at.labeled(zone));
    with_text(line.plain(format!("  {:<9}  {}", entry.kind, entry.by)), &entry.text, style)
}

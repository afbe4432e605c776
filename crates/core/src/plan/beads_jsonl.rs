//! The `issues.jsonl` of beads: one issue per line.
//!
//! A line is a whole issue, so a field that beads leaves out when it is empty empties the task's
//! field too. What beads has no field for stands in labels such as `spec:login.md`; a task that has
//! no such label keeps what it has. beads gives every issue a type: its `task` is a task without a
//! category.

mod read;
#[cfg(test)]
pub(super) mod tests;
mod write;

use std::collections::HashSet;

use super::json::{Fields, Json, Problem, lines, refuse_repeated};
use super::tally::Tally;
use super::{Plan, PlanError, PlanTask};
use crate::ids::TaskId;
use crate::task::TaskPatch;
use read::Issue;

pub(super) use write::render;

/// The types that every beads knows. `task` is the one that says nothing.
const OWN_TYPES: [&str; 5] = ["task", "bug", "feature", "epic", "chore"];
/// The most that beads has for a priority.
const LAST_PRIORITY: i64 = 4;

pub(super) fn recognizes(file_name: &str, text: &str) -> bool {
    if file_name.to_ascii_lowercase().ends_with(".jsonl") {
        return true;
    }
    let first = lines(text).next().and_then(|(_, first)| Json::parse_line(first).ok());
    first.is_some_and(|issue| {
        let has = |key| issue.get(key).is_some();
        has("title") && (has("issue_type") || has("status"))
    })
}

pub(super) fn parse(text: &str) -> Result<Plan, PlanError> {
    let mut tally = Tally::default();
    let mut tasks: Vec<PlanTask> = Vec::new();
    let mut gone: HashSet<String> = HashSet::new();
    let read = lines(text).try_for_each(|(line, content)| {
        let task = read_line(line, content, &mut gone, &mut tally);
        tasks.extend(task.map_err(|problem| problem.at(line))?);
        Ok(())
    });
    // An id that is there twice stands before the line that could not be read.
    refuse_repeated(&tasks)?;
    read?;
    for task in &tasks {
        gone.remove(task.id.as_str());
    }
    for task in &mut tasks {
        forget(&gone, &mut task.fields, &mut tally);
    }
    Ok(Plan { tasks, not_kept: tally.sentences(), ..Plan::default() })
}

/// Takes out the links to issues that are deleted: they hold nothing up.
fn forget(gone: &HashSet<String>, fields: &mut TaskPatch, tally: &mut Tally) {
    let mut kept = |id: &TaskId| {
        let keep = !gone.contains(id.as_str());
        if !keep {
            tally.add("", "link", " to deleted issues");
        }
        keep
    };
    if let Some(deps) = &mut fields.deps {
        deps.retain(&mut kept);
    }
    if let Some(parent) = &mut fields.parent {
        *parent = parent.take().filter(&mut kept);
    }
}

/// The task of a line; `None` for an issue that is deleted, whose id goes to `gone`.
fn read_line(
    line: usize,
    content: &str,
    gone: &mut HashSet<String>,
    tally: &mut Tally,
) -> Result<Option<PlanTask>, Problem> {
    let issue = Json::parse_line(content)?;
    let fields = issue.fields("an issue is an object")?;
    if let Some(id) = tombstone(fields) {
        tally.add("", "deleted issue", " (status tombstone)");
        gone.insert(id.to_owned());
        return Ok(None);
    }
    Issue::collect(fields, tally)?.into_task(line, tally).map(Some)
}

/// The id of an issue that is deleted.
fn tombstone<'f>(fields: &'f Fields<'_>) -> Option<&'f str> {
    let text = |wanted: &str| {
        fields.iter().find(|(key, _)| key == wanted).and_then(|(_, value)| value.text(wanted).ok())
    };
    (text("status") == Some("tombstone")).then(|| text("id").unwrap_or_default())
}

/// A description and what belongs below it, each under a heading, the empty ones left out.
pub(super) fn with_sections(description: &str, sections: &[(&str, &str)]) -> String {
    let mut text = description.to_owned();
    for (heading, section) in sections.iter().filter(|(_, section)| !section.trim().is_empty()) {
        if !text.trim().is_empty() {
            text.truncate(text.trim_end().len());
            text.push_str("\n\n");
        }
        text.push_str(&format!("## {heading}\n\n{section}"));
    }
    text
}

/// What follows a checkbox, if the text starts with one.
fn after_checkbox(text: &str) -> Option<&str> {
    let rest = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| text.strip_prefix(mark))?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim())
}

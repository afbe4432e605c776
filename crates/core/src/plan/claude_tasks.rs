//! Claude Code's own task lists: `~/.claude/tasks/LIST/N.json`, a file for each task, and the older
//! `~/.claude/todos/SESSION.json`, a list in one file.
//!
//! ```text
//! {"id": "2", "subject": "…", "status": "pending", "blockedBy": ["1"]}
//! [{"content": "…", "status": "in_progress", "activeForm": "…"}]
//! ```
//!
//! Items of a todo list have no ids; they get one from their words, so that importing twice changes nothing.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::json::{Json, ObjectLines, Problem, dependencies, quoted, refuse_repeated, task_id};
use super::markdown::words_id;
use super::tally::Tally;
use super::task_master::{Stage, priority};
use super::{Done, Plan, PlanError, PlanTask};
use crate::task::TaskPatch;
use crate::text::{Title, long};

pub(super) fn recognizes(_file_name: &str, text: &str) -> bool {
    let Ok(document) = Json::parse(text) else { return false };
    let is_task = |item: &Json<'_>| {
        (item.get("subject").is_some() || item.get("content").is_some())
            && item.get("status").is_some()
            && item.get("title").is_none()
    };
    let items = items(&document);
    items.is_ok_and(|items| !items.is_empty() && items.iter().all(is_task))
}

pub(super) fn parse(text: &str) -> Result<Plan, PlanError> {
    let document = Json::parse(text)?;
    let lines = ObjectLines::of(&document, text);
    let items = items(&document).map_err(|problem| problem.at(1))?;
    let (mut plan, mut tally) = (Plan::default(), Tally::default());
    let mut times: HashMap<&str, u64> = HashMap::new();
    for item in items {
        let line = lines.line(item);
        let words = item.get("content").or(item.get("subject"));
        let time = words.and_then(|words| words.text("content").ok()).map_or(0, |words| {
            let time = times.entry(words).or_default();
            std::mem::replace(time, *time + 1)
        });
        let read = read_item(item, line, time, &mut tally);
        let (task, dropped) = read.map_err(|problem| problem.at(line))?;
        match dropped {
            true => {
                tally.add("", "cancelled task", "");
                plan.dropped.push(task.id);
            }
            false => plan.tasks.push(task),
        }
    }
    refuse_repeated(&plan.tasks)?;
    for deps in plan.tasks.iter_mut().filter_map(|task| task.fields.deps.as_mut()) {
        deps.retain(|dep| !plan.dropped.contains(dep));
    }
    plan.not_kept = tally.sentences();
    Ok(plan)
}

/// The tasks of a document: a list, an object around a list, or one task.
fn items<'j>(document: &'j Json<'j>) -> Result<&'j [Json<'j>], Problem> {
    match document {
        Json::List(items) => Ok(items),
        Json::Object(_) => match (document.get("todos"), document.get("tasks")) {
            (Some(todos), _) => todos.items("todos", "tasks"),
            (None, Some(tasks)) => tasks.items("tasks", "tasks"),
            (None, None) => Ok(std::slice::from_ref(document)),
        },
        other => Err(Problem(format!("a task list is a list or an object, not {}", other.kind()))),
    }
}

/// A task, and whether it was cancelled. `time` counts earlier items with the same words.
fn read_item(
    item: &Json<'_>,
    line: usize,
    time: u64,
    tally: &mut Tally,
) -> Result<(PlanTask, bool), Problem> {
    let (mut id, mut words, mut status, mut deps) = (None, None, "", vec![]);
    let mut fields = TaskPatch::default();
    for (key, value) in item.fields("a task is an object")? {
        match &**key {
            "id" => id = Some(value.id(key)?),
            "subject" | "content" => words = Some(value.text(key)?),
            "description" => {
                fields.description = Some(long("description", value.text_or_null(key)?)?);
            }
            "status" => status = value.text_or_null(key)?,
            "priority" => fields.priority = priority(key, value)?,
            "blockedBy" => deps = value.ids(key)?,
            // The words of a spinner, and the other side of blockedBy.
            "activeForm" | "blocks" => {}
            _ if value.says_nothing() => {}
            "owner" | "metadata" => tally.lost(true, &format!("the {key}"), "task"),
            _ => tally.lost(true, &format!("unknown field {}", quoted(key)), "task"),
        }
    }
    let words = words.ok_or_else(|| Problem("\"subject\" or \"content\" is missing".to_owned()))?;
    let title = Title::new(words)?;
    let id = match id {
        Some(id) => task_id("id", &id)?,
        None => words_id(words, time)?,
    };
    let deps: Vec<&str> = deps.iter().map(|dep| &**dep).collect();
    fields.deps = Some(dependencies(&id, &deps)?);
    let stage = Stage::of(status, tally);
    let done = matches!(stage, Stage::Done).then_some(Done { at: None });
    let dropped = matches!(stage, Stage::Dropped);
    let waits = if let Stage::Waits(why) = stage { Some(why) } else { None };
    Ok((PlanTask { line, id, title, fields, done, waits }, dropped))
}

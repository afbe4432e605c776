//! task-master's `tasks.json`: lists of tasks with subtasks, one list for each tag.
//!
//! ```text
//! {"master": {"tasks": [{"id": 1, "title": "…", "status": "pending", "subtasks": [{"id": 1, …}]}]}}
//! ```
//!
//! Ids stay as they are: `5`, and `5.2` for its second subtask. Tasks of another tag than `master` have it in front:
//! `payments/5`. A task with subtasks is done when they are, so its subtasks wait for what it depends on.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use super::beads_jsonl::with_sections;
use super::json::{
    Json, ObjectLines, Problem, dependencies, present, quoted, refuse_repeated, task_id,
};
use super::tally::Tally;
use super::{Done, Plan, PlanError, PlanTask};
use crate::ids::TaskId;
use crate::task::{Priority, TaskPatch};
use crate::text::{Title, label, long, printable_line};

/// The key of a list of tasks.
const TASKS: &str = "tasks";
/// The tag whose ids stand alone.
const MAIN_TAG: &str = "master";

pub(super) fn recognizes(_file_name: &str, text: &str) -> bool {
    let Ok(document) = Json::parse(text) else { return false };
    let has_title = |task: &Json<'_>| task.get("title").is_some();
    let is_list = |value: Option<&Json<'_>>| matches!(value, Some(Json::List(tasks)) if tasks.iter().all(has_title));
    match &document {
        Json::Object(_) if document.get(TASKS).is_some() => is_list(document.get(TASKS)),
        Json::Object(fields) => fields.iter().any(|(_, tag)| is_list(tag.get(TASKS))),
        _ => false,
    }
}

pub(super) fn parse(text: &str) -> Result<Plan, PlanError> {
    let document = Json::parse(text)?;
    let lines = ObjectLines::of(&document, text);
    let mut reading = Reading { lines, plan: Plan::default(), tally: Tally::default() };
    reading.document(&document)?;
    reading.finished()
}

pub(super) enum Stage {
    Open,
    Done,
    Dropped,
    Waits(String),
}

impl Stage {
    /// The words of task-master and Claude Code. ralph has none for work that has begun elsewhere, and names it.
    pub(super) fn of(status: &str, tally: &mut Tally) -> Self {
        match status.to_ascii_lowercase().replace('_', "-").as_str() {
            "" | "pending" | "open" | "todo" => Self::Open,
            "done" | "completed" | "complete" => Self::Done,
            "cancelled" | "canceled" | "deleted" => Self::Dropped,
            "deferred" | "blocked" | "review" => {
                Self::Waits(format!("its status was {}", printable_line(status)))
            }
            _ => {
                let shown: String = printable_line(status).chars().take(60).collect();
                tally.add(format!("status {shown} of "), "task", " (imported as open)");
                Self::Open
            }
        }
    }
}

/// The priority that a word or a number stands for.
pub(super) fn priority(key: &str, value: &Json<'_>) -> Result<Option<Priority>, Problem> {
    let number = match value {
        Json::Null => return Ok(None),
        Json::Text(word) => match word.to_ascii_lowercase().as_str() {
            "" => return Ok(None),
            "critical" | "urgent" => 0,
            "high" => 1,
            "medium" | "normal" => 2,
            "low" => 3,
            _ => {
                let word = quoted(word);
                return Err(Problem(format!(
                    "\"{key}\" must be critical, high, medium, low or a number, not {word}"
                )));
            }
        },
        other => other.whole(key)?,
    };
    Ok(Some(Priority::new(number)?))
}

/// One task or subtask as the file says it.
#[derive(Default)]
struct Fields<'j> {
    id: Option<String>,
    title: Option<Title>,
    texts: [&'j str; 3],
    status: &'j str,
    priority: Option<Priority>,
    deps: Vec<String>,
    subtasks: &'j [Json<'j>],
}

impl<'j> Fields<'j> {
    fn of(task: &'j Json<'j>, tally: &mut Tally) -> Result<Self, Problem> {
        let mut fields = Self::default();
        for (key, value) in task.fields("a task is an object")? {
            match &**key {
                "id" => fields.id = Some(value.id(key)?.into_owned()),
                "title" => fields.title = Some(Title::new(value.text(key)?)?),
                "description" => fields.texts[0] = value.text_or_null(key)?,
                "details" => fields.texts[1] = value.text_or_null(key)?,
                "testStrategy" => fields.texts[2] = value.text_or_null(key)?,
                "status" => fields.status = value.text_or_null(key)?,
                "priority" => fields.priority = priority(key, value)?,
                "dependencies" => {
                    fields.deps = value.ids(key)?.into_iter().map(Into::into).collect();
                }
                "subtasks" => fields.subtasks = value.items(key, "tasks")?,
                // The task that a subtask stands in says the same.
                "parentId" | "parentTaskId" | "parent" => {}
                _ if value.says_nothing() => {}
                "updatedAt" | "createdAt" => tally.lost(true, &format!("the {key}"), "task"),
                _ => tally.lost(true, &format!("unknown field {}", quoted(key)), "task"),
            }
        }
        Ok(fields)
    }
}

/// A list of tasks: its tag, and what stands before its ids.
struct Tag<'j> {
    name: Option<&'j str>,
    prefix: String,
}

/// A task that was read, as its subtasks need it.
struct Above {
    number: String,
    id: TaskId,
    deps: Vec<String>,
    stage: Stage,
    /// The numbers of its subtasks, without its own.
    parts: HashSet<String>,
}

struct Reading<'j> {
    lines: ObjectLines<'j>,
    plan: Plan,
    tally: Tally,
}

impl<'j> Reading<'j> {
    fn document(&mut self, document: &'j Json<'j>) -> Result<(), PlanError> {
        let at_top = |problem: Problem| problem.at(1);
        let what = format!("a plan is an object with \"{TASKS}\"");
        let fields = document.fields(&what).map_err(at_top)?;
        let untagged = document.get(TASKS).is_some();
        let mut found = false;
        for (key, value) in fields {
            let tagged = value.get(TASKS).filter(|_| !untagged);
            let list = if untagged && key == TASKS { Some(value) } else { tagged };
            let Some(list) = list else {
                let name = printable_line(key);
                self.tally.lost(!value.says_nothing(), &format!("the {name}"), "file");
                continue;
            };
            found = true;
            let name = (!untagged && key != MAIN_TAG).then_some(&**key);
            let prefix = name.map(|name| format!("{name}/")).unwrap_or_default();
            let about = tagged.and(value.get("metadata"));
            self.tally.lost(
                about.is_some_and(|about| !about.says_nothing()),
                "the metadata",
                "tag",
            );
            let tasks = list.items(TASKS, "tasks").map_err(at_top)?;
            self.list(tasks, &Tag { name, prefix }, None)?;
        }
        present(TASKS, found.then_some(())).map_err(at_top)
    }

    fn list(
        &mut self,
        tasks: &'j [Json<'j>],
        tag: &Tag<'j>,
        above: Option<&Above>,
    ) -> Result<(), PlanError> {
        for task in tasks {
            let line = self.lines.line(task);
            let at = |problem: Problem| problem.at(line);
            let fields = Fields::of(task, &mut self.tally).map_err(at)?;
            let (place, parts) = (self.plan.tasks.len(), fields.subtasks);
            let read = self.task(line, fields, tag, above).map_err(at)?;
            self.list(parts, tag, Some(&read))?;
            self.close(place, &read.stage);
        }
        Ok(())
    }

    /// Reads a task without its subtasks.
    fn task(
        &mut self,
        line: usize,
        fields: Fields<'j>,
        tag: &Tag<'j>,
        above: Option<&Above>,
    ) -> Result<Above, Problem> {
        let own = present("id", fields.id)?;
        let title = present("title", fields.title)?;
        let number = match above {
            Some(above) if !own.contains('.') => format!("{}.{own}", above.number),
            _ => own,
        };
        let id = task_id("id", &format!("{}{number}", tag.prefix))?;
        // A number in a subtask means the subtask beside it, if there is one.
        let meant = |dep: String| match above {
            Some(above) if above.parts.contains(&dep) => format!("{}.{dep}", above.number),
            _ => dep,
        };
        let mut deps: Vec<String> = fields.deps.into_iter().map(meant).collect();
        deps.extend(above.iter().flat_map(|above| above.deps.iter().cloned()));
        let mut stage = Stage::of(fields.status, &mut self.tally);
        match (above.map(|above| &above.stage), &stage) {
            (Some(Stage::Dropped), Stage::Open | Stage::Waits(_)) => stage = Stage::Dropped,
            (Some(Stage::Waits(why)), Stage::Open) => stage = Stage::Waits(why.clone()),
            _ => {}
        }
        if matches!(stage, Stage::Dropped) {
            self.tally.add("", "cancelled task", "");
            self.plan.dropped.push(id.clone());
        } else {
            let deps: Vec<String> = deps.iter().map(|dep| format!("{}{dep}", tag.prefix)).collect();
            let deps: Vec<&str> = deps.iter().map(String::as_str).collect();
            let [description, details, tests] = fields.texts;
            let sections = [("Details", details), ("Test strategy", tests)];
            let patch = TaskPatch {
                description: Some(long("description", with_sections(description, &sections))?),
                priority: fields.priority,
                category: tag.name.map(|name| label("category", name)).transpose()?,
                parent: Some(above.map(|above| above.id.clone())),
                deps: Some(dependencies(&id, &deps)?),
                ..TaskPatch::default()
            };
            let waits = match &stage {
                Stage::Waits(why) if fields.subtasks.is_empty() => Some(why.clone()),
                _ => None,
            };
            let done = matches!(stage, Stage::Done).then_some(Done { at: None });
            let id = id.clone();
            self.plan.tasks.push(PlanTask { line, id, title, fields: patch, done, waits });
        }
        let parts = fields.subtasks.iter().filter_map(|part| part.get("id")?.id("id").ok());
        let before = format!("{number}.");
        let parts = parts.map(|part| part.strip_prefix(&before).unwrap_or(&part).to_owned());
        Ok(Above { parts: parts.collect(), number, id, deps, stage })
    }

    /// Reconciles the task at `place` with the subtasks that were read after it.
    fn close(&mut self, place: usize, stage: &Stage) {
        let read = &mut self.plan.tasks[place..];
        match (stage, read) {
            // What is done stays done below a task that is left out.
            (Stage::Dropped, parts) => {
                parts.iter_mut().for_each(|task| task.fields.parent = Some(None));
            }
            (Stage::Done, [task, parts @ ..]) if parts.iter().any(|part| part.done.is_none()) => {
                task.done = None;
                self.tally.add("status done of ", "task", " with open subtasks");
            }
            _ => {}
        }
    }

    fn finished(mut self) -> Result<Plan, PlanError> {
        refuse_repeated(&self.plan.tasks)?;
        let gone: HashSet<&TaskId> = self.plan.dropped.iter().collect();
        for deps in self.plan.tasks.iter_mut().filter_map(|task| task.fields.deps.as_mut()) {
            let before = deps.len();
            deps.retain(|dep| !gone.contains(dep));
            (deps.len()..before).for_each(|_| self.tally.add("", "link", " to cancelled tasks"));
        }
        self.plan.not_kept = self.tally.sentences();
        Ok(self.plan)
    }
}

//! The lines of `plan-sync`: one JSON object per task, with short keys, as an agent writes them.
//!
//! ```text
//! {"id":"login/01","t":"Add the form","p":1,"spec":"login.md","deps":["login/00"]}
//! ```
//!
//! A key that is absent leaves the field as it is; `null`, `""` and `[]` empty it.

#[cfg(test)]
mod tests;

use super::json::{Json, Problem, dependencies, lines, present, quoted, refuse_repeated, task_id};

use super::{Plan, PlanError, PlanTask};
use crate::nearest::nearest;
use crate::task::{Priority, TaskPatch};
use crate::text::{Title, label, long};

/// The keys of a line, with the word that each is short for.
const KEYS: [(&str, &str); 9] = [
    ("id", "id"),
    ("t", "title"),
    ("d", "description"),
    ("p", "priority"),
    ("cat", "category"),
    ("spec", "specification"),
    ("ref", "reference"),
    ("deps", "dependencies"),
    ("steps", "steps"),
];

/// Reads the lines of `plan-sync`. All of them are checked; the first problem is returned.
///
/// A text without any task is an empty plan: what that means is for the caller to say.
pub fn parse_sync(text: &str) -> Result<Plan, PlanError> {
    let mut tasks: Vec<PlanTask> = Vec::new();
    let read = lines(text).try_for_each(|(line, content)| {
        tasks.push(read_line(line, content).map_err(|problem| problem.at(line))?);
        Ok(())
    });
    // An id that is there twice stands before the line that could not be read.
    refuse_repeated(&tasks)?;
    read.map(|()| Plan { tasks, ..Plan::default() })
}

fn read_line(line: usize, content: &str) -> Result<PlanTask, Problem> {
    let task = Json::parse_line(content)?;
    let (mut id, mut title, mut deps) = (None, None, None);
    let mut patch = TaskPatch::default();
    let what = "a task is an object such as {\"id\":\"a\",\"t\":\"A title\"}";
    for (key, value) in task.fields(what)? {
        match &**key {
            "id" => id = Some(task_id("id", value.text("id")?)?),
            "t" => title = Some(Title::new(value.text("t")?)?),
            "d" => patch.description = Some(long("description", value.text_or_null("d")?)?),
            "p" if *value == Json::Null => patch.priority = Some(Priority::default()),
            "p" => patch.priority = Some(Priority::new(value.whole("p")?)?),
            "cat" => patch.category = Some(label("category", value.text_or_null("cat")?)?),
            "spec" => patch.spec = Some(label("spec", value.text_or_null("spec")?)?),
            "ref" => patch.reference = Some(label("reference", value.text_or_null("ref")?)?),
            "deps" => deps = Some(value.texts("deps", "ids")?),
            "steps" => patch.steps = Some(steps(value.texts("steps", "texts")?)?),
            other => return Err(unknown_key(other)),
        }
    }
    let id = present("id", id)?;
    let title = present("t", title)?;
    patch.deps = deps.map(|deps| dependencies(&id, &deps)).transpose()?;
    Ok(PlanTask { line, id, title, fields: patch, done: None, waits: None })
}

/// The steps that are not blank.
pub(super) fn steps<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Vec<String>, Problem> {
    let steps = texts.into_iter().filter_map(|text| label("step", text).transpose());
    Ok(steps.collect::<Result<_, _>>()?)
}

fn unknown_key(key: &str) -> Problem {
    let wanted = key.to_lowercase();
    let names = || KEYS.iter().flat_map(|(key, word)| [*key, *word]);
    let meant = names()
        .find(|name| *name == wanted)
        .or_else(|| nearest(&wanted, names(), 1).first().copied())
        .and_then(|name| KEYS.iter().find(|(key, word)| *key == name || *word == name));
    let unknown = quoted(key);
    Problem(match meant {
        Some((key, _)) => format!("unknown key {unknown}; did you mean \"{key}\"?"),
        None => {
            let known = KEYS.map(|(key, _)| key).join(", ");
            format!("unknown key {unknown}; known keys: {known}")
        }
    })
}

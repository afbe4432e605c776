//! `prd.json`: one document with a list of user stories.
//!
//! ```text
//! {"branchName": "ralph/login", "userStories": [{"id": "US-1", "title": "…", "passes": false}]}
//! ```
//!
//! A key that is absent leaves the field as it is.

#[cfg(test)]
mod tests;
mod write;

use super::beads_jsonl::with_sections;
use super::json::{Json, Problem, dependencies, present, quoted, repeated, task_id};
use super::sync_jsonl::steps;
use super::tally::Tally;
use super::{Done, Plan, PlanError, PlanTask};
use crate::task::{Priority, TaskPatch};
use crate::text::{Title, label, long};

pub(super) use write::render;

/// The key of the list of stories.
const STORIES: &str = "userStories";

pub(super) fn recognizes(file_name: &str, text: &str) -> bool {
    let file_name = file_name.to_ascii_lowercase();
    file_name.ends_with(".json") || (!file_name.ends_with(".jsonl") && names_stories(text))
}

pub(super) fn parse(text: &str) -> Result<Plan, PlanError> {
    let document = Json::parse(text)?;
    let mut tally = Tally::default();
    let head = Head::read(&document).map_err(|problem| problem.at(1))?;
    let mut tasks: Vec<PlanTask> = Vec::with_capacity(head.stories.len());
    let lines = story_lines(text);
    let read = head.stories.iter().enumerate().try_for_each(|(index, story)| {
        // The lines of a document that writes the key of its stories with escapes are not known.
        let line = lines.get(index).copied().unwrap_or(1);
        let task = read_story(story, line, head.branch.as_deref(), &mut tally);
        tasks.push(task.map_err(|problem| at_story(line, index, &problem))?);
        Ok(())
    });
    // An id that is there twice stands before the story that could not be read.
    if let Some(error) = repeated_story(&tasks) {
        return Err(error);
    }
    read?;
    let mut not_kept = head.not_kept;
    not_kept.extend(tally.sentences());
    Ok(Plan { tasks, not_kept, ..Plan::default() })
}

fn at_story(line: usize, index: usize, Problem(problem): &Problem) -> PlanError {
    PlanError { line, problem: format!("story {}: {problem}", index + 1) }
}

fn repeated_story(tasks: &[PlanTask]) -> Option<PlanError> {
    let (first, second) = repeated(tasks)?;
    let index = |task: &PlanTask| tasks.iter().take_while(|t| !std::ptr::eq(*t, task)).count();
    let (id, number) = (&first.id, index(first) + 1);
    let problem =
        format!("the id \"{id}\" is already used by story {number} on line {}", first.line);
    Some(at_story(second.line, index(second), &Problem(problem)))
}

/// Whether the text looks like an object with the key of the stories, even if it is not quite JSON.
fn names_stories(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let key = format!("\"{STORIES}\"");
    text.starts_with('{')
        && text
            .match_indices(&key)
            .any(|(at, _)| text[at + key.len()..].trim_start().starts_with(':'))
}

/// What a document says above its stories.
struct Head<'j> {
    branch: Option<String>,
    stories: &'j [Json<'j>],
    not_kept: Vec<String>,
}

impl<'j> Head<'j> {
    fn read(document: &'j Json<'j>) -> Result<Self, Problem> {
        let fields = document.fields(&format!("a plan is an object with \"{STORIES}\""))?;
        let (mut branch, mut stories, mut not_kept) = (None, None, Vec::new());
        for (key, value) in fields {
            match &**key {
                STORIES if *value != Json::Null => stories = Some(value.items(key, "stories")?),
                "branchName" => branch = label("branch", value.text_or_null(key)?)?,
                _ if value.says_nothing() => {}
                "project" | "description" => not_kept.push(format!("the {key} of the plan")),
                _ => not_kept.push(format!("unknown field {} of the plan", quoted(key))),
            }
        }
        Ok(Self { branch, stories: present(STORIES, stories)?, not_kept })
    }
}

fn read_story(
    story: &Json<'_>,
    line: usize,
    branch: Option<&str>,
    tally: &mut Tally,
) -> Result<PlanTask, Problem> {
    let mut fields = TaskPatch { branch: branch.map(|b| Some(b.to_owned())), ..Default::default() };
    let (mut id, mut title, mut description, mut notes) = (None, None, None, "");
    let (mut deps, mut passes) = (None, false);
    for (key, value) in story.fields("a story is an object")? {
        match &**key {
            "id" => id = Some(task_id("id", &value.id(key)?)?),
            "title" => title = Some(Title::new(value.text(key)?)?),
            "description" => description = Some(value.text_or_null(key)?),
            "acceptanceCriteria" => fields.steps = Some(steps(value.texts(key, "texts")?)?),
            "priority" if *value == Json::Null => {}
            "priority" => fields.priority = Some(Priority::new(value.whole(key)?)?),
            "passes" => passes = truth(key, value)?,
            "notes" => notes = value.text_or_null(key)?,
            "dependsOn" => deps = Some(value.ids(key)?),
            _ if value.says_nothing() => {}
            _ => tally.lost(true, &format!("unknown field {}", quoted(key)), "story"),
        }
    }
    let id = present("id", id)?;
    let title = present("title", title)?;
    if description.is_some() || !notes.trim().is_empty() {
        let text = with_sections(description.unwrap_or_default(), &[("Notes", notes)]);
        fields.description = Some(long("description", text)?);
    }
    if let Some(deps) = deps {
        let deps: Vec<&str> = deps.iter().map(|dep| &**dep).collect();
        fields.deps = Some(dependencies(&id, &deps)?);
    }
    let done = passes.then_some(Done { at: None });
    Ok(PlanTask { line, id, title, fields, done, waits: None })
}

fn truth(key: &str, value: &Json<'_>) -> Result<bool, Problem> {
    match value {
        Json::Bool(value) => Ok(*value),
        Json::Null => Ok(false),
        other => Err(Problem(format!("\"{key}\" must be true or false, not {}", other.kind()))),
    }
}

/// The line on which each item of the stories starts. The text is known to be JSON.
fn story_lines(text: &str) -> Vec<usize> {
    let (mut lines, mut line, mut depth) = (Vec::new(), 1, 0_usize);
    // The last text directly in the document, and whether an item of its list may start here.
    let (mut key, mut item_next) = ("", false);
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        if item_next && !byte.is_ascii_whitespace() {
            if byte != b']' {
                lines.push(line);
            }
            item_next = false;
        }
        match byte {
            b'\n' => line += 1,
            b'"' => {
                let mut end = at;
                while let Some((here, byte)) = bytes.next() {
                    end = here;
                    match byte {
                        b'\\' => drop(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
                if depth == 1 {
                    key = text.get(at + 1..end).unwrap_or_default();
                }
            }
            b'{' | b'[' => {
                depth += 1;
                item_next = byte == b'[' && depth == 2 && key == STORIES;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => key = "",
            b',' => item_next = depth == 2 && key == STORIES,
            _ => {}
        }
    }
    lines
}

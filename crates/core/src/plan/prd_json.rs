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
use super::json::{Json, Problem, dependencies, quoted, repeated, task_id};
use super::sync_jsonl::steps;
use super::tally::Tally;
use super::{Done, Plan, PlanError, PlanFormat, PlanTask, PlanWriter, Rendered};
use crate::task::{Priority, Task, TaskPatch};
use crate::text::{Title, label, long};

/// The key of the list of stories.
const STORIES: &str = "userStories";

/// The `prd.json` of many loops.
pub(super) struct PrdJson;

impl PlanFormat for PrdJson {
    fn name(&self) -> &'static str {
        "prd"
    }

    fn about(&self) -> &'static str {
        "prd.json, one document with user stories"
    }

    fn recognises(&self, file_name: &str, text: &str) -> bool {
        let file_name = file_name.to_ascii_lowercase();
        file_name.ends_with(".json") || (!file_name.ends_with(".jsonl") && names_stories(text))
    }

    fn parse(&self, text: &str) -> Result<Plan, PlanError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document =
            Json::parse(text).map_err(|(line, Problem(problem))| PlanError { line, problem })?;
        let mut tally = Tally::default();
        let head =
            Head::read(&document).map_err(|Problem(problem)| PlanError { line: 1, problem })?;
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

    fn writer(&self) -> Option<&dyn PlanWriter> {
        Some(self)
    }
}

impl PlanWriter for PrdJson {
    fn render(&self, tasks: &[Task]) -> Rendered {
        write::render(tasks)
    }
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
        let Json::Object(fields) = document else {
            let kind = document.kind();
            return Err(Problem(format!("a plan is an object with \"{STORIES}\", not {kind}")));
        };
        let mut head = Head { branch: None, stories: &[], not_kept: Vec::new() };
        let mut found = false;
        for (key, value) in fields {
            match &**key {
                STORIES => {
                    found = *value != Json::Null;
                    head.stories = value.items(key, "stories")?;
                }
                "branchName" => head.branch = label("branch", value.text_or_null(key)?)?,
                _ if value.says_nothing() => {}
                "project" | "description" => head.not_kept.push(format!("the {key} of the plan")),
                _ => head.not_kept.push(format!("unknown field {} of the plan", quoted(key))),
            }
        }
        if found { Ok(head) } else { Err(Problem(format!("\"{STORIES}\" is missing"))) }
    }
}

fn read_story(
    story: &Json<'_>,
    line: usize,
    branch: Option<&str>,
    tally: &mut Tally,
) -> Result<PlanTask, Problem> {
    let Json::Object(keys) = story else {
        return Err(Problem(format!("a story is an object, not {}", story.kind())));
    };
    let mut fields = TaskPatch { branch: branch.map(|b| Some(b.to_owned())), ..Default::default() };
    let (mut id, mut title, mut description, mut notes) = (None, None, None, "");
    let (mut deps, mut passes) = (None, false);
    for (key, value) in keys {
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
    let missing = |key| move || Problem(format!("\"{key}\" is missing"));
    let id = id.ok_or_else(missing("id"))?;
    let title = title.ok_or_else(missing("title"))?;
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

//! An issue as a task.

use super::{OWN_TYPES, after_checkbox, with_sections};
use crate::ids::{FeatureName, TaskId};
use crate::plan::json::{
    Fields, Json, Problem, dependencies, present, quoted, task_id, wrong_item,
};
use crate::plan::sync_jsonl::steps;
use crate::plan::tally::Tally;
use crate::plan::{Done, PlanTask};
use crate::task::{Priority, TaskPatch};
use crate::text::{Title, label, long, printable_line};
use crate::time::Timestamp;

/// An issue as its line says it.
#[derive(Default)]
pub(super) struct Issue<'f> {
    id: Option<&'f str>,
    title: Option<&'f str>,
    description: &'f str,
    design: &'f str,
    notes: &'f str,
    criteria: &'f str,
    status: &'f str,
    priority: Option<i64>,
    kind: &'f str,
    closed_at: &'f str,
    reference: &'f str,
    labels: Vec<&'f str>,
    links: Vec<Link<'f>>,
}

struct Link<'f> {
    from: Option<&'f str>,
    to: &'f str,
    kind: &'f str,
}

impl<'f> Issue<'f> {
    /// Sorts the fields of a line; those that tasks do not have are counted.
    pub(super) fn collect(fields: &'f Fields<'_>, tally: &mut Tally) -> Result<Self, Problem> {
        let mut issue = Self::default();
        let mut dated = false;
        for (key, value) in fields {
            match &**key {
                "id" => issue.id = Some(value.text(key)?),
                "title" => issue.title = Some(value.text(key)?),
                "description" => issue.description = value.text_or_null(key)?,
                "design" => issue.design = value.text_or_null(key)?,
                "notes" => issue.notes = value.text_or_null(key)?,
                "acceptance_criteria" => issue.criteria = value.text_or_null(key)?,
                "status" => issue.status = value.text_or_null(key)?,
                "priority" if *value != Json::Null => issue.priority = Some(value.whole(key)?),
                "issue_type" => issue.kind = value.text_or_null(key)?,
                "closed_at" => issue.closed_at = value.text_or_null(key)?,
                "external_ref" => issue.reference = value.text_or_null(key)?,
                "labels" => issue.labels = value.texts(key, "texts")?,
                "dependencies" => issue.links = links(value)?,
                _ if value.says_nothing() => {}
                "created_at" | "updated_at" => dated = true,
                "comments" => tally.lost(true, "comments", "issue"),
                "assignee" | "owner" | "estimated_minutes" | "created_by" | "close_reason" => {
                    tally.lost(true, &format!("the {key}"), "issue");
                }
                _ => tally.lost(true, &format!("unknown field {}", quoted(key)), "issue"),
            }
        }
        tally.lost(dated, "created_at and updated_at", "issue");
        Ok(issue)
    }

    /// Checks its texts and makes a task of it.
    pub(super) fn into_task(self, line: usize, tally: &mut Tally) -> Result<PlanTask, Problem> {
        let id = task_id("id", present("id", self.id)?)?;
        let title = Title::new(present("title", self.title)?)?;
        let description =
            with_sections(self.description, &[("Design", self.design), ("Notes", self.notes)]);
        let criteria = self.criteria.replace('\t', " ");
        let mut fields = TaskPatch {
            description: Some(long("description", description)?),
            priority: self.priority.map(Priority::new).transpose()?,
            category: (!self.kind.is_empty()).then_some(label("category", self.kind)?),
            reference: Some(label("reference", self.reference)?),
            steps: Some(steps(criteria.lines().map(without_marker))?),
            ..TaskPatch::default()
        };
        if self.kind == OWN_TYPES[0] {
            fields.category = Some(None);
        }
        let others = self.labels.iter().filter(|label| !read_label(label, &mut fields)).count();
        tally.lost(others > 0, "labels", "issue");
        read_links(&self.links, &id, &mut fields, tally)?;
        let done = self.done(tally)?;
        Ok(PlanTask { line, id, title, fields, done, waits: None })
    }

    fn done(&self, tally: &mut Tally) -> Result<Option<Done>, Problem> {
        match self.status {
            "closed" if self.closed_at.is_empty() => Ok(Some(Done { at: None })),
            "closed" => match Timestamp::parse(self.closed_at) {
                Some(at) => Ok(Some(Done { at: Some(at) })),
                None => {
                    let found = quoted(self.closed_at);
                    Err(Problem(format!("\"closed_at\" must be an RFC 3339 time, not {found}")))
                }
            },
            "" | "open" => Ok(None),
            other => {
                let status = shown(other);
                tally.add(format!("status {status} of "), "issue", " (imported as open)");
                Ok(None)
            }
        }
    }
}

fn links<'f>(value: &'f Json<'_>) -> Result<Vec<Link<'f>>, Problem> {
    const KEY: &str = "dependencies";
    let mut links = Vec::new();
    for (index, item) in value.items(KEY, "objects")?.iter().enumerate() {
        let Json::Object(fields) = item else {
            return Err(wrong_item(KEY, "objects", index, item));
        };
        let (mut from, mut to, mut kind) = (None, None, "blocks");
        for (key, value) in fields {
            match &**key {
                "issue_id" => from = Some(value.text(key)?),
                "depends_on_id" => to = Some(value.text(key)?),
                "type" => kind = value.text(key)?,
                _ => {}
            }
        }
        let missing = || Problem(format!("dependency {} has no \"depends_on_id\"", index + 1));
        links.push(Link { from, to: to.ok_or_else(missing)?, kind });
    }
    Ok(links)
}

/// Sets parent and dependencies; links that tasks do not have are counted.
fn read_links(
    links: &[Link<'_>],
    id: &TaskId,
    fields: &mut TaskPatch,
    tally: &mut Tally,
) -> Result<(), Problem> {
    let mut parent: Option<&str> = None;
    let mut deps = Vec::new();
    for link in links {
        if link.from.is_some_and(|from| from != id.as_str()) {
            tally.add("", "link", " listed under another issue than its own");
            continue;
        }
        match link.kind {
            "blocks" => deps.push(link.to),
            "parent-child" if link.to == id.as_str() => {
                return Err(Problem(format!("the task \"{id}\" is its own parent")));
            }
            "parent-child" if parent.is_none_or(|first| first == link.to) => parent = Some(link.to),
            "parent-child" => tally.add("", "link", " to a second parent"),
            other => tally.add("", format!("{} link", shown(other)), ""),
        }
    }
    fields.deps = Some(dependencies(id, &deps)?);
    fields.parent = Some(parent.map(|parent| task_id("parent", parent)).transpose()?);
    Ok(())
}

/// Reads a label that stands for a field; `false` when it is not such a one.
fn read_label(text: &str, fields: &mut TaskPatch) -> bool {
    let Some((name, value)) = text.split_once(':') else {
        return false;
    };
    let Ok(Some(value)) = label("label", value) else {
        return false;
    };
    match name {
        // Only where the type says nothing, and once.
        "category" if fields.category == Some(None) => fields.category = Some(Some(value)),
        "spec" if fields.spec.is_none() => fields.spec = Some(Some(value)),
        "branch" if fields.branch.is_none() => fields.branch = Some(Some(value)),
        "feature" if fields.feature.is_none() => match FeatureName::new(value) {
            Ok(feature) => fields.feature = Some(Some(feature)),
            Err(_) => return false,
        },
        "touches" => fields.touches.get_or_insert_default().push(value),
        _ => return false,
    }
    true
}

/// A word of the input that goes into a sentence as it is.
fn shown(word: &str) -> String {
    printable_line(word).chars().take(60).collect()
}

/// A line of a list without its one bullet, number or checkbox.
fn without_marker(line: &str) -> &str {
    let line = line.trim();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match line.strip_prefix(['-', '*']) {
        Some(rest) => rest,
        None if number.len() < line.len() => number.strip_prefix(['.', ')']).unwrap_or(line),
        None => line,
    };
    // "-1 is refused" and "1.5 s" are no list items.
    if !rest.is_empty() && !rest.starts_with(' ') {
        return line;
    }
    let rest = rest.trim();
    after_checkbox(rest).unwrap_or(rest)
}

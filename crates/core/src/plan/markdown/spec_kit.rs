//! spec-kit's `specs/NNN-name/tasks.md`: checkboxes with numbers and tags, in phases.
//!
//! ```text
//! ## Phase 3: User Story 1
//! - [ ] T012 [P] [US1] Create the user model in src/models/user.py
//! ```
//!
//! The number is the task's id, and the phase its category. Tasks follow each other, except that tasks with `[P]`
//! in a row run in parallel; a phase starts when the one before it is done.

use super::doc::{PlanDoc, PlanKind, read};
use super::format::{Dialect, Numbered, is_checklist, ordered, plan_of};
use super::outline::Outline;
use crate::ids::TaskId;
use crate::plan::{Plan, PlanError};

pub(in crate::plan) fn recognizes(file_name: &str, text: &str) -> bool {
    is_checklist(file_name, text, |title| numbered(title).is_some())
}

pub(in crate::plan) fn parse(text: &str) -> Result<Plan, PlanError> {
    let doc = read(PlanKind::Checklist, text)?;
    let phases = phases(text, &doc);
    let (tasks, parallel): (Vec<_>, Vec<_>) = doc
        .items
        .iter()
        .map(|item| numbered(&item.title).map_or((None, false), |(task, p)| (Some(task), p)))
        .unzip();
    let deps = ordered(&doc, |index| (phases[index].0, parallel[index]));
    let categories = Some(phases.into_iter().map(|(_, name)| name).collect());
    plan_of(&doc, text, Some(Dialect { tasks, categories, deps, number: "T001" }))
}

/// `T012 [P] [US1] Create the model`: its number, its title, and whether it has `[P]`. Only `[P]` leaves the title,
/// because the dependencies say the same.
fn numbered(words: &str) -> Option<(Numbered, bool)> {
    let rest = words.trim_start_matches('*').strip_prefix('T')?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let letter = rest[digits..].starts_with(|c: char| c.is_ascii_lowercase());
    let (number, rest) = rest.split_at(digits + usize::from(letter));
    let rest = rest.trim_start_matches('*');
    if digits < 2 || !(rest.is_empty() || rest.starts_with([' ', ':', '.', '['])) {
        return None;
    }
    let id = TaskId::new(format!("T{number}")).ok()?;
    let (mut rest, mut tags, mut parallel) = (after_number(rest), String::new(), false);
    while let Some((tag, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        // A link or a sentence in brackets is part of the title.
        if tag.is_empty() || after.starts_with('(') || !tag.chars().all(char::is_alphanumeric) {
            break;
        }
        match tag {
            "P" => parallel = true,
            tag => tags.push_str(&format!("[{tag}] ")),
        }
        rest = after.trim_start();
    }
    let title = format!("{tags}{rest}").trim().to_owned();
    let title = if title.is_empty() { id.to_string() } else { title };
    Some((Numbered { id, title }, parallel))
}

/// What follows a number and its punctuation.
pub(super) fn after_number(text: &str) -> &str {
    text.trim_start_matches([':', '.', ')']).trim_start()
}

/// The phase of each item: its place among the phases, and its name. A heading inside a phase starts no other.
fn phases(text: &str, doc: &PlanDoc) -> Vec<(usize, Option<String>)> {
    let outline = Outline::of(text);
    let headings: Vec<(usize, u8, &str, bool)> =
        outline.headings_at().filter(|(.., is_task)| !is_task).collect();
    let is_phase =
        |words: &str| words.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("phase"));
    let named = headings.iter().any(|(_, _, words, _)| is_phase(words));
    let starts: Vec<(usize, &str)> = headings
        .iter()
        .filter(|(_, level, words, _)| if named { is_phase(words) } else { *level == 2 })
        .map(|(line, _, words, _)| (*line, *words))
        .collect();
    let phase_of = |line: usize| starts.partition_point(|(start, _)| *start < line);
    doc.items
        .iter()
        .map(|item| {
            let phase = phase_of(item.line);
            let name = phase.checked_sub(1).map(|last| starts[last].1.to_owned());
            (phase, name)
        })
        .collect()
}

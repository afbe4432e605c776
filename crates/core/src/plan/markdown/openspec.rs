//! OpenSpec's `openspec/changes/NAME/tasks.md`: numbered checkboxes below numbered headings.
//!
//! ```text
//! ## 1. Database
//! - [ ] 1.1 Add the table
//! ```
//!
//! The number is the task's id, and the heading its category. OpenSpec has tasks done one after the other, so each
//! depends on the one before it.

use super::doc::{PlanKind, read};
use super::format::{Dialect, Numbered, is_checklist, ordered, plan_of};
use super::outline::Outline;
use super::spec_kit::after_number;
use crate::ids::TaskId;
use crate::plan::{Plan, PlanError};

pub(in crate::plan) fn recognizes(file_name: &str, text: &str) -> bool {
    // Numbers in front of checkboxes alone are a habit of many.
    let below_numbers = || {
        let outline = Outline::of(text);
        outline.plain_headings().any(|(level, words)| {
            let rest = words.trim_start_matches(|c: char| c.is_ascii_digit());
            level == 2 && rest.len() < words.len() && rest.starts_with(['.', ')'])
        })
    };
    is_checklist(file_name, text, |title| {
        numbered(title).is_some_and(|task| task.id.as_str().contains('.'))
    }) && below_numbers()
}

pub(in crate::plan) fn parse(text: &str) -> Result<Plan, PlanError> {
    let doc = read(PlanKind::Checklist, text)?;
    let tasks = doc.items.iter().map(|item| numbered(&item.title)).collect();
    let deps = ordered(&doc, |_| (0, false));
    plan_of(&doc, text, Some(Dialect { tasks, categories: None, deps, number: "1.1" }))
}

/// `1.2 Add the table`: its number and its title.
fn numbered(words: &str) -> Option<Numbered> {
    let words = words.trim_start_matches('*');
    let digits =
        words.len() - words.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, rest) = words.split_at(digits);
    let rest = rest.trim_start_matches('*');
    let title = after_number(rest);
    let ends = rest.is_empty() || rest.starts_with([' ', ':', ')']);
    let id = TaskId::new(number.trim_end_matches('.')).ok().filter(|_| ends)?;
    let title = if title.is_empty() { id.to_string() } else { title.to_owned() };
    Some(Numbered { id, title })
}

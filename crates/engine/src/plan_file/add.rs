//! Adds ralph's own tasks to a plan, such as those of a review: after the others, in the style of the plan. Whatever
//! its text is, a new task makes one checkbox and changes no other.

use ralph_core::plan::markdown::{Edit, Item, Mark, PlanDoc, apply};

use super::reconcile::applied;
use super::replace::Replaced;
use super::{PlanFile, PlanFileError, Read, TRIES};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBox {
    /// In a line.
    pub title: String,
    /// Its description. It is quoted, because others wrote it.
    pub text: String,
    /// The web page that it comes from, which tells it from others of the same title; may be empty.
    pub page: String,
}

impl PlanFile {
    /// Adds tasks, except existing ones. Removes the done marker of the plan.
    pub fn add(&self, boxes: &[NewBox]) -> Result<(), PlanFileError> {
        let _turn = self.turn();
        for _ in 0..TRIES {
            let Some(before) = self.read_in_peace()? else {
                let source = std::io::ErrorKind::NotFound.into();
                return Err(PlanFileError::Unreadable { path: self.path.clone(), source });
            };
            let mut read = before.clone();
            for new in boxes.iter().filter(|new| !new.is_in(&before.doc)) {
                read = self.with_box(&read, new)?;
            }
            if read.doc.is_done() {
                let edits = read.doc.set_status(&read.text, "In progress");
                read = applied(self, &read.text, &edits)?;
            }
            if self.replace(&before.text, &read.text)? == Replaced::Yes {
                return Ok(());
            }
        }
        Err(self.keeps_changing())
    }

    /// The plan with one more checkbox. Its text is left out if it would be read as more than that.
    fn with_box(&self, read: &Read, new: &NewBox) -> Result<Read, PlanFileError> {
        let bare = NewBox { text: String::new(), ..new.clone() };
        for new in [new, &bare] {
            for edit in [like_the_last(read, new), at_the_end(read, new)].into_iter().flatten() {
                let Ok(text) = apply(&read.text, &[edit]) else { continue };
                let Ok(after) = self.parse(text) else { continue };
                if is_one_more(&read.doc, &after.doc, &new.title) {
                    return Ok(after);
                }
            }
        }
        Err(self.unwritable(std::io::Error::other("it has no place for another task")))
    }
}

impl NewBox {
    fn is_in(&self, doc: &PlanDoc) -> bool {
        let known = |item: &Item| item.title == self.title && item.body.contains(&self.page);
        doc.items.iter().any(known)
    }

    /// The text, each line quoted and so far from the margin.
    fn quoted(&self, indent: &str, newline: &str) -> String {
        let line = |line: &str| format!("{newline}{indent}{}", format!("> {line}").trim_end());
        self.text.lines().map(line).collect()
    }
}

/// Whether a plan has one open task more, and all others are as they were.
fn is_one_more(before: &PlanDoc, after: &PlanDoc, title: &str) -> bool {
    let reported = |item: &Item| (item.title.clone(), item.mark, item.body.clone(), item.parent);
    let Some(at) = after
        .items
        .iter()
        .position(|item| item.title == title && item.mark == Mark::Open && item.parent.is_none())
    else {
        return false;
    };
    let others = after.items.iter().enumerate().filter(|(place, _)| *place != at);
    // Nothing follows it that belongs to another item.
    at + 1 == after.items.len()
        && others.map(|(_, item)| reported(item)).eq(before.items.iter().map(reported))
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Behind the last task, as that is written: a checkbox in a list, a heading with a checkbox, or `Task N`.
fn like_the_last(read: &Read, new: &NewBox) -> Option<Edit> {
    let items = &read.doc.items;
    let last = items.iter().rev().find(|item| item.parent.is_none())?;
    let end = items.iter().map(|item| item.span.end).max()?.min(read.text.len());
    let end = read.text.get(..end)?.trim_end().len();
    let line = read.text.get(last.span.start..)?.lines().next()?;
    let newline = newline(&read.text);
    let hashes: String = line.chars().take_while(|c| *c == '#').collect();
    let words = match (&last.label, hashes.is_empty()) {
        (Some(_), false) => {
            let numbers = items.iter().filter_map(|item| item.label.as_ref()?.parse::<u64>().ok());
            let number = numbers.max().unwrap_or(items.len() as u64) + 1;
            let head = format!("{hashes} Task {number}: {}", new.title);
            let text = new.quoted("", newline);
            format!(
                "{newline}{newline}{head}{newline}{newline}**Status:** Not started{newline}{text}"
            )
        }
        (None, false) => {
            let text = new.quoted("", newline);
            format!("{newline}{newline}{hashes} [ ] {}{newline}{text}", new.title)
        }
        (_, true) => {
            let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
            let text = new.quoted(&format!("{indent}  "), newline);
            format!("{newline}{indent}- [ ] {}{text}", new.title)
        }
    };
    Some(Edit { range: end..end, text: words.trim_end().to_owned() })
}

fn at_the_end(read: &Read, new: &NewBox) -> Option<Edit> {
    let end = read.text.trim_end().len();
    let newline = newline(&read.text);
    let gap = if end == 0 { "" } else { newline };
    let text = new.quoted("  ", newline);
    Some(Edit { range: end..end, text: format!("{gap}{gap}- [ ] {}{text}", new.title) })
}

#[cfg(test)]
#[path = "add/tests.rs"]
mod tests;

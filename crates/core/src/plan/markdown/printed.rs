//! A whole progress file in the output of an agent: ralph reads what it requests and never copies it.

use super::doc::{PlanDoc, PlanKind, read};
use super::identity::{entries, pair};
use super::likeness::plain;
use super::line::{self, Fence, atx};
use super::progress::{self, AttemptNote, Section};

/// How many possible beginnings are tried, from the last.
const MOST_STARTS: usize = 8;
/// How many sentences of a kind are listed one by one.
const MOST_SENTENCES: usize = 10;

/// What a printed file asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Printed {
    /// The items of the current plan that it ticks.
    pub ticked: Vec<usize>,
    /// Whether its status says RALPH_DONE.
    pub done_marker: bool,
    pub completed: Vec<String>,
    /// Its newest attempt, if the current file does not have it.
    pub attempt: Option<AttemptNote>,
    /// Changes that it must not make, one sentence each.
    pub ignored: Vec<String>,
}

/// Finds the last whole progress file in a text and compares it with the current one.
pub fn printed(current: &PlanDoc, current_text: &str, agent_text: &str) -> Option<Printed> {
    let text = last_file(agent_text)?;
    if text.trim_end() == current_text.trim_end() {
        let done_marker = current.is_done();
        let completed = current.progress.completed.clone();
        return Some(Printed { done_marker, completed, ..Printed::default() });
    }
    // It was readable a moment ago.
    let file = read(PlanKind::Progress, text).ok()?;
    Some(compare(current, &file))
}

/// The last part of a text that can be read as a progress file with tasks.
fn last_file(text: &str) -> Option<&str> {
    let starts = starts(text);
    starts.into_iter().rev().take(MOST_STARTS).find_map(|(start, fence)| {
        let file = match fence {
            Some(fence) => &text[start..start + fenced(&text[start..], fence)],
            None => &text[start..],
        };
        let doc = read(PlanKind::Progress, file).ok()?;
        doc.progress.section(Section::Tasks).map(|_| file)
    })
}

/// Where the lines `# Progress:` begin, each with the fence that it is in.
fn starts(text: &str) -> Vec<(usize, Option<Fence>)> {
    let mut starts = Vec::new();
    let (mut at, mut open): (usize, Option<Fence>) = (0, None);
    for line in text.split_inclusive('\n') {
        let (indent, bytes) = line::indent(line, 0);
        let rest = line[bytes..].trim_end();
        let heading = atx(rest).filter(|_| indent < 4);
        let is_start = |(level, words): (u8, std::ops::Range<usize>)| {
            level == 1 && progress::name(&rest[words]).is_some()
        };
        if heading.is_some_and(is_start) {
            starts.push((at, open));
        }
        match open {
            Some(fence) if fence.is_closed_by(rest) => open = None,
            Some(_) => {}
            None => open = Fence::opened(rest),
        }
        at += line.len();
    }
    starts
}

/// The length of a file inside a fence: up to the line that closes it. Code inside the file may
/// have fences of the same length; those that open one say of what language it is.
fn fenced(text: &str, outer: Fence) -> usize {
    let (mut at, mut inner): (usize, Option<Fence>) = (0, None);
    for line in text.split_inclusive('\n') {
        let rest = line.trim();
        match inner {
            Some(fence) if fence.is_closed_by(rest) => inner = None,
            Some(_) => {}
            None if outer.is_closed_by(rest) => return at,
            None => inner = Fence::opened(rest),
        }
        at += line.len();
    }
    at
}

fn compare(current: &PlanDoc, file: &PlanDoc) -> Printed {
    let found = pair(&entries(current), &entries(file));
    let mut printed = Printed {
        done_marker: file.is_done(),
        completed: file.progress.completed.clone(),
        attempt: new_attempt(current, file),
        ..Printed::default()
    };
    let (mut added, mut reworded, mut unticked) = (Vec::new(), Vec::new(), Vec::new());
    for (item, known) in file.items.iter().zip(&found.items) {
        let Some(known) = *known else {
            added.push(format!("It adds the task: {}", item.title));
            continue;
        };
        let own = &current.items[known];
        match (own.is_done(), item.is_done()) {
            (false, true) => printed.ticked.push(known),
            (true, false) => unticked.push(format!("It unticks the task: {}", own.title)),
            _ => {}
        }
        if plain(&own.title) != plain(&item.title) {
            reworded.push(format!("It rewords \"{}\" as \"{}\"", own.title, item.title));
        }
    }
    printed.ticked.sort_unstable();
    let dropped = found
        .gone
        .iter()
        .map(|gone| format!("It leaves out the task: {}", current.items[*gone].title));
    for sentences in [dropped.collect(), added, reworded, unticked] {
        say(&mut printed.ignored, sentences);
    }
    printed
}

/// Adds sentences, the last of many as a count.
fn say(all: &mut Vec<String>, mut sentences: Vec<String>) {
    let more = sentences.len().saturating_sub(MOST_SENTENCES);
    sentences.truncate(MOST_SENTENCES);
    all.append(&mut sentences);
    if more > 0 {
        all.push(format!("… and {more} more like this"));
    }
}

/// The newest attempt of the file, if it says something that the current one does not have.
fn new_attempt(current: &PlanDoc, file: &PlanDoc) -> Option<AttemptNote> {
    let attempts = file.progress.attempts.iter().map(|attempt| &attempt.note);
    let newest = attempts.max_by_key(|note| note.iteration)?;
    let is_known = current.progress.attempts.iter().any(|known| known.note == *newest);
    let says = !newest.tried.is_empty() || !newest.result.is_empty();
    (says && !is_known).then(|| newest.clone())
}

//! A markdown plan as a value: its items, their groups and where each stands in the text.

use std::ops::Range;

use super::edit::Edit;
use super::mark::Mark;
use super::outline::{LineKind, Outline};
use super::progress::{AttemptNote, Progress};
use super::{branches, checklist, progress};
use crate::plan::PlanError;

words! {
    /// The three ways to write a plan in markdown.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum PlanKind {
        /// Sections `## Branch: name`, each of them one pull request.
        Branches = "branches",
        /// `# Progress: name` with its fixed sections.
        Progress = "progress",
        /// Checkboxes anywhere, or headings `### Task N: title`.
        Checklist = "checklist",
    }
}

impl PlanKind {
    /// What a file of this name and content is.
    pub fn of(file_name: &str, text: &str) -> Self {
        let outline = Outline::of(text);
        let headings: Vec<(u8, &str)> = outline.headings().collect();
        if headings.iter().any(|(level, words)| *level == 2 && branches::name(words).is_some()) {
            return Self::Branches;
        }
        let named = headings
            .first()
            .is_some_and(|(level, words)| *level == 1 && progress::name(words).is_some());
        let has_tasks = || {
            let is_tasks = |(level, words): &(u8, &str)| {
                *level == 2 && progress::Section::of(words) == Some(progress::Section::Tasks)
            };
            headings.iter().any(is_tasks)
        };
        let file = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
        if named || (file.eq_ignore_ascii_case("progress.md") && has_tasks()) {
            Self::Progress
        } else {
            Self::Checklist
        }
    }
}

/// A plan as it stands in a text. Places are bytes of that text: after a change it is read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanDoc {
    pub kind: PlanKind,
    /// What the plan calls itself.
    pub name: Option<String>,
    /// The tasks, in the order of the text. A parent stands before its parts.
    pub items: Vec<Item>,
    /// Branches, phases or headings, in the order of the text.
    pub groups: Vec<Group>,
    /// What the user should look at, in the order of the text.
    pub warnings: Vec<Warning>,
    /// Open checkboxes outside of every branch of a plan of branches: ralph skips them.
    pub stray: Vec<Stray>,
    /// The sections of a progress file; empty for the other kinds.
    pub(super) progress: Progress,
    /// The line break that the text uses.
    pub(super) newline: &'static str,
    /// The branch whose items alone are in `items`.
    pub(super) section: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The line it stands on, from 1.
    pub line: usize,
    /// Its words as written: one line, no control characters, no longer than a title may be.
    pub title: String,
    /// The text below it without its indentation, checkboxes inside left out. A title that was cut
    /// stands here whole.
    pub body: String,
    pub mark: Mark,
    pub group: Option<usize>,
    /// The item that it is a part of.
    pub parent: Option<usize>,
    /// What `Task N` calls it; checkboxes have none.
    pub label: Option<String>,
    /// The words after `**Status:**`; checkboxes have none.
    pub status: Option<String>,
    pub spec: Option<String>,
    /// What it depends on, as written: `Task 1`.
    pub deps: Vec<String>,
    /// The whole item with what is inside it.
    pub span: Range<usize>,
    pub(super) tick: Tick,
}

impl Item {
    pub fn is_done(&self) -> bool {
        self.mark == Mark::Done
    }
}

/// How an item stands, with what the items say that it is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemState {
    Open,
    Done,
    /// Not wanted any more: neither open nor done.
    Dropped,
    Waits,
}

/// An open checkbox that belongs to no branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// The line, from 1.
    pub line: usize,
    pub title: String,
}

/// A line that is not read as markdown reads it, or whose task waits for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The line, from 1.
    pub line: usize,
    pub text: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// What a tick changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tick {
    /// What is between the brackets.
    Inner(Range<usize>),
    /// The words after `**Status:**`.
    Words(Range<usize>),
    /// A status line that is not there: the end of the line that it would stand below, and whether
    /// another line follows at once.
    Missing(usize, bool),
}

/// A branch, a phase, or a heading above checkboxes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    pub title: String,
    /// The line of its heading, from 1.
    pub line: usize,
    /// What a branch is for.
    pub goal: Option<String>,
    /// What a branch starts from.
    pub base: Option<String>,
    /// The branches that must be done first.
    pub needs: Vec<String>,
    /// Globs of the files that a branch changes.
    pub touches: Vec<String>,
}

/// Reads a plan of a known kind.
pub fn read(kind: PlanKind, text: &str) -> Result<PlanDoc, PlanError> {
    refuse_binary(text)?;
    let outline = Outline::of(text);
    let mut doc = match kind {
        PlanKind::Branches => branches::read(&outline),
        PlanKind::Progress => progress::read(&outline),
        PlanKind::Checklist => Ok(checklist::read(&outline)),
    }?;
    let first_break = text.find('\n');
    let is_crlf = first_break.is_some_and(|at| text[..at].ends_with('\r'));
    doc.newline = if is_crlf { "\r\n" } else { "\n" };
    Ok(doc)
}

/// The text of a file, if it is one.
pub fn decode(bytes: &[u8]) -> Result<&str, PlanError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        PlanError { line, problem: "this is binary, not UTF-8 text".to_owned() }
    })?;
    refuse_binary(text)?;
    Ok(text)
}

fn refuse_binary(text: &str) -> Result<(), PlanError> {
    match text.find('\0') {
        Some(at) => {
            let line = text[..at].matches('\n').count() + 1;
            Err(PlanError { line, problem: "this is binary: it has a NUL byte".to_owned() })
        }
        None => Ok(()),
    }
}

impl PlanDoc {
    pub(super) fn empty(kind: PlanKind) -> Self {
        let (items, groups, warnings, stray) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (progress, newline) = (Progress::default(), "\n");
        Self { kind, name: None, items, groups, warnings, stray, progress, newline, section: None }
    }

    /// The plan with the items of one branch alone. Places stay those of the whole text.
    #[must_use]
    pub fn only(mut self, branch: &str) -> Self {
        let group = self.groups.iter().position(|group| group.title == branch);
        let is_in = |item: &Item| group.is_some() && item.group == group;
        let mut place = 0..;
        let places: Vec<Option<usize>> =
            self.items.iter().map(|item| is_in(item).then(|| place.next()).flatten()).collect();
        self.items.retain(is_in);
        self.warnings.retain(|warning| self.items.iter().any(|item| item.line == warning.line));
        for item in &mut self.items {
            item.parent = item.parent.and_then(|parent| places[parent]);
        }
        self.section = Some(branch.to_owned());
        self
    }

    /// Another text of the same plan, read in the same way.
    pub fn again(&self, text: &str) -> Result<Self, PlanError> {
        let doc = read(self.kind, text)?;
        Ok(match &self.section {
            Some(branch) => doc.only(branch),
            None => doc,
        })
    }

    /// For each item whether it has parts. It is then not worked on itself.
    pub fn parents(&self) -> Vec<bool> {
        let mut parents = vec![false; self.items.len()];
        for parent in self.items.iter().filter_map(|item| item.parent) {
            parents[parent] = true;
        }
        parents
    }

    /// How each item stands: an open part of what is dropped or waits is so too, and an item is dropped
    /// with all of its parts.
    pub fn standings(&self) -> Vec<ItemState> {
        let mut standings: Vec<ItemState> = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let above = item.parent.map(|parent| standings[parent]);
            standings.push(match (item.mark, above) {
                (Mark::Done, _) => ItemState::Done,
                (Mark::Dropped, _) => ItemState::Dropped,
                (_, Some(above @ (ItemState::Dropped | ItemState::Waits))) => above,
                (Mark::Waits(_), _) => ItemState::Waits,
                (Mark::Open | Mark::Begun, _) => ItemState::Open,
            });
        }
        let mut kept = vec![false; self.items.len()];
        let parents = self.parents();
        for (index, item) in self.items.iter().enumerate().rev() {
            if parents[index] && !kept[index] && standings[index] == ItemState::Open {
                standings[index] = ItemState::Dropped;
            }
            if let Some(parent) = item.parent.filter(|_| standings[index] != ItemState::Dropped) {
                kept[parent] = true;
            }
        }
        standings
    }

    /// The items that are not ticked although all their parts are, innermost first: what is to be
    /// ticked after the last part was. Dropped parts no longer count.
    pub fn due_parents(&self) -> Vec<usize> {
        let mut open_parts = vec![0_usize; self.items.len()];
        let (parents, standings) = (self.parents(), self.standings());
        let mut due = Vec::new();
        for (index, item) in self.items.iter().enumerate().rev() {
            let is_due =
                standings[index] == ItemState::Open && parents[index] && open_parts[index] == 0;
            if is_due {
                due.push(index);
            }
            let is_open = matches!(standings[index], ItemState::Open | ItemState::Waits);
            if let Some(parent) = item.parent.filter(|_| is_open && !is_due) {
                open_parts[parent] += 1;
            }
        }
        due
    }

    pub fn group_of(&self, item: usize) -> Option<&Group> {
        self.groups.get(self.items.get(item)?.group?)
    }

    /// The items that an item's dependencies mean, each once, and the words that mean none.
    pub fn dependencies(&self, item: usize) -> (Vec<usize>, Vec<&str>) {
        checklist::dependencies(self, item..item + 1).next().unwrap_or_default()
    }

    /// [`dependencies`](Self::dependencies) of every item.
    pub fn all_dependencies(&self) -> Vec<(Vec<usize>, Vec<&str>)> {
        checklist::dependencies(self, 0..self.items.len()).collect()
    }

    /// The change that ticks an item or takes its tick back; `None` if it is so already.
    pub fn set_done(&self, item: usize, done: bool) -> Option<Edit> {
        let is_so = self.items.get(item)?.is_done() == done;
        (!is_so).then(|| self.set_mark(item, if done { Mark::Done } else { Mark::Open })).flatten()
    }

    /// The change that makes an item's checkbox say this; `None` if it does already. A status in words only
    /// says whether the task is done.
    pub fn set_mark(&self, item: usize, mark: Mark) -> Option<Edit> {
        let item = self.items.get(item).filter(|item| item.mark != mark)?;
        let done = mark == Mark::Done;
        Some(match &item.tick {
            Tick::Inner(range) => Edit { range: range.clone(), text: mark.character().to_string() },
            Tick::Words(_) | Tick::Missing(..) if item.is_done() == done => return None,
            Tick::Words(range) => {
                let gap = if range.is_empty() { " " } else { "" };
                let text = format!("{gap}{}", checklist::status_words(item, done));
                Edit { range: range.clone(), text }
            }
            Tick::Missing(at, crowded) => {
                let (newline, words) = (self.newline, checklist::status_words(item, done));
                // A line of dashes right below would make a heading of it.
                let gap = if *crowded { newline } else { "" };
                let text = format!("{newline}{newline}**Status:** {words}{gap}");
                Edit { range: *at..*at, text }
            }
        })
    }

    /// Whether RALPH_DONE stands alone on a line of the Status section of a progress file.
    pub fn is_done(&self) -> bool {
        self.progress.done_marker
    }

    /// What a progress file remembers of earlier iterations, oldest first.
    pub fn attempts(&self) -> impl Iterator<Item = &AttemptNote> {
        self.progress.attempts.iter().map(|attempt| &attempt.note)
    }

    /// What a progress file calls completed this iteration.
    pub fn completed(&self) -> &[String] {
        &self.progress.completed
    }

    /// The Status section of a progress file, as written, without the blank lines around it.
    pub fn status_text(&self) -> Option<&str> {
        self.progress.status.as_deref()
    }
}

impl<'t> Outline<'t> {
    /// The headings, with their lines and levels, and whether they are tasks themselves.
    pub(super) fn headings_at(&self) -> impl Iterator<Item = (usize, u8, &'t str, bool)> {
        self.lines.iter().filter_map(|line| match &line.kind {
            LineKind::Heading { level, words, checkbox, .. } => {
                Some((line.number, *level, &self.text[words.clone()], checkbox.is_some()))
            }
            _ => None,
        })
    }

    /// The headings, with their levels.
    pub(super) fn headings(&self) -> impl Iterator<Item = (u8, &'t str)> {
        self.headings_at().map(|(_, level, words, _)| (level, words))
    }

    /// The headings that are not tasks themselves.
    pub(super) fn plain_headings(&self) -> impl Iterator<Item = (u8, &'t str)> {
        self.headings_at().filter(|(.., task)| !task).map(|(_, level, words, _)| (level, words))
    }
}

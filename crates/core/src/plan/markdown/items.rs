//! Boxes as items, and the small readings that all kinds of plan share.

use std::ops::Range;

use super::doc::{Item, Tick};
use super::line::{dedented, marker};
use super::outline::{Line, LineKind, Outline};
use crate::text::MAX_TITLE;

/// Collects the boxes of a part of the outline.
pub(super) struct Boxes<'o, 't> {
    outline: &'o Outline<'t>,
    items: Vec<Item>,
    /// For each line of a box the item that it became, or the one that it is in.
    item_of: Vec<(usize, Option<usize>)>,
    /// The lines of each item's body.
    bodies: Vec<Vec<usize>>,
}

impl<'o, 't> Boxes<'o, 't> {
    pub(super) fn of(outline: &'o Outline<'t>) -> Self {
        Self { outline, items: Vec::new(), item_of: Vec::new(), bodies: Vec::new() }
    }

    /// Takes in the next line, which is in `group`. Lines come in order; whole lists at a time.
    pub(super) fn line(&mut self, index: usize, group: Option<usize>) {
        let line = &self.outline.lines[index];
        let owner = line.under.and_then(|under| self.item_at(under));
        let LineKind::Box { mark, done, words, end } = &line.kind else {
            if let Some(owner) = owner {
                self.bodies[owner].push(index);
            }
            return;
        };
        let Some((title, cut)) = title(&self.outline.text[words.clone()]) else {
            self.item_of.push((index, owner));
            return;
        };
        self.item_of.push((index, Some(self.items.len())));
        self.bodies.push(Vec::new());
        self.items.push(Item {
            line: line.number,
            title,
            body: if cut { self.outline.text[words.clone()].to_owned() } else { String::new() },
            done: *done,
            group,
            parent: owner,
            label: None,
            status: None,
            spec: None,
            deps: Vec::new(),
            span: line.start..self.outline.after(*end),
            tick: Tick::Byte(*mark),
        });
    }

    fn item_at(&self, line: usize) -> Option<usize> {
        let found = self.item_of.binary_search_by_key(&line, |(line, _)| *line).ok()?;
        self.item_of[found].1
    }

    /// The items with their bodies.
    pub(super) fn finish(mut self) -> Vec<Item> {
        for (item, lines) in self.items.iter_mut().zip(&self.bodies) {
            let below = body(self.outline, lines);
            if !item.body.is_empty() && !below.is_empty() {
                item.body.push_str("\n\n");
            }
            item.body.push_str(&below);
        }
        self.items
    }
}

/// The lines as a text: what they share of their indentation is taken away, the line breaks are
/// `\n`, and a gap between two of them is one blank line or as many as there were, up to two.
pub(super) fn body(outline: &Outline<'_>, lines: &[usize]) -> String {
    let lines = lines.iter().map(|index| &outline.lines[*index]);
    let shared = lines.clone().map(|line| line.indent).filter(|indent| *indent > 0).min();
    let mut text = String::new();
    let mut last: Option<&Line> = None;
    for line in lines {
        if let Some(last) = last {
            let gap = line.number - last.number;
            text.push_str(&"\n".repeat(gap.clamp(1, 3)));
        }
        text.push_str(dedented(outline.content(line), shared.unwrap_or(0)).trim_end());
        last = Some(line);
    }
    text
}

/// The title that words come to, and whether it had to be cut; `None` if nothing is left.
pub(super) fn title(words: &str) -> Option<(String, bool)> {
    let clean = |c: char| match c {
        '\t' => Some(' '),
        c if c.is_control() => None,
        c => Some(c),
    };
    let mut title: String = words.chars().filter_map(clean).collect();
    let end = title.char_indices().nth(MAX_TITLE).map(|_| {
        let room = title.char_indices().nth(MAX_TITLE - 1).map_or(0, |(at, _)| at);
        // At a space if one is near, so that no word is cut in two.
        match title[..room].rfind(' ') {
            Some(space) if room - space < 40 => space,
            _ => room,
        }
    });
    if let Some(end) = end {
        title.truncate(end);
        title.truncate(title.trim_end().len());
        title.push('…');
    }
    let title = title.trim();
    (!title.is_empty()).then(|| (title.to_owned(), end.is_some()))
}

/// `Key: value` on a line, the key in any case, perhaps bold, perhaps in a bullet; the place of the
/// value in `line`.
pub(super) fn value_of(line: &str, key: &str) -> Option<Range<usize>> {
    let mut rest = line.trim_start();
    if let Some(length) = marker(rest) {
        rest = rest[length..].trim_start();
    }
    let stars = rest.bytes().take(2).take_while(|byte| *byte == b'*').count();
    rest = &rest[stars..];
    let head = rest.get(..key.len()).filter(|head| head.eq_ignore_ascii_case(key))?;
    rest = &rest[head.len()..];
    let bold = "**".get(..stars)?;
    let forms = [format!(":{bold}"), format!("{bold}:")];
    rest = forms.iter().find_map(|form| rest.strip_prefix(form.as_str()))?;
    let value = rest.trim();
    let start = line.len() - rest.trim_start().len();
    Some(start..start + value.len())
}

/// A value without the back quotes around all of it; `None` if nothing is left.
pub(super) fn bare(value: &str) -> Option<String> {
    let value = value.trim();
    let inside = value.strip_prefix('`').and_then(|value| value.strip_suffix('`'));
    let value = inside.filter(|inside| !inside.contains('`')).unwrap_or(value).trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// The parts of a list such as `a, b`; "none" is none. Commas in braces are no separators.
pub(super) fn list(value: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = value.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (c == ',' || c == ';') && depth == 0
    });
    parts.filter_map(bare).filter(|part| !says_none(part)).collect()
}

/// Whether a value says that there is nothing.
pub(super) fn says_none(value: &str) -> bool {
    let value = value.trim().trim_end_matches('.').trim_matches(['(', ')', '_', '*']);
    matches!(
        value.to_ascii_lowercase().as_str(),
        "" | "none" | "-" | "–" | "—" | "n/a" | "na" | "nothing"
    )
}

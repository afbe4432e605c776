//! Checkboxes as items, and the small readings that all kinds of plan share.

use std::ops::Range;

use super::doc::{Item, Tick, Warning};
use super::line::{dedented, marker};
use super::mark::Mark;
use super::outline::{BoxAt, LineKind, Outline, OutlineLine, after_break};
use super::table::{Table, is_delimiter};
use crate::text::MAX_TITLE;

/// Collects the checkboxes of a part of the outline: in lists, in headings, in rows of tables.
pub(super) struct CheckboxCollector<'o, 't> {
    outline: &'o Outline<'t>,
    items: Vec<Item>,
    warnings: Vec<Warning>,
    /// For each line of a checkbox the item that it became, or the one that it is in.
    item_of: Vec<(usize, Option<usize>)>,
    /// The lines of each item's body.
    bodies: Vec<Vec<usize>>,
    /// The headings with a checkbox that the current line is below: their levels and items.
    sections: Vec<(u8, usize)>,
    /// The table that the last line was in, and the number of that line.
    table: Option<(Table<'t>, usize)>,
}

impl<'o, 't> CheckboxCollector<'o, 't> {
    pub(super) fn of(outline: &'o Outline<'t>) -> Self {
        let (items, warnings, item_of) = (Vec::new(), Vec::new(), Vec::new());
        let (bodies, sections) = (Vec::new(), Vec::new());
        Self { outline, items, warnings, item_of, bodies, sections, table: None }
    }

    /// Takes in the next line, which is in `group`. Lines come in order; whole lists at a time.
    pub(super) fn line(&mut self, index: usize, group: Option<usize>) {
        let line = &self.outline.lines[index];
        match &line.kind {
            LineKind::Heading { level, checkbox, .. } => {
                self.end_section(*level, index);
                match checkbox {
                    Some(at) => self.heading(index, *level, at, group),
                    None => self.below(index),
                }
            }
            LineKind::Box { at, end } => {
                let owner = self.owner(index);
                let span = line.start..after_break(self.outline.text, *end);
                let words = &self.outline.text[at.words.clone()];
                let item = self.add(index, at, words, span, (group, owner)).or(owner);
                self.item_of.push((index, item));
            }
            LineKind::Row | LineKind::Text if self.is_row(index, group) => {}
            _ => self.below(index),
        }
    }

    /// A heading or the end of the part: the headings with checkboxes end that are not above it.
    pub(super) fn end_section(&mut self, level: u8, index: usize) {
        while let Some((_, item)) = self.sections.pop_if(|(other, _)| *other >= level) {
            let last = index.checked_sub(1).map_or(0, |last| self.outline.lines[last].end);
            let span = &mut self.items[item].span;
            span.end = span.end.max(after_break(self.outline.text, last));
        }
    }

    fn heading(&mut self, index: usize, level: u8, at: &BoxAt, group: Option<usize>) {
        let line = &self.outline.lines[index];
        let owner = self.owner(index);
        let words = &self.outline.text[at.words.clone()];
        let span = line.start..after_break(self.outline.text, line.end);
        match self.add(index, at, words, span, (group, owner)) {
            Some(item) => self.sections.push((level, item)),
            None => self.below(index),
        }
    }

    /// Whether the line is a row of a table that is a task, or another line of such a table.
    fn is_row(&mut self, index: usize, group: Option<usize>) -> bool {
        let line = &self.outline.lines[index];
        let content = self.outline.content(line);
        let goes_on = self.table.take().filter(|(_, last)| last + 1 == line.number);
        if line.under.is_some() || !content.contains('|') {
            return false;
        }
        let Some((table, _)) = goes_on else {
            let table = self.rows(index).and_then(|rows| Table::headed(content, rows));
            self.table = table.map(|table| (table, line.number));
            return self.table.is_some();
        };
        if let Some(row) = table.row(content) {
            let at = BoxAt::of(row.checkbox, line.start, line.end..line.end);
            let span = line.start..after_break(self.outline.text, line.end);
            let owner = self.owner(index);
            if let Some(item) = self.add(index, &at, &row.title, span, (group, owner)) {
                self.items[item].body = row.body;
            }
        }
        self.table = Some((table, line.number));
        true
    }

    /// The rows of the table that a line is the head of.
    fn rows(&self, index: usize) -> Option<impl Iterator<Item = &'t str>> {
        let outline = self.outline;
        let mut below = outline.lines[index + 1..].iter().zip(outline.lines[index].number + 1..);
        let (first, number) = below.next()?;
        let starts = first.number == number && is_delimiter(outline.content(first));
        let is_row = |(line, number): &(&OutlineLine, usize)| {
            line.number == *number && matches!(line.kind, LineKind::Row | LineKind::Text)
        };
        let rows = below.take_while(is_row).map(|(line, _)| outline.content(line));
        starts.then_some(rows)
    }

    fn owner(&self, index: usize) -> Option<usize> {
        let under = self.outline.lines[index].under;
        let above = || self.sections.last().map(|(_, item)| *item);
        under.map_or_else(above, |under| self.item_at(under))
    }

    /// A line of the body of what it is in.
    fn below(&mut self, index: usize) {
        if let Some(owner) = self.owner(index) {
            self.bodies[owner].push(index);
        }
    }

    /// Adds an item; `None` if it has no words.
    fn add(
        &mut self,
        index: usize,
        at: &BoxAt,
        words: &str,
        span: Range<usize>,
        (group, parent): (Option<usize>, Option<usize>),
    ) -> Option<usize> {
        let (title, cut) = title(words)?;
        let line = self.outline.lines[index].number;
        if let Some(odd) = at.odd {
            let text = format!("\"{title}\": {odd}");
            self.warnings.push(Warning { line, text });
        }
        if let Mark::Waits(mark) = at.mark {
            let text = format!("\"{title}\" is marked [{mark}], so it waits for you");
            self.warnings.push(Warning { line, text });
        }
        self.bodies.push(Vec::new());
        self.items.push(Item {
            line,
            title,
            body: if cut { words.to_owned() } else { String::new() },
            mark: at.mark,
            group,
            parent,
            label: None,
            status: None,
            spec: None,
            deps: Vec::new(),
            span,
            tick: Tick::Inner(at.inner.clone()),
        });
        Some(self.items.len() - 1)
    }

    fn item_at(&self, line: usize) -> Option<usize> {
        let found = self.item_of.binary_search_by_key(&line, |(line, _)| *line).ok()?;
        self.item_of[found].1
    }

    /// The items with their bodies, and what the user should look at.
    pub(super) fn finish(mut self) -> (Vec<Item>, Vec<Warning>) {
        self.end_section(0, self.outline.lines.len());
        for (item, lines) in self.items.iter_mut().zip(&self.bodies) {
            let below = body(self.outline, lines);
            if !item.body.is_empty() && !below.is_empty() {
                item.body.push_str("\n\n");
            }
            item.body.push_str(&below);
        }
        (self.items, self.warnings)
    }
}

/// The lines as a text: what they share of their indentation is taken away, the line breaks are
/// `\n`, and a gap between two of them is one blank line or as many as there were, up to two.
pub(super) fn body(outline: &Outline<'_>, lines: &[usize]) -> String {
    let lines = lines.iter().map(|index| &outline.lines[*index]);
    let shared = lines.clone().map(|line| line.indent).filter(|indent| *indent > 0).min();
    let mut text = String::new();
    let mut last: Option<&OutlineLine> = None;
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

/// The parts of a list such as `a, b`; "none" is an empty list. Commas in braces do not separate.
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

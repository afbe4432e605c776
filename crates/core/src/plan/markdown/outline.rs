//! The lines of a markdown text in one pass: what each is, and which list item it is in.
//!
//! This follows CommonMark, since what a page shows is what its author means, with two liberties
//! for what people type: an item is inside another when it is indented by two columns or
//! more, and a checkbox or a fence in a list may be indented too far. No step looks back, none recurses,
//! and blank lines are not kept: the work is in proportion to the text.

use std::ops::Range;

use super::line;
use super::mark::{Checkbox, Mark, Oddity, checkbox, is_hard_blank, list_marker};
use super::scan::{Hidden, Scanner};

/// A line that is not blank.
#[derive(Debug, Clone)]
pub(super) struct OutlineLine {
    /// From 1.
    pub(super) number: usize,
    /// Its first byte, indentation included.
    pub(super) start: usize,
    /// After its last byte, without the line break.
    pub(super) end: usize,
    /// The columns that it is indented by.
    pub(super) indent: usize,
    pub(super) kind: LineKind,
    /// The line of the innermost checkbox that it is below, as an index into the lines.
    pub(super) under: Option<usize>,
}

/// Where a line stands, before it is known what it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineAt {
    pub(super) number: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) indent: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineKind {
    /// A heading outside all lists. One with an underline may be meant as text above a rule.
    Heading {
        level: u8,
        words: Range<usize>,
        underlined: bool,
        checkbox: Option<BoxAt>,
    },
    /// A list item with a checkbox, up to the `end` of what is inside it.
    Box {
        at: BoxAt,
        end: usize,
    },
    /// Any other list item.
    Bullet {
        words: Range<usize>,
    },
    /// A row of a table.
    Row,
    Text,
    /// Code, a comment, a quotation, front matter, a rule, an underline.
    Opaque,
}

/// A checkbox and the words of its task, as places in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BoxAt {
    pub(super) mark: Mark,
    /// What is between the brackets.
    pub(super) inner: Range<usize>,
    pub(super) words: Range<usize>,
    pub(super) odd: Option<Oddity>,
}

impl BoxAt {
    /// The checkbox found in a part of the text that begins at `from`; `words` is a place in the text.
    pub(super) fn of(found: Checkbox, from: usize, words: Range<usize>) -> Self {
        let inner = found.inner.start + from..found.inner.end + from;
        Self { mark: found.mark, inner, words, odd: found.odd }
    }
}

#[derive(Debug)]
pub(super) struct Outline<'t> {
    pub(super) text: &'t str,
    pub(super) lines: Vec<OutlineLine>,
    /// What the text does not close, outside of inner items.
    hidden: Option<Hidden>,
}

impl<'t> Outline<'t> {
    /// Reads the lines of a text. Characters that no convention knows are marks only where there are
    /// ordinary checkboxes, so a page without any is read again as one that has none.
    pub(super) fn of(text: &'t str) -> Self {
        let outline = Self::scanned(text, true);
        let lonely = outline.checkboxes().next().is_some()
            && outline.checkboxes().all(|at| at.mark.needs_company());
        if lonely { Self::scanned(text, false) } else { outline }
    }

    /// The checkboxes of list items and headings.
    fn checkboxes(&self) -> impl Iterator<Item = &BoxAt> {
        self.lines.iter().filter_map(|line| match &line.kind {
            LineKind::Box { at, .. } => Some(at),
            LineKind::Heading { checkbox, .. } => checkbox.as_ref(),
            _ => None,
        })
    }

    fn scanned(text: &'t str, strange: bool) -> Self {
        let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let front = bom + front_matter(&text[bom..]);
        let mut scanner = Scanner::of(text, strange);
        let (mut start, mut number) = (bom, 0);
        while start < text.len() {
            number += 1;
            let (end, next) = match text[start..].find('\n') {
                Some(length) => (start + length, start + length + 1),
                None => (text.len(), text.len()),
            };
            let end = if text[start..end].ends_with('\r') { end - 1 } else { end };
            let content = &text[start..end];
            let (indent, bytes) = indentation(content);
            let rest = &content[bytes..];
            if rest.trim().is_empty() {
                scanner.blank();
            } else if start < front {
                scanner.push(LineAt { number, start, end, indent }, LineKind::Opaque);
            } else {
                scanner.line(LineAt { number, start, end, indent }, start + bytes);
            }
            start = next;
        }
        let (lines, hidden) = scanner.finish();
        Self { text, lines, hidden }
    }

    /// What would close the code or the comment that reaches the end of the text.
    pub(super) fn closing(&self) -> Option<String> {
        self.hidden.as_ref().map(|hidden| match hidden {
            Hidden::Fence(fence, _) => fence.closing(),
            Hidden::Html(mark, _) => (*mark).to_owned(),
        })
    }

    /// The text of a line, without its line break.
    pub(super) fn content(&self, line: &OutlineLine) -> &'t str {
        &self.text[line.start..line.end]
    }
}

/// Where the line after one that ends at `end` begins.
pub(super) fn after_break(text: &str, end: usize) -> usize {
    let rest = &text.as_bytes()[end..];
    end + match rest {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        _ => 0,
    }
}

/// The columns of white space that a line starts with, and their bytes. Blanks that markdown does not take
/// for such count in front of a checkbox.
fn indentation(line: &str) -> (usize, usize) {
    let (columns, bytes) = line::indent(line, 0);
    let rest = &line[bytes..];
    let bare = rest.trim_start_matches(|c| c == ' ' || c == '\t' || is_hard_blank(c));
    if bare.len() == rest.len() || !is_box(bare) {
        return (columns, bytes);
    }
    let hard = &rest[..rest.len() - bare.len()];
    (columns + hard.chars().count(), bytes + hard.len())
}

/// Whether a list item with a checkbox starts here.
fn is_box(text: &str) -> bool {
    let behind = list_marker(text).and_then(|(length, _)| text.get(length..));
    behind.is_some_and(|behind| checkbox(behind.trim_start()).is_some())
}

/// The bytes of YAML front matter.
fn front_matter(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let is = |line: &str, mark: &str| line.trim_end() == mark;
    let Some(first) = lines.next().filter(|line| is(line, "---")) else {
        return 0;
    };
    let mut length = first.len();
    for (index, line) in lines.enumerate() {
        length += line.len();
        if is(line, "---") || is(line, "...") {
            return length;
        }
        // A rule at the top of a page is followed by anything but this.
        if index == 0 && !line.trim_start().starts_with('#') && !line.contains(':') {
            return 0;
        }
    }
    0
}

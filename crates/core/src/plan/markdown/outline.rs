//! The lines of a markdown text in one pass: what each is, and which list item it is in.
//!
//! This follows CommonMark, since what a page shows is what its author means, with two liberties
//! for what people write by hand: an item is inside another when it is indented by two columns or
//! more, and a box or a fence in a list may be indented too far. No step looks back, none recurses,
//! and blank lines are not kept: the work is in proportion to the text.

use std::ops::Range;

use super::line::{self, Fence, atx, boxed, html_end, is_rule, marker, underline};

/// So many list items may start on one line; what follows is text.
const MOST_MARKERS: usize = 16;

/// A line that is not blank.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: usize,
    /// Its first byte, indentation included.
    pub(super) start: usize,
    /// After its last byte, without the line break.
    pub(super) end: usize,
    /// The columns that it is indented by.
    pub(super) indent: usize,
    /// What it is.
    pub(super) kind: LineKind,
    /// The line of the innermost box that it is below, as an index into the lines.
    pub(super) under: Option<usize>,
}

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineKind {
    /// A heading outside all lists. One with an underline may be meant as text above a rule.
    Heading { level: u8, words: Range<usize>, underlined: bool },
    /// A list item with a box; `mark` is the byte between the brackets.
    Box { mark: usize, done: bool, words: Range<usize>, end: usize },
    /// Any other list item.
    Bullet { words: Range<usize> },
    /// A row of a table.
    Row,
    /// Text.
    Text,
    /// Code, a comment, a quotation, front matter, a rule, an underline.
    Opaque,
}

/// The lines of a text.
#[derive(Debug)]
pub(super) struct Outline<'t> {
    pub(super) text: &'t str,
    pub(super) lines: Vec<Line>,
    /// What the text does not close, outside of inner items.
    hidden: Option<Hidden>,
}

/// A list item that is open.
#[derive(Debug, Clone, Copy)]
struct Open {
    marker: usize,
    content: usize,
    /// The box of this item, or the one that it is in.
    under: Option<usize>,
    /// Whether the box is this item's own.
    own: bool,
}

impl Open {
    /// The least indentation of a line inside.
    fn needs(self) -> usize {
        self.content.min(self.marker + 2)
    }
}

/// What goes on over several lines and hides them.
#[derive(Debug)]
enum Hidden {
    Fence(Fence, usize),
    Html(&'static str),
}

struct Scanner<'t> {
    text: &'t str,
    lines: Vec<Line>,
    open: Vec<Open>,
    hidden: Option<Hidden>,
    /// The lines of the paragraph that the last line belongs to; 0 if it belongs to none.
    paragraph: usize,
}

impl<'t> Outline<'t> {
    /// Reads the lines of a text.
    pub(super) fn of(text: &'t str) -> Self {
        let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let front = bom + front_matter(&text[bom..]);
        let mut scanner =
            Scanner { text, lines: Vec::new(), open: Vec::new(), hidden: None, paragraph: 0 };
        let (mut start, mut number) = (bom, 0);
        while start < text.len() {
            number += 1;
            let (end, next) = match text[start..].find('\n') {
                Some(length) => (start + length, start + length + 1),
                None => (text.len(), text.len()),
            };
            let end = if text[start..end].ends_with('\r') { end - 1 } else { end };
            let content = &text[start..end];
            let (indent, bytes) = line::indent(content);
            let rest = &content[bytes..];
            if rest.trim().is_empty() {
                scanner.paragraph = 0;
            } else if start < front {
                scanner.push(number, start, end, indent, LineKind::Opaque);
            } else {
                scanner.line(number, start, end, indent, start + bytes);
            }
            start = next;
        }
        // What is in an inner item ends with it.
        let hidden = scanner.hidden.take().filter(|_| scanner.open.len() <= 1);
        scanner.close(0);
        Self { text, lines: scanner.lines, hidden }
    }

    /// What would close the code or the comment that reaches the end of the text.
    pub(super) fn closing(&self) -> Option<String> {
        self.hidden.as_ref().map(|hidden| match hidden {
            Hidden::Fence(fence, _) => fence.closing(),
            Hidden::Html(mark) => (*mark).to_owned(),
        })
    }

    /// The text of a line, without its line break.
    pub(super) fn content(&self, line: &Line) -> &'t str {
        &self.text[line.start..line.end]
    }

    /// Where the line after one that ends at `end` begins.
    pub(super) fn after(&self, end: usize) -> usize {
        after_break(self.text, end)
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

impl Scanner<'_> {
    fn push(&mut self, number: usize, start: usize, end: usize, indent: usize, kind: LineKind) {
        let under = self.open.last().and_then(|open| open.under);
        self.lines.push(Line { number, start, end, indent, kind, under });
    }

    /// Closes all items but the outermost `keep`. A box ends with the last line that was in it.
    fn close(&mut self, keep: usize) {
        let last = self.lines.last().map_or(0, |line| line.end);
        for open in self.open.drain(keep..).filter(|open| open.own) {
            let line = open.under.and_then(|under| self.lines.get_mut(under));
            if let Some(Line { kind: LineKind::Box { end, .. }, .. }) = line {
                *end = last;
            }
        }
    }

    /// One line that is not blank; `at` is its first byte that is not white space.
    fn line(&mut self, number: usize, start: usize, end: usize, indent: usize, at: usize) {
        let text = self.text;
        let rest = &text[at..end];
        if self.open.last().is_some_and(|open| indent < open.needs()) {
            let starts = self.hidden.is_some() || self.paragraph == 0 || starts_block(rest);
            if starts {
                self.hidden = None;
                let keep = self.open.iter().take_while(|open| indent >= open.needs()).count();
                self.close(keep);
                self.paragraph = 0;
            }
        }
        if self.still_hidden(rest, indent) {
            return self.push(number, start, end, indent, LineKind::Opaque);
        }
        let base = self.open.last().map_or(0, |open| open.content);
        let in_list = !self.open.is_empty();
        if indent >= base + 4 {
            let code = self.paragraph == 0;
            let strayed = in_list && (Fence::opened(rest).is_some() || marker(rest).is_some());
            if code || !strayed {
                self.paragraph += usize::from(!code);
                let kind = if code { LineKind::Opaque } else { LineKind::Text };
                return self.push(number, start, end, indent, kind);
            }
        }
        if let Some(kind) = self.heading(rest, at, in_list) {
            return self.push(number, start, end, indent, kind);
        }
        if is_rule(rest) {
            self.paragraph = 0;
            return self.push(number, start, end, indent, LineKind::Opaque);
        }
        match marker(rest) {
            Some(_) => self.items(number, start, end, indent, at),
            None => {
                let kind = self.plain(rest, indent);
                self.push(number, start, end, indent, kind);
            }
        }
    }

    /// Whether the line belongs to a fence or to HTML that was opened before it.
    fn still_hidden(&mut self, rest: &str, indent: usize) -> bool {
        let base = self.open.last().map_or(0, |open| open.content);
        let ends = match &self.hidden {
            None => return false,
            Some(Hidden::Fence(fence, column)) => {
                indent <= base.max(*column) + 3 && fence.is_closed_by(rest)
            }
            Some(Hidden::Html(mark)) => contains(rest, mark),
        };
        if ends {
            self.hidden = None;
        }
        true
    }

    /// The heading that the line is, or whose underline it is.
    fn heading(&mut self, rest: &str, at: usize, in_list: bool) -> Option<LineKind> {
        if in_list {
            return None;
        }
        if let Some((level, words)) = atx(rest) {
            self.paragraph = 0;
            let words = at + words.start..at + words.end;
            return Some(LineKind::Heading { level, words, underlined: false });
        }
        let level = underline(rest).filter(|_| self.paragraph == 1)?;
        let above = self.lines.last_mut().filter(|line| line.kind == LineKind::Text)?;
        let words = above.start + self.text[above.start..above.end].len()
            - self.text[above.start..above.end].trim_start().len();
        let length = self.text[words..above.end].trim_end().len();
        above.kind = LineKind::Heading { level, words: words..words + length, underlined: true };
        self.paragraph = 0;
        Some(LineKind::Opaque)
    }

    /// A line that starts no list item, once headings and rules are out of the question.
    fn plain(&mut self, rest: &str, indent: usize) -> LineKind {
        if let Some(fence) = Fence::opened(rest) {
            self.hidden = Some(Hidden::Fence(fence, indent));
        } else if let Some(mark) = html_end(rest) {
            if !contains(&rest[2..], mark) {
                self.hidden = Some(Hidden::Html(mark));
            }
        } else if !rest.starts_with('>') {
            self.paragraph += 1;
            return if rest.starts_with('|') { LineKind::Row } else { LineKind::Text };
        }
        self.paragraph = 0;
        LineKind::Opaque
    }

    /// A line that starts one list item or several: `- `, `1. - [ ] `.
    fn items(&mut self, number: usize, start: usize, end: usize, indent: usize, at: usize) {
        let text = self.text;
        let outer = self.open.last().and_then(|open| open.under);
        let (mut at, mut column, mut kind) = (at, indent, LineKind::Text);
        self.paragraph = 0;
        for _ in 0..MOST_MARKERS {
            let Some(length) = marker(&text[at..end]) else { break };
            let behind = &text[at + length..end];
            let (spaces, bytes) = line::indent_from(behind, column + length);
            let is_empty = behind.len() == bytes;
            let (columns, bytes) =
                if is_empty || spaces > 4 { (1, bytes) } else { (spaces, bytes) };
            let under = self.open.last().and_then(|open| open.under);
            let content = column + length + columns;
            self.open.push(Open { marker: column, content, under, own: false });
            at += length + bytes;
            column = content;
            let words = at..at + text[at..end].trim_end().len();
            if spaces > 4 && !is_empty {
                kind = LineKind::Bullet { words: at..at };
                break;
            }
            if let Some(done) = boxed(&text[at..end]) {
                let behind = &text[at + 3..end];
                let title = words.end - behind.trim().len();
                kind = LineKind::Box { mark: at + 1, done, words: title..words.end, end };
                break;
            }
            kind = LineKind::Bullet { words };
            let rest = &text[at..end];
            if let Some(fence) = Fence::opened(rest) {
                self.hidden = Some(Hidden::Fence(fence, column));
                break;
            }
            if let Some(mark) = html_end(rest) {
                self.hidden = (!contains(&rest[2..], mark)).then_some(Hidden::Html(mark));
                break;
            }
            if rest.starts_with('>') || atx(rest).is_some() {
                break;
            }
            self.paragraph = usize::from(!rest.trim().is_empty());
        }
        if matches!(kind, LineKind::Box { .. }) {
            self.paragraph = 1;
            let here = self.lines.len();
            if let Some(open) = self.open.last_mut() {
                (open.under, open.own) = (Some(here), true);
            }
        }
        self.lines.push(Line { number, start, end, indent, kind, under: outer });
    }
}

/// Whether a line cannot go on with the paragraph above it.
fn starts_block(rest: &str) -> bool {
    marker(rest).is_some()
        || rest.starts_with('>')
        || atx(rest).is_some()
        || is_rule(rest)
        || Fence::opened(rest).is_some()
        || html_end(rest).is_some()
}

/// Whether `text` contains a mark that is written in lower case.
fn contains(text: &str, mark: &str) -> bool {
    match mark {
        "-->" => text.contains(mark),
        _ => text.to_ascii_lowercase().contains(mark),
    }
}

//! What each line of a text is, told line by line: open lists, fences, comments, paragraphs.

use super::line::{self, Fence, atx, html_end, is_rule, underline};
use super::mark::{Oddity, checkbox, in_heading, is_hard_blank, list_marker};
use super::outline::{BoxAt, LineAt, LineKind, OutlineLine};

/// So many list items may start on one line; what follows is text.
const MOST_MARKERS: usize = 16;

/// A list item that is open.
#[derive(Debug, Clone, Copy)]
struct Open {
    marker: usize,
    content: usize,
    /// The checkbox of this item, or the one that it is in.
    under: Option<usize>,
    /// Whether the checkbox is this item's own.
    own: bool,
}

impl Open {
    /// The least indentation of a line inside.
    fn needs(self) -> usize {
        self.content.min(self.marker + 2)
    }
}

/// What goes on over several lines and hides them, and the column where it began.
#[derive(Debug)]
pub(super) enum Hidden {
    Fence(Fence, usize),
    Html(&'static str, usize),
}

impl Hidden {
    const fn column(&self) -> usize {
        match self {
            Self::Fence(_, column) | Self::Html(_, column) => *column,
        }
    }
}

pub(super) struct Scanner<'t> {
    text: &'t str,
    lines: Vec<OutlineLine>,
    open: Vec<Open>,
    hidden: Option<Hidden>,
    /// Whether characters that no convention knows are marks.
    strange: bool,
    /// The lines of the paragraph that the last line belongs to; 0 if it belongs to none.
    paragraph: usize,
    /// What is hidden may be, to CommonMark, a part of the paragraph above it: it is left of the text of the item, or
    /// indented like code. Then a line behind it does not end the item.
    is_words: bool,
}

impl<'t> Scanner<'t> {
    pub(super) fn of(text: &'t str, strange: bool) -> Self {
        let (lines, open) = (Vec::new(), Vec::new());
        Self { text, lines, open, hidden: None, strange, paragraph: 0, is_words: false }
    }

    /// After the last line: all lines, and what is not closed. What is in an inner item ends with it.
    pub(super) fn finish(mut self) -> (Vec<OutlineLine>, Option<Hidden>) {
        let hidden = self.hidden.take();
        let hidden =
            hidden.filter(|hidden| self.open.len() <= 1 || self.holder(hidden.column()).is_none());
        self.close(0);
        (self.lines, hidden)
    }

    /// A blank line: it ends a paragraph and nothing else.
    pub(super) fn blank(&mut self) {
        self.paragraph = 0;
        self.is_words = false;
    }

    /// Adds a line that is known to be of this kind.
    pub(super) fn push(&mut self, line: LineAt, kind: LineKind) {
        let LineAt { number, start, end, indent } = line;
        let under = self.open.last().and_then(|open| open.under);
        self.lines.push(OutlineLine { number, start, end, indent, kind, under });
    }

    /// Closes all items but the outermost `keep`. A checkbox ends with the last line that was in it.
    fn close(&mut self, keep: usize) {
        let last = self.lines.last().map_or(0, |line| line.end);
        for open in self.open.drain(keep..).filter(|open| open.own) {
            let line = open.under.and_then(|under| self.lines.get_mut(under));
            if let Some(OutlineLine { kind: LineKind::Box { end, .. }, .. }) = line {
                *end = last;
            }
        }
    }

    /// One line that is not blank; `at` is its first byte that is not white space.
    pub(super) fn line(&mut self, line: LineAt, at: usize) {
        let indent = line.indent;
        let rest = &self.text[at..line.end];
        let text = self.open.last().map_or(0, |open| open.content);
        let may_be_words = self.paragraph > 0 && !(text..text + 4).contains(&indent);
        // An item right below another is one, too, however far it is indented.
        let mut below_item = false;
        if self.open.last().is_some_and(|open| indent < self.least(*open)) {
            let starts = self.hidden.is_some() || self.paragraph == 0 || starts_block(rest);
            if starts {
                below_item = self.paragraph > 0 && list_marker(rest).is_some();
                let keep = self.open.iter().take_while(|open| indent >= open.needs()).count();
                let outer = self.open[..keep].last().map_or(0, |open| open.content);
                // Indented like code, a line goes on with the paragraph above it.
                if self.paragraph > 0 && indent >= outer + 4 && !below_item {
                    self.paragraph += 1;
                    return self.push(line, LineKind::Text);
                }
                self.hidden = None;
                self.close(keep);
                self.paragraph = 0;
            }
        }
        if self.still_hidden(rest, indent) {
            return self.push(line, LineKind::Opaque);
        }
        let base = self.open.last().map_or(0, |open| open.content);
        let in_list = !self.open.is_empty();
        if indent >= base + 4 {
            let code = self.paragraph == 0 && !below_item;
            let strayed = (in_list || below_item)
                && (Fence::opened(rest).is_some() || list_marker(rest).is_some());
            if code || !strayed {
                self.paragraph += usize::from(!code);
                let kind = if code { LineKind::Opaque } else { LineKind::Text };
                return self.push(line, kind);
            }
        }
        if let Some(kind) = self.heading(rest, at, in_list) {
            return self.push(line, kind);
        }
        if is_rule(rest) {
            self.paragraph = 0;
            return self.push(line, LineKind::Opaque);
        }
        match list_marker(rest) {
            Some(_) => self.items(line, at),
            None => {
                let kind = self.plain(rest, indent, may_be_words);
                self.push(line, kind);
            }
        }
    }

    /// The least indentation of a line that does not end an item. Code and HTML in it end with it; what stands
    /// left of its text is behind the item to CommonMark, and goes on until it is closed.
    fn least(&self, open: Open) -> usize {
        match &self.hidden {
            Some(hidden) => self.holder(hidden.column()).map_or(0, |holder| holder.content),
            None => open.needs(),
        }
    }

    /// The item that code or HTML in this column is in: the innermost whose text does not begin right of it.
    fn holder(&self, column: usize) -> Option<&Open> {
        self.open.iter().rev().find(|open| open.content <= column)
    }

    /// Whether the line belongs to a fence or to HTML that was opened before it.
    fn still_hidden(&mut self, rest: &str, indent: usize) -> bool {
        let base = self.open.last().map_or(0, |open| open.content);
        let ends = match &self.hidden {
            None => return false,
            Some(Hidden::Fence(fence, column)) => {
                indent <= base.max(*column) + 3 && fence.is_closed_by(rest)
            }
            Some(Hidden::Html(mark, _)) => contains(rest, mark),
        };
        if ends {
            self.hidden = None;
            self.paragraph = usize::from(self.is_words);
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
            let checkbox = self.heading_box(words.clone());
            return Some(LineKind::Heading { level, words, underlined: false, checkbox });
        }
        let level = underline(rest).filter(|_| self.paragraph == 1)?;
        let above = self.lines.last().filter(|line| line.kind == LineKind::Text)?;
        let content = &self.text[above.start..above.end];
        let words = above.start + content.len() - content.trim_start().len();
        let words = words..above.start + content.trim_end().len();
        let checkbox = self.heading_box(words.clone());
        let above = self.lines.last_mut()?;
        above.kind = LineKind::Heading { level, words, underlined: true, checkbox };
        self.paragraph = 0;
        Some(LineKind::Opaque)
    }

    /// The checkbox in the words of a heading.
    fn heading_box(&self, words: std::ops::Range<usize>) -> Option<BoxAt> {
        let (found, title) = in_heading(&self.text[words.clone()])?;
        let title = title.start + words.start..title.end + words.start;
        let at = BoxAt::of(found, words.start, title);
        (self.strange || !at.mark.needs_company()).then_some(at)
    }

    /// A line that starts no list item, once headings and rules are out of the question.
    fn plain(&mut self, rest: &str, indent: usize, may_be_words: bool) -> LineKind {
        self.is_words = may_be_words;
        if let Some(fence) = Fence::opened(rest) {
            self.hidden = Some(Hidden::Fence(fence, indent));
        } else if let Some(mark) = html_end(rest) {
            if !contains(&rest[2..], mark) {
                self.hidden = Some(Hidden::Html(mark, indent));
            }
        } else if !rest.starts_with('>') {
            self.paragraph += 1;
            return if rest.starts_with('|') { LineKind::Row } else { LineKind::Text };
        }
        self.paragraph = 0;
        LineKind::Opaque
    }

    /// A line that starts one list item or several: `- `, `1. - [ ] `.
    fn items(&mut self, line: LineAt, at: usize) {
        let (text, LineAt { number, start, end, indent }) = (self.text, line);
        let outer = self.open.last().and_then(|open| open.under);
        let (mut at, mut column, mut kind) = (at, indent, LineKind::Text);
        self.paragraph = 0;
        for _ in 0..MOST_MARKERS {
            let Some((length, before)) = list_marker(&text[at..end]) else { break };
            let behind = &text[at + length..end];
            let (mut spaces, mut bytes) = line::indent(behind, column + length);
            let hard = blank_bytes(behind);
            let hard = (hard > bytes && checkbox(&behind[hard..]).is_some()).then_some(hard);
            if let Some(hard) = hard {
                (spaces, bytes) = (1, hard);
            }
            let indented = text[start..at].chars().any(is_hard_blank);
            let before = before.or((hard.is_some() || indented).then_some(Oddity::HardBlank));
            let is_empty = behind.len() == bytes;
            let (columns, bytes) =
                if is_empty || spaces > 4 || spaces == 0 { (1, bytes) } else { (spaces, bytes) };
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
            let found = checkbox(&text[at..end]);
            let found = found.filter(|found| self.strange || !found.mark.needs_company());
            if let Some(found) = found {
                let title = words.end.max(at + found.length);
                let title = title - text[at + found.length..title].trim_start().len()..title;
                let odd = found.odd.or(before);
                let at = BoxAt { odd, ..BoxAt::of(found, at, title) };
                kind = LineKind::Box { at, end };
                break;
            }
            kind = LineKind::Bullet { words };
            let rest = &text[at..end];
            if let Some(fence) = Fence::opened(rest) {
                self.hidden = Some(Hidden::Fence(fence, column));
                break;
            }
            if let Some(mark) = html_end(rest) {
                self.hidden = (!contains(&rest[2..], mark)).then_some(Hidden::Html(mark, column));
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
        self.lines.push(OutlineLine { number, start, end, indent, kind, under: outer });
    }
}

/// The bytes of all blanks that a text starts with.
fn blank_bytes(text: &str) -> usize {
    let is_blank = |c| c == ' ' || c == '\t' || is_hard_blank(c);
    text.len() - text.trim_start_matches(is_blank).len()
}

/// Whether a line cannot go on with the paragraph above it.
fn starts_block(rest: &str) -> bool {
    list_marker(rest).is_some()
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

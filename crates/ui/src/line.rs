//! Text that is safe to show: a [`TextLine`] of colored parts that fits the terminal, and [`wrap`] for
//! longer texts. Every text from agents, tasks and gates goes through here.

use ralph_core::text::{printable, printable_line};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::columns::cut;
use crate::style::{Meaning, TextStyle};

/// The shortest that a part is cut to, in cells.
const LEAST: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    meaning: Option<Meaning>,
    text: String,
    flexible: bool,
}

/// One line of parts. A flexible part is cut first when the line does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextLine {
    parts: Vec<Part>,
}

impl TextLine {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn plain(self, text: impl AsRef<str>) -> Self {
        self.part(None, text.as_ref(), false)
    }

    #[must_use]
    pub fn add(self, meaning: Meaning, text: impl AsRef<str>) -> Self {
        self.part(Some(meaning), text.as_ref(), false)
    }

    /// Adds text that is cut when the line is too long.
    #[must_use]
    pub fn flexible(self, meaning: Option<Meaning>, text: impl AsRef<str>) -> Self {
        self.part(meaning, text.as_ref(), true)
    }

    /// Both, one after the other.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        self.parts.extend_from_slice(&other.parts);
        self
    }

    fn part(mut self, meaning: Option<Meaning>, text: &str, flexible: bool) -> Self {
        let text = printable_line(text).into_owned();
        if !text.is_empty() {
            self.parts.push(Part { meaning, text, flexible });
        }
        self
    }

    pub fn width(&self) -> usize {
        self.parts.iter().map(|part| part.text.width()).sum()
    }

    /// The line as it is shown, no wider than the terminal.
    pub fn show(&self, style: TextStyle) -> String {
        self.fit(style, style.width)
    }

    /// The line, no wider than `width`.
    pub fn fit(&self, style: TextStyle, width: Option<usize>) -> String {
        let most = width.unwrap_or(usize::MAX);
        let excess = self.width().saturating_sub(most);
        let mut left = most;
        let mut shown = String::new();
        for part in &self.parts {
            let own = part.text.width();
            let wanted = match part.flexible && excess > 0 {
                true => own.saturating_sub(excess).max(LEAST.min(own)),
                false => own,
            };
            let text = cut(&part.text, wanted.min(left));
            left -= text.width().min(left);
            shown.push_str(&style.paint(part.meaning, &text));
            if left == 0 {
                break;
            }
        }
        shown
    }
}

/// The column of names in [`field`].
const NAMES: usize = 10;

/// A label and its text, wrapped below itself where it is long.
pub fn field(name: &str, meaning: Meaning, text: &str, style: TextStyle) -> Vec<String> {
    let room = style.width.map(|width| width.saturating_sub(NAMES + 3));
    let name = style.paint(meaning, format!("{name:<NAMES$}"));
    let mut lines = wrap(text, room).into_iter();
    let mut shown = vec![format!("  {name} {}", lines.next().unwrap_or_default())];
    shown.extend(lines.map(|line| format!("{:1$}{line}", "", NAMES + 3)));
    shown
}

/// Those of these fields that have a text.
pub(crate) fn fields<'n>(
    rows: impl IntoIterator<Item = (&'n str, Option<String>)>,
    style: TextStyle,
) -> Vec<String> {
    let known = rows.into_iter().filter_map(|(name, text)| Some((name, text?)));
    known.flat_map(|(name, text)| field(name, Meaning::Faint, &text, style)).collect()
}

/// A text indented by `indent` cells, in the color of its meaning.
pub fn paragraph(
    indent: usize,
    meaning: Option<Meaning>,
    text: &str,
    style: TextStyle,
) -> Vec<String> {
    let room = style.width.map(|width| width.saturating_sub(indent));
    let lead = " ".repeat(indent);
    let line = |line| format!("{lead}{}", style.paint(meaning, line));
    wrap(text, room).into_iter().map(line).collect()
}

/// The lines of a text, made safe and broken between words where one is wider than `width`. A broken
/// line continues below its first word; a word that is too wide is broken anywhere.
pub fn wrap(text: &str, width: Option<usize>) -> Vec<String> {
    let safe = printable(text);
    let mut lines = Vec::new();
    for line in safe.lines() {
        let line = line.trim_end().replace('\t', "    ");
        match width {
            Some(width) if line.width() > width => break_line(&line, width.max(LEAST), &mut lines),
            _ => lines.push(line),
        }
    }
    lines
}

fn break_line(line: &str, width: usize, lines: &mut Vec<String>) {
    let indent = (line.len() - line.trim_start_matches(' ').len()).min(width / 2);
    let (lead, mut rest) = (" ".repeat(indent), line.trim_start_matches(' '));
    while !rest.is_empty() {
        // Only as much as fits is looked at: a line may be a megabyte long.
        let end = break_at(rest, width - lead.len());
        lines.push(format!("{lead}{}", rest[..end].trim_end()));
        rest = rest[end..].trim_start_matches(' ');
    }
}

/// Where a text is broken so that the part before fits: after the last space that fits, else anywhere.
fn break_at(text: &str, width: usize) -> usize {
    let (mut used, mut space) = (0, None);
    for (index, letter) in text.char_indices() {
        if letter == ' ' {
            space = Some(index);
        }
        used += letter.width().unwrap_or(0);
        if used > width {
            // At least one letter goes out, or this would never end.
            return space.filter(|at| *at > 0).unwrap_or(index.max(letter.len_utf8()));
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: TextStyle = TextStyle { color: false, width: Some(24) };

    #[test]
    fn the_flexible_part_gives_way() {
        let line = TextLine::new()
            .plain("done ")
            .flexible(None, "a title that is much too long")
            .plain("  3f2a91c");
        assert_eq!(line.show(NARROW), "done a title t…  3f2a91c");
        assert_eq!(line.show(TextStyle::PLAIN), "done a title that is much too long  3f2a91c");
        let rigid = TextLine::new().plain("a line of which no part gives way");
        assert_eq!(rigid.show(NARROW), "a line of which no part…");
        let wide = TextLine::new().flexible(None, "設".repeat(30)).plain(" end");
        assert!(wide.show(NARROW).width() <= 24, "{}", wide.show(NARROW));
    }

    #[test]
    fn colors_do_not_count_as_width() {
        let style = TextStyle { color: true, width: Some(6) };
        let line = TextLine::new().add(Meaning::Tool, "Bash").add(Meaning::Faint, " ls");
        assert_eq!(line.show(style), "\u{1b}[36mBash\u{1b}[0m\u{1b}[2m …\u{1b}[0m");
    }

    #[test]
    fn long_lines_break_between_words_and_keep_their_indent() {
        assert_eq!(
            wrap("one two three\n\n  four five six seven", Some(12)),
            ["one two", "three", "", "  four five", "  six seven"]
        );
        assert_eq!(wrap("abcdefghijklmnop", Some(8)), ["abcdefgh", "ijklmnop"]);
        assert_eq!(wrap("設設設設設設", Some(9)), ["設設設設", "設設"]);
        assert_eq!(wrap("as long as it likes", None), ["as long as it likes"]);
        assert_eq!(wrap("", Some(10)), [""; 0]);
        assert_eq!(wrap(&"x".repeat(1 << 20), Some(64)).len(), 1 << 14);
    }

    #[test]
    fn hostile_text_cannot_leave_its_line() {
        let line = TextLine::new().plain("a\u{1b}[1A\u{1b}[2K\rb\nc\u{202e}d\u{9b}2J\u{7f}\u{0}");
        assert_eq!(line.show(TextStyle::PLAIN), "ab cd");
        assert_eq!(wrap("x\u{1b}]0;owned\u{7}\u{1b}[?25ly\u{85}z", None), ["xyz"]);
    }
}

//! Checkboxes: what the mark between the brackets means, and the spellings that are read with a warning.
//!
//! One line at a time, without knowing what is around it. Links, footnotes and longer tags such as
//! `[P1]` are text. A character that no convention knows is a mark only where the page has ordinary
//! checkboxes too, which the scanner decides.

use std::ops::Range;

use super::line::marker;

/// What the mark in a checkbox says about its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// `[ ]`.
    Open,
    /// `[~]` and `[/]`: begun, so still open.
    Begun,
    /// `[x]` and `[X]`.
    Done,
    /// `[-]`: not wanted any more.
    Dropped,
    /// `[!]`, `[?]`, `[>]` or any other character: the task waits for the user.
    Waits(char),
}

impl Mark {
    /// The mark that this character is.
    const fn of(character: char) -> Self {
        match character {
            ' ' => Self::Open,
            '~' | '/' => Self::Begun,
            'x' | 'X' => Self::Done,
            '-' => Self::Dropped,
            other => Self::Waits(other),
        }
    }

    pub const fn character(self) -> char {
        match self {
            Self::Open => ' ',
            Self::Begun => '~',
            Self::Done => 'x',
            Self::Dropped => '-',
            Self::Waits(other) => other,
        }
    }

    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Begun)
    }

    /// Whether only the checkboxes around it tell that this is one: `[b]` may be an entry of a list of books.
    pub(super) const fn needs_company(self) -> bool {
        matches!(self, Self::Waits(other) if !matches!(other, '!' | '?' | '>'))
    }
}

words! {
    /// A spelling that is read as a checkbox although markdown would not, and what to write instead.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub(super) enum Oddity {
        /// `- []`.
        Empty = "`[]` is read as an open checkbox; write `[ ]`",
        /// `-[ ]`.
        NoSpaceBefore = "read as a checkbox; put a space before the bracket",
        /// `- [ ]text`.
        NoSpaceAfter = "read as a checkbox; put a space after the bracket",
        /// A blank that is not a space or a tab.
        HardBlank = "read as a checkbox; replace its non-breaking space with an ordinary one",
    }
}

/// A checkbox at the start of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checkbox {
    pub(super) mark: Mark,
    /// What is between the brackets.
    pub(super) inner: Range<usize>,
    /// The bytes up to and with the closing bracket.
    pub(super) length: usize,
    pub(super) odd: Option<Oddity>,
}

impl Checkbox {
    /// The same checkbox in a text that begins `by` bytes earlier.
    pub(super) fn moved(self, by: usize) -> Self {
        let inner = self.inner.start + by..self.inner.end + by;
        Self { inner, length: self.length + by, ..self }
    }
}

/// A blank that markdown does not take for one.
pub(super) fn is_hard_blank(c: char) -> bool {
    c.is_whitespace() && !c.is_ascii()
}

pub(super) fn checkbox(text: &str) -> Option<Checkbox> {
    let behind = text.strip_prefix('[')?;
    let mut characters = behind.chars();
    let first = characters.next()?;
    let (mark, inner, hard) = match first {
        ']' => (Mark::Open, 0, false),
        c if is_hard_blank(c) => (Mark::Open, c.len_utf8(), true),
        c if c.is_control() || c == '[' || c == '\\' => return None,
        c => {
            // Signs may come with a request to be shown in color.
            let colored = characters.as_str().starts_with('\u{fe0f}');
            (Mark::of(c), c.len_utf8() + '\u{fe0f}'.len_utf8() * usize::from(colored), false)
        }
    };
    let after = behind.get(inner..)?.strip_prefix(']')?;
    let odd = match after.chars().next() {
        None | Some(' ' | '\t') if first == ']' => Some(Oddity::Empty),
        None | Some(' ' | '\t') => hard.then_some(Oddity::HardBlank),
        Some(c) if is_hard_blank(c) => Some(Oddity::HardBlank),
        // A link, a reference, or the definition of one.
        Some('(' | '[' | ':') => return None,
        Some(_) if matches!(first, ' ' | 'x' | 'X') || hard => Some(Oddity::NoSpaceAfter),
        Some(_) => return None,
    };
    Some(Checkbox { mark, inner: 1..1 + inner, length: inner + 2, odd })
}

/// The bytes of the marker of a list item at the start of `text`, also where a checkbox follows it without a
/// space or after a blank that is none.
pub(super) fn list_marker(text: &str) -> Option<(usize, Option<Oddity>)> {
    if let Some(length) = marker(text) {
        return Some((length, None));
    }
    let digits = text.bytes().take(9).take_while(u8::is_ascii_digit).count();
    let closed = if digits == 0 { b"-*+".as_slice() } else { b".)".as_slice() };
    let length = closed.contains(text.as_bytes().get(digits)?).then_some(digits + 1)?;
    let behind = text.get(length..)?;
    let bare = behind.trim_start_matches(|c| c == ' ' || c == '\t' || is_hard_blank(c));
    let found = checkbox(bare).filter(|found| !found.mark.needs_company())?;
    match bare.len() == behind.len() {
        // `-[x]y` is too far from a checkbox.
        true if found.odd == Some(Oddity::NoSpaceAfter) => None,
        true => Some((length, Some(Oddity::NoSpaceBefore))),
        false => Some((length, Some(Oddity::HardBlank))),
    }
}

/// The checkbox in the words of a heading, and where its title is: `1. [ ] Title`, `Task 2: [x] Title`, or at
/// the end.
pub(super) fn in_heading(words: &str) -> Option<(Checkbox, Range<usize>)> {
    let start = numbered(words);
    if let Some(found) = checkbox(&words[start..]) {
        let found = found.moved(start);
        let title = words.len() - words[found.length..].trim_start().len();
        return (title < words.len()).then_some((found, title..words.len()));
    }
    let start = words.rfind([' ', '\t'])?;
    // The bracket may stand around a space.
    let start = if words[..start].ends_with('[') { start - 1 } else { start + 1 };
    let is_last =
        |found: &Checkbox| start + found.length == words.len() && !found.mark.needs_company();
    let found = checkbox(&words[start..]).filter(is_last)?;
    let title = words[..start].trim_end();
    (!title.is_empty() && title.len() < start).then_some((found.moved(start), 0..title.len()))
}

/// The bytes of a number at the start of a heading with what belongs to it: `1. `, `Task 2: `, `A.3) `.
fn numbered(words: &str) -> usize {
    let is_label = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '#');
    let mut rest = words;
    for _ in 0..2 {
        let length = rest.find(|c| !is_label(c)).unwrap_or(rest.len());
        let label = &rest[..length];
        let behind = rest[length..].trim_start_matches([':', ')', ' ', '\t', '–', '—']);
        if label.bytes().any(|byte| byte.is_ascii_digit())
            && (behind.len() < rest[length..].len() || behind.starts_with('['))
        {
            return words.len() - behind.trim_start_matches('-').trim_start().len();
        }
        // A word such as Task or Step may stand before the number.
        if !label.bytes().all(|byte| byte.is_ascii_alphabetic()) || label.is_empty() {
            return 0;
        }
        rest = rest[length..].trim_start();
    }
    0
}

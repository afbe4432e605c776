//! Texts that people and agents give. One-line texts are checked when they come in; long texts are
//! kept as they are and made safe when they are shown ([`printable`]).

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) mod escape;

use escape::{EscapeMatch, Spelling, is_invisible, sequence};

/// The longest title, in characters.
pub const MAX_TITLE: usize = 1_000;
/// The longest one-line label (category, spec, reference, branch, glob, step), in characters.
pub const MAX_LABEL: usize = 4_000;
/// The longest text (description, reason, log entry, result), in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// Why a text was refused. `field` is the word the user knows it by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("the {field} is empty")]
    Empty { field: &'static str },
    #[error("the {field} has {len} {unit}, more than the {max} allowed")]
    TooLong { field: &'static str, len: usize, max: usize, unit: &'static str },
    #[error("the {field} contains the control character {found:?} at character {at}")]
    Control {
        field: &'static str,
        found: char,
        /// Its position, from 1.
        at: usize,
    },
}

/// A task's title: one line, not blank, at most [`MAX_TITLE`] characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Title(String);

impl Title {
    pub fn new(text: impl AsRef<str>) -> Result<Self, TextError> {
        let text = text.as_ref().trim();
        if text.is_empty() {
            return Err(TextError::Empty { field: "title" });
        }
        one_line("title", text, MAX_TITLE)?;
        Ok(Self(text.to_owned()))
    }
}

checked_text!(Title, TextError);

impl fmt::Debug for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Checks a one-line text that may be empty; an empty one is none.
pub fn label(field: &'static str, text: &str) -> Result<Option<String>, TextError> {
    let text = text.trim();
    one_line(field, text, MAX_LABEL)?;
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// Checks the length of a long text.
pub fn long(field: &'static str, text: impl Into<String>) -> Result<String, TextError> {
    let text = text.into();
    if text.len() > MAX_TEXT {
        return Err(TextError::TooLong { field, len: text.len(), max: MAX_TEXT, unit: "bytes" });
    }
    Ok(text)
}

fn one_line(field: &'static str, text: &str, max: usize) -> Result<(), TextError> {
    let len = text.chars().count();
    if len > max {
        return Err(TextError::TooLong { field, len, max, unit: "characters" });
    }
    match text.chars().enumerate().find(|(_, c)| c.is_control()) {
        Some((index, found)) => Err(TextError::Control { field, found, at: index + 1 }),
        None => Ok(()),
    }
}

/// Whether a character could move the cursor, hide text or reorder it on a terminal. The variation
/// selectors only choose how a character looks, and emoji need them.
fn is_unsafe(c: char) -> bool {
    is_invisible(u32::from(c)) && !matches!(c, '\u{180b}'..='\u{180d}' | '\u{fe00}'..='\u{fe0f}')
}

/// The text without escape sequences, without control characters (but for line breaks and tabs) and
/// without marks that reorder or hide what is shown.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (letter, own) = (u32::from(c), c.len_utf8());
        let length = match sequence(rest.as_bytes(), letter, own, Spelling::Bytes, usize::MAX) {
            EscapeMatch::Length(length) => length,
            EscapeMatch::No | EscapeMatch::More => own,
        };
        if length == own && !is_unsafe(c) {
            shown.push(c);
        }
        rest = &rest[length..];
    }
    Cow::Owned(shown)
}

/// [`printable`] on one line: line breaks and tabs become spaces.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    match printable(text) {
        safe if safe.contains(['\n', '\t']) => Cow::Owned(safe.replace(['\n', '\t'], " ")),
        safe => safe,
    }
}

/// The end of a text in at most so many bytes, with a mark where something is missing.
pub fn tail(text: &str, most: usize) -> String {
    match text.len().checked_sub(most) {
        None | Some(0) => text.to_owned(),
        Some(from) => format!("…{}", &text[text.ceil_char_boundary(from)..]),
    }
}

/// The words with their detail, where that says more.
pub fn with_detail(words: &str, detail: &str) -> String {
    let detail = detail.trim();
    if detail.is_empty() || detail == words {
        words.to_owned()
    } else {
        format!("{words}: {detail}")
    }
}

/// The text with `mark` and two hexadecimal digits for every byte that is not plain.
pub fn escaped(text: &str, mark: char, is_plain: impl Fn(u8) -> bool) -> String {
    let byte = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("{mark}{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_of_text() {
        assert_eq!(Title::new("  Add login  ").map(String::from), Ok("Add login".into()));
        assert_eq!(Title::new(" \t "), Err(TextError::Empty { field: "title" }));
        assert!(matches!(Title::new("a\nb"), Err(TextError::Control { at: 2, .. })));
        assert!(matches!(
            Title::new("a\u{1b}[31m"),
            Err(TextError::Control { found: '\u{1b}', .. })
        ));
        assert!(matches!(Title::new("x".repeat(1 << 20)), Err(TextError::TooLong { .. })));
        assert!(Title::new("設計 ✓ naïve").is_ok());
    }

    /// A sequence that never ends must not swallow what comes after it.
    #[test]
    fn an_unfinished_sequence_is_only_disarmed() {
        assert_eq!(printable("\u{1b}]0;title\nnext line"), "]0;title\nnext line");
        assert_eq!(printable("\u{1b}[31"), "[31");
        assert_eq!(printable("\u{1b}[1é"), "[1é");
        assert_eq!(printable("end\u{1b}"), "end");
    }

    #[test]
    fn shown_text_cannot_drive_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\u{202e}c\u{9b}d\r\n"), "abc\n");
        assert_eq!(printable("\u{1b}]8;;http://evil\u{7}click\u{1b}]8;;\u{1b}\\ me"), "click me");
        assert_eq!(printable("\u{1b}[31mred\u{1b}[0m \u{1b}(Bset \u{1b}cend\u{7f}"), "red set end");
        assert_eq!(printable("\u{e0041}\u{2066}a\u{2069}\u{061c}\u{2028}b"), "ab");
        assert_eq!(printable_line("a\nb\tc"), "a b c");
        assert!(matches!(printable("plain"), Cow::Borrowed(_)));
    }
}

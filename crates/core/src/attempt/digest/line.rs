//! One line of a gate's output: without colours, and what it tells.

use std::borrow::Cow;

use crate::attempt::budget::beginning;
use crate::text::printable;

/// The longest line that is shown, in bytes.
const MAX_LINE: usize = 300;
/// The longest line that is looked at, in bytes.
const MAX_LOOK: usize = 8_192;

/// The line as a terminal would show it in the end: without escape sequences, and only what came
/// after the last carriage return. Clipped.
pub(in crate::attempt) fn clean(raw: &str) -> Cow<'_, str> {
    let shown = raw.trim_end().rsplit('\r').next().unwrap_or_default();
    let shown = &shown[..shown.floor_char_boundary(MAX_LOOK)];
    let plain = match without_escapes(shown) {
        Cow::Borrowed(text) => printable(text),
        Cow::Owned(text) => Cow::Owned(printable(&text).into_owned()),
    };
    let kept = beginning(plain.trim_end(), MAX_LINE).len();
    match plain {
        // Measured before it was trimmed: white space alone is no reason for dots.
        plain if plain.trim_end().len() > kept => Cow::Owned(format!("{}…", &plain[..kept])),
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_end()),
        Cow::Owned(text) => Cow::Owned(text.trim_end().to_owned()),
    }
}

/// The text without what drives a terminal (ECMA-48: CSI, OSC and the other escape sequences).
fn without_escapes(text: &str) -> Cow<'_, str> {
    const ESC: char = '\u{1b}';
    if !text.contains([ESC, '\u{9b}']) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let introducer = match c {
            '\u{9b}' => '[',
            ESC => match chars.next() {
                Some(next) => next,
                None => break,
            },
            _ => {
                plain.push(c);
                continue;
            }
        };
        match introducer {
            '[' => {
                // Parameters, then one final byte. A line break cannot be here.
                while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
                chars.next_if(|c| matches!(c, '@'..='~'));
            }
            ']' | 'P' | 'X' | '^' | '_' => {
                while let Some(c) = chars.next() {
                    if c == '\u{7}' || (c == ESC && chars.next_if_eq(&'\\').is_some()) {
                        break;
                    }
                }
            }
            ' '..='/' => {
                while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
                chars.next_if(|c| matches!(c, '0'..='~'));
            }
            _ => {}
        }
    }
    Cow::Owned(plain)
}

/// Whether the line says that something went wrong.
pub(in crate::attempt) fn is_error(line: &str) -> bool {
    let line = line.trim().to_ascii_lowercase();
    let start = [
        "error",
        "[error",
        "fatal",
        "traceback (",
        "panic: ",
        "e   ",
        "--- fail",
        "✕ ",
        "● ",
        "assertionerror",
        "failure/error:",
        "failed asserting",
        "expected:",
    ];
    let inside = [
        "error:",
        "error[",
        "error ts",
        "exception: ",
        " panicked at ",
        " undefined: ",
        ": *** ",
        "_test.go:",
    ];
    start.iter().any(|word| line.starts_with(word)) || inside.iter().any(|word| line.contains(word))
}

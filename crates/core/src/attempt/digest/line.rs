//! One line of a gate's output: without colors, and whether it reports an error.

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
    let plain = printable(shown);
    let kept = beginning(plain.trim_end(), MAX_LINE).len();
    match plain {
        // Measured before it was trimmed: white space alone is no reason for dots.
        plain if plain.trim_end().len() > kept => Cow::Owned(format!("{}…", &plain[..kept])),
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_end()),
        Cow::Owned(text) => Cow::Owned(text.trim_end().to_owned()),
    }
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

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
pub(super) fn clean(raw: &str) -> Cow<'_, str> {
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

/// The name of the test that the line reports as failed, by the habits of cargo, nextest, pytest,
/// unittest, jest, vitest, go and TAP.
pub(super) fn failing_test(line: &str) -> Option<&str> {
    let line = line.trim();
    let name = cargo(line)
        .or_else(|| nextest(line))
        .or_else(|| go(line))
        .or_else(|| python(line))
        .or_else(|| javascript(line))
        .or_else(|| tap(line))?
        .trim();
    (!name.is_empty()).then_some(name)
}

/// `test tests::adds ... FAILED`
fn cargo(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// `FAIL [   0.005s] (1/9) my-crate tests::adds`
fn nextest(line: &str) -> Option<&str> {
    let (word, rest) = line.split_once(" [")?;
    let failed = matches!(word, "FAIL" | "TIMEOUT" | "ABORT" | "LEAK-FAIL")
        || (word.starts_with("SIG") && word.chars().all(|c| c.is_ascii_uppercase()));
    let (time, rest) = rest.split_once(']')?;
    let timed = time.trim().strip_suffix('s')?.chars().all(|c| matches!(c, '0'..='9' | '.' | '>'));
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) => rest,
        None => rest,
    };
    (failed && timed).then_some(rest)
}

/// `--- FAIL: TestAdds (0.00s)`
fn go(line: &str) -> Option<&str> {
    line.strip_prefix("--- FAIL: ")?.split_whitespace().next()
}

/// `FAILED tests/test_a.py::test_b - assert 1 == 2`, `ERROR tests/test_a.py`, and
/// `FAIL: test_b (module.Class)` of unittest.
fn python(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
        let name = rest.split(" - ").next()?;
        return name.split("::").next()?.ends_with(".py").then_some(name);
    }
    let rest = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "))?;
    let (test, class) = rest.split_once(" (")?;
    let one_word = !test.contains(char::is_whitespace) && !class.contains(char::is_whitespace);
    (one_word && class.ends_with(')')).then_some(rest)
}

/// `● suite › adds`, `✕ adds (5 ms)`, `FAIL src/a.test.ts > suite > adds`
fn javascript(line: &str) -> Option<&str> {
    if let Some(name) = line.strip_prefix("● ") {
        return name.contains(" › ").then_some(name);
    }
    if let Some(name) = line.strip_prefix(['✕', '✗', '×']) {
        let timed = name.rsplit_once(" (").filter(|(_, time)| time.ends_with("s)"));
        return Some(timed.map_or(name, |(name, _)| name));
    }
    let name = line.strip_prefix("FAIL ")?.trim_start();
    let file = name.split_whitespace().next()?;
    [".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".vue"]
        .iter()
        .any(|extension| file.ends_with(extension))
        .then_some(name)
}

/// `not ok 3 - adds`
fn tap(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("not ok ")?;
    let name = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let name = name.strip_prefix("- ").unwrap_or(name);
    // TAP marks failures that are expected.
    (!name.contains("# TODO") && !name.contains("# SKIP")).then_some(name)
}

/// Whether the line says that something went wrong.
pub(super) fn is_error(line: &str) -> bool {
    let line = line.trim().to_ascii_lowercase();
    let start =
        ["error", "[error", "fatal", "traceback (", "panic: ", "e   ", "--- fail", "✕ ", "● "];
    let inside =
        ["error:", "error[", "error ts", "exception: ", " panicked at ", " undefined: ", ": *** "];
    start.iter().any(|word| line.starts_with(word)) || inside.iter().any(|word| line.contains(word))
}

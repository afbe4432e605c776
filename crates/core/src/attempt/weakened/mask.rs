//! Program text with comments and strings blanked out. Every byte keeps its place, so that a position in one
//! form is the same in the other.

use std::ops::Range;

use super::language::Language;

/// A text in two forms, both as long as the text.
#[derive(Debug)]
pub(super) struct Masked {
    /// Without comments.
    pub(super) bare: String,
    /// Without comments, and without what strings hold.
    pub(super) code: String,
}

pub(super) fn mask(text: &str, language: Language) -> Masked {
    let bytes = text.as_bytes();
    let (mut bare, mut code) = (bytes.to_vec(), bytes.to_vec());
    let mut at = 0;
    while at < bytes.len() {
        let Some(Hidden { inside, end, is_comment }) = hidden(bytes, at, language) else {
            at += 1;
            continue;
        };
        if is_comment {
            blank(&mut bare, inside.clone());
        }
        blank(&mut code, inside);
        at = end;
    }
    // Only whole characters are blanked: what is not ASCII lies within comments or strings, or stays.
    let text = |bytes| String::from_utf8(bytes).unwrap_or_default();
    Masked { bare: text(bare), code: text(code) }
}

fn blank(bytes: &mut [u8], range: Range<usize>) {
    let end = bytes.len();
    let range = range.start.min(end)..range.end.min(end);
    bytes[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

/// A comment, or a string and what it holds. A pattern counts as a string.
struct Hidden {
    inside: Range<usize>,
    end: usize,
    is_comment: bool,
}

/// What begins at `at`.
fn hidden(text: &[u8], at: usize, language: Language) -> Option<Hidden> {
    use Language::{Python, Rust, Script};
    let comment = |end| Some(Hidden { inside: at..end, end, is_comment: true });
    let string = |from: usize, to: usize, close: usize| {
        Some(Hidden { inside: from..to, end: to + close, is_comment: false })
    };
    let rest = &text[at..];
    match *rest {
        [b'#', ..] if language == Python => comment(find(text, at, b"\n")),
        [b'/', b'/', ..] if language != Python => comment(find(text, at, b"\n")),
        [b'/', b'*', ..] if language != Python => {
            comment(at + block_comment(rest, language == Rust))
        }
        [b'/', ..] if language == Script && may_be_pattern(&text[..at]) => {
            pattern_end(rest).and_then(|end| string(at + 1, at + end, 1))
        }
        [b'r', ..] if language == Rust && !text[..at].last().is_some_and(is_word) => {
            let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
            if rest.get(1 + hashes) != Some(&b'"') {
                return None;
            }
            let close = format!("\"{}", "#".repeat(hashes));
            let from = at + 2 + hashes;
            string(from, find(text, from, close.as_bytes()), close.len())
        }
        [quote @ (b'"' | b'\''), two, three, ..]
            if language == Python && quote == two && quote == three =>
        {
            string(at + 3, find(text, at + 3, &[quote; 3]), 3)
        }
        // A lifetime.
        [b'\'', ..] if language == Rust && !is_char(rest) => None,
        [quote @ (b'"' | b'\'' | b'`'), ..] => {
            let spans_lines = quote == b'`' || language == Rust;
            let mut end = at + 1;
            while let Some(byte) = text.get(end).filter(|byte| **byte != quote) {
                match byte {
                    b'\\' => end += 2,
                    b'\n' if !spans_lines => return string(at + 1, end, 0),
                    _ => end += 1,
                }
            }
            string(at + 1, end, 1)
        }
        _ => None,
    }
}

/// `'a'` is a character, `'a` a lifetime.
fn is_char(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        Some(byte) if byte.is_ascii() => rest.get(2) == Some(&b'\''),
        Some(_) => (3..=5).any(|width| rest.get(width) == Some(&b'\'')),
        None => false,
    }
}

/// After a value a slash divides; elsewhere it begins a pattern.
fn may_be_pattern(before: &[u8]) -> bool {
    let last = before.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
    last.is_none_or(|byte| b"(,=:[!&|?{};\n".contains(byte))
}

fn pattern_end(rest: &[u8]) -> Option<usize> {
    let mut end = 1;
    let mut in_class = false;
    loop {
        match rest.get(end)? {
            b'\n' => return None,
            b'\\' => end += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => return Some(end),
            _ => {}
        }
        end += 1;
    }
}

/// The length of the comment that `rest` begins with.
fn block_comment(rest: &[u8], nests: bool) -> usize {
    let mut depth = 0;
    let mut next = 0;
    while next < rest.len() {
        if rest[next..].starts_with(b"/*") {
            depth = if nests { depth + 1 } else { 1 };
            next += 2;
        } else if rest[next..].starts_with(b"*/") {
            depth -= 1;
            next += 2;
            if depth == 0 {
                return next;
            }
        } else {
            next += 1;
        }
    }
    rest.len()
}

fn is_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

/// Where `what` begins, at or after `from`; else the end.
fn find(text: &[u8], from: usize, what: &[u8]) -> usize {
    let found = text.get(from..).and_then(|rest| rest.windows(what.len()).position(|w| w == what));
    found.map_or(text.len(), |found| from + found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn code(text: &str, language: Language) -> String {
        mask(text, language).code
    }

    #[test]
    fn comments_and_strings_are_blank() {
        let rust = "let a = \"{ // no\"; // {\n'x'; fn f<'a>() /* { /* } */ } */ {}";
        let kept = "let a = \"       \";     \n' '; fn f<'a>()                   {}";
        assert_eq!(code(rust, Language::Rust), kept);
        assert_eq!(code("r#\"a\"b\"# x", Language::Rust), "r#\"   \"# x");
        assert_eq!(code("x = /[/\"]/; y", Language::Script), "x = /    /; y");
        assert_eq!(code("a / b / c", Language::Script), "a / b / c");
        assert_eq!(code("'''a\n# b''' # c\nd", Language::Python), "''' \n   '''    \nd");
        assert_eq!(mask("\"a\" // b", Language::Go).bare, "\"a\"     ");
    }

    proptest! {
        #[test]
        fn every_byte_keeps_its_place(text in "[a\"'`/*#r\\\\é\n{}\\[ ]{0,60}") {
            for language in [Language::Rust, Language::Script, Language::Go, Language::Python] {
                let masked = mask(&text, language);
                for form in [&masked.bare, &masked.code] {
                    prop_assert_eq!(form.len(), text.len());
                    prop_assert_eq!(form.matches('\n').count(), text.matches('\n').count());
                }
            }
        }
    }
}

//! Where an escape sequence of a terminal ends (ECMA-48, both the 7-bit and the 8-bit spelling).

/// The length in bytes of the sequence that `text` starts with. `None` when it starts with none, or
/// with one that does not end on its line: then only its first character is to be dropped.
pub(super) fn sequence(text: &str) -> Option<usize> {
    let mut letters = text.chars();
    match letters.next()? {
        '\u{1b}' => match letters.next()? {
            '[' => parameters(&text[2..]).map(|end| 2 + end),
            ']' | 'P' | 'X' | '^' | '_' => string(&text[2..]).map(|end| 2 + end),
            _ => short(&text[1..]).map(|end| 1 + end),
        },
        '\u{9b}' => parameters(letters.as_str()).map(|end| 2 + end),
        '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => {
            string(letters.as_str()).map(|end| 2 + end)
        }
        _ => None,
    }
}

/// Parameters, intermediates and one final byte.
fn parameters(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !(' '..='?').contains(&c))?;
    matches!(text.as_bytes()[end], b'@'..=b'~').then_some(end + 1)
}

/// Any text up to the string terminator or a bell.
fn string(text: &str) -> Option<usize> {
    let end = text.find(['\u{7}', '\u{1b}', '\u{9c}', '\n'])?;
    match text[end..].chars().next()? {
        '\u{7}' => Some(end + 1),
        '\u{9c}' => Some(end + 2),
        '\u{1b}' if text[end + 1..].starts_with('\\') => Some(end + 2),
        _ => None,
    }
}

/// Intermediates and one final byte.
fn short(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !(' '..='/').contains(&c))?;
    matches!(text.as_bytes()[end], b'0'..=b'~').then_some(end + 1)
}

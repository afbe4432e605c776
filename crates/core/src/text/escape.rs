//! Where an escape sequence of a terminal ends (ECMA-48, both the 7-bit and the 8-bit spelling), and
//! which letters nobody sees. Works on bytes that may still be coming, because secrets are looked for
//! in streams; [`super::printable`] and [`crate::redact`] must agree about what vanishes.

/// What begins at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EscapeMatch {
    /// No sequence, or one that does not end on its line: only its first letter vanishes.
    No,
    /// Only the next bytes can tell.
    More,
    /// A sequence with this many bytes, counted from the same place.
    Length(usize),
}

/// How the letters of a sequence are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// As themselves.
    Bytes,
    /// As in the strings of JSON: `\u001b`.
    Json,
}

/// Whether a letter is drawn as nothing: it hides inside a word without changing how it looks.
pub(crate) fn is_invisible(letter: u32) -> bool {
    matches!(letter, 0..=0x08 | 0x0b..=0x1f | 0x7f..=0x9f | 0xad | 0x034f | 0x061c | 0x115f | 0x1160
        | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f
        | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x1_d173..=0x1_d17a
        | 0xe_0000..=0xe_0fff)
}

pub(crate) fn introduces(letter: u32) -> bool {
    matches!(letter, 0x1b | 0x90 | 0x98 | 0x9b | 0x9d..=0x9f)
}

/// The sequence that the letter `introducer` begins, which takes the first `from` of these bytes. A
/// sequence of more than `most` bytes is none.
pub(crate) fn sequence(
    bytes: &[u8],
    introducer: u32,
    from: usize,
    spelling: Spelling,
    most: usize,
) -> EscapeMatch {
    let how = (spelling, most);
    // Parameters, intermediates and one final byte.
    let parameters = |from| ends_with(bytes, from, how, b' '..=b'?', b'@'..=b'~');
    match introducer {
        0x1b => match bytes.get(from) {
            None => EscapeMatch::More,
            Some(b'[') => parameters(from + 1),
            Some(b']' | b'P' | b'X' | b'^' | b'_') => string(bytes, from + 1, spelling, most),
            // Intermediates and one final byte.
            Some(_) => ends_with(bytes, from, how, b' '..=b'/', b'0'..=b'~'),
        },
        0x9b => parameters(from),
        letter if introduces(letter) => string(bytes, from, spelling, most),
        _ => EscapeMatch::No,
    }
}

fn ends_with(
    bytes: &[u8],
    from: usize,
    (spelling, most): (Spelling, usize),
    inside: std::ops::RangeInclusive<u8>,
    last: std::ops::RangeInclusive<u8>,
) -> EscapeMatch {
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        let quoted = spelling == Spelling::Json && matches!(byte, b'"' | b'\\');
        if at >= most || quoted {
            return EscapeMatch::No;
        }
        if !inside.contains(byte) {
            return if last.contains(byte) { EscapeMatch::Length(at + 1) } else { EscapeMatch::No };
        }
    }
    EscapeMatch::More
}

/// Any text up to the string terminator or a bell.
fn string(bytes: &[u8], from: usize, spelling: Spelling, most: usize) -> EscapeMatch {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        if at >= most {
            return EscapeMatch::No;
        }
        let (letter, length) = match (byte, spelling) {
            (0xc2, _) => match bytes.get(at + 1) {
                Some(0x9c) => (0x9c, 2),
                Some(_) => (0x20, 1),
                None => return EscapeMatch::More,
            },
            // The string of JSON ends here, and the sequence with it.
            (b'"', Spelling::Json) => return EscapeMatch::No,
            (b'\\', Spelling::Json) => match spelled(&bytes[at..]) {
                Spelled::More => return EscapeMatch::More,
                Spelled::Letter(letter, length) => (letter, length),
                Spelled::Short(b'n', _) => return EscapeMatch::No,
                Spelled::Short(_, length) => (0x20, length + 1),
                Spelled::No(length) => (0x20, length),
            },
            (byte, _) => (u32::from(if byte.is_ascii() { *byte } else { b' ' }), 1),
        };
        at += length;
        match letter {
            0x07 | 0x9c => return EscapeMatch::Length(at),
            0x0a => return EscapeMatch::No,
            0x1b => return backslash(bytes, at, spelling),
            _ => {}
        }
    }
    EscapeMatch::More
}

/// The backslash that ends a string, behind its escape letter.
fn backslash(bytes: &[u8], at: usize, spelling: Spelling) -> EscapeMatch {
    match (bytes.get(at), spelling) {
        (None, _) => EscapeMatch::More,
        (Some(b'\\'), Spelling::Bytes) => EscapeMatch::Length(at + 1),
        (Some(b'\\'), Spelling::Json) => match bytes.get(at + 1) {
            None => EscapeMatch::More,
            Some(b'\\') => EscapeMatch::Length(at + 2),
            Some(_) => EscapeMatch::No,
        },
        _ => EscapeMatch::No,
    }
}

/// What backslashes spell in the strings of JSON, also in JSON within JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelled {
    /// Nothing that is known here: this many backslashes.
    No(usize),
    More,
    /// A letter by its number, and the length of all.
    Letter(u32, usize),
    /// A letter behind this many backslashes.
    Short(u8, usize),
}

/// The most backslashes in a row that are looked at together.
const BACKSLASHES: usize = 64;

/// Reads what begins with a backslash.
pub(crate) fn spelled(bytes: &[u8]) -> Spelled {
    let run = bytes.iter().take(BACKSLASHES + 1).take_while(|byte| **byte == b'\\').count();
    if run > BACKSLASHES {
        return Spelled::No(BACKSLASHES);
    }
    let Some(kind) = bytes.get(run) else { return Spelled::More };
    if *kind != b'u' {
        return Spelled::Short(*kind, run);
    }
    let mut letter = 0;
    for at in run + 1..run + 5 {
        let Some(byte) = bytes.get(at) else { return Spelled::More };
        let Some(digit) = char::from(*byte).to_digit(16) else { return Spelled::No(run) };
        letter = letter << 4 | digit;
    }
    Spelled::Letter(letter, run + 5)
}

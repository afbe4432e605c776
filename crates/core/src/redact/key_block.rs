//! Private keys: the line they begin with, and which bytes behind it belong to them.

use super::{MatchAt, State};

/// The longest private key, in bytes.
const LONGEST_KEY: u32 = 32 * 1024;

/// What follows on `-----BEGIN `, which has `prefix` bytes.
pub(super) fn key(behind: &[u8], prefix: usize, ends: bool) -> MatchAt {
    const NAMES: [&[u8]; 2] = [b"PRIVATE KEY-----", b"PRIVATE KEY BLOCK-----"];
    const ALGORITHM: usize = 24;
    for kind in 0..=behind.len().min(ALGORITHM) {
        for name in NAMES {
            if behind[kind..].starts_with(name) {
                let then = State::Key(KeyBlock::default());
                return MatchAt::Found { keep: 0, end: prefix + kind + name.len(), then };
            }
            if !ends && name.starts_with(&behind[kind..]) {
                return MatchAt::More;
            }
        }
        match behind.get(kind) {
            Some(b'A'..=b'Z' | b'0'..=b'9' | b' ') => {}
            _ => return MatchAt::Nothing,
        }
    }
    MatchAt::Nothing
}

/// The arrow that agents print between a number and its line.
const ARROW: &[u8] = "→".as_bytes();

/// The body of a private key, up to the end of its last line. Also as text in JSON, indented, and with
/// numbers before its lines.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyBlock {
    bytes: u32,
    last: u8,
    /// The last byte is a backslash that is not escaped itself.
    slash: bool,
    /// In white space, numbers and marks before a line.
    indent: bool,
    /// How much of an arrow before a line was seen last.
    arrow: usize,
    /// How much of `-----END` was seen last.
    end: u8,
    /// Dashes of the last line behind that.
    dashes: u8,
    /// The last byte was the last one of the key.
    over: bool,
}

impl KeyBlock {
    /// Whether this byte still belongs to the key.
    pub(super) fn goes_on(&mut self, byte: u8) -> bool {
        self.bytes += 1;
        if self.over || self.bytes > LONGEST_KEY {
            return false;
        }
        if self.end == 8 {
            self.dashes = if byte == b'-' { self.dashes + 1 } else { 0 };
            self.over = self.dashes == 5;
            return matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'-');
        }
        self.end = match (self.end, byte) {
            (5, b'-') => 5,
            (0..5, b'-') => self.end + 1,
            (5, b'E') | (6, b'N') | (7, b'D') => self.end + 1,
            _ => 0,
        };
        let breaks = byte == b'\n' || byte == b'\r' || (byte == b'n' && self.last == b'\\');
        let before_line = matches!(byte, b' ' | b'\t' | b'0'..=b'9' | b'|' | b'>')
            || ARROW.get(self.arrow) == Some(&byte);
        let in_line = matches!(byte, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9')
            || b"+/=\\-:,".contains(&byte)
            || (byte == b' ' && self.last == b':');
        let belongs = breaks || in_line || (self.indent && before_line);
        self.indent = breaks || (self.indent && before_line);
        if belongs {
            let in_arrow = self.indent && ARROW.get(self.arrow) == Some(&byte);
            self.arrow = if in_arrow { (self.arrow + 1) % ARROW.len() } else { 0 };
            self.last = byte;
            self.slash = byte == b'\\' && !self.slash;
        }
        belongs
    }

    /// What was taken for a part of the key and is none: a backslash that escapes what comes next, which must stay
    /// escaped, or the beginning of a letter that began like an arrow.
    pub(super) fn returned(&self) -> &'static [u8] {
        if self.slash { b"\\" } else { &ARROW[..self.arrow] }
    }
}

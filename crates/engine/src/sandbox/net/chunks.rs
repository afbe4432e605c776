//! Finds the end of a chunked body (RFC 9112, 7.1). The proxy and every server must agree on where a body ends, so
//! anything that servers read in different ways is refused. No I/O.

use std::io;

use super::http::name_of;

/// The longest line between chunks: a size with its extensions, or a field behind the last chunk.
const LINE: usize = 4096;

/// The most bytes behind the last chunk.
const TRAILER: usize = 16 << 10;

#[derive(Debug, Default)]
pub(super) struct Chunks {
    state: State,
    line: Vec<u8>,
    trailer: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the line with the size of a chunk.
    #[default]
    Size,
    /// In a chunk, with so many bytes left.
    Data(u64),
    /// In the line break behind a chunk.
    Behind,
    /// In the fields behind the last chunk.
    Trailer,
    Over,
}

impl Chunks {
    /// How many of the next bytes belong to the body.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut at = 0;
        while at < bytes.len() && self.state != State::Over {
            if let State::Data(left) = self.state {
                let some = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len() - at);
                at += some;
                self.state = match left - some as u64 {
                    0 => State::Behind,
                    left => State::Data(left),
                };
                continue;
            }
            let byte = bytes[at];
            at += 1;
            self.line.push(byte);
            match (self.line.as_slice(), byte) {
                ([.., b'\r', b'\n'], _) => self.line_ends()?,
                // A line break of another kind, for which servers have several meanings.
                (_, b'\n' | 0) | ([.., b'\r', _], _) => return Err(malformed()),
                (line, _) if line.len() > LINE => return Err(malformed()),
                _ => {}
            }
        }
        Ok(at)
    }

    pub(super) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    fn line_ends(&mut self) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        line.truncate(line.len() - 2);
        self.state = match self.state {
            State::Size => match size(&line).ok_or_else(malformed)? {
                0 => State::Trailer,
                size => State::Data(size),
            },
            State::Behind if line.is_empty() => State::Size,
            State::Trailer if line.is_empty() => State::Over,
            State::Trailer => {
                self.trailer += line.len();
                if name_of(&line).is_none() || self.trailer > TRAILER {
                    return Err(malformed());
                }
                State::Trailer
            }
            State::Behind | State::Data(_) | State::Over => return Err(malformed()),
        };
        Ok(())
    }
}

/// Hexadecimal digits and nothing else, but for extensions behind a semicolon.
fn size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?;
    let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let is_shown = line.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    let text = std::str::from_utf8(digits).ok().filter(|_| is_plain && is_shown)?;
    u64::from_str_radix(text, 16).ok()
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the chunks of the request are malformed")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of it is the body, however it comes; `None` if it is malformed.
    fn body(bytes: &[u8]) -> Option<(usize, bool)> {
        let read = |step: usize| {
            let (mut chunks, mut taken) = (Chunks::default(), 0);
            for piece in bytes.chunks(step) {
                let some = chunks.take(piece).ok()?;
                taken += some;
                if some < piece.len() {
                    break;
                }
            }
            Some((taken, chunks.is_over()))
        };
        let whole = read(bytes.len().max(1));
        for step in 1..bytes.len() {
            assert_eq!(read(step), whole, "{step}: {bytes:?}");
        }
        whole
    }

    #[test]
    fn a_body_ends_with_its_empty_chunk() {
        for (text, behind) in [
            ("0\r\n\r\n", ""),
            ("5\r\nhello\r\n0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"),
            ("a;name=\"value\"\r\n0123456789\r\n000\r\n\r\n", "x"),
            ("5\r\n0\r\n\r\n\r\n0\r\nA: b\r\nC: d\r\n\r\n", "0\r\n\r\n"),
        ] {
            let all = format!("{text}{behind}");
            assert_eq!(body(all.as_bytes()), Some((text.len(), true)), "{all:?}");
        }
        assert_eq!(body(b"5\r\nhel"), Some((6, false)));
    }

    #[test]
    fn what_servers_read_in_different_ways_is_refused() {
        for text in [
            "5\nhello\n0\n\n",
            "5\r\nhello0\r\n\r\n",
            "5\r\nhelloX\r\n0\r\n\r\n",
            "5 \r\nhello\r\n0\r\n\r\n",
            " 5\r\nhello\r\n0\r\n\r\n",
            "+5\r\nhello\r\n0\r\n\r\n",
            "-1\r\nhello\r\n0\r\n\r\n",
            "0x5\r\nhello\r\n0\r\n\r\n",
            "5;a\nb\r\nhello\r\n0\r\n\r\n",
            "5\r\r\nhello\r\n0\r\n\r\n",
            "\r\n0\r\n\r\n",
            "10000000000000005\r\nhello\r\n0\r\n\r\n",
            "0\r\nno field\r\n\r\n",
            "0\r\nA: b\r\n c\r\n\r\n",
            "0\r\n\n",
        ] {
            assert_eq!(body(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(body("1;".repeat(LINE).as_bytes()), None);
    }
}

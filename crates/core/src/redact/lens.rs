//! What a reader of the bytes sees: without escape sequences and letters that nobody sees, and with the
//! letters that JSON and HTML spell in another way. Secrets are looked for in that, because a color in
//! the middle of a token does not protect it once it is printed without colors. The bytes themselves are
//! kept beside it ([`Unit`]), so text without a secret passes unchanged.

use std::borrow::Cow;
use std::collections::VecDeque;

use super::StreamKind;
use crate::text::escape::{
    EscapeMatch, Spelled, Spelling, introduces, is_invisible, sequence, spelled,
};

/// The longest sequence that is seen through in a stream, in bytes. More is not held back.
const LONGEST: usize = 4096;

/// The longest name or number of a letter in HTML, with `&` and `;`.
const ENTITY: usize = 10;

/// How many letters are looked at for the next gap.
const FAR: usize = 600;

/// The longest gap that holds nothing but itself: no title and no address.
const SHORT: usize = 8;

/// Bytes that are seen as something else.
#[derive(Debug)]
pub(super) struct Unit {
    /// How many visible bytes are before it, in all of the stream.
    pub(super) at: u64,
    /// Whether it is seen as the one byte there; it is seen as nothing otherwise.
    pub(super) is_letter: bool,
    pub(super) raw: Vec<u8>,
}

/// Tells what is visible in bytes that come in pieces.
#[derive(Debug)]
pub(super) struct Lens {
    kind: StreamKind,
    /// What only the next bytes can tell.
    rest: Vec<u8>,
    /// How many visible bytes there were.
    seen: u64,
    /// In order. Taken off the front as the bytes around them are passed on.
    pub(super) units: VecDeque<Unit>,
}

/// What begins at a byte.
enum Part {
    Plain(usize),
    Gap(usize),
    Letter(u8, usize),
    More,
}

impl Lens {
    pub(super) fn new(kind: StreamKind) -> Self {
        Self { kind, rest: vec![], seen: 0, units: VecDeque::new() }
    }

    /// The visible ones of the next bytes. `ends`: nothing follows.
    pub(super) fn see<'b>(&mut self, bytes: &'b [u8], ends: bool) -> Cow<'b, [u8]> {
        if self.rest.is_empty() {
            if !bytes.iter().any(|byte| BEGINNINGS[usize::from(*byte)]) {
                self.seen += bytes.len() as u64;
                return Cow::Borrowed(bytes);
            }
            return Cow::Owned(self.visible(bytes, ends));
        }
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        Cow::Owned(self.visible(&all, ends))
    }

    fn visible(&mut self, bytes: &[u8], ends: bool) -> Vec<u8> {
        let mut visible = Vec::with_capacity(bytes.len());
        let mut at = 0;
        loop {
            let plain = bytes[at..].iter().position(|byte| BEGINNINGS[usize::from(*byte)]);
            let next = plain.map_or(bytes.len(), |plain| at + plain);
            visible.extend_from_slice(&bytes[at..next]);
            at = next;
            if at == bytes.len() {
                break;
            }
            let (length, letter) = match part(&bytes[at..], self.kind, ends) {
                Part::Plain(length) => {
                    visible.extend_from_slice(&bytes[at..at + length]);
                    at += length;
                    continue;
                }
                Part::More => {
                    self.rest = bytes[at..].to_vec();
                    break;
                }
                Part::Gap(length) => (length, None),
                Part::Letter(letter, length) => (length, Some(letter)),
            };
            let (place, raw) = (self.seen + visible.len() as u64, &bytes[at..at + length]);
            match self.units.back_mut() {
                // Megabytes of zeros are one gap.
                Some(last)
                    if last.at == place
                        && !last.is_letter
                        && letter.is_none()
                        && length <= SHORT =>
                {
                    last.raw.extend_from_slice(raw);
                }
                _ => self.units.push_back(Unit {
                    at: place,
                    is_letter: letter.is_some(),
                    raw: raw.to_vec(),
                }),
            }
            visible.extend(letter);
            at += length;
        }
        self.seen += visible.len() as u64;
        visible
    }

    /// Whether something invisible is directly before the visible byte `at`.
    pub(super) fn gap_at(&self, at: u64) -> bool {
        let first = self.units.partition_point(|unit| unit.at < at);
        self.units.get(first).is_some_and(|unit| unit.at == at && !unit.is_letter)
    }

    /// The first place behind `from` with something invisible before it, as far as a token reaches.
    pub(super) fn gap_behind(&self, from: u64) -> Option<u64> {
        let first = self.units.partition_point(|unit| unit.at <= from);
        let mut some = self.units.range(first..).take(FAR);
        some.find(|unit| !unit.is_letter).map(|unit| unit.at)
    }

    /// Forgets what was not passed on. Everything that was seen counts as passed on.
    pub(super) fn skip(&mut self) -> u64 {
        self.rest.clear();
        self.units.clear();
        self.seen
    }

    /// How many bytes are kept.
    pub(super) fn held(&self) -> usize {
        self.rest.len() + self.units.iter().map(|unit| unit.raw.len()).sum::<usize>()
    }
}

/// A text as it is looked for.
pub(super) fn seen(text: &[u8]) -> Vec<u8> {
    Lens::new(StreamKind::Text).see(text, true).into_owned()
}

/// The bytes at which something may begin that is seen in another way.
static BEGINNINGS: [bool; 256] = {
    let mut is = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is[byte] = matches!(byte, 0..=0x08 | 0x0b..=0x1f | 0x26 | 0x5c | 0x7f | 0xc2 | 0xcd | 0xd8
            | 0xe1..=0xe3 | 0xef | 0xf0 | 0xf3);
        byte += 1;
    }
    is
};

fn part(bytes: &[u8], kind: StreamKind, ends: bool) -> Part {
    let spelling = if kind == StreamKind::Json { Spelling::Json } else { Spelling::Bytes };
    let part = match bytes[0] {
        b'\\' => return escaped(bytes, kind, ends),
        b'&' => return entity(bytes, ends),
        byte if byte.is_ascii() => hidden(bytes, u32::from(byte), 1, spelling),
        _ => match letter(bytes) {
            Some(Ok((letter, length))) => hidden(bytes, letter, length, spelling),
            Some(Err(())) => Part::Plain(1),
            None => Part::More,
        },
    };
    match part {
        Part::More if ends => match letter(bytes) {
            // A sequence without an end: only its first letter vanishes.
            Some(Ok((_, length))) => Part::Gap(length),
            _ => Part::Plain(1),
        },
        part => part,
    }
}

/// The first letter in UTF-8 and its length; `None` if more of it must come.
fn letter(bytes: &[u8]) -> Option<Result<(u32, usize), ()>> {
    let length = match bytes[0] {
        0..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return Some(Err(())),
    };
    let own = &bytes[..bytes.len().min(length)];
    match str::from_utf8(own) {
        Ok(text) => Some(text.chars().next().map(|c| (u32::from(c), length)).ok_or(())),
        Err(error) if error.error_len().is_none() => None,
        Err(_) => Some(Err(())),
    }
}

/// A letter of this length, and the sequence that it begins.
fn hidden(bytes: &[u8], letter: u32, length: usize, spelling: Spelling) -> Part {
    if introduces(letter) {
        return match sequence(bytes, letter, length, spelling, LONGEST) {
            EscapeMatch::Length(length) => Part::Gap(length),
            EscapeMatch::More => Part::More,
            EscapeMatch::No => Part::Gap(length),
        };
    }
    if is_invisible(letter) { Part::Gap(length) } else { Part::Plain(length) }
}

/// What begins with a backslash.
fn escaped(bytes: &[u8], kind: StreamKind, ends: bool) -> Part {
    match spelled(bytes) {
        Spelled::More if ends => Part::Plain(1),
        Spelled::More => Part::More,
        Spelled::No(run) => Part::Plain(run),
        Spelled::Short(b'/', run) => Part::Letter(b'/', run + 1),
        // In other texts this may be a path, and its letters part of a secret.
        Spelled::Short(b'b' | b'f' | b'r', run) if kind == StreamKind::Json && run % 2 == 1 => {
            match run {
                1 => Part::Gap(2),
                run => Part::Plain(run - 1),
            }
        }
        Spelled::Short(_, run) => Part::Plain(run),
        // In JSON within JSON an escape has two backslashes, then four; those before are letters.
        Spelled::Letter(_, length) if !(length - 5).is_power_of_two() => {
            let run = length - 5;
            Part::Plain(run - (1 << run.trailing_zeros()))
        }
        // Halves of the letters of tags and selectors, which need two of these.
        Spelled::Letter(0xdb40 | 0xdc00..=0xddef, length) => Part::Gap(length),
        Spelled::Letter(letter, length) => match hidden(bytes, letter, length, Spelling::Json) {
            Part::More if ends => Part::Gap(length),
            Part::Plain(_) => shown(letter, length).unwrap_or(Part::Plain(length)),
            part => part,
        },
    }
}

/// A visible letter of ASCII. Not those that mean something in JSON: what is left must stay JSON.
fn shown(letter: u32, length: usize) -> Option<Part> {
    let byte = u8::try_from(letter).ok().filter(|byte| matches!(byte, b' '..=b'~'))?;
    (!b"\\\"".contains(&byte)).then_some(Part::Letter(byte, length))
}

/// What begins with an ampersand: a letter by its name or number in HTML.
fn entity(bytes: &[u8], ends: bool) -> Part {
    let some = &bytes[1..bytes.len().min(ENTITY)];
    let is_in = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
    let name = match some.iter().position(|byte| !is_in(byte)) {
        Some(end) if some[end] == b';' => &some[..end],
        None if !ends && some.len() < ENTITY - 1 => return Part::More,
        _ => return Part::Plain(1),
    };
    let number = |digits: &[u8], radix| {
        str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, radix).ok())
    };
    let letter = match name {
        b"amp" => Some(u32::from(b'&')),
        b"lt" => Some(u32::from(b'<')),
        b"gt" => Some(u32::from(b'>')),
        b"quot" => Some(u32::from(b'"')),
        b"apos" => Some(u32::from(b'\'')),
        b"shy" => Some(0xad),
        [b'#', b'x' | b'X', digits @ ..] => number(digits, 16),
        [b'#', digits @ ..] => number(digits, 10),
        _ => None,
    };
    let length = name.len() + 2;
    match letter {
        Some(letter) if is_invisible(letter) => Part::Gap(length),
        Some(0x22) => Part::Letter(b'"', length),
        Some(letter) => shown(letter, length).unwrap_or(Part::Plain(1)),
        None => Part::Plain(1),
    }
}

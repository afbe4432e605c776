//! Secrets in what programs print: found, and replaced by [`MARK`] before anything is written down.
//!
//! First come exact values, in every form in which they are likely to be printed (`forms`), then what
//! keys of well-known services look like (`shapes`). A [`Stream`] finds both whatever the pieces are
//! that the bytes come in, holds back only what could still become a secret, and passes all other
//! bytes through as they are.
//!
//! The search is a table of all pairs of bytes that a secret may begin with. Such a pair is rare in
//! ordinary output, and there are few secrets, so an automaton over all of them would not be faster.

use std::borrow::Cow;
use std::sync::Arc;

mod forms;
mod names;
mod shapes;

pub use names::is_secret_name;
use shapes::{KeyBlock, SHAPES, Seen};

/// What stands in the place of a secret.
pub const MARK: &str = "[redacted]";

/// The shortest value that is taken for a secret, in bytes. Shorter ones are words.
pub const SHORTEST: usize = 8;

/// So much of the beginning of a secret is one, where a text was cut in it.
const CUT: usize = 12;

/// What stands where a text was cut.
const ELLIPSIS: &[u8] = "…".as_bytes();

/// The secrets that must not be written down. Copies are the same.
#[derive(Clone)]
pub struct Secrets(Arc<Known>);

struct Known {
    /// By first byte, the longest first.
    exact: Vec<Vec<Box<[u8]>>>,
    /// Whether anything that is looked for begins with these two bytes: one bit each.
    pairs: Box<[u64; 1024]>,
    /// The same without the shapes.
    exact_pairs: Box<[u64; 1024]>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known: usize = self.0.exact.iter().map(Vec::len).sum();
        write!(f, "Secrets({known} forms)")
    }
}

impl Default for Secrets {
    fn default() -> Self {
        Self::new::<&[u8]>([])
    }
}

impl Secrets {
    /// These values; those that are too short to be secrets are left out.
    pub fn new<T: AsRef<[u8]>>(values: impl IntoIterator<Item = T>) -> Self {
        let mut exact: Vec<Vec<Box<[u8]>>> = vec![vec![]; 256];
        for value in values {
            let value = value.as_ref().trim_ascii();
            if value.len() < SHORTEST {
                continue;
            }
            for form in forms::of(value) {
                exact[usize::from(form[0])].push(form.into_boxed_slice());
            }
        }
        for forms in &mut exact {
            forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
            forms.dedup();
        }
        let mut exact_pairs = Box::new([0; 1024]);
        for form in exact.iter().flatten() {
            set(&mut exact_pairs, form[0], form[1]);
        }
        let mut pairs = exact_pairs.clone();
        for shape in SHAPES {
            set(&mut pairs, shape.prefix[0], shape.prefix[1]);
        }
        Self(Arc::new(Known { exact, pairs, exact_pairs }))
    }

    /// The values of those variables whose names say that they are secret.
    pub fn of_environment<'a>(variables: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let named = variables.into_iter().filter(|(name, value)| is_secret_name(name, value));
        Self::new(named.map(|(_, value)| value))
    }

    /// The text without secrets.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.text(text, Search::All)
    }

    /// The text without the exact values. What only looks like a key stays: for texts that an agent
    /// has to read as they were written.
    pub fn redact_exact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.text(text, Search::Exact)
    }

    fn text<'t>(&self, text: &'t str, search: Search) -> Cow<'t, str> {
        let mut stream = Stream::new(self.clone(), Kind::Text);
        stream.search = search;
        let mut out = Vec::with_capacity(text.len());
        stream.feed(text.as_bytes(), &mut out);
        stream.finish(&mut out);
        if out == text.as_bytes() {
            return Cow::Borrowed(text);
        }
        match String::from_utf8(out) {
            Ok(text) => Cow::Owned(text),
            // A value that is no text may begin or end in the middle of a character.
            Err(error) => Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        }
    }

    /// A stream of such bytes without secrets.
    pub fn stream(&self, kind: Kind) -> Stream {
        Stream::new(self.clone(), kind)
    }

    /// Replaces secrets in a text that is kept.
    pub fn clean(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.redact(text) {
            *text = clean;
        }
    }
}

/// The last two bytes of what came before and these.
fn last_two(before: [u8; 2], bytes: &[u8]) -> [u8; 2] {
    match bytes {
        [] => before,
        [last] => [before[1], *last],
        [.., first, last] => [*first, *last],
    }
}

fn set(pairs: &mut [u64; 1024], a: u8, b: u8) {
    let at = usize::from(a) << 8 | usize::from(b);
    pairs[at / 64] |= 1 << (at % 64);
}

fn has(pairs: &[u64; 1024], a: u8, b: u8) -> bool {
    let at = usize::from(a) << 8 | usize::from(b);
    pairs[at / 64] >> (at % 64) & 1 == 1
}

/// What a stream consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text of any sort.
    Text,
    /// Lines of JSON, which stay JSON: the mark never tears an escape sequence apart.
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Search {
    All,
    Exact,
}

/// What is at a place.
enum Look {
    Nothing,
    /// Only what comes next can tell.
    More,
    /// A secret: its first bytes that stay, where it ends, and how it may go on.
    Found {
        keep: usize,
        end: usize,
        then: State,
    },
}

#[derive(Debug, Clone, Copy)]
enum State {
    Plain,
    /// In a token that is one already: all of its bytes go.
    Token(fn(u8) -> bool),
    /// In a block with a private key.
    Key(KeyBlock),
}

/// Takes secrets out of bytes that come in pieces.
#[derive(Debug)]
pub struct Stream {
    secrets: Secrets,
    search: Search,
    kind: Kind,
    state: State,
    /// What may be the beginning of a secret.
    held: Vec<u8>,
    /// The two bytes before it.
    before: [u8; 2],
    escape: Escape,
}

impl Stream {
    fn new(secrets: Secrets, kind: Kind) -> Self {
        Self {
            secrets,
            search: Search::All,
            kind,
            state: State::Plain,
            held: vec![],
            before: [0; 2],
            escape: Escape::No,
        }
    }

    /// Takes the next bytes, and appends to `out` what is known to be no secret.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.held.is_empty() {
            let taken = self.pass(bytes, false, out);
            self.held.extend_from_slice(&bytes[taken..]);
        } else {
            let mut all = std::mem::take(&mut self.held);
            all.extend_from_slice(bytes);
            let taken = self.pass(&all, false, out);
            all.drain(..taken);
            self.held = all;
        }
    }

    /// Nothing more comes: appends what was held back, and is ready for another text.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.pause(out);
        self.state = State::Plain;
    }

    /// The next bytes are another text, in which only a private key may go on.
    pub fn pause(&mut self, out: &mut Vec<u8>) {
        let last = std::mem::take(&mut self.held);
        self.pass(&last, true, out);
        (self.before, self.escape) = ([0; 2], Escape::No);
        if matches!(self.state, State::Token(_)) {
            self.state = State::Plain;
        }
    }

    /// What comes next does not follow on what came before: what was held back is left out.
    pub fn skip(&mut self) {
        self.held.clear();
        (self.state, self.escape) = (State::Plain, Escape::No);
    }

    /// How many bytes are held back.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Passes on what can be told, and says how much of `bytes` that was.
    fn pass(&mut self, bytes: &[u8], ends: bool, out: &mut Vec<u8>) -> usize {
        let mut at = 0;
        loop {
            at += self.swallowed(&bytes[at..], out);
            let from = at;
            loop {
                at = self.candidate(bytes, at);
                if at == bytes.len() {
                    self.emit(&bytes[from..], out);
                    return at;
                }
                let before = last_two(self.before, &bytes[from..at]);
                match self.look(before, &bytes[at..], ends) {
                    Look::Nothing => at += 1,
                    Look::More => {
                        self.emit(&bytes[from..at], out);
                        return at;
                    }
                    Look::Found { keep, end, then } => {
                        self.emit(&bytes[from..at + keep], out);
                        self.mark(out);
                        at += end;
                        self.before = last_two(self.before, &bytes[..at]);
                        self.state = then;
                        break;
                    }
                }
            }
        }
    }

    /// How many of the next bytes belong to a secret that was found already.
    fn swallowed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let (gone, slash, cut) = match &mut self.state {
            State::Plain => return 0,
            State::Token(class) => (bytes.iter().position(|byte| !class(*byte)), false, &b""[..]),
            State::Key(block) => {
                let gone = bytes.iter().position(|byte| !block.goes_on(*byte));
                (gone, block.ends_in_escape(), block.cut_letter())
            }
        };
        self.before = last_two(self.before, &bytes[..gone.unwrap_or(bytes.len())]);
        if gone.is_some() {
            self.state = State::Plain;
            // What it escapes is not part of the key, and must stay escaped.
            self.emit(if slash { b"\\" } else { cut }, out);
        }
        gone.unwrap_or(bytes.len())
    }

    /// The next place at which a secret may begin.
    fn candidate(&self, bytes: &[u8], from: usize) -> usize {
        let known = &*self.secrets.0;
        let pairs = match self.search {
            Search::All => &known.pairs,
            Search::Exact => &known.exact_pairs,
        };
        let Some((first, rest)) = bytes[from..].split_first() else { return from };
        let mut last = *first;
        let found =
            rest.iter().position(|next| has(pairs, std::mem::replace(&mut last, *next), *next));
        // The last byte may be the first of a pair.
        from + found.unwrap_or(rest.len())
    }

    fn look(&self, before: [u8; 2], rest: &[u8], ends: bool) -> Look {
        let found = |end| Look::Found { keep: 0, end, then: State::Plain };
        for form in &self.secrets.0.exact[usize::from(rest[0])] {
            let same = form.iter().zip(rest).take_while(|(a, b)| a == b).count();
            if same == form.len() {
                return found(same);
            }
            // Where a text was cut there is its end, or a mark.
            let behind = &rest[same..];
            if !ends && ELLIPSIS.starts_with(behind) {
                return Look::More;
            }
            if same >= CUT && (behind.is_empty() || behind.starts_with(ELLIPSIS)) {
                return found(same);
            }
        }
        if self.search == Search::Exact {
            return Look::Nothing;
        }
        for shape in SHAPES.iter().filter(|shape| shape.prefix[0] == rest[0]) {
            match shape.at(before, rest, ends) {
                Seen::Nothing => {}
                Seen::More => return Look::More,
                Seen::Token { keep, end } => {
                    let then = shape.class.map_or(State::Plain, State::Token);
                    return Look::Found { keep, end, then };
                }
                Seen::Key { end } => {
                    let then = State::Key(KeyBlock::default());
                    return Look::Found { keep: 0, end, then };
                }
            }
        }
        Look::Nothing
    }

    fn emit(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
        self.before = last_two(self.before, bytes);
        if self.kind == Kind::Json {
            self.escape = self.escape.after(bytes);
        }
    }

    fn mark(&mut self, out: &mut Vec<u8>) {
        let rest: &[u8] = match std::mem::replace(&mut self.escape, Escape::No) {
            Escape::No => b"",
            Escape::Slash => b"\\",
            Escape::Digits(known) => &b"0000"[usize::from(known).min(4)..],
        };
        out.extend_from_slice(rest);
        out.extend_from_slice(MARK.as_bytes());
    }
}

/// Where in an escape sequence of JSON a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    No,
    /// Behind a backslash that is not escaped itself.
    Slash,
    /// In `\u0000`, behind so many digits.
    Digits(u8),
}

impl Escape {
    fn after(mut self, mut bytes: &[u8]) -> Self {
        while let Some((byte, rest)) = bytes.split_first() {
            self = match (self, byte) {
                (Self::No, _) => match bytes.iter().position(|byte| *byte == b'\\') {
                    Some(at) => {
                        bytes = &bytes[at + 1..];
                        self = Self::Slash;
                        continue;
                    }
                    None => return Self::No,
                },
                (Self::Slash, b'u') => Self::Digits(0),
                (Self::Digits(known @ 0..3), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                    Self::Digits(known + 1)
                }
                (Self::Slash | Self::Digits(_), _) => Self::No,
            };
            bytes = rest;
        }
        self
    }
}

#[cfg(test)]
mod tests;

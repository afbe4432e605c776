//! Secrets in what programs print: found, and replaced by [`MARK`] before anything is written down.
//!
//! First come exact values, in every form in which they are likely to be printed (`forms`), then what
//! keys of well-known services look like (`shapes`). A [`Stream`] finds both whatever the pieces are
//! that the bytes come in and whatever invisible marks are between them (`lens`), holds back only what
//! could still become a secret, and passes all other bytes through as they are.
//!
//! The search is a table of all pairs of bytes that a secret may begin with. Such a pair is rare in
//! ordinary output, and there are few secrets, so an automaton over all of them would not be faster.

use std::borrow::Cow;
use std::sync::Arc;

mod forms;
mod key_block;
mod lens;
mod names;
mod shapes;

use crate::text::printable;
use key_block::KeyBlock;
use lens::Lens;
pub use names::is_secret_name;
use shapes::{SHAPES, Shape};

/// What stands in the place of a secret.
pub const MARK: &str = "[redacted]";

/// The shortest value that is taken for a secret, in bytes. Shorter ones are words.
pub const SHORTEST: usize = 8;

/// So much of the beginning of a secret is one, where a text was cut in it.
const CUT: usize = 12;

/// More than this is not held back, whatever it may become: it is nothing that a reader would see.
const MOST_HELD: usize = 64 << 10;

/// What stands where a text was cut.
const ELLIPSIS: &[u8] = "…".as_bytes();

/// The secrets that must not be written down. Copies are the same.
#[derive(Clone)]
pub struct Secrets(Arc<Known>);

struct Known {
    /// By first byte, the longest first.
    exact: Vec<Vec<Box<[u8]>>>,
    /// By first byte.
    shapes: Vec<Vec<(&'static [u8], &'static Shape)>>,
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
            // Programs print the password of an address alone, too.
            for value in [Some(value), names::password_of(value)].into_iter().flatten() {
                if value.len() < SHORTEST {
                    continue;
                }
                for form in forms::of(value) {
                    exact[usize::from(form[0])].push(form.into_boxed_slice());
                }
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
        let mut shapes: Vec<Vec<(&[u8], &Shape)>> = vec![vec![]; 256];
        for shape in SHAPES {
            for prefix in shape.prefixes() {
                set(&mut pairs, prefix[0], prefix[1]);
                shapes[usize::from(prefix[0])].push((prefix, shape));
            }
        }
        Self(Arc::new(Known { exact, shapes, pairs, exact_pairs }))
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

    /// The order of cleaning is decided here and nowhere else: secrets go first, and again from what is
    /// left when the text is shown. So it makes no difference when a caller makes it printable.
    fn text<'t>(&self, text: &'t str, search: Search) -> Cow<'t, str> {
        let once = self.once(text, search);
        if let Cow::Owned(shown) = printable(&once)
            && let Cow::Owned(clean) = self.once(&shown, search)
        {
            return Cow::Owned(clean);
        }
        once
    }

    fn once<'t>(&self, text: &'t str, search: Search) -> Cow<'t, str> {
        let mut stream = Stream::new(self.clone(), StreamKind::Text);
        stream.search = search;
        let mut out = Vec::with_capacity(text.len());
        stream.feed(text.as_bytes(), &mut out);
        stream.finish(&mut out);
        if out == text.as_bytes() {
            return Cow::Borrowed(text);
        }
        match String::from_utf8(out) {
            Ok(text) => Cow::Owned(text),
            // A value that is not text may begin or end in the middle of a character.
            Err(error) => Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        }
    }

    /// A stream of such bytes without secrets.
    pub fn stream(&self, kind: StreamKind) -> Stream {
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
pub enum StreamKind {
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
enum MatchAt {
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
    kind: StreamKind,
    state: State,
    /// What is visible of the bytes. Everything below is about visible bytes.
    lens: Option<Lens>,
    /// What may be the beginning of a secret.
    held: Vec<u8>,
    /// How many bytes were passed on or left out before it.
    done: u64,
    /// The two bytes before it; zero where something invisible is between.
    before: [u8; 2],
    escape: Escape,
}

impl Stream {
    fn new(secrets: Secrets, kind: StreamKind) -> Self {
        Self {
            secrets,
            search: Search::All,
            kind,
            state: State::Plain,
            lens: Some(Lens::new(kind)),
            held: vec![],
            done: 0,
            before: [0; 2],
            escape: Escape::No,
        }
    }

    /// Takes the next bytes, and appends to `out` what is known to be no secret.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let visible = self.see(bytes, false);
        if self.held.is_empty() {
            let taken = self.pass(&visible, false, out);
            self.held.extend_from_slice(&visible[taken..]);
        } else {
            let mut all = std::mem::take(&mut self.held);
            all.extend_from_slice(&visible);
            let taken = self.pass(&all, false, out);
            all.drain(..taken);
            self.held = all;
        }
        if self.held() > MOST_HELD {
            let last = std::mem::take(&mut self.held);
            self.pass(&last, true, out);
            self.edge(out);
        }
    }

    /// Nothing more comes: appends what was held back, and is ready for another text.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.pause(out);
        self.state = State::Plain;
    }

    /// The next bytes are another text, in which only a private key may go on.
    pub fn pause(&mut self, out: &mut Vec<u8>) {
        let mut last = std::mem::take(&mut self.held);
        last.extend_from_slice(&self.see(&[], true));
        self.pass(&last, true, out);
        self.edge(out);
        (self.before, self.escape) = ([0; 2], Escape::No);
        if matches!(self.state, State::Token(_)) {
            self.state = State::Plain;
        }
    }

    /// What comes next does not follow on what came before: what was held back is left out.
    pub fn skip(&mut self) {
        self.held.clear();
        if let Some(lens) = &mut self.lens {
            self.done = lens.skip();
        }
        (self.state, self.escape) = (State::Plain, Escape::No);
    }

    /// How many bytes are held back.
    pub fn held(&self) -> usize {
        self.held.len() + self.lens.as_ref().map_or(0, Lens::held)
    }

    /// The visible ones of the next bytes. What is in a sequence is not visible, and may hold a secret
    /// of its own: an address with a password behind a link.
    fn see<'b>(&mut self, bytes: &'b [u8], ends: bool) -> Cow<'b, [u8]> {
        let Some(lens) = &mut self.lens else { return Cow::Borrowed(bytes) };
        let known = lens.units.len();
        let visible = lens.see(bytes, ends);
        for unit in lens.units.iter_mut().skip(known).filter(|unit| unit.raw.len() > SHORTEST) {
            let mut stream = Self::new(self.secrets.clone(), self.kind);
            (stream.search, stream.lens) = (self.search, None);
            let mut clean = vec![];
            stream.feed(&unit.raw, &mut clean);
            stream.finish(&mut clean);
            unit.raw = clean;
        }
        visible
    }

    /// Passes on the bytes that are already decided, and says how many of `bytes` those were.
    fn pass(&mut self, bytes: &[u8], ends: bool, out: &mut Vec<u8>) -> usize {
        let mut at = 0;
        loop {
            at += self.swallowed(&bytes[at..], out);
            let from = at;
            loop {
                at = self.candidate(bytes, at);
                if at == bytes.len() {
                    self.emit(&bytes[from..], out);
                    // The last byte of a key may have to follow before it.
                    if !matches!(self.state, State::Key(_)) {
                        self.edge(out);
                    }
                    return at;
                }
                match self.match_at(self.context(&bytes[from..at]), at - from, &bytes[at..], ends) {
                    MatchAt::Nothing => at += 1,
                    MatchAt::More => {
                        self.emit(&bytes[from..at], out);
                        self.edge(out);
                        return at;
                    }
                    MatchAt::Found { keep, end, then } => {
                        self.emit(&bytes[from..at + keep], out);
                        self.edge(out);
                        self.mark(out);
                        self.leave_out(&bytes[at + keep..at + end], out);
                        at += end;
                        self.state = then;
                        break;
                    }
                }
            }
        }
    }

    /// The two bytes before a place that is so far behind what was passed on.
    fn context(&self, passed: &[u8]) -> [u8; 2] {
        let at = self.done + passed.len() as u64;
        let before = last_two(self.before, passed);
        match &self.lens {
            Some(lens) if lens.gap_at(at) => [0; 2],
            Some(lens) if !passed.is_empty() && lens.gap_at(at - 1) => [0, before[1]],
            _ => before,
        }
    }

    /// How many of the next bytes belong to a secret that was found already.
    fn swallowed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> usize {
        let (gone, kept) = match &mut self.state {
            State::Plain => return 0,
            State::Token(class) => (bytes.iter().position(|byte| !class(*byte)), &b""[..]),
            State::Key(block) => {
                (bytes.iter().position(|byte| !block.goes_on(*byte)), block.returned())
            }
        };
        self.leave_out(&bytes[..gone.unwrap_or(bytes.len())], out);
        if gone.is_some() {
            self.state = State::Plain;
            self.put(kept, out);
            self.before = last_two(self.before, kept);
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

    fn match_at(&self, before: [u8; 2], ahead: usize, rest: &[u8], ends: bool) -> MatchAt {
        let found = |end| MatchAt::Found { keep: 0, end, then: State::Plain };
        for form in &self.secrets.0.exact[usize::from(rest[0])] {
            let (same, end) = compare(form, rest);
            if same == form.len() {
                return found(end);
            }
            // Where a text was cut there is its end, or a mark.
            let behind = &rest[end..];
            let unsure = ELLIPSIS.starts_with(behind)
                || wrap(behind).is_none() && same >= WRAPPED
                || may_spell(&form[same..], behind);
            if !ends && unsure {
                return MatchAt::More;
            }
            if same >= CUT && (behind.is_empty() || behind.starts_with(ELLIPSIS)) {
                return found(end);
            }
        }
        if self.search == Search::Exact {
            return MatchAt::Nothing;
        }
        let shapes = &self.secrets.0.shapes[usize::from(rest[0])];
        if shapes.is_empty() {
            return MatchAt::Nothing;
        }
        let here = self.done + ahead as u64;
        let gap = self.lens.as_ref().and_then(|lens| lens.gap_behind(here));
        let gap = gap.and_then(|gap| usize::try_from(gap - here).ok());
        for (prefix, shape) in shapes {
            match shape.at(prefix, before, rest, gap, ends) {
                MatchAt::Nothing => {}
                found => return found,
            }
        }
        MatchAt::Nothing
    }

    /// Passes visible bytes on, as they came.
    fn emit(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while let Some(unit) = self.unit_before(self.done + bytes.len() as u64) {
            let (plain, rest) = bytes.split_at((unit.at - self.done) as usize);
            self.put(plain, out);
            self.put(&unit.raw, out);
            let own = usize::from(unit.is_letter);
            let before = if unit.is_letter { last_two(self.before, plain) } else { [0; 2] };
            self.before = last_two(before, &rest[..own]);
            self.done = unit.at + own as u64;
            bytes = &rest[own..];
        }
        self.put(bytes, out);
        self.before = last_two(self.before, bytes);
        self.done += bytes.len() as u64;
    }

    /// Leaves visible bytes out. What is invisible between them stays: it may be the end of a color.
    fn leave_out(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let end = self.done + bytes.len() as u64;
        while let Some(unit) = self.unit_before(end) {
            if !unit.is_letter {
                self.put(&unit.raw, out);
            }
        }
        self.before = last_two(self.before, bytes);
        self.done = end;
    }

    /// Passes on what is invisible directly behind the bytes that are done.
    fn edge(&mut self, out: &mut Vec<u8>) {
        while self.lens.as_ref().is_some_and(|lens| {
            lens.units.front().is_some_and(|unit| unit.at == self.done && !unit.is_letter)
        }) {
            if let Some(unit) = self.unit_before(self.done + 1) {
                self.put(&unit.raw, out);
                self.before = [0; 2];
            }
        }
    }

    fn unit_before(&mut self, end: u64) -> Option<lens::Unit> {
        let units = &mut self.lens.as_mut()?.units;
        if units.front()?.at < end { units.pop_front() } else { None }
    }

    fn put(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
        if self.kind == StreamKind::Json {
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

/// So much of a value is before a line break in it. Less is the end of many lines, which would wait for
/// the next ones; `forms` has the values without their beginning.
const WRAPPED: usize = 4;

/// The most white space behind a line break in a value.
const INDENT: usize = 16;

/// How many bytes of a form are there, and how many bytes they take with the line breaks in them. Backslashes before a
/// slash spell the slash: as many as something invisible among them leaves.
fn compare(form: &[u8], rest: &[u8]) -> (usize, usize) {
    let (mut same, mut end) = (0, 0);
    loop {
        let more = form[same..].iter().zip(&rest[end..]).take_while(|(a, b)| a == b).count();
        (same, end) = (same + more, end + more);
        if same == form.len() {
            return (same, end);
        }
        let [spelling, spelled] = [&form[same..], &rest[end..]].map(backslashes);
        let slashes = [form.get(same + spelling), rest.get(end + spelled)];
        if spelling + spelled > 0 && slashes == [Some(&b'/'); 2] {
            (same, end) = (same + spelling, end + spelled);
            continue;
        }
        if same < WRAPPED {
            return (same, end);
        }
        match wrap(&rest[end..]) {
            Some(length) if length > 0 && rest.get(end + length) == Some(&form[same]) => {
                end += length;
            }
            _ => return (same, end),
        }
    }
}

/// How many backslashes begin here.
fn backslashes(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| **byte == b'\\').count()
}

/// Whether only the next bytes tell if these backslashes spell a slash of a form.
fn may_spell(form: &[u8], behind: &[u8]) -> bool {
    backslashes(behind) == behind.len() && form.get(backslashes(form)) == Some(&b'/')
}

/// The length of the line break that begins here, with the white space behind it: as it is, and as JSON
/// writes it. 0 if there is none, `None` if more must come to tell.
fn wrap(rest: &[u8]) -> Option<usize> {
    let slashes = rest.iter().take(4).take_while(|byte| **byte == b'\\').count();
    let breaks = match (slashes, rest.get(slashes)) {
        (_, None) => return None,
        (0, Some(b'\n')) | (1.., Some(b'n')) => slashes + 1,
        _ => return Some(0),
    };
    let white = rest[breaks..].iter().take(INDENT).take_while(|byte| b" \t".contains(byte)).count();
    (breaks + white < rest.len()).then_some(breaks + white)
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

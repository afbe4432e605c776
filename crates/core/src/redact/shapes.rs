//! What keys look like whose values nobody told: tokens of well-known services, private keys, and
//! passwords in addresses. Careful with what only resembles them: hashes, ids and names with dashes
//! stay.

/// The longest part of a token that is looked at; what follows belongs to it as well.
const MOST: usize = 512;

/// The longest private key, in bytes.
const LONGEST_KEY: u32 = 32 * 1024;

/// One kind of secret.
pub(super) struct Shape {
    /// What it begins with, at least two bytes.
    pub(super) prefix: &'static [u8],
    /// The bytes of a token; `None` where it is no token.
    pub(super) class: Option<fn(u8) -> bool>,
    how: How,
}

enum How {
    /// A token whose bytes behind the prefix are like this.
    Token(fn(&[u8]) -> bool),
    /// The same; the prefix stays.
    Behind(fn(&[u8]) -> bool),
    /// A block with a private key.
    Key,
    /// A user and a password in an address. Both go: the name may be a token.
    Login,
}

/// What a shape sees at a place.
pub(super) enum Seen {
    Nothing,
    More,
    Token { keep: usize, end: usize },
    Key { end: usize },
}

const fn token(prefix: &'static [u8], class: fn(u8) -> bool, is: fn(&[u8]) -> bool) -> Shape {
    Shape { prefix, class: Some(class), how: How::Token(is) }
}

const fn bearer(prefix: &'static [u8]) -> Shape {
    Shape {
        prefix,
        class: Some(in_header),
        how: How::Behind(|rest| rest.len() >= 16 && digit(rest)),
    }
}

/// Every kind.
pub(super) const SHAPES: &[Shape] = &[
    token(b"sk-", word, |rest| rest.len() >= 20 && digit(rest) && run(rest) >= 12),
    token(b"sk_live_", word, |rest| rest.len() >= 16),
    token(b"rk_live_", word, |rest| rest.len() >= 16),
    token(b"ghp_", letter, |rest| rest.len() >= 30),
    token(b"gho_", letter, |rest| rest.len() >= 30),
    token(b"ghu_", letter, |rest| rest.len() >= 30),
    token(b"ghs_", letter, |rest| rest.len() >= 30),
    token(b"ghr_", letter, |rest| rest.len() >= 30),
    token(b"github_pat_", word, |rest| rest.len() >= 22),
    token(b"glpat-", word, |rest| rest.len() >= 20),
    token(b"npm_", letter, |rest| rest.len() >= 36),
    token(b"AIza", word, |rest| rest.len() == 35),
    token(b"AKIA", letter, |rest| rest.len() == 16 && rest.iter().all(capital)),
    token(b"ASIA", letter, |rest| rest.len() == 16 && rest.iter().all(capital)),
    token(b"xoxa-", word, slack),
    token(b"xoxb-", word, slack),
    token(b"xoxe-", word, slack),
    token(b"xoxp-", word, slack),
    token(b"xoxr-", word, slack),
    token(b"xoxs-", word, slack),
    bearer(b"Bearer "),
    bearer(b"bearer "),
    bearer(b"BEARER "),
    Shape { prefix: b"-----BEGIN ", class: None, how: How::Key },
    Shape { prefix: b"://", class: None, how: How::Login },
];

fn letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn in_header(byte: u8) -> bool {
    word(byte) || b".~+/=".contains(&byte)
}

fn capital(byte: &u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn digit(rest: &[u8]) -> bool {
    rest.iter().any(u8::is_ascii_digit)
}

fn slack(rest: &[u8]) -> bool {
    rest.len() >= 10 && digit(rest)
}

/// The longest run of letters and digits.
fn run(rest: &[u8]) -> usize {
    rest.split(|byte| !letter(*byte)).map(<[u8]>::len).max().unwrap_or(0)
}

impl Shape {
    /// What is at the beginning of `rest`, which follows on the bytes `before`.
    pub(super) fn at(&self, before: [u8; 2], rest: &[u8], ends: bool) -> Seen {
        let Some(behind) = rest.strip_prefix(self.prefix) else {
            let more = !ends && self.prefix.starts_with(rest);
            return if more { Seen::More } else { Seen::Nothing };
        };
        match self.how {
            How::Token(is) => self.token(before, behind, 0, is, ends),
            How::Behind(is) => self.token(before, behind, self.prefix.len(), is, ends),
            How::Key => key(behind, self.prefix.len(), ends),
            How::Login => login(behind, self.prefix.len(), ends),
        }
    }

    fn token(
        &self,
        before: [u8; 2],
        behind: &[u8],
        keep: usize,
        is: fn(&[u8]) -> bool,
        ends: bool,
    ) -> Seen {
        let class = self.class.unwrap_or(word);
        // The middle of another word; but `\n` of JSON is none.
        if word(before[1]) && before[0] != b'\\' {
            return Seen::Nothing;
        }
        let part = &behind[..behind.len().min(MOST)];
        let length = part.iter().position(|byte| !class(*byte)).unwrap_or(part.len());
        if length == behind.len() && length < MOST && !ends {
            return Seen::More;
        }
        match is(&behind[..length]) {
            true => Seen::Token { keep, end: self.prefix.len() + length },
            false => Seen::Nothing,
        }
    }
}

fn key(behind: &[u8], prefix: usize, ends: bool) -> Seen {
    const NAMES: [&[u8]; 2] = [b"PRIVATE KEY-----", b"PRIVATE KEY BLOCK-----"];
    const ALGORITHM: usize = 24;
    for kind in 0..=behind.len().min(ALGORITHM) {
        for name in NAMES {
            if behind[kind..].starts_with(name) {
                return Seen::Key { end: prefix + kind + name.len() };
            }
            if !ends && name.starts_with(&behind[kind..]) {
                return Seen::More;
            }
        }
        match behind.get(kind) {
            Some(b'A'..=b'Z' | b'0'..=b'9' | b' ') => {}
            _ => return Seen::Nothing,
        }
    }
    Seen::Nothing
}

fn login(behind: &[u8], prefix: usize, ends: bool) -> Seen {
    let part = &behind[..behind.len().min(MOST)];
    let is_in = |byte: &u8| byte.is_ascii_graphic() && !b"\"'\\/@<>`,;()".contains(byte);
    let length = part.iter().position(|byte| !is_in(byte)).unwrap_or(part.len());
    if length == behind.len() && length < MOST && !ends {
        return Seen::More;
    }
    let colon = part[..length].iter().position(|byte| *byte == b':');
    match (colon, part.get(length)) {
        (Some(colon), Some(b'@')) if colon + 1 < length => {
            Seen::Token { keep: prefix, end: prefix + length }
        }
        _ => Seen::Nothing,
    }
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

    /// The beginning of a letter that was taken for an arrow and is another one.
    pub(super) fn cut_letter(&self) -> &'static [u8] {
        &ARROW[..self.arrow]
    }

    /// Whether what comes next is escaped by the last byte of the key.
    pub(super) fn ends_in_escape(&self) -> bool {
        self.slash
    }
}

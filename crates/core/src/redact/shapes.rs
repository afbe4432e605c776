//! How keys look whose values nobody told: tokens of well-known services, private keys, and passwords in
//! addresses. The table is the data, one row for each kind; hashes, ids, images in base64 and names
//! with dashes must stay.

use super::key_block::key;

/// The longest part of a token that is looked at; what follows belongs to it as well.
const MOST: usize = 512;

/// One kind of secret.
pub(super) struct Shape {
    /// What it begins with, at least two bytes.
    pub(super) prefix: &'static [u8],
    /// The bytes of a token; `None` where the shape is not a token.
    pub(super) class: Option<fn(u8) -> bool>,
    how: How,
}

enum How {
    /// A token: how many bytes are behind the prefix, and what else must be true of them.
    Token(Length, Needs),
    /// The same; the prefix stays.
    Behind(Length, Needs),
    /// A block with a private key.
    Key,
    /// A user and a password in an address. Both go: the name may be a token.
    Login,
}

#[derive(Clone, Copy)]
enum Length {
    Exactly(usize),
    AtLeast(usize),
}

use Length::{AtLeast, Exactly};

/// What tells a token from a word of the same letters.
#[derive(Clone, Copy)]
enum Needs {
    Nothing,
    Digit,
    /// A digit, and a run of letters and digits that is longer than a word.
    DigitAndRun,
    /// Nothing but capitals and digits.
    Capitals,
    /// Three parts with dots between them, of which the second is JSON in base64 as well.
    Jwt,
    /// Two parts with a dot between them.
    SendGrid,
    /// Base64 with letters of both cases, of whole groups of four.
    Base64,
}

/// What a shape sees at a place.
pub(super) enum ShapeMatch {
    Nothing,
    More,
    Token {
        keep: usize,
        end: usize,
    },
    /// A token that ends where something invisible is, whatever follows.
    Cut {
        keep: usize,
        end: usize,
    },
    Key {
        end: usize,
    },
}

const fn token(
    prefix: &'static [u8],
    class: fn(u8) -> bool,
    length: Length,
    needs: Needs,
) -> Shape {
    Shape { prefix, class: Some(class), how: How::Token(length, needs) }
}

const fn behind(prefix: &'static [u8], class: fn(u8) -> bool, least: usize, needs: Needs) -> Shape {
    Shape { prefix, class: Some(class), how: How::Behind(AtLeast(least), needs) }
}

/// Every kind: what it begins with, its letters, its length without the prefix, and what else it needs.
pub(super) const SHAPES: &[Shape] = &[
    // Models
    token(b"sk-", word, AtLeast(20), Needs::DigitAndRun),
    token(b"hf_", letter, AtLeast(34), Needs::Nothing),
    token(b"gsk_", letter, AtLeast(48), Needs::Nothing),
    token(b"xai-", letter, AtLeast(64), Needs::Digit),
    token(b"r8_", letter, Exactly(37), Needs::Nothing),
    token(b"pplx-", letter, AtLeast(48), Needs::Nothing),
    token(b"nvapi-", word, AtLeast(60), Needs::Digit),
    // Forges and registries
    token(b"ghp_", letter, AtLeast(30), Needs::Nothing),
    token(b"gho_", letter, AtLeast(30), Needs::Nothing),
    token(b"ghu_", letter, AtLeast(30), Needs::Nothing),
    token(b"ghs_", letter, AtLeast(30), Needs::Nothing),
    token(b"ghr_", letter, AtLeast(30), Needs::Nothing),
    token(b"github_pat_", word, AtLeast(22), Needs::Nothing),
    token(b"glpat-", word, AtLeast(20), Needs::Nothing),
    token(b"gldt-", word, AtLeast(20), Needs::Digit),
    token(b"glrt-", word, AtLeast(20), Needs::Digit),
    token(b"glptt-", word, AtLeast(20), Needs::Digit),
    token(b"glcbt-", word, AtLeast(20), Needs::Digit),
    token(b"glimt-", word, AtLeast(20), Needs::Digit),
    token(b"glagent-", word, AtLeast(20), Needs::Digit),
    token(b"glsoat-", word, AtLeast(20), Needs::Digit),
    token(b"npm_", letter, AtLeast(36), Needs::Nothing),
    token(b"pypi-", word, AtLeast(50), Needs::Digit),
    token(b"rubygems_", hex, Exactly(48), Needs::Nothing),
    token(b"dckr_pat_", word, AtLeast(27), Needs::Nothing),
    token(b"ATATT3", in_header, AtLeast(100), Needs::Nothing),
    // Clouds
    token(b"AKIA", letter, Exactly(16), Needs::Capitals),
    token(b"ASIA", letter, Exactly(16), Needs::Capitals),
    token(b"ABIA", letter, Exactly(16), Needs::Capitals),
    token(b"ACCA", letter, Exactly(16), Needs::Capitals),
    token(b"AIza", word, Exactly(35), Needs::Nothing),
    token(b"ya29.", dotted, AtLeast(30), Needs::Digit),
    token(b"GOCSPX-", word, AtLeast(28), Needs::Nothing),
    token(b"dop_v1_", hex, Exactly(64), Needs::Nothing),
    token(b"doo_v1_", hex, Exactly(64), Needs::Nothing),
    token(b"dor_v1_", hex, Exactly(64), Needs::Nothing),
    token(b"dapi", hex, Exactly(32), Needs::Nothing),
    token(b"hvs.", word, AtLeast(24), Needs::Digit),
    token(b"hvb.", word, AtLeast(24), Needs::Digit),
    token(b"pul-", hex, Exactly(40), Needs::Nothing),
    token(b"sbp_", hex, Exactly(40), Needs::Nothing),
    token(b"tskey-", word, AtLeast(24), Needs::Digit),
    token(b"FlyV1 fm2_", in_header, AtLeast(40), Needs::Nothing),
    token(b"glsa_", word, AtLeast(40), Needs::Nothing),
    token(b"glc_", in_header, AtLeast(40), Needs::Digit),
    token(b"NRAK-", letter, Exactly(27), Needs::Capitals),
    token(b"sntrys_", in_header, AtLeast(60), Needs::Digit),
    token(b"sntryu_", hex, Exactly(64), Needs::Nothing),
    // Payment
    token(b"sk_live_", word, AtLeast(16), Needs::Nothing),
    token(b"rk_live_", word, AtLeast(16), Needs::Nothing),
    token(b"sk_test_", word, AtLeast(16), Needs::DigitAndRun),
    token(b"rk_test_", word, AtLeast(16), Needs::DigitAndRun),
    token(b"whsec_", in_header, AtLeast(32), Needs::Digit),
    token(b"sq0atp-", word, AtLeast(22), Needs::Nothing),
    token(b"sq0csp-", word, AtLeast(43), Needs::Nothing),
    token(b"shpat_", hex, Exactly(32), Needs::Nothing),
    token(b"shpca_", hex, Exactly(32), Needs::Nothing),
    token(b"shppa_", hex, Exactly(32), Needs::Nothing),
    token(b"shpss_", hex, Exactly(32), Needs::Nothing),
    // Messages and tools
    token(b"xoxa-", word, AtLeast(10), Needs::Digit),
    token(b"xoxb-", word, AtLeast(10), Needs::Digit),
    token(b"xoxc-", word, AtLeast(10), Needs::Digit),
    token(b"xoxd-", word, AtLeast(10), Needs::Digit),
    token(b"xoxe-", word, AtLeast(10), Needs::Digit),
    token(b"xoxp-", word, AtLeast(10), Needs::Digit),
    token(b"xoxr-", word, AtLeast(10), Needs::Digit),
    token(b"xoxs-", word, AtLeast(10), Needs::Digit),
    token(b"xapp-", word, AtLeast(30), Needs::Digit),
    token(b"SG.", dotted, Exactly(66), Needs::SendGrid),
    token(b"key-", hex, Exactly(32), Needs::Nothing),
    token(b"PMAK-", word, Exactly(59), Needs::Nothing),
    token(b"lin_api_", letter, AtLeast(40), Needs::Nothing),
    token(b"figd_", word, AtLeast(40), Needs::Nothing),
    token(b"AGE-SECRET-KEY-1", letter, Exactly(58), Needs::Capitals),
    behind(b".slack.com/services/", in_header, 30, Needs::Digit),
    behind(b"/api/webhooks/", in_header, 60, Needs::Digit),
    // Anything signed or sent as a header
    token(b"eyJ", dotted, AtLeast(30), Needs::Jwt),
    behind(b"Bearer ", in_header, 16, Needs::Digit),
    behind(b"bearer ", in_header, 16, Needs::Digit),
    behind(b"BEARER ", in_header, 16, Needs::Digit),
    behind(b"Basic ", in_header, 12, Needs::Base64),
    behind(b"basic ", in_header, 12, Needs::Base64),
    Shape { prefix: b"-----BEGIN ", class: None, how: How::Key },
    Shape { prefix: b"://", class: None, how: How::Login },
];

fn letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn dotted(byte: u8) -> bool {
    word(byte) || byte == b'.'
}

fn in_header(byte: u8) -> bool {
    word(byte) || b".~+/=".contains(&byte)
}

fn digit(rest: &[u8]) -> bool {
    rest.iter().any(u8::is_ascii_digit)
}

/// The longest run of letters and digits.
fn run(rest: &[u8]) -> usize {
    rest.split(|byte| !letter(*byte)).map(<[u8]>::len).max().unwrap_or(0)
}

impl Length {
    fn allows(self, length: usize) -> bool {
        match self {
            Exactly(exactly) => length == exactly,
            AtLeast(least) => length >= least,
        }
    }
}

impl Needs {
    fn are_met_by(self, rest: &[u8]) -> bool {
        let parts: Vec<&[u8]> = match self {
            Self::Jwt | Self::SendGrid => rest.split(|byte| *byte == b'.').collect(),
            _ => vec![],
        };
        match self {
            Self::Nothing => true,
            Self::Digit => digit(rest),
            Self::DigitAndRun => digit(rest) && run(rest) >= 12,
            Self::Capitals => {
                rest.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            }
            // A full stop behind it is one of the sentence.
            Self::Jwt => match parts[..] {
                [head, body, sign] | [head, body, sign, b""] => {
                    head.len() >= 8
                        && (body.starts_with(b"eyJ") || body == b"e30")
                        && sign.len() >= 10
                }
                _ => false,
            },
            Self::SendGrid => matches!(parts[..], [id, key] if id.len() == 22 && key.len() == 43),
            Self::Base64 => {
                rest.len().is_multiple_of(4)
                    && rest.iter().any(u8::is_ascii_uppercase)
                    && rest.iter().any(u8::is_ascii_lowercase)
                    && (digit(rest) || rest.ends_with(b"="))
            }
        }
    }
}

impl Shape {
    /// What is at the beginning of `rest`, which follows on the bytes `before`. Something invisible is
    /// before the byte `gap`: a token may end there or go on.
    pub(super) fn at(
        &self,
        before: [u8; 2],
        rest: &[u8],
        gap: Option<usize>,
        ends: bool,
    ) -> ShapeMatch {
        let Some(behind) = rest.strip_prefix(self.prefix) else {
            let more = !ends && self.prefix.starts_with(rest);
            return if more { ShapeMatch::More } else { ShapeMatch::Nothing };
        };
        let gap = gap.and_then(|gap| gap.checked_sub(self.prefix.len()));
        match self.how {
            How::Token(length, needs) => self.token(before, behind, gap, 0, (length, needs), ends),
            How::Behind(length, needs) => {
                self.token(before, behind, gap, self.prefix.len(), (length, needs), ends)
            }
            How::Key => key(behind, self.prefix.len(), ends),
            How::Login => login(behind, self.prefix.len(), ends),
        }
    }

    fn token(
        &self,
        before: [u8; 2],
        behind: &[u8],
        gap: Option<usize>,
        keep: usize,
        (length, needs): (Length, Needs),
        ends: bool,
    ) -> ShapeMatch {
        let class = self.class.unwrap_or(word);
        // The middle of another word; but `\n` of JSON is none.
        if word(self.prefix[0]) && word(before[1]) && before[0] != b'\\' {
            return ShapeMatch::Nothing;
        }
        let part = &behind[..behind.len().min(MOST)];
        let found = part.iter().position(|byte| !class(*byte)).unwrap_or(part.len());
        if found == behind.len() && found < MOST && !ends {
            return ShapeMatch::More;
        }
        let is = |count: usize| length.allows(count) && needs.are_met_by(&behind[..count]);
        let end = |count: usize| self.prefix.len() + count;
        match gap {
            _ if is(found) => ShapeMatch::Token { keep, end: end(found) },
            Some(gap) if gap < found && is(gap) => ShapeMatch::Cut { keep, end: end(gap) },
            _ => ShapeMatch::Nothing,
        }
    }
}

fn login(behind: &[u8], prefix: usize, ends: bool) -> ShapeMatch {
    let part = &behind[..behind.len().min(MOST)];
    let is_in = |byte: &u8| byte.is_ascii_graphic() && !b"\"'\\/@<>`,;()".contains(byte);
    let length = part.iter().position(|byte| !is_in(byte)).unwrap_or(part.len());
    if length == behind.len() && length < MOST && !ends {
        return ShapeMatch::More;
    }
    let colon = part[..length].iter().position(|byte| *byte == b':');
    match (colon, part.get(length)) {
        (Some(colon), Some(b'@')) if colon + 1 < length => {
            ShapeMatch::Token { keep: prefix, end: prefix + length }
        }
        _ => ShapeMatch::Nothing,
    }
}

#[cfg(test)]
impl Shape {
    /// A token of this shape, and one that is a byte too short; none for shapes that are not tokens.
    pub(super) fn examples(&self) -> Option<(String, String)> {
        let (How::Token(length, needs) | How::Behind(length, needs)) = self.how else {
            return None;
        };
        let count = match length {
            Exactly(count) | AtLeast(count) => count,
        };
        let class = self.class?;
        let capitals = matches!(needs, Needs::Capitals);
        let letters = (0..).map(|at: usize| b"7aB3dE1fC9b0"[at * 7 % 12]);
        let letters = letters.filter(|byte| !capitals || !byte.is_ascii_lowercase());
        let body = |count: usize| -> String {
            let text: String = letters.clone().take(count).map(char::from).collect();
            match needs {
                Needs::Jwt => format!("hbGciOiJ9.eyJzdWIifQ.{}", &text[..count - 20]),
                Needs::SendGrid => format!("{}.{}", &text[..22], &text[23..]),
                _ => text,
            }
        };
        assert!(body(count).bytes().all(class));
        let prefix = str::from_utf8(self.prefix).ok()?;
        Some((format!("{prefix}{}", body(count)), format!("{prefix}{}", body(count - 1))))
    }

    /// What stays of a token.
    pub(super) fn kept(&self) -> &'static str {
        match self.how {
            How::Behind(..) => str::from_utf8(self.prefix).unwrap_or_default(),
            _ => "",
        }
    }
}

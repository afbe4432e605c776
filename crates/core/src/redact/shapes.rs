//! How keys look whose values nobody told: tokens of well-known services, private keys, and passwords in
//! addresses. The table is the data, one row for each kind; hashes, ids, images in base64 and names
//! with dashes must stay.

use super::key_block::key;
use super::{MatchAt, State};

/// The longest part of a token that is looked at; what follows belongs to it as well.
const MOST: usize = 512;

/// One kind of secret.
pub(super) struct Shape {
    /// What it may begin with, at least two bytes each, with bars between them.
    prefixes: &'static str,
    /// The bytes of a token; `None` where the shape is not a token.
    pub(super) class: Option<IsIn>,
    pub(super) how: How,
}

pub(super) enum How {
    /// A token: how many bytes are behind the prefix, and what else must be true of them.
    Token(Length, Needs),
    /// The same; the prefix stays.
    Behind(Length, Needs),
    Key,
    /// A user and a password in an address. Both go: the name may be a token.
    Login,
}

#[derive(Clone, Copy)]
pub(super) enum Length {
    Exactly(usize),
    AtLeast(usize),
}

use Length::{AtLeast, Exactly};

/// What tells a token from a word of the same letters.
#[derive(Clone, Copy)]
pub(super) enum Needs {
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

pub(super) type IsIn = fn(u8) -> bool;

const fn token(prefixes: &'static str, class: IsIn, length: Length, needs: Needs) -> Shape {
    Shape { prefixes, class: Some(class), how: How::Token(length, needs) }
}

const fn behind(prefixes: &'static str, class: IsIn, least: usize, needs: Needs) -> Shape {
    Shape { prefixes, class: Some(class), how: How::Behind(AtLeast(least), needs) }
}

/// Every kind: what it begins with, its letters, its length without the prefix, and what else it needs.
pub(super) const SHAPES: &[Shape] = &[
    // Models
    token("sk-", word, AtLeast(20), Needs::DigitAndRun),
    token("hf_", letter, AtLeast(34), Needs::Nothing),
    token("gsk_|pplx-", letter, AtLeast(48), Needs::Nothing),
    token("xai-", letter, AtLeast(64), Needs::Digit),
    token("r8_", letter, Exactly(37), Needs::Nothing),
    token("nvapi-", word, AtLeast(60), Needs::Digit),
    // Forges and registries
    token("ghp_|gho_|ghu_|ghs_|ghr_", letter, AtLeast(30), Needs::Nothing),
    token("github_pat_", word, AtLeast(22), Needs::Nothing),
    token("glpat-", word, AtLeast(20), Needs::Nothing),
    token("gldt-|glrt-|glptt-|glcbt-|glimt-|glagent-|glsoat-", word, AtLeast(20), Needs::Digit),
    token("npm_", letter, AtLeast(36), Needs::Nothing),
    token("pypi-", word, AtLeast(50), Needs::Digit),
    token("rubygems_", hex, Exactly(48), Needs::Nothing),
    token("dckr_pat_", word, AtLeast(27), Needs::Nothing),
    token("ATATT3", in_header, AtLeast(100), Needs::Nothing),
    // Clouds
    token("AKIA|ASIA|ABIA|ACCA", letter, Exactly(16), Needs::Capitals),
    token("AIza", word, Exactly(35), Needs::Nothing),
    token("ya29.", dotted, AtLeast(30), Needs::Digit),
    token("GOCSPX-", word, AtLeast(28), Needs::Nothing),
    token("dop_v1_|doo_v1_|dor_v1_", hex, Exactly(64), Needs::Nothing),
    token("dapi", hex, Exactly(32), Needs::Nothing),
    token("hvs.|hvb.|tskey-", word, AtLeast(24), Needs::Digit),
    token("pul-|sbp_", hex, Exactly(40), Needs::Nothing),
    token("FlyV1 fm2_", in_header, AtLeast(40), Needs::Nothing),
    token("glsa_", word, AtLeast(40), Needs::Nothing),
    token("glc_", in_header, AtLeast(40), Needs::Digit),
    token("NRAK-", letter, Exactly(27), Needs::Capitals),
    token("sntrys_", in_header, AtLeast(60), Needs::Digit),
    token("sntryu_", hex, Exactly(64), Needs::Nothing),
    // Payment
    token("sk_live_|rk_live_", word, AtLeast(16), Needs::Nothing),
    token("sk_test_|rk_test_", word, AtLeast(16), Needs::DigitAndRun),
    token("whsec_", in_header, AtLeast(32), Needs::Digit),
    token("sq0atp-", word, AtLeast(22), Needs::Nothing),
    token("sq0csp-", word, AtLeast(43), Needs::Nothing),
    token("shpat_|shpca_|shppa_|shpss_", hex, Exactly(32), Needs::Nothing),
    // Messages and tools
    token("xoxa-|xoxb-|xoxc-|xoxd-|xoxe-|xoxp-|xoxr-|xoxs-", word, AtLeast(10), Needs::Digit),
    token("xapp-", word, AtLeast(30), Needs::Digit),
    token("SG.", dotted, Exactly(66), Needs::SendGrid),
    token("key-", hex, Exactly(32), Needs::Nothing),
    token("PMAK-", word, Exactly(59), Needs::Nothing),
    token("lin_api_", letter, AtLeast(40), Needs::Nothing),
    token("figd_", word, AtLeast(40), Needs::Nothing),
    token("AGE-SECRET-KEY-1", letter, Exactly(58), Needs::Capitals),
    behind(".slack.com/services/", in_header, 30, Needs::Digit),
    behind("/api/webhooks/", in_header, 60, Needs::Digit),
    // Anything signed or sent as a header
    token("eyJ", dotted, AtLeast(30), Needs::Jwt),
    behind("Bearer |bearer |BEARER ", in_header, 16, Needs::Digit),
    behind("Basic |basic ", in_header, 12, Needs::Base64),
    Shape { prefixes: "-----BEGIN ", class: None, how: How::Key },
    Shape { prefixes: "://", class: None, how: How::Login },
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
    pub(super) fn prefixes(&self) -> impl Iterator<Item = &'static [u8]> {
        self.prefixes.split('|').map(str::as_bytes)
    }

    /// What is at the beginning of `rest`, which follows on the bytes `before`. Something invisible is
    /// before the byte `gap`: a token may end there or go on.
    pub(super) fn at(
        &self,
        prefix: &[u8],
        before: [u8; 2],
        rest: &[u8],
        gap: Option<usize>,
        ends: bool,
    ) -> MatchAt {
        let Some(behind) = rest.strip_prefix(prefix) else {
            let more = !ends && prefix.starts_with(rest);
            return if more { MatchAt::More } else { MatchAt::Nothing };
        };
        let gap = gap.and_then(|gap| gap.checked_sub(prefix.len()));
        let (keep, length, needs) = match self.how {
            How::Token(length, needs) => (0, length, needs),
            How::Behind(length, needs) => (prefix.len(), length, needs),
            How::Key => return key(behind, prefix.len(), ends),
            How::Login => return login(behind, prefix.len(), ends),
        };
        let class = self.class.unwrap_or(word);
        // The middle of another word; but `\n` of JSON is none.
        if word(prefix[0]) && word(before[1]) && before[0] != b'\\' {
            return MatchAt::Nothing;
        }
        let part = &behind[..behind.len().min(MOST)];
        let found = part.iter().position(|byte| !class(*byte)).unwrap_or(part.len());
        if found == behind.len() && found < MOST && !ends {
            return MatchAt::More;
        }
        let is = |count: usize| length.allows(count) && needs.are_met_by(&behind[..count]);
        let end = |count: usize| prefix.len() + count;
        match gap {
            _ if is(found) => MatchAt::Found { keep, end: end(found), then: State::Token(class) },
            // It ends where something invisible is, whatever follows.
            Some(gap) if gap < found && is(gap) => {
                MatchAt::Found { keep, end: end(gap), then: State::Plain }
            }
            _ => MatchAt::Nothing,
        }
    }
}

fn login(behind: &[u8], prefix: usize, ends: bool) -> MatchAt {
    let part = &behind[..behind.len().min(MOST)];
    let is_in = |byte: &u8| byte.is_ascii_graphic() && !b"\"'\\/@<>`,;()".contains(byte);
    let length = part.iter().position(|byte| !is_in(byte)).unwrap_or(part.len());
    if length == behind.len() && length < MOST && !ends {
        return MatchAt::More;
    }
    let colon = part[..length].iter().position(|byte| *byte == b':');
    match (colon, part.get(length)) {
        (Some(colon), Some(b'@')) if colon + 1 < length => {
            MatchAt::Found { keep: prefix, end: prefix + length, then: State::Plain }
        }
        _ => MatchAt::Nothing,
    }
}

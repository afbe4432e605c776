//! Values of settings: as written in the table, as given, as kept and as read.

use std::fmt;
use std::time::Duration;

/// A default in the table of settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Lit {
    Bool(bool),
    Whole(u64),
    Amount(f64),
    /// Text, also for paths, choices, lengths of time and sizes.
    Text(&'static str),
    List(&'static [&'static str]),
}

impl Lit {
    pub(crate) fn view(&self) -> View<'static> {
        match *self {
            Self::Bool(value) => View::Bool(value),
            Self::Whole(value) => View::Whole(value),
            Self::Amount(value) => View::Amount(value),
            Self::Text(value) => View::Text(value),
            Self::List(items) => View::List(items.to_vec()),
        }
    }
}

/// A value that is set.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Whole(u64),
    Amount(f64),
    Text(String),
    List(Vec<String>),
}

impl Value {
    pub(super) fn view(&self) -> View<'_> {
        match self {
            Self::Bool(value) => View::Bool(*value),
            Self::Whole(value) => View::Whole(*value),
            Self::Amount(value) => View::Amount(*value),
            Self::Text(value) => View::Text(value),
            Self::List(items) => View::List(items.iter().map(String::as_str).collect()),
        }
    }
}

/// A value to read, set or default. It displays as TOML, on one line.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum View<'a> {
    Bool(bool),
    Whole(u64),
    Amount(f64),
    /// Text, also for paths, choices, lengths of time and sizes.
    Text(&'a str),
    List(Vec<&'a str>),
}

impl View<'_> {
    /// The same value as it is written for `--set`.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Text(text) => (*text).to_owned(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Whole(value) => write!(f, "{value}"),
            Self::Amount(value) => write!(f, "{value:?}"),
            Self::Text(value) => f.write_str(&quoted(value)),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
                write!(f, "[{}]", items.join(", "))
            }
        }
    }
}

/// Text as a TOML string on one line, safe to print.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for ch in text.chars() {
        match ch {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if hidden(ch) => out.push_str(&format!("\\u{:04X}", u32::from(ch))),
            _ => out.push(ch),
        }
    }
    out.push('"');
    out
}

/// Characters that control the terminal or the direction of the text instead of being visible.
pub(super) fn hidden(ch: char) -> bool {
    ch.is_control()
        || matches!(ch, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(ch, '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A value as it was written, before a setting has parsed it.
#[derive(Debug, Clone)]
pub(super) enum Given<'a> {
    Bool(bool),
    Whole(i128),
    Amount(f64),
    Text(&'a str),
    List(Vec<Given<'a>>),
    /// From the environment or a flag, which do not distinguish text from numbers.
    Plain(&'a str),
    /// Something that no setting accepts, by its name.
    Other(&'static str),
}

impl fmt::Display for Given<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Whole(value) => write!(f, "{value}"),
            Self::Amount(value) => write!(f, "{value:?}"),
            Self::Text(text) | Self::Plain(text) => {
                const MOST: usize = 40;
                match text.char_indices().nth(MOST) {
                    Some((end, _)) => write!(f, "{}", quoted(&format!("{}…", &text[..end]))),
                    None => f.write_str(&quoted(text)),
                }
            }
            Self::List(_) => f.write_str("a list"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

/// Reads `15m`, `1h 30m` or `500ms`: whole numbers with units, the largest first.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    let mut above = u64::MAX;
    while !rest.is_empty() {
        let (number, after) = leading_number(rest)?;
        let end = after.find(|ch: char| !ch.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        if millis >= above {
            return None;
        }
        above = millis;
        total = total.checked_add(number.checked_mul(millis)?)?;
        rest = after.trim_start();
    }
    (above != u64::MAX).then(|| Duration::from_millis(total))
}

/// Reads `2GiB`, `500MB` or plain bytes.
pub(super) fn size(text: &str) -> Option<u64> {
    let (number, unit) = leading_number(text.trim())?;
    let unit: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(unit)
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim_start()))
}

//! Which values a setting accepts, and how a refused one is explained.

use ralph_core::forge::HostEntry;
use ralph_core::glob::Patterns;
use ralph_core::nearest::nearest;

use super::names;
use super::value::{self, Given, Value};

#[derive(Debug, Clone, Copy)]
pub(crate) enum SettingKind {
    Bool,
    Whole {
        min: u64,
        max: u64,
    },
    /// A number that is not negative, with or without a fraction.
    Amount,
    Text,
    Path,
    /// A pattern of paths, as in a `.gitignore`.
    Pattern,
    /// A server and its kind: `git.example.org=gitlab`.
    Host,
    Choice(&'static [&'static str]),
    /// One of these agents, or one that the user's config describes.
    Agent(&'static [&'static str]),
    /// A length of time such as `15m`.
    Duration,
    /// A number of bytes such as `2GiB`.
    Size,
    List(&'static Self),
    /// A whole number, or `unlimited`.
    CountOrUnlimited,
    /// This kind, or `preset` for what the preset says.
    OrPreset(&'static Self),
}

/// Why a value was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The end of a sentence: `must be …, not …`.
    text: String,
    pub(super) item: Option<usize>,
}

impl Refusal {
    /// The sentence about the setting, or about an item of it.
    pub(super) fn about(&self, key: &str) -> String {
        let item = if self.item.is_some() { "each item of " } else { "" };
        format!("{item}`{key}` {}", self.text)
    }
}

impl SettingKind {
    /// What a value has to be, as in "must be …".
    pub(super) fn wants(&self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            // No row has an upper bound of its own.
            Self::Whole { min: 0, .. } => "a whole number".to_owned(),
            Self::Whole { min, .. } => format!("a whole number of at least {min}"),
            Self::Amount => "a number of at least 0".to_owned(),
            Self::Text => "text in quotes".to_owned(),
            Self::Path => "a path in quotes".to_owned(),
            Self::Pattern => "a pattern as in a .gitignore".to_owned(),
            Self::Host => "HOST=KIND, such as \"git.example.org=gitlab\"".to_owned(),
            Self::Choice(words) => format!("one of {}", listed(words)),
            Self::Agent(words) => format!("one of {} or an agent of your config", listed(words)),
            Self::Duration => "a length of time such as \"15m\" or \"1h 30m\"".to_owned(),
            Self::Size => "a size such as \"500MB\" or \"2GiB\"".to_owned(),
            Self::List(Self::Choice(words)) => format!("a list of {}", listed(words)),
            Self::List(Self::Agent(words)) => {
                format!("a list of {} and agents of your config", listed(words))
            }
            Self::List(Self::Whole { .. }) => "a list of whole numbers such as [1, 2]".to_owned(),
            Self::List(_) => "a list of texts such as [\"one\", \"two\"]".to_owned(),
            Self::CountOrUnlimited => "a whole number or \"unlimited\"".to_owned(),
            Self::OrPreset(Self::Choice(words)) => {
                format!("one of {}, \"preset\"", listed(words))
            }
            Self::OrPreset(kind) => match kind {
                Self::CountOrUnlimited => "a whole number, \"unlimited\" or \"preset\"".to_owned(),
                _ => format!("{}, or \"preset\"", kind.wants()),
            },
        }
    }

    pub(super) fn read(&self, given: &Given<'_>) -> Result<Value, Refusal> {
        if let (Self::List(kind), Given::List(items)) = (self.inner(), given) {
            return read_items(kind, items);
        }
        self.accepts(given).ok_or_else(|| {
            let more = match (self.why_not(given), self.meant_by(given)) {
                (Some(why), _) => format!(": {why}"),
                (None, Some(word)) => format!("; did you mean {word:?}?"),
                (None, None) => String::new(),
            };
            Refusal { text: format!("must be {}, not {given}{more}", self.wants()), item: None }
        })
    }

    fn inner(&self) -> &Self {
        match self {
            Self::OrPreset(kind) => kind,
            _ => self,
        }
    }

    fn accepts(&self, given: &Given<'_>) -> Option<Value> {
        use Given::{Amount, Bool, Plain, Text, Whole};
        match (self, given) {
            (Self::OrPreset(_), Text(word @ "preset") | Plain(word @ "preset")) => {
                Some(Value::Text((*word).to_owned()))
            }
            (Self::OrPreset(kind), _) => kind.accepts(given),
            (Self::Bool, Bool(value)) => Some(Value::Bool(*value)),
            (Self::Bool, Plain(word)) => match *word {
                "true" | "yes" | "on" | "1" => Some(Value::Bool(true)),
                "false" | "no" | "off" | "0" => Some(Value::Bool(false)),
                _ => None,
            },
            (Self::Whole { min, max }, Whole(number)) => {
                let number = u64::try_from(*number).ok()?;
                (*min..=*max).contains(&number).then_some(Value::Whole(number))
            }
            (Self::Whole { .. }, Plain(text)) => self.accepts(&Whole(text.trim().parse().ok()?)),
            (Self::Amount, Amount(value)) => {
                (value.is_finite() && *value >= 0.0).then_some(Value::Amount(value.abs()))
            }
            // Amounts are money: beyond 2^53 the cast is inexact, and no real amount is that large.
            (Self::Amount, Whole(value)) => self.accepts(&Amount(*value as f64)),
            (Self::Amount, Plain(text)) => self.accepts(&Amount(text.trim().parse().ok()?)),
            (kind, Text(text) | Plain(text)) if kind.is_text() => {
                let fine = match kind {
                    Self::Path => !text.is_empty() && !text.contains('\0'),
                    Self::Pattern => Patterns::read([text]).is_ok(),
                    Self::Host => HostEntry::read(text).is_ok(),
                    Self::Choice(words) => words.contains(text),
                    Self::Agent(words) => words.contains(text) || names::may_be_own(text),
                    Self::Duration => value::duration(text).is_some(),
                    Self::Size => value::size(text).is_some(),
                    _ => !text.contains('\0'),
                };
                fine.then(|| Value::Text((*text).to_owned()))
            }
            (Self::Size, Whole(bytes)) => {
                u64::try_from(*bytes).ok().map(|bytes| Value::Text(bytes.to_string()))
            }
            (Self::CountOrUnlimited, Text("unlimited") | Plain("unlimited")) => {
                Some(Value::Text("unlimited".to_owned()))
            }
            (Self::CountOrUnlimited, Whole(_) | Plain(_)) => {
                Self::Whole { min: 0, max: u64::from(u32::MAX) }.accepts(given)
            }
            _ => None,
        }
    }

    fn is_text(&self) -> bool {
        use SettingKind::{Agent, Choice, Duration, Host, Path, Pattern, Size, Text};
        matches!(self, Text | Path | Pattern | Host | Choice(_) | Agent(_) | Duration | Size)
    }

    /// What is wrong with a value of the right type.
    fn why_not(&self, given: &Given<'_>) -> Option<String> {
        match (self.inner(), given) {
            (Self::Pattern, Given::Text(text) | Given::Plain(text)) => {
                Patterns::read([text]).err().map(|error| error.to_string())
            }
            (Self::Host, Given::Text(text) | Given::Plain(text)) => {
                HostEntry::read(text).err().map(|error| error.to_string())
            }
            _ => None,
        }
    }

    fn meant_by(&self, given: &Given<'_>) -> Option<String> {
        let (Given::Text(given) | Given::Plain(given)) = given else {
            return None;
        };
        let mut words = match self.inner() {
            Self::Choice(words) | Self::Agent(words) => words.to_vec(),
            Self::CountOrUnlimited => vec!["unlimited"],
            _ => Vec::new(),
        };
        if matches!(self, Self::OrPreset(_)) {
            words.push("preset");
        }
        let lower = given.to_lowercase();
        if let Some(word) = words.iter().find(|word| **word == lower) {
            return Some((*word).to_owned());
        }
        nearest(given, words, 1).first().map(|word| (*word).to_owned())
    }
}

fn read_items(kind: &SettingKind, items: &[Given<'_>]) -> Result<Value, Refusal> {
    let mut texts = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match kind.read(item) {
            Ok(Value::Text(text)) => texts.push(text),
            Ok(Value::Whole(number)) => texts.push(number.to_string()),
            Ok(_) => {}
            Err(refusal) => {
                return Err(Refusal { item: Some(index), ..refusal });
            }
        }
    }
    Ok(Value::List(texts))
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

//! The `[[gate]]` tables.

use std::time::Duration;

use ralph_core::nearest::nearest;
use ralph_core::run::{CHANGES, FORBIDDEN, MERGE, PROTECTED, VERIFIER, WEAKENED};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::names::shown;
use super::parse::given;
use super::position::Source;
use super::setting_kind::SettingKind;
use super::value::{self, Value, hidden};
use crate::error::Result;

/// The fields of a gate: name, kind, whether it must be there, and what it means.
pub(super) const FIELDS: [(&str, SettingKind, bool, &str); 3] = [
    ("name", SettingKind::Text, true, "What the gate is called in logs and evidence."),
    (
        "command",
        SettingKind::Text,
        true,
        "The shell command; exit code 0 means that the gate passes.",
    ),
    (
        "timeout",
        SettingKind::Duration,
        false,
        "How long the command may run before the gate fails.",
    ),
];

/// The names of ralph's own checks besides the gates. Evidence is distinguished by these names.
const JUDGES: [&str; 6] = [VERIFIER, PROTECTED, FORBIDDEN, WEAKENED, MERGE, CHANGES];

/// A command that must succeed before work counts as done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gate {
    /// Its name, unique among the gates.
    pub name: String,
    pub command: String,
    pub(super) timeout: Option<String>,
}

impl Gate {
    /// How long the command may run, if the gate has a timeout.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout.as_deref().and_then(value::duration)
    }
}

pub(super) fn read(source: &Source<'_>, found: &Spanned<DeValue<'_>>) -> Result<Vec<Gate>> {
    let not_tables = |span| {
        let message = "gates must be tables that begin with [[gate]]".to_owned();
        source.error(&span, message)
    };
    let DeValue::Array(items) = found.get_ref() else {
        return Err(not_tables(found.span()));
    };
    let mut gates: Vec<Gate> = Vec::with_capacity(items.len());
    for item in items.iter() {
        let DeValue::Table(table) = item.get_ref() else {
            return Err(not_tables(item.span()));
        };
        let gate = one(source, &item.span(), table)?;
        if gates.iter().any(|earlier| earlier.name == gate.name) {
            let span = table.get("name").map_or(item.span(), Spanned::span);
            let message = format!("two gates are called `{}`", shown(&gate.name));
            return Err(source.error(&span, message));
        }
        gates.push(gate);
    }
    Ok(gates)
}

fn one(source: &Source<'_>, span: &std::ops::Range<usize>, table: &DeTable<'_>) -> Result<Gate> {
    for key in table.keys() {
        let names = FIELDS.map(|(name, ..)| name);
        let name: &str = key.get_ref();
        if !names.contains(&name) {
            let mut message = format!("unknown setting `gate.{}`", shown(name));
            if let Some(near) = nearest(name, names, 1).first() {
                message.push_str(&format!("; did you mean `gate.{near}`?"));
            }
            return Err(source.error(&key.span(), message));
        }
    }
    let mut texts = [const { None }; FIELDS.len()];
    for ((name, kind, required, _), text) in FIELDS.iter().zip(&mut texts) {
        let Some(found) = table.get(*name) else {
            if *required {
                return Err(source.error(span, format!("this gate has no `{name}`")));
            }
            continue;
        };
        let refuse = |message| source.error(&found.span(), message);
        match kind.read(&given(found.get_ref())) {
            Ok(Value::Text(value)) if !value.trim().is_empty() => {
                if *name == "name" && value.chars().any(hidden) {
                    return Err(refuse("the name of a gate must be one line of text".to_owned()));
                }
                if *name == "name" && JUDGES.contains(&value.trim()) {
                    let message = format!("{value:?} is the name of one of ralph's own checks");
                    return Err(refuse(message));
                }
                *text = Some(value);
            }
            Ok(_) => return Err(refuse(format!("the `{name}` of a gate must not be empty"))),
            Err(refusal) => return Err(refuse(refusal.about(&format!("gate.{name}")))),
        }
    }
    let [name, command, timeout] = texts;
    Ok(Gate { name: name.unwrap_or_default(), command: command.unwrap_or_default(), timeout })
}

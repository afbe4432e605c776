//! `ralph config show` and `ralph config get`: values and where they come from.

use serde_json::{Map, json};
use unicode_width::UnicodeWidthStr;

use super::gates::Gate;
use super::names::shown;
use super::presets::Preset;
use super::resolved::{Config, Entry, Origin};
use super::value::quoted;

/// Values longer than this push their own origin to the right instead of the whole column.
const VALUE_COLUMN: usize = 44;

/// Whoever has this address can write to the channel.
const SECRET: &str = "notify.webhook";

/// One setting as a line of `ralph config show`.
pub(crate) fn entry_line(entry: &Entry<'_>) -> String {
    format!("{} = {}  {}", entry.key, entry.value, entry.origin)
}

/// One setting as in `ralph config show --json`.
pub(crate) fn entry_json(entry: &Entry<'_>) -> serde_json::Value {
    located(json!(entry.value), &entry.origin)
}

/// All settings and gates, as text. Settings that the preset decides have its values.
pub(crate) fn show(config: &Config, preset: &'static Preset) -> String {
    lines(config, preset, |entry| entry.value.to_string())
}

/// The same without the values that are secrets.
pub(crate) fn show_without_secrets(config: &Config, preset: &'static Preset) -> String {
    lines(config, preset, |entry| match entry.origin != Origin::Default && SECRET == entry.key {
        true => "[redacted]".to_owned(),
        false => entry.value.to_string(),
    })
}

fn lines(
    config: &Config,
    preset: &'static Preset,
    value_of: impl Fn(&Entry<'_>) -> String,
) -> String {
    let mut rows: Vec<(String, String, String)> = config
        .entries_with(preset)
        .map(|entry| (entry.key.to_string(), value_of(&entry), entry.origin.to_string()))
        .collect();
    for gate in config.gates() {
        let mut value = quoted(&gate.command);
        if let Some(timeout) = &gate.timeout {
            value.push_str(&format!(" timeout {}", quoted(timeout)));
        }
        rows.push((
            format!("gate {}", shown(&gate.name)),
            value,
            config.gates_origin().to_string(),
        ));
    }
    let keys = rows.iter().map(|(key, ..)| key.width()).max().unwrap_or(0);
    let values =
        rows.iter().map(|(_, value, _)| value.width()).filter(|width| *width <= VALUE_COLUMN);
    let values = values.max().unwrap_or(0);
    let mut out = String::new();
    for (key, value, origin) in &rows {
        let after_key = keys - key.width();
        let after_value = values.saturating_sub(value.width());
        out.push_str(&format!("{key}{:after_key$} = {value}{:after_value$}  {origin}\n", "", ""));
    }
    out
}

/// The same as a JSON object.
pub(crate) fn show_json(config: &Config, preset: &'static Preset) -> serde_json::Value {
    let mut all = Map::new();
    for entry in config.entries_with(preset) {
        all.insert(entry.key.to_string(), entry_json(&entry));
    }
    let gates: Vec<_> = config.gates().iter().map(gate_json).collect();
    all.insert("gate".to_owned(), located(gates.into(), config.gates_origin()));
    serde_json::Value::Object(all)
}

fn located(value: serde_json::Value, origin: &Origin) -> serde_json::Value {
    let at = match origin {
        Origin::Default => None,
        Origin::Preset(name) => Some((*name).to_owned()),
        _ => Some(origin.to_string()),
    };
    json!({ "value": value, "origin": origin.layer(), "where": at })
}

fn gate_json(gate: &Gate) -> serde_json::Value {
    let mut fields = json!({ "name": gate.name, "command": gate.command });
    if let Some(timeout) = &gate.timeout {
        fields["timeout"] = timeout.as_str().into();
    }
    fields
}

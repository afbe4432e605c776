//! The JSON Schema and the reference page, generated from the table and the commented defaults.

use serde_json::{Map, Value, json};

use super::gates;
use super::names;
use super::setting_kind::SettingKind;
use super::settings::{
    AGENTS, ALIASES, DEFAULTS, OWN, OWN_EXAMPLE, PLACEHOLDER, Reach, SETTINGS, Setting,
};

/// The JSON Schema of `ralph.toml`, draft 2020-12.
pub(crate) fn schema() -> String {
    let comments = comments();
    let mut root = object();
    for (key, setting) in names::keys() {
        let mut schema = kind_schema(&setting.kind, setting.admits_empty());
        schema["description"] = comment_of(&comments, setting).into();
        schema["default"] = json!(setting.default.view());
        insert(&mut root, &key, schema);
    }
    let mut own = object();
    for (leaf, setting) in names::of_own_agent() {
        let mut schema = kind_schema(&setting.kind, setting.admits_empty());
        schema["description"] = comment_of(&comments, setting).into();
        schema["default"] = json!(setting.default.view());
        own["properties"][leaf] = schema;
    }
    let agent = &mut root["properties"]["agent"];
    agent["properties"][OWN_EXAMPLE] = own.clone();
    agent["additionalProperties"] = own;
    for (alias, key) in ALIASES {
        let description = format!("An older spelling of {key}.");
        let schema = json!({ "type": "string", "description": description, "deprecated": true });
        insert(&mut root, alias, schema);
    }
    root["properties"]["gate"] = gate_schema();
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = "ralph.toml".into();
    format!("{root:#}\n")
}

/// The reference of all settings as a markdown page.
pub(crate) fn reference_markdown() -> String {
    let comments = comments();
    let mut page = String::from(
        "# Settings\n\n\
         ralph reads settings from these places, each overriding the ones before: the defaults, your \
         own `~/.config/ralph/config.toml`, the repo's `ralph.toml`, environment variables, flags. \
         `loop.jobs` is `RALPH_LOOP_JOBS` in the environment and `--set loop.jobs=2` as a flag; \
         separate the items of a list with commas there. `\"preset\"` means that the preset decides. \
         `ralph config show` prints every value and where it comes from, and `ralph config set` changes one: see \
         [Change settings](settings.md).\n",
    );
    for group in SETTINGS.chunk_by(|a, b| a.section() == b.section()) {
        let section = group[0].section();
        if section == "gates" {
            page.push_str(&gate_table());
        }
        if !section.is_empty() {
            page.push_str(&format!("\n## `[{section}]`\n"));
        }
        if section.contains(PLACEHOLDER) {
            page.push_str(&format!(
                "\n`{PLACEHOLDER}` is one of {}, or the name of an agent that you describe.\n",
                AGENTS.join(", ")
            ));
        }
        if section.contains(OWN) {
            page.push_str(&format!(
                "\n`{OWN}` is the name of an agent that you describe ([Agents by config](agents-by-config.md)).\n"
            ));
        }
        page.push_str("\n| key | default | meaning | who may set it |\n|---|---|---|---|\n");
        for setting in group {
            let default = setting.default.view().to_string();
            let meaning = comment_of(&comments, setting);
            page.push_str(&format!(
                "| `{}` | `{}` | {} | {} |\n",
                setting.key,
                cell(&default),
                cell(meaning),
                who(setting.reach)
            ));
        }
    }
    page
}

/// Every key with the first sentence of its comment.
pub(crate) fn described_keys() -> Vec<(String, String)> {
    let comments = comments();
    let first =
        |text: &str| text.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned();
    names::keys()
        .map(|(key, setting)| (key.to_string(), first(comment_of(&comments, setting))))
        .collect()
}

/// The keys of the commented defaults, each with the comment above it.
pub(super) fn comments() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut section = "";
    let mut comment = String::new();
    for line in DEFAULTS.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix('#') {
            if !comment.is_empty() {
                comment.push(' ');
            }
            comment.push_str(text.trim());
            continue;
        }
        let comment = std::mem::take(&mut comment);
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((key, _)) = line.split_once('=') {
            let key = key.trim();
            let key = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
            found.push((key, comment));
        }
    }
    found
}

fn comment_of<'a>(comments: &'a [(String, String)], setting: &Setting) -> &'a str {
    // The commented defaults list one agent as an example for all of them.
    let key = setting.key.replace(PLACEHOLDER, AGENTS[0]).replace(OWN, OWN_EXAMPLE);
    comments.iter().find(|(name, _)| *name == key).map_or("", |(_, comment)| comment)
}

fn who(reach: Reach) -> &'static str {
    match reach {
        Reach::Anywhere => "anyone",
        Reach::UserOnly | Reach::Program => "you, not the repo's ralph.toml",
        Reach::Argument => "anyone; in the repo's ralph.toml it must not begin with a dash",
        Reach::BeneathRepo => "anyone; the repo's ralph.toml only inside the repo",
        Reach::RaiseOnly => "anyone; the repo's ralph.toml may only make it stricter",
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn gate_table() -> String {
    let mut table = String::from(
        "\n## `[[gate]]`\n\n\
         One table per gate, in the order in which they run. The repo's gates replace your own.\n\n\
         | key | required | meaning |\n|---|---|---|\n",
    );
    for (name, _, required, meaning) in gates::FIELDS {
        let needed = if required { "yes" } else { "no" };
        table.push_str(&format!("| `{name}` | {needed} | {meaning} |\n"));
    }
    table
}

fn object() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// Puts a schema where the dotted key says, making the sections on the way.
fn insert(root: &mut Value, key: &str, schema: Value) {
    let mut at = root;
    let mut rest = key;
    while let Some((section, deeper)) = rest.split_once('.') {
        let slot = &mut at["properties"][section];
        if slot.is_null() {
            *slot = object();
        }
        at = slot;
        rest = deeper;
    }
    at["properties"][rest] = schema;
}

fn kind_schema(kind: &SettingKind, empty: bool) -> Value {
    // If `""` is allowed, it is one more spelling.
    let or_empty = |pattern: &str| {
        if empty { format!("^({pattern})?$") } else { format!("^{pattern}$") }
    };
    match kind {
        SettingKind::Bool => json!({ "type": "boolean" }),
        SettingKind::Whole { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        SettingKind::Amount => json!({ "type": "number", "minimum": 0 }),
        SettingKind::Path if !empty => json!({ "type": "string", "minLength": 1 }),
        SettingKind::Agent(words) => {
            let own = json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]+$" });
            json!({ "anyOf": [kind_schema(&SettingKind::Choice(words), empty), own] })
        }
        SettingKind::Text | SettingKind::Path | SettingKind::Pattern | SettingKind::Host => {
            json!({ "type": "string" })
        }
        SettingKind::Choice(words) => {
            let mut words = words.to_vec();
            if empty {
                words.push("");
            }
            json!({ "enum": words })
        }
        SettingKind::Duration => {
            json!({ "type": "string", "pattern": or_empty("([0-9]+ *(ms|s|m|h|d) *)+") })
        }
        SettingKind::Size => json!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "pattern": or_empty("[0-9]+ *(([kKmMgGtT][iI]?)?[bB])?") },
        ] }),
        SettingKind::List(kind) => json!({ "type": "array", "items": kind_schema(kind, false) }),
        SettingKind::CountOrUnlimited => json!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": u32::MAX },
            { "const": "unlimited" },
        ] }),
        SettingKind::OrPreset(kind) => {
            json!({ "anyOf": [kind_schema(kind, false), { "const": "preset" }] })
        }
    }
}

fn gate_schema() -> Value {
    let mut properties = Map::new();
    let mut needed = Vec::new();
    for (name, kind, required, meaning) in gates::FIELDS {
        let mut schema = kind_schema(&kind, false);
        schema["description"] = meaning.into();
        properties.insert(name.to_owned(), schema);
        if required {
            needed.push(name);
        }
    }
    json!({
        "type": "array",
        "description": "Commands that must succeed before work counts as done.",
        "items": {
            "type": "object",
            "properties": properties,
            "required": needed,
            "additionalProperties": false,
        },
    })
}

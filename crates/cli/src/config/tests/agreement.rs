//! The table, the commented defaults, the schema and the page say the same.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::super::value::Given;
use super::super::{names, reference};
use super::*;

fn flat(table: &Table, section: &str, found: &mut Vec<(String, Value)>) {
    for (name, value) in table {
        let key = if section.is_empty() { name.clone() } else { format!("{section}.{name}") };
        match value {
            Value::Table(inner) => flat(inner, &key, found),
            _ => found.push((key, value.clone())),
        }
    }
}

fn toml_of(lit: &Lit) -> Value {
    match *lit {
        Lit::Bool(value) => value.into(),
        Lit::Whole(value) => i64::try_from(value).unwrap().into(),
        Lit::Amount(value) => value.into(),
        Lit::Text(value) => value.into(),
        Lit::List(items) => items.to_vec().into(),
    }
}

#[test]
fn commented_defaults_and_table_agree_one_to_one() {
    let mut written = Vec::new();
    flat(&DEFAULTS.parse().unwrap(), "", &mut written);
    written.sort_by(|a, b| a.0.cmp(&b.0));
    let mut table: Vec<(String, Value)> = SETTINGS
        .iter()
        .map(|setting| {
            (
                setting.key.replace("<agent>", "claude").replace("<name>", "command"),
                toml_of(&setting.default),
            )
        })
        .collect();
    let in_table_order: Vec<String> = table.iter().map(|(key, _)| key.clone()).collect();
    table.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(written, table);

    let comments = reference::comments();
    let in_file_order: Vec<String> = comments.iter().map(|(key, _)| key.clone()).collect();
    assert_eq!(in_file_order, in_table_order);
    for (key, comment) in comments {
        assert!(comment.len() > 10 && comment.ends_with('.'), "{key}: {comment:?}");
    }
}

#[test]
fn comments_name_every_word_of_a_choice() {
    let comments = reference::comments();
    for setting in SETTINGS {
        let (SettingKind::Choice(words)
        | SettingKind::List(SettingKind::Choice(words))
        | SettingKind::OrPreset(
            SettingKind::Choice(words) | SettingKind::List(SettingKind::Choice(words)),
        )) = &setting.kind
        else {
            continue;
        };
        let (_, comment) = comments.iter().find(|(key, _)| key == setting.key).unwrap();
        for word in *words {
            assert!(comment.contains(word), "{}: {word}", setting.key);
        }
    }
}

#[test]
fn each_default_is_valid_for_its_kind() {
    for setting in SETTINGS {
        let given = match setting.default {
            Lit::Bool(value) => Given::Bool(value),
            Lit::Whole(value) => Given::Whole(value.into()),
            Lit::Amount(value) => Given::Amount(value),
            Lit::Text(value) => Given::Text(value),
            Lit::List(items) => Given::List(items.iter().map(|item| Given::Text(item)).collect()),
        };
        let value = setting.read(&given).unwrap_or_else(|no| panic!("{}", no.about(setting.key)));
        assert_eq!(value.view(), setting.default.view());
    }
}

#[test]
fn the_commented_defaults_are_a_user_file_that_changes_nothing() {
    let with_file = loaded(user(DEFAULTS));
    assert_eq!(with_file.warnings, []);
    let without = Config::default();
    for entry in with_file.config.entries() {
        assert_eq!(entry.value, without.view(&entry.key), "{}", entry.key);
    }
}

#[test]
fn keys_are_unique_also_as_variables() {
    let keys: Vec<String> = names::keys().map(|(key, _)| key.into_owned()).collect();
    let variables: BTreeSet<String> = keys.iter().map(|key| names::env_name(key)).collect();
    assert_eq!(keys.len(), variables.len());
    for key in ["agent.claude.args", "models.claude.opus", "agent.script.path", "preset"] {
        assert!(keys.iter().any(|known| known == key) && names::find(key).is_some(), "{key}");
    }
    for key in
        ["agent.made-up.path", "agent.command.args", "agent.my_2.state", "models.aider.large"]
    {
        assert!(names::find(key).is_some(), "{key}");
    }
    for key in ["agent.script.args", "agent.<agent>.path", "loop", "", "agent.claude"] {
        assert!(names::find(key).is_none(), "{key}");
    }
}

#[test]
fn the_schema_has_every_key() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    for (key, setting) in names::keys() {
        let pointer = format!("/properties/{}", key.replace('.', "/properties/"));
        let found = schema.pointer(&pointer).unwrap_or_else(|| panic!("{key}"));
        assert_eq!(found["default"], serde_json::json!(setting.default.view()), "{key}");
        assert!(found["description"].as_str().is_some_and(|text| !text.is_empty()), "{key}");
    }
    assert_eq!(schema["properties"]["loop"]["properties"]["jobs"]["minimum"], 1);
    let level = &schema["properties"]["sandbox"]["properties"]["level"];
    assert_eq!(level["enum"][0], "auto");
    let build = &schema["properties"]["agent"]["properties"]["build"];
    assert!(build["anyOf"][0]["enum"].as_array().unwrap().contains(&"".into()));
    let gate = &schema["properties"]["gate"]["items"];
    assert_eq!(gate["required"], serde_json::json!(["name", "command"]));
    assert_eq!(schema["properties"]["claude_path"]["deprecated"], true);
}

#[test]
fn the_page_has_a_row_for_every_setting() {
    let page = reference_markdown();
    for setting in SETTINGS {
        let rows = page.matches(&format!("\n| `{}` | ", setting.key)).count();
        assert_eq!(rows, 1, "{}", setting.key);
    }
    assert!(page.contains("| `notify.webhook` | `\"\"` | A URL"));
    assert!(
        page.contains("Not allowed in a repo's ralph.toml. | you, not the repo's ralph.toml |")
    );
    assert!(page.contains("\n## `[[gate]]`\n"));
    assert!(page.contains(
        "`<agent>` is one of claude, codex, gemini, opencode, acp, or the name of an agent that you describe."
    ));
}

#[test]
fn every_setting_is_read_as_the_kind_that_its_row_says() {
    assert_eq!(settings::misfits(), [""; 0]);
}

#[test]
fn a_setting_of_another_version_is_named_and_has_no_effect() {
    for (text, output) in [
        ("loop.source = 'store'", "`loop.source` has no effect: the preset decides where"),
        ("loop.prompt = 'stdin'", "`loop.prompt` has no effect"),
        ("[serve]\nport = 1", "`serve` has no effect: this version has no web page"),
    ] {
        let warnings = warnings(repo(text));
        assert!(warnings.len() == 1 && warnings[0].contains(output), "{text}: {warnings:?}");
        assert_eq!(config(repo(text)).held.len(), 0, "{text}");
    }
    // A name that no version knows is still an error where money and trust are.
    assert!(error(repo("[agent]\nfalback = []")).contains("unknown setting"));
}

#[test]
fn older_spellings_of_values_still_count() {
    let commit = |value: &str| {
        config(set(&format!("loop.commit={value}"))).get(key::LOOP_COMMIT).map(str::to_owned)
    };
    assert_eq!(commit("agent+leftovers").as_deref(), Some("done"));
    assert_eq!(commit("loop-if-done").as_deref(), Some("done"));
    assert_eq!(commit("loop").as_deref(), Some("session"));
    let ends = config(repo("loop.ends_when = ['settled', 'marker']"));
    assert_eq!(ends.get(key::LOOP_ENDS_WHEN), Some(vec!["finished", "marker"]));
    assert_eq!(config(set("preset=tasks")).get(key::PRESET), "pick");
}

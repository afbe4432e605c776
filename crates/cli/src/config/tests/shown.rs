//! `ralph config show`.

use super::*;

fn sample() -> Config {
    config(Sources {
        user: user("\n\nagent.name = 'script'").user,
        repo: repo(
            "preset = 'dag'\n[[gate]]\nname = 'test'\ncommand = 'make \"all\"'\ntimeout = '10m'",
        )
        .repo,
        env: env("RALPH_UI_COLOR", "never").env,
        set: set("budget.usd=2").set,
        ..Sources::default()
    })
}

fn dag() -> &'static Preset {
    Preset::named("dag").unwrap()
}

#[test]
fn values_that_the_preset_decides_are_shown_with_its_name() {
    let shown = show(&config(set("loop.on_red=preset")), dag());
    assert!(!shown.contains("\"preset\""), "{shown}");
    let line = |key: &str| {
        let line = shown.lines().find(|line| line.starts_with(&format!("{key} "))).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("loop.max_retries"), "loop.max_retries = 3 preset dag");
    assert_eq!(line("loop.ends_when"), "loop.ends_when = [\"finished\"] preset dag");
    assert_eq!(line("loop.on_red"), "loop.on_red = \"retry\" preset dag");
    assert_eq!(line("loop.works_in"), "loop.works_in = \"place\" preset dag");
    assert_eq!(line("git.auto_pr"), "git.auto_pr = false preset dag");
    let parallel = config(set("loop.jobs=2"));
    assert_eq!(parallel.entry_with("loop.works_in".into(), dag()).value, View::Text("worktree"));
    let json = show_json(&Config::default(), dag());
    assert_eq!(
        json["agent.timeout"],
        serde_json::json!({ "value": "60m", "origin": "preset", "where": "dag" })
    );
}

#[test]
fn every_preset_has_a_valid_value_for_every_setting_that_it_decides() {
    for preset in &PRESETS {
        for setting in SETTINGS {
            let value = preset.value_of(setting.key);
            let by_preset = matches!(setting.kind, SettingKind::OrPreset(_));
            assert_eq!(value.is_some(), by_preset, "{} of {}", setting.key, preset.name);
            let Some(value) = value else { continue };
            let pair = format!("{}={}", setting.key, value.plain());
            let read = config(set(&pair));
            assert_eq!(read.view(setting.key), value, "{pair}");
        }
    }
}

#[test]
fn lines_are_aligned_and_name_the_origin() {
    let shown = show(&sample(), dag());
    let line = |start: &str| shown.lines().find(|line| line.starts_with(start)).unwrap();
    let column = line("loop.learn").find("default").unwrap();
    for (start, origin) in [
        ("preset ", "ralph.toml:1"),
        ("agent.name ", "~/.config/ralph/config.toml:3"),
        ("ui.color ", "RALPH_UI_COLOR"),
        ("budget.usd ", "--set"),
        ("gate test ", "ralph.toml:2"),
    ] {
        assert_eq!(line(start).find(origin), Some(column), "{}", line(start));
    }
    assert!(line("budget.usd").contains(" = 2.0 "));
    assert!(line("gate test").contains(" = \"make \\\"all\\\"\" timeout \"10m\" "));
    assert_eq!(shown.lines().count(), Config::default().entries().count() + 1);
    assert!(shown.starts_with("preset "));
}

#[test]
fn json_has_value_origin_and_where() {
    let shown = show_json(&sample(), dag());
    let expect = |key: &str, expected: serde_json::Value| assert_eq!(shown[key], expected, "{key}");
    expect("loop.jobs", serde_json::json!({ "value": 1, "origin": "default", "where": null }));
    expect(
        "agent.name",
        serde_json::json!({
            "value": "script", "origin": "user", "where": "~/.config/ralph/config.toml:3"
        }),
    );
    expect(
        "preset",
        serde_json::json!({ "value": "dag", "origin": "repo", "where": "ralph.toml:1" }),
    );
    expect(
        "ui.color",
        serde_json::json!({ "value": "never", "origin": "env", "where": "RALPH_UI_COLOR" }),
    );
    expect("budget.usd", serde_json::json!({ "value": 2.0, "origin": "flag", "where": "--set" }));
    expect("agent.env", serde_json::json!({ "value": [], "origin": "default", "where": null }));
    assert_eq!(
        shown["gate"]["value"],
        serde_json::json!([{ "name": "test", "command": "make \"all\"", "timeout": "10m" }])
    );
    assert_eq!(shown.as_object().unwrap().len(), Config::default().entries().count() + 1);
}

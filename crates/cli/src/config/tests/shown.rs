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

#[test]
fn lines_are_aligned_and_name_the_origin() {
    let shown = show(&sample());
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
    let shown = show_json(&sample());
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

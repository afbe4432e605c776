//! `ralph config`, and what the settings do.

use crate::env;

#[test]
fn show_names_every_value_and_its_origin() {
    let mut env = env();
    env.write("ralph.toml", "[loop]\nmax_retries = 5\njobs = 2\n");
    let user = env.home().join(".config/ralph/config.toml");
    std::fs::create_dir_all(user.parent().unwrap()).unwrap();
    std::fs::write(&user, "[loop]\njobs = 7\nlearn = false\n").unwrap();
    env.set("RALPH_UI_COLOR", "never");
    let shown = env.ralph(&["--set", "loop.jobs=9", "config", "show"]).success();
    let line = |key: &str| {
        let found =
            shown.lines().find(|line| line.starts_with(&format!("{key} "))).unwrap_or_default();
        found.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("loop.max_retries"), "loop.max_retries = 5 ralph.toml:2");
    assert_eq!(line("loop.learn"), "loop.learn = false ~/.config/ralph/config.toml:3");
    assert_eq!(line("loop.jobs"), "loop.jobs = 9 --set");
    assert_eq!(line("ui.color"), "ui.color = \"never\" RALPH_UI_COLOR");
    assert_eq!(line("loop.give_up_after"), "loop.give_up_after = 10 default");
    let json: serde_json::Value =
        ralph_testkit::data(&env.ralph(&["config", "show", "--json"]).success());
    assert_eq!(json["loop.jobs"]["value"], 2);
    assert_eq!(json["loop.jobs"]["origin"], "repo");
}

#[test]
fn mistakes_are_shown_with_file_line_and_caret() {
    let env = env();
    env.write("ralph.toml", "[loop]\nmax_retries = \"many\"\n");
    let said = env.ralph(&["config", "check"]).failure(1);
    assert!(
        said.contains("ralph.toml:2:15")
            && said.contains("max_retries = \"many\"")
            && said.contains("^^^^^^"),
        "{said}"
    );
    env.ralph(&["task", "list"]).failure(1);
    env.write("ralph.toml", "[loop\n");
    let said = env.ralph(&["task", "list"]).failure(1);
    assert!(said.contains("ralph.toml:1:") && said.contains('^'), "{said}");
    env.write("ralph.toml", "[notify]\nwebhook = \"http://x\"\n");
    let said = env.ralph(&["task", "list"]).failure(1);
    assert!(said.contains("notify.webhook"), "{said}");
    env.write("ralph.toml", "[store]\npath = \"../outside.db\"\n");
    env.ralph(&["task", "add", "T"]).failure(1);
    env.write("ralph.toml", b"\xff\xfe");
    env.ralph(&["task", "list"]).failure(1);
}

#[test]
fn an_unknown_key_warns_with_the_nearest_name() {
    let env = env();
    env.write("ralph.toml", "[ui]\ncolour = \"auto\"\n");
    let ran = env.ralph(&["task", "list"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stderr.contains("ralph.toml:2:1") && ran.stderr.contains("ui.color"),
        "{}",
        ran.stderr
    );
    assert_eq!(env.ralph(&["-q", "task", "list"]).stderr, "");
    let said = env.ralph(&["--set", "loop.job=1", "config", "show"]).failure(64);
    assert!(said.contains("loop.jobs"), "{said}");
}

#[test]
fn a_typo_in_a_budget_is_an_error() {
    let env = env();
    env.write("ralph.toml", "[budget]\nusdd = 5\n");
    let said = env.ralph(&["task", "list"]).failure(1);
    assert!(said.contains("ralph.toml:2:1") && said.contains("budget.usd"), "{said}");
}

#[test]
fn the_store_lies_where_the_config_says() {
    let env = env();
    env.write("ralph.toml", "[store]\npath = \".ralph/elsewhere.db\"\n");
    env.task(&["add", "First"]);
    assert!(env.repo().join(".ralph/elsewhere.db").exists() && !env.store().exists());
    let other = env.write("other.toml", "[store]\npath = \".ralph/third.db\"\n");
    env.ralph(&["--config", other.to_str().unwrap(), "task", "add", "T"]).success();
    assert!(env.repo().join(".ralph/third.db").exists());
    env.ralph(&["--config", "missing.toml", "task", "list"]).failure(1);
}

#[test]
fn schema_defaults_and_check_work_together() {
    let env = env();
    let schema: serde_json::Value =
        serde_json::from_str(&env.ralph(&["config", "schema"]).success()).unwrap();
    assert_eq!(schema["properties"]["loop"]["properties"]["jobs"]["type"], "integer");
    let defaults = env.ralph(&["config", "defaults"]).success();
    assert!(defaults.contains("max_retries"));
    assert_eq!(env.ralph(&["config", "check"]).success(), "ok (no config file: defaults)\n");
    let file = env.write("good.toml", "[loop]\njobs = 3\n");
    let checked = env.ralph(&["config", "check", file.to_str().unwrap()]).success();
    assert!(checked.starts_with("ok ("), "{checked}");
}

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
    let output = env.ralph(&["config", "check"]).failure(1);
    assert!(
        output.contains("ralph.toml:2:15")
            && output.contains("max_retries = \"many\"")
            && output.contains("^^^^^^"),
        "{output}"
    );
    env.ralph(&["task", "list"]).failure(1);
    env.write("ralph.toml", "[loop\n");
    let output = env.ralph(&["task", "list"]).failure(1);
    assert!(output.contains("ralph.toml:1:") && output.contains('^'), "{output}");
    env.write("ralph.toml", "[notify]\nwebhook = \"http://x\"\n");
    let output = env.ralph(&["task", "list"]).failure(1);
    assert!(output.contains("notify.webhook"), "{output}");
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
    let output = env.ralph(&["--set", "loop.job=1", "config", "show"]).failure(64);
    assert!(output.contains("loop.jobs"), "{output}");
}

#[test]
fn a_typo_in_a_budget_is_an_error() {
    let env = env();
    env.write("ralph.toml", "[budget]\nusdd = 5\n");
    let output = env.ralph(&["task", "list"]).failure(1);
    assert!(output.contains("ralph.toml:2:1") && output.contains("budget.usd"), "{output}");
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

#[test]
fn settings_are_read_written_and_removed_one_by_one() {
    let env = env();
    env.write("ralph.toml", "# mine\n[loop]\njobs = 2 # for now\n");
    let get = |key: &str| env.ralph(&["config", "get", key]).success();
    let repo = || std::fs::read_to_string(env.repo().join("ralph.toml")).unwrap();
    assert_eq!(get("loop.jobs"), "2\n");
    let ran = env.ralph(&["config", "set", "loop.jobs", "4"]);
    assert!(ran.stderr.contains("loop.jobs = 4 in "), "{}", ran.stderr);
    assert_eq!(repo(), "# mine\n[loop]\njobs = 4 # for now\n");
    // Settings that only the user may set go into the user's file, also behind a link.
    let (folder, real) = (env.home().join(".config/ralph"), env.home().join("dotfiles.toml"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&real, "").unwrap();
    std::os::unix::fs::symlink(&real, folder.join("config.toml")).unwrap();
    env.ralph(&["config", "set", "publish.authors", "ada, grace"]).success();
    let text = std::fs::read_to_string(&real).unwrap();
    assert_eq!(text, "[publish]\nauthors = [\"ada\", \"grace\"]\n");
    assert!(folder.join("config.toml").is_symlink());
    assert_eq!(get("publish.authors"), "ada\ngrace\n");
    let json = env.ralph(&["config", "get", "publish.authors", "--json"]).success();
    let json: serde_json::Value = ralph_testkit::data(&json);
    assert_eq!((&json["value"][1], &json["origin"]), (&"grace".into(), &"user".into()));
    // A value that another file overrides is written with a warning.
    let ran = env.ralph(&["config", "set", "--user", "loop.jobs", "3"]);
    assert!(ran.stderr.contains("loop.jobs is still 4: ralph.toml:3 overrides"), "{}", ran.stderr);
    let ran = env.ralph(&["config", "unset", "--project", "loop.jobs"]);
    assert!(ran.stderr.contains("is still 3, from ~/.config/ralph/config.toml"), "{}", ran.stderr);
    assert_eq!((get("loop.jobs").as_str(), repo().as_str()), ("3\n", "# mine\n[loop]\n"));
    let ran = env.ralph(&["config", "unset", "loop.jobs"]);
    assert!(ran.stderr.contains("Nothing to do") && ran.code == 0, "{}", ran.stderr);
    env.ralph(&["config", "unset", "--user", "loop.jobs"]).success();
    let shown = env.ralph(&["config", "get", "loop.jobs", "--show-origin"]).success();
    assert_eq!(shown, "loop.jobs = 1  default\n");
    // What the preset decides has a value, too, and the plan decides the preset.
    let pick = || env.ralph(&["config", "get", "loop.pick", "--show-origin"]).success();
    assert_eq!(pick(), "loop.pick = \"loop\"  preset dag\n");
    env.write("implementation_plan.md", "- [ ] One thing\n");
    assert_eq!(pick(), "loop.pick = \"agent\"  preset checklist\n");
}

#[test]
fn what_cannot_be_set_changes_no_file() {
    let mut env = env();
    let user = env.home().join(".config/ralph/config.toml");
    std::fs::create_dir_all(user.parent().unwrap()).unwrap();
    std::fs::write(&user, "[budget]\nusd = 5\n").unwrap();
    for (arguments, part) in [
        (&["loop.job", "4"][..], "did you mean `loop.jobs`?"),
        (&["loop", "4"], "`loop` is a section"),
        (&["gate", "make test"], "ralph config edit"),
        (&["loop.jobs", "many"], "must be"),
        (&["--project", "publish.watch", "1h"], "can only be set in your own config file"),
        (&["--project", "agent.claude.path", "/bin/sh"], "can only be set in your own"),
        (&["store.path", "../elsewhere.db"], "must be a path inside the repo"),
        (&["budget.usd", "10"], "`budget.usd = 10.0` is ignored"),
    ] {
        let ran = env.ralph(&[&["config", "set"], arguments].concat());
        assert!(ran.code != 0 && ran.stderr.contains(part), "{arguments:?}: {}", ran.stderr);
        assert!(!env.repo().join("ralph.toml").exists());
    }
    env.write("ralph.toml", "[loop\n");
    let ran = env.ralph(&["config", "set", "loop.jobs", "4"]);
    assert!(ran.code != 0 && ran.stderr.contains("ralph.toml:1:"), "{}", ran.stderr);
    env.set("RALPH_SOCKET", "/nowhere");
    let ran = env.ralph(&["config", "set", "loop.jobs", "4"]);
    assert!(ran.code != 0 && ran.stderr.contains("sessions and gates cannot"), "{}", ran.stderr);
}

#[test]
fn a_committed_link_is_written_through_and_another_one_is_refused() {
    let env = env();
    let real = env.write("settings/ralph.toml", "# shared\n");
    let link = env.repo().join("ralph.toml");
    std::os::unix::fs::symlink("settings/ralph.toml", &link).unwrap();
    let ran = env.ralph(&["config", "set", "loop.jobs", "4"]);
    assert!(ran.code != 0 && ran.stderr.contains("link"), "{}", ran.stderr);
    env.git(&["add", "."]);
    env.git(&["-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "settings"]);
    env.ralph(&["config", "set", "loop.jobs", "4"]).success();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read_to_string(real).unwrap(), "# shared\n\n[loop]\njobs = 4\n");
}

#[test]
fn a_file_is_edited_in_the_users_editor_and_checked() {
    let mut env = env();
    let editor = env.folder().join("editor");
    let write = |text: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(&editor, format!("#!/bin/sh\nprintf '{text}' > \"$2\"\n")).unwrap();
        std::fs::set_permissions(&editor, PermissionsExt::from_mode(0o755)).unwrap();
    };
    let ran = env.ralph(&["config", "edit", "--user"]);
    assert!(
        ran.code != 0 && ran.stderr.contains("EDITOR=nano ralph config edit"),
        "{}",
        ran.stderr
    );
    env.set("EDITOR", &format!("{} --wait", editor.display()));
    write("[loop]\\njobs = 5\\n");
    env.ralph(&["config", "edit", "--project"]).success();
    assert_eq!(env.ralph(&["config", "get", "loop.jobs"]).success(), "5\n");
    write("[notify]\\ndesktop = true\\n");
    env.ralph(&["config", "edit", "--user"]).success();
    assert_eq!(env.ralph(&["config", "get", "notify.desktop"]).success(), "true\n");
    write("[loop]\\njobs = no\\n");
    let ran = env.ralph(&["config", "edit"]);
    assert!(ran.code != 0 && ran.stderr.contains("ralph.toml:2"), "{}", ran.stderr);
    env.set("EDITOR", "exit 3;");
    let ran = env.ralph(&["config", "edit"]);
    assert!(ran.code != 0 && ran.stderr.contains("failed with exit code 3"), "{}", ran.stderr);
}

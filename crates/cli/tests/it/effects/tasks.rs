//! Flags of commands that only look at the plan or change it.

use super::*;

fn json(text: &str) -> Value {
    ralph_testkit::data(text)
}

#[test]
fn a_task_is_made_and_changed_with_all_its_fields() {
    let env = env();
    env.ralph(&["feature", "create", "login"]).success();
    env.task(&["add", "Other", "--id", "other"]);
    for call in [
        &["add", "First", "--id", "a"][..],
        &["create", "b", "First"],
        &["update", "c", "--title", "First"],
    ] {
        if call[0] == "update" {
            env.task(&["add", "Before", "--id", "c"]);
        }
        let fields = [
            &["-p", "0", "-c", "core", "-d", "At length", "-s", r#"["one"]"#][..],
            &["-r", "s.md", "--ref", "issue 7", "--deps", "other", "--touches", "src/*"],
            &["--parent", "other", "--feature", "login"],
        ];
        // A part cannot wait for its own whole.
        env.task(&[call, fields[0], fields[1]].concat());
        let id = call[1..].iter().find(|word| ["a", "b", "c"].contains(word)).unwrap();
        let task = json(&env.task(&["show", id, "--json"]));
        for (name, value) in [
            ("title", serde_json::json!("First")),
            ("priority", serde_json::json!(0)),
            ("category", serde_json::json!("core")),
            ("description", serde_json::json!("At length")),
            ("steps", serde_json::json!(["one"])),
            ("spec", serde_json::json!("s.md")),
            ("ref", serde_json::json!("issue 7")),
            ("deps", serde_json::json!(["other"])),
            ("touches", serde_json::json!(["src/*"])),
        ] {
            assert_eq!(task[name], value, "{call:?}: {name}");
        }
        let part: Vec<&str> = match call[0] {
            "add" => vec!["add", "Part", "--id", "part-add"],
            "create" => vec!["create", "part-create", "Part"],
            _ => vec!["update", "c", "--deps", ""],
        };
        env.task(&[&part, fields[2]].concat());
        let id = if call[0] == "update" { "c".to_owned() } else { format!("part-{}", call[0]) };
        let task = json(&env.task(&["show", &id, "--json"]));
        assert_eq!((&task["parent"], &task["feature"]), (&"other".into(), &"login".into()));
    }
}

#[test]
fn what_is_listed_can_be_limited_to_a_feature_and_printed_as_json() {
    let env = env();
    env.ralph(&["feature", "create", "login"]).success();
    env.task(&["add", "in", "--id", "in", "--feature", "login"]);
    env.task(&["add", "out", "--id", "out"]);
    let listed = |call: &[&str]| {
        let printed = json(&env.task(call));
        let tasks = if call[0] == "peek" { &printed["claimable"] } else { &printed };
        tasks.as_array().unwrap().clone()
    };
    for command in ["list", "ready", "peek"] {
        let all = listed(&[command, "--json"]);
        let some = listed(&[command, "--feature", "login", "--json"]);
        assert_eq!((all.len(), some.len()), (2, 1), "{command}");
        assert_eq!(some[0]["id"], "in");
    }
    env.task(&["log", "in", "A note"]);
    assert!(json(&env.task(&["log", "in", "--json"])).to_string().contains("A note"));
    assert_eq!(json(&env.task(&["plan-status", "--json"]))["open"], 2);
    assert_eq!(json(&env.task(&["claim", "in", "--json"]))["status"], "active");
    let features = json(&env.ralph(&["feature", "list", "--json"]).success());
    assert_eq!(features[0]["name"], "login");
}

#[test]
fn tasks_are_deleted_by_their_status() {
    let env = env();
    for id in ["a", "b"] {
        env.task(&["add", "Task", "--id", id]);
    }
    env.task(&["claim", "a"]);
    env.task(&["fail", "a", "--reason", "no", "--final"]);
    assert_eq!(env.task(&["delete", "--status", "failed"]), "a\n");
    assert_eq!(env.task(&["plan-status"]), "1 open, 0 active, 0 done, 0 blocked, 1 deleted\n");
}

#[test]
fn a_task_no_longer_waits_for_one_that_it_is_unblocked_from() {
    let env = env();
    for id in ["a", "b"] {
        env.task(&["add", "Task", "--id", id]);
    }
    env.task(&["block", "b", "--by", "a"]);
    assert!(!env.task(&["ready"]).contains("b "));
    env.task(&["unblock", "b", "--by", "a"]);
    assert!(env.task(&["ready"]).contains("b "));
}

#[test]
fn an_import_takes_its_format_and_prints_json() {
    let env = env();
    let plan = r#"{"id":"a","title":"One","status":"open"}"#;
    // By its name alone it would be another tool's file.
    env.write("plan.txt", plan);
    env.ralph(&["import", "plan.txt", "--format", "prd"]).failure(1);
    let done = env.ralph(&["import", "plan.txt", "--format", "beads", "--json"]).success();
    assert_eq!(json(&done)["inserted"], 1, "{done}");
    assert!(env.task(&["list"]).contains("One"));
}

#[test]
fn controls_print_json() {
    let env = env();
    env.task(&["add", "Mine", "--id", "t-1"]);
    for command in ["skip", "retry"] {
        let sent = json(&env.ralph(&[command, "t-1", "--json"]).success());
        assert_eq!((&sent["control"]["do"], &sent["reached"]), (&command.into(), &"store".into()));
    }
}

#[test]
fn a_paused_run_is_resumed_and_both_say_so_in_json() {
    let env = project(&["a"]);
    let waits = session(&[gate_step("there", "go"), works()]);
    let run = start(&env, &[&waits], &[]);
    wait_for(&env, "there");
    for command in ["pause", "resume"] {
        let sent = json(&env.ralph(&[command, "--json"]).success());
        assert_eq!((&sent["control"]["do"], &sent["reached"]), (&command.into(), &"run".into()));
    }
    touch(&env, "go");
    assert_eq!(Ran::end_of(run).code, 0);
    assert_eq!(status(&env, "a"), "done");
}

#[test]
fn the_options_of_every_command_do_what_they_say() {
    let env = env();
    env.write("sub/mine.toml", "[store]\npath = \".ralph/mine.db\"\n");
    let folder = env.repo().display().to_string();
    let outside = |call: &[&str]| {
        let mut command = env.command(call);
        Ran::of(call, command.current_dir(env.folder()).output().unwrap())
    };
    outside(&["task", "add", "First"]).failure(1);
    outside(&["-C", &folder, "task", "add", "First", "-q"]).success();
    assert!(env.task(&["list"]).contains("First"));
    let other = env.ralph(&["--config", "sub/mine.toml", "task", "list"]).success();
    assert!(!other.contains("First"), "{other}");
    assert!(env.ralph(&["task", "list", "--set", "ui.color=always"]).success().contains('\u{1b}'));
    assert!(env.ralph(&["task", "list", "--color", "always"]).success().contains('\u{1b}'));
    let note = env.ralph(&["init"]).stderr;
    assert!(!note.is_empty() && env.ralph(&["init", "--quiet"]).stderr.is_empty(), "{note}");
    assert!(env.ralph(&["task", "list", "--verbose"]).stderr.contains("the task database is"));
    assert_eq!(env.ralph(&["task", "list"]).stderr, "");
    assert!(env.ralph(&["task", "list", "--help"]).success().contains("Usage: ralph task list"));
    assert!(env.ralph(&["--version"]).success().starts_with("ralph 0."));
}

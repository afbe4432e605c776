//! `ralph import` and `ralph export`.

use crate::env;

const PRD: &str = r#"{
  "project": "Shop",
  "branchName": "ralph/shop",
  "userStories": [
    {"id": "US-001", "title": "Cart", "description": "As a user", "acceptanceCriteria": ["works"], "priority": 1, "passes": true, "notes": ""},
    {"id": "US-002", "title": "Pay", "description": "", "acceptanceCriteria": [], "priority": 2, "passes": false, "notes": "ask bank", "dependsOn": ["US-001"]}
  ]
}
"#;

#[test]
fn a_prd_comes_in_and_goes_out() {
    let env = env();
    env.write("prd.json", PRD);
    let dry = env.ralph(&["import", "prd.json", "--dry-run"]).success();
    assert!(dry.starts_with("2 tasks"), "{dry}");
    assert_eq!(env.task(&["plan-status"]), "0 open, 0 active, 0 done, 0 blocked, 0 deleted\n");
    let ran = env.ralph(&["import", "prd.json"]);
    assert_eq!(ran.stdout, "inserted: 2, updated: 0, deleted: 0, skipped (done): 0\n");
    assert!(ran.stderr.contains("not kept from prd"), "{}", ran.stderr);
    assert_eq!(env.task(&["plan-status"]), "1 open, 0 active, 1 done, 0 blocked, 0 deleted\n");
    let out = env.ralph(&["export", "prd", "-q"]).success();
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["branchName"], "ralph/shop");
    assert_eq!(value["userStories"][0]["passes"], true);
    assert_eq!(value["userStories"][1]["dependsOn"], serde_json::json!(["US-001"]));
    let again = env.ralph(&["import", "prd.json", "-q"]).success();
    assert_eq!(again, "inserted: 0, updated: 0, deleted: 0, skipped (done): 1\n");
}

#[test]
fn the_marks_of_an_imported_plan_count() {
    let env = env();
    env.write("plan.md", "- [ ] Open\n- [-] Dropped\n- [!] Blocked\n- [x] Ready\n");
    let ran = env.ralph(&["import", "plan.md"]);
    assert_eq!(ran.stdout, "inserted: 3, updated: 0, deleted: 0, skipped (done): 0\n");
    assert!(ran.stderr.contains("plan.md: line 3: \"Blocked\" is marked [!]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("not kept from checklist: 1 task marked [-]"), "{}", ran.stderr);
    let status = |title: &str| {
        let listed: serde_json::Value = ralph_testkit::data(&env.task(&["list", "--json"]));
        let tasks = listed.as_array().unwrap().clone();
        let found = tasks.into_iter().find(|task| task["title"] == title);
        found.map(|task| task["status"].as_str().unwrap().to_owned())
    };
    assert_eq!(status("Dropped"), None);
    assert_eq!(status("Blocked").as_deref(), Some("waiting"));
    assert_eq!(status("Ready").as_deref(), Some("done"));
    let again = env.ralph(&["import", "plan.md", "-q"]).success();
    assert_eq!(again, "inserted: 0, updated: 0, deleted: 0, skipped (done): 1\n");
    // What was open is dropped now.
    env.write("plan.md", "- [-] Open\n- [!] Blocked\n- [-] Ready\n");
    let again = env.ralph(&["import", "plan.md", "-q"]).success();
    assert_eq!(again, "inserted: 0, updated: 0, deleted: 1, skipped (done): 0\n");
    assert_eq!((status("Open"), status("Ready").as_deref()), (None, Some("done")));
}

#[test]
fn beads_come_in_and_go_out() {
    let env = env();
    let lines = r#"{"id":"bd-1","title":"Epic","status":"open","priority":1,"issue_type":"epic","created_at":"2026-01-01T00:00:00Z"}
{"id":"bd-1.1","title":"Part","status":"closed","priority":2,"issue_type":"task","closed_at":"2026-01-02T00:00:00Z","dependencies":[{"issue_id":"bd-1.1","depends_on_id":"bd-1","type":"parent-child"}]}
{"id":"bd-1.2","title":"Rest","status":"in_progress","assignee":"x","priority":0,"issue_type":"bug","dependencies":[{"issue_id":"bd-1.2","depends_on_id":"bd-1","type":"parent-child"},{"issue_id":"bd-1.2","depends_on_id":"bd-1.1","type":"blocks"}]}
"#;
    env.write("issues.jsonl", lines);
    env.ralph(&["import", "issues.jsonl"]).success();
    assert_eq!(
        env.task(&["tree"]),
        "bd-1  open  Epic\n├─ bd-1.1  done  Part\n└─ bd-1.2  open  Rest\n"
    );
    let out = env.ralph(&["export", "beads", "-q"]).success();
    let other = crate::env();
    other.write("again.jsonl", &out);
    other.ralph(&["import", "again.jsonl", "-q"]).success();
    assert_eq!(other.ralph(&["export", "beads", "-q"]).success().lines().count(), 3);
    assert_eq!(other.task(&["tree"]), env.task(&["tree"]));
    other.task(&["claim", "bd-1.2"]);
    other.task(&["done", "bd-1.2"]);
    assert_eq!(other.task(&["plan-status"]), "0 open, 0 active, 3 done, 0 blocked, 0 deleted\n");
}

#[test]
fn what_cannot_come_in_leaves_nothing() {
    let env = env();
    for (name, text, why) in [
        ("bad.json", "{\"userStories\": [{\"id\": \"a\"", "line 1"),
        (
            "bad2.json",
            "{\n\"userStories\": [\n{\"id\": \"a\", \"title\": \"T\"},\n{\"id\": \"b\"}\n]}",
            "line 4",
        ),
        (
            "half.jsonl",
            "{\"id\":\"a\",\"title\":\"T\",\"status\":\"open\"}\n{\"id\":\"b\",\n",
            "line 2",
        ),
        ("empty.jsonl", "", "no task"),
        ("plan.txt", "hello", "is in an unknown format"),
    ] {
        env.write(name, text);
        let output = env.ralph(&["import", name]).failure(1);
        assert!(output.contains(why), "{name}: {output}");
    }
    env.ralph(&["import", "missing.json"]).failure(1);
    env.ralph(&["import", "."]).failure(1);
    let output = env.ralph(&["export", "yaml"]).failure(64);
    assert!(output.contains("prd") && output.contains("beads"), "{output}");
    assert!(!env.store().exists());
}

#[test]
fn a_hundred_thousand_beads_come_in() {
    let env = env();
    let lines: String = (0..100_000).map(|n| format!("{{\"id\":\"bd-{n}\",\"title\":\"T\",\"status\":\"open\",\"issue_type\":\"task\"}}\n")).collect();
    let done = env.ralph_with(&["import", "-", "--format", "beads"], lines).success();
    assert_eq!(done, "inserted: 100000, updated: 0, deleted: 0, skipped (done): 0\n");
}

const SPEC_KIT: &str = "# Tasks: A\n\n## Phase 1: Setup\n\n- [x] T001 Make folders\n- [ ] T002 [P] Lint\n\
- [ ] T003 [P] Test\n\n## Phase 2: Log in\n\n- [ ] T004 [US1] Write it\n";

const TASK_MASTER: &str = r#"{"master": {"tasks": [
  {"id": 1, "title": "Set up", "status": "done"},
  {"id": 2, "title": "Log in", "status": "pending", "dependencies": [1],
   "subtasks": [{"id": 1, "title": "Form", "status": "pending"}]}]}}"#;

/// The tasks with their open dependencies.
fn listed(env: &ralph_testkit::TestEnv) -> Vec<(String, String, Vec<String>)> {
    let listed = env.task(&["list", "--all", "--json"]);
    let tasks: serde_json::Value = ralph_testkit::data(&listed);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let deps =
        |task: &serde_json::Value| task["deps"].as_array().unwrap().iter().map(text).collect();
    let row = |task: &serde_json::Value| (text(&task["id"]), text(&task["status"]), deps(task));
    tasks.as_array().unwrap().iter().map(row).collect()
}

#[test]
fn a_list_in_json_is_refused_as_a_plan_and_imports_the_same_tasks_twice() {
    let todos = r#"[{"content": "Write it", "status": "pending"}, {"content": "Plan it", "status": "completed"}]"#;
    for (name, text, format, open) in [
        ("prd.json", PRD, "prd", "1 open task"),
        (".taskmaster/tasks/tasks.json", TASK_MASTER, "task-master", "2 open tasks"),
        ("todos.json", todos, "claude", "1 open task"),
        ("plan.txt", todos, "claude", "1 open task"),
    ] {
        let env = env();
        env.write(name, text);
        let sentence = format!(
            "{name} is a {format} list with {open}, not a markdown plan; import it first: ralph import {name}"
        );
        for command in ["build", "plan"] {
            let output = env.ralph(&[command, name]).failure(2).replace("\n       ", " ");
            assert!(output.contains(&sentence), "{output}");
        }
        env.ralph(&["import", name, "-q"]).success();
        let tasks = listed(&env);
        let again = env.ralph(&["import", name, "-q"]).success();
        assert!(again.starts_with("inserted: 0, updated: 0, deleted: 0"), "{name}: {again}");
        assert_eq!(listed(&env), tasks);
    }
    let env = env();
    env.write("package.json", "{\"name\": \"x\"}");
    let output = env.ralph(&["build", "package.json"]).failure(2);
    assert!(
        output.contains("package.json is JSON that ralph does not know as a task list"),
        "{output}"
    );
}

#[test]
fn a_spec_kit_feature_keeps_its_ids_and_its_order() {
    let env = env();
    env.write("specs/001-a/tasks.md", SPEC_KIT);
    let dry = env.ralph(&["import", "specs/001-a", "--dry-run"]).success();
    assert!(
        dry.starts_with("4 tasks in spec-kit's tasks.md, checkboxes T001 in phases: 4 new\n"),
        "{dry}"
    );
    assert!(dry.contains("  new        T001  Make folders  done\n"), "{dry}");
    assert!(dry.contains("  new        T004  [US1] Write it  after T002, T003\n"), "{dry}");
    assert!(!env.store().exists(), "a dry run writes nothing");
    env.ralph(&["import", "specs/001-a/tasks.md"]).success();
    let rows = listed(&env);
    let row = |id: &str| rows.iter().find(|row| row.0 == id).unwrap().clone();
    assert_eq!(row("T001").1, "done");
    assert_eq!((row("T002").2, row("T003").2), (vec!["T001".to_owned()], vec!["T001".to_owned()]));
    assert_eq!(row("T004").2, ["T002", "T003"]);
    let dry = env.ralph(&["import", "specs/001-a", "--dry-run", "-q"]).success();
    assert!(dry.contains("in phases: 3 unchanged, 1 done before\n"), "{dry}");

    // Every feature counts from T001.
    env.write("specs/002-b/tasks.md", SPEC_KIT.replace("Make folders", "Make pages"));
    let output = env.ralph(&["import", "specs/002-b"]).failure(1);
    assert!(
        output.contains("specs/002-b: T001 is already the id of another task, \"Make folders\""),
        "{output}"
    );
    assert!(output.contains("ralph import specs/002-b --prefix 002-b/"), "{output}");
    assert_eq!(listed(&env).len(), 4);
    env.ralph(&["import", "specs/002-b", "--prefix", "b-", "-q"]).success();
    let rows = listed(&env);
    assert!(rows.iter().any(|row| row.0 == "b-T004" && row.2 == ["b-T002", "b-T003"]), "{rows:?}");
}

#[test]
fn a_folder_of_claude_code_tasks_is_one_list() {
    let env = env();
    let task =
        |id: &str, more: &str| format!("{{\"id\": \"{id}\", \"subject\": \"Task {id}\"{more}}}");
    env.write("list/1.json", task("1", ", \"status\": \"completed\", \"blocks\": [\"10\"]"));
    env.write(
        "list/10.json",
        task("10", ", \"status\": \"pending\", \"blockedBy\": [\"1\", \"2\"]"),
    );
    env.write("list/2.json", task("2", ", \"status\": \"in_progress\", \"owner\": \"ada\""));
    env.write("list/.lock", "");
    let ran = env.ralph(&["import", "list"]);
    assert_eq!(
        ran.stdout, "inserted: 3, updated: 0, deleted: 0, skipped (done): 0\n",
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("not kept from claude: the owner of 1 task"), "{}", ran.stderr);
    let rows = listed(&env);
    assert!(rows.iter().any(|row| row.0 == "10" && row.2 == ["1", "2"]), "{rows:?}");
    let output = env.ralph(&["export", "claude"]).failure(64);
    assert!(output.contains("ralph imports claude, but does not export to it"), "{output}");
    env.write("empty/readme", "");
    let output = env.ralph(&["import", "empty"]).failure(1);
    assert!(output.contains("empty has no task list"), "{output}");
}

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
        let said = env.ralph(&["import", name]).failure(1);
        assert!(said.contains(why), "{name}: {said}");
    }
    env.ralph(&["import", "missing.json"]).failure(1);
    env.ralph(&["import", "."]).failure(1);
    let said = env.ralph(&["export", "yaml"]).failure(64);
    assert!(said.contains("prd") && said.contains("beads"), "{said}");
    assert!(!env.store().exists());
}

#[test]
fn a_hundred_thousand_beads_come_in() {
    let env = env();
    let lines: String = (0..100_000).map(|n| format!("{{\"id\":\"bd-{n}\",\"title\":\"T\",\"status\":\"open\",\"issue_type\":\"task\"}}\n")).collect();
    let done = env.ralph_with(&["import", "-", "--format", "beads"], lines).success();
    assert_eq!(done, "inserted: 100000, updated: 0, deleted: 0, skipped (done): 0\n");
}

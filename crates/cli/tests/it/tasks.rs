//! `ralph task`: every command, its formats and its exit codes.

use serde_json::Value;

use crate::env;

fn json(text: &str) -> Value {
    ralph_testkit::data(text)
}

#[test]
fn add_prints_the_id_alone() {
    let env = env();
    let id = env.task(&["add", "Write the parser"]);
    assert!(id.starts_with("t-") && id.trim_end().len() == 10 && id.ends_with('\n'), "{id:?}");
    assert_eq!(env.task(&["add", "Own id", "--id", "task-cli/01"]), "task-cli/01\n");
    assert_eq!(
        env.task(&["create", "task-cli/02", "The other spelling", "-p", "0"]),
        "task-cli/02\n"
    );
}

#[test]
fn list_is_a_table_of_six_columns() {
    let env = env();
    env.task(&["add", "First", "--id", "a", "-c", "core"]);
    env.task(&["add", "Second", "--id", "b", "--deps", "a", "-p", "0"]);
    env.task(&["claim", "a", "--agent", "ada"]);
    assert_eq!(
        env.task(&["list"]),
        "ID  P  S        CAT   TITLE   AGENT\n\
         b   0  blocked        Second\n\
         a   2  active   core  First   ada\n"
    );
}

#[test]
fn list_filters_by_status_assignee_and_feature() {
    let env = env();
    for id in ["a", "b", "c", "d"] {
        env.task(&["add", "Task", "--id", id]);
    }
    env.task(&["block", "b", "--by", "a"]);
    env.task(&["claim", "c", "--agent", "ada"]);
    env.task(&["delete", "d"]);
    let ids = |arguments: &[&str]| -> Vec<String> {
        let mut all = vec!["list", "--json"];
        all.extend(arguments);
        let tasks = json(&env.task(&all));
        tasks.as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&[]), ["a", "b", "c"]);
    assert_eq!(ids(&["--all"]), ["a", "b", "c", "d"]);
    assert_eq!(ids(&["--status", "open"]), ["a", "b"]);
    assert_eq!(ids(&["--status", "pending,in_progress"]), ["a", "b", "c"]);
    assert_eq!(ids(&["--status", "blocked"]), ["b"]);
    assert_eq!(ids(&["--status", "active"]), ["c"]);
    assert_eq!(ids(&["--status", "deleted"]), ["d"]);
    assert_eq!(ids(&["--assignee", "ada"]), ["c"]);
    assert!(ids(&["--assignee", "bob"]).is_empty());
}

#[test]
fn json_has_the_stored_word_and_every_key() {
    let env = env();
    env.task(&[
        "add",
        "First",
        "--id",
        "a",
        "-d",
        "long",
        "-s",
        r#"["one"]"#,
        "-r",
        "s.md",
        "--ref",
        "#1",
        "--touches",
        "src/*,docs/*",
    ]);
    env.task(&["claim", "a", "--agent", "ada"]);
    let task = &json(&env.task(&["list", "--json"]))[0];
    assert_eq!(task["status"], "active");
    assert_eq!(task["assignee"], "ada");
    assert_eq!(task["touches"], serde_json::json!(["src/*", "docs/*"]));
    assert_eq!(task["steps"], serde_json::json!(["one"]));
    for key in [
        "description",
        "spec",
        "ref",
        "parent",
        "feature",
        "deps",
        "generation",
        "retry_count",
        "reason",
        "result",
        "verification_status",
        "created_at",
        "updated_at",
        "done_at",
        "lease_expires_at",
    ] {
        assert!(task.get(key).is_some(), "{key}");
    }
}

#[test]
fn peek_is_markdown_kv_of_claimable_then_claimed() {
    let env = env();
    env.task(&[
        "add",
        "First",
        "--id",
        "a",
        "-p",
        "1",
        "-c",
        "core",
        "-r",
        "s.md",
        "--ref",
        "#7",
        "-s",
        r#"["one","two"]"#,
        "-d",
        "not shown",
    ]);
    env.task(&["add", "Second", "--id", "b"]);
    env.task(&["add", "Third", "--id", "c", "--deps", "b"]);
    env.task(&["claim", "b", "--agent", "ada"]);
    assert_eq!(
        env.task(&["peek"]),
        "## Task a\nid: a\ntitle: First\npriority: 1\nstatus: open\ncategory: core\nspec: s.md\nref: #7\n\
         steps:\n- one\n- two\n\
         \n## Task b\nid: b\ntitle: Second\npriority: 2\nstatus: active\nassignee: ada\n"
    );
    assert_eq!(env.task(&["peek", "-n", "0"]).matches("## Task").count(), 1);
}

#[test]
fn claim_prints_lease_retries_description_and_what_blockers_produced() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    env.task(&[
        "add",
        "Second",
        "--id",
        "b",
        "--deps",
        "a",
        "-d",
        "line one\n## Task fake\nid: fake",
    ]);
    env.task(&["claim", "a"]);
    env.task(&["done", "a", "--result", r#"{"commit":"abc", "n": 1}"#]);
    let claimed = env.task(&["claim", "--agent", "ada"]);
    assert_eq!(
        ralph_testkit::without_times(&claimed).trim_end(),
        "## Task b\nid: b\ntitle: Second\npriority: 2\nstatus: active\nassignee: ada\n\
         lease_expires_at: TIME\nretry_count: 0\ndeps: a\n\
         description:\n  line one\n  ## Task fake\n  id: fake\n\
         blocker_results:\n- a: {\"commit\":\"abc\",\"n\":1}"
    );
    env.task(&["reset", "b"]);
    let again = json(&env.task(&["claim", "b", "--json"]));
    assert_eq!(again["blocker_results"]["a"]["commit"], "abc");
    assert_eq!(again["generation"], 2);
}

#[test]
fn list_markdown_shows_what_is_blocked() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    env.task(&["add", "Second", "--id", "b", "--deps", "a"]);
    let text = env.task(&["list", "--markdown"]);
    assert!(
        text.contains("## Task b\nid: b\ntitle: Second\npriority: 2\nstatus: blocked\ndeps: a\n"),
        "{text}"
    );
}

#[test]
fn ready_has_a_limit_and_says_when_there_is_more() {
    let env = env();
    let lines: String = (0..25).map(|n| format!("{{\"id\":\"x{n}\",\"t\":\"T\"}}\n")).collect();
    env.ralph_with(&["task", "plan-sync"], lines).success();
    let ran = env.ralph(&["task", "ready"]);
    assert_eq!(ran.stdout.lines().count(), 21);
    assert!(ran.stderr.contains("ralph task ready -n 200"), "{}", ran.stderr);
    let all = env.ralph(&["task", "ready", "-n", "25"]);
    assert_eq!((all.stdout.lines().count(), all.stderr.as_str()), (26, ""));
    assert_eq!(json(&env.task(&["ready", "--json", "-n", "3"])).as_array().unwrap().len(), 3);
}

#[test]
fn show_prints_everything_and_its_neighbors() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    env.task(&["add", "Second", "--id", "b", "--deps", "a", "-d", "Why"]);
    env.task(&["log", "b", "looked at it"]);
    let page = ralph_testkit::without_times(&env.task(&["show", "b", "--with-deps"]));
    for part in [
        "b  Second",
        "status        blocked",
        "deps          a",
        "Description\n  Why",
        "Blocked by\n  a  open  First",
        "Log\n  TIME  created    user-tester",
        "note       user-tester  looked at it",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    let value = json(&env.task(&["show", "b", "--json", "--with-deps"]));
    assert_eq!(value["blockers"][0]["id"], "a");
    assert_eq!(value["log"][1]["text"], "looked at it");
    assert!(value["attempts"].is_array() && value["evidence"].is_array());
}

#[test]
fn tree_and_deps_show_the_graph() {
    let env = env();
    env.task(&["add", "Epic", "--id", "e"]);
    env.task(&["add", "Part one", "--id", "e1", "--parent", "e"]);
    env.task(&["add", "Part two", "--id", "e2", "--parent", "e", "--deps", "e1"]);
    assert_eq!(
        env.task(&["tree"]),
        "e  open  Epic\n├─ e1  open  Part one\n└─ e2  blocked  Part two  after e1\n"
    );
    assert_eq!(json(&env.task(&["tree", "--json"]))[1]["parent"], "e");
    assert_eq!(
        env.task(&["deps", "e1"]),
        "e1 waits for nothing\ne1 blocks:\n└─ e2  blocked  Part two\n"
    );
    assert_eq!(json(&env.task(&["deps", "e2", "--json"]))["blockers"][0]["id"], "e1");
}

#[test]
fn a_tree_of_ten_thousand_levels_is_drawn() {
    let env = env();
    env.task(&["add", "Top", "--id", "n0"]);
    let lines: String = (1..10_000)
        .map(|n| format!("{{\"id\":\"n{n}\",\"title\":\"T\",\"status\":\"open\",\"dependencies\":[{{\"issue_id\":\"n{n}\",\"depends_on_id\":\"n{}\",\"type\":\"parent-child\"}}]}}\n", n - 1))
        .collect();
    env.write("deep.jsonl", lines);
    env.ralph(&["import", "deep.jsonl", "-q"]).success();
    assert_eq!(env.task(&["tree"]).lines().count(), 10_000);
    assert_eq!(env.task(&["ready"]).lines().count(), 2);
}

#[test]
fn update_changes_fields_and_empties_them() {
    let env = env();
    env.task(&["add", "First", "--id", "a", "-c", "core", "-r", "s.md"]);
    env.task(&["add", "Other", "--id", "b"]);
    env.task(&[
        "update",
        "a",
        "--title",
        "Renamed",
        "-p",
        "0",
        "--category",
        "",
        "--deps",
        "b",
        "-d",
        "Long",
    ]);
    let task = json(&env.task(&["show", "a", "--json"]));
    assert_eq!(task["title"], "Renamed");
    assert_eq!(task["priority"], 0);
    assert_eq!(task["category"], Value::Null);
    assert_eq!(task["spec"], "s.md");
    assert_eq!(task["deps"], serde_json::json!(["b"]));
    env.task(&["update", "a", "--deps", ""]);
    assert_eq!(json(&env.task(&["show", "a", "--json"]))["deps"], serde_json::json!([]));
    env.ralph(&["task", "update", "a"]).failure(64);
}

#[test]
fn update_moves_the_status_as_far_as_it_may() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    let status =
        || json(&env.task(&["show", "a", "--json"]))["status"].as_str().unwrap().to_owned();
    for (to, is) in [
        ("active", "active"),
        ("open", "open"),
        ("waiting", "waiting"),
        ("pending", "open"),
        ("in_progress", "active"),
        ("failed", "failed"),
        ("open", "open"),
        ("active", "active"),
        ("done", "done"),
    ] {
        env.task(&["update", "a", "--status", to]);
        assert_eq!(status(), is);
    }
    let refused = env.ralph(&["task", "update", "a", "--status", "open"]).failure(2);
    assert!(refused.contains("a is done and cannot become open"), "{refused}");
    let derived = env.ralph(&["task", "update", "a", "--status", "blocked"]).failure(64);
    assert!(derived.contains("ralph task block"), "{derived}");
}

#[test]
fn done_needs_an_active_task_and_a_result_with_a_commit() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    let early = env.ralph(&["task", "done", "a"]).failure(2);
    assert!(
        early.contains("a is open and cannot become done") && early.contains("ralph task claim a"),
        "{early}"
    );
    env.task(&["claim", "a"]);
    for bad in ["not json", "{}", r#"{"commit":""}"#, r#"{"commit":7}"#, "[]"] {
        env.ralph(&["task", "done", "a", "--result", bad]).failure(1);
    }
    env.task(&["done", "a", "--result", r#"{"commit":"abc"}"#]);
    env.ralph(&["task", "done", "a"]).failure(2);
}

#[test]
fn fail_brings_a_task_back_until_its_retries_are_used_up() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    for attempt in 1..=4 {
        env.task(&["claim", "a"]);
        env.task(&["fail", "a", "--reason", &format!("reason {attempt}")]);
        let task = json(&env.task(&["show", "a", "--json"]));
        assert_eq!(task["reason"], format!("reason {attempt}"));
        assert_eq!(task["status"], if attempt < 4 { "open" } else { "failed" });
        assert_eq!(task["retry_count"], attempt.min(3));
    }
    env.task(&["reset", "a"]);
    env.task(&["claim", "a"]);
    env.task(&["fail", "a", "--reason", "no way", "--final"]);
    assert_eq!(json(&env.task(&["show", "a", "--json"]))["status"], "failed");
}

#[test]
fn the_retry_limit_is_a_setting() {
    let env = env();
    env.write("ralph.toml", "[loop]\nmax_retries = 0\n");
    env.task(&["add", "First", "--id", "a"]);
    env.task(&["claim", "a"]);
    env.task(&["fail", "a", "--reason", "x"]);
    assert_eq!(json(&env.task(&["show", "a", "--json"]))["status"], "failed");
    env.task(&["reset", "a"]);
    env.task(&["claim", "a"]);
    env.ralph(&[
        "--set",
        "preset=pick",
        "--set",
        "loop.max_retries=unlimited",
        "task",
        "fail",
        "a",
        "--reason",
        "x",
    ])
    .success();
    assert_eq!(json(&env.task(&["show", "a", "--json"]))["status"], "open");
}

#[test]
fn a_claim_can_be_renewed_by_its_holder_and_lost() {
    let env = env();
    env.task(&["add", "First", "--id", "a"]);
    env.task_as("ada", &["claim", "a", "--lease", "1"]).success();
    env.task_as("ada", &["renew", "a", "--lease", "60"]).success();
    let foreign = env.task_as("bob", &["renew", "a"]).failure(2);
    assert!(foreign.contains("bob does not hold a: ada does"), "{foreign}");
    env.task_as("ada", &["renew", "a", "--lease", "1"]).success();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let taken = env.task_as("bob", &["claim", "a"]).success();
    assert!(taken.contains("retry_count: 1"), "{taken}");
    env.task_as("ada", &["done", "a"]).failure(2);
    env.task_as("bob", &["done", "a"]).success();
}

#[test]
fn delete_takes_ids_a_status_or_everything() {
    let env = env();
    for id in ["a", "b", "c", "d"] {
        env.task(&["add", "Task", "--id", id]);
    }
    assert_eq!(env.task(&["delete", "a", "b"]), "a\nb\n");
    env.task(&["claim", "c"]);
    env.task(&["done", "c"]);
    let asked = env.ralph(&["task", "delete", "--all"]).failure(64);
    assert!(asked.contains("would delete 1 task") && asked.contains("--confirm"), "{asked}");
    assert_eq!(env.task(&["delete", "--all", "--confirm"]), "d\n");
    assert_eq!(env.task(&["plan-status"]), "0 open, 0 active, 1 done, 0 blocked, 3 deleted\n");
    env.ralph(&["task", "delete", "c"]).failure(2);
    env.ralph(&["task", "delete", "nope"]).failure(2);
    assert_eq!(env.task(&["add", "Again", "--id", "a"]), "a\n");
}

#[test]
fn plan_sync_is_exact_and_idempotent() {
    let env = env();
    let plan = r#"{"id":"a","t":"First","d":"text","p":1,"cat":"core","spec":"s","ref":"r","deps":[],"steps":["x"]}
{"id":"b","t":"Second","spec":"s","deps":["a"]}
"#;
    let sync = |text: &str| env.ralph_with(&["task", "plan-sync"], text).success();
    assert_eq!(sync(plan), "inserted: 2, updated: 0, deleted: 0, skipped (done): 0\n");
    assert_eq!(sync(plan), "inserted: 0, updated: 0, deleted: 0, skipped (done): 0\n");
    env.task(&["claim", "a"]);
    env.task(&["done", "a"]);
    let next = "{\"id\":\"a\",\"t\":\"Changed\",\"spec\":\"s\"}\n{\"id\":\"c\",\"t\":\"Third\",\"spec\":\"s\"}\n";
    assert_eq!(sync(next), "inserted: 1, updated: 0, deleted: 1, skipped (done): 1\n");
    assert_eq!(env.task(&["plan-status"]), "1 open, 0 active, 1 done, 0 blocked, 1 deleted\n");
    assert_eq!(json(&env.task(&["show", "a", "--json"]))["title"], "First");
    let as_json = env.ralph_with(&["task", "plan-sync", "--json"], next).success();
    assert_eq!(json(&as_json)["skipped_done"], 1);
    assert_eq!(sync(""), "inserted: 0, updated: 0, deleted: 0, skipped (done): 0\n");
}

#[test]
fn agents_register_hold_and_leave() {
    let env = env();
    let id = env.task(&["agent", "register"]);
    let id = id.trim_end();
    assert!(id.len() == 4 && id.chars().all(|c| c.is_ascii_hexdigit()), "{id}");
    env.task(&["add", "First", "--id", "a"]);
    env.task_as(id, &["claim"]).success();
    let agents = json(&env.task(&["agent", "list", "--json"]));
    assert_eq!(agents[0]["claims"], serde_json::json!(["a"]));
    assert!(env.task(&["agent", "list"]).starts_with("AGENT  SINCE"), "table");
    env.task(&["agent", "deregister", id]);
    assert_eq!(env.task(&["plan-status"]), "1 open, 0 active, 0 done, 0 blocked, 0 deleted\n");
    let again = env.ralph(&["task", "agent", "deregister", id]);
    assert_eq!(again.code, 0);
    assert!(again.stderr.starts_with(&format!("{id} is not registered")), "{}", again.stderr);
}

#[test]
fn reading_makes_nothing_and_writing_keeps_state_out_of_git() {
    let env = env();
    for call in [&["list"][..], &["ready"], &["peek"], &["plan-status"], &["tree"]] {
        env.task(call);
    }
    assert!(!env.repo().join(".ralph").exists(), "reading made a folder");
    env.task(&["add", "First"]);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&env.store().metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn every_worktree_shares_the_store_of_the_main_one() {
    let env = env();
    env.git(&[
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    ]);
    env.git(&["worktree", "add", "-q", "../other"]);
    env.task(&["add", "First", "--id", "a"]);
    let other = env.folder().join("other");
    let there = env.ralph(&["-C", other.to_str().unwrap(), "task", "list"]).success();
    assert!(there.contains("First"));
    let inside = other.join("deep");
    std::fs::create_dir(&inside).unwrap();
    env.ralph(&["-C", inside.to_str().unwrap(), "task", "add", "Second", "--id", "b"]).success();
    assert!(env.task(&["list"]).contains("Second"));
    assert!(!other.join(".ralph").exists());
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    let env = env();
    let lines: String = (0..5_000).map(|n| format!("{{\"id\":\"x{n}\",\"t\":\"T\"}}\n")).collect();
    env.ralph_with(&["task", "plan-sync"], lines).success();
    let mut child = env.start(&["task", "list"]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

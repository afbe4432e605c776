//! The numbered demands that concern the store and the task commands, as their user meets them.
//! Those that are rules alone are tested where the rules are.

use crate::env;

fn status(env: &ralph_testkit::TestEnv, id: &str) -> String {
    let value: serde_json::Value = ralph_testkit::data(&env.task(&["show", id, "--json"]));
    value["status"].as_str().unwrap().to_owned()
}

/// S0-1, S0-2: `peek -n 10` is the snapshot; empty and successful when there is nothing.
#[test]
fn s0_1_s0_2_peek_is_a_snapshot_and_empty_when_there_is_nothing() {
    let env = env();
    let nothing = env.ralph(&["task", "peek", "-n", "10"]);
    assert_eq!((nothing.code, nothing.stdout.as_str(), nothing.stderr.as_str()), (0, "", ""));
    for n in 0..12 {
        env.task(&["add", &format!("Task {n}")]);
    }
    assert_eq!(env.task(&["peek", "-n", "10"]).matches("## Task").count(), 10);
    assert_eq!(env.task(&["peek"]).matches("## Task").count(), 5);
}

/// S0-3: a store that cannot be read is an error and not "nothing to do".
#[test]
fn s0_3_a_failing_peek_is_not_an_empty_one() {
    let env = env();
    env.write(".ralph/progress.db", "this is no database, and it is long enough to look like one");
    env.ralph(&["task", "peek", "-n", "10"]).failure(1);
}

/// S0-6: an agent claims the task of its choice.
#[test]
fn s0_6_a_claim_can_name_its_task() {
    let env = env();
    env.task(&["add", "First", "--id", "a", "-p", "0"]);
    env.task(&["add", "Second", "--id", "b"]);
    assert!(env.task_as("ada", &["claim", "b"]).success().starts_with("## Task b\n"));
}

/// S0-7, S0-8, S0-9: the tasks still active under an id can be found and failed, others stay.
#[test]
fn s0_7_s0_8_s0_9_what_an_agent_left_is_found_and_failed() {
    let env = env();
    for id in ["a", "b", "c"] {
        env.task(&["add", "Task", "--id", id]);
    }
    env.task_as("ada", &["claim", "a"]).success();
    env.task_as("ada", &["claim", "b"]).success();
    env.task_as("bob", &["claim", "c"]).success();
    let left = env.task(&["list", "--status", "active", "--assignee", "ada", "--json"]);
    let left: Vec<serde_json::Value> = ralph_testkit::data(&left);
    assert_eq!(left.len(), 2);
    for task in left {
        let id = task["id"].as_str().unwrap();
        env.task(&["fail", id, "--reason", "session exited without completing task"]);
        let shown: serde_json::Value = ralph_testkit::data(&env.task(&["show", id, "--json"]));
        assert_eq!(shown["reason"], "session exited without completing task");
        assert_eq!(shown["status"], "open");
        assert_eq!(shown["assignee"], serde_json::Value::Null);
    }
    assert_eq!(status(&env, "c"), "active");
}

/// S0-11, S0-19: plan-status is one exact line.
#[test]
fn s0_11_s0_19_plan_status_is_one_line() {
    let env = env();
    assert_eq!(env.task(&["plan-status"]), "0 open, 0 active, 0 done, 0 blocked, 0 deleted\n");
    for id in ["a", "b", "c", "d", "e", "f"] {
        env.task(&["add", "Task", "--id", id]);
    }
    env.task(&["block", "b", "--by", "a"]);
    env.task(&["claim", "c"]);
    env.task(&["claim", "d"]);
    env.task(&["done", "d"]);
    env.task(&["delete", "e"]);
    assert_eq!(env.task(&["plan-status"]), "2 open, 1 active, 1 done, 1 blocked, 1 deleted\n");
    env.task(&["update", "f", "--status", "waiting"]);
    env.task(&["fail", "c", "--reason", "x", "--final"]);
    assert_eq!(
        env.task(&["plan-status"]),
        "1 open, 0 active, 1 done, 1 blocked, 1 deleted, 1 failed, 1 waiting\n"
    );
}

/// S0-18: failing what was released already is refused and changes nothing.
#[test]
fn s0_18_a_second_line_of_defence_is_harmless() {
    let env = env();
    env.task(&["add", "Task", "--id", "a"]);
    env.task_as("ada", &["claim", "a"]).success();
    env.task_as("ada", &["fail", "a", "--reason", "session ended unexpectedly"]).success();
    env.task_as("ada", &["fail", "a", "--reason", "session exited without completing task"])
        .failure(2);
    let shown: serde_json::Value = ralph_testkit::data(&env.task(&["show", "a", "--json"]));
    assert_eq!(
        (&shown["reason"], &shown["retry_count"]),
        (&"session ended unexpectedly".into(), &1.into())
    );
}

/// S1-7: the database lies at `.ralph/progress.db`, is made when missing, in WAL with foreign keys.
#[test]
fn s1_7_the_database_is_made_where_it_belongs() {
    let env = env();
    env.task(&["add", "Task"]);
    let header = std::fs::read(env.store()).unwrap();
    assert_eq!(&header[..16], b"SQLite format 3\0");
    assert_eq!(&header[18..20], [2, 2], "write-ahead log");
}

/// S1-10, S1-11: ready means pending, leaf, nothing failed above, blockers done; by priority, then age.
#[test]
fn s1_10_s1_11_ready_in_order() {
    let env = env();
    env.task(&["add", "late", "--id", "late", "-p", "3"]);
    env.task(&["add", "older", "--id", "older", "-p", "1"]);
    env.task(&["add", "younger", "--id", "younger", "-p", "1"]);
    env.task(&["add", "blocked", "--id", "blocked", "-p", "0", "--deps", "late"]);
    env.task(&["add", "parent", "--id", "parent", "-p", "0"]);
    env.task(&["add", "child", "--id", "child", "-p", "2", "--parent", "parent"]);
    let ready = env.task(&["ready"]);
    let ids: Vec<&str> =
        ready.lines().skip(1).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(ids, ["older", "younger", "child", "late"]);
}

/// S1-12: within a feature only its tasks are ready.
#[test]
fn s1_12_a_scope_holds_only_its_own() {
    let env = env();
    env.ralph(&["feature", "create", "login"]).success();
    env.task(&["add", "in", "--id", "in", "--feature", "login", "-p", "9"]);
    env.task(&["add", "out", "--id", "out"]);
    assert!(!env.task(&["ready", "--feature", "login"]).contains("out"));
    assert!(env.task(&["claim", "--feature", "login"]).starts_with("## Task in\n"));
    env.ralph(&["task", "claim", "--feature", "login"]).failure(2);
    assert_eq!(
        env.task(&["plan-status", "--feature", "login"]),
        "0 open, 1 active, 0 done, 0 blocked, 0 deleted\n"
    );
}

/// S1-48, S1-49: done unblocks dependents and finishes parents; failed fails parents.
#[test]
fn s1_48_s1_49_cascades_reach_to_the_top() {
    let env = env();
    env.task(&["add", "top", "--id", "top"]);
    env.task(&["add", "middle", "--id", "middle", "--parent", "top"]);
    env.task(&["add", "one", "--id", "one", "--parent", "middle"]);
    env.task(&["add", "two", "--id", "two", "--parent", "middle", "--deps", "one"]);
    env.task(&["add", "after", "--id", "after", "--deps", "top"]);
    env.task(&["claim", "one"]);
    env.task(&["done", "one"]);
    env.task(&["claim", "two"]);
    env.task(&["fail", "two", "--reason", "x", "--final"]);
    assert_eq!([status(&env, "middle"), status(&env, "top")], ["failed", "failed"]);
    env.task(&["reset", "two"]);
    assert_eq!([status(&env, "middle"), status(&env, "top")], ["open", "open"]);
    env.task(&["claim", "two"]);
    env.task(&["done", "two"]);
    assert_eq!([status(&env, "middle"), status(&env, "top")], ["done", "done"]);
    assert!(env.task(&["ready"]).contains("after"));
}

/// S1-52: reset recovers a stale claim.
#[test]
fn s1_52_reset_recovers_a_stale_claim() {
    let env = env();
    env.task(&["add", "Task", "--id", "a"]);
    env.task_as("gone", &["claim", "a"]).success();
    env.task(&["reset", "a"]);
    assert_eq!(status(&env, "a"), "open");
    env.task_as("gone", &["done", "a"]).failure(2);
    env.task_as("ada", &["claim", "a"]).success();
}

/// S1-53: `ralph task add` fills the graph.
#[test]
fn s1_53_add_fills_the_graph() {
    let env = env();
    env.task(&["add", "base", "--id", "base"]);
    env.task(&["add", "part", "--id", "part", "--parent", "base"]);
    env.task(&["add", "next", "--id", "next", "--deps", "base,part"]);
    assert!(env.task(&["tree"]).contains("next  blocked  next  after base, part"));
}

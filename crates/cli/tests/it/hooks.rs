//! `ralph hook`, called as the agent's settings say.

use std::process::Command;

use crate::{RALPH, env};

/// Runs the command that `ralph init` wrote for an event, as the agent would.
fn run_hook(env: &ralph_testkit::TestEnv, event: &str, agent: &str, path: &str) -> (i32, String) {
    let text = std::fs::read_to_string(env.repo().join(".claude/settings.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&text).unwrap();
    let hook = settings["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", hook]).current_dir(env.repo()).env_clear();
    command.env("PATH", path).env("HOME", env.home());
    if !agent.is_empty() {
        command.env("RALPH_AGENT_ID", agent);
    }
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn folder_of_ralph() -> String {
    std::path::Path::new(RALPH).parent().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn s0_18_the_hook_gives_back_what_a_session_holds_and_only_that() {
    let env = env();
    env.ralph(&["init"]).success();
    for id in ["a", "b", "c", "d"] {
        env.task(&["add", "T", "--id", id]);
    }
    for (agent, id) in [("ada", "a"), ("ada", "b"), ("bob", "c"), ("ada", "d")] {
        env.task_as(agent, &["claim", id]).success();
    }
    env.task_as("ada", &["done", "d"]).success();
    let path = folder_of_ralph();
    for _ in 0..2 {
        assert_eq!(run_hook(&env, "SessionEnd", "ada", &path), (0, String::new()));
        let status = env.task(&["plan-status"]);
        assert_eq!(status, "2 open, 1 active, 1 done, 0 blocked, 0 deleted\n");
        assert_eq!(env.task(&["log", "a"]).matches("session ended unexpectedly").count(), 1);
    }
    assert!(env.task(&["list", "--assignee", "bob"]).contains("active"));
    // The second line of defence finds nothing to do.
    env.task_as("ada", &["fail", "a", "--reason", "session exited without completing task"])
        .failure(2);
}

#[test]
fn a_full_context_stops_the_session() {
    let env = env();
    env.ralph(&["init"]).success();
    env.task(&["add", "T", "--id", "a"]);
    env.task_as("ada", &["claim", "a"]).success();
    let stop = "{\"continue\":false,\"stopReason\":\"Context Limit Reached\"}\n";
    for _ in 0..2 {
        let (code, printed) = run_hook(&env, "PreCompact", "ada", &folder_of_ralph());
        assert_eq!((code, printed.as_str()), (0, stop));
        assert_eq!(env.task(&["log", "a"]).matches("context limit reached").count(), 1);
    }
}

#[test]
fn a_users_session_is_left_alone() {
    let env = env();
    env.ralph(&["init"]).success();
    env.task(&["add", "T", "--id", "a"]);
    env.task(&["claim", "a"]);
    for event in ["SessionEnd", "PreCompact"] {
        assert_eq!(run_hook(&env, event, "", &folder_of_ralph()), (0, String::new()));
        // Neither does a machine without ralph break a session.
        assert_eq!(run_hook(&env, event, "", "/nonexistent"), (0, String::new()));
        assert_eq!(run_hook(&env, event, "ada", "/nonexistent"), (0, String::new()));
    }
    assert!(env.task(&["list"]).contains("active"));
}

#[test]
fn a_hook_never_fails_whatever_the_store_says() {
    let mut env = env();
    env.write(".ralph/progress.db", "notes of another tool\n".repeat(40));
    env.set("RALPH_AGENT_ID", "ada");
    let ran = env.ralph(&["hook", "pre-compact"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("\"continue\":false"), "{}", ran.stdout);
    assert!(ran.stderr.contains("not a task database of ralph"), "{}", ran.stderr);
    env.set("RALPH_AGENT_ID", "not an id");
    assert_eq!(env.ralph(&["hook", "session-end"]).code, 0);
    assert_eq!(env.ralph(&["hook", "lunch"]).code, 64);
}

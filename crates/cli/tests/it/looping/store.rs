//! The store under a running loop: failing looks, stale claims, claims that are taken away.

use ralph_testkit::Ran;
use rusqlite::Connection;

use super::*;

/// Makes everything fail that has to do with tasks.
fn hide_tasks(env: &TestEnv) {
    rename(env, "tasks", "tasks_hidden");
}

fn show_tasks(env: &TestEnv) {
    rename(env, "tasks_hidden", "tasks");
}

fn rename(env: &TestEnv, from: &str, to: &str) {
    let store = Connection::open(env.store()).unwrap();
    let kept = env.folder().join("schema.json");
    if !kept.exists() {
        std::fs::write(&kept, serde_json::to_string(&schema(&store)).unwrap()).unwrap();
    }
    let text = format!("PRAGMA legacy_alter_table = ON; ALTER TABLE {from} RENAME TO {to};");
    store.execute_batch(&text).unwrap();
    if to.ends_with("_hidden") {
        return;
    }
    // SQLite writes names into the schema in its own way, and ralph takes up no schema but its own.
    let before = std::fs::read_to_string(&kept).unwrap();
    let before: Vec<(String, Option<String>)> = serde_json::from_str(&before).unwrap();
    store.execute_batch("PRAGMA writable_schema = ON").unwrap();
    for (name, sql) in before {
        store.execute("UPDATE sqlite_schema SET sql = ?2 WHERE name = ?1", (name, sql)).unwrap();
    }
    store.execute_batch("PRAGMA writable_schema = RESET").unwrap();
}

/// The texts of a schema by their names.
fn schema(store: &Connection) -> Vec<(String, Option<String>)> {
    let mut all = store.prepare("SELECT name, sql FROM sqlite_schema").unwrap();
    let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// A session that changes nothing, and meanwhile looks at the plan begin to fail.
fn then_looks_fail(env: &TestEnv, then: &[&str], extra: &[&str]) -> Child {
    let first = session(&[gate_step("there", "go"), say("hm")]);
    let running = start(env, &[&[&*first], then].concat(), extra);
    wait_for(env, "there");
    rename(env, "agents", "agents_hidden");
    touch(env, "go");
    running
}

#[test]
fn s0_3_a_look_that_fails_is_tried_again_and_starts_no_session() {
    let env = project(&["a"]);
    let running = then_looks_fail(&env, &[&picks("a")], &["--preset", "pick"]);
    wait_for_event(&env, "a failed look", |event| event["kind"] == "port_failed");
    assert_eq!(of_kind(&journal(&env), "iteration_started").len(), 1);
    rename(&env, "agents_hidden", "agents");
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(status(&env, "a"), "done");
}

#[test]
fn s0_3_looks_that_fail_count_towards_the_limit() {
    let env = project(&["a"]);
    let limit = ["--preset", "pick", "--max-iterations", "2"];
    let ran = Ran::end_of(then_looks_fail(&env, &[], &limit));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("max iterations (2) reached"), "{}", ran.stderr);
}

#[test]
fn s0_13_a_store_that_fails_after_a_session_is_waited_for_and_the_session_counts_once() {
    let env = project(&["a", "b"]);
    let first = session(&[
        sh("ralph task claim a; ralph task done a"),
        write("a.txt", "a\n"),
        gate_step("there", "go"),
        say("done"),
    ]);
    let running = start(&env, &[&first, &picks("b")], &["--preset", "pick"]);
    wait_for(&env, "there");
    hide_tasks(&env);
    touch(&env, "go");
    wait_for_event(&env, "the failure", |event| {
        event.to_string().contains("no such table") && event["kind"] != "session_ended"
    });
    show_tasks(&env);
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(classes(&env), ["done", "done"]);
    assert_eq!((status(&env, "a"), status(&env, "b")), ("done".to_owned(), "done".to_owned()));
}

#[test]
fn s1_51_a_store_that_stays_broken_ends_the_run_and_loses_nothing() {
    let mut env = project(&["a"]);
    env.hurry();
    let first = session(&[
        write("a.txt", "precious\n"),
        gate_step("there", "go"),
        say("<task-done>{id}</task-done>"),
    ]);
    let running = start(&env, &[&first, &works()], &[]);
    wait_for(&env, "there");
    hide_tasks(&env);
    touch(&env, "go");
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("Stopped by an error: "), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(env.repo().join("a.txt")).unwrap(), "precious\n");
    show_tasks(&env);
    let state = std::fs::read_to_string(env.repo().join(".ralph/state.toml")).unwrap();
    assert!(state.contains("finished = false"), "it can be taken up again: {state}");
    // No reset by hand: the next run takes the task back.
    again(&env, &[]).success();
    assert_eq!(status(&env, "a"), "done");
}

//! What a run may spend: sessions, time, money; and what limits of the provider cost.

use super::*;

/// A session that changes nothing and asks for nothing.
fn idle() -> String {
    only_says("thinking")
}

/// How many sessions the newest run had.
fn sessions(env: &TestEnv) -> usize {
    of_kind(&journal(env), "session_started").len()
}

#[test]
fn s1_4_s1_39_s2_21_s2_22_s3_2_s3_3_a_limit_of_n_is_n_sessions_however_it_is_given() {
    for arguments in [&["2"][..], &["--max-iterations", "2"], &["--set", "loop.max_iterations=2"]] {
        let env = project(&["a", "b"]);
        let ran = build(&env, &[&idle(), &idle(), &idle()], arguments);
        assert_eq!((ran.code, sessions(&env)), (0, 2), "{arguments:?} {}", ran.stderr);
        let output = "Stopped: max iterations (2) reached. Tasks remaining: 2";
        assert!(ran.stderr.contains(output), "{}", ran.stderr);
        assert!(run_log(&env).contains(output));
    }
    let env = project(&["a"]);
    assert_eq!(build(&env, &[&idle()], &["1", "--strict-exit"]).code, 9);
}

fn run_log(env: &TestEnv) -> String {
    let folder = runs(env).pop().unwrap();
    std::fs::read_to_string(folder.with_extension("log")).unwrap()
}

/// More tasks than a run of twenty silent sessions gets through.
fn many() -> TestEnv {
    let mut env = project(&["a", "b", "c", "d", "e", "f", "g", "h"]);
    env.without_sandbox("twenty sessions are counted, and what they do is not looked at");
    env
}

#[test]
fn s2_21_without_a_word_the_limit_is_twenty() {
    // A task waits for you after three silent sessions.
    let env = many();
    let idle = idle();
    let ran = build(&env, &[&*idle; 21], &[]);
    assert_eq!((ran.code, sessions(&env)), (0, 20), "{}", ran.stderr);
}

#[test]
fn s1_39_unlimited_has_to_be_asked_for() {
    for arguments in [&["0"][..], &["--unlimited"]] {
        let env = many();
        let mut sessions_played: Vec<String> = vec![idle(); 21];
        sessions_played.push(works());
        let played: Vec<&str> = sessions_played.iter().map(String::as_str).collect();
        let ran = build(&env, &played, arguments);
        assert_eq!((ran.code, sessions(&env)), (7, 22), "{}", ran.stderr);
        assert_eq!(status(&env, "h"), "done");
    }
}

#[test]
fn s2_23_once_is_one_session() {
    let env = project(&["a", "b"]);
    let ran = build(&env, &[&works(), &works()], &["--once"]);
    assert_eq!((ran.code, sessions(&env)), (0, 1));
    assert!(
        ran.stderr.contains("max iterations (1) reached. Tasks remaining: 1"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        again(&env, &["--once", "--strict-exit"]).code,
        0,
        "the last task completes the plan"
    );
}

#[test]
fn the_number_of_sessions_is_given_once() {
    let env = project(&["a"]);
    build(&env, &[], &["3", "--max-iterations", "3"]).failure(64);
    build(&env, &[], &["--unlimited", "--max-iterations", "3"]).failure(64);
    build(&env, &[], &["3", "--unlimited"]).failure(64);
    assert!(runs(&env).is_empty());
}

#[test]
fn a_budget_stops_the_run_after_the_session_that_used_it_up() {
    let costs = |usd: &str| {
        session(&[
            format!("{{\"do\":\"usage\",\"input\":1000,\"output\":10,\"usd\":{usd}}}"),
            write("{id}", "x"),
            say("<task-done>{id}</task-done>"),
        ])
    };
    let env = project(&["a", "b", "c"]);
    let ran = build(&env, &[&costs("0.30"), &costs("0.30"), &costs("0.30")], &["--budget", "0.5"]);
    assert_eq!((ran.code, sessions(&env)), (8, 2), "{}", ran.stderr);
    assert_eq!((status(&env, "b"), status(&env, "c")), ("done".into(), "open".into()));
    assert!(ran.stderr.contains("budget") && ran.stderr.contains("money"), "{}", ran.stderr);
    // A plan that is finished is finished.
    let env = project(&["a"]);
    build(&env, &[&costs("9")], &["--budget", "0.5"]).success();
    let env = project(&["a", "b"]);
    let ran = build(&env, &[&costs("0")], &["--set", "budget.tokens=1000"]);
    assert_eq!(ran.code, 8, "{}", ran.stderr);
}

#[test]
fn strict_exit_distinguishes_unfinished_plans_from_finished_ones() {
    let env = project(&["a"]);
    assert_eq!(build(&env, &[&idle()], &["--once", "--strict-exit"]).code, 9);
    let gives_up = only_says("<task-failed>{id}</task-failed>");
    assert_eq!(build(&env, &[&gives_up], &["--strict-exit"]).code, 1);
    assert_eq!(build(&env, &[], &["--strict-exit"]).code, 1, "still failed");
    assert_eq!(build(&env, &[], &[]).code, 0);
    let env = project(&["a"]);
    build(&env, &[&works()], &["--strict-exit"]).success();
}

#[test]
fn s3_12_s4_15_s4_21_each_outcome_has_its_exit_code() {
    let complete = project(&["a"]);
    assert_eq!(build(&complete, &[&works()], &[]).code, 0);
    assert_eq!(build(&project(&["a"]), &[&idle()], &["1"]).code, 0);
    let empty = build(&project(&[]), &[], &[]);
    assert_eq!(empty.code, 2);
    assert!(
        empty.stderr.contains("Implementation plan not found. Run 'ralph plan' first."),
        "{}",
        empty.stderr
    );
    let breaker = ["--set", "loop.max_consecutive_errors=2"];
    let crash = "{\"do\":\"exit\",\"code\":1}";
    let ran = build(&project(&["a"]), &[crash, crash], &breaker);
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(ran.stderr.contains("2 errors in a row"), "{}", ran.stderr);
    let idle_run =
        build(&project(&["a"]), &[&idle(), &idle()], &["--set", "loop.idle_threshold=2"]);
    assert_eq!(idle_run.code, 0);
    assert!(idle_run.stderr.contains("2 iterations without a change"), "{}", idle_run.stderr);
}

#[test]
fn s2_14_s2_15_s4_19_a_timeout_ends_the_session_gracefully_and_the_run_goes_on() {
    let mut env = project(&["a"]);
    let body = r#"if [ $n = 1 ]; then trap 'echo term >> $here/signals; exit 0' TERM; init; sleep 300 & wait; fi
                  echo z > z; result "<task-done>a</task-done>""#;
    let here = stand_in(&mut env, body);
    env.ralph(&["build", "--agent", "claude", "--timeout", "1s"]).success();
    assert_eq!(classes(&env), ["timeout", "done"]);
    assert_eq!(
        std::fs::read_to_string(here.join("signals")).unwrap(),
        "term\n",
        "TERM comes first"
    );
}

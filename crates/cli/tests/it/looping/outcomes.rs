//! The end of a run as its user sees it: the outcome line, what to type next, the exit code.

use super::*;

fn gives_up() -> String {
    only_says("<task-failed>{id}</task-failed><reason>the key is missing</reason>")
}

#[test]
fn a_plan_with_a_failed_task_is_finished_and_not_called_done() {
    let env = project(&["a", "b"]);
    let ran = build(&env, &[&works(), &gives_up()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for part in [
        "· Finished: 1 done, 1 failed (see: ralph task show b)",
        "the key is missing",
        "Next: ralph task show b\n      ralph retry b\n",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("Complete"), "{}", ran.stderr);
}

#[test]
fn a_task_that_failed_in_an_earlier_run_is_named_with_its_reason_and_its_retry() {
    let env = project(&["a", "b"]);
    build(&env, &[&works(), &gives_up()], &[]);
    let ran = build(&env, &[], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for part in [
        "Finished: 1 done, 1 failed (see: ralph task show b)",
        "the key is missing",
        "ralph retry b",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let log = env.ralph(&["status"]).success();
    assert!(log.contains("Finished: 1 done, 1 failed"), "{log}");
    env.ralph(&["retry", "b"]).success();
    let ran = build(&env, &[&works()], &[]);
    assert!(ran.stderr.contains("✓ All 2 tasks done."), "{}", ran.stderr);
    assert!(!ran.stderr.contains("failed"), "{}", ran.stderr);
}

#[test]
fn strict_exit_is_a_setting_and_init_turns_it_on() {
    let env = project(&["a"]);
    let strict = ["--set", "loop.strict_exit=true"];
    assert_eq!(build(&env, &[&gives_up()], &strict).code, 1);
    assert_eq!(build(&env, &[], &[]).code, 0);
    env.ralph(&["init"]).success();
    assert_eq!(build(&env, &[], &[]).code, 1, "ralph.toml");
}

#[test]
fn options_with_unknown_names_are_wrong_usage() {
    let env = project(&["a"]);
    for option in ["--preset", "--agent", "--model-strategy"] {
        let refused = env.ralph(&["build", option, "nosuch"]).failure(64);
        assert!(refused.contains("nosuch"), "{option}: {refused}");
    }
}

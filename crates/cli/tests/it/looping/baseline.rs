//! `gates.baseline`: old failures and new ones.

use super::*;

/// A gate that prints like cargo: a failing test for each line of `failing`, and as many that pass as `passing` says.
fn gate(env: &TestEnv, failing: &str) {
    env.write("failing", failing);
    env.write("passing", "3\n");
    env.write(
        "ralph.toml",
        "[gates]\nbaseline = true\n[[gate]]\nname = \"check\"\ncommand = \"\"\"\n\
         test -s failing || exit 0\nsed 's/.*/test & ... FAILED/' failing\n\
         test ! -s passing || echo \"test result: FAILED. $(cat passing) passed; 1 failed;\"\nexit 101\n\"\"\"\n",
    );
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
}

fn leaves(failing: &str) -> String {
    session(&[
        write("{id}.txt", "work\n"),
        write("failing", failing),
        say("<task-done>{id}</task-done>"),
    ])
}

#[test]
fn only_old_failures_do_not_hold_a_task_up() {
    let env = project(&["a"]);
    gate(&env, "old_one\nold_two\n");
    let ran = build(&env, &[&leaves("old_two\n")], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let output = "gate check already failed before the run, with 2 failing tests: old_one, old_two";
    assert!(ran.stderr.contains(output), "{}", ran.stderr);
    assert!(ran.stderr.contains("only failures from before the run"), "{}", ran.stderr);
    let page = env.task(&["show", "a"]);
    assert!(page.contains("All failing tests also failed before the run"), "{page}");
    let evidence = &show(&env, "a")["evidence"][0];
    assert_eq!((&evidence["verdict"], &evidence["exit_code"]), (&"pass".into(), &101.into()));
    assert_eq!(evidence["digest"], "All failing tests also failed before the run:\n- old_two");
    let journal = journal(&env);
    let text: Vec<_> =
        of_kind(&journal, "noticed").into_iter().filter(|n| n["notice"] == "baseline").collect();
    assert_eq!((text.len(), &text[0]["verdict"]), (1, &"fail".into()));
    assert!(run_file(&env, "baseline.gate-check.log").contains("test old_one ... FAILED"));
}

#[test]
fn a_resumed_run_keeps_the_baseline_of_the_one_that_was_killed() {
    let mut env = project(&["a"]);
    gate(&env, "old\n");
    env.set("RALPH_TEST_CRASH", "session-ended");
    assert_ne!(build(&env, &[&leaves("old\nnew\n"), &leaves("old\nnew\n")], &[]).code, 0);
    env.set("RALPH_TEST_CRASH", "");
    again(&env, &["--once"]).success();
    assert_eq!(classes(&env), ["red"], "what a killed session broke is no old failure");
}

#[test]
fn with_nothing_to_do_the_gates_are_not_run() {
    let env = project(&[]);
    gate(&env, "old\n");
    assert_eq!(build(&env, &[], &[]).code, 2);
    assert!(runs(&env).is_empty());
}

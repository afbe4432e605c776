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
fn new_failures_are_red_and_distinguished_from_old_ones() {
    let env = project(&["a"]);
    gate(&env, "old\n");
    build(&env, &[&leaves("old\nnew\n"), &leaves("old\n")], &[]).success();
    assert_eq!(classes(&env), ["red", "done"]);
    let prompt = run_file(&env, "iteration-002.task.md");
    let lines: Vec<&str> = prompt.lines().map(str::trim).collect();
    let text = ["New failing tests:", "- new", "", "Also failing before the run:", "- old"];
    assert!(lines.windows(text.len()).any(|window| window == text), "{prompt}");
    let log = env.task(&["log", "a"]);
    assert!(log.contains("gate check failed (exit code 101): New failing tests: new"), "{log}");
}

#[test]
fn old_failures_are_not_excused_where_the_other_tests_no_longer_pass() {
    let env = project(&["a"]);
    gate(&env, "old\n");
    let breaks = |passing: &str| {
        session(&[
            write("{id}.txt", "work\n"),
            write("passing", passing),
            say("<task-done>{id}</task-done>"),
        ])
    };
    // Fewer pass; nothing but the name of the old failure is printed; honest again.
    build(&env, &[&breaks("2\n"), &breaks(""), &breaks("3\n")], &[]).success();
    assert_eq!(classes(&env), ["red", "red", "done"]);
    let prompt = run_file(&env, "iteration-002.task.md");
    assert!(prompt.contains("Fewer tests passed than before the run: 2 instead of 3."), "{prompt}");
    let prompt = run_file(&env, "iteration-003.task.md");
    assert!(
        prompt.contains("ralph counted no passing test; before the run it counted 3."),
        "{prompt}"
    );
}

#[test]
fn without_a_baseline_old_failures_are_red() {
    let env = project(&["a"]);
    gate(&env, "old\n");
    let off = ["--once", "--set", "gates.baseline=false"];
    build(&env, &[&leaves("old\n")], &off).success();
    assert_eq!(classes(&env), ["red"]);
    assert!(show(&env, "a")["reason"].as_str().unwrap().ends_with("Failing tests: old"));
}

#[test]
fn a_green_baseline_is_reported_and_changes_nothing() {
    let env = project(&["a"]);
    gate(&env, "");
    let ran = build(&env, &[&leaves("new\n"), &leaves("")], &[]);
    assert!(ran.stderr.contains("gate check passes before the run"), "{}", ran.stderr);
    assert_eq!(classes(&env), ["red", "done"]);
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

#[test]
fn a_run_that_is_cancelled_while_the_gates_run_first_ends_at_once() {
    let env = project(&["a"]);
    let gate = "touch ../notes/reached; sleep 300";
    env.write(
        "ralph.toml",
        format!("[gates]\nbaseline = true\n[[gate]]\nname = \"slow\"\ncommand = \"{gate}\"\n"),
    );
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
    let run = start(&env, &[&works()], &[]);
    wait_for(&env, "reached");
    ralph_testkit::send_signal("INT", run.id());
    assert_eq!(Ran::end_of(run).code, 130);
    assert_eq!(status(&env, "a"), "open");
    assert!(!runs(&env).pop().unwrap().join("baseline.json").exists(), "it says nothing");
}

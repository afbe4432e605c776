//! A call that is cut off at any point goes on, and nothing is lost or done twice.

use ralph_testkit::sampled;

use super::*;

/// Kills a call at a point, and calls again until it ends by itself.
fn survives(point: &str) {
    let mut env = with_plan(TWO);
    agent(
        &mut env,
        "works; sed -i \"s/\\[ \\] $title/[x] $title/\" IMPLEMENTATION_PLAN.md; git add -A
git update-index --no-skip-worktree IMPLEMENTATION_PLAN.md; git add -f IMPLEMENTATION_PLAN.md; git commit -qm \"$title\"; echo left >> \"left-$b\"; done_",
    );
    env.set("RALPH_TEST_CRASH", point);
    let ran = build(&env, &[]);
    assert_ne!(ran.code, 0, "{point} was not reached: {}", ran.stderr);
    env.set("RALPH_TEST_CRASH", "");
    let text = output_of(env.ralph(&["loop"]), 0);
    assert_eq!(ticks(&env), ["Write a", "Write b", "Write c", "Write d"], "{point}: {text}");
    for branch in ["one", "two"] {
        has_not(&changed(&env, branch).join(" "), PLAN);
        let tasks = subjects(&env, branch);
        for title in if branch == "one" { ["Write a", "Write b"] } else { ["Write c", "Write d"] } {
            assert!(tasks.iter().any(|subject| subject.contains(title)), "{point}: {tasks:?}");
        }
        let here = worktree(&env, branch).display().to_string();
        assert_eq!(env.git(&["-C", &here, "status", "--porcelain"]), "", "{point}");
    }
    let done = env.task(&["list", "--all", "--json"]);
    let done: Vec<Value> = ralph_testkit::data(&done);
    assert_eq!(done.len(), 4, "{point}: each task once");
    assert!(done.iter().all(|task| task["status"] == "done"), "{point}");
}

#[test]
fn s4_17_a_call_that_is_killed_while_worktrees_are_made_goes_on() {
    sampled(2, vec!["worktree-added", "worktree-filled"]).into_iter().for_each(survives);
}

#[test]
fn s4_17_a_call_that_is_killed_as_runs_begin_goes_on() {
    sampled(2, vec!["run-started", "session-started"]).into_iter().for_each(survives);
}

#[test]
fn s4_17_a_call_that_is_killed_in_the_middle_of_sessions_goes_on() {
    sampled(2, vec!["commits-saved", "candidate-made"]).into_iter().for_each(survives);
}

#[test]
fn s4_17_a_call_that_is_killed_while_recording_continues() {
    sampled(2, vec!["plan-written", "after-commit"]).into_iter().for_each(survives);
}

#[test]
fn s4_17_a_call_that_is_killed_after_recording_continues() {
    sampled(2, vec!["task-settled", "state-written"]).into_iter().for_each(survives);
}

#[test]
fn a_worktree_whose_setup_was_cut_off_is_set_up_again() {
    let mut env = with_plan(&branches(&[("one", "")]));
    env.write("ralph.toml", "[git.worktree]\nsetup = \"echo x >> ../../../notes/agent/set-up\"\n");
    let here = agent(&mut env, LEAVES);
    env.set("RALPH_TEST_CRASH", "worktree-set-up");
    assert_ne!(build(&env, &[]).code, 0);
    env.set("RALPH_TEST_CRASH", "");
    output_of(build(&env, &["--max", "1"]), 0);
    output_of(build(&env, &[]), 0);
    assert_eq!(note(&here, "set-up").lines().count(), 2);
    assert_eq!(ticks(&env), ["Work on one"]);
}

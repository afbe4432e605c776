//! Finished work that waits for the user: `ralph approve` lands it, `ralph reject` returns it.

use super::*;
use crate::sandboxed::has_boxes;

const ALWAYS: &[&str] = &["--set", "completion.approve=always"];
const APART: &[&str] = &["--set", "completion.approve=always", "--set", "loop.works_in=worktree"];

/// The project in place at level full, and with a worktree for each task.
fn at_each_place(tasks: &[&str], check: impl Fn(TestEnv, &[&str])) {
    if has_boxes("approval in place") {
        let mut env = project(tasks);
        env.at_level("full", "only level full keeps commits of sessions off the branch");
        check(env, ALWAYS);
    }
    check(project(tasks), APART);
}

#[test]
fn approved_work_lands_without_a_session_after_other_tasks_waited_with_it() {
    at_each_place(&["a", "b"], |env, set| {
        let before = env.git(&["rev-parse", "HEAD"]);
        let ran = build(&env, &[&works(), &works()], set);
        assert_eq!(ran.code, 7, "{}", ran.stderr);
        assert!(ran.stderr.contains("ralph approve a"), "{}", ran.stderr);
        assert_eq!(env.git(&["rev-parse", "HEAD"]), before);
        let diff = env.ralph(&["diff", "a", "--name-only"]).success();
        assert_eq!(diff.trim(), "a.txt");
        assert!(env.ralph(&["status"]).success().contains("ralph approve a"));
        assert!(env.ralph(&["approve"]).success().contains("a "));
        // The second one has another base by then: the same change lands on top.
        for task in ["a", "b"] {
            env.ralph(&["approve", task]).success();
        }
        build(&env, &[], set).success();
        let files = env.git(&["ls-tree", "--name-only", "HEAD"]);
        assert!(files.contains("a.txt") && files.contains("b.txt"), "{files}");
        assert_eq!(
            env.git(&["rev-list", "--count", &format!("{}..HEAD", before.trim())]).trim(),
            "2"
        );
    });
}

#[test]
fn rejected_work_is_retried_with_the_reason() {
    at_each_place(&["a"], |env, set| {
        build(&env, &[&works()], set);
        env.ralph(&["reject", "a", "keep the old name"]).success();
        assert_eq!(show(&env, "a")["retry_count"], 1);
        let ran = build(&env, &[&works()], set);
        assert_eq!(ran.code, 7, "{}", ran.stderr);
        let log = env.ralph(&["task", "log", "a"]).success();
        assert!(log.contains("rejected by you: keep the old name"), "{log}");
    });
}

#[test]
fn a_large_change_waits_and_a_small_one_lands() {
    let env = project(&["a"]);
    env.write("ralph.toml", "[completion]\napprove = \"risky\"\napprove_lines = 2\n");
    env.git(&["add", "."]);
    env.git(&["commit", "--quiet", "--message", "settings"]);
    let apart = &["--set", "loop.works_in=worktree"];
    build(&env, &[&works()], apart).success();
    env.ralph(&["task", "add", "B", "--id", "b"]).success();
    let large = session(&[write("b.txt", "1\n2\n3\n"), say("<task-done>b</task-done>")]);
    let ran = build(&env, &[&large], apart);
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    assert!(ran.stderr.contains("changes 3 lines, more than 2"), "{}", ran.stderr);
}

#[test]
fn only_work_that_waits_can_be_approved() {
    let env = project(&["a"]);
    let ran = env.ralph(&["approve", "a"]);
    assert!(
        ran.code != 0 && ran.stderr.contains("a is open, and no work of it waits for approval"),
        "{}",
        ran.stderr
    );
    let ran = env.ralph(&["reject", "nosuch", "why"]);
    assert!(ran.code != 0 && ran.stderr.contains("nosuch"), "{}", ran.stderr);
}

#[test]
fn approval_is_refused_where_sessions_commit_to_your_branch() {
    let mut env = project(&["a"]);
    env.at_level("none", "commits of sessions are on the branch at once");
    let ran = build(&env, &[], ALWAYS);
    assert!(ran.code != 0 && ran.stderr.contains("loop.works_in=worktree"), "{}", ran.stderr);
}

//! Work belongs to the task whose session made it, and what changes while no session runs is the user's.

use ralph_testkit::Ran;

use super::*;
use crate::sandboxed::has_boxes;

/// The project at each sandbox level that works here.
fn at_each_level(tasks: &[&str], check: impl Fn(TestEnv)) {
    for level in ["none", "full"] {
        if level == "full" && !has_boxes("whose work it is, sandboxed") {
            continue;
        }
        let mut env = project(tasks);
        env.at_level(level, "whose work it is must hold at both ends of the sandbox");
        check(env);
    }
}

fn gate(env: &TestEnv, command: &str) {
    let command = toml::Value::String(command.to_owned());
    env.write("ralph.toml", format!("[[gate]]\nname = \"check\"\ncommand = {command}\n"));
    env.git(&["add", "ralph.toml"]);
    env.git(&["commit", "-qm", "gate"]);
}

/// The files of the newest commit.
fn committed(env: &TestEnv) -> Vec<String> {
    let shown = env.git(&["show", "--format=", "--name-only", "HEAD"]);
    shown.lines().map(str::to_owned).collect()
}

/// A session that waits in the worktree until you are through with something.
fn meets_you(then: &[String]) -> String {
    let wait = "touch there.tmp; until test -e go.tmp; do sleep 0.02; done; rm there.tmp go.tmp";
    let mut steps = vec![sh(wait)];
    steps.extend(then.iter().cloned());
    session(&steps)
}

/// Does something while that session waits.
fn meanwhile(env: &TestEnv, act: impl FnOnce()) {
    wait_until("the session", PATIENCE, || env.repo().join("there.tmp").exists());
    act();
    env.write("go.tmp", "");
}

#[test]
fn half_done_work_is_not_committed_with_the_next_task() {
    at_each_level(&["a", "b"], |env| {
        let asks = session(&[write("half-a.txt", "half\n"), say("<question>which?</question>")]);
        let ran = build(&env, &[&asks, &works()], &[]);
        assert_eq!(ran.code, 7, "{}", ran.stderr);
        assert_eq!(committed(&env), ["b.txt"]);
        assert!(!env.repo().join("half-a.txt").exists());
        assert!(ran.stderr.contains("ralph recover a"), "{}", ran.stderr);
        // With its answer the task comes back, and so does its work.
        let question = &show(&env, "a")["questions"][0]["id"];
        env.ralph(&["answer", question.as_str().unwrap(), "the first"]).success();
        let finishes = session(&[
            sh("test -f half-a.txt"),
            write("a.txt", "a\n"),
            say("<task-done>{id}</task-done>"),
        ]);
        build(&env, &[&finishes], &[]).success();
        assert_eq!(committed(&env), ["a.txt", "half-a.txt"]);
    });
}

#[test]
fn a_commit_of_an_unfinished_task_does_not_land_with_the_next_one() {
    if !has_boxes("commits of an unfinished task") {
        return;
    }
    let mut env = project(&["a", "b"]);
    env.at_level("full", "only level full keeps commits of sessions off the branch");
    let commits = "echo half > half-a.txt; git add half-a.txt; git commit -qm 'half of a'";
    let asks = session(&[sh(commits), say("<question>which?</question>")]);
    build(&env, &[&asks, &works()], &[]);
    assert_eq!(subjects(&env), ["build: iteration 2 - b", "first"]);
    assert_eq!(committed(&env), ["b.txt"]);
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:half-a.txt"]), "half\n");
}

#[test]
fn what_a_run_left_is_committed_with_its_task_by_the_next_run() {
    at_each_level(&["a"], |env| {
        gate(&env, "test -f lib.txt && test -f main.txt");
        let lib = session(&[write("lib.txt", "lib\n"), say("<task-done>{id}</task-done>")]);
        let main = session(&[write("main.txt", "main\n"), say("<task-done>{id}</task-done>")]);
        build(&env, &[&lib, &main], &["--once"]).success();
        assert_eq!(status(&env, "a"), "open");
        env.write("notes.txt", "mine\n");
        again(&env, &["--once"]).success();
        assert_eq!(status(&env, "a"), "done");
        assert_eq!(committed(&env), ["lib.txt", "main.txt"]);
        assert_eq!(env.git(&["status", "--porcelain"]), "?? notes.txt\n");
    });
}

#[test]
fn a_file_that_you_write_while_gates_run_stays_and_turns_nothing_red() {
    at_each_level(&["a"], |env| {
        gate(&env, "sleep 1; test -f a.txt");
        let running = start(&env, &[&works()], &[]);
        wait_for_event(&env, "the gates", |event| event["kind"] == "candidate_made");
        env.write("notes.txt", "mine\n");
        Ran::end_of(running).success();
        assert_eq!(committed(&env), ["a.txt"]);
        assert_eq!(env.git(&["status", "--porcelain"]), "?? notes.txt\n");
    });
}

#[test]
fn a_file_that_you_write_while_gates_run_survives_giving_up() {
    at_each_level(&["a"], |env| {
        gate(&env, "sleep 1; false");
        let running = start(&env, &[&works()], &["--max-retries", "0"]);
        wait_for_event(&env, "the gates", |event| event["kind"] == "candidate_made");
        env.write("notes.txt", "mine\n");
        Ran::end_of(running);
        assert_eq!(status(&env, "a"), "failed");
        assert_eq!(std::fs::read_to_string(env.repo().join("notes.txt")).unwrap(), "mine\n");
        assert!(!env.repo().join("a.txt").exists());
    });
}

#[test]
fn a_file_that_the_gates_write_is_part_of_the_work() {
    at_each_level(&["a"], |env| {
        gate(&env, "test -f a.txt && { test -f lock.txt || echo locked > lock.txt; }");
        build(&env, &[&works()], &[]).success();
        assert_eq!(committed(&env), ["a.txt", "lock.txt"]);
        assert_eq!(env.git(&["status", "--porcelain"]), "");
    });
}

#[test]
fn a_branch_that_you_reset_during_a_session_stays_reset() {
    at_each_level(&["a"], |env| {
        env.write("second.txt", "second\n");
        env.git(&["add", "-A"]);
        env.git(&["commit", "-qm", "second"]);
        let done = [write("a.txt", "a\n"), say("<task-done>{id}</task-done>")];
        let running = start(&env, &[&meets_you(&done)], &[]);
        meanwhile(&env, || {
            env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        });
        Ran::end_of(running).success();
        assert_eq!(subjects(&env), ["build: iteration 1 - a", "first"]);
        assert_eq!(committed(&env), ["a.txt"]);
    });
}

#[test]
fn work_is_saved_when_you_switch_branches_during_a_session() {
    at_each_level(&["a"], |env| {
        let done = [write("a.txt", "a\n"), say("<task-done>{id}</task-done>")];
        let running = start(&env, &[&meets_you(&done)], &[]);
        meanwhile(&env, || {
            env.git(&["switch", "--quiet", "-c", "other"]);
        });
        let ran = Ran::end_of(running);
        assert_eq!(ran.code, 5, "{}", ran.stderr);
        assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:a.txt"]), "a\n", "{}", ran.stderr);
        // Back on the branch, the finished work needs no second session.
        env.git(&["switch", "--quiet", "main"]);
        again(&env, &[]).success();
        assert_eq!(of_kind(&journal(&env), "session_started").len(), 0);
        assert_eq!(committed(&env), ["a.txt"]);
    });
}

#[test]
fn nothing_is_spent_while_a_merge_is_in_progress() {
    let env = project(&["a"]);
    env.git(&["switch", "--quiet", "-c", "other"]);
    env.write("README.md", "Other.\n");
    env.git(&["commit", "-qam", "other"]);
    env.git(&["switch", "--quiet", "main"]);
    env.write("README.md", "Mine.\n");
    env.git(&["commit", "-qam", "mine"]);
    let _ =
        std::process::Command::new("git").args(["merge", "other"]).current_dir(env.repo()).output();
    let output = build(&env, &[&works()], &[]).failure(5);
    assert!(output.contains("a merge is in progress"), "{output}");
    assert!(output.contains("git merge --abort"), "{output}");
    assert_eq!(of_kind(&journal(&env), "session_started").len(), 0);
}

#[test]
fn the_checklist_commits_your_files_but_none_that_looks_like_a_secret_and_says_so() {
    at_each_level(&[], |env| {
        env.write("implementation_plan.md", "- [ ] one\n");
        env.git(&["add", "-A"]);
        env.git(&["commit", "-qm", "plan"]);
        env.write(".env", "TOKEN=x\n");
        env.write("mine.txt", "mine\n");
        let ticks = session(&[
            write("one.txt", "one\n"),
            sh("sed -i 's/\\[ \\] one/[x] one/' implementation_plan.md"),
            say("done"),
        ]);
        let ran = build(&env, &[&ticks], &["--preset", "checklist"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(committed(&env), ["implementation_plan.md", "mine.txt", "one.txt"]);
        assert_eq!(env.git(&["status", "--porcelain"]), "?? .env\n");
        assert!(ran.stderr.contains("mine.txt"), "{}", ran.stderr);
        assert!(ran.stderr.contains(".env"), "{}", ran.stderr);
    });
}

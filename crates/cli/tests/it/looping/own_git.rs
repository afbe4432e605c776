//! Sessions in a box have a git directory of their own: what they commit is on the branch when it is green.

use std::process::Command;

use super::*;

/// A project whose runs are in boxes; `None`, said aloud, where there are none.
fn sandboxed_env(tasks: &[&str], gate: &str) -> Option<TestEnv> {
    let tried =
        Command::new("bwrap").args(["--ro-bind", "/", "/", "--unshare-user", "true"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        ralph_testkit::skip("a git directory for sessions: bubblewrap does not work here");
        return None;
    }
    let mut env = project(tasks);
    env.at_level("full", "only level full gives sessions a git directory of their own");
    let gate = toml::Value::String(gate.to_owned());
    env.write("ralph.toml", format!("[[gate]]\nname = \"check\"\ncommand = {gate}\n"));
    env.git(&["add", "ralph.toml"]);
    env.git(&["commit", "-qm", "gate"]);
    Some(env)
}

/// A session that commits a file, and maybe leaves another one.
fn commits(name: &str, left: &str) -> String {
    let left = if left.is_empty() { String::new() } else { format!("echo left > {left};") };
    let script = format!(
        "echo x > {name}; git add {name}; git commit -qm 'by the agent: {name}'; {left}
         git config core.fsmonitor ./evil; git update-ref refs/heads/mine HEAD"
    );
    session(&[sh(&script), say("<task-done>{id}</task-done>")])
}

fn subjects(env: &TestEnv) -> String {
    env.git(&["log", "--format=%s"])
}

#[test]
fn green_commits_land_and_the_repository_is_untouched_otherwise() {
    let Some(env) = sandboxed_env(&["a", "b"], "git log -1 --format=%s | grep -q agent") else {
        return;
    };
    let config = std::fs::read(env.repo().join(".git/config")).unwrap();
    build(&env, &[&commits("one.txt", ""), &commits("two.txt", "three.txt")], &[]).success();
    let expected =
        "build: iteration 2 - b\nby the agent: two.txt\nby the agent: one.txt\ngate\nfirst\n";
    assert_eq!(subjects(&env), expected);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert_eq!(std::fs::read(env.repo().join(".git/config")).unwrap(), config);
    assert_eq!(env.git(&["branch", "--format=%(refname:short)"]), "main\n");
    env.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn red_commits_are_where_the_next_session_starts_and_not_on_the_branch() {
    let Some(env) = sandboxed_env(&["a"], "test -f two.txt") else { return };
    let seen = "{ git log --format=%s; ls left.txt; } > seen.txt";
    let next = session(&[sh(seen), commits("two.txt", "")]);
    build(&env, &[&commits("one.txt", "left.txt"), &next], &[]).success();
    assert_eq!(classes(&env), ["red", "done"]);
    let seen = std::fs::read_to_string(env.repo().join("seen.txt")).unwrap();
    assert_eq!(seen, "by the agent: one.txt\ngate\nfirst\nleft.txt\n");
    let text = subjects(&env);
    assert!(text.contains("by the agent: two.txt\nby the agent: one.txt\ngate\n"), "{text}");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_is_given_up_is_saved_with_its_commits_and_goes_back() {
    let Some(env) = sandboxed_env(&["a"], "false") else { return };
    let failing = commits("one.txt", "left.txt");
    let sessions = [failing.as_str(), "", "", ""].map(|extra| match extra {
        "" => say("<task-done>a</task-done>"),
        first => first.to_owned(),
    });
    let sessions: Vec<&str> = sessions.iter().map(String::as_str).collect();
    build(&env, &sessions, &["--set", "loop.max_retries=1"]);
    assert_eq!(subjects(&env), "gate\nfirst\n");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let saved = env.git(&["log", "--format=%s", "--glob=refs/ralph/wip/*"]);
    assert!(saved.contains("by the agent: one.txt"), "{saved}");
}

#[test]
fn killed_between_the_session_and_the_end_of_its_work_no_commit_is_lost() {
    for point in ["commits-taken", "commits-landed", "box-removed"] {
        let Some(mut env) = sandboxed_env(&["a"], "true") else { return };
        env.set("RALPH_TEST_CRASH", point);
        let ran = build(&env, &[&commits("one.txt", "")], &[]);
        assert_eq!(ran.code, 137, "{point}: {}", ran.stderr);
        env.set("RALPH_TEST_CRASH", "");
        build(&env, &[&say("<task-done>a</task-done>")], &[]).success();
        let text = subjects(&env);
        assert!(text.contains("by the agent: one.txt\ngate\n"), "{point}: {text}");
        assert_eq!(env.git(&["status", "--porcelain"]), "", "{point}");
        env.git(&["fsck", "--strict", "--no-dangling"]);
    }
}

#[test]
fn tasks_side_by_side_land_from_sandboxes() {
    let Some(env) = sandboxed_env(&["a", "b"], "true") else { return };
    let one = commits("{id}1.txt", "{id}2.txt");
    build(&env, &[&one, &one], &["-j", "2"]).success();
    let text = subjects(&env);
    assert_eq!(text.lines().count(), 4, "{text}");
    for file in ["a1.txt", "a2.txt", "b1.txt", "b2.txt"] {
        assert!(env.repo().join(file).exists(), "{file}");
    }
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert_eq!(env.git(&["for-each-ref", "refs/ralph/taken"]), "");
}

//! Gates, evidence, retries.

use super::*;

fn gate(env: &TestEnv, command: &str) {
    let quoted = toml::Value::String(command.to_owned());
    env.write("ralph.toml", format!("[[gate]]\nname = \"check\"\ncommand = {quoted}\n"));
    env.git(&["add", "ralph.toml"]);
    env.git(&["commit", "-qm", "gate"]);
}

#[test]
fn give_up_after_leaves_the_task_for_you() {
    let env = project(&["a", "b"]);
    let nothing = only_says("hm");
    let ran = build(&env, &[&nothing, &nothing, &works()], &["--set", "loop.give_up_after=2"]);
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    assert_eq!((status(&env, "a"), status(&env, "b")), ("waiting".into(), "done".into()));
    assert!(env.task(&["log", "a"]).contains("returned 2 times without progress"));
    assert!(
        ran.stderr.contains("Waiting for you") && ran.stderr.contains("ralph retry a"),
        "{}",
        ran.stderr
    );
    env.ralph(&["retry", "a"]).success();
    build(&env, &[&works()], &["--set", "loop.give_up_after=2"]).success();
    assert_eq!(status(&env, "a"), "done", "a person's retry starts from a clean slate");
}

#[test]
fn without_gates_it_is_reported_once_and_the_evidence_says_so() {
    let env = project(&["a", "b"]);
    let ran = build(&env, &[&works(), &works()], &[]);
    let head = ran.stderr.split("── 1 ──").next().unwrap();
    assert!(head.contains("no gates: work is accepted unchecked"), "{}", ran.stderr);
    assert_eq!(
        of_kind(&journal(&env), "noticed").iter().filter(|n| n["notice"] == "ungated").count(),
        1
    );
    assert_eq!(show(&env, "a")["evidence"][0]["verdict"], "ungated");
}

#[test]
fn a_done_that_changed_nothing_is_trusted_or_refused() {
    let env = project(&["a"]);
    let claim = only_says("<task-done>{id}</task-done>");
    let refuse = ["--once", "--set", "completion.claims=confirm"];
    build(&env, &[&claim], &refuse).success();
    assert_eq!(classes(&env), ["unchanged"]);
    assert_eq!(show(&env, "a")["reason"], "No changes detected");
    let ran = build(&env, &[&claim], &[]);
    assert_eq!((classes(&env), status(&env, "a")), (vec!["done".to_owned()], "done".to_owned()));
    assert!(ran.stderr.contains(" a") && ran.stderr.contains("Warnings"), "{}", ran.stderr);
    let rows = show(&env, "a")["evidence"].to_string();
    assert!(rows.contains("unchanged"), "{rows}");
    // A gate that passes is a judge.
    let env = project(&["a"]);
    gate(&env, "true");
    build(&env, &[&claim], &["--set", "completion.claims=confirm"]).success();
    assert_eq!(status(&env, "a"), "done");
}

#[test]
fn a_gate_that_does_not_end_is_red() {
    let env = project(&["a"]);
    env.write(
        "ralph.toml",
        "[[gate]]\nname = \"slow\"\ncommand = \"sleep 300\"\ntimeout = \"1s\"\n",
    );
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
    build(&env, &[&works()], &["--once"]).success();
    assert_eq!(classes(&env), ["red"]);
    let reason = show(&env, "a")["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("gate slow failed: timed out after 1s"), "{reason}");
}

#[test]
fn a_gate_that_changes_files_is_asked_about_what_is_there_now() {
    let env = project(&["a"]);
    gate(&env, "test -f formatted || echo x > formatted");
    build(&env, &[&works()], &[]).success();
    assert_eq!(env.git(&["ls-tree", "--name-only", "HEAD", "formatted"]), "formatted\n");
    // One that never comes to rest is red.
    let env = project(&["a"]);
    gate(&env, "date +%N >> restless");
    build(&env, &[&works()], &["--once"]).success();
    assert_eq!(classes(&env), ["red"]);
    assert!(
        show(&env, "a")["reason"].as_str().unwrap().contains("changed while"),
        "{}",
        show(&env, "a")
    );
}

/// The gate stands for a user who commits in the same worktree each time that it runs.
#[test]
fn a_branch_that_moves_faster_than_the_gates_is_held_in_place_as_well() {
    let mut env = project(&["a"]);
    env.without_sandbox("in a sandbox a gate cannot commit to the repository");
    env.write(
        "ralph.toml",
        "[[gate]]\nname = \"busy\"\ncommand = \"git commit --quiet --allow-empty -m busy || true\"\n",
    );
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "gate"]);
    let works = session(&[write("a.txt", "a"), say("<task-done>{id}</task-done>")]);
    let ran = build(&env, &[&works], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("the branch moved 2 times while the gates checked a."), "{text}");
    let log = env.git(&["log", "--format=%s"]);
    assert_eq!(log, "build: iteration 1 - a\nbusy\nbusy\ngate\nfirst\n");
    assert!(!env.repo().join(".git/refs/heads/main.lock").exists());
}

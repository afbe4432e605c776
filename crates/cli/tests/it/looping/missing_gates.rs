//! Gates whose command does not exist: nobody pays for sessions that could not succeed.

use super::*;

fn with_gate(command: &str) -> TestEnv {
    let env = project(&["a", "b"]);
    let command = toml::Value::String(command.to_owned());
    env.write("ralph.toml", format!("[[gate]]\nname = \"check\"\ncommand = {command}\n"));
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
    env
}

fn sessions_started(env: &TestEnv) -> usize {
    runs(env)
        .iter()
        .map(|run| run.join("events.jsonl"))
        .map(|journal| {
            let text = std::fs::read_to_string(journal).unwrap();
            text.matches("\"session_started\"").count()
        })
        .sum()
}

#[test]
fn a_gate_command_that_does_not_exist_stops_the_run_before_the_first_session() {
    let env = with_gate("CI=1 nosuchtool --all");
    for extra in [&[][..], &["--dry-run"]] {
        let ran = build(&env, &[&works(), &works()], extra);
        assert_eq!(ran.code, 3, "{}", ran.stderr);
        assert!(ran.stderr.contains("gate command not found: nosuchtool"), "{}", ran.stderr);
        assert!(ran.stderr.contains("ralph.toml") && ran.stderr.contains("ralph doctor"));
    }
    assert_eq!(sessions_started(&env), 0);
    assert_eq!(show(&env, "a")["retry_count"], 0);
    // The command that prepares clean checkouts counts, too.
    let env = with_gate("test -f a.txt");
    let clean = ["--set", "gates.clean=true", "--set", "git.worktree.setup=nosuchtool ci"];
    let ran = build(&env, &[&works()], &clean);
    assert_eq!((ran.code, sessions_started(&env)), (3, 0), "{}", ran.stderr);
    // In doubt it runs.
    let env = with_gate("nosuchtool || test -f a.txt");
    build(&env, &[&works()], &["--once"]).success();
    assert_eq!(classes(&env), ["done"]);
}

#[test]
fn a_gate_script_that_is_not_there_yet_is_only_a_warning() {
    let env = with_gate("./check.sh");
    let script = "#!/bin/sh\ntest -f a.txt\n";
    let builds = session(&[
        write("check.sh", script),
        sh("chmod +x check.sh"),
        write("a.txt", "x\n"),
        say("<task-done>{id}</task-done>"),
    ]);
    let ran = build(&env, &[&builds], &["--once"]);
    assert!(
        ran.stderr.contains("gate check runs ./check.sh, which does not exist yet"),
        "{}",
        ran.stderr
    );
    assert_eq!(classes(&env), ["done"], "{}", ran.stderr);
}

#[test]
fn without_gates_the_run_warns_although_a_verifier_is_on() {
    let mut env = project(&["a"]);
    env.with_verifier();
    let yes = say("Fine.\n\n<verify-pass/>");
    let ran = build(&env, &[&works(), &yes], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("No gates: only the verifier checks the work"), "{}", ran.stderr);
}

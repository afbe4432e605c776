//! Gates that are no use: endless, much too loud. Each is red with one clear sentence.

use super::*;

fn reason_of(command: &str) -> (TestEnv, String) {
    let env = project(&["a"]);
    let command = toml::Value::String(command.to_owned());
    env.write(
        "ralph.toml",
        format!("[[gate]]\nname = \"check\"\ncommand = {command}\ntimeout = \"20s\"\n"),
    );
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
    build(&env, &[&works()], &["--once"]).success();
    assert_eq!(classes(&env), ["red"]);
    let reason = show(&env, "a")["reason"].as_str().unwrap().to_owned();
    (env, reason)
}

#[test]
fn a_gate_that_prints_without_end_is_read_in_part_and_fills_neither_memory_nor_disk() {
    let line = "x".repeat(1 << 10);
    let loud = format!(
        "echo 'test first ... FAILED'; yes {line} | head -c 160000000; echo; echo 'test last ... FAILED'; exit 1"
    );
    let (env, reason) = reason_of(&loud);
    assert_eq!(
        reason,
        "gate check failed (exit code 1): it printed 152 MiB; ralph read only the beginning and \
         the end"
    );
    let digest = show(&env, "a")["evidence"][0]["digest"].as_str().unwrap().to_owned();
    assert!(digest.contains("Failing tests:\n- first\n- last\n"), "{digest}");
    assert!(digest.len() < 5_000);
    let log = runs(&env).pop().unwrap().join("iteration-001.gate-check.log");
    let size = std::fs::metadata(log).unwrap().len();
    assert!((60 << 20..65 << 20).contains(&size), "{size}");
}

#[test]
fn a_gate_that_prints_one_endless_line_is_no_trouble() {
    let (_, reason) = reason_of("head -c 300000000 /dev/zero | tr '\\0' y; exit 1");
    assert!(reason.starts_with("gate check failed (exit code 1)"), "{reason}");
}

#[test]
fn a_gate_killed_by_a_signal_says_so() {
    let (_, reason) = reason_of("kill -9 $$");
    assert_eq!(reason, "gate check failed (exit code 137): killed by signal 9");
}

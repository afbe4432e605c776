//! Gates under `ralph doctor`: run by the code, in the sandbox and in the environment of the loop.

use ralph_testkit::{TestEnv, skip};

use super::line;
use crate::looping::{build, classes, project, works};

fn with_gate(command: &str) -> TestEnv {
    let mut env = project(&["a"]);
    env.set("DATABASE_URL", "postgres://localhost/test");
    let command = toml::Value::String(command.to_owned());
    env.write("ralph.toml", format!("[[gate]]\nname = \"check\"\ncommand = {command}\n"));
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
    env
}

#[test]
fn a_gate_is_as_green_for_doctor_as_for_the_loop() {
    let named = ["--set", "agent.env=[\"DATABASE_URL\"]"];
    for (command, extra, green) in [
        ("test -n \"$DATABASE_URL\"", &[][..], false),
        ("test -n \"$DATABASE_URL\"", &named[..], true),
        // What is outside is the sandbox's own.
        ("echo out > ../escaped", &[], true),
        ("git rev-parse HEAD && test \"$RALPH_GATE\" = check", &[], true),
    ] {
        let env = with_gate(command);
        let text = env.ralph(&[&["doctor"], extra].concat()).stdout;
        let (state, says) = line(&text, "gate check");
        if says.contains("without a sandbox") {
            return skip("gates of ralph doctor in a sandbox: there is none here");
        }
        assert_eq!(state, if green { "ok" } else { "fail" }, "{command}: {text}");
        assert!(says.contains("in the sandbox ("), "{command}: {says}");
        assert!(!env.folder().join("escaped").exists());
        assert_eq!(env.git(&["status", "--porcelain"]), "", "nothing is left");
        assert!(!env.repo().join(".ralph/box/main").exists(), "nothing is left");
        build(&env, &[&works()], &[&["--once"], extra].concat());
        assert_eq!(classes(&env), [if green { "done" } else { "red" }], "{command}");
    }
}

#[test]
fn clean_gates_get_a_fresh_checkout_and_its_setup() {
    let env = with_gate("test -f made && test ! -f ignored.log");
    env.write(".gitignore", "*.log\n");
    env.write("ignored.log", "x\n");
    let settings = ["--set", "gates.clean=true", "--set", "git.worktree.setup=touch made"];
    let text = env.ralph(&[&["doctor"][..], &settings].concat()).stdout;
    let (state, says) = line(&text, "gate check");
    assert_eq!(state, "ok", "{text}");
    assert!(says.contains("in a fresh checkout"), "{says}");
    let settings = ["--set", "gates.clean=true", "--set", "git.worktree.setup=exit 4"];
    let text = env.ralph(&[&["doctor"][..], &settings].concat()).stdout;
    let (state, says) = line(&text, "gate check");
    assert!(state == "fail" && says.starts_with("setup failed with exit code 4"), "{text}");
}

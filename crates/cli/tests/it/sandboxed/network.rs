//! What a box may reach, by the settings.

use ralph_testkit::TestEnv;

use super::has_boxes;
use crate::RALPH;

fn env(tries: &str) -> TestEnv {
    let mut env = TestEnv::new(RALPH);
    env.at_level("full", "the network of a sandbox is that of level full");
    env.git(&["config", "--global", "user.name", "Tester"]);
    env.git(&["config", "--global", "user.email", "tester@example.com"]);
    let gate = format!("[[gate]]\nname = \"check\"\ncommand = {tries:?}\n");
    env.write("ralph.toml", gate);
    env.git(&["add", "."]);
    env.git(&["commit", "--quiet", "--message", "start"]);
    env.task(&["add", "A file", "--id", "a"]);
    env.write(
        ".git/cassette.jsonl",
        "{\"cassette\":1}\n{\"do\":\"write\",\"path\":\"a.txt\",\"text\":\"a\"}\n\
         {\"do\":\"say\",\"text\":\"<task-done>{id}</task-done>\"}\n",
    );
    env
}

#[test]
fn a_list_that_is_wrong_is_refused_with_its_reason() {
    let env = env("true");
    let ran = env.ralph(&[
        "build",
        "--agent",
        "script",
        "--set",
        "agent.script.path=.git/cassette.jsonl",
        "--set",
        "sandbox.network.policy=allowlist",
        "--set",
        "sandbox.network.allowed=http://example.com/x",
    ]);
    let output = ran.failure(1);
    assert!(
        output.contains("sandbox.network.allowed") && output.contains("example.com"),
        "{output}"
    );
}

#[test]
fn a_closed_network_that_no_sandbox_can_close_is_refused() {
    if !has_boxes("a closed network") {
        return;
    }
    let env = env("true");
    for level in ["landlock", "seatbelt"] {
        let set = format!("sandbox.level={level}");
        let ran = env.ralph(&[
            "build",
            "--agent",
            "script",
            "--set",
            "agent.script.path=.git/cassette.jsonl",
            "--set",
            &set,
            "--set",
            "sandbox.network.policy=deny",
        ]);
        let output = ran.failure(10);
        assert!(output.contains(level), "{output}");
    }
}

//! The scripted agent as a process of its own.

use std::io::Read;
use std::process::Stdio;

use crate::env;

/// Writes a cassette beside the repository.
fn cassette(env: &ralph_testkit::TestEnv, text: &str) -> String {
    let path = env.folder().join("cassette.jsonl");
    std::fs::write(&path, text).unwrap();
    path.into_os_string().into_string().unwrap()
}

#[test]
fn the_example_of_the_documentation_plays() {
    let page = include_str!("../../../../docs/cassette.md");
    let example = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let mut env = env();
    env.set("RALPH_TASK_ID", "t-1");
    for name in ["user.name", "user.email"] {
        env.git(&["config", name, "tester"]);
    }
    let path = cassette(&env, example);
    let play = || env.ralph(&["__script-agent", "--cassette", &path]);
    assert!(play().success().contains("<task-done>t-1</task-done>"));
    let second = play().success();
    assert!(second.contains("Hello.") && !second.contains(r#""is_error":true"#), "{second}");
    assert_eq!(env.git(&["log", "--format=%s"]), "Add a greeting (t-1)\n");
    assert_eq!(env.git(&["status", "--short"]), "");
    let limit = play();
    assert_eq!(limit.code, 1);
    assert!(limit.stdout.contains("resets_at_ms"), "{}", limit.stdout);
    play().success();
    let end = play();
    assert_eq!(end.code, 1);
    assert!(end.stderr.contains("has no session left to play (it has 4)"), "{}", end.stderr);
}

#[test]
fn a_cassette_chooses_its_exit_code_and_takes_a_long_prompt() {
    let env = env();
    let path = cassette(&env, "{\"do\":\"sleep\",\"ms\":50}\n{\"do\":\"exit\",\"code\":42}\n");
    let call = ["__script-agent", "--cassette", &path];
    let ran = env.ralph_with(&call, vec![b'x'; 4 << 20]);
    assert_eq!((ran.code, ran.stderr.as_str()), (42, ""));
}

#[test]
fn a_mistake_in_a_cassette_is_reported_with_its_line() {
    let env = env();
    let path = cassette(&env, "{\"do\":\"session\"}\n{\"do\":\"dance\"}\n");
    let ran = env.ralph(&["__script-agent", "--cassette", &path]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("error: the cassette"), "{}", ran.stderr);
    assert!(ran.stderr.contains("line 2: column 13: unknown variant `dance`"), "{}", ran.stderr);
}

#[test]
fn a_session_that_hangs_ends_with_its_listener() {
    let env = env();
    let path = cassette(&env, "{\"do\":\"say\",\"text\":\"still here\"}\n{\"do\":\"hang\"}\n");
    let mut command = env.command(&["__script-agent", "--cassette", &path]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains("still here") {
        let mut part = [0; 256];
        let length = stdout.read(&mut part).unwrap();
        assert!(length > 0, "it ended");
        heard.extend_from_slice(&part[..length]);
    }
    assert!(child.try_wait().unwrap().is_none());
    drop(stdout);
    child.wait().unwrap();
}

#[test]
fn users_do_not_see_it() {
    let env = env();
    for call in [&["help"][..], &["man"], &["completions", "bash"], &["completions", "fish"]] {
        let output = env.ralph(call).success();
        assert!(!output.contains("script-agent") && !output.contains("crash-points"), "{call:?}");
    }
    assert!(!env.ralph(&["help", "nothing"]).failure(64).contains("script-agent"));
}

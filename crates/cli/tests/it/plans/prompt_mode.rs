//! `ralph prompt FILE`: one session, logged like any other.

use super::*;

/// `ralph prompt task.md` with one session.
fn prompt(env: &TestEnv, steps: &str) -> Ran {
    env.write(".git/task.md", "Look around.\n");
    cassette(env, &[steps, steps]);
    env.ralph(&[
        "prompt",
        ".git/task.md",
        "--agent",
        "script",
        "--set",
        "agent.script.path=../cassette.jsonl",
    ])
}

#[test]
fn s3_1_s3_21_one_session_is_logged_and_its_changes_committed() {
    let env = with_checklist();
    gate(&env, "touch ../notes/gate-ran; false");
    let ran = prompt(&env, &session(&[write("found.txt", "x"), say("Found it.")]));
    let text = output_of(ran, 0);
    assert_eq!(sessions(&env), 1, "{text}");
    assert_eq!(subjects(&env)[0], "prompt: iteration 1 - task");
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "found.txt\n");
    assert!(!env.note("gate-ran").exists(), "no gate runs");
    let log = log(&env);
    for part in
        ["ITERATION 1\n", "Mode: prompt\n", "Found it.", "Status: success", "Exit Code: 0\n"]
    {
        has(&log, part);
    }
    assert!(!run_file(&env, "iteration-001.ndjson").is_empty());
    assert_eq!(read(&env, "implementation_plan.md"), CHECKLIST);
    assert_eq!(tasks(&env), [], "no task is touched");
}

#[test]
fn s3_21_no_change_is_fine_and_no_promise_is_looked_for() {
    for words in ["Nothing to do.", "<promise>COMPLETE</promise>", "<task-done>t-1</task-done>"] {
        let env = project(&[]);
        let before = subjects(&env);
        output_of(prompt(&env, &only_says(words)), 0);
        assert_eq!((sessions(&env), subjects(&env)), (1, before), "{words}");
    }
}

#[test]
fn s3_21_an_agent_that_fails_is_exit_4_and_not_tried_again() {
    let env = project(&[]);
    let text = output_of(prompt(&env, "{\"do\":\"exit\",\"code\":3}"), 4);
    assert_eq!(sessions(&env), 1, "{text}");
    has(&log(&env), "Exit Code: 4\n");
}

#[test]
fn s3_21_git_that_fails_is_exit_5() {
    let mut env = project(&[]);
    env.without_sandbox("a sandboxed session cannot break the repository").hurry();
    let locks = session(&[sh("mkdir -p .git/refs/heads/main.lock/x"), write("x", "x"), say("ok")]);
    let text = output_of(prompt(&env, &locks), 5);
    has(&text, "main.lock");
    assert_eq!(read(&env, "x"), "x");
    has(&log(&env), "Exit Code: 5\n");
}

#[test]
fn s3_21_the_file_is_a_template_and_the_environment_is_that_of_the_loop() {
    let mut env = project(&[]);
    env.write("sub/ask.md", "What of {{ mode }} mode and {{ specs_dir }}?\n");
    let here = stand_in(&mut env, "cat > $here/prompt; env | grep ^RALPH_ > $here/env; result ok");
    output_of(env.ralph(&["prompt", "sub/ask.md", "--agent", "claude"]), 0);
    has(&std::fs::read_to_string(here.join("prompt")).unwrap(), "What of prompt mode and specs?");
    has(&std::fs::read_to_string(here.join("env")).unwrap(), "RALPH_AGENT_ID=agent-");
    // From the folder that it lies in.
    let mut command = env.command(&["prompt", "ask.md", "--agent", "claude"]);
    let output = command.current_dir(env.repo().join("sub")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(sessions_of(&here), 2);
}

#[test]
fn a_prompt_that_is_not_there_is_named_and_starts_nothing() {
    let mut env = project(&[]);
    let here = stand_in(&mut env, "result ok");
    has(&env.ralph(&["prompt", "gone.md", "--agent", "claude"]).failure(1), "gone.md");
    env.write("broken.md", "{{ nonsense }}\n");
    let broken = env.ralph(&["prompt", "broken.md", "--agent", "claude"]);
    has(&output_of(broken, 1), "there is no variable nonsense");
    env.write("binary.md", b"\xff\xfe\x00");
    has(&env.ralph(&["prompt", "binary.md", "--agent", "claude"]).failure(1), "binary.md");
    has(&env.ralph(&["prompt", "sub", "--agent", "claude"]).failure(1), "sub");
    env.ralph(&["prompt"]).failure(64);
    assert_eq!(sessions_of(&here), 0);
}

#[test]
fn an_empty_prompt_is_refused() {
    let mut env = project(&[]);
    let here = stand_in(&mut env, "result ok");
    env.write("empty.md", " \n");
    has(&env.ralph(&["prompt", "empty.md", "--agent", "claude"]).failure(1), "empty.md");
    assert_eq!(sessions_of(&here), 0);
}

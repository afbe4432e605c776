//! What sessions ask for, and what the loop makes of it.

use ralph_testkit::model_server::{Script, Turn};
use serde_json::json;

use super::*;

#[test]
fn s1_34_work_that_is_judged_green_is_done_with_all_that_proves_it() {
    let Some(env) = session([]) else { return };
    env.play(Script::new().session([
        Turn::write(env.repo().join("hello.txt"), "hello\n"),
        Turn::bash(
            "git add . && git commit --quiet -m 'Greet the world' && env | grep ^RALPH_; command -v ralph",
        ),
        Turn::thinking("That is all.").and_text(DONE),
    ]));
    gate(&env, "echo looked; grep hello hello.txt");
    let output = output_of(env.build(&[]), 0);
    for part in
        ["1 of 1 done", "✓ done     a", "✓ check", "→ Write", "→ Bash", "The task is done.", "cost"]
    {
        has(&output, part);
    }
    has_not(&output, "warning");

    assert_eq!(env.git(&["log", "--format=%s"]), "Greet the world\ngate\nstart\n");
    assert_eq!(env.git(&["status", "--short"]), "");
    let head = env.git(&["rev-parse", "HEAD"]).trim().to_owned();

    let task = shown(&env, "a");
    assert_eq!(task["status"], "done", "{task}");
    assert_eq!((&task["assignee"], &task["retry_count"]), (&json!(null), &json!(0)));
    assert_eq!(task["result"]["commit"], head, "{task}");
    let [attempt] = task["attempts"].as_array().unwrap().as_slice() else { panic!("{task}") };
    assert_eq!(attempt["model"], "sonnet");
    let end = &attempt["end"];
    assert_eq!((&end["outcome"], &end["commit"]), (&json!("done"), &json!(head)), "{task}");
    assert_eq!((&end["input_tokens"], &end["output_tokens"]), (&json!(300), &json!(60)));
    let cost = end["cost_micro_usd"].as_u64().unwrap();
    assert!(cost > 0, "{task}");
    let [evidence] = task["evidence"].as_array().unwrap().as_slice() else { panic!("{task}") };
    let tree = env.git(&["rev-parse", "HEAD^{tree}"]).trim().to_owned();
    assert_eq!((&evidence["judge"], &evidence["verdict"]), (&json!("check"), &json!("pass")));
    assert_eq!((&evidence["tree"], &evidence["exit_code"]), (&json!(tree), &json!(0)));

    // The model's side: the rules, the task, and the variables of the session.
    let sessions = env.sessions_seen();
    let [turns] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    has(&turns[0].system_text(), "You are one session of a loop.");
    let text = prompt(&turns[0]);
    for part in ["## Assigned task", "Say hello in hello.txt.", "<task-done>a</task-done>"] {
        has(&text, part);
    }
    let variables = &turns[2].tool_results()[1].0;
    has(variables, "/bin/ralph");
    for part in
        ["RALPH_TASK_ID=a", "RALPH_AGENT_ID=agent-", "RALPH_SOCKET=/", "RALPH_TASK_SCRIPT=/"]
    {
        has(variables, part);
    }

    // The journal, the raw output, the readable log, the state.
    let run = runs(&env).pop().unwrap();
    let ended = facts(&env, "run_ended").remove(0);
    assert_eq!(ended["outcome"]["reason"]["stop"], "complete", "{ended}");
    assert_eq!(ended["outcome"]["usage"]["cost_micro_usd"], cost, "{ended}");
    for kind in ["run_started", "session_started", "session_ended", "judged", "task_settled"] {
        assert_eq!(facts(&env, kind).len(), 1, "{kind}");
    }
    let raw = std::fs::read_to_string(run.join("iteration-001.ndjson")).unwrap();
    assert_eq!(raw.lines().filter(|line| line.contains(r#""type":"result""#)).count(), 1);
    let gate = std::fs::read_to_string(run.join("iteration-001.gate-check.log")).unwrap();
    assert_eq!(gate, "looked\nhello\n");
    let log = std::fs::read_to_string(run.with_extension("log")).unwrap();
    has(&log, "Status: success");
    let state = std::fs::read_to_string(env.repo().join(".ralph/state.toml")).unwrap();
    has(&state, "active = false");
    has(&state, &head);
    assert_eq!(processes(&env), [""; 0]);
}

#[test]
fn work_that_was_left_uncommitted_is_committed_by_the_loop() {
    let Some(env) = session([]) else { return };
    env.write("mine.txt", "not the agent's\n");
    env.play(
        Script::new()
            .session([Turn::write(env.repo().join("hello.txt"), "hello\n"), Turn::text(DONE)]),
    );
    let output = output_of(env.build(&[]), 0);
    has(&output, "no gates: work is accepted unchecked");
    assert_eq!(env.git(&["log", "-1", "--format=%s"]), "build: iteration 1 - Greet the world\n");
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "hello.txt\n");
    assert_eq!(env.git(&["status", "--short"]), "?? mine.txt\n");
    let task = shown(&env, "a");
    assert_eq!(task["status"], "done");
    assert_eq!(task["evidence"][0]["verdict"], "ungated", "{task}");
}

#[test]
fn s1_35_a_task_that_the_agent_gives_up_has_failed_with_its_reason() {
    let turns = [
        Turn::bash("echo half > hello.txt"),
        Turn::text("<task-failed>{id}</task-failed> <reason>there is no world</reason>"),
    ];
    let Some(env) = session(turns) else { return };
    let output = output_of(env.build(&[]), 0);
    has(&output, "✗ failed   a  there is no world");
    has(&output, "ralph recover a");
    let task = shown(&env, "a");
    assert_eq!((&task["status"], &task["reason"]), (&json!("failed"), &json!("there is no world")));
    assert_eq!(outcomes(&env, "a"), ["task-failed"]);
    assert!(!env.repo().join("hello.txt").exists(), "given up, and its work is still there");
    let saved = env.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/wip/"]);
    assert_eq!(saved, "refs/ralph/wip/a/1\n");
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:hello.txt"]), "half\n");
}

#[test]
fn s1_36_s1_37_without_a_signal_for_it_a_task_comes_back_uncounted() {
    let script = Script::new()
        .session([Turn::text("I looked around.")])
        .session([Turn::text("<task-done>b</task-done>")])
        .session(good_session());
    let Some(env) = playing(script) else { return };
    let output = output_of(env.build(&[]), 0);
    has(&output, "no signal; No changes detected");
    has(&output, "warning    the agent reported b, but it worked on a");
    assert_eq!(outcomes(&env, "a"), ["no-signal", "wrong-id", "done"]);
    let task = shown(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("done"), &json!(0)));
    assert_eq!(facts(&env, "run_ended")[0]["outcome"]["iterations"], 3);
}

#[test]
fn s1_3_s1_33_a_promise_of_failure_stops_the_run_before_anything_is_judged() {
    let text = "<task-done>{id}</task-done> <promise>FAILURE</promise>";
    let Some(env) = session([commits(), Turn::text(text)]) else { return };
    has(&output_of(env.build(&[]), 6), "the agent said FAILURE");
    let task = shown(&env, "a");
    assert_eq!((&task["status"], &task["assignee"]), (&json!("open"), &json!(null)), "{task}");
    assert_eq!(task["evidence"], json!([]));
}

#[test]
fn what_a_red_gate_found_is_in_the_next_prompt() {
    let script =
        Script::new().session([Turn::bash("echo helo > hello.txt"), Turn::text(DONE)]).session([
            Turn::bash("echo hello > hello.txt"),
            Turn::text("Both. <task-done>{id}</task-done><task-failed>{id}</task-failed>"),
        ]);
    let Some(env) = playing(script) else { return };
    gate(&env, "grep -qx hello hello.txt || { echo 'FAILED: misspelt greeting'; exit 3; }");
    let output = output_of(env.build(&[]), 0);
    has(&output, "✗ check");
    has(&output, "exit code 3");
    let openings = openings(&env);
    assert_eq!(openings.len(), 2);
    has_not(&prompt(&openings[0]), "misspelt greeting");
    let second = prompt(&openings[1]);
    has(&second, "FAILED: misspelt greeting");
    has(&second, "attempt 2 of 4");
    let task = shown(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("done"), &json!(1)));
    assert_eq!(outcomes(&env, "a"), ["red", "done"]);
    let verdicts: Vec<_> =
        task["evidence"].as_array().unwrap().iter().map(|found| &found["verdict"]).collect();
    assert_eq!(verdicts, ["fail", "pass"]);
    assert_eq!(env.git(&["rev-list", "--count", "HEAD"]), "3\n", "red work was committed");
}

#[test]
fn done_without_a_change_is_believed_only_where_that_is_the_rule() {
    let claim = || Script::new().session([Turn::text(DONE)]);
    let Some(env) = playing(claim()) else { return };
    let refused = output_of(env.build(&["1", "--set", "completion.claims=confirm"]), 0);
    has(&refused, "No changes detected");
    let task = shown(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("open"), &json!(1)), "{task}");
    assert_eq!(task["evidence"][0]["verdict"], "unchanged");

    env.play(claim());
    let trusted = output_of(env.build(&["--set", "completion.claims=trust"]), 0);
    has(&trusted, "a was accepted as done, but nothing changed and no gate checked it");
    has(&prompt(&openings(&env)[1]), "No changes detected");
    assert_eq!(outcomes(&env, "a"), ["unchanged", "done"]);

    // A gate that is green is a judge.
    env.task(&["add", "It was there", "--id", "b"]);
    gate(&env, "true");
    env.play(claim());
    let judged = output_of(env.build(&["--set", "completion.claims=confirm"]), 0);
    has_not(&judged, "was accepted as done");
    let verdicts = shown(&env, "b")["evidence"].clone();
    let verdicts: Vec<_> = verdicts.as_array().unwrap().iter().map(|v| &v["verdict"]).collect();
    assert_eq!(verdicts, ["pass", "unchanged"]);
}

#[test]
fn s1_17_s1_21_the_model_is_the_one_that_was_asked_for_until_an_agent_names_another() {
    let script = Script::new()
        .session([Turn::text("Too easy. <next-model>haiku</next-model>")])
        .session([Turn::text("<next-model>gpt</next-model>")])
        .session(good_session());
    let Some(env) = playing(script) else { return };
    let output = output_of(env.build(&["--model", "my-own-model"]), 0);
    has(&output, "this model instead of my-own-model, because the agent asked for it");
    let models: Vec<String> =
        openings(&env).iter().map(|opening| opening.model().to_owned()).collect();
    assert_eq!(models[0], "my-own-model");
    assert!(models[1].contains("haiku"), "{models:?}");
    assert_eq!(models[2], "my-own-model");
    let chosen: Vec<_> =
        facts(&env, "iteration_started").iter().map(|fact| fact["model"].clone()).collect();
    assert_eq!(chosen, ["my-own-model", "haiku", "my-own-model"]);
}

#[test]
fn s1_18_s1_23_the_agent_is_called_as_agreed() {
    let Some(mut env) = session(good_session()) else { return };
    env.without_sandbox("the list of tools is the limit where there is no sandbox");
    wrap_claude(
        &env,
        r#"for word; do printf '%s\0' "$word"; done > "$HOME/argv"; exec $CLAUDE "$@""#,
    );
    output_of(env.build(&["--set", "agent.claude.args=[\"--effort\", \"low\"]"]), 0);
    let argv = std::fs::read_to_string(env.home().join("argv")).unwrap();
    let argv: Vec<&str> = argv.split_terminator('\0').collect();
    let start =
        ["--print", "--verbose", "--output-format", "stream-json", "--no-session-persistence"];
    assert_eq!(argv[..5], start, "{argv:?}");
    assert_eq!(argv[5..8], ["--model", "sonnet", "--system-prompt"], "{argv:?}");
    has(argv[8], "# Core instructions");
    let file = runs(&env).pop().unwrap().join("iteration-001.task.md");
    assert_eq!(argv[9], format!("@{}", file.display()));
    let tools = ["--allowed-tools", "Bash", "Edit", "Write", "Read", "Glob", "Grep"];
    assert_eq!(argv[10..17], tools, "{argv:?}");
    assert_eq!(argv[17..20], ["--input-format", "stream-json", "--replay-user-messages"]);
    assert_eq!(argv[20..], ["--effort", "low"]);
    // It left no session of its own behind.
    let left = env.home().join(".claude/projects");
    let count = std::fs::read_dir(&left).map(|all| {
        all.flatten()
            .flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten())
            .filter(|file| file.path().extension().is_some_and(|end| end == "jsonl"))
            .count()
    });
    assert_eq!(count.unwrap_or(0), 0, "{}", left.display());
}

//! What people and sessions tell each other: questions, answers, notes, requests by command.

use ralph_testkit::model_server::{Script, Turn, Usage};
use serde_json::json;

use super::*;

#[test]
fn s1_5_a_question_blocks_the_run_and_its_answer_is_in_the_next_prompt() {
    let question = Turn::text("<question>Which world, old or new?</question>");
    let Some(env) = session([question]) else { return };
    let blocked = output_of(env.build(&[]), 7);
    has(&blocked, "? waiting  a  Which world, old or new?");
    has(&blocked, "Stopped: nothing is ready");
    let summary = blocked.split("Stopped: ").nth(1).unwrap();
    has(summary, "Which world, old or new?");
    has(summary, "ralph answer q-");
    let task = shown(&env, "a");
    assert_eq!(task["status"], "waiting");
    let id = task["questions"][0]["id"].as_str().unwrap().to_owned();
    has(&env.ralph(&["answer"]).success(), "Which world, old or new?");

    // Nothing is ready: no request is made for nothing.
    output_of(env.build(&[]), 7);
    assert_eq!(env.server().requests().len(), 1);

    env.ralph(&["answer", &id, "The brave new one."]).success();
    env.play(Script::new().session(good_session()));
    output_of(env.build(&[]), 0);
    let second = prompt(&openings(&env)[1]);
    has(&second, "Which world, old or new?");
    has(&second, "The brave new one.");
    let task = shown(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("done"), &json!(0)));
    assert_eq!(outcomes(&env, "a"), ["question", "done"]);
}

#[test]
fn while_one_task_waits_for_the_user_the_loop_does_another() {
    let script = Script::new()
        .session_for("a", [Turn::text("<question>Which world?</question>")])
        .session_for("b", [Turn::bash("echo b > b.txt"), Turn::text(DONE)]);
    let Some(env) = playing(script) else { return };
    env.task(&["add", "Another", "--id", "b"]);
    output_of(env.build(&[]), 7);
    assert_eq!(shown(&env, "a")["status"], "waiting");
    assert_eq!(shown(&env, "b")["status"], "done");
}

#[test]
fn a_request_by_command_is_judged_like_a_signal_and_a_note_reaches_the_next_session() {
    let script = Script::new()
        .session([
            Turn::bash(
                "echo helo > hello.txt
                ralph task log a 'The dictionary is in words.txt.'
                \"$RALPH_TASK_SCRIPT\" done a",
            ),
            Turn::bash("\"$RALPH_TASK_SCRIPT\" show a --json"),
            Turn::text("I asked for it."),
        ])
        .session([Turn::bash("echo hello > hello.txt; ralph task done a"), Turn::text("Again.")]);
    let Some(env) = playing(script) else { return };
    gate(&env, "grep -qx hello hello.txt || { echo 'FAILED: misspelt greeting'; exit 3; }");
    output_of(env.build(&[]), 0);

    let sessions = env.sessions_seen();
    let results = sessions[0].last().unwrap().tool_results();
    has(&results[0].0, "ralph will check a when the session ends");
    has(&results[1].0, "\"status\":\"active\"");
    has(&prompt(&openings(&env)[1]), "The dictionary is in words.txt.");
    has(&prompt(&openings(&env)[1]), "FAILED: misspelt greeting");
    assert_eq!(outcomes(&env, "a"), ["red", "done"]);
    let task = shown(&env, "a");
    assert_eq!(task["status"], "done");
    has(&task["log"].to_string(), "The dictionary is in words.txt.");
}

#[test]
fn a_session_touches_no_task_but_its_own_and_starts_no_run() {
    let turns = [
        Turn::bash("\"$RALPH_TASK_SCRIPT\" done b; \"$RALPH_TASK_SCRIPT\" claim b"),
        Turn::bash("ralph build; echo code $?"),
        Turn::text("I tried."),
    ];
    let Some(env) = session(turns) else { return };
    env.task(&["add", "Not yours", "--id", "b", "-p", "9"]);
    output_of(env.build(&["1"]), 0);
    let results = env.sessions_seen()[0].last().unwrap().tool_results();
    assert!(results[0].1, "{results:?}");
    has(&results[1].0, "a session cannot start another run");
    let other = shown(&env, "b");
    assert_eq!((&other["status"], &other["assignee"]), (&json!("open"), &json!(null)));
    assert_eq!(outcomes(&env, "a"), ["no-signal"]);
}

#[test]
fn s0_18_the_hooks_that_init_installs_run_and_are_harmless() {
    let script = Script::new().session([Turn::text("Not yet.")]).session(good_session());
    let Some(env) = playing(script) else { return };
    env.ralph(&["init"]).success();
    // The hook itself says that it ran, in front of the real command.
    let settings = env.repo().join(".claude/settings.json");
    let text = std::fs::read_to_string(&settings).unwrap();
    let note = env.note("ended");
    let noting = text.replace(
        "ralph hook session-end",
        &format!("(ralph hook session-end; echo \\\"$? $RALPH_TASK_ID\\\" >> {})", note.display()),
    );
    assert_ne!(text, noting);
    std::fs::write(&settings, noting).unwrap();
    env.git(&["add", "."]);
    env.git(&["commit", "--quiet", "--message", "init"]);
    output_of(env.build(&[]), 0);
    let ended = std::fs::read_to_string(note).unwrap();
    assert_eq!(ended, "0 a\n0 a\n");
    assert_eq!(outcomes(&env, "a"), ["no-signal", "done"]);
    assert_eq!(shown(&env, "a")["retry_count"], 0);
}

#[test]
fn a_context_that_is_full_ends_the_session_and_costs_a_try() {
    let full = Turn::bash("true").usage(Usage { input: 990_000, ..Usage::default() });
    let script = Script::new().session([full, Turn::text("Where was I?")]).session(good_session());
    let Some(env) = playing(script) else { return };
    env.ralph(&["init"]).success();
    env.git(&["add", "."]);
    env.git(&["commit", "--quiet", "--message", "init"]);
    output_of(env.build(&[]), 0);
    has(&prompt(&openings(&env)[1]), "> context limit reached");
    assert_eq!(outcomes(&env, "a"), ["max-turns", "done"]);
    assert_eq!(shown(&env, "a")["retry_count"], 1);
}

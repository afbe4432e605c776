//! The preset `pick`: the agent is shown the plan, chooses and claims by itself.

use ralph_testkit::model_server::{Script, Turn};
use ralph_testkit::send_signal;
use serde_json::json;

use super::*;

/// A repository after `ralph init`, with the tasks `a` and `b`.
fn initialized(script: Script) -> Option<ClaudeEnv> {
    let env = playing(script)?;
    env.task(&["add", "Greet the moon", "--id", "b", "-p", "1"]);
    env.ralph(&["init"]).success();
    env.git(&["add", "."]);
    env.git(&["commit", "--quiet", "--message", "init"]);
    Some(env)
}

/// The agent claims a task.
fn claims(id: &str) -> Turn {
    Turn::bash(format!("\"$RALPH_TASK_SCRIPT\" claim {id}"))
}

/// The agent does something and reports.
fn reports(id: &str) -> Turn {
    Turn::bash(format!(
        "echo {id} > {id}.txt && git add {id}.txt && git commit --quiet -m 'Do {id}' &&
        \"$RALPH_TASK_SCRIPT\" done {id} --result \"{{\\\"commit\\\":\\\"$(git rev-parse HEAD)\\\"}}\""
    ))
}

fn pick(env: &ClaudeEnv, arguments: &[&str]) -> Ran {
    env.build(&[&["--preset", "pick"], arguments].concat())
}

#[test]
fn s0_1_s0_4_s0_6_s0_11_the_agent_picks_from_the_peek_and_its_done_is_judged() {
    let script =
        Script::new().session([claims("b"), reports("b"), Turn::text("Reported.")]).session([
            claims("a"),
            reports("a"),
            Turn::text("<promise>Tastes Like Burning.</promise>"),
        ]);
    let Some(env) = initialized(script) else { return };
    let peek = env.task(&["peek", "-n", "10"]);
    let output = output_of(pick(&env, &[]), 0);
    has(&output, "tasks done.");
    let openings = openings(&env);
    assert_eq!(openings.len(), 2);
    // The skill of `ralph init` has the snapshot in its place, byte for byte.
    let first = prompt(&openings[0]);
    has(&first, "<command-name>/ralph-build</command-name>");
    has(&first, &format!("The tasks as `ralph task peek` shows them:\n\n{}", peek.trim_end()));
    has(&first, "## Task a");
    has_not(&prompt(&openings[1]), "## Task b");
    for (id, at) in [("b", "HEAD^"), ("a", "HEAD")] {
        let task = shown(&env, id);
        assert_eq!((&task["status"], &task["retry_count"]), (&json!("done"), &json!(0)), "{task}");
        assert_eq!(task["result"]["commit"], env.git(&["rev-parse", at]).trim());
        assert_eq!(outcomes(&env, id), ["done"]);
        assert_eq!(task["evidence"].as_array().unwrap().len(), 1, "{task}");
    }
}

#[test]
fn s0_7_s0_8_s0_9_a_session_that_leaves_its_claims_fails_them_all_and_no_others() {
    let script = Script::new().session([claims("a"), claims("b"), Turn::text("Bye.")]);
    let Some(env) = initialized(script) else { return };
    // Without the hook: the loop itself is the second line.
    std::fs::remove_file(env.repo().join(".claude/settings.json")).unwrap();
    env.task(&["add", "Somebody else's", "--id", "c"]);
    env.task_as("other", &["claim", "c"]).success();
    // `init` has unfinished plans end with a code of their own.
    output_of(pick(&env, &["1"]), 9);
    for id in ["a", "b"] {
        let task = shown(&env, id);
        assert_eq!((&task["status"], &task["retry_count"]), (&json!("open"), &json!(1)));
        assert_eq!(task["reason"], "session exited without completing task", "{task}");
    }
    let other = shown(&env, "c");
    assert_eq!((&other["status"], &other["assignee"]), (&json!("active"), &json!("other")));
}

#[test]
fn s0_18_the_hook_speaks_first_where_it_is_installed() {
    let script = Script::new().session([claims("a"), Turn::text("Bye.")]);
    let Some(env) = initialized(script) else { return };
    output_of(pick(&env, &["1"]), 9);
    let task = shown(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("open"), &json!(1)));
    assert_eq!(task["reason"], "session ended unexpectedly", "{task}");
}

#[test]
fn a_limit_or_a_question_is_not_turned_into_a_failure_by_the_hook() {
    let script = Script::new()
        .session([claims("a"), Turn::overloaded().for_ever()])
        .session([claims("a"), Turn::text("<question>Which world?</question>")]);
    let Some(mut env) = initialized(script) else { return };
    output_of(pick(env.retries(0), &["1"]), 9);
    assert_eq!(outcomes(&env, "a"), ["overload", "question"]);
    let task = shown(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("waiting"), &json!(0)), "{task}");
    assert_eq!(task["questions"][0]["text"], "Which world?");
}

#[test]
fn a_run_that_is_stopped_by_ctrl_c_is_not_turned_into_a_failure_by_the_hook() {
    let stays = Turn::bash("\"$RALPH_TASK_SCRIPT\" claim a; echo half > a.txt; sleep 300");
    let Some(env) = initialized(Script::new().session([stays])) else { return };
    let run = start(&env, &["--preset", "pick"]);
    wait_until("the agent works", SOON, || env.repo().join("a.txt").exists());
    send_signal("INT", run.id());
    wait_for_fact(&env, "control_received");
    send_signal("INT", run.id());
    output_of(Ran::end_of(run), 130);
    let task = shown(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("open"), &json!(0)), "{task}");
    assert_eq!(outcomes(&env, "a"), ["cancelled"]);
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:a.txt"]), "half\n");
    assert_eq!(processes(&env), [""; 0]);
}

#[test]
fn s0_2_an_empty_peek_ends_the_run_without_a_request() {
    let Some(env) = ClaudeEnv::new(RALPH, Script::new()) else { return };
    output_of(pick(&env, &[]), 0);
    env.task(&["add", "First", "--id", "a"]);
    env.task(&["claim", "a"]);
    env.task(&["done", "a"]);
    output_of(pick(&env, &[]), 0);
    assert_eq!(env.server().requests().len(), 0);
}

#[test]
fn with_only_claims_of_others_the_run_waits_for_them_without_a_request() {
    let Some(env) = session([claims("a"), reports("a"), Turn::text("Reported.")]) else { return };
    let began = env.server().requests().len();
    env.task_as("other", &["claim", "a", "--lease", "10"]).success();
    let run = start(&env, &["--preset", "pick"]);
    let wait = wait_for_fact(&env, "wait_started");
    assert_eq!(wait["why"], "others", "{wait}");
    assert_eq!(env.server().requests().len(), began);
    // The lease ends, and nobody says so.
    output_of(Ran::end_of(run), 0);
    let opened = facts(&env, "iteration_started").remove(0);
    let moment = |text: &Value| ralph_core::Timestamp::parse(text.as_str().unwrap()).unwrap();
    assert!(moment(&opened["at"]) >= moment(&wait["until"]), "{opened} {wait}");
    let task = shown(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("done"), &json!(1)), "{task}");
}

#[test]
fn when_others_finish_the_last_task_the_run_ends_without_a_request() {
    let Some(env) = session([]) else { return };
    env.task_as("other", &["claim", "a"]).success();
    let run = start(&env, &["--preset", "pick"]);
    wait_for_fact(&env, "wait_started");
    env.task_as("other", &["done", "a"]).success();
    has(&output_of(Ran::end_of(run), 0), "another agent has claimed the last open task");
    assert_eq!(env.server().requests().len(), 0);
}

//! Sessions that come to a bad end: the model's errors, limits, silence, the agent's own limits.

use ralph_testkit::model_server::{Script, Turn};
use ralph_testkit::send_signal;
use serde_json::json;

use super::*;

/// A run of one counted session, which must leave the task open; what it said.
#[track_caller]
fn comes_back(env: &ClaudeEnv, outcome: &str, retries: u32, arguments: &[&str]) -> String {
    let output = output_of(env.build(&[&["1"], arguments].concat()), 0);
    assert_eq!(outcomes(env, "a"), [outcome], "{output}");
    let task = shown(env, "a");
    assert_eq!((&task["status"], &task["assignee"]), (&json!("open"), &json!(null)), "{task}");
    assert_eq!(task["retry_count"], retries, "{task}");
    assert_eq!(facts(env, "run_ended")[0]["outcome"]["iterations"], 1, "{output}");
    assert_eq!(processes(env), [""; 0]);
    output
}

#[test]
fn a_short_rate_limit_is_the_agents_own_affair() {
    let turns = [vec![Turn::rate_limited().retry_after(1).times(2)], good_session().into()];
    let Some(env) = session(turns.concat()) else { return };
    let output = output_of(env.build(&["--once"]), 0);
    has(&output, "✓ done     a");
    assert_eq!(facts(&env, "wait_started").len(), 0);
    assert_eq!(env.sessions_seen().len(), 1);
}

/// Starts a run whose sessions cannot reach the model, and ends it at its second wait. Nothing was
/// counted, although only one session may count.
fn waits(turn: Turn, class: &str, words: &str) -> Option<()> {
    let mut env = playing(Script::new().session([turn.for_ever()]).for_ever())?;
    env.retries(1);
    let run = start(&env, &["1"]);
    wait_until("the second wait", SOON, || facts(&env, "wait_started").len() == 2);
    let wait = facts(&env, "wait_started").remove(1);
    assert_eq!((&wait["why"], &wait["class"]), (&json!("limit"), &json!(class.replace('-', "_"))));
    send_signal("INT", run.id());
    let output = output_of(Ran::end_of(run), 130);
    has(&output, &format!("waiting    {words} (2 times in a row), until "));
    assert_eq!(env.sessions_seen().len(), 2);
    assert_eq!(outcomes(&env, "a"), [class, class]);
    let task = shown(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("open"), &json!(0)), "{task}");
    assert_eq!(task["assignee"], json!(null));
    let outcome = facts(&env, "run_ended")[0]["outcome"].clone();
    assert_eq!(outcome["iterations"], 0, "{outcome}");
    assert_eq!(outcome["reason"]["stop"], "cancelled");
    assert_eq!(processes(&env), [""; 0]);
    Some(())
}

#[test]
fn a_rate_limit_that_stays_is_waited_out_and_counts_for_nothing() {
    waits(Turn::rate_limited(), "rate-limit", "rate limit");
}

#[test]
fn an_overload_that_stays_is_waited_out_and_counts_for_nothing() {
    waits(Turn::overloaded(), "overload", "the provider is overloaded");
}

#[test]
fn a_connection_that_stays_lost_is_waited_out_and_counts_for_nothing() {
    waits(Turn::text("Hal").then_cut(), "network", "no connection");
}

#[test]
fn after_an_overload_the_work_continues_and_the_agent_does_not_notice() {
    let script = Script::new().session([Turn::overloaded().for_ever()]).session(good_session());
    let Some(mut env) = playing(script) else { return };
    let output = output_of(env.retries(0).build(&["--once"]), 0);
    has_not(&prompt(&openings(&env)[1]), "overload");
    has(&output, "the provider is overloaded");
    assert_eq!(outcomes(&env, "a"), ["overload", "done"]);
    assert_eq!(shown(&env, "a")["retry_count"], 0);
}

#[test]
fn a_usage_window_without_a_known_end_is_looked_at_again_much_later() {
    // Claude Code does not try again where the provider says that it is of no use.
    let Some(env) = session([Turn::rate_limited().retry_after(3600).for_ever()]) else { return };
    let run = start(&env, &[]);
    let wait = wait_for_fact(&env, "wait_started");
    assert_eq!((&wait["class"], &wait["told"]), (&json!("usage_window"), &json!(false)), "{wait}");
    let moment = |name: &str| ralph_core::Timestamp::parse(wait[name].as_str().unwrap()).unwrap();
    assert_eq!(moment("until").millis_since(moment("at")), 60_000, "{wait}");
    send_signal("INT", run.id());
    has(&output_of(Ran::end_of(run), 130), "usage limit");
    assert_eq!(shown(&env, "a")["retry_count"], 0);
}

#[test]
fn an_error_that_no_retry_fixes_stops_the_run_and_says_what_to_do() {
    for (turn, outcome, remedy) in [
        (Turn::unauthorized(), "auth", "log in"),
        (Turn::error(403), "forbidden", "check that your account can use this model"),
        (Turn::no_credit(), "billing", "credit"),
        (Turn::error(404), "unknown-model", "--model"),
    ] {
        let Some(mut env) = session([turn.for_ever()]) else { return };
        let output = output_of(env.retries(0).build(&[]), 4);
        has(&output, remedy);
        has(&output, "✗ Stopped: ");
        assert_eq!(outcomes(&env, "a"), [outcome]);
        let task = shown(&env, "a");
        assert_eq!((&task["status"], &task["retry_count"]), (&json!("open"), &json!(0)));
        assert_eq!(env.sessions_seen().len(), 1);
    }
}

/// A run on a task that no retry can help: it waits for the user after so many sessions, exit 7.
#[track_caller]
fn parks(env: &ClaudeEnv, sessions: usize, outcome: &str, cause: &str) {
    let output = output_of(env.build(&[]), 7);
    has(&output, cause);
    has(&output, "ralph retry a");
    assert_eq!(outcomes(env, "a"), vec![outcome; sessions], "{output}");
    assert_eq!(shown(env, "a")["status"], json!("waiting"), "{output}");
    assert_eq!(env.sessions_seen().len(), sessions);
}

#[test]
fn a_prompt_that_is_too_long_is_not_sent_again_and_its_task_waits_with_the_remedy() {
    let Some(env) = session([Turn::prompt_too_long().for_ever()]) else { return };
    parks(&env, 1, "too-long", "lower prompts.budget_tokens");
}

#[test]
fn a_request_that_is_rejected_with_400_parks_its_task_with_what_the_provider_says() {
    let Some(env) = session([Turn::error(400).for_ever()]) else { return };
    parks(&env, 1, "rejected", "the provider rejected the request: API Error: 400");
}

#[test]
fn the_same_refusal_twice_parks_the_task() {
    let refused = || [Turn::refusal().for_ever()];
    let Some(env) = playing(Script::new().session(refused()).session(refused())) else { return };
    parks(&env, 2, "refusal", "failed 2 times in the same way");
}

#[test]
fn a_login_that_is_refused_ends_the_run_in_seconds() {
    let Some(env) = session([Turn::unauthorized().for_ever()]) else { return };
    let output = output_of(env.build(&[]), 4);
    has(&output, "✗ Stopped: the agent is not logged in");
    has(&output, "Next: claude\n");
    let session = facts(&env, "session_ended").remove(0);
    let took = session["report"]["duration_ms"].as_u64().unwrap();
    assert!(took < 20_000, "the agent's own retries take half a minute: {took} ms");
}

#[test]
fn a_stream_that_is_cut_once_does_not_matter() {
    let [work, end] = good_session();
    let Some(env) = session([work, Turn::text("Hal").then_cut(), end]) else { return };
    output_of(env.build(&[]), 0);
    assert_eq!(outcomes(&env, "a"), ["done"]);
}

#[test]
fn a_model_that_falls_silent_is_not_waited_for_for_ever() {
    let Some(env) = session([commits(), Turn::silent()]) else { return };
    let output = comes_back(&env, "hang", 1, &["--set", "agent.silence=10s"]);
    has(&output, "the agent stopped responding");
    // What was committed is kept, on the branch or saved, and nobody called it done.
    has(&env.git(&["log", "--all", "--format=%s"]), "Greet the world\n");
    assert_eq!(shown(&env, "a")["evidence"], json!([]));
}

#[test]
fn a_session_that_takes_too_long_is_ended() {
    let Some(env) = session([Turn::bash("echo half > hello.txt; exec sleep 300")]) else { return };
    let output = comes_back(&env, "timeout", 1, &["--timeout", "12s", "--set", "agent.grace=3s"]);
    has(&output, "the session timed out");
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:hello.txt"]), "half\n");
}

#[test]
fn a_tool_that_is_not_allowed_is_named() {
    let turns = [Turn::bash("touch hello.txt"), Turn::text("I may not.")];
    let Some(env) = session(turns) else { return };
    let output = comes_back(&env, "no-signal", 0, &["--allow", "Read,Glob"]);
    has(&output, "warning    tools denied to the agent: Bash");
    assert!(!env.repo().join("hello.txt").exists());
}

#[test]
fn a_refusal_uses_up_a_try() {
    let Some(env) = session([Turn::refusal().for_ever()]) else { return };
    has(&comes_back(&env, "refusal", 1, &[]), "the model refused");
}

#[test]
fn an_empty_answer_uses_up_a_try() {
    let Some(env) = session([Turn::empty().for_ever()]) else { return };
    has(&comes_back(&env, "empty", 1, &[]), "the agent printed nothing");
}

#[test]
fn the_agents_own_limit_of_turns_uses_up_a_try() {
    let turn = Turn::text(DONE).and_bash("true").for_ever();
    let Some(env) = session([turn]) else { return };
    let limit = "agent.claude.args=[\"--max-turns\", \"1\"]";
    has(&comes_back(&env, "max-turns", 1, &["--set", limit]), "limit of turns");
}

#[test]
fn s1_50_an_agent_that_dies_is_followed_by_another() {
    let script = Script::new()
        .session([Turn::bash("echo half > hello.txt; kill -9 $PPID; sleep 60")])
        .session([Turn::bash("grep half hello.txt"), commits(), Turn::text(DONE)]);
    let Some(env) = playing(script) else { return };
    has(&output_of(env.build(&[]), 0), "the agent crashed");
    assert_eq!(outcomes(&env, "a"), ["crash", "done"]);
    assert_eq!(shown(&env, "a")["retry_count"], 0, "the graph does not count a crash");
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:hello.txt"]), "half\n");
    assert_eq!(processes(&env), [""; 0]);
}

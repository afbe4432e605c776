//! The real Claude Code against the scripted model: that the harness works, and what the agent does.
//!
//! Everything here is a statement about one version of Claude Code that ralph relies on. When a new
//! version changes one of them, this is where it shows.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]

use std::path::Path;
use std::time::Duration;

use ralph_testkit::claude::ClaudeEnv;
use ralph_testkit::model_server::{Request, Script, Stop, Turn, Usage};
use ralph_testkit::{Ran, send_signal, wait_until};
use serde_json::{Value, json};

/// Long enough for a loaded machine.
const SOON: Duration = Duration::from_secs(60);

/// One session with these turns. The harness needs no ralph.
fn session(turns: impl IntoIterator<Item = Turn>) -> Option<ClaudeEnv> {
    ClaudeEnv::new("/no/ralph/here", Script::new().session(turns))
}

/// The result of a run that the agent itself calls a success.
#[track_caller]
fn succeeded(ran: &Ran) -> Value {
    let result = ran.result();
    assert_eq!(ran.code, 0, "{}\n{result}", ran.stderr);
    assert_eq!(result["is_error"], false, "{result}");
    assert_eq!(result["terminal_reason"], "completed", "{result}");
    result
}

/// The result of a run that failed.
#[track_caller]
fn failed(ran: &Ran) -> Value {
    let result = ran.result();
    assert_eq!(ran.code, 1, "{}\n{result}", ran.stderr);
    assert_eq!(result["is_error"], true, "{result}");
    result
}

#[test]
fn tools_that_are_allowed_run_even_for_root() {
    let Some(env) = session([]) else { return };
    env.play(Script::new().session([
        Turn::write(env.repo().join("new.txt"), "for {id}\n"),
        Turn::thinking("And a command.").and_bash("cat new.txt; exit 3"),
        Turn::text("All done. <task-done>{id}</task-done>").usage(Usage {
            input: 7,
            output: 5,
            cache_read: 3,
            cache_creation: 2,
        }),
    ]));
    let ran = env.claude(&["RALPH_TASK_ID=t-1", "--allowed-tools", "Write Bash"]);
    let result = succeeded(&ran);
    assert_eq!(result["result"], "All done. <task-done>t-1</task-done>");
    assert_eq!(result["num_turns"], 3);
    assert_eq!(result["usage"]["input_tokens"], 207);
    assert_eq!(result["usage"]["output_tokens"], 45);
    assert_eq!(result["usage"]["cache_read_input_tokens"], 3);
    assert_eq!(std::fs::read_to_string(env.repo().join("new.txt")).unwrap(), "for t-1\n");
    let sessions = env.sessions_seen();
    assert_eq!(sessions.len(), 1);
    let results = sessions[0][2].tool_results();
    assert_eq!(results.len(), 2, "{results:?}");
    assert!(!results[0].1 && results[1].1, "{results:?}");
    assert!(results[1].0.contains("for t-1"), "{results:?}");
    assert_eq!(env.server().requests().len(), 3, "it asks for nothing else");
    assert_eq!(env.server().unscripted(), 0);
}

#[test]
fn a_slow_answer_is_an_answer() {
    let slow = Turn::thinking("Hm.")
        .and_text("Here it is.")
        .after(Duration::from_millis(200))
        .slowly(Duration::from_millis(50));
    let Some(env) = session([slow]) else { return };
    let ran = env.claude(&["go"]);
    assert_eq!(succeeded(&ran)["result"], "Here it is.");
    let thoughts = ran.events_of("assistant", "");
    assert_eq!(thoughts[0]["message"]["content"][0]["thinking"], "Hm.");
}

#[test]
fn ralph_waits_as_long_as_a_rate_limit_says() {
    let turns = [Turn::rate_limited().retry_after(1).times(2), Turn::text("At last.")];
    let Some(env) = session(turns) else { return };
    let ran = env.claude(&["go"]);
    assert_eq!(succeeded(&ran)["result"], "At last.");
    let retries = ran.events_of("system", "api_retry");
    assert_eq!(retries.len(), 2);
    assert_eq!(retries[0]["error_status"], 429);
    assert_eq!(retries[0]["retry_delay_ms"], 1000);
}

#[test]
fn errors_that_stay_end_the_run_after_the_retries() {
    for (turn, status) in [(Turn::unauthorized(), 401), (Turn::overloaded(), 529)] {
        let Some(mut env) = session([turn.for_ever()]) else { return };
        let ran = env.retries(1).claude(&["go"]);
        let result = failed(&ran);
        assert_eq!(result["subtype"], "success", "it says so, and it is none");
        assert_eq!(result["terminal_reason"], "api_error");
        assert_eq!(result["api_error_status"], status);
        assert_eq!(ran.events_of("system", "api_retry").len(), 1);
    }
}

#[test]
fn errors_that_no_retry_fixes_end_the_run_at_once() {
    for (turn, error, reason) in [
        (Turn::no_credit(), "billing_error", "api_error"),
        (Turn::prompt_too_long(), "invalid_request", "prompt_too_long"),
        (Turn::error(404), "model_not_found", "api_error"),
        (Turn::error(403), "authentication_failed", "api_error"),
        (Turn::rate_limited().retry_after(3600), "rate_limit", "api_error"),
    ] {
        let Some(env) = session([turn.for_ever()]) else { return };
        let ran = env.claude(&["go"]);
        assert_eq!(failed(&ran)["terminal_reason"], reason, "{error}");
        assert_eq!(ran.events_of("assistant", "").pop().unwrap()["error"], error);
        assert_eq!(ran.events_of("system", "api_retry").len(), 0, "{error}");
    }
}

#[test]
fn a_stream_that_is_cut_is_tried_again() {
    let Some(env) = session([Turn::text("Hal").then_cut(), Turn::text("Whole.")]) else { return };
    let ran = env.claude(&["go"]);
    assert_eq!(succeeded(&ran)["result"], "Whole.");
    let retries = ran.events_of("system", "api_retry");
    assert_eq!(retries.len(), 1);
    assert_eq!(retries[0]["error_status"], Value::Null);
}

#[test]
fn streams_that_are_cut_for_ever_end_the_run() {
    let Some(mut env) = session([Turn::text("Hal").then_cut().for_ever()]) else { return };
    let ran = env.retries(1).claude(&["go"]);
    let result = failed(&ran);
    assert_eq!(result["terminal_reason"], "api_error");
    assert_eq!(result["api_error_status"], Value::Null);
    assert!(env.server().turns().iter().any(|turn| !turn.wants_stream()), "without a stream, too");
}

#[test]
fn an_error_inside_a_stream_leads_to_a_request_without_one() {
    let turns = [Turn::text("Hal").then_error("overloaded_error"), Turn::text("Whole.")];
    let Some(env) = session(turns) else { return };
    assert_eq!(succeeded(&env.claude(&["go"]))["result"], "Whole.");
    let streams: Vec<bool> = env.server().turns().iter().map(Request::wants_stream).collect();
    assert_eq!(streams, [true, false]);
}

#[test]
fn a_model_that_falls_silent_holds_the_agent_until_it_is_killed() {
    for turn in [Turn::text("Hal").then_hang(), Turn::silent()] {
        let Some(env) = session([turn]) else { return };
        let mut child = env.start_claude(&["go"]);
        env.server().wait_for_requests(1, SOON);
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        let ran = Ran::end_of(child);
        assert_eq!(ran.code, 128 + 9);
        assert_eq!(ran.events_of("result", "").len(), 0);
    }
}

/// A command that says in `pid` that it runs, and runs for a minute.
const LONG: &str = "sh -c 'echo $$ > pid; exec sleep 60'";

/// The process that `LONG` is.
fn long_process(env: &ClaudeEnv) -> String {
    let file = env.repo().join("pid");
    let read = || std::fs::read_to_string(&file).unwrap_or_default().trim().to_owned();
    wait_until("the command runs", SOON, || !read().is_empty());
    read()
}

fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

#[test]
fn sigterm_ends_the_agent_and_its_tools_and_the_hook_still_runs() {
    let Some(env) = session([Turn::bash(LONG)]) else { return };
    let settings = hooks(&[("SessionEnd", "cat > ended.json")]);
    let child = env.start_claude(&["go", "--settings", &settings, "--allowed-tools", "Bash"]);
    let pid = long_process(&env);
    send_signal("TERM", child.id());
    let ran = Ran::end_of(child);
    assert_eq!(ran.code, 143);
    assert_eq!(ran.events_of("result", "").len(), 0);
    wait_until("the command is gone", SOON, || !is_alive(&pid));
    assert_eq!(noted(&env, "ended.json")["reason"], "other");
}

#[test]
fn a_child_in_the_background_survives_the_agent() {
    let turns = [
        Turn::bash(format!("nohup {LONG} >/dev/null 2>&1 </dev/null &")),
        Turn::text("It goes on without me."),
    ];
    let Some(env) = session(turns) else { return };
    let ran = env.claude(&["go", "--allowed-tools", "Bash"]);
    let pid = long_process(&env);
    let alive = is_alive(&pid);
    send_signal("KILL", pid.parse().unwrap());
    succeeded(&ran);
    assert!(alive, "the agent took its child with it");
}

#[test]
fn a_tool_that_is_not_allowed_is_denied_and_the_run_goes_on() {
    let turns = [Turn::bash("touch new.txt"), Turn::text("Done, I say.")];
    let Some(env) = session(turns) else { return };
    let ran = env.claude(&["go", "--allowed-tools", "Read"]);
    let result = succeeded(&ran);
    assert_eq!(result["result"], "Done, I say.");
    assert_eq!(result["permission_denials"][0]["tool_name"], "Bash");
    assert!(!env.repo().join("new.txt").exists());
    assert!(env.sessions_seen()[0][1].tool_results()[0].1, "the model is told");
}

#[test]
fn a_refusal_fails_the_run() {
    let Some(env) = session([Turn::refusal().for_ever()]) else { return };
    let result = failed(&env.claude(&["go"]));
    assert_eq!(result["stop_reason"], "refusal");
}

#[test]
fn too_much_output_fails_the_run() {
    let turn = Turn::text("and on").stop(Stop::MaxTokens);
    let Some(env) = session([turn.for_ever()]) else { return };
    let ran = env.claude(&["go"]);
    failed(&ran);
    assert_eq!(ran.events_of("assistant", "").pop().unwrap()["error"], "max_output_tokens");
}

#[test]
fn an_empty_answer_is_no_error_and_no_text() {
    let Some(env) = session([Turn::empty().for_ever()]) else { return };
    assert_eq!(succeeded(&env.claude(&["go"]))["result"], "");
}

#[test]
fn the_limit_of_turns_fails_the_run_without_a_text() {
    let Some(env) = session([Turn::bash("true").for_ever()]) else { return };
    let ran = env.claude(&["go", "--max-turns", "2", "--allowed-tools", "Bash"]);
    let result = failed(&ran);
    assert_eq!(result["subtype"], "error_max_turns");
    assert_eq!(result.get("result"), None);
}

/// Settings with one command per event.
fn hooks(commands: &[(&str, &str)]) -> String {
    let entry = |command| json!([{ "hooks": [{ "type": "command", "command": command }] }]);
    let hooks: serde_json::Map<String, Value> =
        commands.iter().map(|(event, command)| ((*event).to_owned(), entry(command))).collect();
    json!({ "hooks": hooks }).to_string()
}

/// What a hook was told, from a file of the repository.
fn noted(env: &ClaudeEnv, file: &str) -> Value {
    serde_json::from_slice(&std::fs::read(env.repo().join(file)).unwrap()).unwrap()
}

/// A session that must compact after its first turn, with this answer of the hook.
fn compacting(answer: &str, input: u64) -> Option<(ClaudeEnv, Ran)> {
    let mut env = session([
        Turn::bash("true").usage(Usage { input, ..Usage::default() }),
        Turn::text("All done."),
    ])?;
    // As `ralph init` writes them: into the project. Nobody is asked whether it is trusted.
    let reported = format!("cat > compact.json; echo $RALPH_AGENT_ID >> agent; {answer}");
    env.write(
        ".claude/settings.json",
        hooks(&[("PreCompact", &reported), ("SessionEnd", "cat > ended.json")]),
    );
    env.set("RALPH_AGENT_ID", "agent-1");
    let ran = env.claude(&["go", "--allowed-tools", "Bash"]);
    assert_eq!(noted(&env, "compact.json")["trigger"], "auto");
    assert_eq!(noted(&env, "ended.json")["hook_event_name"], "SessionEnd");
    assert_eq!(std::fs::read_to_string(env.repo().join("agent")).unwrap(), "agent-1\n");
    Some((env, ran))
}

#[test]
fn a_hook_that_only_says_not_to_continue_does_not_keep_the_agent_from_compacting() {
    let answer = r#"echo '{"continue":false,"stopReason":"Context Limit Reached"}'"#;
    let Some((env, ran)) = compacting(answer, 990_000) else { return };
    assert_eq!(succeeded(&ran)["result"], "All done.");
    assert_eq!(ran.events_of("system", "compact_boundary").len(), 1);
    assert!(env.server().requests().iter().any(Request::is_compaction));
}

#[test]
fn a_hook_that_blocks_keeps_the_agent_from_compacting_and_a_full_context_ends_the_run() {
    let answer = r#"echo '{"decision":"block","reason":"Context Limit Reached"}'"#;
    let Some((env, ran)) = compacting(answer, 990_000) else { return };
    assert_eq!(failed(&ran)["terminal_reason"], "blocking_limit");
    assert_eq!(ran.events_of("system", "compact_boundary").len(), 0);
    assert_eq!(env.server().requests().len(), 1);
}

#[test]
fn a_hook_that_blocks_lets_a_nearly_full_context_go_on() {
    let Some((_env, ran)) = compacting("exit 2", 970_000) else { return };
    assert_eq!(succeeded(&ran)["result"], "All done.");
    assert_eq!(ran.events_of("system", "compact_boundary").len(), 0);
}

#[test]
fn a_skill_of_the_project_takes_the_rest_of_the_prompt_as_its_arguments() {
    let Some(env) = session([Turn::text("Built {id}.")]) else { return };
    let head = "---\nname: ralph-build\ndescription: builds one task\n---\n\n";
    let skill = ".claude/skills/ralph-build/SKILL.md";
    let prompt = "/ralph-build ## Task t-5\nid: t-5\ntitle: $HOME and `ls`";

    env.write(skill, format!("{head}Build one of [$ARGUMENTS].\n"));
    assert_eq!(succeeded(&env.claude(&[prompt]))["result"], "Built t-5.");
    let text = env.server().turns()[0].user_text();
    assert!(text.contains("Build one of [## Task t-5\nid: t-5\ntitle: $HOME and `ls`]."), "{text}");
    assert!(text.contains("<command-name>/ralph-build</command-name>"), "{text}");

    // Without a place for them they come last.
    env.write(skill, format!("{head}Build one of them.\n"));
    env.play(Script::new().session([Turn::text("Built.")]));
    succeeded(&env.claude(&[prompt]));
    let text = env.server().turns()[1].user_text();
    assert!(text.contains("Build one of them.\n\n\nARGUMENTS: ## Task t-5\nid: t-5\n"), "{text}");
}

#[test]
fn arguments_of_a_skill_run_no_command() {
    let Some(env) = session([Turn::text("Built.")]) else { return };
    let skill = "---\nname: ralph-build\ndescription: x\nallowed-tools: Bash\n---\n\n$ARGUMENTS\n";
    env.write(".claude/skills/ralph-build/SKILL.md", skill);
    succeeded(&env.claude(&["/ralph-build !`touch one`\n```!\ntouch two\n```\n$(touch three)"]));
    for file in ["one", "two", "three"] {
        assert!(!env.repo().join(file).exists(), "the command `touch {file}` ran");
    }
    let text = env.server().turns()[0].user_text();
    assert!(text.contains("<command-args>!`touch one`\n"), "the model sees them unchanged: {text}");
}

#[test]
fn a_skill_that_is_not_there_is_a_prompt_like_any_other() {
    let Some(env) = session([Turn::text("What is that?")]) else { return };
    succeeded(&env.claude(&["/ralph-build hello"]));
    let text = env.server().turns()[0].user_text();
    assert!(text.ends_with("/ralph-build hello"), "{text}");
}

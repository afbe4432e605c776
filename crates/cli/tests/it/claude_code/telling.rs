//! What the user tells the real Claude Code while it works, also when ralph is killed meanwhile.

use ralph_testkit::model_server::{Script, Turn};

use super::*;

const LATIN: &str = "Say hello in Latin.";

/// The requests of a session whose first tool call waits until the user has told it something.
fn waits() -> Turn {
    Turn::bash("touch ../notes/there; until test -e ../notes/go; do sleep 0.05; done")
}

#[test]
fn a_text_reaches_the_running_session_within_one_turn_and_no_other_one() {
    let script = Script::new().session([waits(), commits(), Turn::text(DONE)]);
    let Some(env) = playing(script) else { return };
    let running = start(&env, &[]);
    wait_until("the session waits", SOON, || env.note("there").exists());
    let told = env.ralph(&["tell", "a", "Say hello in Latin."]);
    has(&told.stderr, "the session of a gets the message at its next turn");
    std::fs::write(env.note("go"), "").unwrap();
    output_of(Ran::end_of(running), 0);
    let sessions = env.sessions_seen();
    assert_eq!(sessions.len(), 1);
    let seen: Vec<usize> = sessions[0]
        .iter()
        .map(|request| request.body["messages"].to_string().matches("in Latin").count())
        .collect();
    assert_eq!(seen, [0, 1, 1], "once, from the next request on");
    let given = facts(&env, "message_given");
    assert_eq!(given.len(), 1);
    assert_eq!(given[0]["live"], true);
    assert_eq!(outcomes(&env, "a"), ["done"]);
    has(&env.task(&["log", "a"]), "message 1 to attempt a-");
}

#[test]
fn attach_talks_to_the_running_session() {
    use std::io::Write;
    use std::process::Stdio;
    let script = Script::new().session([waits(), commits(), Turn::text(DONE)]);
    let Some(env) = playing(script) else { return };
    let running = start(&env, &[]);
    wait_until("the session waits", SOON, || env.note("there").exists());
    let mut command = env.command(&["attach", "a"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut attached = command.spawn().unwrap();
    attached.stdin.as_mut().unwrap().write_all(b"Say hello in Latin.\n").unwrap();
    wait_until("the message", SOON, || env.task(&["log", "a"]).contains("in Latin"));
    std::fs::write(env.note("go"), "").unwrap();
    output_of(Ran::end_of(running), 0);
    let output = attached.wait_with_output().unwrap();
    let shown = [output.stdout, output.stderr].concat();
    has(&String::from_utf8_lossy(&shown), "the session of a gets the message at its next turn");
    let last = env.sessions_seen()[0].last().unwrap().body["messages"].to_string();
    assert_eq!(last.matches("in Latin").count(), 1);
}

/// Starts a run whose session waits in a tool call.
#[track_caller]
fn waiting_run(env: &ClaudeEnv) -> Child {
    let running = start(env, &[]);
    wait_until("the session waits", SOON, || env.note("there").exists());
    running
}

/// Kills the run, which takes its session with it, and lets the next run finish the task.
#[track_caller]
fn is_killed_and_goes_on(env: &ClaudeEnv, mut running: Child) {
    running.kill().unwrap();
    running.wait().unwrap();
    std::fs::write(env.note("go"), "").unwrap();
    env.play(
        Script::new()
            .session([Turn::bash("echo hello > hello.txt"), Turn::text(DONE)])
            .session([Turn::bash("echo salve > hello.txt"), Turn::text(DONE)]),
    );
    output_of(env.build(&[]), 0);
    assert_eq!(processes(env), [""; 0]);
}

/// How often the last request of each session has the text: the model reads the whole conversation each time.
fn read_by_sessions(env: &ClaudeEnv) -> Vec<usize> {
    let last = |turns: Vec<Request>| turns.last().unwrap().body["messages"].to_string();
    env.sessions_seen().into_iter().map(|turns| last(turns).matches(LATIN).count()).collect()
}

/// The facts of a kind in the journals of all runs: which attempt got which message, and whether while it worked.
fn given_in_all_runs(env: &ClaudeEnv) -> Vec<(u64, bool)> {
    let mut given = vec![];
    for run in runs(env) {
        let text = std::fs::read_to_string(run.join("events.jsonl")).unwrap();
        let read = |line| serde_json::from_str::<Value>(line).ok();
        let facts = text.lines().filter_map(read).filter(|fact| fact["kind"] == "message_given");
        given.extend(
            facts.map(|fact| (fact["message"]["number"].as_u64().unwrap(), fact["live"] == true)),
        );
    }
    given
}

/// A gate that wants Latin, so that the task takes one more attempt after the one that got the message.
fn wants_latin(env: &mut ClaudeEnv) {
    env.leaves_processes("its run is killed");
    gate(env, "grep -qx salve hello.txt");
}

#[test]
fn a_text_that_a_killed_run_did_not_get_across_is_in_the_next_prompt_once_and_in_no_later_one() {
    let Some(mut env) = session([waits(), Turn::text(DONE)]) else { return };
    wants_latin(&mut env);
    let running = waiting_run(&env);
    let told = env.ralph(&["tell", "a", LATIN]);
    has(&told.stderr, "the session of a gets the message at its next turn");
    assert_eq!(
        given_in_all_runs(&env),
        [],
        "the agent is in its tool call and has confirmed nothing"
    );
    is_killed_and_goes_on(&env, running);
    assert_eq!(read_by_sessions(&env), [0, 1, 0]);
    assert_eq!(given_in_all_runs(&env), [(1, false)]);
    assert_eq!(env.task(&["log", "a"]).matches("message 1 to attempt a-").count(), 1);
    assert_eq!(outcomes(&env, "a"), ["open", "red", "done"], "a kill records no end");
}

#[test]
fn a_text_that_a_killed_session_had_read_is_in_the_next_prompt_once_and_in_no_later_one() {
    let again =
        Turn::bash("touch ../notes/again; until test -e ../notes/more; do sleep 0.05; done");
    let Some(mut env) = session([waits(), again, Turn::text(DONE)]) else { return };
    wants_latin(&mut env);
    let running = waiting_run(&env);
    env.ralph(&["tell", "a", LATIN]).success();
    std::fs::write(env.note("go"), "").unwrap();
    wait_until("the session reads it and works on", SOON, || env.note("again").exists());
    wait_until("the journal says so", SOON, || given_in_all_runs(&env) == [(1, true)]);
    is_killed_and_goes_on(&env, running);
    assert_eq!(
        read_by_sessions(&env),
        [1, 1, 0],
        "once in each session up to the first that ends by itself"
    );
    assert_eq!(given_in_all_runs(&env), [(1, true), (1, false)]);
    assert_eq!(outcomes(&env, "a"), ["open", "red", "done"], "a kill records no end");
}

//! What the user tells the real Claude Code while it works.

use ralph_testkit::model_server::{Script, Turn};

use super::*;

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

//! The whole screen on a real terminal: tmux draws it, the tests press keys and read what is there.

mod terminal;

use ralph_testkit::{Ran, TestEnv, wait_until};

use crate::branches;
use crate::looping::{
    PATIENCE, cassette, gate_step, project, say, session, status, touch, wait_for, works, write,
};
use terminal::Terminal;

/// A session that waits for the note `go`, after some words.
fn waits() -> String {
    session(&[
        say("I look at the parser first."),
        gate_step("there", "go"),
        write("{id}.txt", "work\n"),
        say("<task-done>{id}</task-done>"),
    ])
}

const BUILD: [&str; 7] =
    ["build", "--agent", "script", "--set", "agent.script.path=../cassette.jsonl", "--ui", "tui"];

/// A terminal on which a run has begun whose session waits.
fn at_work(env: &TestEnv, width: u16, height: u16) -> Option<Terminal> {
    cassette(env, &[&waits(), &works()]);
    let terminal = Terminal::start(env, &BUILD, width, height)?;
    wait_for(env, "there");
    terminal.shows("I look at the parser first.");
    Some(terminal)
}

#[test]
fn a_run_is_shown_and_its_exit_code_returned() {
    let env = project(&["a", "b"]);
    let Some(terminal) = at_work(&env, 80, 24) else { return };
    terminal.shows("running");
    terminal.shows("● a a");
    touch(&env, "go");
    terminal.shows("Next: ");
    terminal.shows("2/2 done");
    terminal.presses(&["q"]);
    terminal.shows("ENDED 0");
    assert_eq!((status(&env, "a"), status(&env, "b")), ("done".into(), "done".into()));
    assert!(!terminal.shown().contains('│'), "the screen is the shell's again");
}

#[test]
fn the_window_changes_its_size() {
    let env = project(&["a", "b"]);
    let Some(terminal) = at_work(&env, 120, 40) else { return };
    terminal.resizes(80, 24);
    wait_until("the keys are in the last row", PATIENCE, || {
        terminal.shown().lines().nth(23).is_some_and(|line| line.contains("? help"))
    });
    terminal.resizes(40, 10);
    terminal.shows("The window is too small");
    terminal.resizes(160, 50);
    terminal.shows("I look at the parser first.");
    touch(&env, "go");
    terminal.shows("Next: ");
    terminal.presses(&["q"]);
    terminal.shows("ENDED 0");
}

#[test]
fn ctrl_c_asks_and_a_second_one_only_quits() {
    let env = project(&["a", "b"]);
    let Some(terminal) = at_work(&env, 80, 24) else { return };
    terminal.presses(&["C-c"]);
    terminal.shows("Cancel the run");
    terminal.presses(&["C-c"]);
    terminal.shows("The run continues. Watch it again: ralph watch");
    terminal.shows("ENDED 0");
    touch(&env, "go");
    wait_until("the run goes on to its end", PATIENCE, || status(&env, "b") == "done");
}

#[test]
fn a_run_is_cancelled_after_the_session() {
    let env = project(&["a", "b"]);
    let Some(terminal) = at_work(&env, 80, 24) else { return };
    terminal.presses(&["C-c"]);
    terminal.shows("Cancel the run");
    terminal.presses(&["Enter"]);
    terminal.shows("stopping after this session");
    touch(&env, "go");
    terminal.shows("Stopped: cancelled.");
    terminal.presses(&["q"]);
    terminal.shows("ENDED 130");
    assert_eq!((status(&env, "a"), status(&env, "b")), ("done".into(), "open".into()));
}

/// Closing the terminal, and everything in it, is no reason for a run to end.
#[test]
fn the_run_goes_on_when_the_terminal_is_killed() {
    let env = project(&["a", "b"]);
    let Some(terminal) = at_work(&env, 80, 24) else { return };
    terminal.kill();
    touch(&env, "go");
    wait_until("the run goes on to its end", PATIENCE, || status(&env, "b") == "done");
}

#[test]
fn a_running_run_is_watched_and_a_message_sent() {
    let env = project(&["a", "b"]);
    cassette(&env, &[&waits(), &works(), &works()]);
    let running = env.start(&BUILD[..5]);
    wait_for(&env, "there");
    let Some(terminal) = Terminal::start(&env, &["watch"], 120, 40) else {
        touch(&env, "go");
        Ran::end_of(running);
        return;
    };
    terminal.shows("I look at the parser first.");
    terminal.presses(&["m"]);
    terminal.shows("Message to the session");
    terminal.types("use tabs");
    terminal.presses(&["Enter"]);
    terminal.shows("gets the message");
    terminal.presses(&["q"]);
    terminal.shows("The run continues.");
    touch(&env, "go");
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(env.task(&["log", "a"]).contains("use tabs"));
}

#[test]
fn a_run_that_cannot_start_says_why() {
    let env = project(&["a"]);
    let Some(terminal) = Terminal::start(&env, &BUILD, 80, 24) else { return };
    terminal.shows("cassette");
    terminal.shows("ENDED 1");
}

/// Says on which branch it is, and waits for the note `go`.
const SAYS_AND_WAITS: &str = r#"
echo '{"type":"system","subtype":"init","session_id":"s","model":"claude-fake","claude_code_version":"2.1.999"}'
echo '{"type":"assistant","message":{"id":"m","model":"claude-fake","content":[{"type":"text","text":"I am on '$b'."}],"usage":{"input_tokens":3,"output_tokens":5}}}'
until test -e $here/go; do sleep 0.05; done
works; done_"#;

#[test]
fn four_branches_are_shown_at_once() {
    const NAMES: [&str; 4] = ["one", "two", "three", "four"];
    let mut env = branches::with_plan(&branches::branches(&NAMES.map(|name| (name, ""))));
    let here = branches::agent(&mut env, SAYS_AND_WAITS);
    let call = ["loop", "build", "-j", "4", "--ui", "tui"];
    let Some(terminal) = Terminal::start(&env, &call, 200, 50) else { return };
    for branch in NAMES {
        terminal.shows(&format!("I am on {branch}."));
    }
    terminal.shows("4 branches");
    std::fs::write(here.join("go"), "").unwrap();
    terminal.shows("4/4 done");
    // The one that lands last has ended while others may still clean up.
    for branch in NAMES {
        terminal.shows(&format!("{branch} ended"));
    }
    terminal.presses(&["q"]);
    terminal.shows("All 4 branches done.");
    terminal.shows("ENDED 0");
}

#[test]
fn without_a_terminal_there_is_a_sentence() {
    let env = project(&["a"]);
    for arguments in [&["watch"][..], &BUILD] {
        let ran = env.ralph(arguments);
        assert_eq!(ran.code, 1);
        assert!(ran.stderr.contains("needs a terminal"), "{}", ran.stderr);
    }
}

#[test]
fn a_run_is_replayed_on_the_whole_screen() {
    let env = project(&["a", "b"]);
    cassette(&env, &[&works(), &works()]);
    assert_eq!(env.ralph(&BUILD[..5]).code, 0);
    let call = ["replay", "--ui", "tui", "--speed", "1000"];
    let Some(terminal) = Terminal::start(&env, &call, 80, 24) else { return };
    terminal.shows("replay at its end · 1000×");
    terminal.shows("2/2 done");
    terminal.shows("Next: ");
    terminal.types("0-----------0 ");
    terminal.shows("replay paused · 0.25×");
    terminal.presses(&["0"]);
    terminal.shows(" 0%");
    terminal.presses(&["Right", "Right"]);
    terminal.shows("iteration 2 of 2");
    terminal.shows("1/2 done");
    terminal.presses(&["c"]);
    terminal.shows("a replay controls nothing");
    terminal.presses(&["Left"]);
    terminal.shows("iteration 1 of 2");
    terminal.presses(&["q"]);
    terminal.shows("ENDED 0");
    assert!(!terminal.shown().contains('│'), "the screen is the shell's again");
}

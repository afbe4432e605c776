//! What a user tells a session, and how the user takes over: `ralph tell`, `attach` and `takeover`.

use std::io::{Read, Write};
use std::process::{Child, Stdio};

use ralph_testkit::{Ran, TestEnv, send_signal};

use super::users::waits;
use super::*;

/// The prompt about the task in this iteration of the newest run.
fn prompt(env: &TestEnv, iteration: u32) -> String {
    run_file(env, &format!("iteration-{iteration:03}.task.md"))
}

fn log(env: &TestEnv, task: &str) -> String {
    env.task(&["log", task])
}

#[test]
fn a_message_without_a_run_is_in_the_next_prompt_and_in_the_log() {
    let env = project(&["a"]);
    let told = env.ralph(&["tell", "a", "use tabs"]);
    assert_eq!((told.code, told.stdout.as_str()), (0, ""), "{}", told.stderr);
    assert!(told.stderr.contains("the next attempt on a gets the message"), "{}", told.stderr);
    assert!(told.stderr.contains("no run is active, start one: ralph build"), "{}", told.stderr);
    env.ralph_with(&["tell", "a", "-"], "and no spaces\n").success();
    let ran = build(&env, &[&works()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = prompt(&env, 1);
    assert!(text.contains("## From the user"), "{text}");
    assert!(text.find("> use tabs").unwrap() < text.find("> and no spaces").unwrap(), "{text}");
    let log = log(&env, "a");
    assert!(log.contains("use tabs") && log.contains("message 2 to attempt a-"), "{log}");
    assert!(env.task(&["show", "a"]).contains("use tabs"));
    assert_eq!(of_kind(&journal(&env), "message_given").len(), 2);
    let refused = env.ralph(&["tell", "a", "more"]).failure(2);
    assert!(refused.contains("ralph task reopen a"), "{refused}");
}

#[test]
fn a_session_that_takes_no_messages_is_followed_by_one_that_has_it() {
    let env = project(&["a"]);
    let running = start(&env, &[&waits(), &works()], &[]);
    wait_for(&env, "there");
    let told = env.ralph(&["tell", "a", "use tabs", "--json"]).success();
    let told: Value = ralph_testkit::data(&told);
    let wanted = serde_json::json!({"task": "a", "message": 1, "reached": "next_attempt"});
    assert_eq!(told, wanted);
    touch(&env, "go");
    let ran = Ran::end_of(running);
    assert_eq!((ran.code, status(&env, "a").as_str()), (0, "done"), "{}", ran.stderr);
    assert_eq!(classes(&env), ["new_message", "done"]);
    assert!(!prompt(&env, 1).contains("use tabs"));
    assert_eq!(prompt(&env, 2).matches("use tabs").count(), 1);
    assert!(ran.stderr.contains("a: use tabs"), "the run shows it: {}", ran.stderr);
    let refused = env.ralph(&["attach", "a"]).failure(1);
    assert!(refused.contains("no session works on a now"), "{refused}");
}

/// `ralph attach` with a pipe in place of the keyboard.
fn attach(env: &TestEnv) -> Child {
    let mut command = env.command(&["attach", "a"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn output(child: &mut Child) -> String {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn attach_shows_the_session_and_tells_it_what_is_typed() {
    let env = project(&["a"]);
    let first = session(&[say("I look around."), waits()]);
    let running = start(&env, &[&first, &works()], &[]);
    wait_for(&env, "there");
    let mut attached = attach(&env);
    attached.stdin.as_mut().unwrap().write_all(b"use tabs\n\n").unwrap();
    wait_until("the message", PATIENCE, || log(&env, "a").contains("use tabs"));
    touch(&env, "go");
    assert!(attached.wait().unwrap().success());
    let shown = output(&mut attached);
    assert!(shown.contains("I look around."), "{shown}");
    assert!(shown.contains("the next attempt on a gets the message"), "{shown}");
    assert!(shown.contains("the session of a is over"), "{shown}");
    assert_eq!(log(&env, "a").matches("use tabs").count(), 1);
    assert_eq!(Ran::end_of(running).code, 0);
    assert_eq!(classes(&env), ["new_message", "done"]);
}

#[test]
fn detaching_leaves_the_session_alone() {
    let env = project(&["a"]);
    let running = start(&env, &[&waits()], &[]);
    wait_for(&env, "there");
    let mut attached = attach(&env);
    wait_until("it is there", PATIENCE, || {
        // It has its handlers once it has shown something.
        attached.try_wait().unwrap().is_none()
    });
    send_signal("INT", attached.id());
    attached.wait().unwrap();
    touch(&env, "go");
    let ran = Ran::end_of(running);
    assert_eq!((ran.code, status(&env, "a").as_str()), (0, "done"), "{}", ran.stderr);
    assert_eq!(classes(&env), ["done"]);
}

#[test]
fn takeover_stops_the_session_pauses_the_run_and_prints_the_way_in() {
    let mut env = project(&["a", "b"]);
    let body = "if [ $n = 1 ]; then echo half > half.txt; touch $here/there; while :; do sleep 0.05; done; fi
                echo work > $n.txt; result \"<task-done>$RALPH_TASK_ID</task-done>\"";
    let here = stand_in(&mut env, body);
    let running = env.start(&["build", "--agent", "claude", "--preset", "dag", "--no-verify"]);
    wait_for(&env, "stand-in/there");
    let taken = env.ralph(&["takeover", "a", "--json"]).success();
    let taken: Value = ralph_testkit::data(&taken);
    let field = |name: &str| taken[name].as_str().unwrap().to_owned();
    assert_eq!((taken["paused"].clone(), taken["stopped"].clone()), (true.into(), true.into()));
    assert_eq!(field("folder"), env.repo().display().to_string());
    let command = field("command");
    let begins = format!("cd {} && claude ", env.repo().display());
    assert!(command.starts_with(&begins), "{command}");
    for name in ["system_prompt", "prompt"] {
        let file = field(name);
        assert!(std::path::Path::new(&file).exists() && command.contains(&file), "{command}");
    }
    assert_eq!(status(&env, "a"), "waiting");
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:half.txt"]), "half\n");
    assert!(env.ralph(&["status"]).success().contains("ralph resume"));
    // Another one is not started before the run goes on.
    assert_eq!(std::fs::read_to_string(here.join("count")).unwrap().trim(), "1");
    // The shell reads the command as it is meant.
    std::fs::write(here.join("count"), "7").unwrap();
    let mut shell = std::process::Command::new("sh");
    let path = format!("{}:{}", here.join("bin").display(), std::env::var("PATH").unwrap());
    let ended = shell.args(["-c", &command]).env("PATH", path).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let words = std::fs::read_to_string(here.join("argv.8")).unwrap();
    let words: Vec<&str> = words.split('\0').collect();
    assert_eq!((words[0], words[2]), ("--model", "--append-system-prompt"));
    assert!(words[4].contains("Assigned task"), "{words:?}");
    std::fs::remove_file(env.repo().join("8.txt")).unwrap();
    env.ralph(&["retry", "a"]).success();
    env.ralph(&["resume"]).success();
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!([status(&env, "a"), status(&env, "b")], ["done", "done"]);
}

#[test]
fn an_agent_without_a_terminal_cannot_be_taken_over() {
    let env = project(&["a"]);
    let running = start(&env, &[&waits()], &[]);
    wait_for(&env, "there");
    let refused = env.ralph(&["takeover", "a"]).failure(1);
    assert!(refused.contains("the agent script has no interactive form"), "{refused}");
    assert!(!env.ralph(&["status"]).success().contains("ralph resume"), "nothing is paused");
    touch(&env, "go");
    assert_eq!(Ran::end_of(running).code, 0);
}

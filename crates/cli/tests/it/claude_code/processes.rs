//! Signals and processes: a run that is stopped leaves nothing behind and loses nothing.

use ralph_testkit::model_server::{Script, Turn};
use ralph_testkit::send_signal;
use serde_json::json;

use super::*;

/// A command that leaves work behind, says in `pid` beside the repository that it runs, and stays.
fn long() -> Turn {
    Turn::bash("echo half > hello.txt; echo $$ > ../notes/pid; sleep 300; true")
}

/// Waits until the command runs.
#[track_caller]
fn long_process(env: &ClaudeEnv) {
    let file = env.note("pid");
    let read = || std::fs::read_to_string(&file).unwrap_or_default().trim().to_owned();
    wait_until("the command runs", SOON, || !read().is_empty());
}

/// What must be true of a run that was stopped in a tool call; then the next run finishes the work.
#[track_caller]
fn is_stopped_and_goes_on(env: &ClaudeEnv, run: Child) {
    let output = output_of(Ran::end_of(run), 130);
    has(&output, "Stopped: cancelled.");
    assert_eq!(processes(env), [""; 0]);
    let task = shown(env, "a");
    assert_eq!((&task["status"], &task["assignee"]), (&json!("open"), &json!(null)), "{task}");
    assert_eq!(task["retry_count"], 0);
    assert_eq!(outcomes(env, "a"), ["cancelled"]);
    let saved = env.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/wip/"]);
    assert_eq!(saved, "refs/ralph/wip/a/1\n");
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:hello.txt"]), "half\n");
    assert_eq!(env.git(&["log", "--format=%s"]), "start\n");

    env.play(
        Script::new().session([
            Turn::bash("grep half hello.txt && echo hello > hello.txt"),
            Turn::text(DONE),
        ]),
    );
    assert_eq!(env.build(&[]).code, 0);
    assert_eq!(shown(env, "a")["status"], "done");
    assert_eq!(facts(env, "run_started")[0]["resumed"]["iteration"], 1, "it has used its place");
    assert_eq!(env.git(&["show", "HEAD:hello.txt"]), "hello\n");
    let left = env.server().turns().last().unwrap().tool_results();
    assert!(!left[0].1, "the work of the stopped session was gone: {left:?}");
}

#[test]
fn sigterm_in_a_tool_call_ends_everything_at_once_and_the_next_run_goes_on() {
    let Some(env) = session([long()]) else { return };
    let run = start(&env, &[]);
    long_process(&env);
    send_signal("TERM", run.id());
    is_stopped_and_goes_on(&env, run);
}

/// Presses Ctrl-C so often, and waits each time until ralph has taken it in.
fn ctrl_c(env: &ClaudeEnv, run: &Child, times: usize) {
    for taken in 1..=times {
        send_signal("INT", run.id());
        wait_until("ralph takes it in", SOON, || facts(env, "control_received").len() == taken);
    }
}

#[test]
fn a_second_ctrl_c_asks_the_session_to_end_and_the_next_run_goes_on() {
    let Some(env) = session([long()]) else { return };
    let run = start(&env, &[]);
    long_process(&env);
    ctrl_c(&env, &run, 1);
    assert!(!processes(&env).is_empty(), "the first waits for the session");
    send_signal("INT", run.id());
    is_stopped_and_goes_on(&env, run);
    // The agent was asked: it had the time to say that its tool was interrupted.
    let first = std::fs::read_to_string(runs(&env)[0].join("iteration-001.ndjson")).unwrap();
    has(&first, "aborted_tools");
}

#[test]
fn a_third_ctrl_c_does_not_wait_for_an_agent_that_will_not_end() {
    let Some(env) = session([long()]) else { return };
    let script = "[ -e ../notes/pid ] || [ \"$1\" = --version ] && exec $CLAUDE \"$@\"
        trap '' INT TERM
        $CLAUDE \"$@\"
        while :; do sleep 1; done";
    wrap_claude(&env, script);
    let run = start(&env, &["--set", "agent.grace=10m"]);
    long_process(&env);
    ctrl_c(&env, &run, 2);
    assert!(!processes(&env).is_empty());
    send_signal("INT", run.id());
    is_stopped_and_goes_on(&env, run);
}

#[test]
fn a_child_in_the_background_is_gone_after_the_session() {
    let turns = [
        Turn::bash("nohup sleep 300 >/dev/null 2>&1 </dev/null & echo $! > ../notes/pid"),
        Turn::bash(
            "setsid sh -c 'echo $$ > ../notes/pid2; exec sleep 300' </dev/null >/dev/null 2>&1 &",
        ),
        commits(),
        Turn::text(DONE),
    ];
    let Some(mut env) = session(turns) else { return };
    env.without_sandbox("a sandbox ends with all its processes, and none is counted");
    let output = output_of(env.build(&[]), 0);
    for file in ["pid", "pid2"] {
        let pid = std::fs::read_to_string(env.note(file)).unwrap();
        assert!(!PathBuf::from("/proc").join(pid.trim()).exists(), "{pid}");
    }
    assert_eq!(processes(&env), [""; 0]);
    has(&output, "killed 2 processes that the session left running");
    assert_eq!(outcomes(&env, "a"), ["done"]);
}

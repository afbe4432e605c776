//! How a run stops: Ctrl-C once, twice and three times, SIGTERM, and `ralph cancel`.

use std::process::Child;

use ralph_testkit::{Ran, TestEnv, send_signal};

use super::users::{stays, waits};
use super::*;

/// Presses Ctrl-C for the so many'th time, and waits until ralph has taken it in.
fn ctrl_c(env: &TestEnv, running: &Child, times: usize) {
    send_signal("INT", running.id());
    wait_until("ralph takes it in", PATIENCE, || {
        of_kind(&journal(env), "control_received").len() == times
    });
}

fn gate(env: &TestEnv, command: &str) {
    env.write("ralph.toml", format!("[[gate]]\nname = \"check\"\ncommand = \"{command}\"\n"));
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
}

/// Ends a run that was cancelled: its exit code, and what became of the tasks `a` and `b`.
fn ended(env: &TestEnv, running: Child) -> (String, [String; 2]) {
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    (ran.stderr, [status(env, "a"), status(env, "b")])
}

/// The next run is the same run, and does the rest.
fn goes_on(env: &TestEnv) {
    let ran = again(env, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!of_kind(&journal(env), "run_started")[0]["resumed"].is_null(), "{}", ran.stderr);
    assert_eq!([status(env, "a"), status(env, "b")], ["done", "done"]);
}

#[test]
fn the_first_ctrl_c_lets_the_session_end_and_its_work_is_committed() {
    let env = project(&["a", "b"]);
    let running = start(&env, &[&waits(), &works()], &[]);
    wait_for(&env, "there");
    ctrl_c(&env, &running, 1);
    let page = env.ralph(&["status"]).success();
    let first = format!("Stopping after this session (pid {})\n", running.id());
    assert!(page.starts_with(&first), "{page}");
    touch(&env, "go");
    let (output, statuses) = ended(&env, running);
    assert_eq!(statuses, ["done", "open"], "{output}");
    assert_eq!(
        output.matches("Stopping after this session. Press Ctrl-C again to kill it.").count(),
        1
    );
    assert_eq!(env.git(&["show", "HEAD:a.txt"]), "work\n");
    goes_on(&env);
}

#[test]
fn a_run_under_nohup_survives_a_hangup() {
    let env = project(&["a"]);
    cassette(&env, &[&waits()]);
    let ralph = env.command(&arguments(&[]));
    let mut command = std::process::Command::new("nohup");
    command.arg(ralph.get_program()).args(ralph.get_args()).env_clear().current_dir(env.repo());
    command.envs(ralph.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let running = command.spawn().unwrap();
    wait_for(&env, "there");
    send_signal("HUP", running.id());
    touch(&env, "go");
    let ran = Ran::end_of(running);
    assert_eq!((ran.code, status(&env, "a").as_str()), (0, "done"), "{}", ran.stderr);
}

#[test]
fn the_second_ctrl_c_interrupts_the_session_and_the_third_kills_it() {
    let mut env = project(&["a"]);
    let body = "trap 'touch $here/int' INT; trap '' TERM; echo half > half.txt; touch $here/there
                while :; do sleep 0.05; done";
    let here = stand_in(&mut env, body);
    let running = env.start(&["build", "--agent", "claude", "--set", "agent.grace=10m"]);
    wait_for(&env, "stand-in/there");
    ctrl_c(&env, &running, 1);
    assert!(!here.join("int").exists(), "the first waits for the session");
    ctrl_c(&env, &running, 2);
    wait_for(&env, "stand-in/int");
    send_signal("INT", running.id());
    let ran = Ran::end_of(running);
    assert_eq!((ran.code, status(&env, "a")), (130, "open".into()), "{}", ran.stderr);
    assert!(ran.stderr.contains("Stopping now. ralph interrupts the session"), "{}", ran.stderr);
    assert!(ran.stderr.contains("Stopping now. ralph kills the session"), "{}", ran.stderr);
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:half.txt"]), "half\n");
}

/// No session has begun, so nothing is to be finished first: also the first Ctrl-C ends it.
#[test]
fn a_signal_that_arrives_while_a_huge_plan_is_taken_in_ends_the_run_at_once() {
    let env = project(&[]);
    let checkboxes: String = (0..40_000).map(|n| format!("- [ ] Task number {n}\n")).collect();
    env.write("implementation_plan.md", checkboxes);
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "plan"]);
    for signal in ["TERM", "INT"] {
        let running = start(&env, &[&works()], &["--new"]);
        wait_until("the run begins", PATIENCE, || {
            let begun = runs(&env).len() > usize::from(signal == "INT");
            begun && !of_kind(&journal(&env), "run_started").is_empty()
        });
        send_signal(signal, running.id());
        let ran = Ran::end_of(running);
        assert_eq!(ran.code, 130, "{}", ran.stderr);
        assert!(!ran.stderr.contains("error"), "{}", ran.stderr);
        // All of the plan is taken in, or nothing.
        assert_eq!(env.task(&["list", "--all"]), "", "{signal}");
        assert!(of_kind(&journal(&env), "session_started").is_empty());
        assert!(env.git(&["status", "--porcelain"]).is_empty());
    }
}

/// Programs send it, some of them twice (`timeout` does): the session has its grace all the same.
#[test]
fn sigterm_is_the_second_ctrl_c_however_often_it_is_sent() {
    let mut env = project(&["a"]);
    let body =
        "trap 'sleep 1; touch $here/ended; exit 1' INT; echo half > half.txt; touch $here/there
                while :; do sleep 0.05; done";
    let here = stand_in(&mut env, body);
    let running = env.start(&["build", "--agent", "claude"]);
    wait_for(&env, "stand-in/there");
    send_signal("TERM", running.id());
    wait_for_event(&env, "the cancel", |event| event["kind"] == "control_received");
    send_signal("TERM", running.id());
    let ran = Ran::end_of(running);
    assert_eq!((ran.code, status(&env, "a")), (130, "open".into()), "{}", ran.stderr);
    assert!(here.join("ended").exists(), "the session ended by itself: {}", ran.stderr);
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:half.txt"]), "half\n");
}

#[test]
fn cancel_after_task_retries_the_current_task_and_starts_no_other() {
    let env = project(&["a", "b"]);
    gate(&env, "grep -q work a.txt");
    let wrong = session(&[
        gate_step("there", "go"),
        write("{id}.txt", "wrong\n"),
        say("<task-done>{id}</task-done>"),
    ]);
    let running = start(&env, &[&wrong, &works(), &works()], &[]);
    wait_for(&env, "there");
    env.ralph(&["cancel", "--after", "task"]).success();
    wait_for_event(&env, "the cancel", |event| event["kind"] == "control_received");
    let page = env.ralph(&["status"]).success();
    assert!(page.starts_with("Stopping after this task (pid "), "{page}");
    touch(&env, "go");
    let (output, statuses) = ended(&env, running);
    assert_eq!(statuses, ["done", "open"], "{output}");
    assert_eq!(classes(&env), ["red", "done"]);
    goes_on(&env);
}

#[test]
fn cancel_after_task_in_a_plan_file_retries_the_current_iteration() {
    let env = project(&[]);
    gate(&env, "! test -e wrong");
    env.write("implementation_plan.md", "# Plan\n\n- [ ] First\n- [ ] Second\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "plan"]);
    let tick = "sed -i '0,/\\[ \\]/s//[x]/' implementation_plan.md";
    let first = session(&[gate_step("there", "go"), write("wrong", "x"), say("tried")]);
    let second = session(&[sh(&format!("rm -f wrong; echo a > a.txt; {tick}")), say("finished")]);
    let running = start(&env, &[&first, &second, &second], &[]);
    wait_for(&env, "there");
    env.ralph(&["cancel", "--after", "task"]).success();
    touch(&env, "go");
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert_eq!(classes(&env), ["red", "done"], "{}", ran.stderr);
    let plan = std::fs::read_to_string(env.repo().join("implementation_plan.md")).unwrap();
    assert!(plan.contains("- [x] First\n- [ ] Second"), "{plan}");
}

#[test]
fn side_by_side_every_session_ends_before_the_run() {
    let env = project(&["a", "b", "c"]);
    // The worktrees of tasks lie elsewhere: `..` is not the folder of the notes.
    let notes = env.note("").display().to_string();
    let waits = session(&[
        sh(&format!(
            "touch {notes}there.$RALPH_TASK_ID; until test -e {notes}go.$RALPH_TASK_ID; do sleep 0.05; done"
        )),
        write("{id}.txt", "work\n"),
        say("<task-done>{id}</task-done>"),
    ]);
    let running = start(&env, &[&waits, &waits, &waits], &["-j", "2"]);
    wait_for(&env, "there.a");
    wait_for(&env, "there.b");
    ctrl_c(&env, &running, 1);
    touch(&env, "go.a");
    wait_until("the first is done", PATIENCE, || status(&env, "a") == "done");
    touch(&env, "go.b");
    let (output, statuses) = ended(&env, running);
    assert_eq!((statuses, status(&env, "c")), (["done".into(), "done".into()], "open".into()));
    assert!(
        output.contains("Stopping after these sessions. Press Ctrl-C again to kill them."),
        "{output}"
    );
}

#[test]
fn s2_28_cancel_ends_the_run_keeps_the_work_and_it_can_be_taken_up_again() {
    for now in [&["cancel", "--after", "now"][..], &["cancel", "--now"]] {
        let env = project(&["a", "b"]);
        let running = start(&env, &[&stays(), &works(), &works()], &["5"]);
        wait_for(&env, "there");
        env.ralph(now).success();
        let (output, statuses) = ended(&env, running);
        assert_eq!(statuses, ["open", "open"], "{output}");
        assert_eq!(show(&env, "a")["retry_count"], 0);
        assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:half.txt"]), "half\n");
        assert!(output.contains("ralph build"), "it says how to go on: {output}");
        goes_on(&env);
    }
}

#[test]
fn s2_5_cancel_while_waiting_for_a_limit_ends_at_once() {
    for after in ["task", "session", "now"] {
        let env = project(&["a"]);
        let running = start(&env, &["{\"do\":\"limit\",\"reset_in\":\"1h\"}"], &[]);
        wait_for_event(&env, "the wait", |event| event["kind"] == "wait_started");
        env.ralph(&["cancel", "--after", after]).success();
        let ran = Ran::end_of(running);
        assert_eq!(ran.code, 130, "{after}: {}", ran.stderr);
        assert!(
            !ran.stderr.contains("Press Ctrl-C"),
            "there is nothing to wait for: {}",
            ran.stderr
        );
    }
}

/// The session is ended because its context is full: that is not for the gates.
#[test]
fn what_was_called_done_before_the_context_ran_out_is_judged() {
    let mut env = project(&["a"]);
    gate(&env, "grep -q work a.txt");
    let body = "init; echo work > a.txt; ralph task done a; ralph hook pre-compact; sleep 300";
    stand_in(&mut env, body);
    let ran = env.ralph(&["build", "--agent", "claude", "--once"]);
    assert_eq!(
        (status(&env, "a"), classes(&env)),
        ("done".into(), vec!["done".into()]),
        "{}",
        ran.stderr
    );
}

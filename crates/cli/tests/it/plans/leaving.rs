//! Tasks that leave the plan file while a session runs: they wait for the user, whatever claims count.

use super::*;

/// A progress file or a checklist whose first task is done by the session, and whose others it deletes.
fn with_confirm(name: &str, text: &str) -> TestEnv {
    with_claims(name, text, "confirm")
}

fn with_claims(name: &str, text: &str, claims: &str) -> TestEnv {
    let env = with_plan(name, text);
    commit_file(&env, "ralph.toml", &format!("[completion]\nclaims = \"{claims}\"\n"));
    env
}

fn deletes(plan: &str) -> String {
    session(&[
        write("one.txt", "x"),
        tick(plan, "Write one"),
        sh(&format!("sed -i '/Write two/d' {plan}")),
        say("All is done."),
    ])
}

pub(super) fn id_of(env: &TestEnv, title: &str) -> String {
    let listed: Vec<Value> = ralph_testkit::data(&env.task(&["list", "--json"]));
    let found = listed.iter().find(|task| task["title"] == title).unwrap();
    found["id"].as_str().unwrap().to_owned()
}

const TWO: &str = "# Progress: Two\n\n## Status\nIn Progress\n\n## Tasks\n- [ ] Write one\n\
    - [ ] Write two\n\n## Iteration Log\n";

#[test]
fn a_task_that_leaves_during_a_session_waits_and_the_run_is_blocked() {
    for (name, text, claims) in [
        ("progress.md", TWO, "trust"),
        ("progress.md", TWO, "confirm"),
        ("implementation_plan.md", CHECKLIST, "trust"),
        ("implementation_plan.md", CHECKLIST, "confirm"),
    ] {
        let env = with_claims(name, text, claims);
        let output = output_of(build(&env, &[&deletes(name)], &[]), 7);
        assert_eq!(stop(&env), "blocked", "{output}");
        assert_eq!(sessions(&env), 1, "nothing is left that a session could do");
        has_not(&read(&env, name), "Write two");
        let id = id_of(&env, "Write two");
        let prompt = format!(
            "\"Write two\" was removed from the plan during iteration 1; to delete it: ralph task delete \
             {id}, to restore it: ralph task reset {id}"
        );
        has(&output.split_whitespace().collect::<Vec<_>>().join(" "), &prompt);
        has(&env.task(&["log", &id]), "was removed from the plan during iteration 1");
        // Nothing has changed: it still waits, and no session is started.
        said_blocked(&env);
        env.task(&["delete", &id]);
        said_complete(&env, &[]);
    }
}

fn said_blocked(env: &TestEnv) {
    output_of(build(env, &[], &[]), 7);
    assert_eq!((stop(env).as_str(), sessions(env)), ("blocked", 0));
}

fn said_complete(env: &TestEnv, sessions: &[&str]) {
    let text = output_of(build(env, sessions, &[]), 0);
    assert_eq!(stop(env), "complete", "{text}");
}

#[test]
fn reset_puts_the_lines_back_and_the_task_is_worked_on() {
    for (name, text) in [("progress.md", TWO), ("implementation_plan.md", CHECKLIST)] {
        let env = with_confirm(name, text);
        output_of(build(&env, &[&deletes(name)], &[]), 7);
        let id = id_of(&env, "Write two");
        env.task(&["reset", &id]);
        let works =
            session(&[write("two.txt", "x"), tick(name, "Write two"), say("Now it is done.")]);
        said_complete(&env, &[&works]);
        has(&read(&env, name), "- [x] Write one\n- [x] Write two\n");
        assert_eq!(id_of(&env, "Write two"), id, "it is the same task");
    }
}

#[test]
fn a_line_that_the_user_writes_again_is_the_same_task_and_open() {
    // With --once the next look is that of the next run.
    for (extra, code) in [(&[][..], 7), (&["--once"][..], 0)] {
        let env = with_confirm("progress.md", TWO);
        output_of(build(&env, &[&deletes("progress.md")], extra), code);
        let id = id_of(&env, "Write two");
        let again = "- [x] Write one\n- [ ] Write two\n";
        let text = read(&env, "progress.md").replace("- [x] Write one\n", again);
        env.write("progress.md", text);
        let works =
            session(&[write("two.txt", "x"), tick("progress.md", "Write two"), say("Done.")]);
        said_complete(&env, &[&works]);
        assert_eq!(id_of(&env, "Write two"), id);
    }
}

/// The run dies while the session has the plan in its hands.
#[test]
fn what_left_during_a_session_that_was_cut_off_waits_too() {
    let env = with_confirm("progress.md", TWO);
    let steps = [sh("sed -i '/Write two/d' progress.md"), gate_step("there", "never")];
    let mut running = start(&env, &[&session(&steps)], &[]);
    wait_for(&env, "there");
    running.kill().unwrap();
    running.wait().unwrap();
    let works = session(&[write("one.txt", "x"), tick("progress.md", "Write one"), say("Done.")]);
    output_of(build(&env, &[&works], &[]), 7);
    has(&env.task(&["log", &id_of(&env, "Write two")]), "during an interrupted session");
}

/// Between sessions nobody but a person is there.
#[test]
fn a_task_that_the_user_deletes_between_runs_is_out_of_the_plan() {
    let env = with_confirm("progress.md", TWO);
    let first = session(&[write("one.txt", "x"), tick("progress.md", "Write one"), say("Done.")]);
    output_of(build(&env, &[&first], &["--once"]), 0);
    let text = read(&env, "progress.md");
    env.write("progress.md", text.replace("- [ ] Write two\n", ""));
    said_complete(&env, &[]);
    assert!(!tasks(&env).iter().any(|(title, _)| title == "Write two"), "{:?}", tasks(&env));
}

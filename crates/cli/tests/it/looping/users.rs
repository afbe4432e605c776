//! Users at a running loop: pause, skip, retry, answers, their own commits.

use std::os::unix::fs::PermissionsExt;

use ralph_testkit::Ran;

use super::*;

/// A session that waits for `go`, then does its task.
pub(super) fn waits() -> String {
    session(&[
        gate_step("there", "go"),
        write("{id}.txt", "work\n"),
        say("<task-done>{id}</task-done>"),
    ])
}

/// A session that has written something and never ends by itself.
pub(super) fn stays() -> String {
    session(&[write("half.txt", "half\n"), gate_step("there", "never"), say("x")])
}

#[test]
fn pause_starts_nothing_new_and_resume_goes_on() {
    let env = project(&["a", "b"]);
    let running = start(&env, &[&waits(), &works()], &[]);
    wait_for(&env, "there");
    env.ralph(&["pause"]).success();
    touch(&env, "go");
    wait_for_event(&env, "the pause", |event| event["why"] == "paused");
    assert_eq!((status(&env, "a"), status(&env, "b")), ("done".into(), "open".into()));
    assert_eq!(of_kind(&journal(&env), "iteration_started").len(), 1);
    env.ralph(&["resume"]).success();
    Ran::end_of(running).success();
    assert_eq!(status(&env, "b"), "done");
}

#[test]
fn skip_leaves_the_task_for_you_and_retry_reopens_it() {
    let env = project(&["a", "b"]);
    let third =
        session(&[gate_step("third", "go"), write("b", "b"), say("<task-done>{id}</task-done>")]);
    let running = start(&env, &[&stays(), &third, &works()], &[]);
    wait_for(&env, "there");
    env.ralph(&["skip", "a"]).success();
    wait_for(&env, "third");
    assert_eq!(status(&env, "a"), "waiting");
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:half.txt"]), "half\n");
    env.ralph(&["retry", "a"]).success();
    wait_until("the reset", PATIENCE, || status(&env, "a") == "open");
    touch(&env, "go");
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(classes(&env), ["skipped", "done", "done"]);
    assert_eq!((status(&env, "a"), status(&env, "b")), ("done".into(), "done".into()));
}

#[test]
fn retry_brings_a_failed_task_back_into_the_run() {
    let env = project(&["a", "b"]);
    let fails = only_says("<task-failed>{id}</task-failed>");
    let running = start(&env, &[&fails, &waits(), &works()], &[]);
    wait_for(&env, "there");
    assert_eq!(status(&env, "a"), "failed");
    env.ralph(&["retry", "a"]).success();
    wait_until("the reset", PATIENCE, || status(&env, "a") == "open");
    touch(&env, "go");
    Ran::end_of(running).success();
    assert_eq!(status(&env, "a"), "done");
}

#[test]
fn a_question_waits_for_the_user_and_the_answer_is_in_the_next_prompt() {
    let env = project(&["a", "b"]);
    let asks = only_says("<question>Which port?</question>");
    let ran = build(&env, &[&asks, &works()], &[]);
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    assert_eq!((status(&env, "a"), status(&env, "b")), ("waiting".into(), "done".into()));
    assert!(
        ran.stderr.contains("Which port?") && ran.stderr.contains("ralph answer q-"),
        "{}",
        ran.stderr
    );
    let id = show(&env, "a")["questions"][0]["id"].as_str().unwrap().to_owned();
    env.ralph(&["answer", &id, "Port 8080."]).success();
    build(&env, &[&works()], &[]).success();
    let prompt = run_file(&env, "iteration-001.task.md");
    assert!(prompt.contains("Which port?") && prompt.contains("Port 8080."), "{prompt}");
    assert_eq!(status(&env, "a"), "done");
}

#[test]
fn inside_a_session_the_plan_is_read_and_nothing_of_it_is_changed() {
    let env = project(&["a"]);
    let tries = sh(
        "for c in 'add X --parent a' 'delete a' 'reset a' 'update a --status done' 'claim a' 'block a --by a' 'agent register'; do \
         ralph task $c > ../notes/out 2>&1; echo \"$c: $?\" >> ../notes/codes; cat ../notes/out >> ../notes/said; done; \
         ralph task list > ../notes/list; ralph build --once > ../notes/nested 2>&1; echo \"build: $?\" >> ../notes/codes; \
         ralph cancel >> ../notes/nested 2>&1; echo \"cancel: $?\" >> ../notes/codes; \
         $RALPH_TASK_SCRIPT show a --json > ../notes/by-script; ralph task add Found --id found",
    );
    let first = session(&[tries, say("<task-done>{id}</task-done>")]);
    let ran = build(&env, &[&first, &works()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("the session added tasks to the plan: found"), "{}", ran.stderr);
    let read = |name: &str| std::fs::read_to_string(env.note(name)).unwrap();
    let codes = read("codes");
    assert!(codes.lines().all(|line| !line.ends_with(": 0")), "{codes}");
    assert!(!read("said").contains("panicked"));
    assert!(read("list").contains("active"), "{}", read("list"));
    assert!(read("by-script").contains("\"id\":\"a\""));
    // What it finds it may add, for later sessions.
    assert_eq!(env.task(&["list", "--all"]).lines().count(), 3, "one task was added");
    assert_eq!(status(&env, "found"), "done");
}

#[test]
fn sockets_are_private_and_their_paths_are_short() {
    let env = project(&["a"]);
    let looks = sh(
        "stat -c '%a %n' \"$RALPH_SOCKET\" \"$(dirname \"$RALPH_SOCKET\")\" > ../notes/session; \
                    env | grep ^RALPH_ > ../notes/env",
    );
    let waiting = session(&[
        looks,
        gate_step("there", "go"),
        write("x", "x"),
        say("<task-done>{id}</task-done>"),
    ]);
    let running = start(&env, &[&waiting], &[]);
    wait_for(&env, "there");
    let state: toml::Table =
        std::fs::read_to_string(env.repo().join(".ralph/state.toml")).unwrap().parse().unwrap();
    let control = PathBuf::from(state["control_socket"].as_str().unwrap());
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(control.parent().unwrap()), 0o700);
    assert!(control.as_os_str().len() < 100);
    let text = std::fs::read_to_string(env.note("session")).unwrap();
    let rows: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    assert_eq!(rows[1].0, "700", "{text}");
    assert!(rows[0].1.len() < 100 && rows[0].1 != control.to_str().unwrap(), "{text}");
    let names = std::fs::read_to_string(env.note("env")).unwrap();
    for name in ["RALPH_AGENT_ID=agent-", "RALPH_TASK_ID=a", "RALPH_SOCKET=", "RALPH_TASK_SCRIPT="]
    {
        assert!(names.contains(name), "{names}");
    }
    assert!(
        !names.contains(control.to_str().unwrap()),
        "a session does not learn of the control socket"
    );
    touch(&env, "go");
    Ran::end_of(running).success();
    assert!(!control.exists(), "the socket is gone with the run");
}

/// A person commits in the same repository.
fn user_commits(env: &TestEnv, file: &str) {
    env.write(file, "mine\n");
    env.git(&["add", file]);
    env.git(&["commit", "-q", "-m", "by hand", "--only", file]);
}

#[test]
fn a_users_commit_during_a_session_is_built_upon() {
    let env = project(&["a"]);
    let running = start(&env, &[&waits()], &[]);
    wait_for(&env, "there");
    user_commits(&env, "person.txt");
    touch(&env, "go");
    Ran::end_of(running).success();
    assert_eq!(subjects(&env), ["build: iteration 1 - a", "by hand", "first"]);
    assert_eq!(env.git(&["show", "--name-only", "--format=", "HEAD"]), "a.txt\n");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_commit_of_the_user_during_the_gates_is_judged_again_on_the_new_tip() {
    let env = project(&["a"]);
    env.write("ralph.toml", "[[gate]]\nname = \"wait\"\ncommand = \"touch ../notes/judging; until test -e ../notes/judge; do sleep 0.02; done; ls > ../notes/judged\"\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "gate"]);
    let running = start(&env, &[&works()], &[]);
    wait_for(&env, "judging");
    user_commits(&env, "person.txt");
    touch(&env, "judge");
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(subjects(&env)[..2], ["build: iteration 1 - a", "by hand"]);
    let evidence = show(&env, "a")["evidence"].clone();
    let tree = env.git(&["rev-parse", "HEAD^{tree}"]);
    let judged = evidence
        .as_array()
        .unwrap()
        .iter()
        .any(|row| row["tree"] == tree.trim() && row["verdict"] == "pass");
    assert!(judged, "what is committed is what was judged: {evidence}");
}

#[test]
fn a_user_who_switches_branches_gets_the_work_in_wip_and_exit_5() {
    let env = project(&["a"]);
    let running = start(&env, &[&waits()], &[]);
    wait_for(&env, "there");
    env.git(&["switch", "-q", "-c", "elsewhere"]);
    touch(&env, "go");
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("git switch main"), "{}", ran.stderr);
    assert_eq!(env.git(&["log", "--format=%s", "elsewhere"]), "first\n");
    assert_eq!(status(&env, "a"), "open");
    assert!(env.ralph(&["recover"]).success().contains('a'));
    assert_eq!(env.git(&["for-each-ref", "refs/ralph/wip"]).lines().count(), 1);
}

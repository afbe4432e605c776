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

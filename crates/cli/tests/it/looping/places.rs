//! What a run does to the worktree and to its own files.

use std::os::unix::fs::PermissionsExt;

use ralph_testkit::Ran;

use super::*;

#[test]
fn what_was_uncommitted_before_the_run_stays_so() {
    let env = project(&["a"]);
    env.write("README.md", "A project.\nMy edit.\n");
    env.write("mine.txt", "untracked\n");
    env.write("staged.txt", "staged\n");
    env.git(&["add", "staged.txt"]);
    let before = env.git(&["status", "--porcelain"]);
    let ran = build(&env, &[&works()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(env.git(&["show", "--name-only", "--format=", "HEAD"]), "a.txt\n");
    assert_eq!(env.git(&["status", "--porcelain"]), before);
    let read = |name: &str| std::fs::read_to_string(env.repo().join(name)).unwrap();
    assert_eq!(
        (read("README.md").as_str(), read("mine.txt").as_str()),
        ("A project.\nMy edit.\n", "untracked\n")
    );
    let start = env.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/start"]);
    assert!(!start.is_empty() && ran.stderr.contains(start.trim()), "{start} {}", ran.stderr);
    assert_eq!(env.git(&["show", &format!("{}:mine.txt", start.trim())]), "untracked\n");
}

#[test]
fn a_dirty_file_that_the_session_changes_is_part_of_its_work() {
    let env = project(&["a"]);
    env.write("README.md", "Mine.\n");
    let edits = session(&[sh("echo more >> README.md"), say("<task-done>{id}</task-done>")]);
    build(&env, &[&edits], &[]).success();
    assert_eq!(env.git(&["show", "HEAD:README.md"]), "Mine.\nmore\n");
}

#[test]
fn a_final_failure_puts_the_files_back_and_recover_restores_them() {
    let env = project(&["a"]);
    env.write("mine.txt", "mine\n");
    let fails = session(&[
        write("README.md", "Broken.\n"),
        write("new/deep.txt", "new\n"),
        say("<task-failed>{id}</task-failed><reason>no</reason>"),
    ]);
    let ran = build(&env, &[&fails], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let read = |name: &str| std::fs::read_to_string(env.repo().join(name)).ok();
    assert_eq!(read("README.md").as_deref(), Some("A project.\n"));
    assert_eq!((read("new/deep.txt"), read("mine.txt").as_deref()), (None, Some("mine\n")));
    assert!(ran.stderr.contains("ralph recover a"), "{}", ran.stderr);
    env.ralph(&["recover", "a"]).success();
    assert_eq!(read("README.md").as_deref(), Some("Broken.\n"));
    assert_eq!(read("new/deep.txt").as_deref(), Some("new\n"));
}

#[test]
fn a_path_that_the_user_edited_meanwhile_stays_after_a_failure() {
    let env = project(&["a"]);
    let fails = session(&[
        write("agent.txt", "agent\n"),
        gate_step("there", "go"),
        say("<task-failed>{id}</task-failed>"),
    ]);
    env.write("person.txt", "before\n");
    let running = start(&env, &[&fails], &[]);
    wait_for(&env, "there");
    env.write("README.md", "edited by a person\n");
    touch(&env, "go");
    Ran::end_of(running).success();
    assert!(!env.repo().join("agent.txt").exists());
    // The loop cannot tell who edited it while a session ran: what it puts back is kept.
    let kept = env.git(&["show", "refs/ralph/wip/a/1:README.md"]);
    let now = std::fs::read_to_string(env.repo().join("README.md")).unwrap();
    assert!(now == "edited by a person\n" || kept == "edited by a person\n", "{now} {kept}");
    assert_eq!(std::fs::read_to_string(env.repo().join("person.txt")).unwrap(), "before\n");
}

#[test]
fn state_and_logs_are_never_a_change_and_only_the_owner_reads_them() {
    let env = project(&["a"]);
    build(&env, &[&works()], &[]).success();
    assert_eq!(env.git(&["status", "--porcelain", "--untracked-files=all"]), "");
    assert_eq!(env.git(&["ls-tree", "-r", "--name-only", "HEAD"]), "README.md\na.txt\n");
    let folder = runs(&env).pop().unwrap();
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.push(folder.with_extension("log"));
    files.push(env.repo().join(".ralph/state.toml"));
    files.push(env.store());
    assert!(files.len() > 5);
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn old_logs_go_and_the_newest_stay() {
    let env = project(&["a", "b", "c", "d"]);
    let keep = ["--once", "--set", "logs.keep_runs=2"];
    for _ in 0..4 {
        build(&env, &[&works()], &keep).success();
    }
    let left = runs(&env);
    // Two from before, and this one.
    assert!((2..=3).contains(&left.len()), "{left:?}");
    assert!(left.iter().all(|folder| folder.with_extension("log").exists()), "{left:?}");
    let logs = std::fs::read_dir(env.repo().join(".ralph/logs")).unwrap().count();
    assert_eq!(logs, left.len() * 2, "no log without its folder");
}

#[test]
fn s4_17_an_interrupted_run_goes_on_with_what_was_left_and_a_number_means_so_many_more() {
    let env = project(&["a", "b"]);
    let idle = only_says("hm");
    let stays = session(&[gate_step("there", "never"), say("x")]);
    let running = start(&env, &[&idle, &stays, &idle, &idle, &idle, &idle, &idle], &["3"]);
    wait_for(&env, "there");
    env.ralph(&["cancel", "--now"]).success();
    assert_eq!(Ran::end_of(running).code, 130);
    let state = |key: &str| {
        let text = std::fs::read_to_string(env.repo().join(".ralph/state.toml")).unwrap();
        text.parse::<toml::Table>().unwrap()[key].clone()
    };
    assert_eq!((state("iteration"), state("active")), (1.into(), false.into()));
    let ran = again(&env, &["2"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let numbers: Vec<i64> = of_kind(&journal(&env), "iteration_started")
        .iter()
        .map(|event| event["iteration"].as_i64().unwrap())
        .collect();
    assert_eq!(numbers, [3, 4], "two more; the one that was cancelled has used its place");
    // A run that ended as runs do is not taken up.
    again(&env, &["1"]).success();
    assert_eq!(of_kind(&journal(&env), "iteration_started")[0]["iteration"], 1);
}

#[test]
fn s4_16_the_state_file_says_where_the_run_stands() {
    let env = project(&["a"]);
    let crash = "{\"do\":\"exit\",\"code\":3}";
    let waits =
        session(&[gate_step("there", "go"), write("x", "x"), say("<task-done>{id}</task-done>")]);
    let running = start(&env, &[crash, &only_says("hm"), &waits], &["5"]);
    wait_for(&env, "there");
    let state = || -> toml::Table {
        std::fs::read_to_string(env.repo().join(".ralph/state.toml")).unwrap().parse().unwrap()
    };
    let during = state();
    let expected = [
        ("active", true.into()),
        ("iteration", 2.into()),
        ("mode", "build".into()),
        ("max_iterations", 5.into()),
        ("error_count", 1.into()),
        ("consecutive_errors", 1.into()),
        ("last_error", "crash: exited with code 3".into()),
        ("last_commit", env.git(&["rev-parse", "HEAD"]).trim().into()),
        // The crash is an error, and not a session that found nothing to do.
        ("idle_iterations", 1.into()),
        ("pid", i64::from(running.id()).into()),
    ];
    for (key, value) in expected {
        assert_eq!(during.get(key), Some(&value), "{key} in {during}");
    }
    for key in ["started_at", "last_iteration_at", "run", "pid_started", "control_socket"] {
        assert!(during.contains_key(key), "{key} in {during}");
    }
    touch(&env, "go");
    Ran::end_of(running).success();
    let after = state();
    assert_eq!(
        (&after["active"], &after["iteration"], &after["finished"]),
        (&false.into(), &3.into(), &true.into())
    );
    assert_eq!(after["last_commit"], env.git(&["rev-parse", "HEAD"]).trim().into());
    assert!(!after.contains_key("control_socket"), "nobody listens any more");
}

#[test]
fn an_interrupted_run_goes_on_with_the_rest_of_its_settings_limit() {
    let env = project(&["a"]);
    let idle = only_says("hm");
    let stays = session(&[gate_step("there", "never"), say("x")]);
    env.write("ralph.toml", "[loop]\nmax_iterations = 3\n");
    let running = start(&env, &[&idle, &stays, &idle, &idle, &idle], &[]);
    wait_for(&env, "there");
    env.ralph(&["cancel", "--now"]).success();
    assert_eq!(Ran::end_of(running).code, 130);
    let ran = again(&env, &[]);
    assert_eq!(of_kind(&journal(&env), "iteration_started").len(), 1, "{}", ran.stderr);
}

#[test]
fn the_agents_own_commits_stay_and_leftovers_are_committed_by_the_loop() {
    let env = project(&["a"]);
    let mixed = session(&[
        write("one.txt", "1\n"),
        "{\"do\":\"commit\",\"message\":\"by the agent\"}".to_owned(),
        write("two.txt", "2\n"),
        say("<task-done>{id}</task-done>"),
    ]);
    build(&env, &[&mixed], &[]).success();
    assert_eq!(subjects(&env), ["build: iteration 1 - a", "by the agent", "first"]);
    let only_agent = session(&[
        write("three.txt", "3\n"),
        "{\"do\":\"commit\",\"message\":\"all by the agent\"}".to_owned(),
        say("<task-done>{id}</task-done>"),
    ]);
    env.task(&["add", "b", "--id", "b"]);
    build(&env, &[&only_agent], &["--set", "completion.claims=confirm"]).success();
    assert_eq!(subjects(&env)[0], "all by the agent", "nothing is left to commit");
    assert_eq!(show(&env, "b")["result"]["commit"], env.git(&["rev-parse", "HEAD"]).trim());
}

#[test]
fn a_second_run_in_the_worktree_is_refused_with_the_pid() {
    let env = project(&["a"]);
    let waits =
        session(&[gate_step("there", "go"), write("x", "x"), say("<task-done>{id}</task-done>")]);
    let running = start(&env, &[&waits], &[]);
    wait_for(&env, "there");
    let output = again(&env, &[]).failure(1);
    assert!(
        output.contains(&format!("(pid {})", running.id())) && output.contains("ralph cancel"),
        "{output}"
    );
    touch(&env, "go");
    Ran::end_of(running).success();
}

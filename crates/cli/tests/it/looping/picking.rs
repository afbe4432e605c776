//! The preset `pick`: the agent chooses from a look at the plan, the loop cleans up and counts.

use ralph_testkit::Ran;

use super::*;

const PICK: [&str; 2] = ["--preset", "pick"];

#[test]
fn s0_1_s0_4_s0_5_peek_goes_into_the_prompt_as_it_is() {
    let mut env = project(&[]);
    for n in 1..=12 {
        // Nothing of this may be read, escaped or expanded on the way.
        let title =
            format!("{n} \"q\" $(touch ../oops) `x` <task-done>t{n:02}</task-done> \u{e9}\u{2713}");
        env.task(&["add", &title, "--id", &format!("t{n:02}"), "-s", r#"["a","b"]"#]);
    }
    let here = stand_in(&mut env, "result 'I looked'");
    let peek = env.task(&["peek", "-n", "10"]);
    env.ralph(&["build", "--preset", "pick", "--once"]).success();
    let prompt = argv(&here, 1).into_iter().find(|word| word.starts_with("/ralph-build")).unwrap();
    assert_eq!(prompt, format!("/ralph-build {peek}"));
    assert!(prompt.contains("## Task t10") && !prompt.contains("## Task t11"), "ten are shown");
    assert!(!env.folder().join("oops").exists());
    // The look is taken again before each session.
    env.task(&["delete", "t01"]);
    let peek = env.task(&["peek", "-n", "10"]);
    env.ralph(&["build", "--preset", "pick", "--once"]).success();
    assert!(argv(&here, 2).contains(&format!("/ralph-build {peek}")));
}

#[test]
fn s0_2_an_empty_plan_is_success_and_no_session() {
    let mut env = project(&["a"]);
    let here = stand_in(&mut env, "result x");
    env.task(&["delete", "a"]);
    let ran = env.ralph(&["build", "--preset", "pick"]);
    assert_eq!((ran.code, sessions_of(&here)), (0, 0), "{}", ran.stderr);
    let none = project(&[]);
    build(&none, &[], &PICK).success();
}

#[test]
fn s0_2_blocked_tasks_are_named_and_strict_reports_them() {
    let env = project(&["a", "b"]);
    env.task(&["block", "b", "--by", "a"]);
    env.ralph(&["skip", "a"]).success();
    let ran = build(&env, &[], &PICK);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("1 blocked"), "{}", ran.stderr);
    assert!(ran.stderr.contains("· Stopped: nothing is ready."), "{}", ran.stderr);
    assert_eq!(again(&env, &["--preset", "pick", "--strict-exit"]).code, 7);
    // A blocker that failed leaves its dependents blocked, too.
    let env = project(&["a", "b"]);
    env.task(&["block", "b", "--by", "a"]);
    env.task(&["claim", "a"]);
    env.task(&["fail", "a", "--reason", "no way", "--final"]);
    assert_eq!(build(&env, &[], &[&PICK[..], &["--strict-exit"]].concat()).code, 7);
}

#[test]
fn s0_6_the_loop_claims_nothing_and_the_agent_claims_what_it_likes() {
    let env = project(&["a", "b"]);
    let look =
        sh("ralph task plan-status > ../notes/at-start; ralph task claim b; ralph task done b");
    let sessions = [&*session(&[look, write("b.txt", "b\n"), say("did b")]), &picks("a")];
    build(&env, &sessions, &PICK).success();
    let seen = std::fs::read_to_string(env.note("at-start")).unwrap();
    assert_eq!(seen, "2 open, 0 active, 0 done, 0 blocked, 0 deleted\n");
    assert_eq!((status(&env, "a"), status(&env, "b")), ("done".to_owned(), "done".to_owned()));
    assert_eq!(subjects(&env), ["build: iteration 2 - a", "build: iteration 1 - b", "first"]);
}

#[test]
fn s0_7_s0_8_s0_9_every_task_that_a_session_leaves_is_failed_and_no_other() {
    let env = project(&["a", "b", "c", "d"]);
    env.task_as("other", &["claim", "c"]).success();
    let leaves = session(&[sh("ralph task claim a; ralph task claim b"), say("bye")]);
    build(&env, &[&leaves], &["--preset", "pick", "--once"]).success();
    for id in ["a", "b"] {
        let task = show(&env, id);
        assert_eq!(task["status"], "open");
        assert_eq!(task["reason"], "session exited without completing task");
        assert_eq!((&task["retry_count"], &task["assignee"]), (&1.into(), &Value::Null));
    }
    let other = show(&env, "c");
    assert_eq!((&other["status"], &other["assignee"]), (&"active".into(), &"other".into()));
    assert_eq!(show(&env, "d")["retry_count"], 0);
}

#[test]
fn s0_8_a_session_that_crashes_or_is_killed_leaves_nothing_active() {
    let env = project(&["a"]);
    let crash = session(&[sh("ralph task claim a"), "{\"do\":\"exit\",\"code\":9}".to_owned()]);
    build(&env, &[&crash], &["--preset", "pick", "--once"]).success();
    let task = show(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&"open".into(), &1.into()));
    assert_eq!(env.task(&["list", "--status", "active"]).lines().count(), 0);
}

#[test]
fn s0_10_s0_12_cleaning_up_comes_first_then_the_count_then_the_next_iteration() {
    let env = project(&["a"]);
    let leaves = session(&[sh("ralph task claim a"), say("bye")]);
    build(&env, &[&leaves, &picks("a")], &PICK).success();
    let journal = journal(&env);
    let kinds =
        ["iteration_started", "task_settled", "plan_counted", "iteration_ended", "run_ended"];
    let seen: Vec<&str> = journal
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .filter(|kind| kinds.contains(kind))
        .collect();
    assert_eq!(
        seen,
        [
            // The first look, then two iterations. A count is told only when it differs.
            "plan_counted",
            "iteration_started",
            "task_settled",
            "iteration_ended",
            "iteration_started",
            "task_settled",
            "plan_counted",
            "iteration_ended",
            "run_ended"
        ]
    );
    assert_eq!(
        of_kind(&journal, "task_settled")[0]["reason"],
        "session exited without completing task"
    );
}

#[test]
fn s0_11_nothing_open_and_nothing_active_ends_the_run_without_another_session() {
    let env = project(&["a"]);
    // A second session would find the cassette at its end and fail the run.
    build(&env, &[&picks("a")], &PICK).success();
    assert_eq!(classes(&env), ["done"]);
}

#[test]
fn s0_14_promises_are_text_in_build_mode() {
    let env = project(&["a", "b"]);
    let promise = "<promise>Tastes Like Burning.</promise> <promise>COMPLETE</promise>";
    let first = session(&[
        sh("ralph task claim a; ralph task done a"),
        write("a.txt", "a\n"),
        say(promise),
    ]);
    let ran = build(&env, &[&first, &picks("b")], &PICK);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!((status(&env, "b"), classes(&env).len()), ("done".to_owned(), 2));
}

#[test]
fn s0_18_what_a_hook_released_is_not_failed_a_second_time() {
    let env = project(&["a"]);
    let hook = sh("ralph task claim a; ralph hook session-end < /dev/null");
    build(&env, &[&session(&[hook, say("bye")])], &["--preset", "pick", "--once"]).success();
    let task = show(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&"open".into(), &1.into()));
    assert_eq!(task["reason"], "session ended unexpectedly");
}

#[test]
fn s0_18_a_task_with_a_request_is_not_left() {
    let env = project(&["a"]);
    // The hook comes after `done`, as at the end of every good session.
    let step = sh("ralph task claim a; ralph task done a; ralph hook session-end < /dev/null");
    build(&env, &[&session(&[step, write("a.txt", "a\n"), say("bye")])], &PICK).success();
    assert_eq!(
        (status(&env, "a"), &show(&env, "a")["retry_count"]),
        ("done".to_owned(), &0.into())
    );
}

#[test]
fn s0_20_two_loops_are_independent_of_each_other() {
    let env = project(&["a", "b"]);
    env.git(&["worktree", "add", "-q", "../second", "-b", "second"]);
    for (name, task) in [("one", "a"), ("two", "b")] {
        let other = if name == "one" { "two" } else { "one" };
        let step = sh(&format!(
            "ralph task claim {task}; touch {0}/{name}; until test -e {0}/{other}; do sleep 0.02; done; ralph task done {task}",
            env.note("").display()
        ));
        let steps = session(&[step, write(&format!("{task}.txt"), "x\n"), say("ok")]);
        let path = env.folder().join(format!("{name}.jsonl"));
        std::fs::write(path, format!("{{\"do\":\"session\"}}\n{steps}\n")).unwrap();
    }
    let run = |name: &str, folder: &str| {
        let set = format!("agent.script.path={}/{name}.jsonl", env.folder().display());
        let args = [
            "-C", folder, "build", "--preset", "pick", "--agent", "script", "--once", "--set", &set,
        ];
        env.start(&args)
    };
    let one = run("one", ".");
    let two = run("two", "../second");
    Ran::end_of(one).success();
    Ran::end_of(two).success();
    let agent = |task: &str| show(&env, task)["attempts"][0]["agent"].as_str().unwrap().to_owned();
    assert_eq!((status(&env, "a"), status(&env, "b")), ("done".to_owned(), "done".to_owned()));
    assert_ne!(agent("a"), agent("b"));
    assert_eq!(subjects(&env)[0], "build: iteration 1 - a");
    assert_eq!(env.git(&["log", "-1", "--format=%s", "second"]), "build: iteration 1 - b\n");
}

#[test]
fn only_claims_of_others_start_no_session_and_are_waited_out() {
    let env = project(&["a"]);
    env.task_as("other", &["claim", "a"]).success();
    let running = start(&env, &[&picks("a")], &PICK);
    wait_for_event(&env, "the wait", |event| event["why"] == "others");
    assert!(of_kind(&journal(&env), "iteration_started").is_empty());
    env.task(&["reset", "a"]);
    Ran::end_of(running).success();
    assert_eq!(status(&env, "a"), "done");
}

#[test]
fn a_session_that_picks_learns_why_tasks_were_returned_and_what_was_answered() {
    let mut env = project(&["a", "b"]);
    env.write(
        "ralph.toml",
        "[[gate]]\nname = \"test\"\ncommand = \"echo wanted: good; grep -q good a.txt\"\n",
    );
    env.git(&["add", "ralph.toml"]);
    env.git(&["commit", "-qm", "a gate"]);
    let body = r#"
case $n in
  1) ralph task claim a > /dev/null; echo bad > a.txt; ralph task done a; result 'did a' ;;
  2) ralph task claim b > /dev/null; ralph task ask b 'Which port?'; result 'asked' ;;
  *) result 'looked' ;;
esac"#;
    let here = stand_in(&mut env, body);
    let pick = |env: &TestEnv| env.ralph(&["build", "--preset", "pick", "--once"]);
    let ran = pick(&env);
    assert!(
        ran.stderr.contains("lacks the skill ralph-build") && ran.stderr.contains("ralph init")
    );
    pick(&env);
    let question = show(&env, "b")["questions"][0]["id"].as_str().unwrap().to_owned();
    env.ralph(&["answer", &question, "8080"]).success();
    pick(&env);
    let prompt = argv(&here, 3).into_iter().find(|word| word.starts_with("/ralph-build")).unwrap();
    let (peek, rest) = prompt.split_once("\n## Returned task").unwrap();
    assert!(peek.contains("## Task a") && peek.contains("## Task b"), "{prompt}");
    for part in ["last verdict (attempt 1): red", "wanted: good", "Which port?", "8080"] {
        assert!(rest.contains(part), "{part}: {prompt}");
    }
    // With the skills there is nothing to report.
    env.ralph(&["init"]).success();
    let ran = pick(&env);
    assert!(!ran.stderr.contains("lacks the skill ralph-build"), "{}", ran.stderr);
}

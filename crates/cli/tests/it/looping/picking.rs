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

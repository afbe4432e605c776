//! Progress files: one task a session, asked for by a tick or a printed file, written by the loop.

use super::*;

#[test]
fn s2_1_s2_16_s2_17_a_progress_file_is_worked_off_and_each_step_committed() {
    let env = with_progress();
    let first = prints("one.txt", &["Write one"]);
    let second = prints("two.txt", &["Write one", "Write two"]);
    let third = prints("three.txt", &["Write one", "Write two", "Write three"]);
    let text = output_of(build(&env, &[&first, &second, &third], &["progress.md"]), 0);
    has(&text, "3 of 3 done");
    assert_eq!((stop(&env), classes(&env)), ("complete".into(), vec!["done".to_owned(); 3]));
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write one", "Write two", "Write three"]);
    assert_eq!(
        subjects(&env),
        [
            "build: iteration 3 - Write three",
            "build: iteration 2 - Write two",
            "build: iteration 1 - Write one",
            "progress.md",
            "first"
        ]
    );
    assert_eq!(env.git(&["status", "--porcelain"]), "", "ticks and rows are committed too");
    let names = env.git(&["show", "--format=", "--name-only", "HEAD~1"]);
    assert_eq!(names, "progress.md\ntwo.txt\n");
    assert!(tasks(&env).iter().all(|(_, status)| status == "done"), "{:?}", tasks(&env));
    // What nobody has to change is as it was.
    let text = read(&env, "progress.md");
    for part in ["## Analysis\nThree words are missing.\n", "## Testing Strategy\nBy hand.\n"] {
        has(&text, part);
    }
}

#[test]
fn s2_16_the_file_does_not_change_while_a_session_runs() {
    let env = with_progress();
    let waits = session(&[
        write("one.txt", "x"),
        gate_step("there", "go"),
        say(&ticked(PROGRESS, &["Write one"])),
    ]);
    let running = start(&env, &[&waits], &["--once"]);
    wait_for(&env, "there");
    assert_eq!(read(&env, "progress.md"), PROGRESS);
    touch(&env, "go");
    Ran::end_of(running).success();
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write one"]);
}

#[test]
fn s2_2_s2_3_s2_4_each_stop_reason_has_its_name() {
    let all = || prints("x.txt", &["Write one", "Write two", "Write three"]);
    let env = with_progress();
    output_of(build(&env, &[&all()], &[]), 0);
    assert_eq!(stop(&env), "complete");

    let env = with_progress();
    let marker = PROGRESS.replace("In Progress", "RALPH_DONE");
    let text = output_of(build(&env, &[&session(&[write("x", "x"), say(&marker)])], &[]), 0);
    assert_eq!((stop(&env), sessions(&env)), ("marker".into(), 1));
    has(&text, "RALPH_DONE");

    let env = with_progress();
    output_of(build(&env, &[&only_says("hm")], &["1"]), 0);
    assert_eq!(stop(&env), "limit");

    let env = with_progress();
    let running = start(&env, &[&session(&[gate_step("there", "never")])], &[]);
    wait_for(&env, "there");
    env.ralph(&["cancel", "--now"]).success();
    assert_eq!(Ran::end_of(running).code, 130);
    assert_eq!(stop(&env), "cancelled");

    let env = with_progress();
    env.write("progress.md", b"# Progress: x\n\n## Tasks\n- [ ] a\n\xff\xfe\n");
    has(&build(&env, &[], &[]).failure(1), "Build failed: ");
}

#[test]
fn s2_5_s2_28_an_interrupted_session_keeps_its_work_and_its_tick_is_no_done() {
    let env = with_progress();
    let cut = session(&[
        write("one.txt", "half\n"),
        tick("progress.md", "Write one"),
        gate_step("there", "never"),
    ]);
    let running = start(&env, &[&cut], &[]);
    wait_for(&env, "there");
    env.ralph(&["cancel", "--now"]).success();
    let ran = Ran::end_of(running);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert_eq!(ticks(&read(&env, "progress.md")), [""; 0], "nobody has judged it");
    assert!(env.ralph(&["recover"]).success().contains("t-"), "the work is kept");
    assert_eq!(read(&env, "one.txt"), "half\n");
    assert!(tasks(&env).iter().all(|(_, status)| status == "open"), "{:?}", tasks(&env));
    // The next run goes on with it.
    output_of(build(&env, &[&prints("one.txt", &["Write one"])], &["--once"]), 0);
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write one"]);
}

#[test]
fn s2_7_s2_29_what_the_user_writes_between_sessions_is_what_the_next_one_gets() {
    let mut env = with_progress();
    let body = r#"if [ $n = 1 ]; then echo 1 > one.txt; sed -i 's/- \[ \] Write one/- [x] Write one/; s/^- \[ \] Write two/- [ ] Write zero\n- [ ] Write two/' progress.md; fi
        result "ok""#;
    let here = stand_in(&mut env, body);
    output_of(env.ralph(&["build", "2", "--agent", "claude"]), 0);
    assert_eq!(sessions_of(&here), 2);
    let second = run_file(&env, "iteration-002.task.md");
    has(&second, "- [x] Write one");
    has(&second, "- [ ] Write zero");
    let journal = journal(&env);
    let started: Vec<&str> = of_kind(&journal, "iteration_started")
        .iter()
        .map(|event| event["task"]["title"].as_str().unwrap())
        .collect();
    assert_eq!(started, ["Write one", "Write zero"]);
}

#[test]
fn s2_8_what_is_finished_starts_no_session() {
    let env =
        with_plan("progress.md", &ticked(PROGRESS, &["Write one", "Write two", "Write three"]));
    output_of(build(&env, &[], &[]), 0);
    assert_eq!((stop(&env), sessions(&env)), ("complete".into(), 0));

    let env = with_plan("progress.md", &PROGRESS.replace("In Progress", "RALPH_DONE"));
    output_of(build(&env, &[], &[]), 0);
    assert_eq!((stop(&env), sessions(&env)), ("marker".into(), 0));

    // Nothing of nothing is not everything.
    let empty = PROGRESS.lines().filter(|line| !line.starts_with("- [")).collect::<Vec<_>>();
    let env = with_plan("progress.md", &empty.join("\n"));
    let ran = build(&env, &[], &[]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    has(&ran.stderr, "progress.md has no checkbox");
    assert_eq!(runs(&env).len(), 0);
}

#[test]
fn s2_9_s2_11_s2_12_the_agent_gets_rules_and_progress_in_the_folder_of_the_file() {
    for (name, folder) in [("progress.md", ""), ("docs/work/todo.md", "docs/work")] {
        let mut env = with_plan(name, PROGRESS);
        let here = stand_in(&mut env, "pwd > $here/pwd; result hm");
        output_of(env.ralph(&["build", "--once", "--agent", "claude", name]), 0);
        let argv = argv(&here, 1);
        let words = argv.join(" ");
        for word in ["--print", "--verbose", "--output-format stream-json", "--system-prompt"] {
            has(&words, word);
        }
        has_not(&words, "--internet");
        let system = argv.iter().position(|word| word == "--system-prompt").unwrap() + 1;
        has(&argv[system], "You are one session of a loop");
        let user = argv.iter().find_map(|word| word.strip_prefix('@')).unwrap();
        let user = std::fs::read_to_string(user).unwrap();
        has(&user, "Current Progress");
        has(&user, "- [ ] Write one\n- [ ] Write two\n");
        has(&user, "## Testing Strategy\nBy hand.");
        has(&user, "next incomplete task");
        let pwd = std::fs::read_to_string(here.join("pwd")).unwrap();
        let wanted = std::fs::canonicalize(env.repo().join(folder)).unwrap();
        assert_eq!(pwd.trim_end(), wanted.to_str().unwrap(), "{name}");
    }
}

#[test]
fn s2_26_the_built_in_prompt_asks_for_what_the_loop_reads() {
    let mut env = with_progress();
    let here = stand_in(&mut env, "result hm");
    output_of(env.ralph(&["build", "--once", "--agent", "claude"]), 0);
    let argv = argv(&here, 1);
    let at = argv.iter().position(|word| word == "--system-prompt").unwrap() + 1;
    let system = argv[at].split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "first task that is not checked",
        "only that one",
        "Run the project's tests before you check anything",
        "Completed This Iteration",
        "`RALPH_DONE` alone on the first line of the Status section",
        "every task of every phase is checked",
        "complete updated progress file",
        "`# Progress:`",
        "Recent Attempts",
        "do not repeat an approach that failed there",
        "When in doubt, leave `In Progress` there",
    ] {
        has(&system, part);
    }
}

#[test]
fn s2_25_a_prompt_of_ones_own_goes_before_the_built_in_one() {
    let mut env = with_progress();
    let here = stand_in(&mut env, "result hm");
    env.write("mine.md", "DO AS I SAY for {{ plan_file }}\n");
    output_of(env.ralph(&["build", "--once", "--agent", "claude", "--prompt", "mine.md"]), 0);
    let argv = argv(&here, 1);
    let at = argv.iter().position(|word| word == "--system-prompt").unwrap() + 1;
    has(&argv[at], "DO AS I SAY for progress.md");
    has_not(&argv[at], "# Build agent");
    let missing = env.ralph(&["build", "--agent", "claude", "--prompt", "not-there.md"]).failure(1);
    has(&missing, "not-there.md");
}

#[test]
fn s2_18_the_mark_counts_only_alone_on_a_line_of_status() {
    let elsewhere = [
        say("RALPH_DONE"),
        say(&PROGRESS.replace("By hand.", "RALPH_DONE")),
        say(&PROGRESS.replace("In Progress", "Not RALPH_DONE, in progress")),
        say(&PROGRESS
            .replace("## Completed This Iteration\n", "## Completed This Iteration\nRALPH_DONE\n")),
        session(&[write("RALPH_DONE", "RALPH_DONE\n"), say("ok")]),
    ];
    for words in elsewhere {
        let env = with_progress();
        let text = output_of(build(&env, &[&words], &["--once"]), 0);
        assert_eq!(stop(&env), "limit", "{words}\n{text}");
        assert_eq!(ticks(&read(&env, "progress.md")), [""; 0], "{words}");
    }
}

#[test]
fn s2_18_the_mark_may_be_written_into_the_file_or_printed() {
    let writes = sh("sed -i 's/^In Progress$/RALPH_DONE/' progress.md");
    let marked = PROGRESS.replace("In Progress", "RALPH_DONE");
    for steps in [vec![writes, say("all done")], vec![say(&marked)]] {
        let env = with_progress();
        let text = output_of(build(&env, &[&session(&steps)], &[]), 0);
        assert_eq!((stop(&env), sessions(&env)), ("marker".into(), 1), "{text}");
        has(&read(&env, "progress.md"), "## Status\nRALPH_DONE\n");
        // It is not taken for a plan whose tasks are done.
        assert!(tasks(&env).iter().all(|(_, status)| status == "open"), "{:?}", tasks(&env));
    }
}

#[test]
fn s2_18_red_gates_take_the_mark_back() {
    let env = with_progress();
    gate(&env, "exit 1");
    let marked = ticked(PROGRESS, &["Write one"]).replace("In Progress", "RALPH_DONE");
    let text =
        output_of(build(&env, &[&session(&[write("x", "x"), say(&marked)])], &["--once"]), 0);
    assert_eq!(stop(&env), "limit", "{text}");
    let file = read(&env, "progress.md");
    has(&file, "## Status\nIn Progress\n");
    assert_eq!(ticks(&file), [""; 0]);

    let env = with_progress();
    gate(&env, "exit 1");
    let writes = sh("sed -i 's/^In Progress$/RALPH_DONE/' progress.md");
    let text = output_of(
        build(&env, &[&session(&[write("x", "x"), writes, say("done")])], &["--once"]),
        0,
    );
    has(&text, "ralph reverted RALPH_DONE");
    assert_eq!(stop(&env), "limit");
    has(&read(&env, "progress.md"), "## Status\nIn Progress\n");
}

#[test]
fn s2_18_where_claims_are_confirmed_the_mark_ends_nothing_while_tasks_are_open() {
    let env = with_progress();
    let marked = |tasks: &[&str]| ticked(PROGRESS, tasks).replace("In Progress", "RALPH_DONE");
    let first = session(&[write("one", "x"), say(&marked(&["Write one"]))]);
    let rest =
        session(&[write("two", "x"), say(&marked(&["Write one", "Write two", "Write three"]))]);
    let confirm = ["--set", "completion.claims=confirm"];
    output_of(build(&env, &[&first, &rest], &confirm), 0);
    assert_eq!((stop(&env), sessions(&env)), ("complete".into(), 2));
}

#[test]
fn s2_19_attempts_are_kept_and_the_oldest_dropped() {
    let env = with_progress();
    let attempt = |n: usize| {
        let note = format!(
            "## Recent Attempts\n### Iteration {n}\n- Tried: way {n}\n- Result: no {n}\n- Next: way {}\n",
            n + 1
        );
        say(&PROGRESS.replace("## Recent Attempts\n", &note))
    };
    let played: Vec<String> = (1..=7).map(attempt).collect();
    let played: Vec<&str> = played.iter().map(String::as_str).collect();
    output_of(build(&env, &played, &["7", "--max-retries", "unlimited"]), 0);
    let file = read(&env, "progress.md");
    let kept: Vec<&str> = file.lines().filter(|line| line.starts_with("### Iteration")).collect();
    assert_eq!(kept.len(), 5, "{file}");
    assert_eq!((kept[0], kept[4]), ("### Iteration 3", "### Iteration 7"), "{file}");
    for n in 3..=7 {
        has(&file, &format!("Tried: way {n}"));
        has(&file, &format!("Next: way {}", n + 1));
    }
    has_not(&file, "way 2\n");
    // Another number is a setting.
    let env = with_progress();
    output_of(
        build(
            &env,
            &played[..4],
            &["4", "--set", "loop.recent_threads=2", "--max-retries", "unlimited"],
        ),
        0,
    );
    let file = read(&env, "progress.md");
    let kept: Vec<&str> = file.lines().filter(|line| line.starts_with("### Iteration")).collect();
    assert_eq!(kept, ["### Iteration 3", "### Iteration 4"]);
}

#[test]
fn s2_20_each_iteration_has_its_row_in_the_log() {
    let env = with_progress();
    let none = only_says("I looked around.");
    output_of(build(&env, &[&prints("one", &["Write one"]), &none], &["2"]), 0);
    let file = read(&env, "progress.md");
    let table = file.split("## Iteration Log\n").nth(1).unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(2)
        .map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 2, "{file}");
    assert_eq!((rows[0][0], rows[0][3], rows[0][4]), ("1", "1", "1 task(s) completed"));
    assert_eq!((rows[1][0], rows[1][3], rows[1][4]), ("2", "0", "No tasks completed"));
    for row in &rows {
        let [date, time] = row[1].split(' ').collect::<Vec<_>>()[..] else { panic!("{row:?}") };
        assert_eq!((date.len(), time.len(), time.as_bytes()[2]), (10, 5, b':'), "{row:?}");
        assert!(row[2].ends_with('s'), "{row:?}");
    }
    has(&file, "## Completed This Iteration\n");
}

#[test]
fn s2_20_the_duration_is_the_one_of_the_iteration() {
    let env = with_progress();
    let slow = session(&["{\"do\":\"sleep\",\"ms\":2100}".to_owned(), say("hm")]);
    output_of(build(&env, &[&slow], &["--once"]), 0);
    let file = read(&env, "progress.md");
    let row = file.lines().rfind(|line| line.starts_with("| 1 |")).unwrap();
    let took = row.split('|').nth(3).unwrap().trim();
    assert!(took == "2s" || took == "3s" || took == "4s", "{row}");
}

#[test]
fn s2_21_s2_22_s2_23_s3_3_limits_hold_however_they_are_given() {
    for arguments in [
        &["2"][..],
        &["2", "progress.md"],
        &["progress.md", "2"],
        &["--max-iterations", "2"],
        &["progress.md", "--set", "loop.max_iterations=2"],
    ] {
        let env = with_progress();
        let idle = only_says("hm");
        let text = output_of(build(&env, &[&idle, &idle, &idle], arguments), 0);
        has(&text, "Stopped: max iterations (2) reached. Tasks remaining: 3");
        assert_eq!(sessions(&env), 2, "{arguments:?}");
    }
    let env = with_progress();
    let text = output_of(build(&env, &[&prints("one", &["Write one"])], &["--once"]), 0);
    has(&text, "max iterations (1) reached. Tasks remaining: 2");
    assert_eq!((stop(&env), sessions(&env)), ("limit".into(), 1));
}

#[test]
fn s2_24_the_dry_run_of_a_progress_file_is_that_of_the_seed() {
    let env = with_plan("progress.md", &ticked(PROGRESS, &["Write one"]));
    gate(&env, "make test");
    let before = env.git(&["status", "--porcelain", "--ignored"]);
    cassette(&env, &[]);
    let ran = again(&env, &["progress.md", "--dry-run", "--once"]);
    let text = ran.success();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..13],
        [
            "=== DRY RUN MODE ===",
            "",
            "Progress file: progress.md",
            "Max iterations: 1",
            "Once mode: true",
            "",
            "Current status: In Progress",
            "Tasks: 1/3 complete",
            "",
            "Next task to execute:",
            "  Phase: Phase 1: Words",
            "  Task: Write two",
            "",
        ]
    );
    assert_eq!(lines[13], "Would use prompt: default (embedded)");
    has(&text, "\nGates: check: make test\n");
    assert_eq!(lines.last(), Some(&"=== END DRY RUN ==="));
    assert_eq!(env.git(&["status", "--porcelain", "--ignored"]), before);
    assert!(!env.repo().join(".ralph").exists(), "nothing is written");

    let done = ticked(PROGRESS, &["Write one", "Write two", "Write three"]);
    let env = with_plan("progress.md", &done);
    cassette(&env, &[]);
    let text = again(&env, &["--dry-run"]).success();
    has(&text, "Max iterations: 20\nOnce mode: false\n");
    has(&text, "Tasks: 3/3 complete\n\nNo pending tasks found.\n");
}

#[test]
fn s2_29_a_printed_file_is_found_among_other_words() {
    for around in [
        "Here it is:\n\n```markdown\n{}\n```\n\nThat is all.",
        "First I looked.\n\n{}",
        "````\n{}\n````",
    ] {
        let env = with_progress();
        let text = around.replace("{}", &ticked(PROGRESS, &["Write one"]));
        output_of(build(&env, &[&session(&[write("one", "x"), say(&text)])], &["--once"]), 0);
        assert_eq!(ticks(&read(&env, "progress.md")), ["Write one"], "{around}");
    }
}

#[test]
fn s2_29_a_printed_file_asks_and_replaces_nothing() {
    let env = with_progress();
    let mut printed = ticked(PROGRESS, &["Write one"]).replace("Three words are missing.", "Lost.");
    printed = printed.replace("- [ ] Write three\n", "- [ ] Write four\n");
    let text =
        output_of(build(&env, &[&session(&[write("one", "x"), say(&printed)])], &["--once"]), 0);
    has(&text, "Write three");
    let file = read(&env, "progress.md");
    has(&file, "Three words are missing.");
    has(&file, "- [ ] Write three\n");
    has_not(&file, "Write four");
    assert_eq!(ticks(&file), ["Write one"]);
}

#[test]
fn s2_17_red_gates_revert_a_tick_and_the_next_session_learns_why() {
    let mut env = with_progress();
    gate(&env, "test -e good.txt || { echo 'FAILED: good.txt is missing'; exit 3; }");
    let body = r#"sed -i 's/- \[ \] Write one/- [x] Write one/' progress.md
        [ $n = 2 ] && echo x > good.txt; echo $n > work.txt; result ok"#;
    let here = stand_in(&mut env, body);
    let text = output_of(env.ralph(&["build", "2", "--agent", "claude"]), 0);
    has(&text, "ralph reverted the tick of \"Write one\"");
    assert_eq!(classes(&env), ["red", "done"]);
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write one"]);
    assert_eq!(sessions_of(&here), 2);
    let prompt = run_file(&env, "iteration-002.task.md");
    has(&prompt, "FAILED: good.txt is missing");
    has(&prompt, "- [ ] Write one");
    assert_eq!(subjects(&env)[0], "build: iteration 2 - Write one");
    assert_eq!(subjects(&env)[1], "ralph.toml", "what is red is not committed");
}

#[test]
fn a_task_whose_retries_are_used_up_is_failed_and_the_run_goes_on() {
    let env = with_progress();
    gate(&env, "! test -e bad.txt");
    let bad = session(&[write("bad.txt", "x"), say(&ticked(PROGRESS, &["Write one"]))]);
    let good = session(&[write("two.txt", "x"), say(&ticked(PROGRESS, &["Write two"]))]);
    let text = output_of(build(&env, &[&bad, &bad, &good], &["3", "--max-retries", "1"]), 0);
    assert_eq!(classes(&env), ["red", "red", "done"], "{text}");
    let listed = tasks(&env);
    assert!(listed.contains(&("Write one".into(), "failed".into())), "{listed:?}");
    assert!(listed.contains(&("Write two".into(), "done".into())), "{listed:?}");
    assert!(!env.repo().join("bad.txt").exists(), "its work is put back");
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write two"]);
}

#[test]
fn s2_14_s2_15_a_session_that_takes_too_long_costs_a_retry() {
    let mut env = with_progress();
    let body = r#"trap 'echo term >> $here/signals; exit 0' TERM; init; sleep 300 & wait"#;
    let here = stand_in(&mut env, body);
    output_of(env.ralph(&["build", "--once", "--agent", "claude", "--timeout", "1s"]), 0);
    assert_eq!(classes(&env), ["timeout"]);
    assert_eq!(std::fs::read_to_string(here.join("signals")).unwrap(), "term\n");
    let file = read(&env, "progress.md");
    has(&file, "timeout");
    has(&file, "No tasks completed");
}

#[test]
fn a_tick_with_nothing_else_changed_is_by_the_rule_for_claims() {
    for (rule, class, done) in [("trust", "done", 1), ("confirm", "unchanged", 0)] {
        for step in [tick("progress.md", "Write one"), String::new()] {
            let env = with_progress();
            let steps = match step.as_str() {
                "" => say(&ticked(PROGRESS, &["Write one"])),
                step => session(&[step.to_owned(), say("done")]),
            };
            let set = format!("completion.claims={rule}");
            let text = output_of(build(&env, &[&steps], &["--once", "--set", &set]), 0);
            assert_eq!(classes(&env), [class], "{rule} {steps}\n{text}");
            assert_eq!(ticks(&read(&env, "progress.md")).len(), done, "{rule}\n{text}");
        }
    }
}

#[test]
fn an_agent_that_ticks_another_task_than_its_own_asks_for_that_one() {
    let env = with_progress();
    let steps = session(&[write("three", "x"), tick("progress.md", "Write three"), say("done")]);
    let text = output_of(build(&env, &[&steps], &["--once"]), 0);
    let listed = tasks(&env);
    assert!(listed.contains(&("Write one".into(), "open".into())), "{listed:?}\n{text}");
    assert!(listed.contains(&("Write three".into(), "done".into())), "{listed:?}\n{text}");
    assert_eq!(ticks(&read(&env, "progress.md")), ["Write three"]);
    assert_eq!(subjects(&env)[0], "build: iteration 1 - Write three");
}

#[test]
fn s2_6_a_file_that_breaks_on_the_way_ends_the_command_with_its_line() {
    let mut env = with_progress();
    env.hurry();
    let breaks = session(&[sh("printf 'x\\n\\377\\n' > progress.md"), say("ok")]);
    let ran = build(&env, &[&breaks, &breaks], &["2"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    has(&ran.stderr, "progress.md");
    has_not(&ran.stderr, "panicked");
}

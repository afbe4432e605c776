//! Checklists: the agent picks, the iteration as a whole is judged, tried again and committed.

use super::*;

const PLAN: &str = "implementation_plan.md";
const COMPLETE: &str = "<promise>COMPLETE</promise>";

/// A session that changes a file and says that the plan is complete.
fn completes(file: &str) -> String {
    session(&[write(file, "work\n"), say(&format!("All is done. {COMPLETE}"))])
}

/// The iteration and the retry of each session.
fn numbers(env: &TestEnv) -> Vec<(u64, u64)> {
    let journal = journal(env);
    let number = |event: &&Value, key: &str| event[key].as_u64().unwrap_or(0);
    let started = of_kind(&journal, "iteration_started");
    started.iter().map(|event| (number(event, "iteration"), number(event, "retry"))).collect()
}

/// A session that changes a file and asks for nothing.
fn changes(number: u32) -> String {
    session(&[write(&format!("f{number}"), "x"), say("ok")])
}

#[test]
fn s3_5_s3_11_a_checklist_is_worked_off_and_every_iteration_committed() {
    let env = with_checklist();
    let text = output_of(
        build(&env, &[&checks("one.txt", "Write one"), &checks("two.txt", "Write two")], &[]),
        0,
    );
    has(&text, "2 of 2 done");
    assert_eq!((stop(&env), sessions(&env)), ("complete".into(), 2));
    assert_eq!(
        subjects(&env)[..2],
        ["build: iteration 2 - Write two", "build: iteration 1 - Write one"]
    );
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "implementation_plan.md\ntwo.txt\n");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert!(tasks(&env).iter().all(|(_, status)| status == "done"), "{:?}", tasks(&env));
    // What was done in which order.
    let journal = journal(&env);
    let kinds: Vec<&str> = journal.iter().filter_map(|event| event["kind"].as_str()).collect();
    let at = |kind: &str| kinds.iter().position(|known| *known == kind).unwrap();
    let order = [
        "iteration_started",
        "session_started",
        "session_ended",
        "candidate_made",
        "settling",
        "committed",
        "iteration_ended",
    ];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{kinds:?}");
}

#[test]
fn s3_9_the_promise_ends_the_run_after_its_iteration() {
    let env = with_checklist();
    gate(&env, "echo looked >> ../notes/gate.txt");
    let text = output_of(build(&env, &[&completes("one.txt")], &[]), 0);
    assert_eq!((stop(&env), sessions(&env)), ("marker".into(), 1), "{text}");
    assert_eq!(subjects(&env)[0], "build: iteration 1 - no task ticked");
    assert_eq!(
        std::fs::read_to_string(env.note("gate.txt")).unwrap(),
        "looked
"
    );
    let log = log(&env);
    has(&log, "Status: success");
    has(&log, "Exit Code: 0\n");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn s3_9_the_promise_counts_only_as_the_agents_own_last_word() {
    let quoted = [
        session(&[write("x", "x"), sh(&format!("echo '{COMPLETE}'")), say("Not yet.")]),
        session(&[write("x", COMPLETE), say("Not yet.")]),
        session(&[write("x", "x"), say("<promise>complete</promise>")]),
        session(&[write("x", "x"), say("COMPLETE")]),
    ];
    for words in quoted {
        let env = with_checklist();
        output_of(build(&env, &[&words], &["1"]), 0);
        assert_eq!(stop(&env), "limit", "{words}");
    }
}

#[test]
fn s3_19_the_promise_wins_over_nothing_changed() {
    let env = with_checklist();
    let text = output_of(build(&env, &[&only_says(COMPLETE)], &[]), 0);
    assert_eq!((stop(&env), sessions(&env)), ("marker".into(), 1), "{text}");
    assert_eq!(subjects(&env).len(), 2, "there was nothing to commit");
    has(&log(&env), "Status: success");
}

#[test]
fn s3_19_where_claims_are_confirmed_the_promise_needs_the_plan() {
    let env = with_checklist();
    let confirm = ["2", "--set", "completion.claims=confirm"];
    output_of(build(&env, &[&completes("a"), &completes("b")], &confirm), 0);
    assert_eq!((stop(&env), sessions(&env)), ("limit".into(), 2));
    let last = session(&[
        write("c", "x"),
        tick(PLAN, "Write one"),
        tick(PLAN, "Write two"),
        say(COMPLETE),
    ]);
    output_of(build(&env, &[&last], &confirm), 0);
    assert_eq!(stop(&env), "complete");
}

#[test]
fn s3_19_work_that_the_agent_committed_itself_is_a_change() {
    let env = with_checklist();
    let commits = session(&[
        write("one.txt", "x"),
        sh("git add -A && git commit -qm mine"),
        say("Committed."),
    ]);
    output_of(build(&env, &[&commits], &["1"]), 0);
    assert_eq!(classes(&env), ["done"]);
    assert_eq!(subjects(&env)[0], "mine");
    has_not(&log(&env), "No changes detected");
}

#[test]
fn s3_17_an_iteration_without_a_change_is_a_failure_and_tried_again() {
    let env = with_checklist();
    let idle = only_says("I looked around.");
    let text = output_of(build(&env, &[&idle, &checks("one", "Write one")], &["1"]), 0);
    has(&text, "No changes detected");
    assert_eq!(numbers(&env), [(1, 0), (1, 1)]);
    let log = log(&env);
    has(&log, "No changes detected\n");
    has(&log, "Retries: 1\nStatus: success\n");
}

#[test]
fn s3_12_s3_17_s3_18_changing_nothing_four_times_is_exit_4() {
    let env = with_checklist();
    let idle = only_says("I looked around.");
    let text = output_of(build(&env, &[&*idle; 5], &[]), 4);
    assert_eq!(numbers(&env), [(1, 0), (1, 1), (1, 2), (1, 3)], "{text}");
    has(&text, "No changes detected");
    has(&log(&env), "Exit Code: 4\n");
}

#[test]
fn s3_12_s3_16_s3_18_an_agent_that_fails_four_times_is_exit_4() {
    let env = with_checklist();
    let crash = "{\"do\":\"exit\",\"code\":3}";
    let text = output_of(build(&env, &[crash; 5], &[]), 4);
    assert_eq!(numbers(&env), [(1, 0), (1, 1), (1, 2), (1, 3)], "{text}");
    has(&log(&env), "Retries: 3\nStatus: failed\n");
    // Fewer are forgiven, and a success forgets them.
    let env = with_checklist();
    let (one, two) = (checks("one", "Write one"), checks("two", "Write two"));
    output_of(build(&env, &[crash, crash, crash, &one, crash, crash, crash, &two], &[]), 0);
    assert_eq!(numbers(&env).last(), Some(&(2, 3)));
    assert_eq!(numbers(&env).iter().filter(|(iteration, _)| *iteration == 2).count(), 4);
}

#[test]
fn s3_16_a_session_that_takes_too_long_is_tried_again() {
    let env = with_checklist();
    let hangs = session(&[write("half", "x"), "{\"do\":\"hang\"}".to_owned()]);
    let text =
        output_of(build(&env, &[&hangs, &hangs], &["--timeout", "1s", "--max-retries", "1"]), 4);
    assert_eq!(classes(&env), ["timeout", "timeout"], "{text}");
    let mut env = with_checklist();
    let here = stand_in(&mut env, r#"echo '{"no":"event"}'; echo '{"nor":"this"}'"#);
    output_of(env.ralph(&["build", "--agent", "claude", "--max-retries", "0"]), 4);
    assert_eq!((classes(&env), sessions_of(&here)), (vec!["malformed".to_owned()], 1));
}

#[test]
fn s3_10_s3_12_s3_18_red_gates_are_tried_again_and_then_exit_3() {
    let env = with_checklist();
    commit_file(&env, "AGENTS.md", "# Agents\n\n```sh\nTEST_COMMAND=\"echo FAILED; false\"\n```\n");
    let text = output_of(build(&env, &[&*checks("one", "Write one"); 5], &[]), 3);
    assert_eq!(numbers(&env), [(1, 0), (1, 1), (1, 2), (1, 3)], "{text}");
    assert_eq!(classes(&env), ["red"; 4]);
    assert_eq!(subjects(&env)[0], "AGENTS.md", "what is red is not committed");
    assert_eq!(ticks(&read(&env, PLAN)), [""; 0], "the tick was taken back");
    has(&text, "ralph reverted the tick of \"Write one\"");
    assert!(!env.git(&["for-each-ref", "refs/ralph/wip"]).is_empty(), "the work is kept");
    has(&log(&env), "Exit Code: 3\n");
}

#[test]
fn red_gates_that_feed_the_next_iteration_end_this_one() {
    let mut env = with_checklist();
    gate(&env, "test -e good || { echo 'FAILED: good is missing'; exit 1; }");
    let body = "cat > $here/prompt.$n; echo $n > work; [ $n = 6 ] && touch good; result ok";
    let here = stand_in(&mut env, body);
    let feed = ["build", "6", "--agent", "claude", "--set", "loop.on_red=feed"];
    output_of(env.ralph(&feed), 0);
    assert_eq!(numbers(&env), [(1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]);
    assert_eq!(classes(&env), ["red", "red", "red", "red", "red", "done"]);
    let second = std::fs::read_to_string(here.join("prompt.2")).unwrap();
    has(&second, "FAILED: good is missing");
    assert_eq!(read(&env, "work"), "6\n", "what is red stays where it is");
}

#[test]
fn s3_10_what_a_red_gate_found_is_in_the_prompt_of_the_retry() {
    let mut env = with_checklist();
    gate(&env, "test -e good || { echo 'FAILED: good is missing'; exit 1; }");
    let body = "cat > $here/prompt.$n; echo $n > work; [ $n = 2 ] && touch good; result ok";
    let here = stand_in(&mut env, body);
    output_of(env.ralph(&["build", "1", "--agent", "claude"]), 0);
    assert_eq!(classes(&env), ["red", "done"]);
    let prompt = |n: u32| std::fs::read_to_string(here.join(format!("prompt.{n}"))).unwrap();
    has_not(&prompt(1), "FAILED");
    has(&prompt(2), "FAILED: good is missing");
    assert_eq!(subjects(&env)[0], "build: iteration 1 - no task ticked");
}

#[test]
fn s3_7_the_prompt_is_a_template_on_stdin_in_the_folder_of_the_project() {
    let mut env = with_checklist();
    commit_file(
        &env,
        "PROMPT_build.md",
        "Mode {{ mode }}, iteration {{ iteration }}, plan {{ plan_file }}, specs {{ specs_dir }}.\n",
    );
    env.write("sub/file", "x");
    let here =
        stand_in(&mut env, "cat > $here/prompt.$n; pwd > $here/pwd; echo $n > work; result ok");
    let sub = env.repo().join("sub");
    let ran = env.ralph(&["-C", env.repo().to_str().unwrap(), "build", "2", "--agent", "claude"]);
    output_of(ran, 0);
    let prompt = |n: u32| std::fs::read_to_string(here.join(format!("prompt.{n}"))).unwrap();
    has(&prompt(1), "Mode build, iteration 1, plan implementation_plan.md, specs specs.");
    has(&prompt(2), "iteration 2");
    let pwd = std::fs::read_to_string(here.join("pwd")).unwrap();
    assert_eq!(pwd.trim_end(), std::fs::canonicalize(env.repo()).unwrap().to_str().unwrap());
    // Called from a folder below, it is the same project.
    let mut command = env.command(&["build", "1", "--agent", "claude"]);
    assert!(command.current_dir(sub).output().unwrap().status.success());
    let pwd = std::fs::read_to_string(here.join("pwd")).unwrap();
    assert_eq!(pwd.trim_end(), std::fs::canonicalize(env.repo()).unwrap().to_str().unwrap());
    for n in 1..=3 {
        assert!(!argv(&here, n).contains(&"--system-prompt".to_owned()));
    }
}

#[test]
fn s3_2_s3_3_s3_12_a_limit_of_n_is_n_iterations_and_exit_0() {
    for arguments in [&["2"][..], &["--max-iterations", "2"], &["2", PLAN]] {
        let env = with_checklist();
        let idle = only_says("hm");
        let text = output_of(
            build(&env, &[&idle, &changes(1), &idle, &changes(2), &changes(3)], arguments),
            0,
        );
        has(&text, "Stopped: max iterations (2) reached. Tasks remaining: 2");
        assert_eq!(numbers(&env), [(1, 0), (1, 1), (2, 0), (2, 1)], "{arguments:?}");
    }
    let env = with_checklist();
    let sessions_played: Vec<String> = (0..11).map(changes).collect();
    let played: Vec<&str> = sessions_played.iter().map(String::as_str).collect();
    output_of(build(&env, &played, &[]), 0);
    assert_eq!(sessions(&env), 10, "without a word it is ten");
}

#[test]
fn s3_6_s3_12_without_a_plan_it_is_exit_2_with_the_sentence() {
    for arguments in
        [&[][..], &["--preset", "checklist"], &["--preset", "progress"], &["not-there.md"]]
    {
        let env = project(&[]);
        let ran = build(&env, &[], arguments);
        assert_eq!(ran.code, 2, "{arguments:?} {}", ran.stderr);
        has(&ran.stderr, "Implementation plan not found. Run 'ralph plan' first.");
        assert_eq!(ran.stdout, "");
    }
    // A plan that goes missing on the way.
    let env = with_checklist();
    let removes = session(&[write("x", "x"), say("ok")]);
    output_of(build(&env, &[&removes], &["1"]), 0);
    std::fs::remove_file(env.repo().join(PLAN)).unwrap();
    assert_eq!(build(&env, &[], &["--preset", "checklist"]).code, 2);
}

#[test]
fn s3_4_what_is_wrong_at_the_start_is_reported_before_anything_is_begun() {
    // The settings come first, then the repository, then the agent.
    let env = TestEnv::without_repository(crate::RALPH);
    let text = env.ralph(&["build"]).failure(1);
    has(&text, "git");
    let env = with_checklist();
    env.write("ralph.toml", "[loop\n");
    has(&env.ralph(&["build"]).failure(1), "ralph.toml");
    assert!(runs(&env).is_empty());
    let mut env = with_checklist();
    let git = env.folder().join("only-git");
    std::fs::create_dir(&git).unwrap();
    let found = std::process::Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    std::os::unix::fs::symlink(found.trim(), git.join("git")).unwrap();
    env.set("PATH", git.to_str().unwrap());
    let text = env.ralph(&["build", "--agent", "claude"]).failure(1);
    has(&text, "claude");
    assert!(runs(&env).is_empty(), "no session log for a run that never began");
}

#[test]
fn s3_11_s3_12_a_commit_that_is_refused_is_tried_again_and_then_exit_5() {
    let mut env = with_checklist();
    env.without_sandbox("at level full a session cannot lock a ref of the repository").hurry();
    let lock = env.repo().join(".git/refs/heads/main.lock");
    let locks = session(&[sh("mkdir -p .git/refs/heads/main.lock/x"), checks("one", "Write one")]);
    let text = output_of(build(&env, &[&locks], &["--once"]), 5);
    has(&text, "main.lock");
    assert_eq!(subjects(&env)[0], PLAN);
    assert_eq!(read(&env, "one"), "work\n", "the work is still there");
    has(&log(&env), "Exit Code: 5\n");
    assert!(tasks(&env).iter().all(|(_, status)| status != "done"), "{:?}", tasks(&env));
    // Once git can commit again, so does the loop.
    std::fs::remove_dir_all(&lock).unwrap();
    output_of(build(&env, &[&checks("more", "Write one")], &["1"]), 0);
    assert_eq!(subjects(&env)[0], "build: iteration 1 - Write one");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn s3_13_s3_14_s3_15_the_session_log_is_that_of_the_seed() {
    let plan = "# Greeter\n\n### Task 1: Write one\n**Status:** pending\n**Spec:** specs/one.md\n";
    let env = with_plan(PLAN, plan);
    let work = session(&[
        write("one", "x"),
        "{\"do\":\"usage\",\"input\":10,\"output\":5,\"usd\":0.02}".to_owned(),
        say("Wrote one."),
    ]);
    output_of(build(&env, &[&only_says("hm"), &work], &["1"]), 0);
    let log = log(&env);
    let (double, single) = ("=".repeat(80), "-".repeat(80));
    let lines: Vec<&str> = log.lines().collect();
    let shape = |line: &&str| match line.split_once(": ") {
        Some((name @ ("Start Time" | "End Time"), time)) => {
            assert_eq!(time.len(), "2026-01-01 00:00:00".len(), "{line}");
            format!("{name}: T")
        }
        Some((name @ ("Duration" | "Total Duration"), _)) => format!("{name}: D"),
        Some(("Commit", text)) => format!("Commit: {}", text.split_once(' ').unwrap().1),
        _ => (*line).to_owned(),
    };
    let shapes: Vec<String> = lines.iter().map(shape).collect();
    let expected = format!(
        "{double}\nITERATION 1\n{double}\nMode: build\nTask: Write one\nSpec: specs/one.md\nStart Time: T\n{single}\n\
         hm\nNo changes detected\n\
         {single}\nITERATION 1 COMPLETE\nEnd Time: T\nDuration: D\nRetries: 0\nStatus: failed\n{double}\n\n\
         {double}\nITERATION 1\n{double}\nMode: build\nTask: Write one\nSpec: specs/one.md\nStart Time: T\n{single}\n\
         → Write one\nWrote one.\nCommit: build: iteration 1 - no task ticked\n\
         {single}\nITERATION 1 COMPLETE\nEnd Time: T\nDuration: D\nCost: $0.02\nRetries: 1\nStatus: success\n{double}\n\n\
         {double}\nSESSION SUMMARY\n{double}\nTotal Iterations: 1\nSuccessful: 1\nFailed: 0\nTotal Duration: D\n\
         Exit Reason: Stopped: max iterations (1) reached. Tasks remaining: 1\nExit Code: 0\n{double}"
    );
    assert_eq!(shapes.join("\n"), expected, "\n{log}");
    let name = runs(&env).pop().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(name.len(), "session-20260101-000000".len(), "{name}");
    assert!(name.starts_with("session-"), "{name}");
}

#[test]
fn s3_8_what_the_agent_says_is_live_on_stderr_and_in_the_log() {
    let env = with_checklist();
    let waits = session(&[
        say("HELLO-FROM-THE-AGENT"),
        write("x", "x"),
        gate_step("there", "go"),
        say("ok"),
    ]);
    let mut running = start(&env, &[&waits], &["1"]);
    let mut stderr = running.stderr.take().unwrap();
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&seen).contains("HELLO-FROM-THE-AGENT") {
        let read = std::io::Read::read(&mut stderr, &mut buffer).unwrap();
        assert!(read > 0, "it ended without telling: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&buffer[..read]);
    }
    wait_until("the log", PATIENCE, || log(&env).contains("HELLO-FROM-THE-AGENT"));
    touch(&env, "go");
    std::io::Read::read_to_end(&mut stderr, &mut seen).unwrap();
    assert!(running.wait().unwrap().success());
}

#[test]
fn s3_20_what_counts_survives_the_run_and_the_rest_does_not() {
    let env = with_checklist();
    output_of(build(&env, &[&checks("one", "Write one")], &["1"]), 0);
    let first = log(&env);
    // The counters begin again; the plan, the commits and the logs stay.
    output_of(build(&env, &[&checks("two", "Write two")], &[]), 0);
    assert_eq!(numbers(&env), [(1, 0)]);
    assert_eq!(ticks(&read(&env, PLAN)), ["Write one", "Write two"]);
    assert_eq!(runs(&env).len(), 2);
    assert_eq!(std::fs::read_to_string(runs(&env)[0].with_extension("log")).unwrap(), first);
    assert_eq!(env.git(&["ls-files", ".ralph"]), "");
}

#[test]
fn s3_11_a_checklist_commits_everything_that_is_there() {
    let env = with_checklist();
    env.write("before.txt", "left by a person\n");
    output_of(build(&env, &[&checks("one", "Write one")], &["1"]), 0);
    let names = env.git(&["show", "--format=", "--name-only"]);
    assert_eq!(names, "before.txt\nimplementation_plan.md\none\n");
    // That it was there is not the agent's work.
    let env = with_checklist();
    env.write("before.txt", "left by a person\n");
    output_of(build(&env, &[&only_says("hm")], &["--max-retries", "0"]), 4);
    assert_eq!(classes(&env), ["unchanged"]);
    assert_eq!(read(&env, "before.txt"), "left by a person\n");
    assert_eq!(subjects(&env)[0], PLAN);
    // And it stays when the run gives up.
    let env = with_checklist();
    env.write("before.txt", "left by a person\n");
    gate(&env, "false");
    env.write("before.txt", "changed by a person\n");
    output_of(build(&env, &[&checks("one", "Write one")], &["--max-retries", "0"]), 3);
    assert_eq!(read(&env, "before.txt"), "changed by a person\n");
    assert!(!env.repo().join("one").exists());
}

#[test]
fn a_plan_without_a_checkbox_is_a_text_that_the_agent_works_through() {
    let env = with_plan(PLAN, "# Make it nice\n\nSome words.\n");
    output_of(build(&env, &[&changes(1), &completes("two")], &[]), 0);
    assert_eq!((stop(&env), sessions(&env)), ("marker".into(), 2));
    assert_eq!(subjects(&env)[0], "build: iteration 2 - Make it nice");
    has(&log(&env), "Task: Make it nice\n");
}

#[test]
fn the_other_name_of_the_plan_is_found_too() {
    let env = with_plan("IMPLEMENTATION_PLAN.md", CHECKLIST);
    let work =
        session(&[write("one", "x"), tick("IMPLEMENTATION_PLAN.md", "Write one"), say("ok")]);
    output_of(build(&env, &[&work], &["1"]), 0);
    assert_eq!(subjects(&env)[0], "build: iteration 1 - Write one");
}

#[test]
fn a_tick_alone_is_a_change_of_the_checklist() {
    let env = with_checklist();
    let only = session(&[tick(PLAN, "Write one"), say("It was there already.")]);
    let text = output_of(build(&env, &[&only], &["1"]), 0);
    assert_eq!(classes(&env), ["done"], "{text}");
    assert_eq!(ticks(&read(&env, PLAN)), ["Write one"]);
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "implementation_plan.md\n");
    // Nothing judged it, and such a word is refused where claims are confirmed.
    let env = with_checklist();
    let confirm = ["1", "--set", "completion.claims=confirm", "--max-retries", "1"];
    let text = output_of(build(&env, &[&only, &only], &confirm), 4);
    assert_eq!(
        (ticks(&read(&env, PLAN)), classes(&env)),
        (vec![], vec!["unchanged".to_owned(); 2])
    );
    has(&text, "No changes detected");
    assert!(tasks(&env).iter().all(|(_, status)| status == "open"), "{:?}", tasks(&env));
}

#[test]
fn a_task_that_was_red_too_often_can_still_be_done_by_the_next_run() {
    let env = with_checklist();
    gate(&env, "test -e good");
    output_of(build(&env, &[&*checks("one", "Write one"); 4], &[]), 3);
    assert!(tasks(&env).iter().all(|(_, status)| status == "open"), "{:?}", tasks(&env));
    let good = session(&[write("good", "x"), tick(PLAN, "Write one"), say("ok")]);
    let text = output_of(build(&env, &[&good], &["1"]), 0);
    assert_eq!(ticks(&read(&env, PLAN)), ["Write one"], "{text}");
    assert!(tasks(&env).contains(&("Write one".into(), "done".into())), "{:?}", tasks(&env));
}

#[test]
fn failure_stops_the_run_with_exit_6() {
    let env = with_checklist();
    let text = output_of(
        build(&env, &[&session(&[write("x", "x"), say("<promise>FAILURE</promise>")])], &[]),
        6,
    );
    has(&text, "FAILURE");
    assert_eq!(subjects(&env)[0], PLAN);
}

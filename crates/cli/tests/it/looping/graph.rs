//! The preset `dag`: targets, scopes, context, signals.

use super::*;

/// A feature with a spec, a plan and one task; another task stands beside it.
fn with_feature() -> TestEnv {
    let env = project(&["alone"]);
    env.ralph(&["feature", "create", "login"]).success();
    env.write(".ralph/features/login/spec.md", "SPEC-OF-LOGIN as it was\n");
    env.write(".ralph/features/login/plan.md", "PLAN-OF-LOGIN\n");
    env.task(&["add", "Form", "--id", "form", "--feature", "login"]);
    env
}

/// All of the prompt of an iteration.
fn prompt(env: &TestEnv, iteration: u32) -> String {
    run_file(env, &format!("iteration-{iteration:03}.system.md"))
        + &run_file(env, &format!("iteration-{iteration:03}.task.md"))
}

#[test]
fn s1_8_s1_12_a_feature_brings_its_files_and_only_its_tasks() {
    let env = with_feature();
    build(&env, &[&works()], &["--feature", "login"]).success();
    let text = prompt(&env, 1);
    assert!(text.contains("SPEC-OF-LOGIN") && text.contains("PLAN-OF-LOGIN"), "{text}");
    assert_eq!((status(&env, "form"), status(&env, "alone")), ("done".into(), "open".into()));
}

#[test]
fn s1_8_s1_12_a_task_brings_the_files_of_its_feature_and_only_itself() {
    let env = with_feature();
    env.task(&["add", "Other", "--id", "other", "--feature", "login"]);
    build(&env, &[&works()], &["--task", "form"]).success();
    let text = prompt(&env, 1);
    assert!(text.contains("SPEC-OF-LOGIN") && text.contains("PLAN-OF-LOGIN"), "{text}");
    assert_eq!((status(&env, "form"), status(&env, "other")), ("done".into(), "open".into()));
    // A task without a feature brings nothing.
    build(&env, &[&works()], &["--task", "alone"]).success();
    assert!(!prompt(&env, 1).contains("OF-LOGIN"));
}

#[test]
fn s1_8_s1_12_run_takes_either_as_its_target() {
    let env = with_feature();
    cassette(&env, &[&works(), &works()]);
    let script = ["--agent", "script", "--set", "agent.script.path=../cassette.jsonl"];
    env.ralph(&[&["run", "login"][..], &script].concat()).success();
    assert!(prompt(&env, 1).contains("SPEC-OF-LOGIN"));
    assert_eq!((status(&env, "form"), status(&env, "alone")), ("done".into(), "open".into()));
    env.ralph(&[&["run", "alone"][..], &script].concat()).success();
    assert_eq!(status(&env, "alone"), "done");
}

#[test]
fn s1_8_without_a_target_there_is_nothing_to_load_and_every_task_is_in_scope() {
    let env = with_feature();
    build(&env, &[&works(), &works()], &[]).success();
    assert_eq!((status(&env, "form"), status(&env, "alone")), ("done".into(), "done".into()));
}

#[test]
fn s1_9_spec_and_plan_are_read_once_per_run() {
    let env = with_feature();
    let changes = sh("printf 'SPEC-OF-LOGIN changed\\n' > .ralph/features/login/spec.md");
    let first = session(&[changes, say("not done")]);
    build(&env, &[&first, &works()], &["--feature", "login"]).success();
    assert!(prompt(&env, 2).contains("SPEC-OF-LOGIN as it was"));
    env.task(&["add", "Next", "--id", "next", "--feature", "login"]);
    build(&env, &[&works()], &["--feature", "login"]).success();
    assert!(prompt(&env, 1).contains("SPEC-OF-LOGIN changed"), "the next run reads it again");
}

#[test]
fn s1_14_the_first_ready_task_is_claimed_under_one_id_per_run() {
    let env = project(&["second"]);
    env.task(&["add", "First", "--id", "first", "-p", "0"]);
    let seen = sh("ralph task list --status active --json > ../notes/seen-{id}");
    let one = session(&[seen.clone(), write("{id}", "x"), say("<task-done>{id}</task-done>")]);
    build(&env, &[&one, &one], &[]).success();
    let agents: Vec<String> = ["first", "second"]
        .iter()
        .map(|id| {
            let text = std::fs::read_to_string(env.note(&format!("seen-{id}"))).unwrap();
            let list: Value = ralph_testkit::data(&text);
            assert_eq!((list.as_array().unwrap().len(), &list[0]["id"]), (1, &(*id).into()));
            list[0]["assignee"].as_str().unwrap().to_owned()
        })
        .collect();
    let hex = agents[0].strip_prefix("agent-").unwrap();
    assert!(hex.len() == 8 && hex.chars().all(|c| c.is_ascii_hexdigit()), "{agents:?}");
    assert_eq!(agents[0], agents[1], "one id for the whole run");
    assert_eq!(subjects(&env)[..2], ["build: iteration 2 - second", "build: iteration 1 - First"]);
    env.task(&["add", "Third", "--id", "third"]);
    build(&env, &[&works()], &[]).success();
    assert_ne!(show(&env, "third")["attempts"][0]["agent"], agents[0].as_str());
}

#[test]
fn s1_15_s1_40_s1_41_the_prompt_shows_what_is_known() {
    let env = project(&[]);
    env.task(&["add", "The parser", "--id", "epic", "-d", "PARENT-DESCRIPTION"]);
    env.task(&["add", "Lexer", "--id", "lexer", "-d", "LEXER-DESCRIPTION"]);
    env.task(&[
        "add",
        "Grammar",
        "--id",
        "grammar",
        "--parent",
        "epic",
        "--deps",
        "lexer",
        "-d",
        "GRAMMAR-DESCRIPTION",
    ]);
    env.write(
        ".ralph/skills/release/SKILL.md",
        "---\nname: release\ndescription: HOW-TO-RELEASE\n---\n",
    );
    let first = session(&[
        sh("ralph task log lexer 'THE-LAST-NOTE'"),
        write("lexer.txt", "x\n"),
        say("<task-done>{id}</task-done>"),
    ]);
    let red = session(&[write("grammar.txt", "x\n"), say("<task-done>{id}</task-done>")]);
    let green = session(&[write("ok", "x\n"), say("<task-done>{id}</task-done>")]);
    env.write("AGENTS.md", "```\nTEST_COMMAND=\"test -e ok || test ! -e grammar.txt || { echo GATE-OUTPUT; false; }\"\n```\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "test command"]);
    build(&env, &[&first, &red, &green], &[]).success();
    let first = prompt(&env, 1);
    for absent in ["PARENT-DESCRIPTION", "attempt 2", "GATE-OUTPUT"] {
        assert!(!first.contains(absent), "{absent}");
    }
    for there in
        ["LEXER-DESCRIPTION", "HOW-TO-RELEASE", "<task-done>lexer</task-done>", ".ralph/skills"]
    {
        assert!(first.contains(there), "{there}\n{first}");
    }
    let second = prompt(&env, 2);
    for there in
        ["GRAMMAR-DESCRIPTION", "The parser", "PARENT-DESCRIPTION", "lexer", "THE-LAST-NOTE"]
    {
        assert!(second.contains(there), "{there}\n{second}");
    }
    let third = prompt(&env, 3);
    for there in ["attempt 2 of 4", "gate test failed", "GATE-OUTPUT"] {
        assert!(third.to_lowercase().contains(&there.to_lowercase()), "{there}\n{third}");
    }
}

#[test]
fn no_learn_leaves_the_learning_out() {
    let env = project(&["a", "b"]);
    build(&env, &[&works()], &["--once"]).success();
    let with = prompt(&env, 1);
    build(&env, &[&works()], &["--once", "--no-learn"]).success();
    let without = prompt(&env, 1);
    assert!(with.contains("CLAUDE.md") && !without.contains("CLAUDE.md"), "{with}\n{without}");
}

#[test]
fn s1_22_an_override_that_differs_is_recorded_and_sent() {
    let mut env = project(&["a", "b", "c"]);
    let here = stand_in(
        &mut env,
        r#"echo x > file.$n
           id=$RALPH_TASK_ID
           result "<task-done>$id</task-done><next-model>$([ $n = 1 ] && echo opus || echo sonnet)</next-model>""#,
    );
    env.ralph(&["build", "--agent", "claude"]).success();
    let model = |n| {
        let argv = argv(&here, n);
        let at = argv.iter().position(|word| word == "--model").unwrap();
        argv[at + 1].clone()
    };
    assert_eq!([model(1), model(2), model(3)], ["sonnet", "opus", "sonnet"]);
    let log = show(&env, "b")["log"].to_string();
    assert!(log.contains("model opus instead of sonnet, as the agent asked"), "{log}");
    assert!(!show(&env, "c")["log"].to_string().contains("instead of"), "the same is no override");
    assert_eq!(show(&env, "b")["attempts"][0]["model"], "opus");
}

#[test]
fn s1_3_s1_33_failure_stops_the_run_at_once_and_gives_the_claim_back() {
    let env = project(&["a", "b"]);
    let text = "<task-done>{id}</task-done> <promise>FAILURE</promise>";
    let ran = build(&env, &[&session(&[write("x.txt", "x\n"), say(text)])], &[]);
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    assert_eq!((status(&env, "a"), subjects(&env).len()), ("open".into(), 1));
    assert_eq!(show(&env, "a")["retry_count"], 0);
}

#[test]
fn s1_31_s1_34_s1_38_done_commits_and_the_last_one_ends_the_run() {
    let env = project(&["a"]);
    let ran = build(&env, &[&works()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let task = show(&env, "a");
    assert_eq!(task["result"]["commit"], env.git(&["rev-parse", "HEAD"]).trim());
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert_eq!(classes(&env), ["done"]);
}

#[test]
fn s1_32_done_wins_over_failed() {
    let env = project(&["a"]);
    let text = "<task-failed>{id}</task-failed><task-done>{id}</task-done>";
    build(&env, &[&session(&[write("a", "a"), say(text)])], &[]).success();
    assert_eq!(status(&env, "a"), "done");
}

#[test]
fn s1_35_s1_2_failed_is_failed_with_its_reason_in_the_log_and_the_run_goes_on() {
    let env = project(&["a", "b"]);
    let gives_up = only_says("<task-failed>{id}</task-failed><reason>no API key</reason>");
    build(&env, &[&gives_up, &works()], &[]).success();
    let task = show(&env, "a");
    assert_eq!((&task["status"], &task["reason"]), (&"failed".into(), &"no API key".into()));
    assert!(env.task(&["log", "a"]).contains("no API key"));
    assert_eq!(status(&env, "b"), "done");
}

#[test]
fn s1_36_no_signal_releases_the_task() {
    let env = project(&["a"]);
    build(&env, &[&only_says("I looked around.")], &["--once"]).success();
    let task = show(&env, "a");
    assert_eq!((&task["status"], &task["assignee"]), (&"open".into(), &Value::Null));
    assert_eq!(
        (&task["retry_count"], &task["attempts"][0]["end"]["outcome"]),
        (&0.into(), &"no-signal".into())
    );
}

#[test]
fn s1_37_a_wrong_id_is_warned_of_and_changes_no_task() {
    let env = project(&["a", "b"]);
    let ran =
        build(&env, &[&session(&[write("x", "x"), say("<task-done>b</task-done>")])], &["--once"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let warned = ran.stderr.lines().find(|line| line.contains("warning") && line.contains(" b"));
    assert!(warned.is_some(), "{}", ran.stderr);
    assert_eq!((status(&env, "a"), status(&env, "b")), ("open".into(), "open".into()));
}

#[test]
fn signals_in_tool_results_and_files_are_text() {
    let env = project(&["a"]);
    let quoted = session(&[
        sh("echo '<task-done>a</task-done>'; echo '<promise>FAILURE</promise>'"),
        write("notes.md", "<task-done>a</task-done>\n"),
        say("earlier: <task-failed>a</task-failed>"),
        say("I am not done."),
    ]);
    build(&env, &[&quoted], &["--once"]).success();
    assert_eq!(classes(&env), ["no_signal"]);
}

#[test]
fn requests_by_command_are_judged_after_the_session() {
    let env = project(&["a", "b"]);
    let by_command = session(&[
        sh(
            "ralph task done a --result '{\"commit\":\"0123\"}'; ralph task show a --json > ../notes/during",
        ),
        write("a", "a"),
        say("finished"),
    ]);
    let fails =
        session(&[sh("ralph task fail b --reason 'cannot reach it' --final"), say("sorry")]);
    build(&env, &[&by_command, &fails], &[]).success();
    let during: Value = ralph_testkit::data(&std::fs::read_to_string(env.note("during")).unwrap());
    assert_eq!(during["status"], "active", "a request changes nothing yet");
    assert_eq!((status(&env, "a"), status(&env, "b")), ("done".into(), "failed".into()));
    assert_eq!(show(&env, "b")["reason"], "cannot reach it");
}

/// Done is done on every branch, but a task does not begin without the work of what it needs.
/// Where the agent picks, it cannot take what the loop would not give it.
#[test]
fn a_session_cannot_claim_a_task_that_waits_for_a_merge() {
    let env = project(&["a"]);
    env.task(&["add", "b", "--id", "b", "--deps", "a", "--priority", "0"]);
    env.task(&["add", "c", "--id", "c"]);
    env.git(&["switch", "--quiet", "-c", "feat"]);
    build(&env, &[&works()], &["--max-iterations", "1"]);
    env.git(&["switch", "--quiet", "main"]);
    let picks = session(&[
        sh("ralph task claim b > ../notes/named 2>&1; ralph task claim > ../notes/any 2>&1"),
        write("c.txt", "work\n"),
        sh("ralph task done c; ralph task claim > ../notes/more 2>&1; true"),
        say("finished"),
    ]);
    build(&env, &[&picks], &["--preset", "pick", "--max-iterations", "1"]);
    let note = |name: &str| std::fs::read_to_string(env.note(name)).unwrap();
    let reason = "b needs the work of a, which is on branch feat";
    assert!(note("named").contains(reason), "{}", note("named"));
    assert!(note("any").contains("id: c") && note("more").contains(reason), "{}", note("more"));
    assert_eq!((status(&env, "b").as_str(), status(&env, "c").as_str()), ("open", "done"));
}

#[test]
fn a_task_waits_until_the_branch_with_the_work_that_it_needs_is_merged() {
    for merge in [&["merge", "--quiet", "feat"][..], &["merge", "--quiet", "--squash", "feat"]] {
        let env = project(&["a"]);
        env.task(&["add", "b", "--id", "b", "--deps", "a"]);
        env.task(&["add", "c", "--id", "c"]);
        env.git(&["switch", "--quiet", "-c", "feat"]);
        let works = |name: &str| {
            session(&[write(&format!("{name}.txt"), name), say("<task-done>{id}</task-done>")])
        };
        build(&env, &[&works("a")], &["--max-iterations", "1"]);
        assert_eq!(status(&env, "a"), "done");
        env.git(&["switch", "--quiet", "main"]);
        let ran = build(&env, &[&works("c")], &[]);
        assert_eq!(ran.code, 7, "{}", ran.stderr);
        assert_eq!((status(&env, "b").as_str(), status(&env, "c").as_str()), ("open", "done"));
        let reason = "needs the work of a, which is on branch feat";
        let output = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.contains(&format!("b {reason}")), "{output}");
        assert!(
            output.contains("Next: git merge feat") || output.contains("Next git merge feat"),
            "{output}"
        );
        assert!(!of_kind(&journal(&env), "merges_needed").is_empty());
        for page in [&["status"][..], &["task", "show", "b"]] {
            let page = env.ralph(page).success();
            let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(page.contains(&format!("{reason}: git merge feat")), "{page}");
        }
        env.git(merge);
        if merge.contains(&"--squash") {
            env.git(&["commit", "--quiet", "-m", "squashed"]);
        }
        build(&env, &[&works("b")], &[]).success();
        assert_eq!(status(&env, "b"), "done");
        assert!(!env.ralph(&["status"]).success().contains("git merge"));
    }
}

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
fn no_learn_leaves_the_learning_out() {
    let env = project(&["a", "b"]);
    build(&env, &[&works()], &["--once"]).success();
    let with = prompt(&env, 1);
    build(&env, &[&works()], &["--once", "--no-learn"]).success();
    let without = prompt(&env, 1);
    assert!(with.contains("CLAUDE.md") && !without.contains("CLAUDE.md"), "{with}\n{without}");
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

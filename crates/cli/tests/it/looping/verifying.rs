//! The verifier: a second session that looks at what the gates let through.

use ralph_testkit::TestEnv;

use super::*;

const PASS: &str = "I looked at it.\n<verify-pass/>";

fn fails(reason: &str) -> String {
    only_says(&format!("Not yet.\n\n<verify-fail>{reason}</verify-fail>"))
}

fn passes() -> String {
    only_says(PASS)
}

/// A repository with these tasks, where the preset decides about a verifier.
fn verified(tasks: &[&str]) -> TestEnv {
    let mut env = project(tasks);
    env.with_verifier();
    env
}

/// It works in a checkout that is thrown away, and what it asks for is not done.
#[test]
fn s1_42_a_verifier_changes_nothing() {
    let env = verified(&["a", "b"]);
    let meddles = session(&[
        sh("pwd > ../notes/place; test -e a.txt && echo more > a.txt && touch stray.txt"),
        sh(
            "git status --short > \"$OLDPWD/x\" 2>/dev/null; git add -A && git commit -qm mine; true",
        ),
        sh("ralph task done a; ralph task fail a --reason no --final; ralph task claim b; true"),
        sh("ralph task add stray; ralph task log a 'I was here'; true"),
        say(PASS),
    ]);
    let ran = build(&env, &[&works(), &meddles], &["--once"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(env.repo().join("a.txt")).unwrap(), "work\n");
    assert!(!env.repo().join("stray.txt").exists());
    assert_eq!(subjects(&env), ["build: iteration 1 - a", "first"]);
    assert_eq!((status(&env, "a").as_str(), status(&env, "b").as_str()), ("done", "open"));
    assert_eq!(env.task(&["list", "--json"]).matches("\"id\":").count(), 2, "no task was added");
    assert_eq!(env.git(&["status", "--short"]), "");
    assert!(env.git(&["worktree", "list"]).lines().count() == 1);
}

#[test]
fn s1_42_a_verifier_gets_the_task_its_spec_the_diff_and_the_gates() {
    let env = verified(&[]);
    env.ralph(&["feature", "create", "hello"]).success();
    env.write(".ralph/features/hello/spec.md", "# Spec\nIt greets.\n");
    env.write(".ralph/features/hello/plan.md", "# Plan\nFirst the file.\n");
    env.task(&["add", "Greet", "--id", "a", "-d", "In a.txt, please.", "--feature", "hello"]);
    env.write("ralph.toml", "[[gate]]\nname = \"exists\"\ncommand = \"test -e a.txt\"\n");
    let ran = build(&env, &[&works(), &passes()], &["--feature", "hello"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let text = run_file(&env, "iteration-001.verifier.task.md");
    for part in ["In a.txt, please.", "It greets.", "First the file.", "+work", "`exists`: passed"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(run_file(&env, "iteration-001.verifier.system.md").contains("<verify-fail>"));
}

/// Claude Code gets the tools of a reader and the model of the session.
#[test]
fn s1_42_a_verifier_has_the_tools_of_a_reader_and_the_same_model() {
    let mut env = verified(&["a"]);
    let body = r#"
case "$*" in
  *"verifier of a loop"*) pwd > $here/place; result "<verify-pass/>" ;;
  *) echo work > a.txt; result "<task-done>a</task-done>" ;;
esac"#;
    let here = stand_in(&mut env, body);
    let ran = env.ralph(&["build", "--once"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let words = argv(&here, 2);
    let after = |name: &str| {
        let at = words.iter().position(|word| word == name).unwrap();
        words[at + 1..].to_vec()
    };
    // In a sandbox no tool needs a permission, so the list says which there are.
    let tools = match words.iter().any(|word| word == "--tools") {
        true => after("--tools")[0].split(',').map(str::to_owned).collect(),
        false => after("--allowed-tools"),
    };
    assert_eq!(tools, ["Bash", "Read", "Glob", "Grep"]);
    assert_eq!(after("--model")[0], "sonnet");
    let task = words.iter().find(|word| word.starts_with('@')).unwrap();
    assert!(task.ends_with("/iteration-001.verifier.task.md"), "{task}");
    let place = std::fs::read_to_string(here.join("place")).unwrap();
    assert!(!std::path::Path::new(place.trim()).exists(), "the checkout is gone");
    assert!(!place.starts_with(env.repo().to_str().unwrap()), "{place}");
}

#[test]
fn another_agent_and_another_model_may_verify() {
    let mut env = verified(&["a"]);
    let here = stand_in(&mut env, r#"result "<verify-pass/>""#);
    let other = ["--set", "agent.verify=claude", "--set", "models.verify=opus"];
    let ran = build(&env, &[&works()], &other);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let words = argv(&here, 1);
    assert!(words.windows(2).any(|pair| pair == ["--model", "opus"]), "{words:?}");
    assert!(ran.stderr.contains("verifier   claude, model opus"), "{}", ran.stderr);
    assert_eq!(status(&env, "a"), "done");
    // Its words are read as what they are.
    let shown = env.ralph(&["logs"]).success();
    assert!(shown.contains("<verify-pass/>"), "{shown}");
    // Without a name it is the other agent's own model.
    env.task(&["add", "b", "--id", "b"]);
    build(&env, &[&works()], &["--set", "agent.verify=claude"]);
    assert!(!argv(&here, 2).contains(&"--model".to_owned()));
}

#[test]
fn the_preset_chooses_the_verifier_unless_a_setting_does() {
    let env = verified(&["a"]);
    let says = |arguments: &[&str]| {
        let shown = env.ralph(arguments).success();
        let line = shown.lines().find(|line| line.starts_with("Verifier: ")).unwrap();
        line["Verifier: ".len()..].to_owned()
    };
    cassette(&env, &[]);
    let with = |extra: &[&'static str]| {
        let mut all = arguments(&["--dry-run"]);
        all.extend(extra);
        says(&all)
    };
    assert_eq!(with(&[]), "script");
    assert_eq!(with(&["--no-verify"]), "none");
    assert_eq!(with(&["--no-verify", "--verify"]), "script");
    assert_eq!(with(&["--set", "loop.verify=false"]), "none");
    assert_eq!(with(&["--preset", "pick"]), "none");
    assert_eq!(with(&["--preset", "pick", "--verify"]), "script");
    env.write("implementation_plan.md", "- [ ] one\n");
    assert_eq!(with(&["implementation_plan.md"]), "none");
}

/// A checklist has no verifier by itself. With one, a tick that it refuses is taken back.
#[test]
fn a_tick_that_the_verifier_refuses_is_taken_back() {
    let mut env = verified(&[]);
    let env = &mut env;
    env.write("implementation_plan.md", "- [ ] one\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "plan"]);
    let ticks = session(&[
        write("one.txt", "1"),
        write("implementation_plan.md", "- [x] one\n"),
        say("Ticked."),
    ]);
    let ran = build(env, &[&ticks, &fails("one is not two")], &["--verify", "--max-retries", "0"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    let plan = std::fs::read_to_string(env.repo().join("implementation_plan.md")).unwrap();
    assert_eq!(plan, "- [ ] one\n", "{}", ran.stderr);
    let ran = build(env, &[&ticks, &passes()], &["--verify"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(verification_of_first(env), "passed");
}

fn verification_of_first(env: &TestEnv) -> String {
    let list: Value = ralph_testkit::data(&env.task(&["list", "--json"]));
    list[0]["verification_status"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn a_setup_command_that_fails_is_reported_as_what_it_is() {
    let env = verified(&["a"]);
    env.write("ralph.toml", "[git.worktree]\nsetup = \"echo no network; exit 4\"\n");
    build(&env, &[&works()], &["--once"]);
    let task = show(&env, "a");
    assert_eq!(task["status"], "open");
    let reason = task["reason"].as_str().unwrap();
    assert!(reason.contains("the setup command failed: no network"), "{reason}");
}

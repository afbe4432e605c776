//! The verifier: a second session that looks at what the gates let through.

use ralph_testkit::TestEnv;
use serde_json::json;

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

fn verification(env: &TestEnv, task: &str) -> Value {
    show(env, task)["verification_status"].clone()
}

#[test]
fn s1_44_a_pass_makes_it_done_and_the_task_says_so() {
    let env = verified(&["a"]);
    let ran = build(&env, &[&works(), &passes()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!((status(&env, "a").as_str(), verification(&env, "a")), ("done", json!("passed")));
    let row = show(&env, "a")["evidence"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&row["judge"], &row["verdict"]), (&json!("verifier"), &json!("pass")), "{row}");
    assert!(ran.stderr.contains("✓ verifier"), "{}", ran.stderr);
    assert_eq!(subjects(&env)[0], "build: iteration 1 - a");
}

#[test]
fn s1_45_a_verifier_that_fails_twice_and_then_passes() {
    let env = verified(&["a"]);
    let (first, second) = (fails("say please"), fails("say thank you"));
    let sessions = [&works(), &first, &works(), &second, &works(), &passes()];
    let ran = build(&env, &sessions.map(String::as_str), &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(classes(&env), ["red", "red", "done"]);
    let task = show(&env, "a");
    assert_eq!((&task["retry_count"], &task["status"]), (&json!(2), &json!("done")));
    assert_eq!(verification(&env, "a"), "passed");
    assert!(run_file(&env, "iteration-002.task.md").contains("verification failed: say please"));
    assert!(run_file(&env, "iteration-003.task.md").contains("verification failed: say thank you"));
    // Only green work is committed, and a verifier's session is none of those that count.
    assert_eq!(subjects(&env), ["build: iteration 3 - a", "first"]);
    let ended = journal(&env);
    assert_eq!(of_kind(&ended, "run_ended")[0]["outcome"]["iterations"], 3);
}

#[test]
fn s1_45_between_two_tries_the_task_is_open_unclaimed_and_marked() {
    let env = verified(&["a"]);
    build(&env, &[&works(), &fails("no")], &["--once"]);
    let task = show(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("open"), &json!(1)));
    assert_eq!((&task["claim"], verification(&env, "a")), (&json!(null), json!("failed")));
}

#[test]
fn s1_46_when_the_retries_are_used_up_count_and_reason_are_reported() {
    let env = verified(&["a"]);
    let (work, no) = (works(), fails("the greeting is missing"));
    let sessions: Vec<&str> = (0..4).flat_map(|_| [work.as_str(), no.as_str()]).collect();
    let ran = build(&env, &sessions, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let task = show(&env, "a");
    assert_eq!((&task["status"], verification(&env, "a")), (&json!("failed"), json!("failed")));
    let reason = task["reason"].as_str().unwrap();
    assert_eq!(
        reason,
        "gave up after 4 attempts, last: verification failed: the greeting is missing"
    );
    assert_eq!(subjects(&env), ["first"], "nothing of it is kept");
    assert!(!env.repo().join("a.txt").exists());
}

#[test]
fn s1_43_no_verdict_a_crash_and_a_hang_are_a_fail() {
    for (session, words) in [
        (only_says("Looks fine to me."), "the verifier ended without a verdict"),
        (
            only_says("`<verify-pass/>` is what I would say"),
            "is not alone on the verifier's last line",
        ),
        (r#"{"do":"exit","code":3}"#.to_owned(), "crash"),
        (format!("{}\n{}", only_says(PASS), r#"{"do":"exit","code":3}"#), "crash"),
        (r#"{"do":"hang"}"#.to_owned(), "timeout"),
    ] {
        let env = verified(&["a"]);
        let ran = build(&env, &[&works(), &session], &["--once", "--timeout", "3s"]);
        let task = show(&env, "a");
        assert_eq!(task["status"], "open", "{session}: {}", ran.stderr);
        let reason = task["reason"].as_str().unwrap();
        assert!(reason.starts_with("verification failed: "), "{reason}");
        assert!(reason.contains(words), "{session}: {reason}");
    }
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

/// The gate has nothing to say about it; the verifier is pointed at it.
#[test]
fn a_verifier_gets_a_list_of_weaker_tests() {
    let env = verified(&["a"]);
    env.write("tests/test_a.py", "def test_one():\n    assert f() == 1\n");
    env.write("ralph.toml", "[[gate]]\nname = \"any\"\ncommand = \"true\"\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "a test"]);
    let deletes = session(&[sh("rm tests/test_a.py"), say("<task-done>a</task-done>")]);
    build(&env, &[&deletes, &fails("tests/test_a.py is gone")], &["--once"]);
    let text = run_file(&env, "iteration-001.verifier.task.md");
    let (_, closely) = text.split_once("## Check closely").unwrap();
    assert!(closely.contains("tests/test_a.py"), "{text}");
    assert_eq!(status(&env, "a"), "open");
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

#[test]
fn a_red_gate_costs_no_verifier() {
    let env = verified(&["a"]);
    env.write("ralph.toml", "[[gate]]\nname = \"never\"\ncommand = \"false\"\n");
    build(&env, &[&works()], &["--once"]);
    assert_eq!((classes(&env), verification(&env, "a")), (vec!["red".to_owned()], json!(null)));
    assert!(of_kind(&journal(&env), "verifying").is_empty());
}

#[test]
fn a_limit_that_the_verifier_meets_is_waited_out_and_the_work_is_not_done_again() {
    let env = verified(&["a"]);
    let limited = r#"{"do":"limit","reset_in":"1s"}"#;
    let ran = build(&env, &[&works(), limited, &passes()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let task = show(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("done"), &json!(0)));
    assert_eq!(classes(&env), ["done"]);
    let journal = journal(&env);
    assert_eq!(of_kind(&journal, "wait_started")[0]["why"], "limit");
    assert_eq!(of_kind(&journal, "iteration_started").len(), 1);
}

#[test]
fn what_a_verifier_costs_is_in_the_attempt_and_in_the_run() {
    let usage = |usd: &str| format!(r#"{{"do":"usage","input":100,"output":10,"usd":{usd}}}"#);
    let work = format!("{}\n{}", usage("0.30"), works());
    let pass = format!("{}\n{}", usage("0.05"), passes());
    let env = verified(&["a"]);
    let ran = build(&env, &[&work, &pass], &[]);
    assert!(ran.stderr.contains("$0.35"), "{}", ran.stderr);
    assert_eq!(show(&env, "a")["attempts"][0]["end"]["cost_micro_usd"], 350_000);
    // What a session has used up, no verifier spends.
    let env = verified(&["a"]);
    let ran = build(&env, &[&work, &pass], &["--budget", "0.2"]);
    assert_eq!(ran.code, 8, "{}", ran.stderr);
    assert!(ran.stderr.contains("no budget is left for the verifier"), "{}", ran.stderr);
    assert_eq!(status(&env, "a"), "open");
    assert_eq!(std::fs::read_to_string(env.repo().join("a.txt")).unwrap(), "work\n");
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

#[test]
fn ctrl_c_while_it_verifies_leaves_the_task_as_it_was() {
    let env = verified(&["a"]);
    let slow = session(&[gate_step("verifying", "go-on"), say(PASS)]);
    let child = start(&env, &[&works(), &slow], &[]);
    // The checkout lies elsewhere: the step cannot use `..`.
    wait_for_event(&env, "the verifier", |event| event["kind"] == "verifying");
    ralph_testkit::send_signal("TERM", child.id());
    let ran = Ran::end_of(child);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    let task = show(&env, "a");
    assert_eq!((&task["status"], &task["retry_count"]), (&json!("open"), &json!(0)));
    assert_eq!(std::fs::read_to_string(env.repo().join("a.txt")).unwrap(), "work\n");
}

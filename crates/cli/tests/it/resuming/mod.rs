//! An interrupted run goes on as the same run: its limit, scope, plan, preset, budget and flags, unless the
//! next call says otherwise.

mod killed;
mod lanes;

use std::path::Path;

use ralph_testkit::{Ran, TestEnv};
use serde_json::Value;

use crate::looping::{arguments, cassette, journal, of_kind, say, session, works, write};

/// A repository with these tasks.
fn project(tasks: &[&str]) -> TestEnv {
    let mut env = crate::looping::project(tasks);
    env.leaves_processes("its runs are killed");
    env
}

/// Runs ralph and kills it where it passes this point.
fn killed_at(env: &TestEnv, point: &str, arguments: &[&str]) {
    let mut command = env.command(arguments);
    let output = command.env("RALPH_TEST_CRASH", point).output().unwrap();
    assert_eq!(output.status.code(), None, "{}", String::from_utf8_lossy(&output.stderr));
}

/// A run with these sessions and arguments, killed after its first iteration.
fn cut_off(env: &TestEnv, sessions: &[&str], extra: &[&str]) {
    cassette(env, sessions);
    killed_at(env, "iteration-ended", &arguments(extra));
}

/// The policy of the newest run.
fn policy(env: &TestEnv) -> Value {
    of_kind(&journal(env), "run_started")[0]["policy"].clone()
}

fn sessions(env: &TestEnv) -> usize {
    of_kind(&journal(env), "session_started").len()
}

fn goes_on(env: &TestEnv, arguments: &[&str], code: i32) -> Ran {
    let ran = env.ralph(arguments);
    assert_eq!(ran.code, code, "{}", ran.stderr);
    ran
}

#[test]
fn the_next_build_has_what_is_left_of_the_limit_and_the_flags_of_the_interrupted_one() {
    let env = project(&["a", "b", "c", "d", "e"]);
    let all = vec![works(); 5];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    cut_off(&env, &all, &["3", "--max-retries", "7", "--timeout", "9m"]);
    let ran = goes_on(&env, &["build"], 0);
    assert_eq!(sessions(&env), 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("max iterations (3) reached"), "{}", ran.stderr);
    for kept in ["1 of 3 sessions used", "agent.name=script", "loop.max_retries=7", "--new"] {
        assert!(ran.stderr.contains(kept), "{kept}: {}", ran.stderr);
    }
    assert_eq!(policy(&env)["retries"], 7);
    // It ended by its limit, so the next one is a run of its own.
    let ran = env.ralph(&arguments(&["--once"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains("resumes"), "{}", ran.stderr);
}

#[test]
fn flags_of_the_call_win_one_by_one_and_a_number_means_so_many_more() {
    let env = project(&["a", "b", "c", "d", "e"]);
    cut_off(&env, &[&works(), &works(), &works()], &["4", "--max-retries", "7", "--model", "opus"]);
    goes_on(&env, &["build", "1", "--max-retries", "2"], 0);
    let policy = policy(&env);
    assert_eq!((&policy["max_sessions"], &policy["retries"]), (&2.into(), &2.into()));
    assert_eq!(policy["strategy"]["fixed"]["tier"], "opus", "{policy}");
}

#[test]
fn new_starts_over_and_so_does_clean() {
    for start_over in [&["build", "--new"][..], &["clean"]] {
        let env = project(&["a", "b"]);
        cut_off(&env, &[&works(), &works()], &["2"]);
        let ran = match start_over {
            ["clean"] => {
                goes_on(&env, &["clean"], 0);
                env.ralph(&arguments(&[]))
            }
            _ => env.ralph(&arguments(&["--new"])),
        };
        assert!(!ran.stderr.contains("resumes"), "{}", ran.stderr);
        assert_eq!(policy(&env)["max_sessions"], 20);
    }
}

#[test]
fn a_feature_a_task_and_a_preset_stay_those_of_the_interrupted_run() {
    let env = project(&["a", "b"]);
    env.ralph(&["feature", "create", "login"]).success();
    for task in ["x", "y"] {
        env.task(&["add", task, "--id", task, "--feature", "login"]);
    }
    cassette(&env, &[&works(), &works()]);
    let mut call = arguments(&["login"]);
    call[0] = "run";
    killed_at(&env, "iteration-ended", &call);
    let ran = goes_on(&env, &["run"], 0);
    assert!(ran.stderr.contains("feature login"), "{}", ran.stderr);
    assert_eq!(crate::looping::status(&env, "a"), "open", "it is not of the feature");
    assert_eq!(crate::looping::status(&env, "y"), "done");

    cut_off(
        &env,
        &[&works(), &works()],
        &["--task", "a", "--preset", "pick", "--max-retries", "9"],
    );
    let ran = env.ralph(&["build", "--dry-run"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    env.ralph(&["build", "1"]);
    assert_eq!(policy(&env)["preset"], "pick");
    let started = journal(&env);
    assert_eq!(of_kind(&started, "run_started")[0]["target"], "task a");
}

#[test]
fn a_plan_that_was_named_is_gone_on_with_also_from_another_folder() {
    let env = project(&[]);
    env.write("app/TODO.md", "# Todo\n\n- [ ] one\n- [ ] two\n- [ ] three\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "plan"]);
    let ticks = |n: usize| {
        let checkboxes = ["one", "two", "three"].iter().enumerate();
        let text: String = checkboxes
            .map(|(i, name)| format!("- [{}] {name}\n", if i < n { "x" } else { " " }))
            .collect();
        session(&[
            write("app/TODO.md", &format!("# Todo\n\n{text}")),
            write(&format!("work-{n}.txt"), "work\n"),
            say("ticked"),
        ])
    };
    cassette(&env, &[&ticks(1), &ticks(2), &ticks(3)]);
    let in_folder = |folder: &str, arguments: &[&str]| {
        let mut command = env.command(arguments);
        command.current_dir(env.repo().join(folder));
        command
    };
    let cassette = env.folder().join("cassette.jsonl");
    let set = format!("agent.script.path={}", cassette.display());
    let call = ["build", "TODO.md", "--agent", "script", "--set", &set];
    let output =
        in_folder("app", &call).env("RALPH_TEST_CRASH", "iteration-ended").output().unwrap();
    assert_eq!(output.status.code(), None, "{}", String::from_utf8_lossy(&output.stderr));
    let output = in_folder("app", &["build", "1"]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && printed.contains("plan app/TODO.md"), "{printed}");
    // That one ended by its limit. The plan is still there, so it is named and not called gone.
    let output = in_folder("app", &["build", "--agent", "script", "--set", &set]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("ralph build app/TODO.md") && !printed.contains("gone"), "{printed}");
}

#[test]
fn a_budget_is_that_of_all_parts_of_the_run_together() {
    let env = project(&["a", "b", "c", "d"]);
    let costs = session(&[
        write("{id}.txt", "work\n"),
        r#"{"do":"usage","input":10,"output":10,"usd":0.6}"#.to_owned(),
        say("<task-done>{id}</task-done>"),
    ]);
    cassette(&env, &[&costs, &costs, &costs, &costs]);
    killed_at(&env, "session-started:2", &arguments(&["--budget", "1"]));
    goes_on(&env, &["build"], 8);
    assert_eq!(sessions(&env), 1);
    assert_eq!(policy(&env)["budget"]["micro_usd"], 400_000);
}

#[test]
fn a_lower_sandbox_level_needs_its_flag_again() {
    let env = project(&["a", "b"]);
    cut_off(&env, &[&works(), &works()], &["--no-sandbox"]);
    assert_eq!(of_kind(&journal(&env), "run_started")[0]["level"], "none");
    let ran = goes_on(&env, &["build"], 0);
    let warned = "`sandbox.level = none` of the interrupted run is ignored";
    assert!(ran.stderr.contains(warned), "{}", ran.stderr);
    assert!(ran.stderr.contains("--set sandbox.level=none"), "{}", ran.stderr);
}

/// Without a sandbox a session could have written it.
#[test]
fn a_record_that_sessions_could_write_raises_no_limit() {
    let mut env = project(&["a", "b", "c"]);
    env.without_sandbox("it is about what a run without one leaves");
    cut_off(&env, &[&works(), &works(), &works()], &["500", "--once"]);
    // `--once` is a limit of one, which is used up.
    goes_on(&env, &["build"], 0);
    assert_eq!(sessions(&env), 0);
    cut_off(&env, &[&works(), &works(), &works()], &["500"]);
    goes_on(&env, &["build"], 0);
    assert_eq!(policy(&env)["max_sessions"], 20);
}

/// Kept by a session that is killed with its run, too: it was paid for.
#[test]
fn a_session_that_was_killed_has_used_its_place() {
    let env = project(&["a", "b", "c"]);
    cassette(&env, &[&works(), &works(), &works()]);
    killed_at(&env, "session-ended", &arguments(&["2"]));
    goes_on(&env, &["build"], 0);
    assert_eq!(sessions(&env), 1);
}

#[test]
fn a_plan_run_in_between_does_not_take_the_record_of_a_build() {
    let env = project(&["a", "b", "c"]);
    cut_off(&env, &[&works(), &works(), &works()], &["2"]);
    let plans = session(&[
        write("implementation_plan.md", "# Plan\n\n- [ ] one\n"),
        say("<promise>COMPLETE</promise>"),
    ]);
    cassette(&env, &[&plans, &works()]);
    let call = ["plan", "1", "--agent", "script", "--set", "agent.script.path=../cassette.jsonl"];
    assert_eq!(env.ralph(&call).code, 0);
    let ran = env.ralph(&arguments(&["--preset", "dag"]));
    assert!(ran.stderr.contains("1 of 2 sessions used"), "{}", ran.stderr);
}

/// A state file as 0.1 wrote it.
#[test]
fn a_state_file_of_the_first_version_is_gone_on_with() {
    let env = project(&["a", "b"]);
    let old = "active = true\niteration = 18\nmode = \"build\"\nstarted_at = \"2026-01-02T03:04:05.000Z\"\n\
               max_iterations = 20\nerror_count = 0\nconsecutive_errors = 0\nidle_iterations = 0\n\
               run = \"r-aaaaaaaa\"\npid = 1\npid_started = 0\nfinished = false\n";
    env.write(".ralph/state.toml", old);
    cassette(&env, &[&works(), &works()]);
    let ran = env.ralph(&arguments(&[]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("18 of 20 sessions used"), "{}", ran.stderr);
}

#[test]
fn the_record_is_the_users_alone_and_no_session_sees_it() {
    use std::os::unix::fs::PermissionsExt;
    let env = project(&["a"]);
    let looks = session(&[
        crate::looping::sh(
            "ls -laR ~/.local/state > seen.txt 2>&1; cat ~/.local/state/ralph/*/* >> seen.txt 2>&1; echo x > ~/.local/state/ralph/planted; true",
        ),
        say("<task-done>{id}</task-done>"),
    ]);
    cassette(&env, &[&looks]);
    let ran = env.ralph(&arguments(&[]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let state = env.home().join(".local/state/ralph");
    let mut kept = files(&state);
    kept.sort();
    let names: Vec<&str> =
        kept.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["build.toml", "dependencies", "trust.json", "trust.lock"], "{kept:?}");
    for path in &kept {
        let mode = std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", path.display());
    }
    if of_kind(&journal(&env), "run_started")[0]["level"] == "full" {
        let seen = std::fs::read_to_string(env.repo().join("seen.txt")).unwrap();
        assert!(!seen.contains("sessions_used"), "{seen}");
        assert!(!state.join("planted").exists());
    }
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn the_display_of_the_interrupted_run_is_not_kept() {
    let env = project(&["a", "b"]);
    let all = [works(), works()];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    cut_off(&env, &all, &["--max-retries", "7", "--set", "ui.mode=json"]);
    let ran = goes_on(&env, &["build"], 0);
    assert!(ran.stderr.contains("loop.max_retries=7"), "{}", ran.stderr);
    assert!(
        !ran.stderr.contains("ui.mode") && ran.stdout.is_empty(),
        "{} {}",
        ran.stderr,
        ran.stdout
    );
}

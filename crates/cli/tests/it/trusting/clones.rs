//! A clone that has deciding files and was never approved: asked once, refused without a terminal.

use super::*;
use crate::features::terminal::Terminal;

/// A repository with these files, and a clone of it beside it, with a task.
fn cloned(files: &[(&str, &str)]) -> TestEnv {
    let env = committed(&[], files);
    clone(&env, "clone");
    env
}

fn clone(env: &TestEnv, name: &str) {
    let to = env.folder().join(name);
    env.git(&["clone", "--quiet", ".", to.to_str().unwrap()]);
    let at = to.to_str().unwrap();
    env.git(&["-C", at, "config", "user.name", "Tester"]);
    env.git(&["-C", at, "config", "user.email", "tester@example.org"]);
    cassette(env, &[&works(), &works(), &works()]);
    env.ralph(&["-C", at, "task", "add", "a", "--id", "a"]).success();
}

/// Runs the loop in a clone.
fn run_in(env: &TestEnv, place: &str, extra: &[&str]) -> Ran {
    let at = env.folder().join(place);
    env.ralph(&[&["-C", at.to_str().unwrap()], &arguments(extra)[..]].concat())
}

#[test]
fn a_clone_with_files_that_decide_is_refused_without_a_terminal_and_nothing_runs() {
    for (file, text, decides) in [
        ("ralph.toml", SETTINGS, "gate proof: test -f proof.txt"),
        ("AGENTS.md", "```\nTEST_COMMAND=\"touch ../notes/ran\"\n```\n", "test command: touch"),
        ("PROMPT_build.md", "Do {{ task }}\nand more.\n", "instructions for the agent, 2 lines"),
    ] {
        let env = cloned(&[(file, text)]);
        let output = run_in(&env, "clone", &[]).failure(1);
        assert!(output.contains(&format!("you have not approved them: {file}")), "{output}");
        assert!(output.contains(decides), "{output}");
        assert!(output.contains("approve them: ralph trust"), "{output}");
        assert!(!env.note("ran").exists() && !env.folder().join("clone/.ralph/logs").exists());
        // Where it came from, and everywhere else, nobody is asked.
        cassette(&env, &[&works()]);
        let at_home = env.ralph(&arguments(&["--dry-run"]));
        assert!(!at_home.stderr.contains("approve"), "{}", at_home.stderr);
    }
}

#[test]
fn looking_at_a_clone_and_its_tasks_asks_nothing() {
    let env = cloned(&[("ralph.toml", SETTINGS)]);
    let at = env.folder().join("clone");
    for call in [
        &["status"][..],
        &["task", "list"],
        &["logs"],
        &["report"],
        &["config", "show"],
        &["recover"],
        &[
            "build",
            "--dry-run",
            "--agent",
            "script",
            "--set",
            "agent.script.path=../cassette.jsonl",
        ],
        &["trust", "--list"],
    ] {
        let ran = env.ralph(&[&["-C", at.to_str().unwrap()], call].concat());
        assert!(!ran.stderr.contains("you have not approved"), "{call:?}: {}", ran.stderr);
        assert!(ran.code == 0 || call == ["logs"], "{call:?}: {} {}", ran.code, ran.stderr);
    }
}

#[test]
fn a_clone_without_such_files_asks_nothing() {
    let env = cloned(&[("AGENTS.md", "Prose only.\n"), ("Makefile", "all:\n")]);
    let ran = run_in(&env, "clone", &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn a_clone_is_approved_once_and_its_worktrees_with_it() {
    let env = cloned(&[("ralph.toml", "[loop]\nlearn = false\n")]);
    let ran = run_in(&env, "clone", &["--trust"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("Trusted by --trust: ralph.toml"), "{}", ran.stderr);
    let at = env.folder().join("clone");
    let side = env.folder().join("side");
    env.git(&["-C", at.to_str().unwrap(), "worktree", "add", "-q", side.to_str().unwrap()]);
    for place in ["clone", "side"] {
        env.ralph(&["-C", at.to_str().unwrap(), "task", "add", place, "--id", place]).success();
        let again = run_in(&env, place, &[]);
        assert_eq!(again.code, 0, "{place}: {}", again.stderr);
        assert!(!again.stderr.contains("rusted"), "{place}: {}", again.stderr);
    }
}

#[test]
fn init_the_variable_and_a_folder_of_the_settings_approve_a_clone() {
    let mut env = cloned(&[("ralph.toml", "[loop]\nlearn = false\n")]);
    for name in ["second", "third"] {
        clone(&env, name);
    }
    let at = env.folder().join("clone");
    env.ralph(&["-C", at.to_str().unwrap(), "init"]).success();
    let no_gate = ["--no-verify"];
    assert_eq!(run_in(&env, "clone", &no_gate).code, 0);
    let config = env.home().join(".config/ralph/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    let folder = env.folder().canonicalize().unwrap();
    std::fs::write(&config, format!("[trust]\npaths = [\"{}/sec*\"]\n", folder.display())).unwrap();
    let ran = run_in(&env, "second", &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("Trusted by trust.paths"), "{}", ran.stderr);
    run_in(&env, "third", &[]).failure(1);
    env.set("RALPH_TRUST", "0");
    run_in(&env, "third", &[]).failure(1);
    env.set("RALPH_TRUST", "1");
    assert_eq!(run_in(&env, "third", &[]).code, 0);
    env.set("RALPH_TRUST", "");
    // From then on it is approved.
    let at = env.folder().join("third");
    let output = env.ralph(&["-C", at.to_str().unwrap(), "trust"]).success();
    assert!(output.contains("Nothing waits") && output.contains("You approved"), "{output}");
}

#[test]
fn another_clone_at_the_path_of_an_approved_one_asks_again() {
    let env = cloned(&[("ralph.toml", "[loop]\nlearn = false\n")]);
    assert_eq!(run_in(&env, "clone", &["--trust"]).code, 0);
    std::fs::remove_dir_all(env.folder().join("clone")).unwrap();
    clone(&env, "clone");
    run_in(&env, "clone", &[]).failure(1);
}

#[test]
fn doctor_runs_no_gate_of_a_clone_before_it_is_approved() {
    let env = cloned(&[("AGENTS.md", "```\nTEST_COMMAND=\"touch ran\"\n```\n")]);
    let at = env.folder().join("clone");
    let call = ["-C", at.to_str().unwrap(), "doctor"];
    let ran = env.ralph(&call);
    assert!(ran.stdout.contains("fail  trust"), "{}", ran.stdout);
    assert!(ran.stdout.contains("ralph trust"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("gate test") && !at.join("ran").exists(), "{}", ran.stdout);
    env.ralph(&["-C", at.to_str().unwrap(), "trust", "--yes"]).success();
    let ran = env.ralph(&call);
    assert!(
        ran.stdout.contains("ok    trust") && ran.stdout.contains("gate test"),
        "{}",
        ran.stdout
    );
}

#[test]
fn at_a_terminal_a_clone_asks_once_and_no_is_no() {
    let mut env = cloned(&[("ralph.toml", SETTINGS)]);
    let at = env.folder().join("clone");
    let at = at.to_str().unwrap().to_owned();
    env.set("TERM", "dumb");
    let call = [&["-C", at.as_str()], &arguments(&["--once"])[..]].concat();
    let Some(mut terminal) = Terminal::call(&env, &call) else { return };
    terminal.reply("Trust them from now on? [y/N] ", 1, "n\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 1, "{screen}");
    assert!(screen.contains("gate proof: test -f proof.txt"), "{screen}");
    assert!(screen.contains("nothing was started"), "{screen}");
    let Some(mut terminal) = Terminal::call(&env, &call) else { return };
    terminal.reply("Trust them from now on? [y/N] ", 1, "y\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    let Some(terminal) = Terminal::call(&env, &call) else { return };
    let (_, screen) = terminal.end();
    assert!(!screen.contains("[y/N]"), "{screen}");
}

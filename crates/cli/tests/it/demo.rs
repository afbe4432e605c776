//! `ralph demo`: what a stranger sees first.

use std::process::Command;
use std::time::Duration;

use ralph_engine::clock::Stopwatch;
use ralph_testkit::{TestEnv, skip};

use crate::RALPH;

/// The demo in a home of its own; stdout and stderr go into one text, as on a terminal.
fn demo(env: &TestEnv, options: &str) -> (String, Duration) {
    let temp = env.folder().join("tmp");
    std::fs::create_dir_all(&temp).unwrap();
    let clock = Stopwatch::start();
    let ran = shell(env, &format!("\"$0\" demo {options} 2>&1")).env("TMPDIR", &temp).output();
    let output = ran.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    (text, clock.elapsed())
}

/// A shell in the environment of the test; `$0` is the ralph under test.
fn shell(env: &TestEnv, script: &str) -> Command {
    let call = env.command(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(RALPH).env_clear().current_dir(env.folder());
    command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[test]
fn the_demo_shows_the_whole_loop_and_leaves_nothing() {
    let env = TestEnv::without_repository(RALPH);
    let (text, took) = demo(&env, "");
    for part in [
        "$ ralph task add \"Greet the user by name\" --id greet\n",
        "$ ralph task tree\n",
        "$ ralph build\n",
        "  plan       0 of 3 done, 2 blocked\n",
        "  ✗ docs  ",
        "    │ FAILED: README.md does not mention --loud\n",
        "✗ retry    loud  gate docs failed (exit code 1)",
        "✓ All 3 tasks done.\n  plan       3 of 3 done\n",
        "✗ retry    usage  verification failed: without a name it exits with 0",
        "$ ralph task show usage\n",
        "$ git log --oneline\n",
        "✓ 3 tasks done, 5 sessions, 2 of them rejected",
        "  ralph init ",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Red first, then green, and both are evidence.
    let red = text.find("✗ retry    loud").unwrap();
    let green = text.find("✓ done     loud").unwrap();
    assert!(red < green, "{text}");
    let (_, page) = text.split_once("$ ralph task show usage\n").unwrap();
    let section = |heading: &str| {
        let (_, section) = page.split_once(heading).unwrap();
        section.split("\n\n").next().unwrap()
    };
    let newest = section("\nAttempt 2 of 2\n");
    assert!(newest.starts_with("  done  "), "{newest}");
    assert!(
        newest.contains("    passed    test  ") && newest.contains("    accepted  verifier  "),
        "{newest}"
    );
    assert!(newest.contains("\n  changed ") && newest.contains(", commit "), "{newest}");
    let earlier = section("\nEarlier attempts ");
    assert!(earlier.contains("\n   1  the verifier rejected it  "), "{page}");
    assert_eq!(text.matches("\n✓ done     ").count(), 3);
    assert!(!text.contains('\u{1b}'), "colors without a terminal");
    // A second where nothing else runs; other tests write to the same disk.
    assert!(took < Duration::from_secs(30), "it took {took:?}");
    let left: Vec<_> = std::fs::read_dir(env.folder().join("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(std::fs::read_dir(env.home()).unwrap().next().is_none(), "the home was written to");
}

/// On a terminal of 80 columns, without colours.
#[test]
fn the_demo_fits_a_small_terminal_and_needs_no_colors() {
    let mut env = TestEnv::without_repository(RALPH);
    env.set("COLUMNS", "80").set("NO_COLOR", "1").set("TERM", "xterm");
    if !shell(&env, "command -v script").output().unwrap().status.success() {
        return skip("the demo on a terminal: there is no program script here");
    }
    let ran = shell(&env, "script -qec \"'$0' demo\" /dev/null").output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.contains("✓ 3 tasks done"), "{text}");
    // The last line of a run is rewritten; that is the only thing that needs a terminal.
    let plain = text.replace("\u{1b}[2K", "");
    assert!(plain.contains("1/3 done · ") && !plain.contains('\u{1b}'), "{plain}");
    for line in plain.split(['\r', '\n']) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

/// Whatever a person has set for all repositories.
#[test]
fn the_demo_does_not_mind_the_settings_of_its_user() {
    let mut env = TestEnv::without_repository(RALPH);
    std::fs::create_dir_all(env.home().join("hooks")).unwrap();
    let hook = env.home().join("hooks/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    std::os::unix::fs::symlink("/bin/false", env.home().join("hooks/commit-msg")).unwrap();
    let config = format!(
        "[commit]\n\tgpgsign = true\n[user]\n\tuseConfigOnly = true\n[core]\n\thooksPath = {}\n\tautocrlf = true\n[init]\n\tdefaultBranch = trunk\n[log]\n\tdecorate = full\n\tshowSignature = true\n",
        env.home().join("hooks").display()
    );
    std::fs::write(env.home().join(".gitconfig"), config).unwrap();
    std::fs::create_dir_all(env.home().join(".config/ralph")).unwrap();
    std::fs::write(env.home().join(".config/ralph/config.toml"), "[agent]\nname = \"claude\"\n")
        .unwrap();
    env.set("RALPH_AGENT_NAME", "claude").set("RALPH_AGENT_ID", "nobody");
    let (text, _) = demo(&env, "--color=always");
    assert!(text.contains("3 tasks done") && text.contains("\u{1b}[32m✓"), "{text}");
}

#[test]
fn the_demo_can_be_kept_and_looked_at() {
    let env = TestEnv::without_repository(RALPH);
    let (text, _) = demo(&env, "--keep");
    let line = text.lines().find(|line| line.contains("the repository of this demo")).unwrap();
    let place = line.trim().strip_prefix("cd ").unwrap().split("  ").next().unwrap();
    let call = ["-C", place, "status"];
    let page = env.ralph(&call).success();
    assert!(page.starts_with("All 3 tasks done.\n"), "{page}");
    assert!(!page.contains("last error"), "{page}");
}

//! `ralph demo` and bare `ralph`.

use ralph_testkit::TestEnv;

use crate::{RALPH, env};

#[test]
fn the_demo_shows_the_whole_thing_and_leaves_nothing() {
    let env = TestEnv::without_repository(RALPH);
    let mut command = env.command(&["demo"]);
    let temp = env.folder().join("tmp");
    std::fs::create_dir(&temp).unwrap();
    let output = command.env("TMPDIR", &temp).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for part in [
        "$ ralph task tree",
        "RALPH_AGENT_ID=ada ralph task claim",
        "0 tasks left or claimed twice",
        "ralph help task",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "colours without a terminal");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "a line is too wide");
    assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 0, "something was left behind");
}

#[test]
fn bare_ralph_says_where_the_plan_stands_and_what_to_type() {
    let nowhere = TestEnv::without_repository(RALPH);
    assert!(nowhere.ralph(&[]).success().contains("git init"));
    let env = env();
    assert!(env.ralph(&[]).success().contains("ralph task add"));
    env.task(&["add", "First", "--id", "a"]);
    let text = env.ralph(&[]).success();
    assert!(
        text.starts_with("1 open, 0 active, 0 done") && text.contains("ralph task ready"),
        "{text}"
    );
    env.task(&["claim"]);
    env.task(&["done", "a"]);
    assert!(env.ralph(&[]).success().contains("everything is done or failed"));
}

//! What becomes of work that gates and the verifier judge.

use ralph_core::records::Verdict;
use ralph_core::run::StopReason;
use ralph_core::task::{RetryLimit, Status};

use crate::kit::{Inside, World, done, says};

fn wants(path: &'static str) -> impl Fn(&Inside) -> (i32, String) {
    move |files| match files.read(path) {
        Some(_) => (0, String::new()),
        None => (1, format!("FAILED: {path} is missing\n")),
    }
}

#[test]
fn a_failing_gate_returns_the_task_with_its_output() {
    let plays = [done().writes("a.txt", "1"), done().writes("test.txt", "1")];
    let played = World::new(&["a"]).plays(plays).gate("unit", wants("test.txt")).run();
    assert_eq!(*played.reason(), StopReason::Complete);
    let prompt = played.prompt(2);
    assert!(prompt.contains("FAILED: test.txt is missing"), "{prompt}");
    assert_eq!(played.commits(), ["build: iteration 2 - Title of a"]);
    let log = played.vcs.log();
    let last = log.last().unwrap();
    let committed = |path| played.vcs.file_in(&last.id, path).is_some();
    assert!(committed("a.txt") && committed("test.txt"), "the work of both sessions is one commit");
    let evidence = played.store().evidence(&played.task("a").id).unwrap();
    let verdicts: Vec<(&str, Verdict)> =
        evidence.iter().map(|row| (row.judge.as_str(), row.verdict)).collect();
    assert_eq!(verdicts, [("unit", Verdict::Fail), ("unit", Verdict::Pass)]);
}

#[test]
fn a_task_that_never_passes_fails_and_its_work_is_saved_and_reverted() {
    let bad = || done().writes("bad.txt", "1");
    let mut world = World::new(&["a", "b"])
        .plays([bad(), bad(), done().writes("b.txt", "1")])
        .gate("unit", |files| match files.read("bad.txt") {
            Some(_) => (1, "bad.txt breaks it".to_owned()),
            None => (0, String::new()),
        });
    world.policy.retries = RetryLimit::AtMost(1);
    let played = world.run();
    assert_eq!(played.task("a").status, Status::Failed);
    assert_eq!(played.task("b").status, Status::Done, "the next task is not blamed for it");
    assert_eq!(played.commits(), ["build: iteration 3 - Title of b"]);
    assert_eq!(played.vcs.read("bad.txt"), None);
    assert!(played.vcs.refs().keys().any(|name| name.starts_with("refs/ralph/wip/a/")));
}

#[test]
fn a_verifier_that_says_no_returns_the_task_with_its_reason() {
    let plays = [
        done().writes("a.txt", "1"),
        says("<verify-fail>there is no test</verify-fail>"),
        done().writes("test.txt", "1"),
        says("<verify-pass/>"),
    ];
    let played = World::new(&["a"]).plays(plays).verified().run();
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.sessions, 4);
    let prompt = played.prompt(2);
    assert!(prompt.contains("there is no test"), "{prompt}");
    assert_eq!(played.task("a").retry_count, 1);
}

#[test]
fn a_session_without_a_signal_is_named_in_the_next_prompt() {
    let plays = [says("I looked around."), done().writes("a.txt", "1")];
    let played = World::new(&["a"]).plays(plays).run();
    assert_eq!(*played.reason(), StopReason::Complete);
    let prompt = played.prompt(2);
    assert!(prompt.contains("ended without a valid signal"), "{prompt}");
}

#[test]
fn a_signal_for_another_task_finishes_nothing() {
    let plays = [says("<task-done>other</task-done>").writes("a.txt", "1"), done()];
    let played = World::new(&["a"]).plays(plays).run();
    assert_eq!(played.sessions, 2);
    assert_eq!(played.commits(), ["build: iteration 2 - Title of a"]);
}

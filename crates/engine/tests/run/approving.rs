//! Work that waits for the user: approved work lands without a session, rejected work is retried with the reason.

use ralph_core::TaskId;
use ralph_core::run::{Approve, Class, Policy, StopReason};
use ralph_core::task::{RetryLimit, Status};

use crate::kit::{Inside, Played, World, done, user};

fn world(tasks: &[&str], approve: Approve) -> World {
    let change = move |policy: &mut Policy| {
        policy.approve = approve;
        policy.approve_lines = 3;
    };
    World::new(tasks).gate("test", |_: &Inside| (0, String::new())).policy(change)
}

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

fn subjects(played: &Played) -> Vec<String> {
    played.vcs.log().into_iter().map(|commit| commit.subject).collect()
}

#[test]
fn green_work_waits_saved_with_its_evidence_and_the_run_says_what_to_type() {
    let mut world = world(&["a"], Approve::Always);
    let played = world.build([done().writes("a.txt", "a\n")]);
    assert_eq!((played.status("a"), played.classes()), (Status::Waiting, vec![Class::Approval]));
    assert_eq!((subjects(&played), played.outcome.code()), (vec!["first".to_owned()], 7));
    let StopReason::Blocked { why } = played.reason() else { panic!("{:?}", played.reason()) };
    assert!(why.contains("waiting for your approval: a (ralph approve a)"), "{why}");
    let name = played.vcs.refs().into_keys().find(|name| name == "refs/ralph/wip/a/1");
    assert!(name.is_some(), "{:?}", played.vcs.refs());
    assert!(played.evidence("a").iter().any(|row| row.judge == "test"));
}

#[test]
fn approved_work_lands_exactly_as_judged_without_a_session() {
    let mut world = world(&["a"], Approve::Always);
    let first = world.build([done().writes("a.txt", "a\n")]);
    let tree = first.evidence("a").last().unwrap().tree.clone();
    world.store().approve(&id("a"), &user(), world.now()).unwrap();
    let played = world.build([]);
    assert_eq!((played.status("a"), played.sessions), (Status::Done, 0), "{}", played.log("a"));
    assert_eq!(*played.reason(), StopReason::Complete);
    let log = played.vcs.log();
    assert_eq!(log.last().unwrap().tree, tree);
    // It is decided: nothing waits any more.
    assert!(world.store().approve(&id("a"), &user(), world.now()).is_err());
}

#[test]
fn a_rejection_uses_up_a_retry_and_its_reason_is_in_the_next_prompt() {
    let mut world = world(&["a"], Approve::Always);
    world.build([done().writes("a.txt", "a\n")]);
    let now = world.now();
    let became =
        world.store().reject(&id("a"), "keep the name", RetryLimit::AtMost(3), &user(), now);
    assert_eq!(became.unwrap(), Status::Pending);
    assert_eq!(world.store().get(&id("a")).unwrap().retry_count, 1);
    let played = world.build([done().writes("a.txt", "b\n")]);
    assert_eq!((played.status("a"), played.sessions), (Status::Waiting, 1));
    let prompt = played.prompt(1);
    assert!(prompt.contains("keep the name"), "{prompt}");
}

#[test]
fn a_rejection_without_a_retry_left_fails_the_task() {
    let mut world = world(&["a"], Approve::Always);
    world.build([done().writes("a.txt", "a\n")]);
    let now = world.now();
    let became = world.store().reject(&id("a"), "no", RetryLimit::AtMost(0), &user(), now);
    assert_eq!(became.unwrap(), Status::Failed);
}

#[test]
fn a_task_that_waits_for_something_else_cannot_be_approved() {
    let world = world(&["a"], Approve::Always);
    world.store().hold(&id("a"), &user(), world.now()).unwrap();
    let refused = world.store().approve(&id("a"), &user(), world.now()).unwrap_err().to_string();
    assert_eq!(refused, "a is waiting, and no work of it waits for approval");
}

#[test]
fn risky_work_waits_for_its_cause_and_other_work_does_not() {
    let small = world(&["a"], Approve::Risky).build([done().writes("a.txt", "1\n2\n3\n")]);
    assert_eq!(small.status("a"), Status::Done);
    for (path, text, why) in [
        ("a.txt", "1\n2\n3\n4\n", "it changes 4 lines, more than 3"),
        (".env", "1\n", "files that look like secrets (.env)"),
        ("golden.txt", "1\n", "protected files (golden.txt)"),
        ("tests/test_a.py", "", "it weakens tests"),
    ] {
        let test = "def test_a():\n    assert 1\n";
        let mut world = world(&["a"], Approve::Risky).has("tests/test_a.py", test);
        world.rules.protected = ralph_core::glob::Patterns::read(["golden.txt"]).unwrap();
        let played = world.build([done().writes(path, text)]);
        assert_eq!(played.status("a"), Status::Waiting, "{why}");
        assert!(played.log("a").contains(why), "{}", played.log("a"));
    }
}

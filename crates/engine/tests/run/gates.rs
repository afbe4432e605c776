//! Gates, evidence, retries.

use ralph_core::records::Verdict;
use ralph_core::run::{Class, Fact, StopReason};
use ralph_core::task::{RetryLimit, Status};

use crate::kit::{Inside, World, done, works};

fn wants(path: &'static str) -> impl Fn(&Inside) -> (i32, String) {
    move |files| (i32::from(files.read(path).is_none()), String::new())
}

#[test]
fn s1_34_green_gates_make_it_done_and_the_evidence_is_kept() {
    let played = World::new(&["a"]).gate("check", wants("a.txt")).build([works()]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let evidence = &played.evidence("a")[0];
    assert_eq!((evidence.judge.as_str(), evidence.verdict), ("check", Verdict::Pass));
    assert_eq!(evidence.exit_code, Some(0));
    assert_eq!(evidence.attempt.as_ref(), Some(&played.attempts("a")[0].id));
    let log = played.vcs.log();
    assert_eq!(evidence.tree, log.last().unwrap().tree, "what was judged is what was committed");
}

#[test]
fn s4_18_red_gates_bring_the_task_back_with_what_they_found() {
    let second = done().writes("good.txt", "x\n");
    let gate = |files: &Inside| match files.read("good.txt") {
        Some(_) => (0, String::new()),
        None => (3, "good.txt is missing".to_owned()),
    };
    let played = World::new(&["a"]).gate("check", gate).build([works(), second]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.classes(), [Class::Red, Class::Done]);
    assert_eq!(played.task("a").retry_count, 1);
    let evidence = played.evidence("a");
    let verdicts: Vec<Verdict> = evidence.iter().map(|row| row.verdict).collect();
    assert_eq!(verdicts, [Verdict::Fail, Verdict::Pass]);
    assert_eq!(evidence[0].exit_code, Some(3));
    assert!(played.file("iteration-001.gate-check.log").contains("good.txt is missing"));
    assert!(played.prompt(2).contains("good.txt is missing"));
    // One commit, for what was green.
    assert_eq!(played.commits(), ["build: iteration 2 - Title of a"]);
}

#[test]
fn max_retries_are_retries_after_the_first_attempt() {
    let gate = |files: &Inside| (i32::from(files.read("a.txt").is_some()), String::new());
    let mut world = World::new(&["a", "b"]).gate("check", gate).policy(|policy| {
        policy.retries = RetryLimit::AtMost(1);
        policy.strict_exit = true;
    });
    let played = world.build([works(), works(), works()]);
    assert_eq!(played.outcome.code(), 1, "complete, and one failed: {:?}", played.reason());
    assert_eq!((played.status("a"), played.attempts("a").len()), (Status::Failed, 2));
    let reason = played.reason_of("a");
    assert!(reason.starts_with("gave up after 2 attempts, last: gate check failed"), "{reason}");
    assert_eq!(played.status("b"), Status::Done);
}

#[test]
fn gates_run_in_order_and_the_first_red_one_decides() {
    let says = |code| move |_: &Inside| (code, String::new());
    let world = World::new(&["a"]).gate("one", says(0)).gate("two", says(1));
    let world = world.gate("three", |files| {
        files.write("three", "");
        (0, String::new())
    });
    let played = world.once().build([works()]);
    let gates = played.facts().find_map(|fact| match fact {
        Fact::Judged { gates, .. } => Some(gates),
        _ => None,
    });
    let names: Vec<&str> = gates.unwrap().iter().map(|gate| gate.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!(played.vcs.read("three"), None);
}

#[test]
fn work_of_a_red_session_is_where_the_next_one_starts() {
    let one = done().writes("one.txt", "1\n");
    let two = done().does(|files| files.write("two.txt", &files.read("one.txt").unwrap()));
    let played = World::new(&["a"]).gate("check", wants("two.txt")).build([one, two]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.commits().len(), 1);
    assert_eq!(played.committed("one.txt").as_deref(), Some("1\n"));
    assert_eq!(played.committed("two.txt").as_deref(), Some("1\n"));
}

#[test]
fn a_gate_that_cannot_run_with_or_without_the_work_stops_the_run_and_charges_nobody() {
    let gate = |_: &Inside| (127, "begins\nsh: 1: nosuchtool: not found".to_owned());
    let played = World::new(&["a", "b"]).gate("check", gate).build([works(), works()]);
    assert_eq!(played.outcome.code(), 3, "{:?}", played.reason());
    let StopReason::GateUnusable { why } = played.reason() else { panic!("{:?}", played.reason()) };
    let output = "gate check cannot run (exit code 127, also without the agent's changes)";
    assert!(why.contains(output) && why.contains("nosuchtool"), "{why}");
    assert_eq!(played.sessions, 1);
    let task = played.task("a");
    assert_eq!((task.status, task.retry_count), (Status::Pending, 0));
}

#[test]
fn a_gate_that_the_work_has_broken_is_red() {
    let gate = |files: &Inside| match files.read("check.sh") {
        Some(_) => (0, String::new()),
        None => (127, "sh: 1: ./check.sh: not found".to_owned()),
    };
    let mut world = World::new(&["a", "b"]).has("check.sh", "true\n").gate("check", gate).once();
    let played = world.build([done().removes("check.sh")]);
    assert_eq!((played.outcome.code(), played.classes()), (0, vec![Class::Red]));
    assert_eq!(played.reason_of("a"), "gate check failed (exit code 127): command not found");
}

#[test]
fn every_exit_code_but_0_is_red() {
    for code in [1, 2, 3, 42, 130, 255] {
        let gate = move |_: &Inside| (code, String::new());
        let played = World::new(&["a"]).gate("check", gate).once().build([works()]);
        assert_eq!(played.classes(), [Class::Red], "{code}");
    }
}

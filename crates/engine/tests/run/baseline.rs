//! Gates that run before the first session: old failures and new ones.

use ralph_core::run::{Cancel, Class, Control, StopReason};
use ralph_core::task::Status;

use crate::kit::{Inside, Play, World, works};

/// A gate that prints like cargo: a failing test for each line of `failing`, and as many that pass as `passing` says.
fn cargo(files: &Inside) -> (i32, String) {
    let failing = files.read("failing").unwrap_or_default();
    if failing.is_empty() {
        return (0, String::new());
    }
    let mut text: String =
        failing.lines().map(|test| format!("test {test} ... FAILED\n")).collect();
    let passing = files.read("passing").unwrap_or_default();
    if !passing.is_empty() {
        text += &format!("test result: FAILED. {} passed; 1 failed;\n", passing.trim());
    }
    (101, text)
}

fn world(failing: &str) -> World {
    let world = World::new(&["a"]).has("failing", failing).has("passing", "3\n");
    let mut world = world.gate("check", cargo);
    world.rules.baseline = true;
    world
}

fn leaves(failing: &str) -> Play {
    works().writes("failing", failing)
}

#[test]
fn new_failures_are_red_and_distinguished_from_old_ones() {
    let played = world("old\n").build([leaves("old\nnew\n"), leaves("old\n")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.classes(), [Class::Red, Class::Done]);
    let prompt = played.prompt(2);
    let lines: Vec<&str> = prompt.lines().map(str::trim).collect();
    let text = ["New failing tests:", "- new", "", "Also failing before the run:", "- old"];
    assert!(lines.windows(text.len()).any(|window| window == text), "{prompt}");
    let log = played.log("a");
    assert!(log.contains("gate check failed (exit code 101): New failing tests: new"), "{log}");
}

#[test]
fn old_failures_are_not_excused_where_the_other_tests_no_longer_pass() {
    let breaks = |passing: &str| works().writes("passing", passing);
    // Fewer pass; nothing but the name of the old failure is printed; honest again.
    let played = world("old\n").build([breaks("2\n"), breaks(""), breaks("3\n")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    assert_eq!(played.classes(), [Class::Red, Class::Red, Class::Done]);
    let prompt = played.prompt(2);
    assert!(prompt.contains("Fewer tests passed than before the run: 2 instead of 3."), "{prompt}");
    let prompt = played.prompt(3);
    let none = "ralph counted no passing test; before the run it counted 3.";
    assert!(prompt.contains(none), "{prompt}");
}

#[test]
fn without_a_baseline_old_failures_are_red() {
    let mut world = world("old\n").once();
    world.rules.baseline = false;
    let played = world.build([leaves("old\n")]);
    assert_eq!(played.classes(), [Class::Red]);
    assert!(played.reason_of("a").ends_with("Failing tests: old"), "{}", played.reason_of("a"));
}

#[test]
fn a_green_baseline_is_reported_and_changes_nothing() {
    let played = world("").build([leaves("new\n"), leaves("")]);
    assert!(played.noticed().contains("gate check passes before the run"), "{}", played.noticed());
    assert_eq!(played.classes(), [Class::Red, Class::Done]);
}

#[test]
fn a_run_that_is_cancelled_while_the_gates_run_first_ends_at_once() {
    let slow = |inside: &Inside| {
        inside.send_control(&Control::Cancel(Cancel::AfterSession));
        inside.stay();
        (0, String::new())
    };
    let mut world = World::new(&["a"]).gate("slow", slow);
    world.rules.baseline = true;
    let played = world.build([works()]);
    assert_eq!(played.outcome.code(), 130, "{:?}", played.reason());
    assert_eq!((played.status("a"), played.sessions), (Status::Pending, 0));
    assert!(!played.has_file("baseline.json"), "it says nothing");
}

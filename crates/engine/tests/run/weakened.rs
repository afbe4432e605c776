//! Tests that a session left weaker than they were, and protected files.

use ralph_core::glob::Patterns;
use ralph_core::records::Verdict;
use ralph_core::run::{Class, Notice, StopReason};
use ralph_core::task::Status;

use crate::kit::{Inside, Play, World, done, works};

const BEFORE: &str = "def test_adds():\n    assert add(1, 2) == 3\n\ndef test_fails():\n    \
                      with raises(ValueError):\n        add(None, 1)\n";
const SUMS: &str = "tests/test_sums.py";

/// A world with a test file and a gate that is always green.
fn tested() -> World {
    World::new(&["a", "b"]).has(SUMS, BEFORE).gate("tests", |_: &Inside| (0, String::new()))
}

fn patterns(lines: &str) -> Patterns {
    Patterns::read(lines.lines()).unwrap()
}

#[test]
fn weakened_tests_are_reported_and_stay_in_the_evidence() {
    let lazy = BEFORE.replace("add(1, 2) == 3", "True").replace("def test_f", "def helper_f");
    let played = tested().build([done().writes(SUMS, &lazy), done().writes("b.txt", "x\n")]);
    assert_eq!((played.reason(), played.status("a")), (&StopReason::Complete, Status::Done));
    let output = "tests are weaker than before: tests/test_sums.py: test_adds asserts nothing now \
                (1 before); tests/test_sums.py: test_fails was removed";
    let noticed = played.noticed();
    assert!(noticed.contains(output), "{noticed}");
    let rows = played.evidence("a");
    let row = rows.iter().find(|row| row.judge == "weakened tests").unwrap();
    assert_eq!((row.verdict, row.digest.as_str()), (Verdict::Pass, output));
    // The next task did nothing of the kind.
    assert!(!played.evidence("b").iter().any(|row| row.digest.contains("weaker")));
    let counts: Vec<u32> = played
        .notices()
        .filter_map(|notice| match notice {
            Notice::TestsWeakened { count, .. } => Some(*count),
            _ => None,
        })
        .collect();
    assert_eq!(counts, [2]);
}

#[test]
fn a_deleted_test_file_is_reported_and_a_moved_one_is_not() {
    let played = tested().once().build([done().removes(SUMS)]);
    let noticed = played.noticed();
    assert_eq!(played.outcome.code(), 0, "{:?}", played.reason());
    assert!(noticed.contains("tests/test_sums.py was deleted with 2 tests"), "{noticed}");
    let moved = done().removes(SUMS).writes("tests/test_numbers.py", BEFORE);
    let played = tested().once().build([moved]);
    assert_eq!(played.outcome.code(), 0, "{:?}", played.reason());
    assert!(!played.noticed().contains("weaker"), "{}", played.noticed());
}

#[test]
fn weakened_tests_are_refused_where_tests_are_protected() {
    let mut world = tested().once();
    world.rules.protected = patterns("tests/");
    world.rules.reject = true;
    let played = world.build([done().writes(SUMS, "")]);
    assert_eq!((played.outcome.code(), played.classes()), (0, vec![Class::Red]));
    let judges: Vec<String> = played.evidence("a").into_iter().map(|row| row.judge).collect();
    assert!(judges.contains(&"weakened tests".to_owned()), "{judges:?}");
    assert!(judges.contains(&"protected files".to_owned()), "{judges:?}");
}

const GOLDEN: &str = "tests/golden.txt";

/// A world in which these files are protected.
fn protecting(wanted: &str, reject: bool) -> World {
    let world = World::new(&["a"]).has(GOLDEN, "truth\n");
    let mut world = world
        .gate("test", |files: &Inside| (i32::from(files.read("a.txt").is_none()), String::new()));
    world.rules.protected = patterns(wanted);
    world.rules.reject = reject;
    world
}

fn changes(path: &str, text: &str) -> Play {
    works().writes(path, text)
}

#[test]
fn an_agent_that_commits_a_protected_file_is_refused_all_the_same() {
    let lies = changes(GOLDEN, "lies\n").commits("mine");
    let played = protecting("golden.txt", true).once().build([lies]);
    assert_eq!((played.outcome.code(), played.classes()), (0, vec![Class::Red]));
}

#[test]
fn without_gates_protected_files_do_not_count_as_proof() {
    let mut world = World::new(&["a"]).has(GOLDEN, "truth\n");
    world.rules.protected = patterns("tests/");
    let played = world.build([changes(GOLDEN, "lies\n")]);
    assert_eq!(*played.reason(), StopReason::Complete);
    let rows = played.evidence("a");
    assert!(rows.iter().any(|row| row.verdict == Verdict::Ungated));
    assert!(rows.iter().any(|row| row.digest.contains("protected files changed")));
}

//! What the points are, and what a run that is killed at two of them knows.

use std::collections::BTreeSet;

use ralph_core::task::Status;
use ralph_testkit::faults::World;

use super::setting;
use crate::env;

#[test]
fn a_commit_whose_done_was_cut_off_twice_is_still_taken_as_done() {
    // Nothing judges here, and a done that changed nothing is refused: what the first session
    // committed must still count as the change.
    let world = World::with(&setting(), &["plain"]);
    world.env.write("ralph.toml", "[completion]\nclaims = \"confirm\"\n");
    assert!(world.build(Some("after-commit")).was_killed());
    assert!(world.build(Some("claimed")).was_killed());
    let run = world.build(None);
    assert_eq!(run.end.code(), Some(0), "{}", world.output());
    assert_eq!(world.statuses()["plain"], Status::Done, "{}", world.output());
    assert!(!world.output().contains("No changes detected"), "{}", world.output());
}

#[test]
fn points_are_listed_for_tests_and_only_real_ones_can_be_armed() {
    let env = env();
    let points = env.ralph(&["__crash-points"]).success();
    let points: Vec<&str> = points.lines().collect();
    assert!(points.len() >= 23, "{points:?}");
    assert_eq!(points.iter().collect::<BTreeSet<_>>().len(), points.len());
    assert!(!env.ralph(&["help"]).success().contains("crash"));
    let call = ["build"];
    let output = env.command(&call).env("RALPH_TEST_CRASH", "nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(64), "{}", String::from_utf8_lossy(&output.stderr));
}

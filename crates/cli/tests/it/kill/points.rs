//! Killed at every crash point that the binary names.

use std::collections::BTreeSet;

use ralph_core::task::Status;
use ralph_testkit::times;

use super::tally::{Tally, campaign};
use super::world::World;
use crate::env;

/// How often each point is tried in a full campaign.
const EACH: usize = 5;

fn points() -> Vec<String> {
    let listed = env().ralph(&["__crash-points"]).success();
    listed.lines().map(str::to_owned).collect()
}

/// Kills a run when it passes the point for the `nth` time. A run that does not pass it so often is
/// killed at the first time, and so are the runs after it, `nth` times in all. What only a run after a
/// killed one passes is armed there. The plan begins with its `turn`-th task.
fn kill_at(point: &str, nth: usize, turn: usize, tally: &mut Tally) {
    let armed = format!("{point}:{nth}");
    let first = format!("{point}:1");
    let what = format!("{armed} from task {turn}");
    let mut world = World::turned(turn);
    let mut run = world.build(Some(&armed));
    let mut wanted = 1;
    if !run.was_killed() {
        wanted = nth;
        world = World::turned(turn);
        run = world.build(Some(&first));
    }
    if !run.was_killed() {
        world = World::turned(turn);
        world.build(Some(&format!("candidate-made:{nth}")));
        run = world.build(Some(&first));
    }
    let mut kills = 0;
    while run.was_killed() {
        tally.tried();
        kills += 1;
        run = world.build((kills < wanted).then_some(first.as_str()));
        tally.went_on(&run);
    }
    if kills == 0 {
        return tally.complaint(&what, &world, "the point was never passed");
    }
    tally.check(&what, &world, &run);
}

#[test]
fn a_run_killed_at_any_crash_point_goes_on_by_itself() {
    let points = points();
    assert!(points.len() >= 21, "{points:?}");
    assert_eq!(points.iter().collect::<BTreeSet<_>>().len(), points.len());
    // With one try each, the first time is at another task for every point.
    let each = times(1, EACH).min(EACH);
    let tally = campaign(points.len() * each, |number, tally| {
        kill_at(&points[number / each], number % each + 1, number, tally);
    });
    tally.close("killed at crash points");
}

#[test]
fn a_commit_whose_done_was_cut_off_twice_is_still_taken_as_done() {
    // Nothing judges here, and a done that changed nothing is refused: what the first session
    // committed must still count as the change.
    let world = World::with(&["plain"]);
    world.env.write("ralph.toml", "[completion]\nclaims = \"confirm\"\n");
    assert!(world.build(Some("after-commit")).was_killed());
    assert!(world.build(Some("claimed")).was_killed());
    let run = world.build(None);
    assert_eq!(run.end.code(), Some(0), "{}", world.said());
    assert_eq!(world.statuses()["plain"], Status::Done, "{}", world.said());
    assert!(!world.said().contains("No changes detected"), "{}", world.said());
}

#[test]
fn points_are_listed_for_tests_and_only_real_ones_can_be_armed() {
    let env = env();
    assert!(!env.ralph(&["help"]).success().contains("crash"));
    let call = ["build"];
    let output = env.command(&call).env("RALPH_TEST_CRASH", "nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(64), "{}", String::from_utf8_lossy(&output.stderr));
}

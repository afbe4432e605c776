//! What remains in a repository after runs: random ones, side by side and on branches, at every sandbox level, as
//! root and as an ordinary user, with kills, conflicts, submodules and filters. Only records, saved work and the
//! branches of the plan may be left.

mod weeks;
mod world;

use std::io::Write;

use ralph_testkit::numbers;

use world::{RunShape, World};

/// Prints a line beside the result of the test.
fn print(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// A few runs with every `./check`; 30 with `RALPH_CAMPAIGN=full`, which prints the sizes of each.
#[test]
fn after_random_runs_nothing_unexpected_remains() {
    let first: u64 =
        std::env::var("RALPH_TEST_STORY").map_or(1, |seed| seed.parse().expect("a number"));
    let mut failed = vec![];
    for seed in numbers(2, 30).map(|number| first + number) {
        let kind = RunShape::of(seed);
        let mut world = World::new(&kind);
        let before = world.bytes();
        let text = world.play();
        let wrong = world.unexpected();
        let (peak, after) = (world.peak, world.bytes());
        print(&format!(
            "run {seed:2}  {kind}  before {before} B, at most {peak} B, after {after} B, {} refs",
            world.refs().len()
        ));
        if !wrong.is_empty() {
            failed.push(format!("run {seed}: {kind}\n  {}\n{text}", wrong.join("\n  ")));
        }
    }
    assert!(failed.is_empty(), "{} runs leave something\n{}", failed.len(), failed.join("\n\n"));
}

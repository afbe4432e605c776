//! Work belongs to the task whose session made it: random interleavings of two tasks, unfinished work, edits by the
//! user, and restarts. After each story every commit has only what its own task's sessions wrote, everything that
//! the user wrote is there and in no commit of ralph's, and recorded costs equal the journals.

mod facts;
mod story;

use ralph_testkit::numbers;

use facts::violations;
use story::{Story, World};

/// A small number of stories in every run of the tests; many with `RALPH_CAMPAIGN=full`.
#[test]
fn work_stays_with_its_task_and_the_users_edits_with_the_user() {
    let first: u64 =
        std::env::var("RALPH_TEST_STORY").map_or(1, |seed| seed.parse().expect("a number"));
    let mut failed = vec![];
    for seed in numbers(4, 400).map(|number| first + number) {
        let story = Story::random(seed);
        let wrong = play_story(&story);
        if !wrong.is_empty() {
            let (smallest, wrong) = shrunk(story, wrong);
            failed.push(format!("story {seed}: {}\n{smallest:#?}", wrong.join("\n")));
        }
        // One is enough to work on, and three are enough to see a pattern.
        if failed.len() == 3 {
            break;
        }
    }
    assert!(failed.is_empty(), "{} stories end badly\n{}", failed.len(), failed.join("\n\n"));
}

/// Plays a story to its end; what is not as it should be.
fn play_story(story: &Story) -> Vec<String> {
    let mut world = World::new(story);
    let mut wrong = world.play(story);
    wrong.extend(violations(&world));
    wrong
}

/// The shortest story that still ends badly, by leaving out one step after the other.
fn shrunk(story: Story, wrong: Vec<String>) -> (Story, Vec<String>) {
    let (mut story, mut wrong) = (story, wrong);
    let mut at = 0;
    while at < story.len() {
        let shorter = story.without(at);
        let found = play_story(&shorter);
        if found.is_empty() {
            at += 1;
        } else {
            (story, wrong) = (shorter, found);
        }
    }
    (story, wrong)
}

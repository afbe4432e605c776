//! Whose work it is, when a run is cut off between two tasks or the user edits while gates run.

use std::time::Duration;

use super::Setting;
use super::tally::{Tally, campaign};
use super::world::World;
use crate::wait_until;

/// How often each point is tried in a full campaign.
const EACH: usize = 10;
/// How long the next gate may take to begin.
const SOON: Duration = Duration::from_secs(60);

/// Points between the end of a session that asked and the start of the next task's session.
const BETWEEN: [&str; 8] = [
    "wip-saved",
    "put-back",
    "task-settled",
    "attempt-ended",
    "iteration-ended",
    "state-written",
    "claimed:2",
    "prompt-written:2",
];

/// Kills a run between a question and the next task.
pub(super) fn after_a_question(setting: &Setting) -> Tally {
    let each = setting.times.of(1, EACH).min(EACH);
    let mut tally = campaign(BETWEEN.len() * each, |number, tally| {
        let point = BETWEEN[number / each];
        let world = World::with(setting, &["ask", "write", "own"]);
        let mut run = world.build(Some(point));
        if run.was_killed() {
            tally.tried();
            run = world.build(None);
            tally.went_on(&run);
        } else {
            tally.note(format!("not passed: {point}"));
        }
        check_owners(point, &world, tally);
        tally.check(point, &world, &run);
    });
    if tally.tried * 2 < BETWEEN.len() {
        tally.complaints.push("most points were not passed".to_owned());
    }
    tally
}

/// Points at the end of a run whose last session left unfinished work.
const ENDING: [&str; 5] =
    ["wip-saved", "attempt-ended", "iteration-ended", "state-written", "run-ending"];

/// Kills a run right after it has recorded what its last session left.
pub(super) fn after_leftovers(setting: &Setting) -> Tally {
    let each = setting.times.of(1, EACH).min(EACH);
    let mut tally = campaign(ENDING.len() * each, |number, tally| {
        let point = ENDING[number / each];
        let mut world = World::with(setting, &["red", "write"]);
        world.env.set("RALPH_LOOP_MAX_ITERATIONS", "1");
        let mut run = world.build(Some(point));
        if run.was_killed() {
            tally.tried();
        } else {
            tally.note(format!("not passed: {point}"));
        }
        world.env.set("RALPH_LOOP_MAX_ITERATIONS", "20");
        // The run that was killed had a limit of one, and so has what goes on with it.
        for _ in 0..3 {
            run = world.build(None);
            tally.went_on(&run);
            if world.is_finished() {
                break;
            }
        }
        check_owners(point, &world, tally);
        tally.check(point, &world, &run);
    });
    if tally.tried * 2 < ENDING.len() {
        tally.complaints.push("most points were not passed".to_owned());
    }
    tally
}

/// The user writes files while gates run.
pub(super) fn during_gates(setting: &Setting) -> Tally {
    campaign(setting.times.of(3, 60), |number, tally| {
        let mut random = setting.random(20, number);
        let tasks: [&str; 3] =
            [["write", "red", "n1"], ["red", "own", "n1"], ["fail", "red", "n1"]]
                [random.usize(..3)];
        let world = World::with(setting, &tasks);
        world.gate_notes("judging");
        let (new, known) = ("users-new.txt", "shared.txt");
        let run = world.build_disturbed(None, |_| {
            wait_until("a gate runs", SOON, || world.note("judging").exists());
            std::fs::write(world.env.repo().join(new), "by the user\n").unwrap();
            std::fs::write(world.env.repo().join(known), "edited by the user\n").unwrap();
            tally.tried();
        });
        let what = format!("{tasks:?}");
        for (file, text) in [(new, "by the user\n"), (known, "edited by the user\n")] {
            let now = std::fs::read_to_string(world.env.repo().join(file)).unwrap_or_default();
            if now != text {
                tally.lost += 1;
                tally.complaint(&what, &world, &format!("the user's {file} is {now:?}"));
            }
        }
        let committed = world.env.git(&["log", "--format=", "--name-only", "--", new, known]);
        if committed.lines().filter(|line| *line == new || *line == known).count() > 1 {
            tally.complaint(&what, &world, "the user's edits were committed");
        }
        check_owners(&what, &world, tally);
        tally.check(&what, &world, &run);
    })
}

/// Each commit of the loop has only what its own task's sessions wrote.
fn check_owners(what: &str, world: &World, tally: &mut Tally) {
    let log = world.env.git(&["log", "--format=%H %s"]);
    for line in log.lines() {
        let Some((hash, subject)) = line.split_once(' ') else { continue };
        let Some(task) = subject.rsplit_once(" - Task ").map(|(_, task)| task) else { continue };
        let own = |path: &str| {
            let name = path.trim_start_matches("scratch/").trim_start_matches("src/");
            name == format!("{task}.txt") || name.starts_with(&format!("{task}-"))
        };
        let paths = world.env.git(&["show", "--format=", "--name-only", hash]);
        let foreign: Vec<&str> = paths.lines().filter(|path| !own(path)).collect();
        if !foreign.is_empty() {
            tally.complaint(what, world, &format!("the commit of {task} has {foreign:?}"));
        }
    }
}

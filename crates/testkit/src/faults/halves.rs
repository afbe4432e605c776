//! What killed programs leave: locks of git, half-written files, a torn journal, a folder that is gone. A
//! run after a killed one puts it right; ralph names a lock of the user's and leaves it.

use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_engine::run_files::RunLogs;

use super::Setting;
use super::tally::{Tally, campaign};
use super::world::World;

/// Where the run before is killed: in a session, and on the way of its work into the branch.
const KILLED_AT: [&str; 8] = [
    "session-started",
    "session-ended",
    "candidate-made",
    "before-commit",
    "after-commit",
    "task-settled",
    "iteration-ended",
    "state-written",
];

type Damage = fn(&World, &mut fastrand::Rng);

/// Each on its own, and any of them together.
const DAMAGES: [(&str, Damage); 9] = [
    ("index.lock", |world, _| touch(world, ".git/index.lock")),
    ("HEAD.lock", |world, _| touch(world, ".git/HEAD.lock")),
    ("packed-refs.lock", |world, _| touch(world, ".git/packed-refs.lock")),
    ("the lock of the branch", |world, _| touch(world, ".git/refs/heads/main.lock")),
    ("a torn journal", |world, random| {
        for run in RunLogs::all(&world.env.repo().join(".ralph/logs")).unwrap() {
            let bytes = std::fs::read(run.journal()).unwrap_or_default();
            let cut = random.usize(0..bytes.len().clamp(1, 200));
            let _ = std::fs::write(run.journal(), &bytes[..bytes.len() - cut]);
        }
    }),
    // Without these and a state file nothing tells of the run, and a lock may be the user's.
    ("no logs", |world, _| {
        if !world.env.repo().join(".ralph/state.toml").exists() {
            return;
        }
        let _ = std::fs::remove_dir_all(world.env.repo().join(".ralph/logs"));
    }),
    ("a lock of a run that names nobody", |world, random| {
        let text = ["", "999999999\n", "x", "1\n"][random.usize(0..4)];
        std::fs::write(world.env.repo().join(".ralph/run.lock"), text).unwrap();
    }),
    ("half a state file", |world, _| {
        let half = world.env.repo().join(".ralph/state.toml.abcdef");
        std::fs::write(half, "active = tr").unwrap();
    }),
    ("no shared memory of the database", |world, _| {
        let _ = std::fs::remove_file(world.env.repo().join(".ralph/progress.db-shm"));
    }),
];

fn touch(world: &World, path: &str) {
    std::fs::write(world.env.repo().join(path), "").unwrap();
}

/// Runs after a killed one that left more than a killed run does.
pub(super) fn left_behind(setting: &Setting) -> Tally {
    campaign(setting.times.of(6, 200), |number, tally| {
        let mut random = setting.random(9, number);
        if number % 6 == 5 {
            return persons_lock(setting, number, tally);
        }
        let world = World::turned(setting, number);
        let point = KILLED_AT[random.usize(0..KILLED_AT.len())];
        let armed = format!("{point}:{}", random.usize(1..4));
        let killed = world.build(Some(&armed)).was_killed();
        let mut what = format!("killed at {armed}, then");
        let first = random.usize(0..DAMAGES.len());
        for (index, (name, damage)) in DAMAGES.iter().enumerate() {
            if killed && (index == first || random.u32(0..4) == 0) {
                damage(&world, &mut random);
                what += &format!(" {name},");
            }
        }
        if killed {
            tally.tried();
        }
        let run = world.build(None);
        tally.went_on(&run);
        tally.check(&what, &world, &run);
    })
}

/// A lock that was there before any run is the user's: ralph names it and leaves it.
fn persons_lock(setting: &Setting, number: usize, tally: &mut Tally) {
    let world = World::turned(setting, number);
    let lock: PathBuf = world.env.repo().join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    age(&lock);
    tally.tried();
    let run = world.build(None);
    let what = "a person's lock";
    if !lock.exists() {
        tally.complaint(what, &world, "it was removed");
    }
    if run.end.code() == Some(0) || !world.output().contains("index.lock") {
        tally.complaint(what, &world, &format!("it was not named, {}", run.end));
    }
    std::fs::remove_file(&lock).unwrap();
    let run = world.build(None);
    tally.went_on(&run);
    tally.check(what, &world, &run);
}

/// Makes a file older than any run.
fn age(path: &Path) {
    let status = Command::new("touch").args(["-d", "2020-01-01 00:00:00"]).arg(path).status();
    assert!(status.unwrap().success());
}

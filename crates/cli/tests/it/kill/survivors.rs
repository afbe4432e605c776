//! What a killed run leaves alive, and two runs in one worktree.

use std::path::Path;
use std::time::Duration;

use ralph_core::task::Status;
use ralph_engine::clock::Stopwatch;
use ralph_testkit::faults::World;
use ralph_testkit::{send_signal, wait_until};

use super::setting;

const SOON: Duration = Duration::from_secs(20);

fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// A run whose session is stuck and has hidden a process.
fn stuck() -> (World, std::process::Child) {
    let world = World::with(&setting(), &["stuck"]);
    let run = world.start(None);
    let marker = world.note("stuck");
    wait_until("the session is stuck", SOON, || marker.exists());
    (world, run)
}

#[test]
fn the_next_build_ends_what_a_killed_run_left_alive() {
    if !Path::new("/proc/self/environ").exists() {
        ralph_testkit::skip("leftovers of a killed run: there is no /proc here");
        return;
    }
    let (world, mut run) = stuck();
    let hidden = std::fs::read_to_string(world.note("hidden.pid")).unwrap();
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(lives(&hidden), "what has a session of its own outlives the run");
    let run = world.build(None);
    assert_eq!(run.end.code(), Some(0), "{}", world.output());
    // The session may be killed before it sleeps: then the hidden one is the only one.
    let output = world.output();
    let counts = ["ended 2 processes", "ended 1 process"].map(|count| output.contains(count));
    assert!(counts.contains(&true) && output.contains("by a run that was killed"), "{output}");
    assert!(!lives(&hidden));
    assert!(world.processes().is_empty());
    assert_eq!(world.statuses()["stuck"], Status::Done);
}

#[test]
fn a_second_run_in_a_worktree_is_refused_until_the_first_is_dead() {
    let (world, mut run) = stuck();
    let refused = world.env.ralph(&["build"]).failure(1);
    assert!(refused.contains(&format!("(pid {})", run.id())), "{refused}");
    assert_eq!(world.claimed(), ["stuck"]);
    send_signal("KILL", run.id());
    run.wait().unwrap();
    let clock = Stopwatch::start();
    let next = world.build(None);
    assert_eq!(next.end.code(), Some(0), "{}", world.output());
    let began = next.began.unwrap();
    assert!(began < Duration::from_secs(5), "{began:?} of {:?}", clock.elapsed());
}

#[cfg(target_os = "linux")]
#[test]
fn locks_that_a_killed_session_left_in_git_are_in_nobodys_way() {
    let world = World::with(&setting(), &["locked"]);
    let run = world.build(None);
    assert_eq!(run.end.code(), Some(0), "{}", world.output());
    assert_eq!(world.statuses()["locked"], Status::Done);
    assert_eq!(world.env.git(&["show", "HEAD:locked.txt"]), "locked\n");
    assert!(world.output().contains("index.lock, which a killed git had left"));
}

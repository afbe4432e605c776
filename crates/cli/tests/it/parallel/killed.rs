//! A run with several worktrees is killed at every point of landing and of worktrees: the next one goes on.

use std::os::unix::process::ExitStatusExt;

use ralph_testkit::faults::{Setting, hold};

use super::World;
use crate::looping::status;

const TASKS: [&str; 4] = ["a", "b", "c", "d"];

fn world() -> World {
    let mut world = World::new(&TASKS);
    world.env.without_sandbox(
        "a campaign of many runs that are killed; the sandbox is tried in the fault campaign",
    );
    world.env.leaves_processes("a killed run leaves what its sessions started");
    world.commit("shared.txt", "top\n\n\n\nbottom\n");
    for id in TASKS {
        // Every task can be begun again; two of them are about one file.
        let script = match id {
            "a" => "sed -i 's/^top.*/top a/' shared.txt; echo a >a.txt",
            "b" => {
                "sed -i 's/^bottom.*/bottom b/' shared.txt; echo b >b.txt; git add -A; git commit --quiet -m own"
            }
            _ => "echo $id >$id.txt",
        };
        world.plan(id, script);
    }
    world
}

/// Whether a run was killed at the point.
fn build(world: &World, crash: Option<&str>) -> bool {
    let output = std::fs::File::create(world.env.folder().join("said.txt")).unwrap();
    let mut command = world.env.command(&["build", "-j", "3"]);
    command.stdout(output.try_clone().unwrap()).stderr(output);
    if let Some(point) = crash {
        command.env("RALPH_TEST_CRASH", point);
    }
    let end = command.status().unwrap();
    let killed = end.signal() == Some(9);
    let output = || std::fs::read_to_string(world.env.folder().join("said.txt")).unwrap();
    assert!(killed || end.code() == Some(0), "{crash:?}: {end}\n{}", output());
    killed
}

fn check(world: &World, what: &str) {
    for id in TASKS {
        assert_eq!(status(&world.env, id), "done", "{what}");
        assert_eq!(world.committed(&format!("{id}.txt")), id, "{what}");
        let added =
            world.git(&["log", "--format=%h", "--diff-filter=A", "--", &format!("{id}.txt")]);
        assert_eq!(added.lines().count(), 1, "{what}: {id} landed {added}");
    }
    assert_eq!(world.committed("shared.txt"), "top a\n\n\n\nbottom b", "{what}");
    assert_eq!(world.git(&["status", "--porcelain"]), "", "{what}");
    world.check_tidy();
}

#[test]
fn a_run_killed_anywhere_on_the_way_to_the_branch_goes_on_by_itself() {
    hold("landing", &Setting::of_test(crate::RALPH));
}

#[test]
fn work_that_had_landed_is_not_done_again() {
    let world = world();
    assert!(build(&world, Some("landed:1")));
    let landed = world.git(&["log", "-1", "--format=%H"]);
    let tries = |id: &str| {
        let path = world.env.note("tries").join(id);
        std::fs::read_to_string(path).unwrap_or_default().lines().count()
    };
    let before: Vec<usize> = TASKS.iter().map(|id| tries(id)).collect();
    build(&world, None);
    let output = std::fs::read_to_string(world.env.folder().join("said.txt")).unwrap();
    assert!(output.contains("its work landed before"), "{output}");
    let again = TASKS.iter().zip(before).filter(|(id, before)| tries(id) == *before).count();
    assert!(again >= 1, "one task had no second session");
    world.git(&["merge-base", "--is-ancestor", &landed, "HEAD"]);
    check(&world, "landed");
}

/// A run may be killed after the worktree of a task has gone and before its branch has.
#[test]
fn a_branch_that_is_left_over_goes_and_nobody_elses_does() {
    let world = world();
    build(&world, None);
    check(&world, "first");
    world.git(&["branch", "ralph/a"]);
    world.git(&["branch", "ralph/mine"]);
    let tree = world.git(&["rev-parse", "HEAD^{tree}"]);
    let lone = world.git(&["commit-tree", &tree, "-m", "nowhere else"]);
    world.git(&["branch", "ralph/b", &lone]);
    world.env.task(&["add", "e", "--id", "e"]);
    build(&world, None);
    let left = world.git(&["branch", "--list", "--format=%(refname:short)", "ralph/*"]);
    assert_eq!(left, "ralph/b\nralph/mine", "what has landed goes, what is nowhere else stays");
}

/// The run after the killed one may be any, also one that works in place and has nothing to do.
#[test]
fn what_a_killed_run_left_goes_in_a_later_run_that_needs_no_worktrees() {
    let world = world();
    assert!(build(&world, Some("worktree-forgotten")));
    build(&world, None);
    check(&world, "first");
    world.git(&["branch", "ralph/a"]);
    world.env.ralph(&["build"]).success();
    world.check_tidy();
    world.env.write(".ralph/worktrees/ralph=2Fb.lock", "");
    world.env.ralph(&["build"]).success();
    world.check_tidy();
}

/// The run is killed while the session is on a branch of its own.
#[test]
fn a_session_that_was_elsewhere_when_the_run_was_killed_is_brought_back() {
    let world = World::new(&["a"]);
    world.plan(
        "a.1",
        "git switch --quiet -c mine; echo a >a.txt; git add -A; git commit --quiet -m mine",
    );
    world.plan("a", "test -e a.txt || text=nothing");
    assert!(build(&world, Some("session-ended")));
    build(&world, None);
    assert_eq!(world.committed("a.txt"), "a");
    world.check_tidy();
}

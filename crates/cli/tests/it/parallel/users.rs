//! What a person does and has meanwhile.

use ralph_testkit::Ran;

use super::World;
use crate::looping::{classes, journal, of_kind, status, touch, wait_for};

#[test]
fn uncommitted_changes_of_the_user_are_never_written_over() {
    let world = World::new(&["a", "b"]);
    world.commit("file.txt", "one\n");
    world.env.write("file.txt", "mine\n");
    world.env.write("new.txt", "mine too\n");
    world.plan("a", "echo theirs >file.txt; echo theirs >new.txt");
    let ran = world.build(2, &[]);
    let output = ran.stderr.clone();
    assert_eq!(ran.code, 7, "{output}");
    assert!(
        output.contains("you have uncommitted changes in file.txt, new.txt; commit them"),
        "{output}"
    );
    assert_eq!(std::fs::read_to_string(world.env.repo().join("file.txt")).unwrap(), "mine\n");
    assert_eq!(std::fs::read_to_string(world.env.repo().join("new.txt")).unwrap(), "mine too\n");
    assert_eq!(
        (status(&world.env, "a").as_str(), status(&world.env, "b").as_str()),
        ("waiting", "done")
    );
    assert_eq!(world.committed("b.txt"), "b");
    // Once they are out of the way, the work is still there and lands.
    world.git(&["checkout", "--quiet", "--", "file.txt"]);
    std::fs::remove_file(world.env.repo().join("new.txt")).unwrap();
    world.env.ralph(&["task", "reset", "a"]).success();
    world.build(2, &[]).success();
    assert_eq!(of_kind(&journal(&world.env), "session_started").len(), 0, "it needs no session");
    assert_eq!(world.committed("new.txt"), "theirs");
    world.check_tidy();
}

#[test]
fn dirty_files_that_no_task_touches_stay_as_they_are() {
    let world = World::new(&["a"]);
    world.commit("mine.txt", "one\n").commit("staged.txt", "one\n");
    world.env.write("mine.txt", "changed\n");
    world.env.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    world.env.write("untracked.txt", "x\n");
    world.build(2, &[]).success();
    assert_eq!(world.committed("a.txt"), "a");
    let status = world.git(&["status", "--porcelain"]);
    assert_eq!(status, " M mine.txt\nM  staged.txt\n?? untracked.txt");
}

#[test]
fn a_commit_of_the_user_meanwhile_is_below_the_work() {
    let world = World::new(&["a"]);
    world.plan("a", "echo a >a.txt; touch $world/begun; until_there go");
    let run = world.start(2);
    wait_for(&world.env, "begun");
    world.commit("person.txt", "person\n");
    touch(&world.env, "go");
    Ran::end_of(run).success();
    let log = world.git(&["log", "-2", "--format=%s"]);
    assert_eq!(log, "build: iteration 1 - a\nperson: person.txt");
    assert_eq!(classes(&world.env), ["done"]);
    world.check_tidy();
}

#[test]
fn a_user_who_switches_branches_keeps_the_work_from_landing() {
    let world = World::new(&["a"]);
    world.plan("a", "echo a >a.txt; touch $world/begun; until_there go");
    let run = world.start(2);
    wait_for(&world.env, "begun");
    world.git(&["switch", "--quiet", "-c", "elsewhere"]);
    touch(&world.env, "go");
    let ran = Ran::end_of(run);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("git switch main"), "{}", ran.stderr);
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]), "1", "nothing landed there");
    world.git(&["switch", "--quiet", "main"]);
    world.build(2, &[]).success();
    assert_eq!(of_kind(&journal(&world.env), "session_started").len(), 0, "it needs no session");
    assert_eq!(world.committed("a.txt"), "a");
    world.check_tidy();
}

#[test]
fn without_a_branch_to_land_on_nothing_is_begun() {
    let world = World::new(&["a"]);
    world.git(&["checkout", "--quiet", "--detach"]);
    let output = world.build(2, &[]).failure(5);
    assert!(output.contains("git switch BRANCH"), "{output}");
    assert!(!world.env.note("tries").exists());
}

#[test]
fn a_worktree_of_the_user_is_left_alone() {
    let mut world = World::new(&["a"]);
    world.env.hurry();
    world.git(&["worktree", "add", "--quiet", "-b", "ralph/a", "../mine"]);
    let ran = world.build(2, &[]);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("mine"), "{}", ran.stderr);
    assert!(world.env.folder().join("mine/.git").exists());
}

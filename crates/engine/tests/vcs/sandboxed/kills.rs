//! Runs that are killed between a session and the end of its work: no commit is lost, and the next run goes on.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use ralph_engine::crash;
use ralph_engine::ports::{SessionCommits, Vcs};

use super::{World, git_sandbox, session_in, vcs_at, without_sandbox};
use crate::kit::{Repo, run};
use crate::worktrees::git_in;

const SESSION: &str = "echo 1 > one.txt; git add -A; git commit -qm one; echo 2 > two.txt";

/// Calls this very test program again; it is killed at the point.
#[track_caller]
fn killed_at(repo: &Repo, what: &str, point: &str) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sandboxed::kills::the_child_that_is_killed", "--ignored"])
        .env("RALPH_TEST_PLACE", repo.place())
        .env("RALPH_TEST_WHAT", what)
        .env("RALPH_TEST_POINT", point)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success() && status.code().is_none(), "{point} was not passed: {status}");
}

#[test]
#[ignore = "only as the child of the others"]
fn the_child_that_is_killed() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let repo = Repo::at(PathBuf::from(variable("RALPH_TEST_PLACE")));
    let point = variable("RALPH_TEST_POINT");
    if variable("RALPH_TEST_WHAT") == "linked" {
        let (place, git_sandbox) = (repo.path(".worktrees/side"), git_sandbox());
        let vcs = vcs_at(&place, &git_sandbox);
        vcs.begin(&run("r-1"), None).unwrap();
        session_in(&vcs, &git_sandbox, &place, SESSION);
        assert!(crash::arm(&point));
        vcs.import_commits().unwrap();
        return;
    }
    let world = World::new(repo);
    world.session(SESSION);
    assert!(crash::arm(&point));
    let candidate = world.vcs.candidate(&world.base).unwrap();
    world.vcs.commit(&world.base, &candidate, "subject", "").unwrap();
}

#[test]
fn in_place_the_next_run_lands_what_the_killed_one_did_not() {
    if without_sandbox() {
        return;
    }
    for point in ["commits-taken", "commits-landed", "box-removed"] {
        let repo = Repo::new();
        killed_at(&repo, "place", point);
        let sandbox = git_sandbox();
        let vcs = vcs_at(repo.place(), &sandbox);
        let base = vcs.begin(&run("r-2"), Some((&run("r-1"), None))).unwrap();
        let candidate = vcs.candidate(&base).unwrap();
        vcs.commit(&base, &candidate, "subject", "").unwrap();
        assert_eq!(repo.git(&["log", "--format=%s"]), "subject\none\nfirst", "{point}");
        assert_eq!(repo.status(), "", "{point}");
        assert_eq!(
            repo.git(&["for-each-ref", "refs/ralph/wip", "refs/ralph/taken"]),
            "",
            "{point}"
        );
        assert_eq!(vcs.warnings(), Vec::<String>::new(), "{point}");
        repo.fsck();
    }
}

#[test]
fn in_a_worktree_of_its_own_the_next_run_takes_over_what_the_killed_one_did_not() {
    if without_sandbox() {
        return;
    }
    for point in ["commits-taken", "commits-landed", "box-removed"] {
        let repo = Repo::new();
        repo.git(&["worktree", "add", "--quiet", "-b", "side", ".worktrees/side"]);
        let place = repo.path(".worktrees/side");
        killed_at(&repo, "linked", point);
        let sandbox = git_sandbox();
        let vcs = vcs_at(&place, &sandbox);
        vcs.begin(&run("r-2"), Some((&run("r-1"), None))).unwrap();
        assert_eq!(git_in(&place, &["log", "--format=%s"]), "one\nfirst", "{point}");
        assert_eq!(git_in(&place, &["status", "--porcelain"]), "?? two.txt", "{point}");
        assert_eq!(git_in(&place, &["symbolic-ref", "HEAD"]), "refs/heads/side", "{point}");
        repo.fsck();
    }
}

#[test]
fn what_was_half_made_or_half_removed_is_swept() {
    if without_sandbox() {
        return;
    }
    let world = World::new(Repo::new());
    for half in ["main.new-1/git", "main.old-1/git", "main/git", "main.refused-1/git"] {
        std::fs::create_dir_all(world.repo.path(".ralph/box").join(half)).unwrap();
    }
    let _ = std::fs::remove_file(world.repo.path(".ralph/box/main/made.json"));
    world.session("git status --porcelain");
    let there = ["main.new-1", "main.old-1", "main.refused-1", "main/made.json"];
    let there = there.map(|name| world.repo.path(".ralph/box").join(name).exists());
    assert_eq!(there, [false, false, true, true]);
}

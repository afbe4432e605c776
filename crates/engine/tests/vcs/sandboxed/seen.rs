//! Which objects sessions and gates find: not those that no ref of the user reaches, and all others.

use std::path::Path;

use ralph_engine::ports::Vcs;

use super::kinds::works;
use super::{World, git_sandbox, judged_in, session_in, vcs_at, without_sandbox};
use crate::kit::{Repo, run};

const LIST: &str = "git cat-file --batch-all-objects --batch";

/// A repository with a stash, a dropped commit, a file that was only staged, and what was collected of them.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("a.txt", "secret of a cruft pack\n");
    repo.git(&["commit", "--quiet", "-am", "collected"]);
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "--quiet", "--cruft", "--prune=never"]);
    repo.write("a.txt", "secret of a stash\n");
    repo.git(&["stash", "--quiet"]);
    repo.write("a.txt", "secret of a dropped commit\n");
    repo.git(&["commit", "--quiet", "-am", "dropped"]);
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    repo.write("b.txt", "secret of a staged file\n");
    repo.git(&["add", "b.txt"]);
    repo.git(&["rm", "--quiet", "--force", "b.txt"]);
    repo
}

fn folders_of_objects(repo: &Repo) -> usize {
    let all = std::fs::read_dir(repo.place().join(".ralph/box")).into_iter().flatten().flatten();
    all.filter(|entry| entry.file_name().to_string_lossy().contains(".objects-")).count()
}

#[test]
fn what_no_ref_reaches_is_found_by_no_session() {
    if without_sandbox() {
        return;
    }
    let world = World::new(repo());
    for found in
        [world.session(LIST), judged_in(&world.vcs, &world.sandbox, world.repo.place(), LIST)]
    {
        assert!(found.contains("first"), "{found}");
        assert!(!found.contains("secret"), "{found}");
    }
    assert_eq!(folders_of_objects(&world.repo), 1);
    works(&world);
    world.session("git fsck --full --strict && git log --stat");
    assert!(world.repo.git(&["stash", "show", "--patch"]).contains("secret of a stash"));
    let World { repo, vcs, .. } = world;
    drop(vcs);
    assert_eq!(folders_of_objects(&repo), 0);
}

/// The user takes a stash back, or a session writes the same text: it belongs to the branch from then on.
#[test]
fn what_a_ref_reaches_again_is_there() {
    if without_sandbox() {
        return;
    }
    let world = World::new(repo());
    let reads = "git fsck --full --strict && git show HEAD:a.txt && git diff --stat HEAD~1";
    world.session("echo 'secret of a dropped commit' > a.txt");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    judged_in(&world.vcs, &world.sandbox, world.repo.place(), "git diff --cached");
    world.vcs.commit(&world.base, &candidate, "written again", "").unwrap().unwrap();
    assert!(world.session(reads).contains("secret of a dropped commit"));
    world.repo.git(&["checkout", "--quiet", "stash@{0}", "--", "a.txt"]);
    world.repo.git(&["commit", "--quiet", "-am", "taken back"]);
    let found = world.session(reads);
    assert!(found.contains("secret of a stash"), "{found}");
    judged_in(&world.vcs, &world.sandbox, world.repo.place(), reads);
}

/// Setup commands of a worktree run before the run begins in it.
#[test]
fn a_run_keeps_the_objects_that_its_setup_was_shown() {
    if without_sandbox() {
        return;
    }
    let (repo, git_sandbox) = (repo(), git_sandbox());
    let vcs = vcs_at(repo.place(), &git_sandbox);
    judged_in(&vcs, &git_sandbox, repo.place(), "git log");
    vcs.begin(&run("r-1"), None).unwrap();
    session_in(&vcs, &git_sandbox, repo.place(), "git log");
    assert_eq!(folders_of_objects(&repo), 1);
}

/// A text that is in the worktree may be in a stash, too.
#[test]
fn a_stash_that_was_applied_disturbs_no_gate() {
    if without_sandbox() {
        return;
    }
    let repo = repo();
    repo.git(&["stash", "apply", "--quiet"]);
    let world = World::new(repo);
    world.session("git diff; echo more > more.txt");
    world.vcs.candidate(&world.base).unwrap();
    let judge = |script| judged_in(&world.vcs, &world.sandbox, world.repo.place(), script);
    assert!(judge("git diff HEAD").contains("secret of a stash"));
    judge("git diff --cached; git stash --quiet; git stash pop --quiet");
}

#[test]
fn a_repository_in_which_everything_is_reached_is_shown_as_it_is() {
    if without_sandbox() {
        return;
    }
    let world = World::new(Repo::new());
    world.session("git log");
    assert_eq!(folders_of_objects(&world.repo), 0);
    assert!(Path::new(&world.repo.place().join(".ralph/box")).is_dir());
}

//! Fresh checkouts, ignored files that come along, and the person's hooks, all in boxes.

use std::time::Duration;

use ralph_engine::ports::{GitError, Vcs};

use super::{World, vcs_at, without_sandbox};
use crate::kit::Repo;

fn environment() -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    vec![("PATH".into(), std::env::var_os("PATH").unwrap()), ("HOME".into(), "/tmp".into())]
}

fn hooked(repo: Repo) -> World {
    let mut world = World::new(repo);
    let vcs = vcs_at(world.repo.place(), &world.sandbox);
    world.vcs = vcs.with_hooks(&environment(), Duration::from_secs(60));
    world
}

fn hook(repo: &Repo, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    repo.write(format!(".git/hooks/{name}"), format!("#!/bin/sh\n{script}\n"));
    let path = repo.path(format!(".git/hooks/{name}"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_fresh_checkout_has_the_candidate_and_the_wanted_ignored_files() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    repo.write("keep.log", "kept\n");
    repo.write("drop.log", "dropped\n");
    let world = World::new(repo);
    world.session("echo 1 > one.txt; git add -A; git commit -qm one; rm a.txt");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    let checkout = world.vcs.checkout(&candidate, "keep.log\n").unwrap();
    let read = |name: &str| std::fs::read_to_string(checkout.folder().join(name)).ok();
    assert_eq!(read("one.txt").as_deref(), Some("1\n"));
    assert_eq!(read("keep.log").as_deref(), Some("kept\n"));
    assert_eq!((read("a.txt"), read("drop.log")), (None, None));
    assert_eq!(world.vcs.included("keep.log").unwrap().len(), 1);
    assert_eq!(world.vcs.included("nothing").unwrap().len(), 0);
}

#[test]
fn hooks_of_the_user_see_the_work_and_may_refuse_it() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    hook(&repo, "pre-commit", "git diff --cached --name-only HEAD > checked; ! grep -q bad *.txt");
    hook(&repo, "commit-msg", "printf '\\nChecked: yes\\n' >> \"$1\"");
    hook(&repo, "post-commit", "git log -1 --format=%s > noted");
    repo.write(".gitignore", "checked\nnoted\n");
    repo.commit_without_hooks("ignores");
    let world = hooked(repo);
    world.session("echo bad > one.txt");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    let refused = world.vcs.commit(&world.base, &candidate, "subject", "").unwrap_err();
    assert!(matches!(refused, GitError::Hook { .. }), "{refused}");
    world.session("echo good > one.txt; rm -rf .git/hooks; mkdir .git/hooks");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    world.vcs.commit(&world.base, &candidate, "subject", "").unwrap().unwrap();
    assert_eq!(world.repo.git(&["log", "-1", "--format=%B"]), "subject\n\nChecked: yes");
    assert_eq!(
        (world.repo.read("checked"), world.repo.read("noted")),
        ("one.txt\n".into(), "subject\n".into())
    );
    assert_eq!(world.repo.status(), "");
}

#[test]
fn what_a_hook_changes_is_judged_again() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    hook(
        &repo,
        "pre-commit",
        "for f in *.txt; do echo end >> $f; sort -u -o $f $f; git add $f; done",
    );
    let world = hooked(repo);
    world.session("echo 1 > one.txt");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    let changed = world.vcs.commit(&world.base, &candidate, "subject", "").unwrap_err();
    assert!(matches!(changed, GitError::HookChanged { .. }), "{changed}");
    let again = world.vcs.candidate(&world.base).unwrap();
    assert_ne!(again.tree, candidate.tree);
    world.vcs.commit(&world.base, &again, "subject", "").unwrap().unwrap();
    assert_eq!(world.repo.git(&["show", "HEAD:one.txt"]), "1\nend");
}

#[test]
fn a_hook_cannot_write_outside_of_the_worktree_nor_leave_a_message_that_leads_there() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    let escaped = repo.folder().join("escaped");
    hook(&repo, "pre-commit", &format!("touch {} 2>/dev/null || true", escaped.display()));
    hook(&repo, "commit-msg", "rm \"$1\"; ln -s /etc/hostname \"$1\"");
    let world = hooked(repo);
    world.session("echo 1 > one.txt");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    let refused = world.vcs.commit(&world.base, &candidate, "subject", "").unwrap_err();
    assert!(matches!(refused, GitError::File { .. }), "{refused}");
    assert!(!escaped.exists());
    assert_eq!(world.repo.git(&["log", "--format=%s"]), "first");
}

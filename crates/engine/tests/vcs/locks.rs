//! Locks that a killed git left.

use std::process::{Command, Stdio};

use ralph_core::Timestamp;
use ralph_engine::clock::now;
use ralph_engine::ports::Vcs;

use crate::kit::Repo;

const LOCKS: [&str; 3] = [".git/HEAD.lock", ".git/index.lock", ".git/refs/heads/main.lock"];

fn lock(repo: &Repo) {
    for path in LOCKS {
        repo.write(path, "");
    }
}

fn there(repo: &Repo) -> usize {
    LOCKS.iter().filter(|path| repo.path(path).exists()).count()
}

#[test]
fn locks_of_a_session_that_is_gone_are_removed_and_named() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let since = Timestamp::from_millis(now().as_millis() - 100);
    vcs.remove_dead_locks(since).unwrap();
    lock(&repo);
    repo.write(".git/next-index-1234.lock", "");
    repo.write("a.txt", "changed\n");
    let candidate = vcs.candidate(&base).unwrap();
    vcs.commit(&base, &candidate, "locked", "").unwrap_err();
    vcs.remove_dead_locks(since).unwrap();
    assert_eq!(there(&repo), 0);
    assert!(!repo.path(".git/next-index-1234.lock").exists());
    let warnings = vcs.warnings();
    assert_eq!(warnings.len(), 4, "{warnings:?}");
    assert!(warnings[0].ends_with("was left by a git that was killed, and is removed"));
    vcs.commit(&base, &candidate, "free", "").unwrap().unwrap();
}

#[test]
fn a_lock_that_is_older_than_the_session_stays() {
    let repo = Repo::new();
    let (vcs, _) = repo.begin();
    lock(&repo);
    vcs.remove_dead_locks(Timestamp::from_millis(now().as_millis() + 60_000)).unwrap();
    assert_eq!(there(&repo), 3);
}

#[test]
fn a_lock_stays_while_a_git_is_at_work_in_the_worktree() {
    let repo = Repo::new();
    let (vcs, _) = repo.begin();
    let mut git = Command::new("git");
    git.args(["hash-object", "--stdin"]).current_dir(repo.path("src"));
    let mut git = git.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    lock(&repo);
    vcs.remove_dead_locks(Timestamp::default()).unwrap();
    assert_eq!(there(&repo), 3);
    drop(git.stdin.take());
    git.wait().unwrap();
    vcs.remove_dead_locks(Timestamp::default()).unwrap();
    assert_eq!(there(&repo), 0);
}

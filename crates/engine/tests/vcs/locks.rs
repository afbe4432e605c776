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
    assert!(warnings[0].ends_with(", which a killed git had left"));
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

/// A file that is made right after the clock was asked may have an earlier time.
#[test]
fn a_lock_made_within_a_tick_of_the_clock_is_removed() {
    let repo = Repo::new();
    let (vcs, _) = repo.begin();
    lock(&repo);
    let made = repo.path(LOCKS[2]).metadata().unwrap().modified().unwrap();
    let made = made.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    vcs.remove_dead_locks(Timestamp::from_millis(i64::try_from(made).unwrap() + 10)).unwrap();
    assert_eq!(there(&repo), 0);
}

/// Whether others can commit.
fn others_can_commit(repo: &Repo) -> bool {
    let commit = ["commit", "--quiet", "--allow-empty", "-m", "theirs"];
    let mut git = Command::new("git");
    git.args(commit).current_dir(repo.place()).stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn a_held_branch_refuses_the_commits_of_others_until_ours_is_made() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "ours\n");
    assert!(vcs.hold().unwrap());
    let candidate = vcs.candidate(&base).unwrap();
    assert!(!others_can_commit(&repo));
    repo.git(&["branch", "another"]);
    let ours = vcs.commit(&base, &candidate, "ours", "").unwrap().unwrap();
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), ours);
    assert!(others_can_commit(&repo), "it is held for one commit");
    assert!(vcs.hold().unwrap());
    assert!(!others_can_commit(&repo));
    vcs.release();
    assert!(others_can_commit(&repo));
    // Also where nobody released it.
    assert!(vcs.hold().unwrap());
    drop(vcs);
    assert_eq!(there(&repo), 0);
    assert!(others_can_commit(&repo));
    repo.fsck();
}

#[test]
fn a_branch_is_held_only_from_where_it_is_expected_and_moves_under_the_hold() {
    let repo = Repo::new();
    let first = repo.git(&["rev-parse", "HEAD"]);
    let project = ralph_engine::project::Project::find(repo.place()).unwrap();
    let trunk = ralph_engine::vcs::trunk::Trunk::new(&project).unwrap();
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let new = repo.git(&["commit-tree", &tree, "-p", &first, "-m", "work"]);
    assert!(!trunk.hold(&new, &first).unwrap(), "it is not there");
    assert!(trunk.hold(&first, &new).unwrap());
    assert!(!others_can_commit(&repo));
    trunk.advance(&first, &new).unwrap();
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), new);
    assert!(others_can_commit(&repo));
}

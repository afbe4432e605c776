//! Worktrees of their own: what a session commits in its box is on the branch right after it.

use std::path::{Path, PathBuf};

use ralph_engine::ports::{RunBase, SessionCommits, Vcs};
use ralph_engine::session_git::GitSandbox;
use ralph_engine::vcs::GitVcs;

use super::{bytes_of, git_sandbox, session_in, vcs_at, without_sandbox};
use crate::kit::{Repo, run, task};
use crate::worktrees::git_in;

struct Lane {
    repo: Repo,
    place: PathBuf,
    sandbox: GitSandbox,
    vcs: GitVcs,
    base: RunBase,
}

impl Lane {
    fn new() -> Self {
        let repo = Repo::new();
        repo.git(&["config", "extensions.worktreeConfig", "true"]);
        repo.git(&["worktree", "add", "--quiet", "-b", "side", ".worktrees/side"]);
        let place = repo.path(".worktrees/side");
        git_in(&place, &["config", "--worktree", "user.name", "Side"]);
        Self::at(repo, place)
    }

    fn at(repo: Repo, place: PathBuf) -> Self {
        let sandbox = git_sandbox();
        let vcs = vcs_at(&place, &sandbox);
        let base = vcs.begin(&run("r-1"), None).unwrap();
        Self { repo, place, sandbox, vcs, base }
    }

    #[track_caller]
    fn session(&self, script: &str) -> String {
        session_in(&self.vcs, &self.sandbox, &self.place, script)
    }
}

fn clean(place: &Path) {
    assert_eq!(git_in(place, &["status", "--porcelain"]), "");
}

#[test]
fn commits_are_on_the_branch_right_after_the_session() {
    if without_sandbox() {
        return;
    }
    let lane = Lane::new();
    let before = bytes_of(&lane.repo.path(".git"));
    let own = lane.session(
        "echo 1 > one.txt; git add -A; git commit -qm one; git config user.name evil;
         git update-ref refs/heads/main HEAD; echo 2 > two.txt; git log -1 --format=%an; git rev-parse HEAD",
    );
    let (name, own) = own.split_once('\n').unwrap();
    assert_eq!(name, "Side");
    assert_eq!(bytes_of(&lane.repo.path(".git")), before);
    lane.vcs.import_commits().unwrap();
    assert_eq!(lane.vcs.head().unwrap().as_deref(), Some(own));
    assert_eq!(git_in(&lane.place, &["symbolic-ref", "HEAD"]), "refs/heads/side");
    assert_eq!(git_in(&lane.place, &["status", "--porcelain"]), "?? two.txt");
    assert_eq!(lane.repo.git(&["log", "--format=%s", "main"]), "first");
    let candidate = lane.vcs.candidate(&lane.base).unwrap();
    assert_eq!((candidate.head.as_deref(), &candidate.taken), (Some(own), &None));
    assert_eq!(lane.repo.beyond_head(&candidate), ["A two.txt"]);
    lane.vcs.commit(&lane.base, &candidate, "subject", "").unwrap().unwrap();
    clean(&lane.place);
    assert_eq!(lane.vcs.warnings(), Vec::<String>::new());
    lane.repo.fsck();
}

#[test]
fn a_session_on_another_branch_leaves_head_where_it_went() {
    if without_sandbox() {
        return;
    }
    let lane = Lane::new();
    let first = lane.vcs.head().unwrap().unwrap();
    let own = lane.session(
        "git switch -qc other; echo 1 > one.txt; git add -A; git commit -qm one; git rev-parse HEAD",
    );
    lane.vcs.import_commits().unwrap();
    assert_eq!(lane.vcs.head().unwrap(), Some(own));
    assert_eq!(lane.repo.git(&["rev-parse", "side"]), first);
    assert_eq!(git_in(&lane.place, &["rev-parse", "--symbolic-full-name", "HEAD"]), "HEAD");
    clean(&lane.place);
}

#[test]
fn a_user_who_moved_the_branch_wins_and_the_commits_are_saved() {
    if without_sandbox() {
        return;
    }
    let lane = Lane::new();
    let own = lane.session("echo 1 > one.txt; git add -A; git commit -qm one; git rev-parse HEAD");
    let theirs = git_in(&lane.place, &["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "theirs"]);
    git_in(&lane.place, &["update-ref", "refs/heads/side", &theirs]);
    lane.vcs.import_commits().unwrap();
    assert_eq!(lane.vcs.head().unwrap(), Some(theirs));
    let kept = lane.repo.git(&["for-each-ref", "--contains", &own, "--format=%(refname)"]);
    assert!(kept.contains("refs/ralph/wip/side/1"), "{kept}");
    let candidate = lane.vcs.candidate(&lane.base).unwrap();
    assert_eq!(lane.repo.beyond_head(&candidate), ["A one.txt"]);
}

#[test]
fn what_is_given_up_is_saved_and_the_worktree_goes_back() {
    if without_sandbox() {
        return;
    }
    let lane = Lane::new();
    let first = lane.vcs.head().unwrap().unwrap();
    let own = lane.session(
        "echo 1 > one.txt; git add -A; git commit -qm one; echo 2 > two.txt; git rm -q a.txt;
         git rev-parse HEAD",
    );
    let saved = lane.vcs.save_since(&first, &task("t-1"), 1).unwrap().unwrap();
    assert_eq!(lane.repo.differs(&first, &saved.commit), ["D a.txt", "A one.txt", "A two.txt"]);
    let kept = lane.repo.git(&["for-each-ref", "--contains", &own, "--format=%(refname)"]);
    assert!(kept.contains("refs/ralph/wip/t-1/1"), "{kept}");
    lane.vcs.move_to(&first).unwrap();
    assert_eq!(lane.vcs.head().unwrap(), Some(first));
    assert_eq!(git_in(&lane.place, &["status", "--porcelain"]), "?? two.txt");
}

#[test]
fn with_a_key_the_commits_are_signed_when_they_are_taken_over() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    let key = repo.folder().join("key");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&key)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        ralph_testkit::skip("signing what was taken over: there is no ssh-keygen");
        return;
    }
    repo.git(&["config", "extensions.worktreeConfig", "true"]);
    repo.git(&["worktree", "add", "--quiet", "-b", "side", ".worktrees/side"]);
    let place = repo.path(".worktrees/side");
    let key = key.display().to_string();
    for (name, value) in
        [("gpg.format", "ssh"), ("user.signingkey", key.as_str()), ("commit.gpgsign", "true")]
    {
        git_in(&place, &["config", "--worktree", name, value]);
    }
    let lane = Lane::at(repo, place);
    let own = lane.session(
        "for n in 1 2; do echo $n > $n.txt; git add -A; git commit -qm $n; done; git rev-parse HEAD",
    );
    lane.vcs.import_commits().unwrap();
    let head = lane.vcs.head().unwrap().unwrap();
    assert_ne!(head, own);
    for commit in ["HEAD", "HEAD~1"] {
        let raw = git_in(&lane.place, &["cat-file", "commit", commit]);
        assert!(raw.contains("BEGIN SSH SIGNATURE"), "{raw}");
    }
    assert_eq!(git_in(&lane.place, &["log", "--format=%s"]), "2\n1\nfirst");
    clean(&lane.place);
    let reported = format!("{{\"commit\":\"{own}\",\"short\":\"{}\",\"n\":7}}", &own[..9]);
    let wanted = format!("{{\"commit\":\"{head}\",\"short\":\"{}\",\"n\":7}}", &head[..9]);
    assert_eq!(lane.vcs.renamed(&reported), wanted);
    assert_eq!(lane.vcs.warnings(), Vec::<String>::new(), "nothing is lost, so nothing is told");
    let saved = lane.repo.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/wip/"]);
    assert_eq!(saved, "", "the unsigned commits need no ref");
}

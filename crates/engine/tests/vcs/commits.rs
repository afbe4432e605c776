//! The commit of what a session left.

use ralph_engine::ports::{GitError, Vcs};

use crate::kit::{Repo, SaveNow, ids_between};

#[test]
fn a_commit_has_subject_body_author_and_reflog() {
    let repo = Repo::new();
    let before = repo.git(&["rev-parse", "HEAD"]);
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "changed\n");
    let candidate = vcs.candidate(&base).unwrap();
    let id = vcs
        .commit(&base, &candidate, "build: iteration 3 - Parse it", "Because it\nmust be.")
        .unwrap()
        .unwrap();
    assert_eq!(vcs.head().unwrap(), Some(id.clone()));
    assert_eq!(
        repo.git(&["log", "-1", "--format=%an <%ae>%n%P%n%B"]),
        format!(
            "Tester <tester@example.org>\n{before}\n\
             build: iteration 3 - Parse it\n\nBecause it\nmust be."
        )
    );
    assert_eq!(repo.git(&["reflog", "-1", "--format=%gs"]), "ralph: build: iteration 3 - Parse it");
    assert_eq!(repo.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(repo.status(), "", "the index knows the commit");
    assert_eq!(repo.git(&["diff-files"]), "", "and its times");
    assert!(!vcs.candidate(&base).unwrap().leftovers);
    assert_eq!(ids_between(&vcs, Some(&before), &id), [id]);
    repo.fsck();
}

#[test]
fn what_the_agent_commits_itself_is_no_leftover() {
    let repo = Repo::new();
    repo.write("a.txt", "person\n");
    let (vcs, base) = repo.begin();
    let before = base.head.clone().unwrap();
    repo.write("one.txt", "agent\n");
    repo.git(&["add", "one.txt"]);
    repo.git(&["commit", "--quiet", "-m", "one"]);
    let one = repo.git(&["rev-parse", "HEAD"]);
    let candidate = vcs.candidate(&base).unwrap();
    assert!(!candidate.leftovers);
    assert_ne!(candidate.tree, base.settled_tree);
    assert_eq!(candidate.head.as_deref(), Some(one.as_str()));
    repo.write("two.txt", "agent\n");
    repo.git(&["add", "two.txt"]);
    repo.git(&["commit", "--quiet", "-m", "two"]);
    let two = repo.git(&["rev-parse", "HEAD"]);
    repo.write("left.txt", "over\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["A left.txt"]);
    let three = vcs.commit(&base, &candidate, "three", "").unwrap().unwrap();
    assert_eq!(ids_between(&vcs, Some(&before), &three), [one.clone(), two, three.clone()]);
    assert_eq!(ids_between(&vcs, None, &one), [before, one]);
    assert_eq!(repo.status(), " M a.txt");
}

#[test]
fn an_agent_that_commits_the_users_staged_work_changes_nothing_for_the_rest() {
    let repo = Repo::new();
    repo.write("a.txt", "staged\n");
    repo.git(&["add", "a.txt"]);
    repo.write("a.txt", "staged\nand not\n");
    let (vcs, base) = repo.begin();
    repo.write("one.txt", "agent\n");
    repo.git(&["add", "one.txt"]);
    repo.git(&["commit", "--quiet", "-m", "one, and what was staged"]);
    assert!(!vcs.candidate(&base).unwrap().leftovers);
    assert_eq!(repo.status(), " M a.txt");
}

#[test]
fn a_branch_that_moved_meanwhile_is_not_overwritten() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    repo.write("one.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    repo.write("two.txt", "person\n");
    repo.git(&["add", "two.txt"]);
    repo.git(&["commit", "--quiet", "-m", "person"]);
    let tip = repo.git(&["rev-parse", "HEAD"]);
    match vcs.commit(&base, &candidate, "late", "") {
        Err(GitError::HeadMoved { expected, found }) => {
            assert_eq!(expected, base.head);
            assert_eq!(found.as_deref(), Some(tip.as_str()));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), tip);
    // Built anew on the tip it goes in.
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["A one.txt"]);
    vcs.commit(&base, &candidate, "in time", "").unwrap().unwrap();
}

#[test]
fn a_switch_to_another_branch_is_an_error() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    repo.write("one.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    repo.git(&["switch", "--quiet", "-c", "elsewhere"]);
    let refused = vcs.commit(&base, &candidate, "lost", "").unwrap_err();
    assert!(matches!(refused, GitError::OtherBranch { .. }), "{refused:?}");
    assert_eq!(refused.to_string(), "the worktree is on branch elsewhere now, not on branch main");
}

/// What an agent committed elsewhere is not on the branch, though nothing is left to commit.
#[test]
fn everything_committed_on_another_branch_is_an_error_too() {
    for place in [["switch", "-c", "side"], ["checkout", "--detach", "HEAD"]] {
        let repo = Repo::new();
        let (vcs, base) = repo.begin();
        vcs.check_branch(&base).unwrap();
        repo.git(&place);
        repo.write("one.txt", "session\n");
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "--quiet", "-m", "mine"]);
        let candidate = vcs.candidate(&base).unwrap();
        assert!(!candidate.leftovers);
        let refused = vcs.commit(&base, &candidate, "x", "").unwrap_err();
        assert!(matches!(refused, GitError::OtherBranch { .. }), "{refused:?}");
        let refused = vcs.check_branch(&base).unwrap_err();
        assert!(matches!(refused, GitError::OtherBranch { .. }), "{refused:?}");
    }
}

#[test]
fn without_an_identity_git_is_asked_and_its_sentence_reported() {
    let repo = Repo::new();
    repo.git(&["config", "user.name", ""]);
    repo.git(&["config", "user.email", ""]);
    repo.write("dirty.txt", "person\n");
    // Saving needs no identity.
    let (vcs, base) = repo.begin();
    assert!(base.start.is_some());
    repo.write("one.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    let refused = vcs.commit(&base, &candidate, "who", "").unwrap_err();
    assert!(
        matches!(&refused, GitError::NoIdentity { message } if message.contains("ident")),
        "{refused:?}"
    );
    assert_eq!(repo.git(&["log", "--format=%s"]), "first");
    assert!(vcs.save_wip(&base, &crate::kit::task("t"), 1).unwrap().is_some());
}

#[test]
fn a_stale_index_lock_costs_no_commit() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "changed\n");
    repo.write("new.txt", "new\n");
    let candidate = vcs.candidate(&base).unwrap();
    repo.write(".git/index.lock", "");
    let id = vcs.commit(&base, &candidate, "one", "").unwrap().unwrap();
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), id);
    let output = vcs.warnings();
    assert!(output.len() == 1 && output[0].contains("index.lock"), "{output:?}");
    repo.remove(".git/index.lock");
    assert_eq!(repo.status(), "MM a.txt\nD  new.txt\n?? new.txt");
    // Somebody stages something of their own before the loop comes round again.
    repo.write("a.txt", "staged\n");
    repo.git(&["add", "a.txt"]);
    vcs.candidate(&base).unwrap();
    assert_eq!(repo.status(), "M  a.txt", "the index has caught up with new.txt");
    assert_eq!(vcs.warnings(), Vec::<String>::new());
}

#[test]
fn a_lock_that_goes_away_is_waited_for() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "changed\n");
    let candidate = vcs.candidate(&base).unwrap();
    let lock = repo.path(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Until the commit is there, the index refresh has not begun.
            while vcs.head().unwrap() == base.head {
                std::thread::yield_now();
            }
            std::fs::remove_file(&lock).unwrap();
        });
        vcs.commit(&base, &candidate, "one", "").unwrap().unwrap();
    });
    assert_eq!(vcs.warnings(), Vec::<String>::new());
    assert_eq!(repo.status(), "");
}

#[test]
fn a_locked_branch_is_busy() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "changed\n");
    let candidate = vcs.candidate(&base).unwrap();
    repo.write(".git/refs/heads/main.lock", "");
    match vcs.commit(&base, &candidate, "one", "") {
        Err(GitError::Busy { path }) => assert!(path.ends_with("refs/heads/main.lock"), "{path:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(vcs.head().unwrap(), base.head);
}

#[test]
fn hooks_and_monitors_of_the_repository_are_not_started() {
    use std::os::unix::fs::PermissionsExt;
    let repo = Repo::new();
    let trap = "#!/bin/sh\necho ran >>\"$(git rev-parse --git-dir)/ran\"\nexit 1\n";
    for hook in
        ["pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"]
    {
        let path = format!(".git/hooks/{hook}");
        repo.write(&path, trap);
        std::fs::set_permissions(repo.path(&path), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    repo.write(".git/monitor", trap);
    std::fs::set_permissions(repo.path(".git/monitor"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    repo.git(&["config", "core.fsmonitor", ".git/monitor"]);
    repo.write("dirty.txt", "person\n");
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "changed\n");
    let candidate = vcs.candidate(&base).unwrap();
    vcs.commit(&base, &candidate, "one", "").unwrap().unwrap();
    repo.write("a.txt", "again\n");
    vcs.save_wip(&base, &crate::kit::task("t"), 1).unwrap().unwrap();
    let candidate = vcs.candidate(&base).unwrap();
    vcs.put_back(&base, &candidate).unwrap();
    assert!(!repo.exists(".git/ran"));
}

#[test]
fn any_text_can_be_a_message() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    for (round, subject) in
        ["-m evil", "# not a comment", "two\nlines", "nul\0byte", ""].into_iter().enumerate()
    {
        repo.write("a.txt", format!("{round}\n"));
        let candidate = vcs.candidate(&base).unwrap();
        vcs.commit(&base, &candidate, subject, "").unwrap().unwrap();
        let wanted = subject.replace('\0', "");
        assert_eq!(repo.git(&["log", "-1", "--format=%B"]), wanted);
    }
    repo.fsck();
}

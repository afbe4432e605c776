//! What sessions do with git in a box, and what becomes of it.

use ralph_engine::ports::{GitError, SessionCommits, Vcs};

use super::{World, bytes_of, vcs_at, without_sandbox};
use crate::kit::{Repo, SaveNow, WorktreeFiles, run, task};

#[test]
fn a_session_uses_git_and_the_repository_stays_as_it_is_byte_for_byte() {
    if without_sandbox() {
        return;
    }
    let world = World::new(Repo::new());
    world.repo.git(&["branch", "other"]);
    world.repo.git(&["tag", "-a", "-m", "one", "v1"]);
    world.repo.git(&["pack-refs", "--all"]);
    let before = bytes_of(&world.repo.path(".git"));
    let output = world.session(
        "git status --porcelain; echo new > new.txt; git add -A; git commit -qm one;
         git switch -qc side HEAD~1; echo s > s.txt; git add s.txt; git commit -qm side;
         git rebase -q main; git switch -q main; git merge -q --no-edit side;
         git branch -D other >/dev/null; git tag -d v1 >/dev/null; git config core.editor evil;
         git config --global user.name evil || true; git gc -q --prune=now; git fsck --no-dangling;
         git log --format=%an%n%s; cat .git/objects/info/alternates",
    );
    assert!(output.starts_with("Tester\nside\nTester\none\nTester\nfirst"), "{output}");
    assert_eq!(bytes_of(&world.repo.path(".git")), before);
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(candidate.head, Some(world.repo.git(&["rev-parse", "HEAD"])));
    assert_eq!(world.repo.beyond_head(&candidate), ["A new.txt", "A s.txt"]);
    let taken = candidate.taken.clone().unwrap();
    assert_eq!(world.repo.git(&["log", "--format=%s", "-1", &taken]), "side");
    // Objects came, and nothing else.
    let mut after = bytes_of(&world.repo.path(".git"));
    after.retain(|path, _| !path.starts_with("objects"));
    let mut rest = before;
    rest.retain(|path, _| !path.starts_with("objects"));
    assert_eq!(after, rest);
    world.quiet();
    world.repo.fsck();
}

#[test]
fn a_green_session_lands_with_its_own_commits_and_only_then() {
    if without_sandbox() {
        return;
    }
    let world = World::new(Repo::new());
    let first = world.repo.git(&["rev-parse", "HEAD"]);
    let own = world.session("echo 1 > one.txt; git add -A; git commit -qm one; git rev-parse HEAD");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(world.vcs.head().unwrap(), Some(first.clone()));
    assert!(candidate.leftovers);
    assert_eq!(world.vcs.commit(&world.base, &candidate, "subject", "why").unwrap(), None);
    assert_eq!(world.vcs.head().unwrap(), Some(own.clone()));
    assert_eq!(world.repo.status(), "");
    assert!(!world.repo.exists(".ralph/box/main"));
    // With something left, the loop commits on top of what the session did.
    let own = world.session(
        "echo 2 > two.txt; git add -A; git commit -qm two; echo 3 > three.txt; git rev-parse HEAD",
    );
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(candidate.taken.as_ref(), Some(&own));
    let made = world.vcs.commit(&world.base, &candidate, "subject", "why").unwrap().unwrap();
    assert_eq!(world.repo.git(&["rev-parse", "HEAD~1"]), own);
    assert_eq!(world.repo.git(&["rev-parse", "HEAD"]), made);
    assert_eq!(world.repo.status(), "");
    // Where the loop commits nothing itself, it still lands.
    let own = world.session("echo 4 > 4.txt; git add -A; git commit -qm four; git rev-parse HEAD");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(world.vcs.land(&world.base, &candidate).unwrap(), Some(own.clone()));
    assert_eq!(world.vcs.land(&world.base, &candidate).unwrap(), Some(own.clone()));
    assert_eq!(world.vcs.head().unwrap(), Some(own));
    assert_eq!(world.repo.status(), "");
    world.quiet();
    world.repo.fsck();
}

#[test]
fn a_red_session_is_where_the_next_one_starts() {
    if without_sandbox() {
        return;
    }
    let world = World::new(Repo::new());
    let own = world.session("echo 1 > one.txt; git add -A; git commit -qm one; git rev-parse HEAD");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    let saved = world.vcs.save_wip(&world.base, &task("t-1"), 1).unwrap().unwrap();
    assert_eq!(world.repo.git(&["rev-parse", &format!("{}^2", saved.name)]), own);
    // Saved again it is the same.
    assert_eq!(world.vcs.save_wip(&world.base, &task("t-1"), 1).unwrap(), Some(saved));
    assert_eq!(world.session("git rev-parse HEAD; git status --porcelain"), own);
    let next =
        world.session("echo 2 > two.txt; git add -A; git commit -qm two; git rev-parse HEAD");
    let again = world.vcs.candidate(&world.base).unwrap();
    assert_eq!((again.head, again.taken), (candidate.head, Some(next)));
    assert_eq!(world.repo.differs(&candidate.head_tree, &again.tree), ["A one.txt", "A two.txt"]);
    world.quiet();
}

#[test]
fn what_is_given_up_goes_back_and_its_commits_are_saved() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    repo.write("a.txt", "the person's\n");
    repo.write("staged.txt", "staged\n");
    repo.git(&["add", "staged.txt"]);
    let before = (files(&repo), repo.staged());
    let world = World::new(repo);
    let own = world.session(
        "echo x > x.txt; git add x.txt; git commit -qm x -- x.txt; rm src/b.txt; echo more >> a.txt;
         git rev-parse HEAD",
    );
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(world.repo.beyond_head(&candidate), ["M a.txt", "D src/b.txt", "A x.txt"]);
    world.vcs.save_wip(&world.base, &task("t-1"), 1).unwrap().unwrap();
    let back = world.vcs.put_back(&world.base, &candidate).unwrap();
    assert_eq!(back.len(), 3, "{back:?}");
    assert_eq!((files(&world.repo), world.repo.staged()), before);
    assert!(!world.repo.exists(".ralph/box/main"));
    let lost = world.repo.git(&["for-each-ref", "--contains", &own, "--format=%(refname)"]);
    assert!(lost.contains("refs/ralph/wip/t-1/1"), "{lost}");
    world.quiet();
}

fn files(repo: &Repo) -> WorktreeFiles {
    let mut seen = repo.seen();
    seen.retain(|path, _| !path.starts_with(".ralph"));
    seen
}

#[test]
fn what_was_dirty_before_the_run_stays_out_unless_a_session_changes_it() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    repo.write("a.txt", "the person's\n");
    repo.write("mine.txt", "mine\n");
    let world = World::new(repo);
    assert!(world.base.start.is_some());
    world.session("echo 1 > one.txt; git add one.txt; git commit -qm one; echo 2 > two.txt");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(world.repo.beyond_head(&candidate), ["A one.txt", "A two.txt"]);
    world.vcs.commit(&world.base, &candidate, "subject", "").unwrap().unwrap();
    assert_eq!(world.repo.status(), " M a.txt\n?? mine.txt");
    world.session("echo more >> mine.txt");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(world.repo.beyond_head(&candidate), ["A mine.txt"]);
    world.quiet();
}

#[test]
fn a_user_who_commits_meanwhile_wins_and_no_commit_of_the_session_is_lost() {
    if without_sandbox() {
        return;
    }
    let world = World::new(Repo::new());
    let own = world.session("echo 1 > one.txt; git add -A; git commit -qm one; git rev-parse HEAD");
    let old = world.vcs.candidate(&world.base).unwrap();
    world.repo.write("person.txt", "p\n");
    world.repo.git(&["add", "person.txt"]);
    world.repo.git(&["commit", "--quiet", "-m", "person", "--", "person.txt"]);
    let moved = world.vcs.commit(&world.base, &old, "subject", "").unwrap_err();
    assert!(matches!(moved, GitError::HeadMoved { .. }), "{moved}");
    let moved = world.vcs.land(&world.base, &old).unwrap_err();
    assert!(matches!(moved, GitError::HeadMoved { .. }), "{moved}");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(candidate.taken, None);
    assert_eq!(world.repo.beyond_head(&candidate), ["A one.txt"]);
    world.vcs.commit(&world.base, &candidate, "subject", "").unwrap().unwrap();
    assert_eq!(world.repo.git(&["log", "--format=%s", "-2"]), "subject\nperson");
    assert_eq!(world.repo.status(), "");
    let kept = world.repo.git(&["for-each-ref", "--contains", &own, "--format=%(refname)"]);
    assert!(kept.contains("refs/ralph/wip/"), "{kept}");
    let reported = world.vcs.warnings();
    assert!(
        reported.iter().any(|text| text.contains("are saved under refs/ralph/wip/")),
        "{reported:?}"
    );
    // The next session begins from the new tip.
    let at = world.session("git log --format=%s -1; git status --porcelain");
    assert_eq!(at, "subject");
}

#[test]
fn on_another_branch_of_its_own_the_work_is_taken_all_the_same() {
    if without_sandbox() {
        return;
    }
    let world = World::new(Repo::new());
    let own = world.session(
        "git switch -qc elsewhere; echo 1 > one.txt; git add -A; git commit -qm one;
         git rev-parse HEAD",
    );
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(candidate.taken, Some(own.clone()));
    world.vcs.commit(&world.base, &candidate, "subject", "").unwrap();
    assert_eq!(world.repo.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(world.vcs.head().unwrap(), Some(own));
    assert_eq!(world.repo.status(), "");
    // The person on another branch is refused, as ever.
    world.session("echo 2 > two.txt");
    let candidate = world.vcs.candidate(&world.base).unwrap();
    world.repo.git(&["switch", "--quiet", "-c", "person"]);
    let refused = world.vcs.commit(&world.base, &candidate, "subject", "").unwrap_err();
    assert!(matches!(refused, GitError::OtherBranch { .. }), "{refused}");
}

#[test]
fn history_that_a_session_rewrote_is_no_part_of_the_branch_and_is_saved() {
    if without_sandbox() {
        return;
    }
    let world = World::new(Repo::new());
    let own = world.session(
        "git commit -q --amend -m amended; echo 1 > one.txt; git add -A; git commit -qm one;
         git rev-parse HEAD",
    );
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(candidate.taken, None);
    world.vcs.commit(&world.base, &candidate, "subject", "").unwrap().unwrap();
    assert_eq!(world.repo.git(&["log", "--format=%s"]), "subject\nfirst");
    let kept = world.repo.git(&["for-each-ref", "--contains", &own, "--format=%(refname)"]);
    assert!(kept.contains("refs/ralph/wip/"), "{kept}");
}

#[test]
fn the_next_run_goes_on_with_what_an_interrupted_one_left_or_saves_it() {
    if without_sandbox() {
        return;
    }
    let world = World::new(Repo::new());
    let own = world.session("echo 1 > one.txt; git add -A; git commit -qm one; git rev-parse HEAD");
    let next = vcs_at(world.repo.place(), &world.sandbox);
    let base = next.begin(&run("r-2"), Some((&run("r-1"), None))).unwrap();
    assert_eq!(next.candidate(&base).unwrap().taken, Some(own.clone()));
    assert_eq!(
        world.repo.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/base"]),
        "refs/ralph/base/r-2"
    );
    // A run of its own does not go on with it.
    let other = vcs_at(world.repo.place(), &world.sandbox);
    other.begin(&run("r-3"), None).unwrap();
    let kept = world.repo.git(&["for-each-ref", "--contains", &own, "--format=%(refname)"]);
    assert!(kept.contains("refs/ralph/wip/main/1"), "{kept}");
    assert!(!world.repo.exists(".ralph/box/main/lent"));
}

#[test]
fn commits_that_a_session_leaves_on_other_branches_and_in_its_stash_are_saved() {
    if without_sandbox() {
        return;
    }
    let world = World::new(Repo::new());
    let output = world.session(
        "git switch -qc tried; echo t > t.txt; git add -A; git commit -qm tried; git rev-parse HEAD;
         git pack-refs --all; git switch -q main; git switch -qc again; echo s > s.txt; git add -A;
         git commit -qm again; git rev-parse HEAD; git switch -q main; echo x > a.txt; git stash -q;
         git rev-parse stash; echo 1 > one.txt; git add -A; git commit -qm one",
    );
    let candidate = world.vcs.candidate(&world.base).unwrap();
    assert_eq!(world.repo.beyond_head(&candidate), ["A one.txt"]);
    world.vcs.commit(&world.base, &candidate, "subject", "").unwrap();
    assert_eq!(world.repo.git(&["log", "--format=%s"]), "one\nfirst");
    for id in output.lines() {
        let kept = world.repo.git(&["for-each-ref", "--contains", id, "--format=%(refname)"]);
        assert!(kept.contains("refs/ralph/wip/main/"), "{id}: {kept}");
    }
    assert_eq!(world.repo.git(&["branch", "--format=%(refname:short)"]), "main");
}

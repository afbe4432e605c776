//! What remains of a worktree whose sessions were sandboxed, after it is removed: nothing.

use ralph_engine::ports::{Ending, SessionCommits};
use ralph_engine::ports::{KeepSaves, Vcs};
use ralph_engine::project::Project;
use ralph_engine::worktrees::{Identity, Wanted, Worktrees};

use super::{World, git_sandbox, session_in, without_sandbox};
use crate::kit::{Repo, run};
use crate::worktrees::{git_in, name};

const IDENTITY: fn() -> Identity = Identity::default;

fn refs(repo: &Repo) -> String {
    repo.git(&["for-each-ref", "--format=%(refname)", "refs/ralph"])
}

fn tidy(vcs: &dyn Vcs) {
    vcs.tidy(&KeepSaves::default(), &mut |_| Ending::Open).unwrap();
}

#[test]
fn a_removed_worktree_takes_its_sandbox_folder_and_its_refs_along() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    let sandbox = git_sandbox();
    let project = Project::find(repo.place()).unwrap();
    let worktrees =
        Worktrees::new(&project, &repo.path(".worktrees")).sandboxed(Some(sandbox.clone()));
    let (branch, identity) = (name("ralph/t-1"), IDENTITY());
    let wanted =
        Wanted { branch: &branch, base: "main", identity: &identity, include: "", carried: None };
    let made = worktrees.prepare(&wanted).unwrap();
    let vcs = worktrees.vcs(Project::find(&made.path).unwrap()).unwrap();
    vcs.begin(&run("r-1"), None).unwrap();
    session_in(&vcs, &sandbox, &made.path, "echo 1 > one.txt; git add -A; git commit -qm one");
    vcs.import_commits().unwrap();
    vcs.shown_to_judges(None).unwrap();
    let head = git_in(&made.path, &["rev-parse", "HEAD"]);
    repo.git(&["merge", "-q", "--ff-only", &head]);
    assert!(repo.exists(".ralph/box/wt-t-1") && refs(&repo).contains("refs/ralph/base/r-1"));
    worktrees.remove(&branch).unwrap().unwrap();
    worktrees.delete_branch(&branch).unwrap();
    assert_eq!(refs(&repo), "");
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]), "main");
    assert!(!made.path.exists() && !repo.exists(".worktrees") && !repo.exists(".git/worktrees"));
    let left: Vec<_> = std::fs::read_dir(repo.path(".ralph/box")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    repo.fsck();
}

#[test]
fn an_unreadable_session_directory_is_kept_when_its_worktree_goes() {
    if without_sandbox() {
        return;
    }
    let repo = Repo::new();
    let sandbox = git_sandbox();
    let project = Project::find(repo.place()).unwrap();
    let made = repo.prepare("side").unwrap();
    let vcs = super::vcs_at(&made.path, &sandbox);
    session_in(&vcs, &sandbox, &made.path, "git commit -q --allow-empty -m only-here");
    // As `ralph clean` does it where no sandbox works.
    let removed = Worktrees::new(&project, &repo.path(".worktrees")).remove(&name("side"));
    let aside = removed.unwrap().unwrap().aside.unwrap();
    assert!(aside.join("git").is_dir(), "{}", aside.display());
    assert!(!made.path.exists() && !repo.exists(".ralph/box/wt-side"));
}

#[test]
fn the_end_of_a_run_removes_a_sandbox_folder_without_unfinished_work() {
    if without_sandbox() {
        return;
    }
    let world = World::new(Repo::new());
    world.session("git commit -q --allow-empty -m unfinished");
    tidy(&world.vcs);
    assert!(world.repo.exists(".ralph/box/main/git"), "the next session begins there");
    assert!(refs(&world.repo).contains("refs/ralph/base/r-1"));
    let candidate = world.vcs.candidate(&world.base).unwrap();
    world.vcs.land(&world.base, &candidate).unwrap().unwrap();
    world.session("git status -s");
    tidy(&world.vcs);
    assert!(!world.repo.exists(".ralph/box"));
    assert_eq!(refs(&world.repo), "");
    world.quiet();
}

//! Repositories that are not the usual one.

use ralph_engine::ports::{Trees, Vcs};
use ralph_engine::project::Project;
use ralph_engine::vcs::GitVcs;

use crate::kit::{Repo, SaveNow, ids_between, run, task};

#[test]
fn a_branch_without_commits() {
    let repo = Repo::unborn();
    repo.write("person.txt", "person\n");
    repo.write("staged.txt", "person\n");
    repo.git(&["add", "staged.txt"]);
    let (vcs, base) = repo.begin();
    assert_eq!((base.head.as_deref(), base.branch.as_deref()), (None, Some("main")));
    assert!(base.start.is_some());
    assert_eq!(vcs.head().unwrap(), None);
    assert!(!vcs.candidate(&base).unwrap().leftovers);
    repo.write("one.txt", "session\n");
    let saved = vcs.save_wip(&base, &task("t"), 1).unwrap().unwrap();
    repo.write("two.txt", "session\n");
    let again = vcs.save_wip(&base, &task("t"), 1).unwrap().unwrap();
    assert_eq!(vcs.save_wip(&base, &task("t"), 1).unwrap().unwrap(), again);
    assert_eq!(repo.git(&["rev-parse", &format!("{}^2", again.commit)]), saved.commit);
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["A one.txt", "A two.txt"]);
    assert_eq!(vcs.put_back(&base, &candidate).unwrap().len(), 2);
    assert!(!repo.exists("one.txt") && repo.exists("person.txt"));
    repo.write("one.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    let id = vcs.commit(&base, &candidate, "first", "").unwrap().unwrap();
    assert_eq!(repo.git(&["rev-list", "--count", &id]), "1");
    assert_eq!(repo.status(), "A  staged.txt\n?? person.txt");
    assert_eq!(ids_between(&vcs, None, &id), [id]);
    repo.fsck();
}

#[test]
fn a_repository_in_which_nothing_ever_was() {
    let repo = Repo::unborn();
    let (vcs, base) = repo.begin();
    assert_eq!(base.start, None);
    let candidate = vcs.candidate(&base).unwrap();
    assert!(!candidate.leftovers);
    assert_eq!(candidate.tree, base.settled_tree);
}

#[test]
fn a_detached_head() {
    let repo = Repo::new();
    repo.git(&["checkout", "--quiet", "--detach"]);
    let (vcs, base) = repo.begin();
    assert_eq!(base.branch, None);
    repo.write("a.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    let id = vcs.commit(&base, &candidate, "one", "").unwrap().unwrap();
    assert_eq!(vcs.head().unwrap(), Some(id));
    assert_ne!(repo.git(&["rev-parse", "main"]), vcs.head().unwrap().unwrap());
    assert_eq!(repo.status(), "");
}

#[test]
fn a_linked_worktree() {
    let main = Repo::new();
    main.write("main-only.txt", "person\n");
    let place = main.folder().join("linked");
    main.git(&["worktree", "add", "--quiet", "-b", "side", place.to_str().unwrap()]);
    let vcs = GitVcs::new(Project::find(&place).unwrap()).unwrap();
    let base = vcs.begin(&run("r-1"), None).unwrap();
    assert_eq!((base.branch.as_deref(), &base.start), (Some("side"), &None));
    std::fs::write(place.join("a.txt"), "session\n").unwrap();
    let candidate = vcs.candidate(&base).unwrap();
    let id = vcs.commit(&base, &candidate, "one", "").unwrap().unwrap();
    assert_eq!(vcs.head().unwrap(), Some(id.clone()));
    assert_eq!(main.git(&["rev-parse", "side"]), id);
    assert_eq!(main.git(&["-C", place.to_str().unwrap(), "status", "--porcelain"]), "");
    assert_eq!(main.status(), "?? main-only.txt", "the other worktree is as it was");
    assert_eq!(main.vcs().head().unwrap(), base.head);
    main.fsck();
}

#[test]
fn refs_that_are_packed_or_symbolic_are_found() {
    let repo = Repo::new();
    let vcs = repo.vcs();
    let head = Some(repo.git(&["rev-parse", "HEAD"]));
    repo.git(&["tag", "-a", "v1", "-m", "v1"]);
    repo.git(&["pack-refs", "--all", "--prune"]);
    assert!(!repo.exists(".git/refs/heads/main"));
    assert_eq!(vcs.head().unwrap(), head);
    repo.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
    assert_eq!(vcs.head().unwrap(), head);
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    repo.write("a.txt", "second\n");
    assert_eq!(vcs.head().unwrap(), head, "nothing was committed");
    let second = repo.commit("second");
    assert_eq!(vcs.head().unwrap(), Some(second), "a loose ref wins");
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/none/such"]);
    assert_eq!(vcs.head().unwrap(), None);
}

#[test]
fn refs_that_are_no_files_are_asked_for() {
    let repo = Repo::new();
    let works = std::process::Command::new("git")
        .args(["refs", "migrate", "--ref-format=reftable"])
        .current_dir(repo.place())
        .output()
        .unwrap();
    if !works.status.success() {
        ralph_testkit::skip("refs in a reftable: this git has none");
        return;
    }
    let (vcs, base) = repo.begin();
    assert_eq!(base.branch.as_deref(), Some("main"));
    assert_eq!(base.head, Some(repo.git(&["rev-parse", "HEAD"])));
    repo.write("a.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    vcs.commit(&base, &candidate, "one", "").unwrap().unwrap();
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/unborn"]);
    assert_eq!(vcs.head().unwrap(), None);
}

#[test]
fn a_repository_with_long_ids() {
    let repo = Repo::unborn();
    std::fs::remove_dir_all(repo.path(".git")).unwrap();
    repo.git(&["init", "--quiet", "--object-format=sha256", "--initial-branch=main"]);
    repo.git(&["config", "user.name", "Tester"]);
    repo.git(&["config", "user.email", "tester@example.org"]);
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "a\n");
    repo.write("b.txt", "b\n");
    let candidate = vcs.candidate(&base).unwrap();
    let id = vcs.commit(&base, &candidate, "one", "").unwrap().unwrap();
    assert_eq!(id.len(), 64);
    repo.remove("a.txt");
    let candidate = vcs.candidate(&base).unwrap();
    vcs.commit(&base, &candidate, "two", "").unwrap().unwrap();
    assert_eq!(repo.status(), "");
    repo.write("b.txt", "changed\n");
    let candidate = vcs.candidate(&base).unwrap();
    vcs.put_back(&base, &candidate).unwrap();
    assert_eq!(repo.status(), "");
}

#[test]
fn a_sparse_checkout_deletes_nothing() {
    let repo = Repo::new();
    repo.write("other/c.txt", "c\n");
    repo.commit("other");
    repo.git(&["sparse-checkout", "set", "src"]);
    assert!(!repo.exists("other/c.txt"));
    let (vcs, base) = repo.begin();
    assert_eq!(base.start, None);
    repo.write("src/b.txt", "session\n");
    repo.write("beyond/new.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["A beyond/new.txt", "M src/b.txt"]);
    vcs.commit(&base, &candidate, "one", "").unwrap().unwrap();
    assert_eq!(repo.git(&["show", "HEAD:other/c.txt"]), "c");
    assert_eq!(repo.status(), "");
}

#[test]
fn submodules_and_other_repositories_inside() {
    let library = Repo::new();
    let repo = Repo::new();
    repo.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        library.place().to_str().unwrap(),
        "lib",
    ]);
    repo.commit("library");
    // A clone that the person has inside, and one that has no commit.
    repo.git(&["clone", "--quiet", library.place().to_str().unwrap(), "clone"]);
    repo.git(&["init", "--quiet", "fresh"]);
    let (vcs, base) = repo.begin();
    let output = vcs.warnings();
    assert_eq!(output, ["fresh/ is a repository without a commit and was left out"]);
    assert!(!vcs.candidate(&base).unwrap().leftovers);
    // A dirty file in the submodule is the submodule's own affair; a new commit there is a change.
    repo.write("lib/a.txt", "session\n");
    assert!(!vcs.candidate(&base).unwrap().leftovers);
    for (key, value) in [("user.name", "T"), ("user.email", "t@example.org")] {
        repo.git(&["-C", "lib", "config", key, value]);
    }
    repo.git(&["-C", "lib", "commit", "--quiet", "-am", "in the library"]);
    repo.write("mine.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["M lib", "A mine.txt"]);
    assert!(vcs.save_wip(&base, &task("t"), 1).unwrap().is_some());
    let back = vcs.put_back(&base, &candidate).unwrap();
    assert_eq!(back, [std::path::PathBuf::from("mine.txt")], "the submodule is not touched");
    assert_eq!(repo.read("lib/a.txt"), "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    vcs.commit(&base, &candidate, "library", "").unwrap().unwrap();
    assert!(repo.git(&["ls-tree", "HEAD", "lib"]).starts_with("160000 commit"));
    assert_eq!(repo.status(), "?? clone/\n?? fresh/");
    repo.fsck();
}

#[test]
fn a_split_index_is_left_as_it_is() {
    let repo = Repo::new();
    repo.git(&["update-index", "--split-index"]);
    repo.write("a.txt", "staged\n");
    repo.git(&["add", "a.txt"]);
    let shared = || {
        let files = std::fs::read_dir(repo.path(".git")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("sharedindex")).count()
    };
    let (before, index) = (shared(), repo.staged());
    assert!(before > 0);
    let (vcs, base) = repo.begin();
    repo.write("src/b.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["M src/b.txt"]);
    assert_eq!((shared(), repo.staged()), (before, index));
}

/// The user commits between two runs, on top of a commit that a session made and nobody accepted.
#[test]
fn commits_since_a_run_ended_count_as_checked_and_its_sessions_do_not() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "session\n");
    repo.write("new.txt", "session\n");
    repo.commit("by a session");
    let seen = repo.git(&["rev-parse", "HEAD"]);
    let carried = |to: &str| vcs.carried(&base.settled_tree, Some(&seen), Some(to)).unwrap();
    assert_eq!(carried(&seen), base.settled_tree);
    repo.write("gates.txt", "user\n");
    repo.remove("src/b.txt");
    repo.commit("by the user");
    let now = carried(&repo.git(&["rev-parse", "HEAD"]));
    assert_eq!(vcs.changes(&base.settled_tree, &now).unwrap(), ["gates.txt", "src/b.txt"]);
    let head = repo.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(vcs.changes(&now, &head).unwrap(), ["a.txt", "new.txt"]);
    // What the user has rewritten is the user's.
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    repo.git(&["commit", "--quiet", "--amend", "-m", "kept by the user"]);
    let head = repo.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(carried(&repo.git(&["rev-parse", "HEAD"])), head);
}

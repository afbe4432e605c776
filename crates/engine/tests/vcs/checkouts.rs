//! Fresh checkouts of candidates.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use ralph_engine::ports::{Trees, Vcs};
use ralph_engine::project::Project;
use ralph_engine::vcs::GitVcs;

use crate::kit::{Repo, os, run};

fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A replaced object is shown by git and is not what is committed.
#[test]
fn a_checkout_shows_what_is_committed_and_not_what_replaces_it() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let real = repo.git(&["rev-parse", "HEAD:a.txt"]);
    repo.write("other.txt", "shown instead\n");
    let other = repo.git(&["hash-object", "-w", "other.txt"]);
    repo.git(&["replace", &real, &other]);
    let text = String::from_utf8(vcs.file(&base.settled_tree, "a.txt").unwrap().unwrap()).unwrap();
    assert_ne!(text, "shown instead\n");
    let candidate = vcs.candidate(&base).unwrap();
    let checkout = vcs.checkout(&candidate, "").unwrap();
    assert_eq!(std::fs::read_to_string(checkout.folder().join("a.txt")).unwrap(), text);
}

#[test]
fn the_ignored_files_of_a_checkout_are_compared_by_their_content() {
    let repo = Repo::new();
    let (vcs, _) = repo.begin();
    repo.write("a.log", "one\n");
    let one = vcs.included("*.log\n").unwrap();
    assert_eq!(one.len(), 1);
    assert_eq!(one, vcs.included("*.log\n").unwrap());
    repo.write("a.log", "two\n");
    assert_ne!(one, vcs.included("*.log\n").unwrap());
    assert!(vcs.included("*.txt\n").unwrap().is_empty(), "tracked files are in the tree");
}

/// Two texts of the same length that FNV-1a cannot tell apart.
#[test]
fn an_ignored_file_cannot_be_replaced_by_one_with_the_same_plain_hash() {
    let repo = Repo::new();
    let (vcs, _) = repo.begin();
    repo.write("a.log", "8yn0iYCKYHlIj4-BwPqk");
    let then = vcs.included("*.log\n").unwrap();
    repo.write("a.log", "GReLUrM4wMqfg9yzV3KQ");
    assert_ne!(then, vcs.included("*.log\n").unwrap());
}

#[test]
fn an_ignored_file_that_became_a_link_or_a_program_is_another() {
    let repo = Repo::new();
    let (vcs, _) = repo.begin();
    repo.write("a.log", "b.txt");
    let then = vcs.included("*.log\n").unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(repo.path("a.log"), mode).unwrap();
    let program = vcs.included("*.log\n").unwrap();
    repo.remove("a.log");
    symlink("b.txt", repo.path("a.log")).unwrap();
    let link = vcs.included("*.log\n").unwrap();
    assert!(then != program && program != link && link != then);
}

#[test]
fn a_checkout_has_exactly_the_files_of_the_tree() {
    let repo = Repo::new();
    repo.write("person.txt", "before the run\n");
    let (vcs, base) = repo.begin();
    repo.write("new/tool", "#!/bin/sh\n");
    std::fs::set_permissions(repo.path("new/tool"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    symlink("../a.txt", repo.path("new/link")).unwrap();
    repo.write(os(b"odd\xff\n name"), "odd\n");
    repo.write("left.log", "ignored\n");
    repo.remove("src/b.txt");
    let candidate = vcs.candidate(&base).unwrap();
    let (index, seen) = (repo.staged(), repo.seen());
    let checkout = vcs.checkout(&candidate, "").unwrap();
    let folder = checkout.folder().to_owned();
    let there = |name: &str| folder.join(name).symlink_metadata().is_ok();
    assert!(there("a.txt") && there("new/tool") && there(".gitignore"));
    assert!(!there("left.log") && !there("src/b.txt") && !there("person.txt"));
    assert_eq!(std::fs::read_link(folder.join("new/link")).unwrap(), Path::new("../a.txt"));
    assert!(folder.join(os(b"odd\xff\n name")).exists());
    let mode = std::fs::metadata(folder.join("new/tool")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!((repo.staged(), repo.seen()), (index, seen), "nothing of the person's was touched");
    drop(checkout);
    assert!(!folder.exists() && !folder.parent().unwrap().exists());
}

#[test]
fn git_finds_the_repository_in_a_checkout() {
    let repo = Repo::new();
    repo.git(&["tag", "v1"]);
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    let checkout = vcs.checkout(&candidate, "").unwrap();
    let folder = checkout.folder();
    assert_eq!(git_in(folder, &["describe", "--tags"]), "v1");
    assert_eq!(git_in(folder, &["status", "--porcelain"]), "M  a.txt");
    assert_eq!(git_in(folder, &["rev-parse", "--show-toplevel"]), folder.to_str().unwrap());
    git_in(folder, &["add", "-A"]);
    assert_eq!(git_in(folder, &["write-tree"]), candidate.tree);
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(repo.status(), " M a.txt", "the person's index is another");
}

#[test]
fn a_checkout_is_whole_where_the_worktree_is_not() {
    let repo = Repo::new();
    repo.git(&["sparse-checkout", "set", "--no-cone", "/a.txt", "/.gitignore"]);
    assert!(!repo.exists("src/b.txt"));
    let (vcs, base) = repo.begin();
    let candidate = vcs.candidate(&base).unwrap();
    let checkout = vcs.checkout(&candidate, "").unwrap();
    assert!(checkout.folder().join("src/b.txt").exists());
}

#[test]
fn a_branch_without_commits_and_a_linked_worktree_have_checkouts_too() {
    let repo = Repo::unborn();
    repo.write("a.txt", "a\n");
    let (vcs, mut base) = repo.begin();
    base.start = None;
    let candidate = vcs.candidate(&base).unwrap();
    let checkout = vcs.checkout(&candidate, "").unwrap();
    assert_eq!(git_in(checkout.folder(), &["status", "--porcelain"]), "A  a.txt");

    let repo = Repo::new();
    let linked = repo.folder().join("linked");
    repo.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let vcs = GitVcs::new(Project::find(&linked).unwrap()).unwrap();
    let base = vcs.begin(&run("r-1"), None).unwrap();
    std::fs::write(linked.join("a.txt"), "side\n").unwrap();
    let checkout = vcs.checkout(&vcs.candidate(&base).unwrap(), "").unwrap();
    assert_eq!(std::fs::read_to_string(checkout.folder().join("a.txt")).unwrap(), "side\n");
    assert_eq!(git_in(checkout.folder(), &["status", "--porcelain"]), "M  a.txt");
}

#[test]
fn ignored_files_that_are_included_are_copied_and_no_others() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    for path in ["build/deep/cache", "build/skip", "one.log", "two.log", ".ralph/progress.db"] {
        repo.write(path, "x\n");
    }
    symlink("one.log", repo.path("link.log")).unwrap();
    repo.write("build/clone/.git/HEAD", "ref: refs/heads/main\n");
    let candidate = vcs.candidate(&base).unwrap();
    let patterns = "# comment\nbuild/*\n!build/skip\n/one.log\nlink.log\n*.db\n";
    let checkout = vcs.checkout(&candidate, patterns).unwrap();
    let there = |name: &str| checkout.folder().join(name).symlink_metadata().is_ok();
    assert!(there("build/deep/cache") && there("one.log"));
    assert!(!there("build/skip") && !there("two.log") && !there(".ralph"));
    let link = std::fs::read_link(checkout.folder().join("link.log")).unwrap();
    assert_eq!(link, Path::new("one.log"));
    // Patterns that fit nothing.
    let checkout = vcs.checkout(&candidate, "nothing\n").unwrap();
    assert!(!checkout.folder().join("one.log").exists());
}

#[test]
fn a_file_of_a_tree_is_read() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let tree = vcs.candidate(&base).unwrap().tree;
    assert_eq!(vcs.file(&tree, "src/b.txt").unwrap().as_deref(), Some(b"b\n".as_slice()));
    assert_eq!(vcs.file(&tree, "nonsuch").unwrap(), None);
    assert_eq!(vcs.file(&tree, "src").unwrap(), None);
}

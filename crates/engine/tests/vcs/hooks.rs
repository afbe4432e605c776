//! The person's hooks on commits of the loop.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use ralph_engine::clock::Stopwatch;
use ralph_engine::ports::{GitError, Vcs};
use ralph_engine::project::Project;
use ralph_engine::vcs::GitVcs;

use crate::kit::{Repo, run};

fn hook(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn with_hooks(place: &Path, timeout: Duration) -> GitVcs {
    let environment: Vec<_> = std::env::vars_os().collect();
    GitVcs::new(Project::find(place).unwrap()).unwrap().with_hooks(&environment, timeout)
}

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_hook_that_hangs_is_ended_and_named() {
    let repo = Repo::new();
    hook(&repo.path(".git/hooks/pre-commit"), "echo waiting; sleep 300");
    let vcs = with_hooks(repo.place(), Duration::from_secs(1));
    let base = vcs.begin(&run("r-1"), None).unwrap();
    repo.write("a.txt", "x\n");
    let candidate = vcs.candidate(&base).unwrap();
    let clock = Stopwatch::start();
    let error = vcs.commit(&base, &candidate, "s", "").unwrap_err().to_string();
    assert_eq!(error, "the pre-commit hook failed: timed out after 1s: waiting");
    assert!(clock.elapsed() < PATIENCE);
    assert_eq!(vcs.head().unwrap(), base.head);
}

#[test]
fn hooks_of_the_common_directory_serve_a_linked_worktree() {
    let repo = Repo::new();
    let notes = repo.folder().join("notes");
    let script = format!("git rev-parse --show-toplevel > {}; pwd >> {0}", notes.display());
    hook(&repo.path(".git/hooks/pre-commit"), &script);
    hook(&repo.path(".git/hooks/commit-msg"), "echo 'Signed: yes' >> \"$1\"");
    let linked = repo.folder().canonicalize().unwrap().join("linked");
    repo.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let vcs = with_hooks(&linked, PATIENCE);
    let base = vcs.begin(&run("r-1"), None).unwrap();
    std::fs::write(linked.join("a.txt"), "side\n").unwrap();
    let candidate = vcs.candidate(&base).unwrap();
    vcs.commit(&base, &candidate, "s", "").unwrap().unwrap();
    let place = linked.display();
    assert_eq!(std::fs::read_to_string(notes).unwrap(), format!("{place}\n{place}\n"));
    assert_eq!(repo.git(&["log", "-1", "--format=%B", "side"]), "s\nSigned: yes");
}

#[test]
fn what_git_would_not_run_is_not_run() {
    let repo = Repo::new();
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    let vcs = with_hooks(repo.place(), PATIENCE);
    let base = vcs.begin(&run("r-1"), None).unwrap();
    repo.write("a.txt", "x\n");
    vcs.commit(&base, &vcs.candidate(&base).unwrap(), "s", "").unwrap().unwrap();
    // And without being told so, none at all.
    hook(&repo.path(".git/hooks/pre-commit"), "exit 1");
    let vcs = repo.vcs();
    repo.write("a.txt", "y\n");
    vcs.commit(&base, &vcs.candidate(&base).unwrap(), "s", "").unwrap().unwrap();
}

#[test]
fn a_hook_that_empties_the_message_refuses_the_commit() {
    let repo = Repo::new();
    hook(&repo.path(".git/hooks/commit-msg"), ": > \"$1\"");
    let vcs = with_hooks(repo.place(), PATIENCE);
    let base = vcs.begin(&run("r-1"), None).unwrap();
    repo.write("a.txt", "x\n");
    let error = vcs.commit(&base, &vcs.candidate(&base).unwrap(), "s", "").unwrap_err();
    assert!(matches!(error, GitError::Hook { .. }), "{error}");
    assert_eq!(vcs.head().unwrap(), base.head);
}

#[test]
fn a_hook_sees_the_candidate_and_may_change_files_without_adding_them() {
    let repo = Repo::new();
    repo.write("mine.txt", "person\n");
    repo.git(&["add", "mine.txt"]);
    let notes = repo.folder().join("notes");
    let script = format!(
        "git diff --cached --name-only > {}; echo more >> a.txt; git diff --name-only >> {0}",
        notes.display()
    );
    hook(&repo.path(".git/hooks/pre-commit"), &script);
    let vcs = with_hooks(repo.place(), PATIENCE);
    let base = vcs.begin(&run("r-1"), None).unwrap();
    repo.write("a.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    let id = vcs.commit(&base, &candidate, "s", "").unwrap().unwrap();
    assert_eq!(std::fs::read_to_string(notes).unwrap(), "a.txt\na.txt\n");
    assert_eq!(repo.git(&["show", &format!("{id}:a.txt")]), "session", "what was judged");
    assert_eq!(repo.read("a.txt"), "session\nmore\n", "the rest stays uncommitted");
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "mine.txt");
}

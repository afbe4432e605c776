//! Saving unfinished work and taking it out of the worktree.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use ralph_engine::ports::Vcs;

use crate::kit::{Repo, SaveNow, task};

fn paths(texts: &[&str]) -> Vec<PathBuf> {
    texts.iter().map(PathBuf::from).collect()
}

#[test]
fn work_is_saved_once_and_nothing_is_saved_for_nothing() {
    let repo = Repo::new();
    repo.write("a.txt", "person\n");
    let (vcs, base) = repo.begin();
    assert_eq!(vcs.save_wip(&base, &task("task-cli/01"), 2).unwrap(), None);
    repo.write("new.txt", "session\n");
    repo.remove("src/b.txt");
    let (index, files) = (repo.staged(), repo.seen());
    let saved = vcs.save_wip(&base, &task("task-cli/01"), 2).unwrap().unwrap();
    assert_eq!(saved.name, "refs/ralph/wip/task-cli=2F01/2");
    assert_eq!(repo.git(&["rev-parse", &saved.name]), saved.commit);
    assert_eq!(
        repo.differs(&format!("{}^", saved.name), &saved.name),
        ["A new.txt", "D src/b.txt"],
        "without what the person had"
    );
    let message = repo.git(&["log", "-1", "--format=%an%n%B", &saved.commit]);
    assert!(
        message
            .starts_with("ralph\nralph: unfinished work on task-cli/01, attempt 2\n\nSaved at 2"),
        "{message}"
    );
    assert_eq!(vcs.save_wip(&base, &task("task-cli/01"), 2).unwrap(), Some(saved));
    assert_eq!((repo.staged(), repo.seen()), (index, files));
    assert_eq!(vcs.head().unwrap(), base.head);
}

#[test]
fn a_later_save_of_the_same_attempt_keeps_the_earlier_one() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    repo.write("new.txt", "first\n");
    let first = vcs.save_wip(&base, &task("t"), 1).unwrap().unwrap();
    repo.write("new.txt", "second\n");
    let second = vcs.save_wip(&base, &task("t"), 1).unwrap().unwrap();
    assert_eq!(second.name, first.name);
    let parents = repo.git(&["log", "-1", "--format=%P", &second.name]);
    assert_eq!(parents, format!("{} {}", base.head.clone().unwrap(), first.commit));
    assert_eq!(vcs.save_wip(&base, &task("t"), 1).unwrap(), Some(second));
}

#[test]
fn what_the_session_left_goes_back() {
    let repo = Repo::new();
    repo.write("tool.sh", "#!/bin/sh\n");
    symlink("a.txt", repo.path("link")).unwrap();
    repo.commit("more");
    let before = repo.seen();
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "session\n");
    repo.write("deep/er/new.txt", "session\n");
    repo.write("deep/kept.log", "ignored\n");
    repo.write("other/new.txt", "session\n");
    repo.remove("src/b.txt");
    std::fs::remove_dir(repo.path("src")).unwrap();
    std::fs::set_permissions(repo.path("tool.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    repo.remove("link");
    symlink("tool.sh", repo.path("link")).unwrap();
    repo.git(&["add", "other/new.txt", "a.txt"]);
    repo.git(&["rm", "--quiet", "--cached", "src/b.txt"]);
    let saved = vcs.save_wip(&base, &task("t"), 1).unwrap().unwrap();
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.git(&["rev-parse", &format!("{}^{{tree}}", saved.commit)]), candidate.tree);
    let back = vcs.put_back(&base, &candidate).unwrap();
    let wanted = ["a.txt", "deep/er/new.txt", "link", "other/new.txt", "src/b.txt", "tool.sh"];
    assert_eq!(back, paths(&wanted));
    assert_eq!(repo.read("deep/kept.log"), "ignored\n");
    assert!(!repo.exists("deep/er") && !repo.exists("other"), "empty folders go");
    repo.remove("deep/kept.log");
    assert_eq!(repo.seen(), before);
    assert_eq!(repo.status(), "", "the index is as it was as well");
    assert_eq!(vcs.put_back(&base, &candidate).unwrap(), paths(&[]));
    repo.fsck();
}

#[test]
fn a_dirty_file_gets_back_what_the_user_had() {
    let repo = Repo::new();
    repo.write("deleted.txt", "committed\n");
    repo.commit("more");
    repo.write("a.txt", "staged\n");
    repo.git(&["add", "a.txt"]);
    repo.write("a.txt", "staged\nand not\n");
    repo.write("untracked.txt", "person\n");
    repo.write("untouched.txt", "person\n");
    repo.remove("deleted.txt");
    let (before, index, status) = (repo.seen(), repo.staged(), repo.status());
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "session\n");
    repo.write("untracked.txt", "session\n");
    repo.write("deleted.txt", "session\n");
    repo.write("new.txt", "session\n");
    repo.git(&["add", "-A"]);
    vcs.save_wip(&base, &task("t"), 1).unwrap().unwrap();
    let candidate = vcs.candidate(&base).unwrap();
    let back = vcs.put_back(&base, &candidate).unwrap();
    assert_eq!(back, paths(&["a.txt", "deleted.txt", "new.txt", "untracked.txt"]));
    assert_eq!(repo.seen(), before);
    // The agent staged this one too, and no session changed it: it is no business of the loop.
    repo.git(&["reset", "--quiet", "--", "untouched.txt"]);
    assert_eq!(repo.staged(), index);
    assert_eq!(repo.status(), status);
}

#[test]
fn what_the_user_edits_meanwhile_stays() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "session\n");
    repo.write("src/b.txt", "session\n");
    repo.write("new.txt", "session\n");
    repo.write("own.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    repo.write("a.txt", "session\nperson\n");
    repo.write("new.txt", "session\nperson\n");
    repo.write("later.txt", "person\n");
    repo.git(&["add", "own.txt"]);
    repo.git(&["commit", "--quiet", "-m", "the person likes this one"]);
    assert_eq!(vcs.put_back(&base, &candidate).unwrap(), paths(&["src/b.txt"]));
    assert_eq!(repo.read("a.txt"), "session\nperson\n");
    assert_eq!(repo.read("new.txt"), "session\nperson\n");
    assert_eq!(repo.read("later.txt"), "person\n");
    assert_eq!(repo.read("own.txt"), "session\n");
    assert_eq!(repo.status(), " M a.txt\n?? later.txt\n?? new.txt");
}

#[test]
fn commits_of_the_agent_stay() {
    let repo = Repo::new();
    repo.write("a.txt", "person\n");
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "person\nagent\n");
    repo.write("one.txt", "agent\n");
    let one = repo.commit("by the agent");
    repo.write("a.txt", "person\nagent\nleft over\n");
    repo.write("left.txt", "over\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(vcs.put_back(&base, &candidate).unwrap(), paths(&["a.txt", "left.txt"]));
    assert_eq!(vcs.head().unwrap(), Some(one));
    assert_eq!(repo.read("a.txt"), "person\nagent\n", "as committed: that has the person's in it");
    assert_eq!(repo.status(), "");
    assert!(!vcs.candidate(&base).unwrap().leftovers);
}

#[test]
fn files_and_folders_that_changed_places_change_back() {
    let repo = Repo::new();
    let before = repo.seen();
    let (vcs, base) = repo.begin();
    repo.remove("a.txt");
    repo.write("a.txt/inner/file", "session\n");
    repo.remove("src/b.txt");
    std::fs::remove_dir(repo.path("src")).unwrap();
    repo.write("src", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(vcs.put_back(&base, &candidate).unwrap().len(), 4);
    assert_eq!(repo.seen(), before);
    assert_eq!(repo.status(), "");
    // An ignored file keeps the folder, and the folder keeps the file away; nothing is lost.
    repo.remove("a.txt");
    repo.write("a.txt/file", "session\n");
    repo.write("a.txt/kept.log", "ignored\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(vcs.put_back(&base, &candidate).unwrap(), paths(&["a.txt/file"]));
    assert_eq!(repo.read("a.txt/kept.log"), "ignored\n");
}

#[test]
fn a_link_in_place_of_a_folder_redirects_nothing() {
    let repo = Repo::new();
    let outside = repo.folder().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("b.txt"), "not ours\n").unwrap();
    let (vcs, base) = repo.begin();
    repo.remove("src/b.txt");
    std::fs::remove_dir(repo.path("src")).unwrap();
    symlink(&outside, repo.path("src")).unwrap();
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["A src", "D src/b.txt"]);
    assert_eq!(vcs.put_back(&base, &candidate).unwrap(), paths(&["src", "src/b.txt"]));
    assert_eq!(repo.read("src/b.txt"), "b\n");
    assert!(!repo.path("src").is_symlink());
    assert_eq!(std::fs::read_to_string(outside.join("b.txt")).unwrap(), "not ours\n");
}

#[test]
fn files_are_written_as_the_attributes_say() {
    let repo = Repo::new();
    // A name that comes before that of the attributes.
    repo.write(".gitattributes", "*.crlf text eol=crlf\n");
    repo.write("#one.crlf", "a\r\n");
    repo.commit("ends");
    let before = repo.seen();
    let (vcs, base) = repo.begin();
    repo.write(".gitattributes", "*.crlf text eol=lf\n");
    repo.write("#one.crlf", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    vcs.put_back(&base, &candidate).unwrap();
    assert_eq!(repo.seen(), before);
    assert_eq!(repo.status(), "");
}

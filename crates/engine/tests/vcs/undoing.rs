//! Commits that are undone by new commits: exactly, or not at all.

use ralph_engine::undo::{PlanEdit, UndoError};

use crate::kit::Repo;

/// The message of a revert, as `ralph undo` words it.
fn message(commit: &str) -> String {
    format!("Revert \"x\"\n\nThis reverts commit {commit}.\n")
}

fn named(commits: &[&String]) -> Vec<(String, String)> {
    commits.iter().map(|id| ((*id).clone(), "x".to_owned())).collect()
}

#[test]
fn commits_are_reverted_one_by_one_and_the_users_files_stay() {
    let repo = Repo::new();
    repo.write("one.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let first = repo.commit("first of the task");
    repo.write("one.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    let second = repo.commit("second of the task");
    repo.write("one.txt", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    repo.write("later.txt", "later\n");
    let later = repo.commit("of another task");
    repo.write("a.txt", "mine\n");
    repo.write("mine.txt", "mine\n");
    let vcs = repo.vcs();
    // The newest can go alone; the file of the first was changed since.
    let undo = vcs.prepare_undo(&named(&[&second]), &[]).unwrap();
    assert_eq!(undo.files, ["one.txt"]);
    let refused = vcs.prepare_undo(&named(&[&second, &first]), &[]).unwrap_err();
    assert!(
        matches!(&refused, UndoError::Conflict { commit, files } if *commit == first && files == &["one.txt"]),
        "{refused}"
    );
    assert_eq!(repo.git(&["rev-parse", "HEAD"]).trim(), later);
    let made = vcs.finish_undo(&undo, |revert| message(&revert.commit)).unwrap();
    assert_eq!(made.len(), 1);
    assert_eq!(repo.git(&["rev-parse", "HEAD^"]).trim(), later, "history is not rewritten");
    assert_eq!(repo.read("one.txt"), "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
    assert_eq!((repo.read("a.txt"), repo.read("mine.txt")), ("mine\n".into(), "mine\n".into()));
    assert_eq!(repo.git(&["status", "--porcelain"]), " M a.txt\n?? mine.txt");
    // What is undone is known, and known again when the undo is undone.
    assert_eq!(vcs.reverted_since(&first).unwrap(), [(second.clone(), made[0].clone())]);
    repo.git(&["stash", "--quiet", "--include-untracked"]);
    repo.git(&["revert", "--no-edit", "HEAD"]);
    let again: Vec<String> =
        vcs.reverted_since(&first).unwrap().into_iter().map(|(id, _)| id).collect();
    assert_eq!(again, [made[0].clone()]);
    repo.fsck();
}

#[test]
fn a_file_that_the_user_has_changed_stops_the_undo() {
    let repo = Repo::new();
    repo.write("new.txt", "work\n");
    let work = repo.commit("work");
    repo.write("new.txt", "mine\n");
    let before = repo.seen();
    let refused = repo.vcs().prepare_undo(&named(&[&work]), &[]).unwrap_err().to_string();
    assert_eq!(refused, "you have uncommitted changes in new.txt, which ralph would change back");
    assert_eq!(repo.seen(), before);
    repo.git(&["checkout", "--quiet", "--", "new.txt"]);
    repo.git(&["revert", "--no-edit", &work]);
    let refused = repo.vcs().prepare_undo(&named(&[&work]), &[]).unwrap_err();
    assert!(matches!(refused, UndoError::Nothing), "{refused}");
}

#[test]
fn a_merge_is_undone_as_what_it_brought() {
    let repo = Repo::new();
    repo.git(&["switch", "--quiet", "-c", "side"]);
    repo.write("side.txt", "side\n");
    repo.commit("on the side");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("a.txt", "meanwhile\n");
    repo.commit("meanwhile");
    repo.git(&["merge", "--quiet", "--no-edit", "side"]);
    let merge = repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let vcs = repo.vcs();
    let undo = vcs.prepare_undo(&named(&[&merge]), &[]).unwrap();
    vcs.finish_undo(&undo, |revert| message(&revert.commit)).unwrap();
    assert!(!repo.exists("side.txt"));
    assert_eq!(repo.read("a.txt"), "meanwhile\n");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn in_a_plan_only_the_checkbox_changes_back() {
    let repo = Repo::new();
    repo.write("plan.md", "- [ ] one\n- [ ] two\n");
    repo.commit("plan");
    repo.write("plan.md", "- [x] one\n- [ ] two\n");
    repo.write("one.txt", "1\n");
    let one = repo.commit("one");
    repo.write("plan.md", "- [x] one\n- [x] two\n");
    repo.write("two.txt", "2\n");
    repo.commit("two");
    let vcs = repo.vcs();
    let edit = |text: &str| Some(text.replace("[x] one", "[ ] one"));
    let plan = || PlanEdit { path: "plan.md".to_owned(), edit: &edit };
    let undo = vcs.prepare_undo(&named(&[&one]), &[plan()]).unwrap();
    assert_eq!(undo.files, ["one.txt", "plan.md"]);
    vcs.finish_undo(&undo, |revert| message(&revert.commit)).unwrap();
    assert_eq!(repo.read("plan.md"), "- [ ] one\n- [x] two\n");
    assert!(!repo.exists("one.txt") && repo.exists("two.txt"));
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    // A plan with the user's own changes is left out of the commit.
    repo.write("plan.md", "- [x] one\n- [x] two\n- [ ] three\n");
    repo.write("one.txt", "1\n");
    repo.git(&["add", "one.txt"]);
    repo.git(&["commit", "--quiet", "-m", "one again"]);
    let again = repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let undo = vcs.prepare_undo(&named(&[&again]), &[plan()]).unwrap();
    assert_eq!(undo.files, ["one.txt"]);
    vcs.finish_undo(&undo, |revert| message(&revert.commit)).unwrap();
    assert_eq!(repo.read("plan.md"), "- [x] one\n- [x] two\n- [ ] three\n");
}

#[test]
fn commits_are_found_by_the_task_that_they_name() {
    let repo = Repo::new();
    repo.write("a.txt", "1\n");
    let one = repo.commit("build: iteration 1 - A\n\nTask: pay A\nModel: m");
    repo.write("a.txt", "2\n");
    repo.commit("build: iteration 2 - B\n\nTask: pay/2 B");
    repo.write("a.txt", "3\n");
    repo.commit("about Task: pay");
    let found = repo.vcs().commits_naming("pay").unwrap();
    assert_eq!(found, [(one, "build: iteration 1 - A".to_owned())]);
}

//! Bringing saved work back.

use std::path::PathBuf;

use ralph_engine::ports::Vcs;
use ralph_engine::project::Project;
use ralph_engine::vcs::restore::{Obstacle, RecoverError, Recovered, recover};
use ralph_engine::vcs::wip::list_wip;

use crate::kit::{Repo, SaveNow, os, task};

fn project(repo: &Repo) -> Project {
    Project::find(repo.place()).unwrap()
}

fn bring_back(repo: &Repo, attempt: Option<u32>) -> Result<Recovered, RecoverError> {
    recover(&project(repo), &task("t"), attempt)
}

/// Does work, saves it as an attempt of `t` and takes it out again.
fn leave(repo: &Repo, attempt: u32, work: impl Fn(&Repo)) {
    let (vcs, base) = repo.begin();
    work(repo);
    vcs.save_wip(&base, &task("t"), attempt).unwrap().unwrap();
    let candidate = vcs.candidate(&base).unwrap();
    vcs.put_back(&base, &candidate).unwrap();
}

#[test]
fn saved_work_comes_back_whole() {
    let repo = Repo::new();
    let clean = repo.seen();
    let work = |repo: &Repo| {
        repo.write("a.txt", "session\n");
        repo.write(os(b"odd/\xff\n name"), "session\n");
        repo.write("empty", "");
        repo.remove("src/b.txt");
    };
    work(&repo);
    let done = repo.seen();
    repo.git(&["checkout", "--quiet", "."]);
    repo.git(&["clean", "--quiet", "-fd"]);
    leave(&repo, 1, work);
    assert_eq!(repo.seen(), clean);
    let back = bring_back(&repo, None).unwrap();
    assert_eq!(back.restored.len(), 4);
    assert_eq!(repo.seen(), done);
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "", "nothing is staged");
    let again = bring_back(&repo, None).unwrap();
    assert_eq!((again.restored.len(), again.unchanged.len()), (0, 4));
    assert_eq!(list_wip(&project(&repo)).unwrap().len(), 1, "the save stays");
    repo.fsck();
}

#[test]
fn the_newest_save_is_brought_back_unless_another_is_named() {
    let repo = Repo::new();
    for attempt in [1, 2, 10] {
        leave(&repo, attempt, |repo| repo.write("n.txt", format!("{attempt}\n")));
    }
    let list = list_wip(&project(&repo)).unwrap();
    let attempts: Vec<u32> = list.iter().map(|wip| wip.attempt).collect();
    assert_eq!(attempts, [10, 2, 1]);
    assert!(list.iter().all(|wip| wip.files == [PathBuf::from("n.txt")]));
    assert_eq!(list[0].subject, "ralph: unfinished work on t, attempt 10");
    bring_back(&repo, Some(2)).unwrap();
    assert_eq!(repo.read("n.txt"), "2\n");
    repo.remove("n.txt");
    bring_back(&repo, None).unwrap();
    assert_eq!(repo.read("n.txt"), "10\n");
    let refused = bring_back(&repo, Some(3)).unwrap_err();
    assert_eq!(refused.to_string(), "nothing is saved for attempt 3 of t");
    let refused = recover(&project(&repo), &task("other"), None).unwrap_err();
    assert_eq!(refused.to_string(), "nothing is saved for other");
}

#[test]
fn saves_of_many_tasks_are_listed_with_their_files() {
    let repo = Repo::new();
    assert_eq!(list_wip(&project(&repo)).unwrap(), []);
    let (vcs, base) = repo.begin();
    for id in ["a", "b/c", "d.e"] {
        repo.write(format!("{}.txt", id.replace('/', "-")), "session\n");
        vcs.save_wip(&base, &task(id), 1).unwrap().unwrap();
    }
    repo.git(&["update-ref", "refs/ralph/wip/not-ours", "HEAD"]);
    let mut list = list_wip(&project(&repo)).unwrap();
    list.sort_by(|a, b| a.task.cmp(&b.task));
    let seen: Vec<(&str, usize)> =
        list.iter().map(|wip| (wip.task.as_str(), wip.files.len())).collect();
    assert_eq!(seen, [("a", 1), ("b/c", 2), ("d.e", 3)]);
}

#[test]
fn nothing_is_ever_overwritten() {
    let repo = Repo::new();
    leave(&repo, 1, |repo| {
        repo.write("a.txt", "session\n");
        repo.write("new.txt", "session\n");
        repo.write("src/b.txt", "session\n");
    });
    repo.write("a.txt", "person\n");
    repo.write("new.txt", "person\n");
    let before = repo.seen();
    match bring_back(&repo, None) {
        Err(RecoverError::InTheWay { obstacles, wip }) => {
            assert_eq!(
                obstacles,
                [
                    (PathBuf::from("a.txt"), Obstacle::Uncommitted),
                    (PathBuf::from("new.txt"), Obstacle::Uncommitted)
                ]
            );
            assert_eq!(wip.attempt, 1);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(repo.seen(), before, "all of it or nothing");
    // What is the same already is in nobody's way.
    repo.write("a.txt", "session\n");
    repo.remove("new.txt");
    let back = bring_back(&repo, None).unwrap();
    assert_eq!(back.unchanged, [PathBuf::from("a.txt")]);
    assert_eq!(back.restored, [PathBuf::from("new.txt"), PathBuf::from("src/b.txt")]);
}

#[test]
fn later_commits_are_not_undone() {
    let repo = Repo::new();
    leave(&repo, 1, |repo| {
        repo.write("a.txt", "session\n");
        repo.write("new.txt", "session\n");
    });
    repo.write("src/b.txt", "later\n");
    repo.commit("elsewhere");
    bring_back(&repo, None).unwrap();
    assert_eq!(repo.read("src/b.txt"), "later\n", "what the save did not change is as it is");
    repo.git(&["checkout", "--quiet", "."]);
    repo.remove("new.txt");
    repo.write("a.txt", "later\n");
    repo.commit("the same file");
    match bring_back(&repo, None) {
        Err(RecoverError::InTheWay { obstacles, .. }) => {
            assert_eq!(obstacles, [(PathBuf::from("a.txt"), Obstacle::CommittedSince)]);
        }
        other => panic!("{other:?}"),
    }
    assert!(!repo.exists("new.txt"));
    // What the hint says to type does it.
    repo.git(&["config", "merge.conflictStyle", "merge"]);
    let merge = std::process::Command::new("git")
        .args(["cherry-pick", "--no-commit", "-m", "1", "refs/ralph/wip/t/1"])
        .current_dir(repo.place())
        .output()
        .unwrap();
    assert!(!merge.status.success(), "both changed the same line");
    assert!(repo.read("a.txt").contains("<<<<<<<") && repo.exists("new.txt"));
}

#[test]
fn files_that_git_does_not_show_are_safe_too() {
    let repo = Repo::new();
    leave(&repo, 1, |repo| {
        repo.write("out.tmp", "session\n");
        repo.write("folder", "session\n");
        repo.write("file/inner", "session\n");
    });
    repo.write(".gitignore", "*.tmp\n*.log\nfile\n");
    repo.commit("ignore more");
    repo.write("out.tmp", "person\n");
    repo.write("folder/kept.log", "person\n");
    repo.write("file", "person\n");
    let before = repo.seen();
    match bring_back(&repo, None) {
        Err(RecoverError::InTheWay { obstacles, .. }) => {
            let files: Vec<_> = obstacles.into_iter().map(|(path, _)| path).collect();
            assert_eq!(files, ["file/inner", "folder", "out.tmp"].map(PathBuf::from));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(repo.seen(), before);
}

#[test]
fn a_save_can_turn_a_file_into_a_folder_and_back() {
    let repo = Repo::new();
    leave(&repo, 1, |repo| {
        repo.remove("a.txt");
        repo.write("a.txt/inner", "session\n");
        repo.remove("src/b.txt");
        std::fs::remove_dir(repo.path("src")).unwrap();
        repo.write("src", "session\n");
    });
    let back = bring_back(&repo, None).unwrap();
    assert_eq!(back.restored.len(), 4);
    assert_eq!(repo.read("a.txt/inner"), "session\n");
    assert_eq!(repo.read("src"), "session\n");
}

#[test]
fn work_saved_before_the_first_commit_comes_back() {
    let repo = Repo::unborn();
    leave(&repo, 1, |repo| repo.write("a.txt", "session\n"));
    assert!(!repo.exists("a.txt"));
    bring_back(&repo, None).unwrap();
    assert_eq!(repo.read("a.txt"), "session\n");
    assert_eq!(list_wip(&project(&repo)).unwrap()[0].files, [PathBuf::from("a.txt")]);
}

/// A run was killed after it wrote the files of work that was to land, and before it moved the branch.
#[test]
fn files_of_a_landing_that_was_cut_off_are_reverted() {
    let repo = Repo::new();
    repo.write("a.txt", "before\n");
    let from = repo.commit("before");
    repo.write("a.txt", "after\n");
    repo.write("new.txt", "new\n");
    let to = repo.commit("after");
    repo.git(&["reset", "-q", "--hard", &from]);
    repo.git(&["read-tree", "-m", "-u", &from, &to]);
    assert_eq!(repo.read("a.txt"), "after\n");
    let note = format!(r#"{{"branch":"main","from":"{from}","to":"{to}","files":"follow"}}"#);
    repo.write(".git/ralph-landing.json", note);
    let (vcs, _) = repo.begin();
    assert_eq!((repo.read("a.txt").as_str(), repo.exists("new.txt")), ("before\n", false));
    let reported = vcs.warnings().join("\n");
    assert!(reported.contains("Reverted 2 files of work that was about to land"), "{reported}");
    assert!(!repo.exists(".git/ralph-landing.json"));
}

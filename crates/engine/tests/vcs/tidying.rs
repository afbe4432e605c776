//! What remains in a repository after a run, and how long saved work stays.

use std::process::Command;
use std::time::Duration;

use ralph_core::TaskId;
use ralph_engine::ports::{Ending, KeepSaves, Vcs, Workspaces};

use crate::kit::{Repo, run, task};
use crate::worktrees::{git_in, name};

const DAY: u64 = 86_400;

fn days(count: u64) -> Option<Duration> {
    Some(Duration::from_secs(count * DAY))
}

/// Every task with this letter first is done, failed or open.
fn ending(task: &TaskId) -> Ending {
    match task.as_str().as_bytes().first() {
        Some(b'd') => Ending::Done,
        Some(b'f') => Ending::Failed,
        _ => Ending::Open,
    }
}

impl Repo {
    fn refs(&self) -> Vec<String> {
        let printed = self.git(&["for-each-ref", "--format=%(refname)", "refs/ralph"]);
        printed.lines().map(str::to_owned).collect()
    }

    /// Work of so many bytes that was saved so many days ago.
    fn save_old(&self, name: &str, days_ago: u64, bytes: usize) {
        // Bytes that nothing makes smaller.
        let mut state = bytes as u64 + days_ago + name.len() as u64;
        let text: Vec<u8> = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        })
        .take(bytes)
        .collect();
        self.write("saved.bin", &text);
        self.git(&["add", "saved.bin"]);
        let tree = self.git(&["write-tree"]);
        self.git(&["reset", "-q", "--hard"]);
        let at = format!(
            "@{} +0000",
            ralph_engine::clock::now().as_millis() as u64 / 1000 - days_ago * DAY
        );
        let made = Command::new("git")
            .args(["commit-tree", &tree, "-p", "HEAD", "-m", "saved"])
            .env("GIT_COMMITTER_DATE", at)
            .current_dir(self.place())
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let commit = String::from_utf8(made.stdout).unwrap();
        self.git(&["update-ref", &format!("refs/ralph/{name}"), commit.trim()]);
    }

    fn tidy(&self, keep: KeepSaves) -> usize {
        self.vcs().tidy(&keep, &mut ending).unwrap()
    }
}

#[test]
fn saved_work_of_finished_tasks_goes_when_it_is_old_and_that_of_open_tasks_never() {
    let repo = Repo::new();
    for (name, age) in [
        ("wip/done-1/1", 40),
        ("wip/done-1/2", 20),
        ("wip/failed-1/1", 40),
        ("wip/open-1/1", 4000),
        ("start/r-old", 40),
        ("start/r-new", 20),
    ] {
        repo.save_old(name, age, 100);
    }
    assert_eq!(repo.tidy(KeepSaves::default()), 0, "without limits everything stays");
    assert_eq!(repo.tidy(KeepSaves { age: days(30), size: None }), 3);
    let left = ["start/r-new", "wip/done-1/2", "wip/open-1/1"];
    assert_eq!(repo.refs(), left.map(|name| format!("refs/ralph/{name}")));
    repo.fsck();
}

#[test]
fn beyond_the_size_old_work_of_done_tasks_goes_first() {
    let repo = Repo::new();
    for (name, age) in
        [("wip/done-new/1", 1), ("wip/done-old/1", 9), ("wip/failed-old/1", 20), ("wip/open/1", 25)]
    {
        repo.save_old(name, age, 100_000);
    }
    let keep = |kb: u64| KeepSaves { age: days(30), size: Some(kb * 1000) };
    assert_eq!(repo.tidy(keep(320)), 0, "all of it fits, and the open one does not count");
    assert_eq!(repo.tidy(keep(250)), 1);
    assert_eq!(
        repo.refs(),
        ["done-new", "failed-old", "open"].map(|task| format!("refs/ralph/wip/{task}/1"))
    );
    assert_eq!(repo.tidy(keep(150)), 1);
    assert_eq!(repo.refs(), ["failed-old", "open"].map(|task| format!("refs/ralph/wip/{task}/1")));
    assert_eq!(repo.tidy(keep(0)), 1);
    assert_eq!(repo.refs(), ["refs/ralph/wip/open/1"]);
}

#[test]
fn refs_of_sessions_go_with_the_run_unless_a_worktree_needs_them() {
    let repo = Repo::new();
    repo.write("a.txt", "the user's\n");
    let (vcs, base) = repo.begin();
    let owner = task("open-1");
    let opened = vcs.open(&run("r-1"), &base, Some(&owner)).unwrap();
    repo.write("work.txt", "work\n");
    let candidate = vcs.candidate(&opened.base).unwrap();
    vcs.save(&opened.base, &candidate, &owner, 1).unwrap().unwrap();
    repo.git(&["update-ref", "refs/ralph/session/r-dead", "HEAD"]);
    repo.git(&["update-ref", "refs/ralph/base/r-dead", "HEAD"]);
    repo.git(&["update-ref", "refs/ralph/taken/wt-dead", "HEAD"]);
    vcs.tidy(&KeepSaves::default(), &mut ending).unwrap();
    let left = ["session/r-1", "start/r-1", "wip/open-1/1"];
    assert_eq!(repo.refs(), left.map(|name| format!("refs/ralph/{name}")));
    // Its work was accepted.
    vcs.close(&[owner]).unwrap();
    vcs.tidy(&KeepSaves::default(), &mut ending).unwrap();
    assert_eq!(repo.refs(), ["refs/ralph/start/r-1", "refs/ralph/wip/open-1/1"]);
}

#[test]
fn sandbox_folders_of_worktrees_that_are_gone_go() {
    let repo = Repo::new();
    let (vcs, _) = repo.begin();
    let made = repo.prepare("side").unwrap();
    for folder in ["main/git", "wt-side/git", "wt-gone/git", "wt-gone.new-7/git", "wt-lent/git"] {
        std::fs::create_dir_all(repo.path(".ralph/box").join(folder)).unwrap();
    }
    repo.write(".ralph/box/wt-lent/lent", "");
    repo.write(".ralph/box/wt-gone.base", "refs/ralph/base/r-gone");
    repo.git(&["update-ref", "refs/ralph/base/r-gone", "HEAD"]);
    let listed = || {
        let entries = std::fs::read_dir(repo.path(".ralph/box")).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<std::collections::BTreeSet<String>>().into_iter().collect::<Vec<_>>()
    };
    vcs.tidy(&KeepSaves { age: days(30), size: None }, &mut ending).unwrap();
    assert_eq!(listed(), ["main", "wt-lent", "wt-side"], "what a session committed is not lost");
    vcs.tidy(&KeepSaves { age: Some(Duration::ZERO), size: None }, &mut ending).unwrap();
    assert_eq!(listed(), ["main", "wt-side"]);
    assert_eq!(repo.refs(), Vec::<String>::new());
    assert!(made.path.exists());
    let _ = (git_in(&made.path, &["status", "--porcelain"]), name("side"));
}

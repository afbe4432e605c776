//! Worktrees of branches after a crash: killed at any moment, and every half-state by hand.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ralph_engine::crash;
use ralph_engine::ports::GitError;
use ralph_engine::project::Project;
use ralph_engine::worktrees::{Identity, Wanted, WorktreeRefusal, Worktrees};

use crate::kit::Repo;
use crate::worktrees::{assert_whole, git_in, name};

/// Calls this very test program again, as a process that can be killed.
fn child(repo: &Repo, what: &str, point: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "worktree_kills::the_child_that_is_killed", "--ignored"])
        .env("RALPH_TEST_PLACE", repo.place())
        .env("RALPH_TEST_WHAT", what)
        .env("RALPH_TEST_POINT", point)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "only as the child of the others"]
fn the_child_that_is_killed() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let repo = Repo::at(PathBuf::from(variable("RALPH_TEST_PLACE")));
    let point = variable("RALPH_TEST_POINT");
    assert!(point.is_empty() || crash::arm(&point));
    match variable("RALPH_TEST_WHAT").as_str() {
        "prepare" => drop(repo.prepare("side").unwrap()),
        _ => drop(repo.worktrees().remove(&name("side")).unwrap()),
    }
}

/// Killed at a point: it does not return.
fn killed_at(repo: &Repo, what: &str, point: &str) {
    let status = child(repo, what, point).wait().unwrap();
    assert!(!status.success() && status.code().is_none(), "{point} was not passed: {status}");
}

/// A repository with a person's own worktree and uncommitted work, and something to check out.
fn crowded() -> Repo {
    let repo = Repo::new();
    for n in 0..100 {
        repo.write(format!("many/{n}.txt"), format!("{n}\n").repeat(200));
    }
    repo.commit("many files");
    repo.git(&["worktree", "add", "--quiet", "-b", "theirs", ".worktrees/theirs"]);
    repo.write(".worktrees/theirs/a.txt", "a person's work\n");
    repo
}

fn assert_theirs(repo: &Repo) {
    assert_eq!(repo.read(".worktrees/theirs/a.txt"), "a person's work\n");
    assert_eq!(git_in(&repo.path(".worktrees/theirs"), &["status", "--porcelain"]), " M a.txt");
}

#[cfg(target_os = "linux")]
fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut next = VecDeque::from([pid]);
    while let Some(pid) = next.pop_front() {
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children: Vec<u32> = text.split(' ').filter_map(|pid| pid.parse().ok()).collect();
            next.extend(&children);
            found.extend(children);
        }
    }
    found
}

#[cfg(target_os = "linux")]
fn kill(pids: &[u32]) {
    for pid in pids {
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
    }
}

/// What can be seen of a worktree while it is made, in this order.
#[cfg(target_os = "linux")]
const SIGNS: [&str; 10] = [
    ".ralph/worktrees/side.lock",
    ".ralph/worktrees/side.toml",
    ".git/refs/heads/side",
    ".git/worktrees/side",
    ".git/worktrees/side/gitdir",
    ".worktrees/side/.git",
    ".git/worktrees/side/index.lock",
    ".worktrees/side/many/0.txt",
    ".worktrees/side/many/98.txt",
    ".git/worktrees/side/ralph",
];

/// Of ralph, of all that it started, or of git alone, at moments that are spread over a whole call: a
/// little after each sign of progress.
#[cfg(target_os = "linux")]
#[test]
fn kills_at_random_leave_nothing_that_is_not_put_right() {
    let repo = crowded();
    let (mut cut, mut signs) = (0, SIGNS.iter().cycle());
    let kills = u32::try_from(ralph_testkit::times(12, 60)).unwrap();
    for n in 0..kills {
        let mut running = child(&repo, "prepare", "");
        let sign = repo.path(signs.next().unwrap());
        while !sign.exists() && running.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_micros(u64::from(n * 7919 % 5000)));
        let family = descendants(running.id());
        match n % 3 {
            0 => kill(&[running.id()]),
            1 => kill(&[&family[..], &[running.id()]].concat()),
            _ => kill(&family),
        }
        cut += u32::from(!running.wait().unwrap().success());
        let ready = repo.prepare("side").unwrap_or_else(|error| panic!("kill {n}: {error}"));
        assert_eq!(ready.behind, None);
        assert_whole_here(&repo);
        assert_theirs(&repo);
        let removed = repo.worktrees().remove(&name("side")).unwrap().unwrap();
        assert_eq!(removed.saved, None, "kill {n}");
        repo.git(&["branch", "-D", "side"]);
    }
    assert!(cut > 0, "none of {kills} was cut off");
}

fn assert_whole_here(repo: &Repo) {
    assert_whole(repo, "side");
    assert!(repo.exists(".worktrees/side/many/99.txt"));
}

#[test]
fn killed_at_every_point_the_next_call_goes_on() {
    let repo = crowded();
    let (making, removing) = crash::WORKTREE_POINTS.split_at(4);
    for point in making {
        killed_at(&repo, "prepare", point);
        repo.prepare("side").unwrap();
        assert_whole_here(&repo);
        repo.worktrees().remove(&name("side")).unwrap();
        repo.git(&["branch", "-D", "side"]);
        // The same, and nobody prepares it again.
        killed_at(&repo, "prepare", point);
        repo.worktrees().remove(&name("side")).unwrap().unwrap();
        assert!(!repo.exists(".worktrees/side"), "{point}");
        if !repo.git(&["branch", "--list", "side"]).is_empty() {
            repo.git(&["branch", "-D", "side"]);
        }
    }
    for (n, point) in removing.iter().enumerate() {
        repo.prepare("side").unwrap();
        repo.write(".worktrees/side/work.txt", format!("{point}\n"));
        killed_at(&repo, "remove", point);
        if n % 2 == 0 {
            repo.worktrees().remove(&name("side")).unwrap().unwrap();
            assert!(!repo.exists(".worktrees/side"));
        } else {
            repo.prepare("side").unwrap();
            repo.worktrees().remove(&name("side")).unwrap();
        }
        let saves = repo.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/wip/"]);
        assert_eq!(saves.lines().count(), n + 1, "{point}: {saves}");
        let last = format!("refs/ralph/wip/side/{}:work.txt", n + 1);
        assert_eq!(repo.git(&["show", &last]), *point);
        repo.fsck();
    }
    assert_theirs(&repo);
    let left: Vec<_> = std::fs::read_dir(repo.path(".worktrees")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// Nothing but the user's worktree is there: no folder of git's, no marker, no lock.
fn assert_nothing_left(repo: &Repo, what: &str) {
    let names = |folder: &str| {
        let entries = std::fs::read_dir(repo.path(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(names(".git/worktrees"), ["theirs"], "{what}");
    assert_eq!(names(".worktrees"), ["theirs"], "{what}");
    assert_eq!(names(".ralph/worktrees"), [""; 0], "{what}");
    assert!(names(".git").iter().all(|name| !name.starts_with("ralph-removed")), "{what}");
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 2, "{what}");
}

/// A ralph that removed git's folder file by file was killed between any two of them.
#[test]
fn a_half_removed_folder_of_git_goes() {
    let repo = crowded();
    let all = ["ralph", "gitdir", "HEAD", "index", "commondir", "logs", "config.worktree"];
    let gone: [&[&str]; 6] =
        [&["ralph"], &["gitdir"], &["HEAD", "index"], &["ralph", "gitdir"], &all[1..], &all];
    for files in gone {
        for again in [false, true] {
            let what = format!("without {files:?}, then made again: {again}");
            repo.prepare("side").unwrap();
            killed_at(&repo, "remove", "worktree-moved");
            for file in files {
                let path = repo.path(".git/worktrees/side").join(file);
                let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
            }
            if again {
                repo.prepare("side").unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_whole_here(&repo);
                assert!(!repo.exists(".git/worktrees/side1"), "{what}");
            }
            let removed = repo.worktrees().remove(&name("side"));
            removed.unwrap_or_else(|error| panic!("{what}: {error}")).unwrap();
            assert_nothing_left(&repo, &what);
            repo.git(&["branch", "-D", "side"]);
        }
    }
    assert_theirs(&repo);
}

/// Of ralph alone, at moments that are spread over a whole removal.
#[cfg(target_os = "linux")]
#[test]
fn a_removal_that_is_killed_at_random_is_finished_by_the_next() {
    let repo = crowded();
    let mut cut = 0;
    let kills = ralph_testkit::times(8, 200);
    for n in 0..kills {
        repo.prepare("side").unwrap();
        let mut running = child(&repo, "remove", "");
        // The marker says that it is about to go.
        let (moved, marker) = (repo.path(".worktrees/side"), ".ralph/worktrees/side.toml");
        while running.try_wait().unwrap().is_none()
            && moved.exists()
            && !(n % 3 == 0 && repo.exists(marker) && repo.read(marker).contains("removing"))
        {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros((n * 7919 % 2500) as u64));
        kill(&[running.id()]);
        cut += u32::from(!running.wait().unwrap().success());
        repo.worktrees().remove(&name("side")).unwrap_or_else(|error| panic!("kill {n}: {error}"));
        repo.worktrees().sweep_locks();
        assert_nothing_left(&repo, &format!("kill {n}"));
        repo.git(&["branch", "-D", "side"]);
    }
    assert!(cut > 0, "none of {kills} was cut off");
    assert_theirs(&repo);
}

/// Whoever removed a worktree was killed between its marker and its lock, or while it wrote the first marker.
#[test]
fn locks_without_a_worktree_go_unless_a_process_holds_them() {
    let repo = crowded();
    repo.prepare("kept").unwrap();
    for file in ["side.lock", "a.b.lock", "a.b.toml.x1Y2z3", "new.toml.x1Y2z3", "held.lock"] {
        repo.write(format!(".ralph/worktrees/{file}"), "");
    }
    let held = std::fs::File::open(repo.path(".ralph/worktrees/held.lock")).unwrap();
    held.lock().unwrap();
    repo.worktrees().sweep_locks();
    let left = || {
        let entries = std::fs::read_dir(repo.path(".ralph/worktrees")).into_iter().flatten();
        let mut left: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        left
    };
    assert_eq!(left(), ["held.lock", "kept.lock", "kept.toml"]);
    drop(held);
    repo.worktrees().remove(&name("kept")).unwrap().unwrap();
    repo.worktrees().sweep_locks();
    assert!(!repo.exists(".ralph/worktrees"), "{:?}", left());
}

/// Git was killed, and when the worktree was made again another git was at work: which of the folders are nobody's,
/// nobody could tell.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_git_had_only_begun_goes_when_no_git_is_at_work() {
    let repo = crowded();
    killed_at(&repo, "prepare", "worktree-marked");
    repo.write(".git/worktrees/side/locked", "initializing");
    let mut git = Command::new("git");
    git.args(["cat-file", "--batch"]).current_dir(repo.place());
    let mut git = git.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    repo.prepare("side").unwrap();
    assert!(repo.exists(".git/worktrees/side/locked"), "somebody may be making it");
    repo.worktrees().remove(&name("side")).unwrap().unwrap();
    assert!(repo.exists(".git/worktrees/side/locked"), "somebody may be making it");
    drop(git.stdin.take());
    git.wait().unwrap();
    repo.worktrees().remove(&name("side")).unwrap().unwrap();
    assert_nothing_left(&repo, "afterwards");
}

/// A marker, and what git leaves when it is killed on the way.
#[test]
fn every_half_made_state_is_put_right() {
    let repo = crowded();
    type Make = fn(&Repo);
    let states: [(&str, Make); 7] = [
        ("a folder that does not say whose it is", |repo| {
            repo.write(".git/worktrees/side/locked", "initializing");
        }),
        ("a folder of git alone, with locks", |repo| {
            half(repo);
            repo.write(".git/worktrees/side/HEAD.lock", "");
            repo.write(".git/worktrees/side/index.lock", "");
        }),
        ("an empty worktree", |repo| {
            half(repo);
            std::fs::create_dir_all(repo.path(".worktrees/side")).unwrap();
        }),
        ("some of the files, one of them cut off", |repo| {
            half(repo);
            link(repo);
            repo.write(".worktrees/side/a.txt", "a");
            repo.write(".worktrees/side/many/7.txt", "");
        }),
        ("a branch without anything", |repo| {
            repo.git(&["branch", "side"]);
        }),
        ("the lock of the branch", |repo| {
            repo.write(".git/refs/heads/side.lock", "");
        }),
        ("a worktree that git has forgotten", |repo| {
            link(repo);
            repo.write(".worktrees/side/a.txt", "a\n");
        }),
    ];
    for (what, make) in states {
        killed_at(&repo, "prepare", "worktree-marked");
        make(&repo);
        repo.prepare("side").unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_whole_here(&repo);
        assert_theirs(&repo);
        repo.worktrees().remove(&name("side")).unwrap();
        repo.git(&["branch", "-D", "side"]);
    }
}

fn half(repo: &Repo) {
    let place = repo.path(".worktrees/side/.git").display().to_string();
    repo.write(".git/worktrees/side/locked", "initializing");
    repo.write(".git/worktrees/side/gitdir", format!("{place}\n"));
    repo.write(".git/worktrees/side/commondir", "../..\n");
    repo.write(".git/worktrees/side/HEAD", "ref: refs/heads/side\n");
}

fn link(repo: &Repo) {
    let admin = repo.path(".git/worktrees/side").display().to_string();
    repo.write(".worktrees/side/.git", format!("gitdir: {admin}\n"));
}

#[test]
fn what_the_user_put_into_a_half_made_worktree_stays() {
    let repo = crowded();
    killed_at(&repo, "prepare", "worktree-marked");
    half(&repo);
    link(&repo);
    repo.write(".worktrees/side/note.txt", "mine\n");
    let path = repo.path(".worktrees/side");
    let refusal = WorktreeRefusal::FolderTaken { path, file: PathBuf::from("note.txt") };
    assert_eq!(repo.refused("side"), refusal);
    assert_eq!(repo.read(".worktrees/side/note.txt"), "mine\n");
}

/// Two clones whose settings name one folder for worktrees: what one has there is not the other's to remove, though
/// its files are the same.
#[test]
fn a_worktree_of_another_repository_in_the_same_folder_stays() {
    let (one, other) = (crowded(), Repo::new());
    other.git(&["pull", "--quiet", "--force", "--rebase", &one.place().display().to_string()]);
    other.git(&["reset", "--quiet", "--hard", "FETCH_HEAD"]);
    let shared = tempfile::tempdir().unwrap();
    let shared = shared.path().canonicalize().unwrap().join("shared");
    let of = |repo: &Repo| Worktrees::new(&Project::find(repo.place()).unwrap(), &shared);
    let identity = Identity::default();
    let branch = name("side");
    let wanted =
        Wanted { branch: &branch, base: "main", identity: &identity, include: "", carried: None };
    let place = shared.join("side");
    // The first was killed before git had begun.
    killed_at(&one, "prepare", "worktree-marked");
    let marker = one.read(".ralph/worktrees/side.toml");
    let (here, there) = (one.path(".worktrees/side"), place.display().to_string());
    one.write(".ralph/worktrees/side.toml", marker.replace(&here.display().to_string(), &there));
    of(&other).prepare(&wanted).unwrap();
    std::fs::write(place.join("a.txt"), "work of the other\n").unwrap();
    let still = || {
        assert_eq!(std::fs::read_to_string(place.join("a.txt")).unwrap(), "work of the other\n");
        assert_eq!(git_in(&place, &["status", "--porcelain"]), " M a.txt");
    };
    for _ in 0..2 {
        let error = of(&one).prepare(&wanted).unwrap_err().to_string();
        assert!(error.contains(&there), "{error}");
        still();
        let error = of(&one).remove(&branch).unwrap_err().to_string();
        assert!(error.contains(&there), "{error}");
        still();
        // The same once it had been made.
        let marker = one.read(".ralph/worktrees/side.toml").replace("making", "made");
        one.write(".ralph/worktrees/side.toml", marker);
    }
    of(&other).remove(&branch).unwrap().unwrap();
    assert!(!place.exists());
    of(&one).remove(&branch).unwrap().unwrap();
    assert!(!one.exists(".ralph/worktrees"));
    assert_theirs(&one);
}

#[test]
fn a_worktree_that_was_damaged_keeps_its_work() {
    let repo = crowded();
    repo.prepare("side").unwrap();
    repo.write(".worktrees/side/a.txt", "work\n");
    type Harm = fn(&Repo);
    let harms: [(&str, Harm); 3] = [
        ("git's folder", |repo| {
            std::fs::remove_dir_all(repo.path(".git/worktrees/side")).unwrap();
        }),
        ("the .git file", |repo| repo.remove(".worktrees/side/.git")),
        ("locks", |repo| {
            repo.write(".git/worktrees/side/index.lock", "");
            repo.write(".git/worktrees/side/HEAD.lock", "");
        }),
    ];
    for (what, harm) in harms {
        harm(&repo);
        let ready = repo.prepare("side").unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(!ready.made && !ready.notes.is_empty(), "{what}: {ready:?}");
        assert_eq!(git_in(&ready.path, &["status", "--porcelain"]), " M a.txt", "{what}");
        assert_eq!(repo.read(".worktrees/side/a.txt"), "work\n");
    }
    // Deleted by hand, and pruned or not.
    for prune in [false, true] {
        std::fs::remove_dir_all(repo.path(".worktrees/side")).unwrap();
        if prune {
            repo.git(&["worktree", "prune", "--expire=now"]);
        }
        assert!(repo.prepare("side").unwrap().made);
        assert_whole_here(&repo);
    }
    assert_theirs(&repo);
}

#[test]
fn a_place_that_the_user_has_taken_over_is_theirs() {
    let repo = crowded();
    repo.prepare("side").unwrap();
    repo.git(&["worktree", "remove", ".worktrees/side"]);
    repo.git(&["worktree", "add", "--quiet", ".worktrees/side", "side"]);
    let path = repo.path(".worktrees/side");
    assert_eq!(repo.refused("side"), WorktreeRefusal::Persons { path: path.clone() });
    let error = repo.worktrees().remove(&name("side")).unwrap_err();
    assert!(matches!(error, GitError::Worktree(WorktreeRefusal::Persons { .. })), "{error}");
    assert!(path.exists());
}

#[test]
fn a_worktree_on_a_disk_that_is_away_is_not_forgotten() {
    let repo = crowded();
    repo.prepare("side").unwrap();
    repo.git(&["worktree", "lock", "--reason", "on a stick", ".worktrees/side"]);
    std::fs::remove_dir_all(repo.path(".worktrees/side")).unwrap();
    let refusal = repo.refused("side");
    assert!(matches!(refusal, WorktreeRefusal::Locked { .. }), "{refusal}");
}

/// Whoever waits longer than its patience is told who is at work.
#[test]
fn a_branch_waits_for_another_run_that_works_on_it() {
    let repo = crowded();
    repo.prepare("side").unwrap();
    let lock = std::fs::File::open(repo.path(".ralph/worktrees/side.lock")).unwrap();
    lock.lock().unwrap();
    let worktrees = repo.worktrees().with_patience(Duration::from_millis(50));
    let error = worktrees.remove(&name("side")).unwrap_err().to_string();
    let pid = std::process::id();
    assert_eq!(error, format!("another process is using the worktree of branch side (pid {pid})"));
    drop(lock);
    assert!(worktrees.remove(&name("side")).unwrap().is_some());
}

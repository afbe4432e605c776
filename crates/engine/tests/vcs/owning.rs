//! Work belongs to the task whose session made it, and everything else to the user.

use ralph_engine::ports::{GitError, Trees, Vcs, Workspaces};

use crate::kit::{Repo, run, task};
use crate::worktrees::git_in;

#[test]
fn work_of_one_task_leaves_before_a_session_of_another_and_comes_back_with_its_own() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let opened = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap();
    assert_eq!((opened.left, opened.restored), (None, None));
    repo.write("half-a.txt", "half\n");
    repo.write("a.txt", "half\n");
    let base = opened.base;
    let work = vcs.candidate(&base).unwrap();
    vcs.save(&base, &work, &task("a"), 1).unwrap().unwrap();

    let opened = vcs.open(&run("r-1"), &base, Some(&task("b"))).unwrap();
    let left = opened.left.unwrap();
    assert_eq!((left.task, left.paths.len()), (task("a"), 2));
    assert!(!repo.exists("half-a.txt"));
    assert_eq!(repo.status(), "");
    repo.write("b-done.txt", "b\n");
    let base = opened.base;
    let work = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&work), ["A b-done.txt"]);
    vcs.commit(&base, &work, "b", "").unwrap().unwrap();
    vcs.close(&[task("b")]).unwrap();

    let opened = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap();
    let restored = opened.restored.unwrap();
    assert_eq!((restored.name.as_str(), restored.paths.len()), ("refs/ralph/wip/a/1", 2));
    let work = vcs.candidate(&opened.base).unwrap();
    assert_eq!(repo.beyond_head(&work), ["M a.txt", "A half-a.txt"]);
}

#[test]
fn work_stays_while_the_next_session_is_on_the_same_task() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let base = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap().base;
    repo.write("half-a.txt", "half\n");
    let work = vcs.candidate(&base).unwrap();
    vcs.save(&base, &work, &task("a"), 1).unwrap().unwrap();
    let opened = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap();
    assert_eq!((opened.left, opened.restored), (None, None));
    let work = vcs.candidate(&opened.base).unwrap();
    assert_eq!(repo.beyond_head(&work), ["A half-a.txt"]);
}

#[test]
fn what_a_session_left_belongs_to_its_task_in_the_next_run() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let base = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap().base;
    repo.write("lib.txt", "a\n");
    let work = vcs.candidate(&base).unwrap();
    vcs.save(&base, &work, &task("a"), 1).unwrap().unwrap();

    repo.write("notes.txt", "user\n");
    let vcs = repo.vcs();
    let base = vcs.begin(&run("r-2"), None).unwrap();
    let started = base.start.clone().unwrap();
    assert_eq!(repo.differs(base.head.as_ref().unwrap(), &started), ["A notes.txt"]);
    let base = vcs.open(&run("r-2"), &base, Some(&task("a"))).unwrap().base;
    repo.write("main.txt", "a\n");
    let work = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&work), ["A lib.txt", "A main.txt"]);
}

#[test]
fn a_leftover_that_changed_between_two_runs_is_the_users() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let base = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap().base;
    repo.write("lib.txt", "a\n");
    repo.write("other.txt", "a\n");
    let work = vcs.candidate(&base).unwrap();
    vcs.save(&base, &work, &task("a"), 1).unwrap().unwrap();
    repo.write("lib.txt", "user\n");
    let vcs = repo.vcs();
    let base = vcs.begin(&run("r-2"), None).unwrap();
    let opened = vcs.open(&run("r-2"), &base, Some(&task("b"))).unwrap();
    assert_eq!(repo.read("lib.txt"), "user\n");
    assert!(!repo.exists("other.txt"));
    assert_eq!(repo.beyond_head(&vcs.candidate(&opened.base).unwrap()), Vec::<String>::new());
}

#[test]
fn what_changes_between_two_sessions_is_the_users() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let base = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap().base;
    repo.write("half.txt", "a\n");
    let work = vcs.candidate(&base).unwrap();
    vcs.save(&base, &work, &task("a"), 1).unwrap().unwrap();
    repo.write("a.txt", "user\n");
    repo.write("notes.txt", "user\n");
    let base = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap().base;
    repo.write("more.txt", "a\n");
    let work = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&work), ["A half.txt", "A more.txt"]);
    vcs.put_back(&base, &work).unwrap();
    assert_eq!(repo.status(), " M a.txt\n?? notes.txt");
}

#[test]
fn a_file_that_the_user_had_changed_is_theirs_again_when_the_task_leaves() {
    let repo = Repo::new();
    repo.write("a.txt", "user\n");
    let (vcs, base) = repo.begin();
    let base = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap().base;
    repo.write("a.txt", "user\nsession\n");
    for attempt in 1..=2 {
        let work = vcs.candidate(&base).unwrap();
        vcs.save(&base, &work, &task("a"), attempt).unwrap().unwrap();
        vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap();
    }
    let work = vcs.candidate(&base).unwrap();
    vcs.save(&base, &work, &task("a"), 3).unwrap().unwrap();
    let opened = vcs.open(&run("r-1"), &base, Some(&task("b"))).unwrap();
    assert_eq!(repo.read("a.txt"), "user\n");
    assert_eq!(repo.beyond_head(&vcs.candidate(&opened.base).unwrap()), Vec::<String>::new());
}

#[test]
fn saved_work_that_files_stand_in_the_way_of_stays_saved_and_is_named() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let base = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap().base;
    repo.write("a.txt", "half\n");
    let work = vcs.candidate(&base).unwrap();
    vcs.save(&base, &work, &task("a"), 1).unwrap().unwrap();
    let base = vcs.open(&run("r-1"), &base, Some(&task("b"))).unwrap().base;
    repo.write("a.txt", "b\n");
    let work = vcs.candidate(&base).unwrap();
    vcs.commit(&base, &work, "b", "").unwrap().unwrap();
    vcs.close(&[task("b")]).unwrap();
    let opened = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap();
    let blocked = opened.blocked.unwrap();
    assert_eq!(blocked.name, "refs/ralph/wip/a/1");
    assert_eq!(repo.read("a.txt"), "b\n");
}

#[test]
fn work_of_a_task_that_the_session_did_not_take_up_leaves_after_it() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let base = vcs.open(&run("r-1"), &base, None).unwrap().base;
    repo.write("half-a.txt", "half\n");
    let work = vcs.candidate(&base).unwrap();
    vcs.save(&base, &work, &task("a"), 1).unwrap().unwrap();
    let base = vcs.open(&run("r-1"), &base, None).unwrap().base;
    assert!(repo.exists("half-a.txt"), "nobody knows yet what the session takes up");
    repo.write("b-done.txt", "b\n");
    assert_eq!(vcs.keep_only(&base, &[task("b")]).unwrap().unwrap().task, task("a"));
    assert_eq!(repo.beyond_head(&vcs.candidate(&base).unwrap()), ["A b-done.txt"]);
    assert!(!repo.exists("half-a.txt"));
}

#[test]
fn a_killed_session_is_known_by_the_next_run_whatever_it_is_for() {
    let repo = Repo::new();
    repo.write("notes.txt", "user\n");
    let (vcs, base) = repo.begin();
    vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap();
    repo.write("half-a.txt", "half\n");
    let vcs = repo.vcs();
    let base = vcs.begin(&run("r-2"), None).unwrap();
    assert_eq!(vcs.interrupted().unwrap(), Some(task("a")));
    assert_eq!(repo.beyond_head(&vcs.candidate(&base).unwrap()), ["A half-a.txt"]);
}

#[test]
fn the_plan_is_neither_saved_nor_reverted_with_anybodys_work() {
    let repo = Repo::new();
    repo.write("plan.md", "- [ ] a\n");
    repo.commit("plan");
    let (vcs, mut base) = repo.begin();
    base.plan = Some("plan.md".to_owned());
    let base = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap().base;
    repo.write("plan.md", "- [ ] a\ntried once\n");
    repo.write("half-a.txt", "half\n");
    let work = vcs.candidate(&base).unwrap();
    let saved = vcs.save(&base, &work, &task("a"), 1).unwrap().unwrap();
    assert_eq!(repo.differs(&format!("{}^", saved.name), &saved.name), ["A half-a.txt"]);
    vcs.open(&run("r-1"), &base, Some(&task("b"))).unwrap();
    assert_eq!(repo.read("plan.md"), "- [ ] a\ntried once\n");
}

#[test]
fn nothing_begins_while_git_is_in_the_middle_of_something() {
    let conflict = || {
        let repo = Repo::new();
        repo.git(&["switch", "--quiet", "-c", "other"]);
        repo.write("a.txt", "other\n");
        repo.commit("other");
        repo.git(&["switch", "--quiet", "main"]);
        repo.write("a.txt", "main\n");
        repo.commit("main");
        repo
    };
    let cases: [(&[&str], &str); 5] = [
        (&["merge", "other"], "a merge"),
        (&["rebase", "other"], "a rebase"),
        (&["cherry-pick", "other"], "a cherry-pick"),
        (&["revert", "--no-edit", "HEAD~1"], "a revert"),
        (&["bisect", "start"], "a bisect"),
    ];
    for (command, what) in cases {
        let repo = conflict();
        if what == "a revert" {
            repo.write("a.txt", "later\n");
            repo.commit("later");
        }
        let _ = std::process::Command::new("git").args(command).current_dir(repo.place()).output();
        let before = (repo.seen(), repo.staged());
        let error = repo.vcs().begin(&run("r-1"), None).unwrap_err();
        assert!(
            matches!(error, GitError::InProgress { operation } if operation.what == what),
            "{error}"
        );
        assert_eq!((repo.seen(), repo.staged()), before, "{what}");
    }
    let repo = conflict();
    let _ = std::process::Command::new("git")
        .args(["merge", "other"])
        .current_dir(repo.place())
        .output();
    repo.remove(".git/MERGE_HEAD");
    let error = repo.vcs().begin(&run("r-1"), None).unwrap_err();
    assert!(matches!(&error, GitError::Unmerged { path } if path == "a.txt"), "{error}");
}

#[test]
fn a_settled_tree_follows_the_users_commits_and_not_the_sessions() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let opened = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap();
    assert_eq!(opened.moved, None);
    repo.write("red.txt", "session\n");
    let red = repo.commit("of a red session");
    let work = vcs.candidate(&opened.base).unwrap();
    vcs.save(&opened.base, &work, &task("a"), 1).unwrap();
    repo.write("mine.txt", "user\n");
    let mine = repo.commit("of the user");
    let opened = vcs.open(&run("r-1"), &opened.base, Some(&task("a"))).unwrap();
    assert_eq!(opened.moved, Some((Some(red.clone()), Some(mine.clone()))));
    let settled = vcs.carried(&base.settled_tree, Some(&red), Some(&mine)).unwrap();
    assert_eq!(repo.differs(&base.settled_tree, &settled), ["A mine.txt"]);
}

#[test]
fn work_inside_a_submodule_is_named() {
    let inner = Repo::new();
    let repo = Repo::new();
    let place = inner.place().to_str().unwrap();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", place, "lib"];
    repo.git(&add);
    repo.commit("with a submodule");
    let vcs = repo.vcs();
    assert_eq!(vcs.submodules_with_work().unwrap(), Vec::<String>::new());
    repo.write("lib/new.txt", "work\n");
    assert_eq!(Vcs::submodules_with_work(&vcs).unwrap(), ["lib"]);
    let lib = repo.path("lib");
    git_in(&lib, &["add", "new.txt"]);
    assert_eq!(Vcs::submodules_with_work(&vcs).unwrap(), ["lib"], "staged");
    let identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"];
    git_in(&lib, &[&identity[..], &["commit", "--quiet", "-m", "work"]].concat());
    assert_eq!(Vcs::submodules_with_work(&vcs).unwrap(), ["lib"], "committed");
}

#[test]
fn settings_of_a_submodule_run_nothing_when_work_in_it_is_looked_for() {
    let inner = Repo::new();
    let repo = Repo::new();
    let place = inner.place().to_str().unwrap();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", place, "lib"];
    repo.git(&add);
    repo.commit("with a submodule");
    let ran = repo.folder().join("ran");
    let program = format!("touch {}; cat", ran.display());
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.process"] {
        git_in(&repo.path("lib"), &["config", key, &program]);
    }
    repo.write("lib/.gitattributes", "* filter=x\n");
    repo.write("lib/a.txt", "changed\n");
    assert_eq!(Vcs::submodules_with_work(&repo.vcs()).unwrap(), ["lib"]);
    assert!(!ran.exists());
}

/// Long enough for the clock of the file system to move.
fn a_moment_later() {
    std::thread::sleep(std::time::Duration::from_millis(30));
}

#[test]
fn what_changes_after_a_killed_session_is_the_users() {
    let repo = Repo::new();
    repo.write("notes.txt", "before\n");
    let (vcs, base) = repo.begin();
    let base = vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap().base;
    vcs.session_lives(true);
    repo.write("half-a.txt", "half\n");
    repo.write("a.txt", "half\n");
    vcs.session_lives(false);
    a_moment_later();
    repo.write("mine.txt", "user\n");
    repo.write("notes.txt", "after\n");

    drop((vcs, base));
    let vcs = repo.vcs();
    let base = vcs.begin(&run("r-2"), Some((&run("r-1"), None))).unwrap();
    let work = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&work), ["M a.txt", "A half-a.txt"]);
    vcs.save(&base, &work, &task("a"), 1).unwrap().unwrap();
    let base = vcs.open(&run("r-2"), &base, Some(&task("a"))).unwrap().base;
    let work = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&work), ["M a.txt", "A half-a.txt"]);
}

#[test]
fn what_a_session_wrote_just_before_it_was_killed_is_its_own() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap();
    vcs.session_lives(true);
    a_moment_later();
    repo.write("half-a.txt", "half\n");

    let vcs = repo.vcs();
    let base = vcs.begin(&run("r-2"), Some((&run("r-1"), None))).unwrap();
    let work = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&work), ["A half-a.txt"]);
}

#[test]
fn edits_before_a_session_that_was_never_started_are_the_users() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    vcs.open(&run("r-1"), &base, Some(&task("a"))).unwrap();
    a_moment_later();
    repo.write("mine.txt", "user\n");

    let vcs = repo.vcs();
    let base = vcs.begin(&run("r-2"), Some((&run("r-1"), None))).unwrap();
    let work = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&work), [""; 0]);
}

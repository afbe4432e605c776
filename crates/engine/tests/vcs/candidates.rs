//! The tree that is judged.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_engine::ports::{Trees, Vcs};

use crate::kit::{Repo, os, run};

#[test]
fn a_clean_worktree_is_its_own_candidate() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    assert_eq!(base.start, None);
    assert_eq!(base.branch.as_deref(), Some("main"));
    assert_eq!(base.head, Some(repo.git(&["rev-parse", "HEAD"])));
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(candidate.tree, base.settled_tree);
    assert_eq!(candidate.tree, repo.git(&["rev-parse", "HEAD^{tree}"]));
    assert!(!candidate.leftovers);
    assert_eq!(vcs.commit(&base, &candidate, "nothing", "").unwrap(), None);
    assert_eq!(vcs.warnings(), Vec::<String>::new());
}

#[test]
fn edits_new_files_and_deletions_are_in_and_ignored_files_are_not() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "changed\n");
    repo.write("deep/er/new.txt", "new\n");
    repo.write("empty", "");
    repo.write("run.log", "ignored\n");
    repo.write("build/out", "ignored\n");
    repo.remove("src/b.txt");
    let (index, files) = (repo.staged(), repo.seen());
    let candidate = vcs.candidate(&base).unwrap();
    let wanted = ["M a.txt", "A deep/er/new.txt", "A empty", "D src/b.txt"];
    assert_eq!(repo.beyond_head(&candidate), wanted);
    assert_eq!(repo.staged(), index, "the index is the person's");
    assert_eq!(repo.seen(), files);
    let names = vcs.changes(&candidate.head_tree, &candidate.tree).unwrap();
    assert_eq!(names, ["a.txt", "deep/er/new.txt", "empty", "src/b.txt"]);
    assert_eq!(vcs.candidate(&base).unwrap(), candidate);
}

#[test]
fn lines_that_came_and_went_are_counted() {
    let repo = Repo::new();
    repo.write("two", "1\n2\n");
    repo.write("tool.sh", "x\n");
    repo.write(".gitattributes", "*.txt diff=words\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "more"]);
    // What the repository says about comparing is not run.
    repo.git(&["config", "diff.words.command", "touch command-ran"]);
    repo.git(&["config", "diff.words.textconv", "touch textconv-ran; cat"]);
    let (vcs, base) = repo.begin();
    repo.write("two", "1\nnew\nmore\n");
    repo.write("a.txt", "changed\n");
    repo.write("odd name\té", "new\n");
    repo.write("picture", "\0\u{1}");
    repo.remove("src/b.txt");
    let file = std::fs::File::open(repo.path("tool.sh")).unwrap();
    file.set_permissions(std::fs::Permissions::from_mode(0o755)).unwrap();
    let candidate = vcs.candidate(&base).unwrap();
    let (from, to) = (&candidate.head_tree, &candidate.tree);
    let counted = vcs.counted_changes(from, to).unwrap();
    let names: Vec<&str> = counted.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(names, vcs.changes(from, to).unwrap());
    let lines: Vec<_> = counted.iter().map(|change| (change.added, change.removed)).collect();
    let (none, some) = ((None, None), |added, removed| (Some(added), Some(removed)));
    assert_eq!(lines, [some(1, 1), some(1, 0), none, some(0, 1), some(0, 0), some(2, 1)]);
    assert!(!repo.path("command-ran").exists() && !repo.path("textconv-ran").exists());
}

/// As those are that an editor writes and then renames.
#[test]
fn files_that_come_and_go_are_no_failure() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let (stop, path) = (AtomicBool::new(false), repo.path("coming-and-going"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::fs::write(&path, "half").unwrap();
                std::fs::remove_file(&path).unwrap();
                std::thread::park_timeout(Duration::from_millis(1));
            }
        });
        let made: Vec<_> = (0..40).map(|_| vcs.candidate(&base)).collect();
        stop.store(true, Ordering::Relaxed);
        for candidate in made {
            candidate.unwrap();
        }
    });
}

#[test]
fn ralphs_own_state_never_counts() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    repo.write(".ralph/state.toml", "iteration = 1\n");
    repo.write(".ralph/progress.db", "");
    repo.write(".ralph/logs/session-1.log", "");
    repo.write(".worktrees/one/file", "");
    assert!(!vcs.candidate(&base).unwrap().leftovers);
    repo.write(".ralph/features/login/spec.md", "");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["A .ralph/features/login/spec.md"]);
}

#[test]
fn what_was_dirty_before_the_run_stays_out() {
    let repo = Repo::new();
    repo.write("gone.txt", "gone\n");
    repo.write("old.txt", "the same text, moved\n");
    repo.commit("more");
    repo.write("a.txt", "edited\n");
    repo.write("src/b.txt", "staged\n");
    repo.git(&["add", "src/b.txt"]);
    repo.write("src/b.txt", "staged and edited\n");
    repo.write("untracked.txt", "untracked\n");
    repo.remove("gone.txt");
    repo.git(&["mv", "old.txt", "new.txt"]);
    let (index, files, status) = (repo.staged(), repo.seen(), repo.status());
    let (vcs, base) = repo.begin();
    let start = base.start.clone().unwrap();
    assert_eq!(repo.git(&["rev-parse", "refs/ralph/start/r-1"]), start);
    assert_eq!(
        repo.differs("HEAD", &start),
        ["M a.txt", "D gone.txt", "A new.txt", "D old.txt", "M src/b.txt", "A untracked.txt"]
    );
    // Staged work that is no longer in the worktree is safe as well.
    assert_eq!(repo.git(&["show", &format!("{start}^2:src/b.txt")]), "staged");
    assert!(!vcs.candidate(&base).unwrap().leftovers);
    repo.write("mine.txt", "by the session\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["A mine.txt"]);
    vcs.commit(&base, &candidate, "build: iteration 1 - mine", "").unwrap().unwrap();
    repo.remove("mine.txt");
    let without: Vec<String> =
        repo.staged().lines().filter(|l| !l.ends_with("mine.txt")).map(str::to_owned).collect();
    assert_eq!(without.join("\n"), index);
    assert_eq!(repo.seen(), files);
    assert_eq!(repo.status().replace(" D mine.txt\n", ""), status);
    repo.fsck();
}

#[test]
fn a_dirty_file_that_the_session_changes_is_in() {
    let repo = Repo::new();
    repo.write("a.txt", "person\n");
    repo.write("src/b.txt", "person\n");
    repo.write("untracked.txt", "person\n");
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "person\nsession\n");
    repo.write("untracked.txt", "person\nsession\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["M a.txt", "A untracked.txt"]);
    vcs.commit(&base, &candidate, "one", "").unwrap();
    // It is a path like any other now: going back to what the person had is a change.
    repo.write("a.txt", "person\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["M a.txt"]);
    assert_eq!(repo.git(&["show", &format!("{}:a.txt", candidate.tree)]), "person");
    assert!(repo.status().contains(" M src/b.txt"));
    // Undone by the session altogether: nothing is left over.
    repo.write("a.txt", "person\nsession\n");
    assert!(!vcs.candidate(&base).unwrap().leftovers);
}

#[test]
fn a_dirty_file_that_the_session_takes_back_is_nothing_to_commit() {
    let repo = Repo::new();
    repo.write("a.txt", "person\n");
    repo.write("untracked.txt", "person\n");
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "a\n");
    repo.remove("untracked.txt");
    assert!(!vcs.candidate(&base).unwrap().leftovers);
}

#[test]
fn files_in_place_of_folders_and_folders_in_place_of_files() {
    let repo = Repo::new();
    repo.remove("a.txt");
    repo.write("a.txt/inner", "person\n");
    repo.remove("src/b.txt");
    std::fs::remove_dir(repo.path("src")).unwrap();
    repo.write("src", "person\n");
    let (vcs, base) = repo.begin();
    assert!(!vcs.candidate(&base).unwrap().leftovers);
    repo.write("a.txt/inner", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["D a.txt", "A a.txt/inner"]);
    repo.write("a.txt/inner", "person\n");
    repo.write("src", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["A src", "D src/b.txt"]);
    vcs.commit(&base, &candidate, "one", "").unwrap().unwrap();
    assert!(!vcs.candidate(&base).unwrap().leftovers);
    repo.fsck();
}

#[test]
fn modes_links_and_empty_files_survive() {
    let repo = Repo::new();
    repo.write("tool.sh", "#!/bin/sh\n");
    repo.commit("tool");
    let (vcs, base) = repo.begin();
    std::fs::set_permissions(repo.path("tool.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a.txt", repo.path("link")).unwrap();
    symlink("/nowhere/at all", repo.path("dangling")).unwrap();
    repo.write("empty", "");
    let candidate = vcs.candidate(&base).unwrap();
    let id = vcs.commit(&base, &candidate, "modes", "").unwrap().unwrap();
    let listed = repo.git(&["ls-tree", &id]);
    assert!(listed.contains("100755 blob") && listed.contains("\ttool.sh"), "{listed}");
    assert_eq!(listed.matches("120000 blob").count(), 2, "{listed}");
    assert_eq!(repo.git(&["show", &format!("{id}:dangling")]), "/nowhere/at all");
    assert!(listed.contains("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\tempty"), "{listed}");
    assert_eq!(repo.status(), "");
}

#[test]
fn names_may_be_any_bytes() {
    let repo = Repo::new();
    let names: [&[u8]; 6] = [
        b"with space",
        b"new\nline",
        b"tab\there",
        b"quo\"te\\s",
        b"bad-\xff-utf8",
        b"-dash :(top)",
    ];
    for name in &names[..3] {
        repo.write(os(name), "person\n");
    }
    let (vcs, base) = repo.begin();
    assert!(!vcs.candidate(&base).unwrap().leftovers);
    for name in &names[2..] {
        repo.write(os(name), "session\n");
    }
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate).len(), 4);
    let id = vcs.commit(&base, &candidate, "names", "").unwrap().unwrap();
    let listed = repo.git_bytes(&["ls-tree", "-z", "--name-only", &id]);
    for name in &names[2..] {
        assert!(listed.split(|byte| *byte == 0).any(|found| found == *name), "{name:?}");
    }
    for name in &names[3..] {
        repo.write(os(name), "again\n");
    }
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(vcs.put_back(&base, &candidate).unwrap().len(), 3);
    assert_eq!(repo.read(os(names[4])), "session\n");
    repo.fsck();
}

#[test]
fn line_ends_make_no_phantom_changes() {
    let repo = Repo::new();
    repo.write(".gitattributes", "*.crlf text eol=crlf\n*.lf text eol=lf\n*.auto text=auto\n");
    repo.write("one.crlf", "a\r\nb\r\n");
    repo.write("two.lf", "a\nb\n");
    repo.write("three.auto", "a\r\nb\r\n");
    repo.commit("ends");
    for autocrlf in ["false", "true", "input"] {
        repo.git(&["config", "core.autocrlf", autocrlf]);
        repo.git(&["config", "core.safecrlf", "true"]);
        let (vcs, base) = repo.begin();
        assert_eq!(base.start, None, "{autocrlf}");
        // Written again as they are: newer, and otherwise the same.
        for name in ["one.crlf", "two.lf", "three.auto"] {
            let text = repo.read(name);
            repo.write(name, text);
        }
        assert!(!vcs.candidate(&base).unwrap().leftovers, "{autocrlf}");
        repo.write("one.crlf", "a\r\nb\r\nc\r\n");
        let candidate = vcs.candidate(&base).unwrap();
        assert_eq!(repo.beyond_head(&candidate), ["M one.crlf"], "{autocrlf}");
        assert_eq!(vcs.put_back(&base, &candidate).unwrap().len(), 1);
        assert_eq!(repo.read("one.crlf"), "a\r\nb\r\n", "{autocrlf}");
    }
}

#[test]
fn a_change_within_the_same_moment_is_seen() {
    // Same size and same time as what the index knows: only that the index is not younger than the
    // file tells git to look into it.
    let repo = Repo::new();
    repo.git(&["config", "core.trustctime", "false"]);
    let moment = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let stamp = |path: &str| {
        let file = std::fs::File::options().append(true).open(repo.path(path)).unwrap();
        file.set_modified(moment).unwrap();
    };
    stamp("a.txt");
    repo.git(&["update-index", "--refresh"]);
    stamp(".git/index");
    let (vcs, base) = repo.begin();
    repo.write("a.txt", "b\n");
    stamp("a.txt");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["M a.txt"]);
}

#[test]
fn what_an_agent_only_staged_counts_as_it_lies_in_the_worktree() {
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    repo.write("run.log", "ignored\n");
    repo.write("new.txt", "staged\n");
    repo.git(&["add", "--force", "run.log", "new.txt"]);
    repo.write("new.txt", "left\n");
    repo.git(&["rm", "--quiet", "--cached", "a.txt"]);
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["A new.txt"]);
    assert_eq!(repo.git(&["show", &format!("{}:new.txt", candidate.tree)]), "left");
}

#[test]
fn a_large_untracked_file_is_no_trouble() {
    let repo = Repo::new();
    let file = std::fs::File::create(repo.path("large.bin")).unwrap();
    file.set_len(48 << 20).unwrap();
    let (vcs, base) = repo.begin();
    assert!(base.start.is_some());
    assert!(!vcs.candidate(&base).unwrap().leftovers);
}

#[test]
fn a_resumed_run_does_not_take_the_agents_work_for_the_users() {
    let repo = Repo::new();
    repo.write("a.txt", "person\n");
    let (_, first) = repo.begin();
    repo.write("half.txt", "by a session that was killed\n");
    let settled = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["commit", "--quiet", "--allow-empty", "-m", "by the agent"]);
    let vcs = repo.vcs();
    let base = vcs.begin(&run("r-2"), Some((&run("r-1"), Some(&settled)))).unwrap();
    assert_eq!(base.start, first.start);
    assert_eq!(repo.git(&["rev-parse", "refs/ralph/start/r-2"]), base.start.clone().unwrap());
    assert_eq!(base.settled_tree, first.settled_tree);
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["A half.txt"]);
    // And again, from the run that was itself a continuation.
    let third = vcs.begin(&run("r-3"), Some((&run("r-2"), None))).unwrap();
    assert_eq!(third.start, first.start);
}

#[test]
fn a_recorded_commit_that_is_gone_is_not_believed() {
    let repo = Repo::new();
    repo.write("a.txt", "second\n");
    let second = repo.commit("second");
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let vcs = repo.vcs();
    for settled in [second.as_str(), "1111111111111111111111111111111111111111"] {
        let base = vcs.begin(&run("r-2"), Some((&run("r-1"), Some(settled)))).unwrap();
        assert_eq!(base.settled_tree, repo.git(&["rev-parse", "HEAD^{tree}"]));
        assert_eq!(base.start, None);
    }
}

#[test]
fn a_file_that_becomes_ignored_is_as_git_sees_it() {
    let repo = Repo::new();
    repo.write("late.tmp", "person\n");
    let (vcs, base) = repo.begin();
    repo.write(".gitignore", "*.log\nbuild/\n*.tmp\n");
    repo.write("more.tmp", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), ["M .gitignore"]);
    // A file that is committed stays tracked although a rule ignores it.
    repo.write(".gitignore", "*.log\nbuild/\n*.txt\n");
    repo.write("a.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    assert!(repo.beyond_head(&candidate).contains(&"M a.txt".to_owned()));
}

#[test]
fn what_the_user_untracked_or_forced_in_stays_out() {
    let repo = Repo::new();
    repo.write("forced.log", "person\n");
    repo.git(&["add", "--force", "forced.log"]);
    repo.git(&["rm", "--quiet", "--cached", "a.txt"]);
    let index = repo.staged();
    let (vcs, base) = repo.begin();
    let start = base.start.clone().unwrap();
    assert_eq!(repo.git(&["show", &format!("{start}^2:forced.log")]), "person");
    let candidate = vcs.candidate(&base).unwrap();
    assert_eq!(repo.beyond_head(&candidate), Vec::<String>::new());
    repo.write("mine.txt", "session\n");
    let candidate = vcs.candidate(&base).unwrap();
    vcs.commit(&base, &candidate, "mine", "").unwrap().unwrap();
    assert_eq!(repo.staged().lines().count(), index.lines().count() + 1);
    assert!(repo.staged().contains("forced.log") && !repo.staged().contains("\ta.txt"));
}

#[test]
fn links_out_are_found_whatever_their_names_are() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    let repo = Repo::new();
    let (vcs, base) = repo.begin();
    let name = |bytes: &[u8]| repo.place().join(OsStr::from_bytes(bytes));
    std::fs::create_dir(name(b"d\xfe")).unwrap();
    symlink("/etc/passwd", name(b"a\xff")).unwrap();
    symlink(OsStr::from_bytes(b"../../\xff"), name(b"d\xfe/b")).unwrap();
    symlink("../a.txt", name(b"d\xfe/inside\xff")).unwrap();
    symlink("/etc/shadow", name(b"plain")).unwrap();
    // The same text, were the names not told apart.
    repo.write("a\u{fffd}", "no link\n");
    let candidate = vcs.candidate(&base).unwrap();
    let found = vcs.links_out(&candidate.head_tree, &candidate.tree).unwrap();
    assert_eq!(found, ["\"a\\377\"", "\"d\\376/b\"", "plain"]);
    let counted = vcs.counted_changes(&candidate.head_tree, &candidate.tree).unwrap();
    let paths: Vec<&str> = counted.iter().map(|change| change.path.as_str()).collect();
    assert!(paths.contains(&"\"a\\377\"") && paths.contains(&"a\u{fffd}"), "{paths:?}");
    let text = vcs.file(&candidate.tree, "\"a\\377\"").unwrap().unwrap();
    assert_eq!(text, b"/etc/passwd");
    let changed = vcs.changes(&candidate.head_tree, &candidate.tree).unwrap();
    assert_eq!(changed.len(), 5);
}

#[test]
fn submodules_are_declared_as_git_reads_it() {
    use ralph_engine::ports::Forbidden;
    let repo = Repo::new();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let declared =
        b"[submodule \"x\"]\n\tpath = \"lib\\\\\xfe\" # a comment\n\turl = ./x\n".as_slice();
    repo.write(".gitmodules", declared);
    repo.commit("declared");
    let (vcs, base) = repo.begin();
    let before = vcs.candidate(&base).unwrap().tree;
    let index = repo.folder().join("index");
    let with = |path: &[u8]| {
        use ralph_engine::git::Git;
        Git::scratch(repo.place(), &index, &["read-tree", &before]).run().unwrap();
        let line = [format!("160000 {head}\t").as_bytes(), path, b"\0"].concat();
        let call = Git::scratch(repo.place(), &index, &["update-index", "-z", "--index-info"]);
        call.input(&line).run().unwrap();
        Git::scratch(repo.place(), &index, &["write-tree"]).line().unwrap()
    };
    assert_eq!(vcs.forbidden(&before, &with(b"lib\\\xfe")).unwrap(), []);
    let found = vcs.forbidden(&before, &with(b"lib\xfe")).unwrap();
    assert_eq!(found, [Forbidden::Repository("\"lib\\376\"".to_owned())]);
}

//! `ralph clean`: removes what ralph left, and nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ralph_core::branch::BranchName;
use ralph_engine::project::Project;
use ralph_engine::run_files::WorktreeLock;
use ralph_engine::worktrees::{Identity, Wanted, Worktrees};
use ralph_testkit::TestEnv;

use crate::env;
use crate::looping::{build, say, session, works, write};

const STATE: &str = "active = false\niteration = 3\n";

fn committed() -> TestEnv {
    let env = env();
    env.git(&["config", "user.name", "Tester"]);
    env.git(&["config", "user.email", "tester@example.org"]);
    env.write("a.txt", "a\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "first"]);
    env
}

/// A worktree as a run makes it.
fn prepare(env: &TestEnv, branch: &str) -> PathBuf {
    let project = Project::find(&env.repo()).unwrap();
    let worktrees = Worktrees::new(&project, &project.resolve(".worktrees"));
    let (branch, identity) = (BranchName::new(branch).unwrap(), Identity::default());
    let wanted =
        Wanted { branch: &branch, base: "main", identity: &identity, include: "", carried: None };
    worktrees.prepare(&wanted).unwrap().path
}

/// Every file of the repository and of git, with its bytes.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path.clone());
                found.insert(path, vec![]);
            } else {
                let bytes = std::fs::read(&path).unwrap_or_default();
                found.insert(path, bytes);
            }
        }
    }
    found
}

#[test]
fn the_state_of_the_last_run_goes_and_the_plan_stays() {
    let env = committed();
    env.ralph(&["init"]).success();
    env.task(&["add", "Stay", "--id", "stay"]);
    env.write(".ralph/state.toml", STATE);
    env.write(".ralph/state.toml.x1Y2z3", "half");
    env.write(".ralph/logs/session-1.log", "log\n");
    let before = everything(&env.repo());
    let dry = env.ralph(&["clean", "--dry-run"]).success();
    assert!(dry.starts_with("would remove  .ralph/state.toml\nralph made  .ralph/logs/"), "{dry}");
    assert_eq!(dry.matches("would remove").count(), 1, "{dry}");
    assert_eq!(dry.matches(".ralph/state.toml").count(), 1, "{dry}");
    // Whoever reads a database writes down that it reads.
    let same = |path: &PathBuf| path.to_string_lossy().contains("progress.db-");
    let now = everything(&env.repo());
    let differs = |path: &&PathBuf| before.get(*path) != now.get(*path) && !same(path);
    let different: Vec<&PathBuf> = before.keys().chain(now.keys()).filter(differs).collect();
    assert!(different.is_empty(), "nothing was done: {different:?}");
    assert_eq!(env.ralph(&["clean"]).success(), "removed  .ralph/state.toml\n");
    assert!(!env.repo().join(".ralph/state.toml").exists());
    assert!(!env.repo().join(".ralph/state.toml.x1Y2z3").exists());
    for path in ["PROMPT_build.md", "ralph.toml", ".ralph/logs/session-1.log", ".ralph/features"] {
        assert!(env.repo().join(path).exists(), "{path}");
    }
    assert!(env.ralph(&["task", "list"]).success().contains("stay"));
    let again = env.ralph(&["clean"]);
    assert_eq!((again.code, again.stderr.as_str()), (0, "nothing to remove\n"));
    assert_eq!(again.stdout, "");
}

#[test]
fn a_run_at_work_is_left_alone() {
    let env = committed();
    env.write(".ralph/state.toml", STATE);
    let lock = WorktreeLock::take(&env.repo().join(".ralph")).unwrap();
    for arguments in [&["clean"][..], &["clean", "--dry-run"], &["clean", "--worktrees", "--all"]] {
        let ran = env.ralph(arguments);
        let pid = std::process::id();
        let output = format!(
            "error: a run is active (pid {pid}); nothing was removed\n  \
             hint: stop it first: ralph cancel\n"
        );
        assert_eq!((ran.code, ran.stderr), (1, output));
    }
    assert!(env.repo().join(".ralph/state.toml").exists());
    drop(lock);
    env.ralph(&["clean"]).success();
}

#[test]
fn all_removes_unchanged_files_of_init() {
    let env = committed();
    env.ralph(&["init"]).success();
    env.write("PROMPT_plan.md", "my own prompt\n");
    env.write(".claude/skills/ralph-spec/notes.md", "mine\n");
    env.write(".ralph/skills/mine/SKILL.md", "mine\n");
    let dry = env.ralph(&["clean", "--all", "--dry-run"]).success();
    assert!(env.repo().join("PROMPT_build.md").exists());
    let printed = env.ralph(&["clean", "--all"]).success();
    assert_eq!(dry.replace("would remove", "removed"), printed, "what it says is what it does");
    let removed: Vec<&str> =
        printed.lines().map(|line| line.strip_prefix("removed  ").unwrap()).collect();
    assert_eq!(
        removed,
        [
            "PROMPT_build.md",
            ".claude/skills/ralph-spec/SKILL.md",
            ".claude/skills/ralph-plan/SKILL.md",
            ".claude/skills/ralph-build/SKILL.md",
            ".claude/skills/ralph-plan/",
            ".claude/skills/ralph-build/",
            ".ralph/features/",
        ]
    );
    for path in [
        "PROMPT_plan.md",
        "ralph.toml",
        "AGENTS.md",
        ".claude/settings.json",
        ".claude/skills/ralph-spec/notes.md",
        ".ralph/skills/mine/SKILL.md",
    ] {
        assert!(env.repo().join(path).exists(), "{path}");
    }
    let again = env.ralph(&["clean", "--all", "--json"]).success();
    assert_eq!(ralph_testkit::data::<serde_json::Value>(&again), serde_json::json!([]));
}

#[test]
fn s4_13_worktrees_are_saved_and_removed_and_a_users_stay() {
    let env = committed();
    let (dirty, clean) = (prepare(&env, "feat/dirty"), prepare(&env, "clean"));
    std::fs::write(dirty.join("a.txt"), "changed\n").unwrap();
    std::fs::write(dirty.join("new.txt"), "new\n").unwrap();
    env.git(&["worktree", "add", "--quiet", "-b", "theirs", ".worktrees/theirs"]);
    let before = everything(&env.repo());
    let dry = env.ralph(&["clean", "--worktrees", "--dry-run"]).success();
    assert_eq!(
        dry,
        "would remove  .worktrees/clean\n\
         would remove  .worktrees/feat/dirty: would save uncommitted work\n"
    );
    assert_eq!(everything(&env.repo()), before, "nothing was done");
    let ran = env.ralph(&["clean", "--worktrees"]);
    assert_eq!(ran.stderr, "restore it: ralph recover feat/dirty\n");
    assert_eq!(
        ran.success(),
        "removed  .worktrees/clean\n\
         removed  .worktrees/feat/dirty: saved 2 files in refs/ralph/wip/feat=2Fdirty/1\n"
    );
    assert!(
        !dirty.exists() && !clean.exists() && env.repo().join(".worktrees/theirs/a.txt").exists()
    );
    env.git(&["rev-parse", "--verify", "refs/heads/feat/dirty"]);
    assert!(!env.git(&["worktree", "list"]).contains("prunable"));
    env.git(&["fsck", "--strict"]);
    assert_eq!(env.ralph(&["clean", "--worktrees"]).success(), "");
    // As it says.
    env.ralph(&["recover", "feat/dirty"]).success();
    assert_eq!(std::fs::read_to_string(env.repo().join("new.txt")).unwrap(), "new\n");
}

#[test]
fn what_must_stay_is_named_with_what_to_type() {
    let env = committed();
    let (held, other) = (prepare(&env, "held"), prepare(&env, "other"));
    env.git(&["worktree", "lock", "--reason", "on a stick", ".worktrees/held"]);
    let ran = env.ralph(&["clean", "--worktrees"]);
    assert_eq!(ran.code, 1);
    let path = held.display();
    assert!(ran.stdout.contains(&format!("kept  .worktrees/held: {path} is locked: on a stick\n")));
    assert!(ran.stdout.contains("removed  .worktrees/other\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("git worktree unlock"), "{}", ran.stderr);
    assert!(ran.stderr.contains("error: 1 item was kept; the rest was removed"), "{}", ran.stderr);
    assert!(held.exists() && !other.exists());
    env.git(&["worktree", "unlock", ".worktrees/held"]);
    // From inside of it.
    let inside = env.ralph(&["-C", held.to_str().unwrap(), "clean", "--worktrees"]);
    assert_eq!(inside.code, 1);
    assert!(
        inside.stdout.contains("it is the current folder") && held.exists(),
        "{}",
        inside.stdout
    );
    assert!(inside.stderr.contains("clean --worktrees"), "{}", inside.stderr);
    // A run in one of them.
    let lock = WorktreeLock::take(&held.join(".ralph")).unwrap();
    let busy = env.ralph(&["clean", "--worktrees"]);
    assert!(busy.stdout.contains("another process is using"), "{}", busy.stdout);
    assert!(held.exists());
    drop(lock);
    assert_eq!(env.ralph(&["clean", "--worktrees"]).code, 0);
    assert!(!env.repo().join(".worktrees").exists());
}

/// All that counts of a repository: its files, and of git the settings, the exclude file, refs and worktrees.
fn looks(env: &TestEnv) -> BTreeMap<PathBuf, Vec<u8>> {
    let git = env.repo().join(".git");
    let counts = |path: &Path| {
        let of_git = path.strip_prefix(&git).ok();
        of_git.is_none_or(|path| {
            let top = path.iter().next().unwrap_or_default();
            ["config", "info", "worktrees", "config.worktree"].iter().any(|name| top == *name)
                || top.to_string_lossy().starts_with("ralph")
        })
    };
    let mut all = everything(&env.repo());
    all.retain(|path, _| counts(path));
    let refs = env.git(&["for-each-ref", "--format=%(refname)"]).into_bytes();
    all.insert("refs".into(), refs);
    all
}

#[test]
fn everything_goes_and_the_repository_is_as_before_init() {
    let mut env = committed();
    // Several runs on one store need names that differ.
    env.set("RALPH_TEST_SEED", "");
    env.write("AGENTS.md", "# Rules\n\nBe kind.\n");
    env.write(".claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "mine"]);
    let before = looks(&env);
    env.ralph(&["init"]).success();
    let approved = std::fs::read_dir(env.home().join(".local/state/ralph"));
    assert_eq!(approved.unwrap().count(), 1, "init approves the repository");
    env.task(&["add", "Write", "--id", "x"]);
    let half = session(&[write("half.txt", "half\n"), say("hm")]);
    build(&env, &[&half], &["--once"]);
    build(&env, &[&works()], &["--once"]).success();
    env.task(&["add", "Write", "--id", "y"]);
    build(&env, &[&works()], &["-j", "2"]).success();
    env.git(&["rm", "-q", "half.txt", "x.txt", "y.txt"]);
    env.git(&["commit", "-qm", "without", "--", "half.txt", "x.txt", "y.txt"]);
    prepare(&env, "lane");
    let listed = env.ralph(&["clean", "--dry-run"]).success();
    let dry = env.ralph(&["clean", "--everything", "--dry-run"]).success();
    for part in [
        "refs/ralph/wip/x/1: saved work on x (1 file)",
        ".worktrees/lane/",
        ".ralph/logs/",
        ".ralph/progress.db",
        ".git/info/exclude (",
        ".git/ralph-workspace.json",
        ".local/state/ralph/repo-",
        "ralph.toml",
        "AGENTS.md (ralph's additions)",
        ".claude/settings.json (ralph's additions)",
    ] {
        assert!(listed.contains(part) && dry.contains(part), "{part}\n{listed}\n{dry}");
    }
    // Saved work is not removed without a word.
    let refused = env.ralph(&["clean", "--everything"]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(refused.stderr.contains("would be lost: refs/ralph/wip/x/1"), "{}", refused.stderr);
    assert!(refused.stderr.contains("ralph clean --everything --yes"), "{}", refused.stderr);
    assert!(env.repo().join(".ralph/progress.db").exists());
    let ran = env.ralph(&["clean", "--everything", "--yes"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    env.git(&["branch", "-D", "-q", "lane"]);
    let after = looks(&env);
    let differs = |path: &&PathBuf| before.get(*path) != after.get(*path);
    let different: Vec<&PathBuf> = before.keys().chain(after.keys()).filter(differs).collect();
    assert!(different.is_empty(), "{different:?}\n{}", ran.stdout);
    for place in [".local/state/ralph", ".cache/ralph"] {
        let left = std::fs::read_dir(env.home().join(place)).map(Iterator::count);
        assert_eq!(left.unwrap_or_default(), 0, "{place}");
    }
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    env.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(env.ralph(&["clean", "--everything"]).success(), "", "again: nothing is left");
    // In a worktree of ralph's it would remove the ground it stands on.
    let lane = prepare(&env, "lane");
    let inside = env.ralph(&["-C", lane.to_str().unwrap(), "clean", "--everything", "--yes"]);
    assert!(inside.stderr.contains("this is not the main worktree"), "{}", inside.stderr);
    assert!(inside.code == 1 && lane.exists());
}

#[test]
fn everything_keeps_what_you_changed_and_says_so() {
    let env = committed();
    env.ralph(&["init"]).success();
    env.write("ralph.toml", "preset = \"dag\"\n");
    env.write("PROMPT_build.md", "mine\n");
    env.write(".ralph/skills/mine/SKILL.md", "mine\n");
    env.git(&["branch", "ralph/mine"]);
    // Whatever the settings name, only what ralph made goes.
    env.write("src/main.rs", "mine\n");
    env.write("src/session-20260101-000000.log", "a run\n");
    env.write("mine.db", "mine\n");
    let set = ["--set", "logs.dir=src", "--set", "store.path=mine.db"];
    let ran = env.ralph(&[&["clean", "--everything"], &set[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for path in ["ralph.toml", "PROMPT_build.md"] {
        let line = format!("stays  {path}: you have changed it since `ralph init`\n");
        assert!(ran.stdout.contains(&line), "{}", ran.stdout);
    }
    assert!(ran.stdout.contains("its contents are yours"), "{}", ran.stdout);
    assert!(!env.repo().join("src/session-20260101-000000.log").exists());
    for path in
        ["ralph.toml", "PROMPT_build.md", ".ralph/skills/mine/SKILL.md", "src/main.rs", "mine.db"]
    {
        assert!(env.repo().join(path).exists(), "{path}");
    }
    assert!(!env.repo().join("PROMPT_plan.md").exists() && !env.repo().join("AGENTS.md").exists());
    env.git(&["rev-parse", "--verify", "refs/heads/ralph/mine"]);
}

#[test]
fn a_session_cannot_clean() {
    let mut env = committed();
    env.write(".ralph/state.toml", STATE);
    env.set("RALPH_SOCKET", "/nonsuch");
    assert_eq!(env.ralph(&["clean"]).code, 2);
    assert!(env.repo().join(".ralph/state.toml").exists());
}

//! What dead runs and crashes left, and what `--fix` does about it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_core::branch::BranchName;
use ralph_engine::project::Project;
use ralph_engine::worktrees::{Identity, Wanted, Worktrees};
use ralph_testkit::{TestEnv, send_signal};

use super::{healthy, line};
use crate::looping::{cassette, gate_step, session, wait_for};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn files_that_others_can_read_are_reported_and_closed() {
    let env = healthy();
    env.task(&["add", "T"]);
    assert_eq!(line(&env.ralph(&["doctor"]).stdout, "files").0, "ok");
    let logs = env.repo().join(".ralph/logs");
    let log = env.write(".ralph/logs/session-1.log", "x");
    let skill = env.write(".ralph/skills/s/SKILL.md", "for all\n");
    for (path, open) in [(&log, 0o644), (&logs, 0o755), (&env.store(), 0o666), (&skill, 0o644)] {
        chmod(path, open);
    }
    chmod(&env.repo().join(".ralph"), 0o777);
    let text = env.ralph(&["doctor"]).stdout;
    let (state, says) = line(&text, "files");
    assert!(
        state == "warn" && says.starts_with("open to other users: .ralph/progress.db"),
        "{says}"
    );
    assert!(text.contains("do: ralph doctor --fix"), "{text}");
    let ran = env.ralph(&["doctor", "--fix"]);
    assert_eq!(line(&ran.stdout, "files").0, "ok", "{}", ran.stdout);
    assert!(
        ran.stderr.contains("chmod 600 ") && ran.stderr.contains("chmod 700 "),
        "{}",
        ran.stderr
    );
    let modes = [&log, &logs, &env.store(), &skill].map(|path| mode(path));
    assert_eq!(modes, [0o600, 0o700, 0o600, 0o644], "what is for all stays so");
    assert_eq!(mode(&env.repo().join(".ralph")), 0o755);
    assert!(!env.ralph(&["doctor", "--fix"]).stderr.contains("chmod"), "nothing is left to do");
}

/// A worktree of ours, killed at this point; the folder of git for it.
fn worktree(env: &TestEnv) -> (Worktrees, BranchName, PathBuf) {
    let project = Project::find(&env.repo()).unwrap();
    let worktrees = Worktrees::new(&project, &env.repo().join(".worktrees"));
    let branch = BranchName::new("login").unwrap();
    let wanted = Wanted {
        branch: &branch,
        base: "main",
        identity: &Identity::default(),
        include: "",
        carried: None,
    };
    let path = worktrees.prepare(&wanted).unwrap().path;
    (worktrees, branch, path)
}

fn marker(env: &TestEnv) -> PathBuf {
    let folder = std::fs::read_dir(env.repo().join(".ralph/worktrees")).unwrap();
    let mut files = folder.map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|ending| ending == "toml")).unwrap()
}

#[test]
fn worktrees_are_reported_and_only_their_debris_is_removed() {
    let env = healthy();
    let (worktrees, branch, path) = worktree(&env);
    std::fs::write(path.join("work.txt"), "unsaved\n").unwrap();
    let text = env.ralph(&["doctor"]).stdout;
    assert_eq!(line(&text, "worktrees"), ("ok", "1 worktree of ralph is intact"));
    // One that works stays, whatever is in it.
    assert!(!env.ralph(&["doctor", "--fix"]).stderr.contains("worktree"));
    assert!(path.join("work.txt").exists());
    // Git does not know it any more: a person has to look.
    let admin = env.repo().join(".git/worktrees/login");
    let aside = env.folder().join("aside");
    std::fs::rename(&admin, &aside).unwrap();
    let text = env.ralph(&["doctor", "--fix"]).stdout;
    let (state, says) = line(&text, "worktrees");
    assert!(state == "warn" && says.contains("git no longer knows the worktree of"), "{says}");
    assert!(path.join("work.txt").exists());
    std::fs::rename(&aside, &admin).unwrap();
    // Its folder is gone.
    std::fs::remove_dir_all(&path).unwrap();
    let text = env.ralph(&["doctor"]).stdout;
    let (state, says) = line(&text, "worktrees");
    assert!(state == "warn" && says.contains("the folder of the worktree of"), "{says}");
    let ran = env.ralph(&["doctor", "--fix"]);
    assert!(ran.stderr.contains("removed the remains of the worktree"), "{}", ran.stderr);
    assert_eq!(line(&ran.stdout, "worktrees"), ("ok", "ralph has no worktrees"));
    assert!(!admin.exists() && worktrees.ours().unwrap().is_empty());
    let branches = env.git(&["branch", "--list", branch.as_str()]);
    assert!(branches.contains("login"), "the branch stays");
}

#[test]
fn a_half_made_worktree_is_removed_and_nothing_of_the_user() {
    let env = healthy();
    let (_, _, path) = worktree(&env);
    env.git(&["worktree", "add", "--quiet", "../mine", "-b", "mine"]);
    let file = marker(&env);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("stage = \"made\"", "stage = \"making\"")).unwrap();
    std::fs::write(env.repo().join(".git/worktrees/login/locked"), "initializing\n").unwrap();
    let text = env.ralph(&["doctor"]).stdout;
    let (state, says) = line(&text, "worktrees");
    assert!(state == "warn" && says.contains("is half-made"), "{says}");
    // A file that git did not put there keeps it.
    std::fs::write(path.join("note.txt"), "a person's\n").unwrap();
    assert_eq!(line(&env.ralph(&["doctor", "--fix"]).stdout, "worktrees").0, "warn");
    assert!(path.join("note.txt").exists());
    std::fs::remove_file(path.join("note.txt")).unwrap();
    let ran = env.ralph(&["doctor", "--fix"]);
    assert_eq!(line(&ran.stdout, "worktrees"), ("ok", "ralph has no worktrees"), "{}", ran.stderr);
    assert!(!path.exists() && env.folder().join("mine/.git").exists());
}

#[test]
fn leftovers_of_a_killed_run_are_reported_and_a_living_one_is_left_alone() {
    let mut env = healthy();
    let path = std::env::var("PATH").unwrap();
    env.set("PATH", &format!("{}:{path}", super::tools(&env).display()));
    env.task(&["add", "T", "--id", "one"]);
    assert_eq!(line(&env.ralph(&["doctor"]).stdout, "runs").1, "no leftovers of earlier runs");
    cassette(&env, &[&session(&[gate_step("reached", "go-on")])]);
    let mut child = env.start(&crate::looping::arguments(&[]));
    wait_for(&env, "reached");
    let text = env.ralph(&["doctor"]).stdout;
    let (state, says) = line(&text, "runs");
    assert!(state == "ok" && says.contains(&format!("pid {}", child.id())), "{says}");
    send_signal("KILL", child.id());
    child.wait().unwrap();
    assert_eq!(line(&env.ralph(&["doctor"]).stdout, "files").0, "ok", "what a run writes");
    let half = env.write(".ralph/state.toml.x1Y2z3", "half");
    let text = env.ralph(&["doctor"]).stdout;
    assert!(text.contains("killed runs still hold tasks: one"), "{text}");
    assert!(text.contains("do: the next ralph build reopens them"), "{text}");
    assert!(text.contains("1 half-written copies"), "{text}");
    let ran = env.ralph(&["doctor", "--fix"]);
    assert!(ran.stderr.contains("state.toml.x1Y2z3") && !half.exists(), "{}", ran.stderr);
    assert!(env.repo().join(".ralph/state.toml").exists(), "the run goes on by it");
    std::fs::write(env.repo().join(".ralph/state.toml"), "no toml at all").unwrap();
    let text = env.ralph(&["doctor"]).stdout;
    let (state, says) = line(&text, "runs");
    assert!(state == "fail" && says.contains("state.toml cannot be read"), "{says}");
    assert!(text.contains("do: if you do not need it: rm "), "{text}");
}

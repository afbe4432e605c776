//! Whole runs in the box: `ralph build` at level full with the real Claude Code, as whoever runs the tests
//! and as an ordinary user.

mod claude;
mod home;
mod landlock;
mod network;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_testkit::{Ran, TestEnv, skip};

/// Whether a box of mounts can be made here; said aloud where it cannot.
pub(crate) fn has_boxes(what: &str) -> bool {
    let tried =
        Command::new("bwrap").args(["--ro-bind", "/", "/", "--unshare-user", "true"]).output();
    let works = tried.is_ok_and(|tried| tried.status.success());
    if !works {
        skip(&format!("{what}: bubblewrap does not work here"));
    }
    works
}

/// Everything below a folder, by what changes when somebody touches it.
pub(crate) fn files(folder: &Path, but: &[PathBuf]) -> BTreeMap<PathBuf, (u64, u64, i64, u32)> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        if but.contains(&path) {
            continue;
        }
        let Ok(found) = path.symlink_metadata() else { continue };
        if found.is_dir() {
            // That a folder was looked into, or that something came and went, is told by its entries.
            open.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|e| e.path()));
            all.insert(path, (found.ino(), 0, 0, found.mode()));
        } else {
            let changed = found.ctime() * 1_000_000_000 + found.ctime_nsec();
            all.insert(path, (found.ino(), found.size(), changed, found.mode()));
        }
    }
    all
}

/// What is different now.
pub(crate) fn changed(
    before: &BTreeMap<PathBuf, (u64, u64, i64, u32)>,
    now: &BTreeMap<PathBuf, (u64, u64, i64, u32)>,
) -> Vec<PathBuf> {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let new = now.iter().filter(|(path, facts)| before.get(*path) != Some(facts));
    gone.chain(new.map(|(path, _)| path)).cloned().collect()
}

/// Runs a call of ralph as an ordinary user, to whom everything in the folder of the test belongs now.
/// `None`, said aloud, where we cannot be anybody else.
pub(crate) fn as_ordinary_user(env: &TestEnv, arguments: &[&str]) -> Option<Ran> {
    let call = env.command(arguments);
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if !is_root {
        return Some(Ran::of(arguments, env.command(arguments).output().unwrap()));
    }
    let who = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    if !Command::new("setpriv").args(who).arg("true").status().is_ok_and(|s| s.success()) {
        skip("as an ordinary user: setpriv does not work here");
        return None;
    }
    let owned =
        Command::new("chown").args(["-R", "65534:65534"]).arg(env.folder()).status().unwrap();
    assert!(owned.success());
    let mut command = Command::new("setpriv");
    command.args(who).arg(reachable(env, call.get_program(), &who)).args(call.get_args());
    command.env_clear();
    command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("USER", "nobody").current_dir(env.repo());
    Some(Ran::of(arguments, command.output().unwrap()))
}

/// The program, or a copy of it where the build folder is closed to that user.
fn reachable(env: &TestEnv, program: &OsStr, who: &[&str]) -> PathBuf {
    let mut test = Command::new("setpriv");
    test.args(who).args(["test", "-x"]).arg(program);
    if test.status().unwrap().success() {
        return program.into();
    }
    let copy = env.folder().join("ralph");
    std::fs::copy(program, &copy).unwrap();
    copy
}

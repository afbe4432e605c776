//! Removes locks that a killed git left. Git usually removes its locks when it is terminated, but not when it is
//! killed: then nobody can commit until the locks are removed.
//!
//! A lock is removed only if it was made while a session ran, has not changed for a second, and no git runs in this
//! worktree. Any other lock may belong to the user.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::Timestamp;

use super::in_place::GitVcs;
use crate::clock::now;
use crate::git::GitResult;
use crate::process::works_in;

/// How long a lock must be untouched to count as dead.
const STILL_MS: u64 = 1_000;

/// How far file times are behind the clock: they are in ticks of the kernel.
const TICK_MS: u64 = 20;

#[derive(Debug, PartialEq, Eq)]
struct LockSnapshot {
    path: PathBuf,
    inode: u64,
    changed: Timestamp,
}

impl GitVcs {
    /// Removes the dead locks of a worktree of ralph's, whenever they were made. Locks that all worktrees share
    /// stay.
    pub(crate) fn sweep_own_locks(&self) -> GitResult<()> {
        let own = self.project.own_git_dir()?;
        let paths = [own.join("HEAD.lock"), own.join("index.lock")];
        self.sweep_dead(&paths, Timestamp::default())
    }

    /// Removes those of these locks that were made since then and are dead.
    pub(crate) fn sweep_dead(&self, paths: &[PathBuf], since: Timestamp) -> GitResult<()> {
        let found = locks_since(paths, since);
        let Some(youngest) = found.iter().map(|lock| lock.changed).max() else { return Ok(()) };
        let age = now().millis_since(youngest);
        if let Some(left) = STILL_MS.checked_sub(age) {
            pause(Duration::from_millis(left));
        }
        let places = [&self.project.worktree, &self.project.root, &self.project.git_dir];
        if works_in("git", &places) {
            return Ok(());
        }
        for lock in locks_since(paths, since).iter().filter(|lock| found.contains(lock)) {
            if std::fs::remove_file(&lock.path).is_ok() {
                let path = lock.path.display();
                self.warn(format!("ralph removed {path}, which a killed git had left"));
            }
        }
        Ok(())
    }

    /// Where the locks of this worktree and its branch are.
    pub(super) fn lock_paths(&self) -> GitResult<Vec<PathBuf>> {
        let own = self.project.own_git_dir()?;
        let mut paths = vec![own.join("HEAD.lock"), own.join("index.lock")];
        // A commit takes the first of these too, for the marks of merges that it removes.
        let shared = ["packed-refs.lock", "config.lock"];
        paths.extend(shared.map(|name| self.project.git_dir.join(name)));
        if let Some(branch) = self.position()?.branch {
            paths.push(self.project.git_dir.join("refs/heads").join(branch + ".lock"));
        }
        // Harmless, but useless.
        let names = std::fs::read_dir(&own).into_iter().flatten().flatten();
        let is_next = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with("next-index-") && name.ends_with(".lock")
        };
        let names = names.map(|entry| entry.file_name()).filter(is_next);
        paths.extend(names.map(|name| own.join(name)));
        Ok(paths)
    }
}

fn locks_since(paths: &[PathBuf], since: Timestamp) -> Vec<LockSnapshot> {
    let seen = paths.iter().filter_map(|path| snapshot(path));
    seen.filter(|lock| lock.changed.plus_millis(TICK_MS) >= since).collect()
}

fn snapshot(path: &Path) -> Option<LockSnapshot> {
    let found = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let millis = found.mtime().checked_mul(1000)?.checked_add(found.mtime_nsec() / 1_000_000)?;
    let changed = Timestamp::from_millis(millis);
    Some(LockSnapshot { path: path.to_owned(), inode: found.ino(), changed })
}

#[expect(clippy::disallowed_methods, reason = "no event reports that a lock is dead")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

//! The files of a run on disk: its log folder, and the lock that keeps a second run out of the same worktree.

pub(crate) mod clean;
pub(crate) mod costs;
pub mod journal;
pub mod state_file;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::Timestamp;

use crate::clock::Stopwatch;
use crate::process::runs;
use crate::project::private_folder;
use crate::untrusted;

/// How the file with a verifier's raw output ends.
pub const VERIFIER_LOG: &str = ".verifier.ndjson";

/// How long a lock may outlive the run that took it. A program that a run was just starting when it was
/// killed holds all that the run held, until it has become that program.
const DYING: Duration = Duration::from_secs(3);

/// The longest text of a lock file.
const LONGEST: u64 = 1 << 10;

/// The lock on a worktree: held as long as the value lives, and given up by the system when the
/// process dies.
#[derive(Debug)]
pub struct WorktreeLock {
    file: File,
}

impl Drop for WorktreeLock {
    /// A program that is just being started has a copy of the file until it runs: closing ours would not
    /// be enough.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Why the worktree cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another run uses it.
    #[error("another run is active in this worktree (pid {pid})")]
    Held {
        /// Its process, if known.
        pid: String,
    },
    /// The lock file cannot be made.
    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl WorktreeLock {
    /// Takes the lock of a `.ralph/` folder, or returns its holder.
    pub fn take(folder: &Path) -> Result<Self, LockError> {
        let path = folder.join("run.lock");
        let failed = |source| LockError::Io { path: path.clone(), source };
        untrusted::refuse_foreign_state(folder)
            .map_err(|(path, source)| LockError::Io { path, source })?;
        private_folder(folder).map_err(failed)?;
        let mut file = untrusted::open_lock(&path).map_err(failed)?;
        let waited = Stopwatch::start();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    let pid = lock_holder(&path).unwrap_or_default();
                    if waited.elapsed() > DYING || pid.trim().parse().is_ok_and(runs) {
                        return Err(LockError::Held { pid: pid.trim().to_owned() });
                    }
                    pause();
                }
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        file.set_len(0).map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { file })
    }

    /// The process of the run that uses it, if there is one. Waits a moment for a lock that outlives its run.
    pub fn holder(folder: &Path) -> Option<String> {
        let path = folder.join("run.lock");
        let waited = Stopwatch::start();
        loop {
            let holder = Self::peek(&path).unwrap_or_default()?;
            let is_dead = holder.parse().is_ok_and(|pid| !runs(pid));
            if !is_dead || waited.elapsed() > DYING {
                return Some(holder);
            }
            pause();
        }
    }

    fn peek(path: &Path) -> io::Result<Option<String>> {
        let file = untrusted::open_own(path, OpenOptions::new().read(true))?;
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(lock_holder(path)?.trim().to_owned())),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// What a lock file says: the process that holds it.
fn lock_holder(path: &Path) -> io::Result<String> {
    let bytes = untrusted::read_own(path, LONGEST)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[expect(
    clippy::disallowed_methods,
    reason = "no event reports that a dead process releases its lock"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(2));
}

/// The files of one run.
#[derive(Debug, Clone)]
pub struct RunLogs {
    /// `session-YYYYMMDD-HHMMSS/`.
    pub folder: PathBuf,
    /// `session-YYYYMMDD-HHMMSS.log`, for users.
    pub readable: PathBuf,
}

impl RunLogs {
    /// Makes the folder of a run that starts now. Two runs in one second get two folders.
    pub fn create(logs: &Path, now: Timestamp) -> io::Result<Self> {
        private_folder(logs)?;
        let stamp = now.compact();
        for again in 1..1000 {
            let name = match again {
                1 => format!("session-{stamp}"),
                n => format!("session-{stamp}-{n}"),
            };
            let folder = logs.join(&name);
            match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {
                    let readable = logs.join(format!("{name}.log"));
                    return Ok(Self { folder, readable });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("a thousand runs in one second"))
    }

    /// `events.jsonl`.
    pub fn journal(&self) -> PathBuf {
        self.folder.join("events.jsonl")
    }

    /// A file of an iteration, such as `iteration-007.ndjson`.
    pub fn iteration(&self, iteration: u32, rest: &str) -> PathBuf {
        self.folder.join(format!("iteration-{iteration:03}{rest}"))
    }

    /// Where the raw output of the next session of an iteration goes. After a limit the same iteration
    /// has another session, and each has a file of its own: `iteration-007-2.ndjson`.
    pub fn raw(&self, iteration: u32) -> PathBuf {
        self.next(iteration, ".ndjson")
    }

    /// The same for a verifier's session: `iteration-007-2.verifier.ndjson`.
    pub fn verifier_raw(&self, iteration: u32) -> PathBuf {
        self.next(iteration, VERIFIER_LOG)
    }

    fn next(&self, iteration: u32, ending: &str) -> PathBuf {
        let names = (1..).map(|session| match session {
            1 => self.iteration(iteration, ending),
            n => self.iteration(iteration, &format!("-{n}{ending}")),
        });
        // The last one is never reached: there are not so many files.
        names.take(100_000).find(|path| !path.exists()).unwrap_or_else(|| self.folder.join("raw"))
    }

    /// Every run with a folder, oldest first.
    pub fn all(logs: &Path) -> io::Result<Vec<Self>> {
        let Some(entries) = untrusted::if_there(std::fs::read_dir(logs))? else {
            return Ok(vec![]);
        };
        let mut found: Vec<Self> = entries
            .filter_map(|entry| {
                let folder = entry.ok()?.path();
                let name = folder.file_name()?.to_str()?;
                let is_run = name.starts_with("session-") && folder.is_dir();
                let readable = logs.join(format!("{name}.log"));
                is_run.then(|| Self { folder: folder.clone(), readable })
            })
            .collect();
        found.sort_by(|a, b| a.folder.cmp(&b.folder));
        Ok(found)
    }

    /// Removes the oldest runs until at most `runs` and `bytes` are left; the newest always stays.
    pub fn prune(logs: &Path, runs: usize, bytes: u64) -> io::Result<usize> {
        let all = Self::all(logs)?;
        let sizes: Vec<u64> = all.iter().map(Self::size).collect();
        let mut total: u64 = sizes.iter().sum();
        let mut left = all.len();
        let mut removed = 0;
        for (run, size) in all.iter().zip(&sizes) {
            if left <= 1 || (left <= runs.max(1) && total <= bytes) {
                break;
            }
            std::fs::remove_dir_all(&run.folder)?;
            untrusted::if_there(std::fs::remove_file(&run.readable))?;
            left -= 1;
            total = total.saturating_sub(*size);
            removed += 1;
        }
        Ok(removed)
    }

    fn size(&self) -> u64 {
        let files = std::fs::read_dir(&self.folder).into_iter().flatten();
        let inside: u64 = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).sum();
        inside + std::fs::metadata(&self.readable).map_or(0, |file| file.len())
    }
}

/// Makes a file that only its owner may read, for appending.
pub fn private_file(path: &Path) -> io::Result<File> {
    untrusted::open_own(path, OpenOptions::new().create(true).append(true).mode(0o600))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that another process has locked, and what it says.
    fn held(folder: &Path, pid: u32) -> File {
        let path = folder.join("run.lock");
        std::fs::write(&path, format!("{pid}\n")).unwrap();
        let file = File::open(&path).unwrap();
        file.lock().unwrap();
        file
    }

    #[test]
    fn a_lock_that_outlives_its_run_by_a_moment_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let lock = held(folder.path(), u32::MAX);
        let clock = Stopwatch::start();
        let release = std::thread::spawn(move || {
            while clock.elapsed() < Duration::from_millis(50) {
                pause();
            }
            drop(lock);
        });
        WorktreeLock::take(folder.path()).unwrap();
        assert!(clock.elapsed() >= Duration::from_millis(50));
        release.join().unwrap();
        let output = std::fs::read_to_string(folder.path().join("run.lock")).unwrap();
        assert_eq!(output, format!("{}\n", std::process::id()));
    }

    #[test]
    fn a_lock_that_a_dead_run_is_about_to_give_up_has_no_holder() {
        let folder = tempfile::tempdir().unwrap();
        let lock = held(folder.path(), u32::MAX);
        let clock = Stopwatch::start();
        let release = std::thread::spawn(move || {
            while clock.elapsed() < Duration::from_millis(50) {
                pause();
            }
            drop(lock);
        });
        assert_eq!(WorktreeLock::holder(folder.path()), None);
        release.join().unwrap();
        let _lock = held(folder.path(), std::process::id());
        let ours = std::process::id().to_string();
        assert_eq!(WorktreeLock::holder(folder.path()), Some(ours));
    }

    #[test]
    fn a_lock_that_is_a_link_is_refused_and_what_it_leads_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let ralph = folder.path().join(".ralph");
        std::fs::create_dir(&ralph).unwrap();
        let precious = folder.path().join("precious");
        std::fs::write(&precious, "words").unwrap();
        std::os::unix::fs::symlink("../precious", ralph.join("run.lock")).unwrap();
        let error = WorktreeLock::take(&ralph).unwrap_err().to_string();
        assert!(error.contains("run.lock") && error.contains("link to ../precious"), "{error}");
        assert_eq!(WorktreeLock::holder(&ralph), None);
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "words");
        assert!(private_file(&ralph.join("run.lock")).is_err());
        std::fs::remove_file(ralph.join("run.lock")).unwrap();
        let held = WorktreeLock::take(&ralph).unwrap();
        assert_eq!(WorktreeLock::holder(&ralph), Some(std::process::id().to_string()));
        drop(held);
    }

    #[test]
    fn a_lock_of_a_living_run_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let _lock = held(folder.path(), std::process::id());
        let clock = Stopwatch::start();
        let error = WorktreeLock::take(folder.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("(pid {})", std::process::id())), "{error}");
        assert!(clock.elapsed() < DYING);
    }
}

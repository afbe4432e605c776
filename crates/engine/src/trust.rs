//! The trust ledger on disk, and what sessions do to deciding files: the files that decide what ralph runs.
//!
//! The ledger of a repository is one file in the user's state folder, next to the records of its runs: sandboxed
//! sessions cannot write it. It belongs to the git directory that all worktrees share. [`ralph_core::trust`] decides
//! which version counts; this module reads the files, keeps the ledger under a lock, and compares the deciding files
//! before and after each session.
//!
//! | file | owns |
//! |---|---|
//! | `sessions` | what a session changed, also where its run was killed |
//! | `mod` | the ledger on disk, versions of files, where a repository came from |

mod sessions;

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ralph_core::agents_md;
use ralph_core::trust::{AGENTS, Approval, Ledger, Version, cloned_from};

pub use sessions::{Deciding, FoundCommand, SessionWatch};

use crate::project::{Project, private_folder, sweep_halves, write_privately};
use crate::run_files::state_file;
use crate::untrusted::{self, if_there};
use crate::worktree_files;

/// The file of the ledger, in the folder of the repository's records.
const FILE: &str = "trust.json";
/// A process that changes the ledger holds a lock on this file.
const LOCK: &str = "trust.lock";
const LARGEST: u64 = 64 << 20;
/// How much of a reflog is read for its first line.
const FIRST_LINE: u64 = 4 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// Its folder; `None` for a user without a state folder, for whom nothing is kept.
    folder: Option<PathBuf>,
    /// Identifies the git directory, to tell it from another one at the same path.
    repository: String,
}

impl Trust {
    pub fn of(state_home: Option<&Path>, project: &Project) -> Self {
        Self {
            folder: state_home.map(|home| state_file::folder(home, project)),
            repository: identity(&project.git_dir),
        }
    }

    pub fn path(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(FILE))
    }

    /// Whether ralph can remember your decision.
    pub fn is_kept(&self) -> bool {
        self.folder.is_some()
    }

    /// The ledger as it is. An approval of another repository at the same path does not count; what sessions
    /// wrote does.
    pub fn read(&self) -> io::Result<Ledger> {
        let Some(path) = self.path() else { return Ok(self.empty()) };
        let Some(bytes) = if_there(untrusted::read_own(&path, LARGEST))? else {
            return Ok(self.empty());
        };
        let mut ledger: Ledger = serde_json::from_slice(&bytes).map_err(io::Error::other)?;
        if ledger.repository != self.repository {
            ledger.approval = Approval::Never;
            ledger.repository.clone_from(&self.repository);
        }
        Ok(ledger)
    }

    fn empty(&self) -> Ledger {
        Ledger { repository: self.repository.clone(), ..Ledger::default() }
    }

    /// Changes the ledger. No other process changes it meanwhile, and an unchanged ledger is not written.
    pub fn update<T>(&self, act: impl FnOnce(&mut Ledger) -> T) -> io::Result<T> {
        let Some(folder) = &self.folder else { return Ok(act(&mut self.empty())) };
        private_folder(folder)?;
        let lock = untrusted::open_lock(&folder.join(LOCK))?;
        lock.lock()?;
        let before = self.read()?;
        let mut ledger = before.clone();
        let done = act(&mut ledger);
        if ledger != before {
            let text = serde_json::to_string(&ledger).map_err(io::Error::other)?;
            let path = folder.join(FILE);
            // Temporary files that a killed ralph left; no other process writes now.
            sweep_halves(&path)?;
            write_privately(&path, &text)?;
        }
        Ok(done)
    }

    /// Records that you approve the repository, or withdraws it.
    pub fn set_approval(&self, approval: Approval) -> io::Result<()> {
        self.update(|ledger| ledger.approval = approval)
    }
}

/// Identifies a git directory, to tell it from another one at the same path. Device numbers change at a reboot,
/// so they do not count.
fn identity(git_dir: &Path) -> String {
    let Ok(found) = std::fs::metadata(git_dir) else { return String::new() };
    let made = found.created().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    let made = made.map(|since| since.as_nanos().to_string()).unwrap_or_default();
    format!("{}:{made}", found.ino())
}

/// Where a repository was cloned from; `None` for one that was created here.
pub fn clone_source(project: &Project) -> Option<String> {
    let path = project.git_dir.join("logs").join("HEAD");
    let opened = untrusted::open_own(&path, OpenOptions::new().read(true)).ok()?;
    let mut start = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(opened, FIRST_LINE), &mut start).ok()?;
    let start = String::from_utf8_lossy(&start).into_owned();
    cloned_from(start.lines().next().unwrap_or_default()).map(str::to_owned)
}

/// What a deciding file of a worktree says now. Of `AGENTS.md` that is the test command.
pub fn version(worktree: &Path, name: &str) -> Version {
    match if_there(worktree_files::read(worktree, Path::new(name), untrusted::SMALL)) {
        Ok(Some(bytes)) => version_of(name, bytes),
        Ok(None) => Version::Absent,
        Err(_) => Version::Unreadable,
    }
}

/// The deciding part of these bytes, in a file of this name.
pub(crate) fn version_of(name: &str, bytes: Vec<u8>) -> Version {
    if name == AGENTS {
        return Version::of(agents_md::test_command(&String::from_utf8_lossy(&bytes)));
    }
    String::from_utf8(bytes).map_or(Version::Unreadable, Version::Text)
}

/// The name of a deciding file: its way from the top of the worktree; `None` for one outside of it.
pub fn name_of(worktree: &Path, path: &Path) -> Option<String> {
    untrusted::below(worktree, path)?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;

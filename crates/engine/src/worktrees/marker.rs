//! The markers that ralph writes before it asks git for a worktree, and the lock of a branch.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use ralph_core::Timestamp;
use ralph_core::branch::BranchName;
use serde::{Deserialize, Serialize};

use crate::clock::{Stopwatch, now};
use crate::entropy::Ids;
use crate::git::folders::gone;
use crate::ports::WorktreeRefusal;
use crate::ports::{GitError, GitResult};
use crate::project::{Project, sweep_halves, without_dots, write_privately};
use crate::untrusted::{SMALL, open_own, read_own};

/// The longest lock file that is read: it holds a process id.
const LONGEST_PID: u64 = 64;

/// How far a worktree has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WorktreeStage {
    /// Git was asked for it, or is about to be.
    Making,
    /// Git has created it; its files and settings are being set up.
    Equipping,
    Made,
    /// Unsaved work is saved, and it is being removed.
    Removing,
}

/// A worktree of ralph's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    pub(super) branch: String,
    pub(super) path: PathBuf,
    pub(super) stage: WorktreeStage,
    /// The commit that was to be checked out.
    pub(super) base: String,
    /// Whether the branch was not there before.
    pub(super) new_branch: bool,
    /// Written into git's folder of the worktree too: what the user makes later in the same place does
    /// not have it.
    pub(super) token: String,
    /// The worktrees that git knew before, by the names of their folders.
    pub(super) before: Vec<String>,
    pub(super) at: Timestamp,
    pub(super) pid: u32,
    /// The settings that ralph made in it.
    #[serde(default)]
    pub(super) keys: Vec<String>,
    /// The setup command has succeeded in it.
    #[serde(default)]
    #[serde(rename = "set_up")]
    pub(super) setup_done: bool,
}

impl Marker {
    pub(super) fn new(branch: &BranchName, path: &Path, base: &str, before: Vec<String>) -> Self {
        let mut ids = Ids::new(None);
        Self {
            branch: branch.to_string(),
            path: path.to_owned(),
            stage: WorktreeStage::Making,
            base: base.to_owned(),
            new_branch: true,
            token: ids.hex() + &ids.hex(),
            before,
            at: now(),
            pid: std::process::id(),
            keys: vec![],
            setup_done: false,
        }
    }

    /// Whether ralph could have written it: a repository that came from elsewhere can bring markers along, and
    /// folders are removed by what they say.
    fn check(&self) -> Result<(), &'static str> {
        if !self.token.bytes().all(|byte| byte.is_ascii_hexdigit()) || self.token.is_empty() {
            return Err("its token is not from ralph");
        }
        let is_plain =
            |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        if !self.path.is_absolute() || !self.path.components().all(is_plain) {
            return Err("its path is not the path of a folder");
        }
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Markers {
    folder: PathBuf,
}

impl Markers {
    pub(super) fn of(project: &Project) -> Self {
        Self { folder: project.ralph_dir().join("worktrees") }
    }

    pub(super) fn file(&self, branch: &BranchName) -> PathBuf {
        self.folder.join(branch.file_name() + ".toml")
    }

    pub(super) fn read(&self, branch: &BranchName) -> GitResult<Option<Marker>> {
        read(&self.file(branch))
    }

    pub(super) fn write(&self, branch: &BranchName, marker: &Marker) -> GitResult<()> {
        let path = self.file(branch);
        let text = toml::to_string(marker).map_err(|error| WorktreeRefusal::Marker {
            path: path.clone(),
            why: error.to_string(),
        })?;
        write_privately(&path, &text).map_err(|source| GitError::File { path, source })
    }

    pub(super) fn forget(&self, branch: &BranchName) -> GitResult<()> {
        let path = self.file(branch);
        gone(std::fs::remove_file(&path)).map_err(|source| GitError::File { path, source })
    }

    /// Every marker with its branch, in the order of their names.
    pub(super) fn all(&self) -> GitResult<Vec<(BranchName, Marker)>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|ending| ending != "toml") {
                continue;
            }
            let Some(marker) = read(&path)? else { continue };
            let refusal = |why: String| WorktreeRefusal::Marker { path: path.clone(), why };
            let name =
                BranchName::new(&marker.branch).map_err(|error| refusal(error.to_string()))?;
            if self.file(&name) != path {
                return Err(refusal(format!("it is for branch {name}")).into());
            }
            found.push((name, marker));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// Takes the lock of a branch. Its holder may be a git whose ralph was killed: it inherited the lock, and
    /// ralph waits for it.
    pub(super) fn hold(&self, branch: &BranchName, most: Duration) -> GitResult<Hold> {
        let path = self.folder.join(branch.file_name() + ".lock");
        let waited = Stopwatch::start();
        loop {
            match Hold::try_take(&path) {
                Ok(Some(hold)) => {
                    // A process may have been killed while it wrote the marker.
                    let marker = self.folder.join(branch.file_name() + ".toml");
                    let _ = sweep_halves(&marker);
                    return Ok(hold);
                }
                Ok(None) if waited.elapsed() > most => {
                    let pid = read_own(&path, LONGEST_PID).unwrap_or_default();
                    let pid = String::from_utf8_lossy(&pid).trim().to_owned();
                    let branch = branch.to_string();
                    return Err(WorktreeRefusal::AtWork { branch, pid }.into());
                }
                Ok(None) => pause(),
                Err(source) => return Err(GitError::File { path, source }),
            }
        }
    }

    /// Whether there are markers, or locks or halves of some.
    pub(super) fn has_any(&self) -> bool {
        std::fs::read_dir(&self.folder).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Removes the locks and the half-written markers of branches without a marker, unless a process holds
    /// them.
    pub(super) fn sweep(&self) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let half = name.rfind(".toml.").map(|at| &name[..at]);
            let Some(of) = name.strip_suffix(".lock").or(half) else { continue };
            let marker = self.folder.join(format!("{of}.toml"));
            if marker.exists() {
                continue;
            }
            let Ok(Some(hold)) = Hold::try_take(&self.folder.join(format!("{of}.lock"))) else {
                continue;
            };
            // Another process may have created a worktree meanwhile.
            if !marker.exists() {
                let _ = sweep_halves(&marker);
                hold.give_up();
            }
        }
        self.tidy();
    }

    /// Removes the folder when nothing is left in it.
    pub(super) fn tidy(&self) {
        let _ = std::fs::remove_dir(&self.folder);
    }
}

fn read(path: &Path) -> GitResult<Option<Marker>> {
    let refusal = |why: String| WorktreeRefusal::Marker { path: path.to_owned(), why };
    let bytes = match read_own(path, SMALL) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Err(refusal(error.to_string()).into());
        }
        Err(source) => return Err(GitError::File { path: path.to_owned(), source }),
    };
    let mut marker: Marker =
        toml::from_slice(&bytes).map_err(|error| refusal(error.message().to_owned()))?;
    // Version 0.1 wrote `..` as the settings had it.
    marker.path = without_dots(&marker.path);
    marker.check().map_err(|why| refusal(why.to_owned()))?;
    Ok(Some(marker))
}

#[expect(
    clippy::disallowed_methods,
    reason = "no event reports that a dying git releases its lock"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}

/// The lock of a branch, held as long as the value lives, and by every git that was given it.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) file: File,
    path: PathBuf,
}

impl Hold {
    fn try_take(path: &Path) -> io::Result<Option<Self>> {
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = match open_own(path, &mut options) {
            Ok(file) => file,
            // The process that removed the last worktree has just removed the folder too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Its holder may have removed the lock file meanwhile.
        let same = std::fs::metadata(path).is_ok_and(|now| {
            file.metadata().is_ok_and(|mine| (mine.ino(), mine.dev()) == (now.ino(), now.dev()))
        });
        if !same {
            return Ok(None);
        }
        file.set_len(0)?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Some(Self { file, path: path.to_owned() }))
    }

    /// Removes the lock itself: the branch has no worktree any more.
    pub(super) fn give_up(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

//! The time when a session was last alive in the worktree. A killed run cannot say what its session left: changes
//! after that time are the user's. The stamp is a file next to the record of the workspace; its modification time is
//! the moment, and its text says whether a session was alive then.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::git::entries::{RepoPath, os_path};
use crate::ports::HEARTBEAT;
use crate::project::{Project, ProjectError};
use crate::untrusted::{SMALL, read_own};

/// How long after the last heartbeat a session that was killed with its run may have written.
const SLACK: Duration = HEARTBEAT.saturating_mul(2);

const RUNNING: &str = "running\n";
const ENDED: &str = "ended\n";

/// A session is alive, or no longer is. Losing this only loses information, so it fails silently.
pub(super) fn stamp(project: &Project, alive: bool) {
    let Ok(path) = stamp_path(project) else { return };
    let text = if alive { RUNNING } else { ENDED };
    let _ = fs::write(path, text);
}

fn stamp_path(project: &Project) -> Result<PathBuf, ProjectError> {
    Ok(project.own_git_dir()?.join("ralph-session"))
}

/// The last moment at which a session may have written; `None` where it is unknown.
pub(super) fn last_lived(project: &Project) -> Result<Option<SystemTime>, ProjectError> {
    let path = stamp_path(project)?;
    let (Ok(text), Ok(stamped)) =
        (read_own(&path, SMALL), fs::metadata(&path).and_then(|m| m.modified()))
    else {
        return Ok(None);
    };
    Ok(Some(if text == ENDED.as_bytes() { stamped } else { stamped + SLACK }))
}

/// Whether a file was written after the last session in the worktree ended or was killed. `false` where that is
/// unknown, and for a file that is gone.
pub fn written_since_session(project: &Project, path: &Path) -> bool {
    let Ok(Some(lived)) = last_lived(project) else { return false };
    let is_there = project.worktree.join(path).symlink_metadata().is_ok();
    is_there && changed_at(&project.worktree, &path.as_os_str().as_bytes().to_vec()) > lived
}

/// When the file at a path last changed. For a path that is gone, when its folder did.
pub(super) fn changed_at(worktree: &Path, path: &RepoPath) -> SystemTime {
    let path = worktree.join(os_path(path));
    if let Ok(found) = path.symlink_metadata() {
        return moment(found.ctime(), found.ctime_nsec());
    }
    let folder = path.ancestors().skip(1).find_map(|folder| folder.symlink_metadata().ok());
    folder.map_or(SystemTime::UNIX_EPOCH, |folder| moment(folder.mtime(), folder.mtime_nsec()))
}

fn moment(seconds: i64, nanoseconds: i64) -> SystemTime {
    let (seconds, nanoseconds) = (u64::try_from(seconds), u32::try_from(nanoseconds));
    let since = Duration::new(seconds.unwrap_or(0), nanoseconds.unwrap_or(0));
    SystemTime::UNIX_EPOCH + since
}

//! Reads git's own worktree folder from files: no git command reports half of what is there after a crash.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git::folders::{LONGEST, line_of, named_admin, plain};
use crate::git::{Git, GitResult};
use crate::project::Project;
use crate::untrusted::read_own;

/// The file that marks a worktree as ralph's.
pub(super) const TOKEN: &str = "ralph";

/// What git writes into the lock of a worktree that it is still making.
const INITIALIZING: &str = "initializing";

#[derive(Debug, Clone)]
pub(super) struct Admin {
    pub(super) folder: PathBuf,
    pub(super) name: OsString,
    /// Where the worktree is; `None` when git was killed before it wrote that.
    pub(super) worktree: Option<PathBuf>,
    pub(super) locked: Option<String>,
    pub(super) token: Option<String>,
}

impl Admin {
    pub(super) fn is_unfinished(&self) -> bool {
        self.locked.as_deref() == Some(INITIALIZING)
    }

    /// The reason of a lock that the user set.
    pub(super) fn locked_by_user(&self) -> Option<&str> {
        self.locked.as_deref().filter(|reason| *reason != INITIALIZING)
    }

    /// Whether it is none of these. Ours have names that are text.
    pub(super) fn is_new_since(&self, before: &[String]) -> bool {
        self.name.to_str().is_some_and(|name| before.iter().all(|known| known != name))
    }

    fn read(folder: &Path) -> Option<Self> {
        let name = folder.file_name()?.to_owned();
        let read = |file: &str| read_own(&folder.join(file), LONGEST).ok();
        let text = |file: &str| Some(String::from_utf8_lossy(&read(file)?).trim_end().to_owned());
        let worktree = read("gitdir").and_then(|bytes| {
            // Git may write it from the folder on.
            let file = folder.join(OsStr::from_bytes(line_of(&bytes)?));
            Some(plain(file.parent()?))
        });
        let locked = text("locked");
        let token = text(TOKEN).filter(|token| !token.is_empty());
        Some(Self { folder: folder.to_owned(), name, worktree, locked, token })
    }
}

/// Every folder that git keeps for a worktree.
pub(super) fn admins(project: &Project) -> Vec<Admin> {
    let entries = std::fs::read_dir(project.git_dir.join("worktrees")).into_iter().flatten();
    let folders = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    let mut found: Vec<Admin> = folders.filter_map(|folder| Admin::read(&folder)).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The worktree in which a branch is checked out.
pub(super) fn checked_out(project: &Project, branch: &str) -> GitResult<Option<PathBuf>> {
    let printed = Git::plumbing(&project.root, &["worktree", "list", "--porcelain", "-z"]).run()?;
    let wanted = format!("branch refs/heads/{branch}");
    let mut place = None;
    for field in printed.split(|byte| *byte == 0) {
        if let Some(path) = field.strip_prefix(b"worktree ") {
            place = Some(PathBuf::from(OsStr::from_bytes(path)));
        } else if field == wanted.as_bytes() {
            return Ok(place);
        }
    }
    Ok(None)
}

/// Whether the `.git` file of a worktree names this folder of git's.
pub(super) fn is_named_by(worktree: &Path, admin: &Admin) -> bool {
    named_admin(worktree).is_some_and(|named| named == plain(&admin.folder))
}

/// Whether there is nothing at all, or an empty folder.
pub(super) fn is_free(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => path.symlink_metadata().is_err(),
    }
}

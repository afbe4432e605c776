//! Folders of worktrees and git directories: which git directory a folder names, and how they are removed.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{GitError, GitResult};
use crate::untrusted::read_own;

/// The longest of these files that is read: each is a path, a reason or a token.
pub(crate) const LONGEST: u64 = 64 << 10;

/// The line without its end; `None` if there is nothing else.
pub(crate) fn line_of(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().rposition(|byte| *byte != b'\n')?;
    bytes.get(..=end)
}

/// A path without `..`, and without links as far as it is there.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    for there in path.ancestors() {
        if let Ok(real) = there.canonicalize() {
            return rest.into_iter().rev().fold(real, |path, part: &OsStr| path.join(part));
        }
        rest.extend(there.file_name());
    }
    path.to_owned()
}

/// The folder that the `.git` file of a worktree names; `None` when there is no such file.
pub(crate) fn named_admin(worktree: &Path) -> Option<PathBuf> {
    let bytes = read_own(&worktree.join(".git"), LONGEST).ok()?;
    let target = line_of(&bytes)?.strip_prefix(b"gitdir: ")?;
    Some(plain(&worktree.join(OsStr::from_bytes(target))))
}

/// What is not there, or no longer, need not be removed, moved or copied.
pub(crate) fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Removes a folder and all in it; links are removed, not followed. Tools leave folders that may not be
/// written, and those go too.
pub fn remove_tree(path: &Path) -> GitResult<()> {
    let removed = match gone(std::fs::remove_dir_all(path)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_folders(path);
            gone(std::fs::remove_dir_all(path))
        }
        other => other,
    };
    removed.map_err(|source| GitError::File { path: path.to_owned(), source })
}

fn open_folders(path: &Path) {
    let mut folders = vec![path.to_owned()];
    while let Some(next) = folders.pop() {
        let _ = std::fs::set_permissions(&next, std::fs::Permissions::from_mode(0o700));
        let entries = std::fs::read_dir(&next).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.extend(below.map(|entry| entry.path()));
    }
}

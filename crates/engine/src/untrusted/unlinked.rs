//! Files that ralph writes in a worktree, such as the plan: ralph follows no link on the way to them, neither when
//! it reads nor when it writes them, and it names the link so that the user finds it.

use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::{bytes, open_below, open_error, regular};

#[derive(Debug)]
pub enum Unlinked {
    File(Vec<u8>),
    /// A link, here and to there.
    Link(PathBuf, PathBuf),
    Other,
}

/// Reads a file below a folder without following any link.
pub fn read_unlinked(root: &Path, path: &Path, most: u64) -> io::Result<Unlinked> {
    if path.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(io::Error::other("it is not inside the repository"));
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open(root, flags, Mode::empty())?;
    match open_below(&folder, path) {
        Ok(found) => match regular(found) {
            Ok(file) => bytes(file, most).map(Unlinked::File),
            Err(_) => Ok(Unlinked::Other),
        },
        // A folder that is a link is said to be no folder.
        Err(error @ (Errno::LOOP | Errno::NOTDIR | Errno::MLINK)) => match refuse_links(root, path)
        {
            Err((link, target)) => Ok(Unlinked::Link(link, target)),
            Ok(()) => Err(error.into()),
        },
        Err(Errno::NXIO) => Ok(Unlinked::Other),
        Err(error) => Err(open_error(error)),
    }
}

/// Refuses a place that can be reached only through a link, or is one. What is not there is no link.
pub fn refuse_links(root: &Path, path: &Path) -> Result<(), (PathBuf, PathBuf)> {
    let mut seen = root.to_owned();
    for part in path.components() {
        seen.push(part);
        if let Ok(target) = std::fs::read_link(&seen) {
            return Err((seen, target));
        }
    }
    Ok(())
}

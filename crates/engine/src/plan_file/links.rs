//! A plan is a file of its repository: no link is followed on the way to it, neither when it is read nor when
//! it is written. A session could have made one, and would have ralph read or write the file it leads to.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, open, openat};
use rustix::io::Errno;

/// What is at the end of a path.
#[derive(Debug)]
pub(super) enum Opened {
    /// A file, open for reading.
    File(File),
    /// A link, here and to there.
    Link(PathBuf, PathBuf),
    /// A folder, a device or a pipe.
    Other,
}

/// Opens a file below a folder without following a link.
pub(super) fn open_below(root: &Path, path: &Path) -> io::Result<Opened> {
    let mut folder: OwnedFd =
        open(root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut seen = root.to_owned();
    let parts: Vec<_> = path.components().collect();
    for (at, part) in parts.iter().enumerate() {
        let Component::Normal(name) = part else {
            return Err(io::Error::other("it is not below the folder of the repository"));
        };
        seen.push(name);
        let is_last = at + 1 == parts.len();
        let kind = if is_last { OFlags::NONBLOCK } else { OFlags::DIRECTORY };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
        folder = match openat(&folder, *name, flags, Mode::empty()) {
            Ok(next) => next,
            // A folder that is a link is said to be no folder.
            Err(error @ (Errno::LOOP | Errno::NOTDIR | Errno::MLINK)) => {
                return match std::fs::read_link(&seen) {
                    Ok(target) => Ok(Opened::Link(seen, target)),
                    Err(_) => Err(error.into()),
                };
            }
            Err(error) => return Err(error.into()),
        };
    }
    let file = File::from(folder);
    Ok(if file.metadata()?.is_file() { Opened::File(file) } else { Opened::Other })
}

/// Refuses a place that can be reached only through a link, or is one. What is not there is no link.
pub(super) fn refuse_links(root: &Path, path: &Path) -> Result<(), (PathBuf, PathBuf)> {
    let mut seen = root.to_owned();
    for part in path.components() {
        seen.push(part);
        if let Ok(target) = std::fs::read_link(&seen) {
            return Err((seen, target));
        }
    }
    Ok(())
}

/// The bytes of a file that is no link.
pub(super) fn read_plainly(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut bytes = Vec::new();
    File::from(openat(CWD, path, flags, Mode::empty())?).read_to_end(&mut bytes)?;
    Ok(bytes)
}

//! Reads files that a session could have written: prompts, settings, `AGENTS.md`, skills, specs and ralph's own
//! state below `.ralph`. Nothing else in ralph may open such a file.
//!
//! Such a file can be anything: a link to a file that sessions may not read, a pipe that never ends, a gigabyte of
//! text. So this module opens a file from its worktree's folder without following links and without blocking, reads
//! only regular files, and only up to a limit. It follows a link only if the link is committed as it is and points
//! to a regular file of the same worktree outside `.git` and `.ralph`.
//!
//! This module knows no file by its purpose, and no repository: callers say where a file is, how large it may be, and
//! which links are committed.

mod own;
mod remembered;
mod unlinked;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;

use crate::kept::is_state;

pub(crate) use own::{BESIDE, open_lock, refuse_irregular};
pub use own::{open_own, other_owner, read_own, refuse_foreign_state};
pub use remembered::Remembered;
pub use unlinked::{Unlinked, read_unlinked, refuse_links};

/// The largest prompt, settings file or `AGENTS.md`.
pub const SMALL: u64 = 1 << 20;

/// The largest spec, plan or other document.
pub const DOCUMENT: u64 = 16 << 20;

/// The largest file of a git directory: the packed refs of a large repository.
pub const LARGE: u64 = 256 << 20;

/// No limit, for files that are only compared.
pub const ANY: u64 = u64::MAX - 1;

/// How many links may follow each other on the way to a file.
const MOST_LINKS: usize = 8;

/// `None` where there is no such file.
pub(crate) fn if_there<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}

/// Reads a file and follows links to it, as git and the user's programs do: for git's own files, and for files that the
/// user named outside the worktree. Files of a worktree are for `worktree_files`.
pub fn read_through_links(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let path = &std::path::absolute(path)?;
    // What the user's shell has open for us, as in `ralph prompt <(make-prompt)`: its end will come.
    if path.starts_with("/dev/fd") || path == Path::new("/dev/stdin") {
        return bytes(File::open(path)?, most);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = regular(open(path, flags, Mode::empty()).map_err(open_error)?)?;
    bytes(file, most)
}

/// Whether a path leads out of a worktree by its words alone.
pub fn is_outside(root: &Path, path: &Path) -> bool {
    below(root, path).is_none()
}

pub(crate) fn within(root: &Path, path: &Path) -> io::Result<PathBuf> {
    below(root, path).ok_or_else(|| refusal("it is outside the repository"))
}

/// The file behind a path of the worktree `root`, open for reading; a regular one. `is_committed` says whether a link is
/// committed with this target.
pub(crate) fn open_file(
    root: &Path,
    path: &Path,
    is_committed: impl Fn(&Path, &Path) -> bool,
) -> io::Result<File> {
    let path = within(root, path)?;
    if path.as_os_str().is_empty() {
        return Err(refusal("it is a folder, not a regular file"));
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open(root, flags, Mode::empty())?;
    match open_below(&folder, &path) {
        Ok(found) => regular(found),
        // A folder that is a link is said to be no folder.
        Err(error @ (Errno::LOOP | Errno::NOTDIR | Errno::MLINK)) => {
            let real = resolve(root, &path, is_committed)?;
            if real == path {
                return Err(error.into());
            }
            refuse_private(&real)?;
            if real.starts_with(".ralph") {
                return Err(refusal(
                    "it is a symbolic link into .ralph; replace it with a regular file",
                ));
            }
            regular(open_below(&folder, &real).map_err(open_error)?)
        }
        Err(error) => Err(open_error(error)),
    }
}

/// The way from the worktree to a path, without `.` and `..`; `None` if it leads elsewhere.
pub(crate) fn below(root: &Path, path: &Path) -> Option<PathBuf> {
    let rest = match path.is_absolute() {
        false => path,
        true => match path.strip_prefix(root) {
            Ok(rest) => rest,
            // The same folder by another name.
            Err(_) => {
                let is_root = |folder: &&Path| folder.canonicalize().is_ok_and(|real| real == root);
                path.strip_prefix(path.ancestors().skip(1).find(is_root)?).ok()?
            }
        },
    };
    let mut way = PathBuf::new();
    for part in rest.components() {
        match part {
            Component::Normal(name) => way.push(name),
            Component::CurDir => {}
            Component::ParentDir if way.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(way)
}

/// Refuses git's own files and ralph's state: they hold what no prompt may show.
pub(crate) fn refuse_private(path: &Path) -> io::Result<()> {
    let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    if path.components().any(is_git) {
        return Err(refusal("it is in .git; name a file in the worktree"));
    }
    if is_state(path.as_os_str().as_bytes()) {
        return Err(refusal("it is part of ralph's own state; name a file in the worktree"));
    }
    Ok(())
}

/// Opens what is at the end of a path, without waiting for it and without following any link.
fn open_below(folder: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let within =
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        match openat2(folder, path, flags, Mode::empty(), within) {
            // An old kernel, or a container that does not know the call.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::AGAIN) => {}
            opened => return opened,
        }
    }
    open_stepwise(folder, path, flags)
}

/// The same, one folder after the other.
fn open_stepwise(folder: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut at: Option<OwnedFd> = None;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let kind = if parts.peek().is_some() { OFlags::DIRECTORY } else { OFlags::empty() };
        let name = part.as_os_str();
        let next = openat(
            at.as_ref().unwrap_or(folder),
            name,
            flags | kind | OFlags::NOFOLLOW,
            Mode::empty(),
        )?;
        at = Some(next);
    }
    at.ok_or(Errno::ISDIR)
}

/// Where a path leads, each link of it committed as it is.
fn resolve(
    root: &Path,
    path: &Path,
    is_committed: impl Fn(&Path, &Path) -> bool,
) -> io::Result<PathBuf> {
    let mut ahead: VecDeque<OsString> = path.iter().map(ToOwned::to_owned).collect();
    let mut way = PathBuf::new();
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            // The way so far has no link in it: one step back is the folder above.
            if !way.pop() {
                return Err(refusal("it is a symbolic link that points outside the repository"));
            }
            continue;
        }
        way.push(name);
        let Ok(target) = std::fs::read_link(root.join(&way)) else { continue };
        links += 1;
        if links > MOST_LINKS {
            return Err(refusal(format!(
                "its path goes through more than {MOST_LINKS} symbolic links"
            )));
        }
        let shown = target.display();
        let leads_out = || {
            refusal(format!("it is a symbolic link to {shown}, which is outside the repository"))
        };
        let beneath = match target.is_absolute() {
            true => target.strip_prefix(root).map_err(|_| leads_out())?,
            false => target.as_path(),
        };
        let from = if target.is_absolute() {
            Path::new("")
        } else {
            way.parent().unwrap_or(Path::new(""))
        };
        if below(Path::new("/"), &Path::new("/").join(from).join(beneath)).is_none() {
            return Err(leads_out());
        }
        if !is_committed(&way, &target) {
            let why = format!(
                "it is a symbolic link to {shown} that is not committed; commit the link, or \
                 replace it with a regular file"
            );
            return Err(refusal(why));
        }
        let parts = beneath.components().filter(|part| *part != Component::CurDir);
        for part in parts.rev() {
            ahead.push_front(part.as_os_str().to_owned());
        }
        way = from.to_owned();
    }
    Ok(way)
}

fn regular(found: OwnedFd) -> io::Result<File> {
    let file = File::from(found);
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(file);
    }
    Err(refusal(match kind {
        _ if kind.is_dir() => "it is a folder, not a regular file",
        _ if kind.is_fifo() => "it is a pipe, not a regular file",
        _ => "it is not a regular file",
    }))
}

pub(crate) fn bytes(file: File, most: u64) -> io::Result<Vec<u8>> {
    let too_large = || {
        let limit = if most >= 1 << 20 {
            format!("{} MiB", most >> 20)
        } else {
            format!("{} KiB", most >> 10)
        };
        refusal(format!("it is larger than {limit}"))
    };
    if file.metadata()?.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most { Err(too_large()) } else { Ok(bytes) }
}

fn open_error(error: Errno) -> io::Error {
    match error {
        // A socket.
        Errno::NXIO | Errno::OPNOTSUPP => refusal("it is not a regular file"),
        error => error.into(),
    }
}

fn refusal(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.into())
}

#[cfg(test)]
mod tests;

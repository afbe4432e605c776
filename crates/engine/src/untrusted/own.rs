//! ralph's own files below `.ralph`: locks, the record of a run, logs. A repository that came from elsewhere can
//! contain them, and a session can replace them with links, so ralph opens none of them through a link.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{SMALL, bytes, read_through_links, refusal};
use crate::kept::STATE;

/// What SQLite and ralph keep beside a task database.
pub(crate) const BESIDE: [&str; 4] = ["-lock", "-wal", "-shm", "-journal"];

/// The users that the system knows by itself.
const USERS: &str = "/etc/passwd";

/// Opens a file of ralph's own, with `options`. It refuses links and does not wait for pipes.
pub fn open_own(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let opened = options.custom_flags(i32::try_from(flags).unwrap_or_default()).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) => {
            refuse_link(path)?;
            return Err(error);
        }
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(refusal("it is not a regular file")) }
}

/// Opens a file of ralph's own that is there to be locked, or makes it; no other user can read it.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open_own(path, options.read(true).write(true).create(true).truncate(false).mode(0o600))
}

/// The bytes of a file of ralph's own, at most `most`.
pub fn read_own(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bytes(open_own(path, OpenOptions::new().read(true))?, most)
}

/// Refuses a `.ralph` that is not a folder, that belongs to another user, or that has a link in place of a part
/// of ralph's state. Says which path it is.
pub fn refuse_foreign_state(folder: &Path) -> Result<(), (PathBuf, io::Error)> {
    refuse_foreign_folder(folder).map_err(|error| (folder.to_owned(), error))?;
    let beside = BESIDE.into_iter().map(|ending| format!("progress.db{ending}"));
    let names = STATE.into_iter().map(ToOwned::to_owned).chain(beside);
    for path in names.map(|name| folder.join(name)) {
        refuse_link(&path).map_err(|error| (path, error))?;
    }
    Ok(())
}

/// A folder is ours if it belongs to us, to the owner of the folder around it, whom git has checked, or to the
/// system's administrator. One that is not there yet will be ours.
fn refuse_foreign_folder(folder: &Path) -> io::Result<()> {
    refuse_link(folder)?;
    let Ok(found) = std::fs::symlink_metadata(folder) else { return Ok(()) };
    if !found.is_dir() {
        return Err(refusal("it is not a folder"));
    }
    match other_owner(folder) {
        None => Ok(()),
        Some(owner) => Err(refusal(format!("it belongs to {owner}, not to you"))),
    }
}

/// The owner of a folder that is not ours to use: the name, or `uid` and the number where it has none here.
pub fn other_owner(folder: &Path) -> Option<String> {
    let owner = std::fs::symlink_metadata(folder).ok()?.uid();
    let around = folder.parent().and_then(|around| std::fs::metadata(around).ok());
    let ours = rustix::process::geteuid().as_raw();
    let may_own = owner == ours || owner == 0 || around.is_some_and(|around| around.uid() == owner);
    let named = || {
        let users = read_through_links(Path::new(USERS), SMALL).unwrap_or_default();
        user_named(&String::from_utf8_lossy(&users), owner).unwrap_or(format!("uid {owner}"))
    };
    (!may_own).then(named)
}

fn user_named(users: &str, uid: u32) -> Option<String> {
    let mut lines = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = lines.find(|fields| fields.get(2).is_some_and(|id| id.parse() == Ok(uid)))?;
    found.first().filter(|name| !name.is_empty()).map(|name| (*name).to_owned())
}

/// Refuses a file that is there and is a link, a pipe or anything else but a regular file.
pub(crate) fn refuse_irregular(path: &Path) -> io::Result<()> {
    refuse_link(path)?;
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => Err(refusal("it is not a regular file")),
        _ => Ok(()),
    }
}

fn refuse_link(path: &Path) -> io::Result<()> {
    match std::fs::read_link(path) {
        Ok(target) => Err(refusal(format!(
            "it is a symbolic link to {}; ralph does not write through links: remove it",
            target.display()
        ))),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n:x:7:\n";
        assert_eq!(user_named(users, 1000).as_deref(), Some("ada"));
        assert_eq!(user_named(users, 7), None);
        assert_eq!(user_named(users, 12345), None);
    }
}

//! ralph's own files below `.ralph`: locks, the record of a run, logs. A repository that came from elsewhere
//! can bring them along, and a session can put links in their place, so none is opened through a link.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{bytes, refusal};
use crate::kept::STATE;

/// What SQLite keeps beside the task database.
const BESIDE: [&str; 3] = ["progress.db-lock", "progress.db-wal", "progress.db-shm"];

/// Opens a file of ralph's own, with `options`. A link is refused, and a pipe is not waited for.
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

/// The bytes of a file of ralph's own, at most `most`.
pub fn read_own(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bytes(open_own(path, OpenOptions::new().read(true))?, most)
}

/// Refuses a `.ralph` folder that is a link, or in which a link stands for a part of ralph's state.
/// Says which one.
pub fn refuse_linked_state(folder: &Path) -> Result<(), (PathBuf, io::Error)> {
    let inside = STATE.into_iter().chain(BESIDE).map(|name| folder.join(name));
    for path in std::iter::once(folder.to_owned()).chain(inside) {
        refuse_link(&path).map_err(|error| (path, error))?;
    }
    Ok(())
}

fn refuse_link(path: &Path) -> io::Result<()> {
    match std::fs::read_link(path) {
        Ok(target) => Err(refusal(format!(
            "it is a symbolic link to {}; ralph writes through no link: remove it",
            target.display()
        ))),
        Err(_) => Ok(()),
    }
}

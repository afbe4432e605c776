//! The free space of a disk.

use std::io;
use std::path::Path;

pub fn free(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

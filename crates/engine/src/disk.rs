//! The free space of a disk.

use std::io;
use std::path::Path;

/// The bytes that we may still write on the file system of `path`.
pub fn free(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

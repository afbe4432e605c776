//! Removes set-user-ID and set-group-ID bits from files that a sandboxed program left: whoever runs such a file
//! gets the rights of the user who runs ralph. The system call filter refuses to set these bits; this module
//! removes those that were set anyway, before the next program runs. Folders keep theirs: there the bits only pass
//! on a group.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ralph_core::Timestamp;

use crate::project::is_folder;

/// Both bits.
const BITS: u32 = 0o6000;
/// A file may carry a time that is a little older than the clock's.
const COARSE: i64 = 1000;

/// Removes the bits from files in these folders that changed since then, and reports each file.
pub(super) fn strip(folders: &[PathBuf], since: Timestamp) -> Vec<String> {
    let mut output = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().filter(|path| is_folder(path)).cloned().collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                open.push(entry.path());
                continue;
            }
            let changed = found.ctime().saturating_mul(1000) + found.ctime_nsec() / 1_000_000;
            let is_new = changed + COARSE >= since.as_millis();
            if found.is_file() && found.mode() & BITS != 0 && is_new {
                output.push(stripped(&entry.path(), found.mode()));
            }
        }
    }
    output
}

fn stripped(path: &Path, mode: u32) -> String {
    let without = Permissions::from_mode(mode & 0o7777 & !BITS);
    let path_shown = path.display();
    match fs::set_permissions(path, without) {
        Ok(()) => format!("ralph removed the set-user-ID and set-group-ID bits of {path_shown}"),
        Err(error) => format!(
            "anybody can run {path_shown} with your rights, and ralph cannot change that: {error}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_lose_the_bits_and_folders_and_old_files_keep_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("deep/shared")).unwrap();
        for (name, mode) in [("user", 0o4755), ("deep/group", 0o2755), ("plain", 0o755)] {
            fs::write(root.join(name), "x").unwrap();
            fs::set_permissions(root.join(name), Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(root.join("deep/shared"), Permissions::from_mode(0o2775)).unwrap();
        std::os::unix::fs::symlink("/usr/bin/passwd", root.join("link")).unwrap();
        let mode = |name: &str| fs::metadata(root.join(name)).unwrap().mode() & 0o7777;
        let later = Timestamp::from_millis(i64::MAX / 2);
        assert!(strip(&[root.to_owned()], later).is_empty());
        assert_eq!(mode("user"), 0o4755);
        let output = strip(&[root.to_owned(), root.join("not there")], Timestamp::from_millis(0));
        assert_eq!(output.len(), 2, "{output:?}");
        let modes = ["user", "deep/group", "plain", "deep/shared"].map(mode);
        assert_eq!(modes, [0o755, 0o755, 0o755, 0o2775]);
    }
}

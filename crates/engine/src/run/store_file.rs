//! Checks that the task database that the run has open is still the file at its path.
//!
//! An open database keeps working after its file was removed (`git clean -fdx`) or replaced: nobody sees what the
//! run writes then, and the next process that opens the path finds an empty plan. So ralph compares the file by
//! device and inode before it reads the plan and before it writes an outcome. An open file keeps its inode, so a new
//! one never has the same.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ralph_core::run::Port;

use super::ports::Failed;

/// The file of the task database, as it was when the run opened it.
#[derive(Debug)]
pub(super) struct StoreFile {
    path: PathBuf,
    opened: Option<(u64, u64)>,
}

impl StoreFile {
    /// The file at the path, now. Stores that are not files are never missed.
    pub(super) fn opened(path: &Path) -> Self {
        Self { path: path.to_owned(), opened: identity(path) }
    }

    /// Fails for good when the file is gone or is another one.
    pub(super) fn check(&self) -> Result<(), Failed> {
        let there = identity(&self.path);
        if self.opened.is_none() || self.opened == there {
            return Ok(());
        }
        let what = if there.is_none() { "removed" } else { "replaced by another file" };
        let error = format!(
            "the task database {} was {what} while the run was using it; what the run wrote since is lost. \
             Restore the file, or import the plan again (ralph import FILE)",
            self.path.display()
        );
        Err(Failed::new(Port::Store, error, true))
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_database_that_was_removed_or_replaced_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.db");
        StoreFile::opened(&path).check().unwrap();
        let open = std::fs::File::create(&path).unwrap();
        let file = StoreFile::opened(&path);
        file.check().unwrap();
        std::fs::remove_file(&path).unwrap();
        let gone = file.check().unwrap_err();
        assert!(gone.for_good && gone.error.contains("was removed while the run"), "{gone:?}");
        std::fs::write(&path, "").unwrap();
        let other = file.check().unwrap_err();
        assert!(other.error.contains("was replaced by another file"), "{other:?}");
        drop(open);
    }
}

//! What the file system says about every file of a worktree. As long as it says the same, the files are the same,
//! and ralph need not read them again.
//!
//! No program can choose the change time of a file, so a change that restores size and modification time shows. A
//! change within the same tick of the clock would not: [`Fingerprint::holds_since`] rules that out.

use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ralph_core::Timestamp;

/// The longest tick of the clock that file systems use, in milliseconds.
const TICK: i64 = 10;
/// Beyond this many files, asking git is faster.
const MOST: usize = 4_000;

/// What tells one state of a file from another: device, inode, size, and when it was written and changed.
pub(crate) type Stamp = [i64; 7];

pub(crate) fn stamp_of(found: &Metadata) -> Stamp {
    [
        found.dev().cast_signed(),
        found.ino().cast_signed(),
        found.size().cast_signed(),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ]
}

/// When a file changed last, in milliseconds.
pub(crate) const fn changed_at([.., seconds, nanoseconds]: Stamp) -> i64 {
    seconds.saturating_mul(1000).saturating_add(nanoseconds / 1_000_000)
}

/// All files of a worktree, and others that matter to how git reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprint(Vec<(PathBuf, Option<Stamp>)>);

impl Fingerprint {
    /// That of a worktree without the paths that `is_state` knows; `None` where there are too many files, or
    /// repositories whose commits are elsewhere.
    pub(crate) fn of(
        worktree: &Path,
        is_state: impl Fn(&[u8]) -> bool,
        others: impl IntoIterator<Item = PathBuf>,
    ) -> Option<Self> {
        let mut found: Vec<(PathBuf, Option<Stamp>)> = others
            .into_iter()
            .map(|path| {
                let stamp = path.metadata().ok().map(|found| stamp_of(&found));
                (path, stamp)
            })
            .collect();
        // A file that goes leaves its trace in its folder.
        found.push((worktree.to_owned(), Some(stamp_of(&worktree.metadata().ok()?))));
        let mut folders = vec![worktree.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).ok()? {
                let path = entry.ok()?.path();
                let inside = path.strip_prefix(worktree).ok()?;
                if inside == Path::new(".git") || is_state(inside.as_os_str().as_bytes()) {
                    continue;
                }
                let about = path.symlink_metadata().ok()?;
                // A submodule: its HEAD is in the git directory of the repository.
                if found.len() >= MOST || (path.ends_with(".git") && !about.is_dir()) {
                    return None;
                }
                // Ralph's own files come and go there.
                let stamp = (inside != Path::new(".ralph")).then(|| stamp_of(&about));
                if about.is_dir() {
                    folders.push(path.clone());
                }
                found.push((path, stamp));
            }
        }
        found.sort();
        Some(Self(found))
    }

    /// Whether nothing has changed since then: whatever changes later gets another time.
    pub(crate) fn holds_since(&self, then: Timestamp) -> bool {
        let stamps = self.0.iter().filter_map(|(_, stamp)| *stamp);
        stamps.map(changed_at).all(|changed| changed.saturating_add(TICK) < then.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, FileTimes};

    use super::*;

    fn of(folder: &Path) -> Option<Fingerprint> {
        Fingerprint::of(folder, |path| path == b".ralph/logs", [])
    }

    #[test]
    fn every_change_of_a_file_shows_and_those_of_ralphs_own_files_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("deep/er")).unwrap();
        fs::create_dir_all(path(".git")).unwrap();
        fs::create_dir_all(path(".ralph/logs")).unwrap();
        fs::write(path("deep/er/a"), "one").unwrap();
        let before = of(folder.path()).unwrap();
        assert!(!before.holds_since(Timestamp::from_millis(0)));
        assert!(before.holds_since(Timestamp::from_millis(i64::MAX / 2)));
        fs::write(path(".git/HEAD"), "x").unwrap();
        fs::write(path(".ralph/logs/x"), "x").unwrap();
        assert_eq!(of(folder.path()).unwrap(), before);
        let modified = path("deep/er/a").metadata().unwrap().modified().unwrap();
        fs::write(path("deep/er/a"), "two").unwrap();
        let file = File::options().write(true).open(path("deep/er/a")).unwrap();
        file.set_times(FileTimes::new().set_modified(modified)).unwrap();
        let after = of(folder.path()).unwrap();
        assert_ne!(after, before);
        fs::write(path(".ralph/plan.md"), "x").unwrap();
        assert_ne!(of(folder.path()).unwrap(), after);
        fs::create_dir(path("module")).unwrap();
        fs::write(path("module/.git"), "gitdir: ../.git/modules/module").unwrap();
        assert_eq!(of(folder.path()), None);
    }
}

//! The installed git version, and the oldest one that ralph supports.

use std::path::Path;

use super::{GitError, GitResult, git};
use crate::ports::Version;

/// The oldest git that will do. `merge-tree --write-tree` came with 2.38, by which work is put on top of what
/// has landed; `worktree list --porcelain -z` (2.36), by which a branch that is checked out elsewhere is
/// found, the settings by the environment (2.31) and `rev-parse --end-of-options`
/// (2.30), which keeps names from being read as options, are older.
pub const FLOOR: Version = Version { major: 2, minor: 38 };

/// Git's version text, and its numbers where it has them.
pub fn version() -> GitResult<(String, Option<Version>)> {
    let text = git(Path::new("/"), &["--version"])?;
    let output = text.trim().strip_prefix("git version ").unwrap_or(&text).trim().to_owned();
    let found = numbers(&output);
    Ok((output, found))
}

/// Refuses a git that is too old. An unknown version is accepted.
pub fn check_version() -> GitResult<()> {
    match version()? {
        (found, Some(number)) if number < FLOOR => Err(GitError::TooOld { found, floor: FLOOR }),
        _ => Ok(()),
    }
}

/// Reads a line as that with the version.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn fuzz(line: &str) {
    let _ = numbers(line);
}

fn numbers(text: &str) -> Option<Version> {
    let mut numbers = text.split(['.', ' ', '-']).map_while(|part| part.parse::<u32>().ok());
    let (major, minor) = numbers.next().zip(numbers.next())?;
    Some(Version { major, minor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_gits_print_them() {
        for (text, good) in [
            ("2.47.3", Some(true)),
            ("2.38.0", Some(true)),
            ("2.39.3 (Apple Git-146)", Some(true)),
            ("3.0-rc1", Some(true)),
            ("2.35.9", Some(false)),
            ("1.99.1", Some(false)),
            ("gut", None),
            ("", None),
        ] {
            assert_eq!(numbers(text).map(|found| found >= FLOOR), good, "{text}");
        }
        assert_eq!(FLOOR.to_string(), "2.38");
    }
}

//! Which session of a cassette comes next: a number in the file `CASSETTE.cursor` next to it. It survives restarts,
//! and two players that start at once take two sessions.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// The file that says which session of a cassette comes next.
pub fn path_of(cassette: &Path) -> PathBuf {
    let mut name = OsString::from(cassette);
    name.push(".cursor");
    PathBuf::from(name)
}

/// Takes the next of `count` sessions: its number from 0, or `None` after the last.
pub(super) fn take(path: &Path, count: usize) -> io::Result<Option<usize>> {
    let mut file: File =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    // Held until the file is closed.
    flock(&file, FlockOperation::LockExclusive)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let taken: usize = match text.trim() {
        "" => 0,
        number => number.parse().map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidData, "it does not contain a number")
        })?,
    };
    if taken >= count {
        return Ok(None);
    }
    // As long as before, in one write: a crash leaves the old number or the new one.
    file.write_all_at(format!("{:010}\n", taken + 1).as_bytes(), 0)?;
    Ok(Some(taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_takes_the_next_session() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_of(&folder.path().join("demo.jsonl"));
        assert!(path.ends_with("demo.jsonl.cursor"));
        let taken: Vec<_> = (0..5).map(|_| take(&path, 3).unwrap()).collect();
        assert_eq!(taken, [Some(0), Some(1), Some(2), None, None]);
        // A longer cassette continues where the shorter one ended.
        assert_eq!(take(&path, 4).unwrap(), Some(3));
        std::fs::write(&path, "many").unwrap();
        assert!(take(&path, 4).unwrap_err().to_string().contains("number"));
    }

    #[test]
    fn players_that_start_together_take_different_sessions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cursor");
        let mut taken: Vec<usize> = std::thread::scope(|scope| {
            let players: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| (0..25).map(|_| take(&path, 200).unwrap().unwrap()).collect())
                })
                .collect();
            players
                .into_iter()
                .flat_map(|player| -> Vec<usize> { player.join().unwrap() })
                .collect()
        });
        taken.sort_unstable();
        assert_eq!(taken, (0..200).collect::<Vec<_>>());
    }
}

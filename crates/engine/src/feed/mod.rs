//! The journal of a run: written here, and followed by any number of readers.
//!
//! | file | owns |
//! |---|---|
//! | `mod` | the writing end |
//! | [`live`] | the stream of the run for readers: facts from the file, output of agents from memory |

pub mod live;

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ralph_core::run::RunEvent;

/// The writing end of a journal.
#[derive(Debug)]
pub struct Feed {
    path: PathBuf,
    file: File,
    /// The last write broke off: the next one starts a line of its own.
    torn: bool,
}

impl Feed {
    /// Opens the journal, or creates it. Only its owner may read it. Existing content stays; an incomplete line
    /// is closed.
    pub fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            crate::project::private_folder(folder)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let mut file = crate::untrusted::open_own(path, &mut options)?;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        let torn = file.seek(SeekFrom::End(0))? > 0 && {
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            BufReader::new(&file).read_exact(&mut last)?;
            last != *b"\n"
        };
        Ok(Self { path: path.to_owned(), file, torn })
    }

    /// Writes events, in their order.
    pub fn append(&mut self, events: &[RunEvent]) -> io::Result<()> {
        let mut lines = Vec::with_capacity(1024);
        for event in events {
            serde_json::to_writer(&mut lines, event).map_err(io::Error::from)?;
            lines.push(b'\n');
        }
        self.append_lines(lines)
    }

    /// The same for a line that is JSON already, such as one with its secrets taken out.
    pub fn append_line(&mut self, line: &str) -> io::Result<()> {
        self.append_lines([line.as_bytes(), b"\n"].concat())
    }

    fn append_lines(&mut self, mut lines: Vec<u8>) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        if self.torn {
            lines.insert(0, b'\n');
        }
        let written = self.file.write_all(&lines);
        self.torn = written.is_err();
        written
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_line_is_closed_and_the_journal_goes_on_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/events.jsonl");
        Feed::open(&path).unwrap().append_line("{\"seq\":1}").unwrap();
        std::fs::write(&path, "{\"seq\":1}\n{\"seq\":2,\"ki").unwrap();
        let mut feed = Feed::open(&path).unwrap();
        feed.append_line("{\"seq\":2}").unwrap();
        feed.append_line("{\"seq\":3}").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"seq\":1}\n{\"seq\":2,\"ki\n{\"seq\":2}\n{\"seq\":3}\n");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

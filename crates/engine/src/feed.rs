//! The journal of a run, with one writer and any number of readers that follow it.
//!
//! A reader that is behind reads the file; nothing is kept for it in memory, so a slow reader costs nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::run::RunEvent;
use serde::Deserialize;
use tokio::sync::watch;

/// How much of the file a reader takes at once; a longer line is still taken whole.
const BATCH: usize = 256 * 1024;

/// The writing end of a journal, and the place to follow it from. Clones are the same feed.
#[derive(Debug, Clone)]
pub struct Feed(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    file: Mutex<Tail>,
    head: watch::Sender<Head>,
}

#[derive(Debug)]
struct Tail {
    file: File,
    /// The last write broke off: the next one starts a line of its own.
    torn: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    seq: u64,
    bytes: u64,
    closed: bool,
}

/// All that is read of a line here.
#[derive(Deserialize)]
struct Numbered {
    seq: u64,
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
        let (mut seq, mut torn) = (0, false);
        let mut line = Vec::new();
        let mut reader = BufReader::new(&mut file);
        while reader.read_until(b'\n', &mut line)? > 0 {
            torn = line.last() != Some(&b'\n');
            seq = serde_json::from_slice::<Numbered>(&line).map_or(seq, |read| read.seq);
            line.clear();
        }
        let bytes = file.metadata()?.len();
        let (head, _) = watch::channel(Head { seq, bytes, closed: false });
        Ok(Self(Arc::new(Inner {
            path: path.to_owned(),
            file: Mutex::new(Tail { file, torn }),
            head,
        })))
    }

    /// Writes events, in their order, and notifies all readers.
    pub fn append(&self, events: &[RunEvent]) -> io::Result<()> {
        let Some(last) = events.last() else { return Ok(()) };
        let mut lines = Vec::with_capacity(1024);
        for event in events {
            serde_json::to_writer(&mut lines, event).map_err(io::Error::from)?;
            lines.push(b'\n');
        }
        self.append_lines(last.seq, lines)
    }

    /// The same for a line that is JSON already, such as one with its secrets taken out.
    pub fn append_line(&self, seq: u64, line: &str) -> io::Result<()> {
        self.append_lines(seq, [line.as_bytes(), b"\n"].concat())
    }

    fn append_lines(&self, seq: u64, mut lines: Vec<u8>) -> io::Result<()> {
        let mut tail = self.0.file.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.torn {
            lines.insert(0, b'\n');
        }
        if let Err(error) = tail.file.write_all(&lines) {
            tail.torn = true;
            return Err(error);
        }
        tail.torn = false;
        // Asked, not counted: an interrupted write left bytes that are not counted.
        let bytes = tail.file.metadata()?.len();
        self.0.head.send_modify(|head| {
            head.seq = seq;
            head.bytes = bytes;
        });
        Ok(())
    }

    pub fn sync(&self) -> io::Result<()> {
        let tail = self.0.file.lock().unwrap_or_else(PoisonError::into_inner);
        tail.file.sync_data()
    }

    /// Nothing more will come: readers get the rest, and then the end.
    pub fn close(&self) {
        self.0.head.send_modify(|head| head.closed = true);
    }

    /// The number of the last event; 0 before the first.
    pub fn last(&self) -> u64 {
        self.0.head.borrow().seq
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    pub fn since(&self, seq: u64) -> Subscription {
        Subscription {
            path: self.0.path.clone(),
            wanted: seq,
            offset: 0,
            head: self.0.head.subscribe(),
        }
    }
}

#[derive(Debug)]
pub struct Subscription {
    path: PathBuf,
    wanted: u64,
    offset: u64,
    head: watch::Receiver<Head>,
}

impl Subscription {
    /// The next lines, each with its line break; waits until there are some. `None` when the feed is
    /// closed and everything was read. It may be dropped while it waits and be asked again.
    pub async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            let head = *self.head.borrow_and_update();
            if self.offset < head.bytes {
                let (path, offset, wanted) = (self.path.clone(), self.offset, self.wanted);
                let read = move || read_batch(&path, offset, head.bytes, wanted);
                let read = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?;
                let (lines, end) = read?;
                self.offset = end;
                if !lines.is_empty() {
                    return Ok(Some(lines));
                }
            } else if head.closed || self.head.changed().await.is_err() {
                return Ok(None);
            }
        }
    }
}

/// The lines from `offset` on that are events from `wanted` on, and where they end.
fn read_batch(path: &Path, offset: u64, until: u64, wanted: u64) -> io::Result<(String, u64)> {
    let mut file = crate::untrusted::open_own(path, OpenOptions::new().read(true))?;
    file.seek(SeekFrom::Start(offset))?;
    let mut reader = BufReader::new(file.take(until - offset));
    let (mut lines, mut end, mut line) = (String::new(), offset, Vec::new());
    while lines.len() < BATCH {
        line.clear();
        let length = reader.read_until(b'\n', &mut line)?;
        if length == 0 {
            // Another program may have cut the file: ralph does not wait for lines that are gone.
            return Ok((lines, until));
        }
        end += length as u64;
        let known = serde_json::from_slice::<Numbered>(&line).is_ok_and(|read| read.seq >= wanted);
        if let (true, Ok(text)) = (known && line.ends_with(b"\n"), str::from_utf8(&line)) {
            lines.push_str(text);
        }
    }
    Ok((lines, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seq: u64) -> String {
        format!(r#"{{"v":1,"seq":{seq},"kind":"noted"}}"#)
    }

    fn numbers(lines: &str) -> Vec<u64> {
        lines.lines().map(|line| serde_json::from_str::<Numbered>(line).unwrap().seq).collect()
    }

    #[tokio::test]
    async fn a_reader_catches_up_and_then_follows() {
        let folder = tempfile::tempdir().unwrap();
        let feed = Feed::open(&folder.path().join("deep/events.jsonl")).unwrap();
        for seq in 1..=5 {
            feed.append_line(seq, &line(seq)).unwrap();
        }
        let mut reader = feed.since(3);
        assert_eq!(numbers(&reader.next().await.unwrap().unwrap()), [3, 4, 5]);
        let waits = tokio::spawn(async move { (reader.next().await, reader) });
        feed.append_line(6, &line(6)).unwrap();
        let (lines, mut reader) = waits.await.unwrap();
        assert_eq!(numbers(&lines.unwrap().unwrap()), [6]);
        feed.append_line(7, &line(7)).unwrap();
        feed.close();
        assert_eq!(numbers(&reader.next().await.unwrap().unwrap()), [7]);
        assert_eq!(reader.next().await.unwrap(), None);
        assert_eq!(feed.last(), 7);
    }

    #[tokio::test]
    async fn a_broken_line_is_left_out_and_the_journal_goes_on_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, format!("{}\n{{\"seq\":2,\"ki", line(1))).unwrap();
        let feed = Feed::open(&path).unwrap();
        assert_eq!(feed.last(), 1);
        feed.append_line(2, &line(2)).unwrap();
        let lines = feed.since(0).next().await.unwrap().unwrap();
        assert_eq!(numbers(&lines), [1, 2]);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_reader_far_behind_gets_everything_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let feed = Feed::open(&folder.path().join("events.jsonl")).unwrap();
        let long = "x".repeat(1000);
        for seq in 1..=2000 {
            feed.append_line(seq, &format!(r#"{{"seq":{seq},"text":"{long}"}}"#)).unwrap();
        }
        feed.close();
        let (mut reader, mut all, mut pieces) = (feed.since(0), vec![], 0);
        while let Some(lines) = reader.next().await.unwrap() {
            assert!(lines.len() < 2 * BATCH);
            all.extend(numbers(&lines));
            pieces += 1;
        }
        assert_eq!(all, (1..=2000).collect::<Vec<_>>());
        assert!(pieces > 1);
    }

    #[tokio::test]
    async fn the_end_of_the_writer_is_the_end_of_the_feed() {
        let folder = tempfile::tempdir().unwrap();
        let feed = Feed::open(&folder.path().join("events.jsonl")).unwrap();
        feed.append_line(1, &line(1)).unwrap();
        let mut reader = feed.since(1);
        drop(feed);
        assert!(reader.next().await.unwrap().is_some());
        assert_eq!(reader.next().await.unwrap(), None);
    }
}

//! Writes files without secrets: cleans the output of programs on its way to the disk.

use std::fs::File;
use std::io::{self, Write};

use ralph_core::redact::{Secrets, Stream, StreamKind};

use crate::quota::RAW_LOG;

/// A file that gets lines of JSON without secrets. Call [`finish`](Self::finish) at the end: what could
/// have become a secret is held back until then.
pub(crate) struct CleanFile {
    file: File,
    stream: Stream,
    clean: Vec<u8>,
    /// How many bytes may still be written.
    room: usize,
}

impl CleanFile {
    pub(crate) fn new(file: File, secrets: &Secrets) -> Self {
        Self { file, stream: secrets.stream(StreamKind::Json), clean: vec![], room: RAW_LOG }
    }

    /// Writes what was held back.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.clean.clear();
        self.stream.finish(&mut self.clean);
        self.put()
    }

    /// Writes the cleaned output up to the limit: whole lines, and then one that says that the rest is missing.
    fn put(&mut self) -> io::Result<()> {
        if self.room == 0 {
            return Ok(());
        }
        if self.clean.len() <= self.room {
            self.room -= self.clean.len();
            return self.file.write_all(&self.clean);
        }
        let fits = &self.clean[..self.room];
        let end = fits.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.room = 0;
        self.file.write_all(&fits[..end])?;
        self.file.write_all(b"\n")?;
        self.file.write_all(format!("{{\"type\":\"ralph\",\"cut_after\":{RAW_LOG}}}\n").as_bytes())
    }

    /// Whether something is missing.
    pub(crate) fn is_cut(&self) -> bool {
        self.room == 0
    }
}

impl Write for CleanFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.clean.clear();
        self.stream.feed(bytes, &mut self.clean);
        self.put()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_ends_with_a_whole_line_and_a_word_about_the_rest() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut log = CleanFile::new(file.reopen().unwrap(), &Secrets::default());
        log.room = 20;
        for _ in 0..10 {
            log.write_all(b"{\"a\":1}\n").unwrap();
        }
        log.finish().unwrap();
        assert!(log.is_cut());
        let text = std::fs::read_to_string(file.path()).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(&lines[..2], ["{\"a\":1}"; 2]);
        assert!(lines[2].contains("cut_after"), "{text}");
    }
}

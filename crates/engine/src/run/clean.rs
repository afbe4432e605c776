//! Files without secrets: what programs print is cleaned on its way to the disk.

use std::fs::File;
use std::io::{self, Write};

use ralph_core::redact::{Kind, Secrets, Stream};

/// A file that gets lines of JSON without secrets. Call [`finish`](Self::finish) at the end: what could
/// have become a secret is held back until then.
pub(super) struct CleanFile {
    file: File,
    stream: Stream,
    clean: Vec<u8>,
}

impl CleanFile {
    pub(super) fn new(file: File, secrets: &Secrets) -> Self {
        Self { file, stream: secrets.stream(Kind::Json), clean: vec![] }
    }

    /// Writes what was held back.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.clean.clear();
        self.stream.finish(&mut self.clean);
        self.file.write_all(&self.clean)
    }
}

impl Write for CleanFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.clean.clear();
        self.stream.feed(bytes, &mut self.clean);
        self.file.write_all(&self.clean)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

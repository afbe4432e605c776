//! Scrolling lines above one progress line that is rewritten. Everything goes out in one write, so the
//! progress line never mixes with the others.

use std::io::{self, Write};

/// Moves to the first column and clears the line.
const CLEAR: &str = "\r\u{1b}[2K";

#[derive(Debug)]
pub(super) struct Screen<W> {
    out: W,
    buffer: String,
    last_line: Option<String>,
    failed: Option<io::Error>,
}

impl<W: Write> Screen<W> {
    pub(super) const fn new(out: W) -> Self {
        Self { out, buffer: String::new(), last_line: None, failed: None }
    }

    /// A line that stays.
    pub(super) fn line(&mut self, text: &str) {
        self.buffer.push_str(text);
        self.buffer.push('\n');
    }

    pub(super) const fn has_lines(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Forgets the lines that were not yet shown.
    pub(super) fn discard(&mut self) {
        self.buffer.clear();
    }

    /// Shows what there is, and below it the last line.
    pub(super) fn show(&mut self, last_line: Option<String>) {
        if self.buffer.is_empty() && self.last_line == last_line {
            return;
        }
        let mut text = String::new();
        if self.last_line.is_some() {
            text.push_str(CLEAR);
        }
        text.push_str(&self.buffer);
        if let Some(line) = &last_line {
            text.push_str(line);
        }
        self.buffer.clear();
        self.last_line = last_line;
        // A terminal that went away does not end the run.
        if self.failed.is_none() {
            let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
            self.failed = written.err();
        }
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The error that ended the output, if there was one.
    pub(super) fn take_failure(&mut self) -> Option<io::Error> {
        self.failed.take()
    }
}

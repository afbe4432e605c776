//! The standard input of a program: first what it reads at the start, then replies, in their order. Nothing here
//! waits: bytes that the program does not read yet are kept, up to a limit, so that a program which never reads costs
//! bounded memory and holds nothing up.

use std::future::pending;
use std::io;

use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;

use crate::ports::Stdin;

/// How many bytes of replies may wait for a program that does not read. What goes beyond is a program that will not
/// read any more: its standard input is closed.
const MOST_WAITING: usize = 4 << 20;

/// What is kept for the next replies; a long one must not cost memory for the rest of the session.
const KEPT: usize = 64 << 10;

/// Our end of the pipe, and the bytes that wait in front of it.
pub(super) struct StdinWriter<'a> {
    /// `None` once it is closed.
    pipe: Option<ChildStdin>,
    opening: &'a [u8],
    replies: Vec<u8>,
    /// How many of the replies are written.
    written: usize,
    /// Nothing more is coming: it is closed when all is written.
    closes: bool,
}

impl<'a> StdinWriter<'a> {
    pub(super) fn new(pipe: Option<ChildStdin>, stdin: &'a Stdin) -> Self {
        let closes = matches!(stdin, Stdin::Text(_));
        let opening = stdin.opening();
        Self { pipe, opening, replies: vec![], written: 0, closes }
    }

    /// Whether the program can still be talked to.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some() && !self.closes
    }

    /// Writes these bytes when the program has read everything before them.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || !self.is_open() {
            return;
        }
        if self.replies.len() - self.written + bytes.len() > MOST_WAITING {
            self.pipe = None;
            self.replies = vec![];
            self.written = 0;
            return;
        }
        self.replies.drain(..self.written);
        self.written = 0;
        self.replies.extend_from_slice(bytes);
    }

    /// Closes it once everything is written.
    pub(super) fn close_when_written(&mut self) {
        self.closes = true;
        self.close_if_written();
    }

    pub(super) fn close(&mut self) {
        self.pipe = None;
    }

    /// Writes a part of what waits; never completes while nothing does. May be dropped and called again.
    pub(super) async fn write(&mut self) -> io::Result<usize> {
        let unwritten = match self.opening {
            [] => &self.replies[self.written..],
            opening => opening,
        };
        match &mut self.pipe {
            Some(pipe) if !unwritten.is_empty() => pipe.write(unwritten).await,
            _ => pending().await,
        }
    }

    /// Takes note of what `write` has written.
    pub(super) fn wrote(&mut self, written: io::Result<usize>) {
        match written {
            Ok(more) if more > 0 && !self.opening.is_empty() => {
                self.opening = &self.opening[more..];
            }
            Ok(more) if more > 0 => self.written += more,
            // The program does not want it.
            _ => self.pipe = None,
        }
        if self.written == self.replies.len() {
            self.replies.clear();
            self.replies.shrink_to(KEPT);
            self.written = 0;
        }
        self.close_if_written();
    }

    fn close_if_written(&mut self) {
        if self.closes && self.opening.is_empty() && self.written == self.replies.len() {
            self.pipe = None;
        }
    }
}

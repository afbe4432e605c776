//! How to supervise a program, and its result. Data only.

use std::time::Duration;

use ralph_core::agent::ProcessEnd;

use super::control::{Delivery, Said};

/// How long a program may do what.
#[derive(Debug, Clone)]
pub struct Watch {
    pub timeout: Option<Duration>,
    /// Without a byte on either output.
    pub silence: Option<Duration>,
    /// Staying after its last word, see [`LineEffect::Result`].
    pub after_result: Option<Duration>,
    /// Time between a signal and the next stronger one.
    pub grace: Duration,
    /// How long to read the pipes once every process is gone.
    pub drain: Duration,
    /// The longest line that is delivered whole.
    pub line_cap: usize,
}

impl Watch {
    /// The longest line that is delivered whole, by default.
    pub const LINE_CAP: usize = 8 * 1024 * 1024;

    /// Only a limit in all.
    pub(crate) fn timeout(limit: Duration) -> Self {
        Self { timeout: Some(limit), silence: None, after_result: None, ..Self::default() }
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            timeout: None,
            silence: Some(Duration::from_secs(15 * 60)),
            after_result: Some(Duration::from_secs(30)),
            grace: Duration::from_secs(5),
            drain: Duration::from_secs(2),
            line_cap: Self::LINE_CAP,
        }
    }
}

/// What a line means for the watchdogs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEffect {
    Going,
    /// The last word: the program should leave soon.
    Result,
    /// There is more after all: it may stay.
    Resumed,
    /// The session cannot succeed: ralph stops it at once, and its events so far count.
    Over,
}

/// Receives the output of a program. Called from the task of `supervise` only, never after it has returned.
pub trait Listener: Send {
    /// A line of standard output without its newline; any bytes. `cut`: it was longer than the cap, and
    /// the rest of it is skipped. The program reads next what is added to `replies`, where its standard input is a
    /// conversation.
    fn stdout(&mut self, line: &[u8], cut: bool, replies: &mut Vec<u8>) -> LineEffect;

    /// A line of standard error without its newline, or the first part of a very long one.
    fn stderr(&mut self, line: &[u8]) {
        let _ = line;
    }

    /// The bytes that put a text before a program that can be spoken to; `None` where this one takes no text. It
    /// reports how far the text got, now and later.
    fn say(&mut self, said: Said) -> Option<Vec<u8>> {
        said.report(Delivery::Refused);
        None
    }

    /// The bytes that ask a program that can be spoken to to come to an end; `None` where only a signal does.
    fn interrupt(&mut self) -> Option<Vec<u8>> {
        None
    }
}

impl Ended {
    pub fn never_ran(error: String) -> Self {
        Self {
            end: ProcessEnd::NotStarted { error },
            stderr_tail: String::new(),
            stdout_bytes: 0,
            cut_lines: 0,
            ended_leftovers: 0,
            duration: Duration::ZERO,
            raw_error: None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Ended {
    pub end: ProcessEnd,
    /// The end of what it said on standard error, at most 64 KiB.
    pub stderr_tail: String,
    pub stdout_bytes: u64,
    /// Lines that were longer than the cap.
    pub cut_lines: u64,
    /// Processes that outlived the program and that ralph killed.
    pub ended_leftovers: u32,
    pub duration: Duration,
    /// Why the raw copy of the output is not whole, where it is not.
    pub raw_error: Option<String>,
}

//! Reads what the user types. Ctrl-C has to end the wait: once ralph listens for signals, the system no longer ends
//! the process by itself.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::oneshot;

use crate::interrupts::Interrupts;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// A line, without its end.
    Line(String),
    End,
    /// Ctrl-C, or an order to end.
    Interrupted,
}

pub fn line() -> io::Result<Typed> {
    typed(|| read_line(&mut io::stdin().lock()))
}

/// Reads an answer from a terminal: a line, or all the lines of a text that was pasted.
pub fn answer() -> io::Result<Typed> {
    typed(|| {
        let stdin = io::stdin();
        let mut lines = Vec::new();
        loop {
            match read_line(&mut stdin.lock())? {
                Typed::Line(line) => lines.push(line),
                other if lines.is_empty() => return Ok(other),
                _ => break,
            }
            let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
            // A terminal gives one line at a time, so the next one is never in the buffer of `stdin`.
            if poll(&mut waiting, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? == 0 {
                break;
            }
        }
        Ok(Typed::Line(lines.join("\n")))
    })
}

/// Forgets what was typed before the question was asked: it cannot be the answer.
pub fn forget_typed() {
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

fn read_line(input: &mut impl io::BufRead) -> io::Result<Typed> {
    let mut line = String::new();
    Ok(match input.read_line(&mut line)? {
        0 => Typed::End,
        _ => Typed::Line(line.trim_end_matches(['\n', '\r']).to_owned()),
    })
}

fn typed(read: impl FnOnce() -> io::Result<Typed> + Send + 'static) -> io::Result<Typed> {
    let mut interrupts = Interrupts::listen()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (send, typed) = oneshot::channel();
    // Nothing can end a read from a terminal; the thread ends with the process.
    std::thread::spawn(move || {
        let _ = send.send(read());
    });
    runtime.block_on(async {
        tokio::select! {
            () = interrupts.wait() => Ok(Typed::Interrupted),
            read = typed => read.unwrap_or(Ok(Typed::End)),
        }
    })
}

//! Reads what the user types. Ctrl-C has to end the wait: once a run has installed signal handlers, the system no
//! longer ends the process by itself.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// What the user did when asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// A line, without its end.
    Line(String),
    /// The end of the input.
    End,
    /// Ctrl-C, or an order to end.
    Interrupted,
}

/// Reads a line from standard input.
pub fn line() -> io::Result<Typed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (typed, told) = oneshot::channel();
    // Nothing can end a read from a terminal; the thread ends with the process.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line).map(|bytes| match bytes {
            0 => Typed::End,
            _ => Typed::Line(line.trim_end_matches(['\n', '\r']).to_owned()),
        });
        let _ = typed.send(read);
    });
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            read = told => read.unwrap_or(Ok(Typed::End)),
            _ = interrupt.recv() => Ok(Typed::Interrupted),
            _ = terminate.recv() => Ok(Typed::Interrupted),
        }
    })
}

//! An active run as a stream, over its control socket.
//!
//! The connection may break: the run ends, is killed, or disconnects a reader that was stopped for minutes. Then this
//! connects again and leaves out what it has passed on already; if nothing answers, the rest of the facts comes from the
//! journal. So a reader gets every fact once, whatever happens to the run.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::Timestamp;
use ralph_core::run::{Fact, SlotId};
use ralph_core::view::stream::{EventSource, Next, Observation, Observed};

use crate::run_files::journal;
use crate::socket::client::{self, ClientError};

#[derive(Debug)]
pub struct SocketSource {
    socket: PathBuf,
    /// Its journal, where that is known.
    journal: Option<PathBuf>,
    /// `None` once the run has left.
    stream: Option<BufReader<UnixStream>>,
    /// The line that is being read.
    begun: Vec<u8>,
    /// What comes before the next line.
    ready: VecDeque<Observed>,
    passed: Passed,
}

/// What the reader has had.
#[derive(Debug, Default)]
struct Passed {
    /// The number of the last fact.
    fact: u64,
    /// The run has recorded its end.
    ended: bool,
    /// When each slot said something last.
    said: HashMap<SlotId, Timestamp>,
    /// The same before this connection.
    before: HashMap<SlotId, Timestamp>,
    /// Something new came by this connection.
    progress: bool,
}

impl Passed {
    /// Whether it is new to the reader.
    fn is_new(&mut self, what: &Observed) -> bool {
        let is_new = match what {
            Observed::Fact { event } => {
                let is_new = event.seq > self.fact;
                self.fact = self.fact.max(event.seq);
                self.ended |= matches!(event.fact, Fact::RunEnded { .. });
                is_new
            }
            Observed::Agent { slot, at, .. } => {
                let said = self.said.entry(*slot).or_insert(*at);
                *said = (*said).max(*at);
                self.before.get(slot).is_none_or(|before| at > before)
            }
            // After a break it may be about output from before.
            Observed::Missed { .. } | Observed::Joined { .. } | Observed::Left => return true,
        };
        self.progress |= is_new;
        is_new
    }
}

impl SocketSource {
    /// Connects to a run. Without its journal, facts that a killed run did not send are lost.
    pub fn open(socket: &Path, journal: Option<&Path>) -> Result<Self, ClientError> {
        Ok(Self {
            socket: socket.to_owned(),
            journal: journal.map(Path::to_owned),
            stream: Some(client::watch(socket)?),
            begun: vec![],
            ready: VecDeque::from([Observed::Joined { name: String::new() }]),
            passed: Passed::default(),
        })
    }

    /// The next line of the stream; `None` where none came in time.
    fn line(&mut self, wait: Duration) -> io::Result<Option<Vec<u8>>> {
        let Some(stream) = &mut self.stream else { return Ok(None) };
        // No time at all would mean forever.
        stream.get_ref().set_read_timeout(Some(wait.max(Duration::from_millis(1))))?;
        match stream.read_until(b'\n', &mut self.begun) {
            Ok(_) if self.begun.ends_with(b"\n") => Ok(Some(std::mem::take(&mut self.begun))),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if is_timeout(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The connection is gone.
    fn broken(&mut self) {
        self.stream = None;
        self.begun.clear();
        let passed = &mut self.passed;
        if !passed.ended && passed.progress {
            passed.progress = false;
            passed.before.clone_from(&passed.said);
            self.stream = client::watch(&self.socket).ok();
        }
        if self.stream.is_none() {
            let rest = self.journal.as_ref().and_then(|path| journal::read(path).ok());
            let rest = rest.into_iter().flatten().filter(|event| event.seq > self.passed.fact);
            self.ready.extend(rest.map(|event| Observed::Fact { event }));
            self.ready.push_back(Observed::Left);
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

impl EventSource for SocketSource {
    fn next(&mut self, wait: Duration) -> Next {
        loop {
            if let Some(what) = self.ready.pop_front() {
                return Next::Seen(Observation { of: 0, what });
            }
            if self.stream.is_none() {
                return Next::Over;
            }
            match self.line(wait) {
                Ok(None) => return Next::Quiet,
                Ok(Some(line)) => {
                    // What another version says and this one does not know is left out.
                    let Ok(what) = serde_json::from_slice::<Observed>(&line) else { continue };
                    if self.passed.is_new(&what) {
                        self.ready.push_back(what);
                    }
                }
                Err(_) => self.broken(),
            }
        }
    }
}

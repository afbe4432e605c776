//! All active runs as one stream. Runs join as they start, and the stream is over when none is left. Where none is active,
//! the stream is that of the last run.
//!
//! A run is active while its process holds the lock of its worktree. Looking at that and at the state file beside it costs
//! microseconds, so it is done twice a second for as long as someone reads.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use ralph_core::ids::RunId;
use ralph_core::view::stream::{EventSource, Next, Observation, Observed, RunNumber};

use super::{SocketSource, StoredSource};
use crate::clock::Stopwatch;
use crate::run_files::state_file::{self, StateFile};
use crate::run_files::{RunLogs, WorktreeLock, journal};

/// How often to look for runs that have started.
const LOOK: Duration = Duration::from_millis(500);
/// The same while there is no run to read from.
const LOOK_IDLE: Duration = Duration::from_millis(50);
/// How much of the runs waits for the reader.
const QUEUE: usize = 256;
/// How often a thread that waits for a run sees whether anybody still reads.
const STILL_READ: Duration = Duration::from_secs(1);

/// A worktree that may have a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub worktree: PathBuf,
    /// Its branch, where it is one of several; empty otherwise.
    pub name: String,
}

/// Lists the worktrees. Called each time that runs are looked for.
pub type Places = Box<dyn FnMut() -> Vec<Place> + Send>;

/// Where the runs send what they say, with the number of each.
type Heard = (RunNumber, Observed);

pub struct AllSource {
    places: Places,
    logs: PathBuf,
    /// The runs that have joined, by their numbers.
    known: Vec<RunId>,
    /// How many of them have not left.
    open: usize,
    ready: VecDeque<Observation>,
    sender: SyncSender<Heard>,
    heard: Receiver<Heard>,
    looked: Option<Stopwatch>,
    over: bool,
    /// Gone with this reader: the threads see that and end.
    reader: Arc<()>,
}

impl AllSource {
    /// The runs in these worktrees, whose journals are below `logs`.
    pub fn new(places: Places, logs: &Path) -> Self {
        let (sender, heard) = sync_channel(QUEUE);
        Self {
            places,
            logs: logs.to_owned(),
            known: vec![],
            open: 0,
            ready: VecDeque::new(),
            sender,
            heard,
            looked: None,
            over: false,
            reader: Arc::new(()),
        }
    }

    /// How long until runs are looked for again.
    fn until_look(&self) -> Duration {
        let every = if self.open == 0 { LOOK_IDLE } else { LOOK };
        self.looked.map_or(Duration::ZERO, |since| every.saturating_sub(since.elapsed()))
    }

    /// Lets new runs join. Without an active run and with nothing left to read, the stream ends.
    fn look(&mut self) {
        self.looked = Some(Stopwatch::start());
        let mut active = false;
        for place in (self.places)() {
            let folder = place.worktree.join(".ralph");
            let Some(holder) = WorktreeLock::holder(&folder) else { continue };
            active = true;
            let Some(state) = state_of(&folder, &holder) else { continue };
            // A call over several branches holds its worktree and has no socket: its runs are in those of the branches.
            let Some(socket) = &state.control_socket else { continue };
            if self.known.contains(&state.run) {
                continue;
            }
            let journal = journal_of(&state.run, &self.logs);
            match SocketSource::open(socket, journal.as_deref()) {
                Ok(source) => self.join(state.run, place.name, source),
                // It has just ended, or another version of ralph runs it.
                Err(_) => {
                    if let Some(Ok(facts)) = journal.map(|path| StoredSource::facts(&path)) {
                        self.join(state.run, place.name, facts);
                    }
                }
            }
        }
        if active || self.open > 0 {
            return;
        }
        match self.known.is_empty() {
            true => self.join_last(),
            false => self.over = true,
        }
    }

    /// The last run, where none has been active.
    fn join_last(&mut self) {
        let all = RunLogs::all(&self.logs).unwrap_or_default();
        let newest =
            all.iter().rev().find_map(|logs| Some((journal::run_of(&logs.journal())?, logs)));
        match newest.map(|(run, logs)| (run, StoredSource::facts(&logs.journal()))) {
            Some((run, Ok(source))) => self.join(run, String::new(), source),
            _ => self.over = true,
        }
    }

    /// Reads a run on a thread of its own.
    fn join(&mut self, run: RunId, name: String, source: impl EventSource + Send + 'static) {
        let number = RunNumber::try_from(self.known.len()).unwrap_or(RunNumber::MAX);
        self.known.push(run);
        self.open += 1;
        // Runs join in the order of their numbers, whatever their threads do.
        self.ready.push_back(Observation { of: number, what: Observed::Joined { name } });
        let sender = self.sender.clone();
        let reader = Arc::downgrade(&self.reader);
        std::thread::spawn(move || pass_on(number, source, &sender, &reader));
    }

    fn seen(&mut self, (of, what): Heard) -> Next {
        if what == Observed::Left {
            self.open = self.open.saturating_sub(1);
        }
        Next::Seen(Observation { of, what })
    }
}

impl EventSource for AllSource {
    fn next(&mut self, wait: Duration) -> Next {
        let waited = Stopwatch::start();
        loop {
            if let Some(seen) = self.ready.pop_front() {
                return Next::Seen(seen);
            }
            if let Ok(heard) = self.heard.try_recv() {
                return self.seen(heard);
            }
            if self.over {
                return Next::Over;
            }
            if self.until_look().is_zero() {
                self.look();
                continue;
            }
            let left = wait.saturating_sub(waited.elapsed());
            if left.is_zero() {
                return Next::Quiet;
            }
            if let Ok(heard) = self.heard.recv_timeout(left.min(self.until_look())) {
                return self.seen(heard);
            }
        }
    }
}

/// Passes on what a run says until it has left, or until its reader is gone.
fn pass_on(
    number: RunNumber,
    mut source: impl EventSource,
    sender: &SyncSender<Heard>,
    reader: &Weak<()>,
) {
    while reader.strong_count() > 0 {
        match source.next(STILL_READ) {
            Next::Seen(Observation { what: Observed::Joined { .. }, .. }) | Next::Quiet => {}
            Next::Seen(Observation { what, .. }) => {
                if sender.send((number, what)).is_err() {
                    return;
                }
            }
            Next::Over => return,
        }
    }
}

/// The state of the active run in a folder. A run that has just started has not written its own yet, and one that has ended
/// has.
fn state_of(folder: &Path, holder: &str) -> Option<StateFile> {
    let state = state_file::read(&folder.join("state.toml")).ok().flatten()?;
    (state.active && state.pid.to_string() == holder).then_some(state)
}

/// The journal of a run: that of one of the newest folders.
fn journal_of(run: &RunId, logs: &Path) -> Option<PathBuf> {
    let all = RunLogs::all(logs).ok()?;
    let mut journals = all.iter().rev().map(RunLogs::journal);
    journals.find(|journal| journal::run_of(journal).as_ref() == Some(run))
}

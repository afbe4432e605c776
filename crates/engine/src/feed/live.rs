//! The stream of an active run, in its own process. One thread fills it; every reader gets the same, in the order of that
//! thread, however late it comes and however slowly it reads.
//!
//! Facts are kept by their numbers alone: their text is in the journal, so a reader that is behind costs no memory and loses
//! none. A display of the same process gets them from memory, so it has also those that a full disk refused. Output of agents is in no journal that is read here, so the last part of each slot is kept in memory. A reader that
//! is further behind than that gets [`Observed::Missed`] where the lost output was.

mod local;

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ralph_core::Timestamp;
use ralph_core::agent::AgentEvent;
use ralph_core::run::{RunEvent, SlotId};
use ralph_core::view::stream::Observed;
use serde::Deserialize;
use tokio::sync::watch;

pub use local::LocalSource;

/// How much output is kept for each slot, in bytes.
const KEPT: usize = 256 * 1024;
/// What an event costs beside its text.
const OVERHEAD: usize = 128;
/// The longest text of an event that is passed on.
const LONGEST: usize = 64 * 1024;
/// How much a reader takes at once; a longer line is still taken whole.
const BATCH: usize = 256 * 1024;

/// The filling end. Clones are the same stream.
#[derive(Debug, Clone)]
pub struct Live(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    journal: PathBuf,
    state: Mutex<State>,
    /// Counts what was added, to wake readers.
    news: watch::Sender<u64>,
    /// The same for readers in this process.
    added: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the last fact.
    fact: u64,
    /// The place of the next output.
    next: u64,
    slots: Vec<Ring>,
    /// For each reader in this process the facts that it has not had; `None` once it is gone.
    local: Vec<Option<VecDeque<Arc<RunEvent>>>>,
    closed: bool,
}

/// The last output of a slot.
#[derive(Debug, Default)]
struct Ring {
    kept: VecDeque<Output>,
    bytes: usize,
    /// The last output that was dropped.
    dropped: Option<Place>,
}

/// Where in the stream an output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// Among all output.
    order: u64,
    /// The number of the fact before it.
    after: u64,
}

#[derive(Debug)]
struct Output {
    place: Place,
    /// `None`: the displays were too slow for it.
    event: Option<(Timestamp, AgentEvent)>,
}

impl Output {
    fn bytes(&self) -> usize {
        let text = |event: &AgentEvent| match event {
            AgentEvent::Text { text }
            | AgentEvent::Thinking { text }
            | AgentEvent::UserMessage { text }
            | AgentEvent::Unknown { kind: text }
            | AgentEvent::Denied { tool: text }
            | AgentEvent::Retrying { error: text, .. } => text.len(),
            AgentEvent::ToolStarted { id, name, input } => id.len() + name.len() + input.len(),
            AgentEvent::ToolEnded { id, text, .. } => id.len() + text.len(),
            AgentEvent::Started { .. } | AgentEvent::Message { .. } | AgentEvent::Result { .. } => {
                0
            }
        };
        OVERHEAD + self.event.as_ref().map_or(0, |(_, event)| text(event))
    }
}

impl Ring {
    fn push(&mut self, output: Output) {
        self.bytes += output.bytes();
        self.kept.push_back(output);
        while self.bytes > KEPT {
            let Some(gone) = self.kept.pop_front() else { return };
            self.bytes -= gone.bytes();
            self.dropped = Some(gone.place);
        }
    }

    /// The place of what a reader gets next that has had everything before `from`, and what it is; `None`: it is missing.
    fn next(&self, from: u64) -> Option<(Place, Option<&(Timestamp, AgentEvent)>)> {
        if let Some(place) = self.dropped.filter(|place| place.order >= from) {
            return Some((place, None));
        }
        let first = self.kept.partition_point(|output| output.place.order < from);
        self.kept.get(first).map(|output| (output.place, output.event.as_ref()))
    }
}

impl State {
    fn push(&mut self, slot: SlotId, event: Option<(Timestamp, AgentEvent)>) {
        let index = slot as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, Ring::default);
        }
        let place = Place { order: self.next, after: self.fact };
        self.next += 1;
        self.slots[index].push(Output { place, event });
    }
}

impl Live {
    /// The stream of a run with this journal.
    pub fn new(journal: &Path) -> Self {
        let (news, _) = watch::channel(0);
        let (journal, state, added) = (journal.to_owned(), Mutex::default(), Condvar::new());
        Self(Arc::new(Inner { journal, state, news, added }))
    }

    /// Facts, which are in the journal already. They wake the readers once.
    pub fn facts(&self, events: Vec<RunEvent>) {
        self.0.add(|state| {
            for event in events {
                state.fact = state.fact.max(event.seq);
                let event = Arc::new(event);
                let local = state.local.iter_mut().flatten();
                local.for_each(|facts| facts.push_back(Arc::clone(&event)));
            }
        });
    }

    /// Output of the agent in a slot.
    pub fn agent(&self, slot: SlotId, at: Timestamp, event: AgentEvent) {
        let event = shortened(event);
        self.0.add(|state| state.push(slot, Some((at, event))));
    }

    /// Some output of a slot was lost before it could be added.
    pub fn missed(&self, slot: SlotId) {
        self.0.add(|state| state.push(slot, None));
    }

    /// Nothing more will come: readers get the rest, and then the end.
    pub fn close(&self) {
        self.0.add(|state| state.closed = true);
    }

    /// A display of this process, which gets everything from now on.
    pub fn read(&self) -> LocalSource {
        LocalSource::new(&self.0)
    }

    /// A reader that gets everything from the first fact on.
    pub fn watch(&self) -> Watcher {
        Watcher {
            facts: Facts { path: self.0.journal.clone(), offset: 0, read: VecDeque::new() },
            shown: 0,
            heard: Heard::default(),
            news: self.0.news.subscribe(),
            live: Arc::clone(&self.0),
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.added.notify_all();
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// The event with its texts cut to a length that leaves space for others.
fn shortened(mut event: AgentEvent) -> AgentEvent {
    if let AgentEvent::Text { text }
    | AgentEvent::Thinking { text }
    | AgentEvent::ToolStarted { input: text, .. }
    | AgentEvent::ToolEnded { text, .. }
    | AgentEvent::UserMessage { text }
    | AgentEvent::Retrying { error: text, .. } = &mut event
    {
        text.truncate(text.floor_char_boundary(LONGEST));
    }
    event
}

/// A reader of the stream.
#[derive(Debug)]
pub struct Watcher {
    live: Arc<Inner>,
    news: watch::Receiver<u64>,
    facts: Facts,
    /// The number of the last fact that it got.
    shown: u64,
    heard: Heard,
}

/// For each slot the place of the next output that a reader has not had.
#[derive(Debug, Default)]
struct Heard(Vec<u64>);

impl Heard {
    /// The first output of any slot that is still to come, with its slot.
    fn next(&mut self, state: &State) -> Option<(usize, Place, Observed)> {
        self.0.resize(state.slots.len(), 0);
        let next = |(slot, from): (usize, &u64)| {
            let (place, event) = state.slots[slot].next(*from)?;
            Some((slot, place, event))
        };
        let outputs = self.0.iter().enumerate().filter_map(next);
        let (number, place, event) = outputs.min_by_key(|(_, place, _)| place.order)?;
        let slot = number as SlotId;
        let what = match event {
            Some((at, event)) => Observed::Agent { slot, at: *at, event: event.clone() },
            None => Observed::Missed { slot },
        };
        Some((number, place, what))
    }

    fn has(&mut self, slot: usize, place: Place) {
        self.0[slot] = place.order + 1;
    }
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
pub enum Batch {
    /// Lines of JSON, each an [`Observed`] with its line break.
    Lines(String),
    /// Nothing has happened since.
    Quiet,
    Over,
}

impl Watcher {
    /// What comes next, without waiting for it. Reads the journal.
    pub fn batch(&mut self) -> io::Result<Batch> {
        // From here on every addition is news again.
        self.news.borrow_and_update();
        let mut lines = String::new();
        while lines.len() < BATCH {
            let (output, last, closed) = {
                let state = self.live.state();
                (self.heard.next(&state), state.fact, state.closed)
            };
            let until = output.as_ref().map_or(last, |(_, place, _)| place.after);
            if self.shown < until {
                match self.facts.next(until)? {
                    Some((seq, text)) if seq > self.shown => {
                        self.shown = seq;
                        fact_line(&mut lines, &text);
                    }
                    Some(_) => {}
                    // The rest is not in the file: the disk was full.
                    None => self.shown = until,
                }
            } else if let Some((slot, place, what)) = output {
                self.heard.has(slot, place);
                if let Ok(text) = serde_json::to_string(&what) {
                    lines.push_str(&text);
                    lines.push('\n');
                }
            } else if lines.is_empty() {
                return Ok(if closed { Batch::Over } else { Batch::Quiet });
            } else {
                break;
            }
        }
        Ok(Batch::Lines(lines))
    }

    /// Waits until there is something that the last batch did not have. `false` when nothing can come.
    pub async fn changed(&mut self) -> bool {
        self.news.changed().await.is_ok()
    }
}

/// A fact as a line of the stream, with its text as the journal has it.
fn fact_line(lines: &mut String, text: &str) {
    lines.push_str("{\"what\":\"fact\",\"event\":");
    lines.push_str(text);
    lines.push_str("}\n");
}

/// The facts of a journal, read on from where the last batch ended.
#[derive(Debug)]
struct Facts {
    path: PathBuf,
    offset: u64,
    read: VecDeque<(u64, String)>,
}

/// All that is read of a line here.
#[derive(Deserialize)]
struct Numbered {
    seq: u64,
}

impl Facts {
    /// The next fact up to this number; `None` where the file has none.
    fn next(&mut self, until: u64) -> io::Result<Option<(u64, String)>> {
        if self.read.is_empty() {
            self.read_more()?;
        }
        Ok(self.read.pop_front_if(|(seq, _)| *seq <= until))
    }

    fn read_more(&mut self) -> io::Result<()> {
        let mut file = crate::untrusted::open_own(&self.path, OpenOptions::new().read(true))?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut reader = BufReader::new(file);
        let mut taken = 0;
        while taken < BATCH || self.read.is_empty() {
            let mut line = Vec::new();
            reader.read_until(b'\n', &mut line)?;
            // The last line may be half written.
            if line.pop_if(|last| *last == b'\n').is_none() {
                return Ok(());
            }
            self.offset += line.len() as u64 + 1;
            taken += line.len();
            let number = serde_json::from_slice::<Numbered>(&line).map(|read| read.seq);
            if let (Ok(seq), Ok(text)) = (number, String::from_utf8(line)) {
                self.read.push_back((seq, text));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

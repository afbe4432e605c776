//! The stream of an active run, in its own process. The thread of the displays fills it; every reader gets the same, in the
//! order of that thread, however late it comes and however slowly it reads.
//!
//! Facts are kept by their numbers alone: their text is in the journal, so a reader that is behind costs no memory and loses
//! none. Output of agents is in no journal that is read here, so the last part of each slot is kept in memory. A reader that
//! is further behind than that gets [`Observed::Missed`] where the lost output was.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ralph_core::Timestamp;
use ralph_core::agent::AgentEvent;
use ralph_core::run::SlotId;
use ralph_core::view::stream::Observed;
use serde::Deserialize;
use tokio::sync::watch;

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
}

#[derive(Debug, Default)]
struct State {
    /// The number of the last fact.
    fact: u64,
    /// The place of the next output.
    next: u64,
    slots: Vec<Ring>,
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

    /// What a reader gets next that has had everything before `from`.
    fn next(&self, slot: SlotId, from: u64) -> Option<(Place, Observed)> {
        if let Some(place) = self.dropped.filter(|place| place.order >= from) {
            return Some((place, Observed::Missed { slot }));
        }
        let first = self.kept.partition_point(|output| output.place.order < from);
        let output = self.kept.get(first)?;
        let what = match &output.event {
            Some((at, event)) => Observed::Agent { slot, at: *at, event: event.clone() },
            None => Observed::Missed { slot },
        };
        Some((output.place, what))
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
        Self(Arc::new(Inner { journal: journal.to_owned(), state: Mutex::default(), news }))
    }

    /// A fact, which is in the journal already.
    pub fn fact(&self, seq: u64) {
        self.0.add(|state| state.fact = state.fact.max(seq));
    }

    /// Output of the agent in a slot.
    pub fn agent(&self, slot: SlotId, at: Timestamp, event: &AgentEvent) {
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

    /// A reader that gets everything from the first fact on.
    pub fn watch(&self) -> Watcher {
        Watcher {
            facts: Facts { path: self.0.journal.clone(), offset: 0, read: VecDeque::new() },
            shown: 0,
            heard: vec![],
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
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// The event with its texts cut to a length that leaves space for others.
fn shortened(event: &AgentEvent) -> AgentEvent {
    let mut event = event.clone();
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
    /// For each slot the place of the next output that it has not had.
    heard: Vec<u64>,
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
            let (output, last, closed) = self.next_output();
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
                self.heard[slot] = place.order + 1;
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

    /// The first output of any slot that this reader has not had, the number of the last fact, and whether that is all.
    fn next_output(&mut self) -> (Option<(usize, Place, Observed)>, u64, bool) {
        let state = self.live.state();
        self.heard.resize(state.slots.len(), 0);
        let next = |(slot, from): (usize, &u64)| {
            let (place, what) = state.slots[slot].next(slot as SlotId, *from)?;
            Some((slot, place, what))
        };
        let output = self.heard.iter().enumerate().filter_map(next);
        let first = output.min_by_key(|(_, place, _)| place.order);
        (first, state.fact, state.closed)
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

//! Fills the stream of the run, on a thread of its own, and gives every display of this process a thread to read it on. So
//! no display slows the loop, another display, or those who follow the run from elsewhere. Facts always get into the stream;
//! output of agents is dropped for a while when it comes faster than it can be cleaned.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ralph_core::agent::AgentEvent;
use ralph_core::redact::{Secrets, Stream, StreamKind};
use ralph_core::run::{RunEvent, SlotId};
use ralph_core::view::stream::EventSource;

use crate::clock::{self, Stopwatch};
use crate::feed::live::Live;

/// The most output of agents that may wait to get into the stream, in events.
const QUEUE: usize = 512;
/// How long output of an agent that exceeds that is dropped.
const REST: Duration = Duration::from_millis(100);

/// Reads the stream of a run until its end: a display, or several that may wait for each other.
pub type Reader = Box<dyn FnOnce(&mut dyn EventSource) + Send>;

enum Item {
    Events(Vec<RunEvent>),
    Agent(SlotId, AgentEvent),
    /// Output of an agent was dropped here.
    Missed(SlotId),
    /// The run has recorded its last fact.
    End,
}

/// The sending side. Cheap to copy; each copy rests by itself.
#[derive(Clone)]
pub(super) struct Display {
    items: Sender<Item>,
    /// How much output of agents waits.
    waiting: Arc<AtomicUsize>,
    /// Since when it rests.
    rests: Option<Stopwatch>,
    /// It has dropped output that it has not marked yet.
    dropped: bool,
}

/// The threads.
pub(super) struct DisplayThreads(Vec<JoinHandle<()>>);

impl Display {
    pub(super) fn start(
        readers: Vec<Reader>,
        secrets: Secrets,
        live: Live,
    ) -> (Self, DisplayThreads) {
        let (sender, items) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let read = |reader: Reader| {
            let mut source = live.read();
            std::thread::spawn(move || reader(&mut source))
        };
        let mut threads: Vec<_> = readers.into_iter().map(read).collect();
        let counted = Arc::clone(&waiting);
        threads.push(std::thread::spawn(move || fill(&items, &counted, &secrets, &live)));
        (Self { items: sender, waiting, rests: None, dropped: false }, DisplayThreads(threads))
    }

    /// Adds facts. Never waits: a display that stands still must not stop the run.
    pub(super) fn events(&self, events: Vec<RunEvent>) {
        let _ = self.items.send(Item::Events(events));
    }

    /// No fact follows: whoever follows the run gets the end.
    pub(super) fn end(&self) {
        let _ = self.items.send(Item::End);
    }

    /// Whether there is space for more agent output.
    pub(super) fn has_room(&mut self) -> bool {
        if self.rests.is_some_and(|since| since.elapsed() >= REST) {
            self.rests = None;
        }
        self.rests.is_none()
    }

    /// Adds agent output, if there is space for it.
    pub(super) fn agent(&mut self, slot: SlotId, event: AgentEvent) {
        if self.dropped && !self.offer(Item::Missed(slot)) {
            return;
        }
        self.dropped = !self.offer(Item::Agent(slot, event));
    }

    /// Whether there was space for it. If there was none, it rests.
    fn offer(&mut self, item: Item) -> bool {
        if self.waiting.load(Ordering::Relaxed) >= QUEUE {
            self.rests = Some(Stopwatch::start());
            return false;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _ = self.items.send(item);
        true
    }
}

impl DisplayThreads {
    /// Waits until everything was shown. Every sender must be gone.
    pub(super) fn finish(self) {
        for thread in self.0 {
            let _ = thread.join();
        }
    }
}

fn fill(items: &Receiver<Item>, waiting: &AtomicUsize, secrets: &Secrets, live: &Live) {
    let mut words = Words::default();
    while let Ok(item) = items.recv() {
        match item {
            Item::Events(events) => live.facts(events),
            Item::Agent(slot, mut event) => {
                waiting.fetch_sub(1, Ordering::Relaxed);
                words.clean(slot, &mut event, secrets);
                live.agent(slot, clock::now(), event);
            }
            Item::Missed(slot) => {
                waiting.fetch_sub(1, Ordering::Relaxed);
                live.missed(slot);
            }
            Item::End => live.close(),
        }
    }
    live.close();
}

/// What each agent said last: a private key may come as many words.
#[derive(Default)]
struct Words(HashMap<SlotId, Stream>);

impl Words {
    /// Takes the secrets out of what an agent says.
    fn clean(&mut self, slot: SlotId, event: &mut AgentEvent, secrets: &Secrets) {
        match event {
            AgentEvent::Text { text } | AgentEvent::Thinking { text } => {
                let stream = self.0.entry(slot).or_insert_with(|| secrets.stream(StreamKind::Text));
                let mut out = Vec::with_capacity(text.len());
                stream.feed(text.as_bytes(), &mut out);
                stream.pause(&mut out);
                *text = String::from_utf8(out)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            }
            AgentEvent::ToolStarted { name, input, .. } => {
                secrets.clean(name);
                secrets.clean(input);
            }
            AgentEvent::ToolEnded { text, .. }
            | AgentEvent::Denied { tool: text }
            | AgentEvent::UserMessage { text }
            | AgentEvent::Retrying { error: text, .. }
            | AgentEvent::Unknown { kind: text } => secrets.clean(text),
            AgentEvent::Started { model, version } => {
                model.iter_mut().chain(version).for_each(|text| secrets.clean(text));
            }
            AgentEvent::Message { model, .. } => secrets.clean(model),
            AgentEvent::Result { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ralph_core::run::Fact;
    use ralph_core::time::Timestamp;
    use ralph_core::view::stream::{Next, Observed};

    use super::*;

    fn event(seq: u64) -> RunEvent {
        let (run, fact) = ("r-abcd2345".parse().unwrap(), Fact::Surveying { slot: 0 });
        RunEvent { v: RunEvent::VERSION, run, seq, at: Timestamp::default(), fact }
    }

    /// Its terminal is stopped, or the connection to it hangs.
    #[test]
    fn a_display_that_stands_still_stops_neither_the_run_nor_another_display() {
        const FACTS: u64 = 4 * QUEUE as u64;
        let (go_on, stopped) = channel::<()>();
        let (counted, count) = channel();
        let stuck: Reader = Box::new(move |source| {
            let _ = stopped.recv();
            while source.next(Duration::ZERO) != Next::Over {}
        });
        let counts: Reader = Box::new(move |source| {
            let is_fact = |next: &Next| matches!(next, Next::Seen(seen) if matches!(seen.what, Observed::Fact { .. }));
            let all = std::iter::from_fn(|| Some(source.next(Duration::from_secs(60))));
            let facts = all.take_while(|next| *next != Next::Over).filter(is_fact).count();
            counted.send(facts as u64).unwrap();
        });
        let live = Live::new(Path::new("/nonexistent/events.jsonl"));
        let (mut display, threads) = Display::start(vec![stuck, counts], Secrets::default(), live);
        for seq in 1..=FACTS {
            display.events(vec![event(seq)]);
            display.agent(0, AgentEvent::Text { text: "word".to_owned() });
        }
        display.end();
        assert_eq!(count.recv_timeout(Duration::from_secs(60)), Ok(FACTS));
        go_on.send(()).unwrap();
        drop(display);
        threads.finish();
    }
}

//! Runs the displays on their own thread, so that a slow terminal does not slow the loop. Facts are always
//! delivered; agent output is dropped for a while when the displays do not keep up, because nobody reads that fast
//! and showing it would take time from the agent.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ralph_core::agent::AgentEvent;
use ralph_core::redact::{Secrets, Stream, StreamKind};
use ralph_core::run::{RunEvent, SlotId};
use ralph_core::view::Reporter;

use crate::clock::{self, Stopwatch};
use crate::feed::live::Live;

/// The most items that may wait to be shown.
const QUEUE: usize = 512;
/// How long output of an agent that exceeds that is dropped.
const REST: Duration = Duration::from_millis(100);

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
    items: SyncSender<Item>,
    /// Since when it rests.
    rests: Option<Stopwatch>,
    /// It has dropped output that it has not marked yet.
    dropped: bool,
}

/// The thread.
pub(super) struct DisplayThread(JoinHandle<()>);

impl Display {
    pub(super) fn start(
        reporters: Vec<Box<dyn Reporter + Send>>,
        secrets: Secrets,
        live: Live,
    ) -> (Self, DisplayThread) {
        let (sender, items) = sync_channel(QUEUE);
        let thread = std::thread::spawn(move || show(&items, reporters, &secrets, &live));
        (Self { items: sender, rests: None, dropped: false }, DisplayThread(thread))
    }

    /// Shows facts, whatever it takes.
    pub(super) fn events(&self, events: Vec<RunEvent>) {
        let _ = self.items.send(Item::Events(events));
    }

    /// No fact follows: whoever follows the run gets the end.
    pub(super) fn end(&self) {
        let _ = self.items.send(Item::End);
    }

    /// Whether the displays can take more agent output.
    pub(super) fn has_room(&mut self) -> bool {
        if self.rests.is_some_and(|since| since.elapsed() >= REST) {
            self.rests = None;
        }
        self.rests.is_none()
    }

    /// Shows agent output, if the displays keep up.
    pub(super) fn agent(&mut self, slot: SlotId, event: AgentEvent) {
        if self.dropped && !self.offer(Item::Missed(slot)) {
            return;
        }
        self.dropped = !self.offer(Item::Agent(slot, event));
    }

    /// Whether there was space for it. If there was none, it rests.
    fn offer(&mut self, item: Item) -> bool {
        let full = matches!(self.items.try_send(item), Err(TrySendError::Full(_)));
        if full {
            self.rests = Some(Stopwatch::start());
        }
        !full
    }
}

impl DisplayThread {
    /// Waits until everything was shown. Every sender must be gone.
    pub(super) fn finish(self) {
        let _ = self.0.join();
    }
}

fn show(
    items: &Receiver<Item>,
    mut reporters: Vec<Box<dyn Reporter + Send>>,
    secrets: &Secrets,
    live: &Live,
) {
    let mut words = Words::default();
    loop {
        match items.recv_timeout(Duration::from_secs(1)) {
            Ok(Item::Events(events)) => {
                for event in &events {
                    live.fact(event.seq);
                    for reporter in &mut reporters {
                        reporter.event(event);
                    }
                }
            }
            Ok(Item::Agent(slot, mut event)) => {
                words.clean(slot, &mut event, secrets);
                live.agent(slot, clock::now(), &event);
                for reporter in &mut reporters {
                    reporter.agent(slot, &event);
                }
            }
            Ok(Item::Missed(slot)) => live.missed(slot),
            Ok(Item::End) => live.close(),
            Err(RecvTimeoutError::Timeout) => {
                for reporter in &mut reporters {
                    reporter.tick(clock::now());
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                for reporter in &mut reporters {
                    reporter.finish();
                }
                return;
            }
        }
    }
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

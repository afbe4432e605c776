//! The trait that every display of lines implements, and how one reads a stream.

use std::time::Duration;

use super::part::{LogFilter, Part};
use super::stream::{EventSource, Next, Observed};
use crate::agent::AgentEvent;
use crate::run::{RunEvent, SlotId};
use crate::time::Timestamp;

/// How long nothing happens before a display gets the time. A sentence of an agent that comes in pieces is whole until then.
const MOMENT: Duration = Duration::from_secs(1);

/// Something that shows a run. Every call is cheap and none fails: a display that can no longer write
/// stops writing, and the run continues.
pub trait Reporter {
    /// A line of the journal. Each comes once, in order.
    fn event(&mut self, event: &RunEvent);

    /// The same where it is to be known, and not shown: it belongs to another part of the run.
    fn skip(&mut self, _event: &RunEvent) {}

    /// An event of the agent in a slot while it works. It is not in the journal and comes only once.
    fn agent(&mut self, _slot: SlotId, _at: Timestamp, _event: &AgentEvent) {}

    /// Some output of the agent in a slot is missing here.
    fn missed(&mut self, _slot: SlotId) {}

    /// The time, where nothing has happened for a moment.
    fn tick(&mut self, _now: Timestamp) {}

    /// Nothing more comes.
    fn finish(&mut self) {}

    /// Whether its reader is gone: there is no use in showing more.
    fn is_broken(&self) -> bool {
        false
    }
}

impl<R: Reporter + ?Sized> Reporter for Box<R> {
    fn event(&mut self, event: &RunEvent) {
        (**self).event(event);
    }

    fn skip(&mut self, event: &RunEvent) {
        (**self).skip(event);
    }

    fn agent(&mut self, slot: SlotId, at: Timestamp, event: &AgentEvent) {
        (**self).agent(slot, at, event);
    }

    fn missed(&mut self, slot: SlotId) {
        (**self).missed(slot);
    }

    fn tick(&mut self, now: Timestamp) {
        (**self).tick(now);
    }

    fn finish(&mut self) {
        (**self).finish();
    }

    fn is_broken(&self) -> bool {
        (**self).is_broken()
    }
}

/// Several displays of one stream, in their order. They go on without those whose readers are gone.
impl<R: Reporter> Reporter for Vec<R> {
    fn event(&mut self, event: &RunEvent) {
        self.iter_mut().for_each(|one| one.event(event));
    }

    fn skip(&mut self, event: &RunEvent) {
        self.iter_mut().for_each(|one| one.skip(event));
    }

    fn agent(&mut self, slot: SlotId, at: Timestamp, event: &AgentEvent) {
        self.iter_mut().for_each(|one| one.agent(slot, at, event));
    }

    fn missed(&mut self, slot: SlotId) {
        self.iter_mut().for_each(|one| one.missed(slot));
    }

    fn tick(&mut self, now: Timestamp) {
        self.iter_mut().for_each(|one| one.tick(now));
    }

    fn finish(&mut self) {
        self.iter_mut().for_each(Reporter::finish);
    }

    fn is_broken(&self) -> bool {
        self.iter().all(Reporter::is_broken)
    }
}

/// Shows a part of the first run of a stream, until the stream is over or the display has lost its reader. `now` is asked
/// for the time while nothing happens; it gets the time of what happened last.
pub fn show(
    source: &mut dyn EventSource,
    part: Part,
    display: &mut impl Reporter,
    now: impl Fn(Timestamp) -> Timestamp,
) {
    let mut shown = LogFilter::new(part);
    let mut last = Timestamp::default();
    while !display.is_broken() {
        let seen = match source.next(MOMENT) {
            Next::Over => break,
            Next::Quiet => {
                display.tick(now(last));
                continue;
            }
            Next::Seen(seen) => seen,
        };
        match seen.what {
            _ if seen.of > 0 => {}
            Observed::Fact { event } => {
                last = last.max(event.at);
                match shown.admits(&event) {
                    true => display.event(&event),
                    false => display.skip(&event),
                }
            }
            Observed::Agent { slot, at, event } if shown.admits_slot(slot) => {
                last = last.max(at);
                display.agent(slot, at, &event);
            }
            Observed::Missed { slot } if shown.admits_slot(slot) => display.missed(slot),
            Observed::Agent { .. }
            | Observed::Joined { .. }
            | Observed::Missed { .. }
            | Observed::Left => {}
        }
    }
    display.finish();
}

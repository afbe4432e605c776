//! The trait that every display of a run implements.

use crate::agent::AgentEvent;
use crate::run::{RunEvent, SlotId};
use crate::time::Timestamp;

/// Something that shows a run. Every call is cheap and none fails: a display that can no longer write
/// stops writing, and the run continues.
pub trait Reporter {
    /// A line of the journal. Each comes once, in order.
    fn event(&mut self, event: &RunEvent);

    /// An event of the agent in a slot while it works. It is not in the journal and comes only once.
    fn agent(&mut self, _slot: SlotId, _event: &AgentEvent) {}

    /// Some output of the agent in a slot is missing here.
    fn missed(&mut self, _slot: SlotId) {}

    /// The time, about once a second.
    fn tick(&mut self, _now: Timestamp) {}

    /// Nothing more comes.
    fn finish(&mut self) {}
}

impl<R: Reporter + ?Sized> Reporter for Box<R> {
    fn event(&mut self, event: &RunEvent) {
        (**self).event(event);
    }

    fn agent(&mut self, slot: SlotId, event: &AgentEvent) {
        (**self).agent(slot, event);
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
}

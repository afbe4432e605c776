//! Which facts of a run belong to a part of it.

use crate::run::{Fact, RunEvent, SlotId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Whole,
    /// One iteration, with every session that had its number.
    Iteration(u32),
}

/// Decides which events belong to a part. Ask it about every event of a journal, in order.
#[derive(Debug, Clone)]
pub struct LogFilter {
    part: Part,
    /// The slots in which the iteration runs.
    slots: Vec<SlotId>,
    /// The slot of the last event that had one: facts without a slot belong to it.
    last: Option<SlotId>,
}

impl LogFilter {
    /// For a journal from its first event on.
    pub const fn new(part: Part) -> Self {
        Self { part, slots: vec![], last: None }
    }

    /// Whether the next event belongs to the part.
    pub fn admits(&mut self, event: &RunEvent) -> bool {
        let Part::Iteration(wanted) = self.part else { return true };
        let slot = event.fact.slot();
        if let (Fact::IterationStarted { iteration, .. }, Some(slot)) = (&event.fact, slot) {
            self.slots.retain(|other| *other != slot);
            if *iteration == wanted {
                self.slots.push(slot);
            }
        }
        self.last = slot.or(self.last);
        let inside = self.last.is_some_and(|slot| self.slots.contains(&slot));
        if let (Fact::IterationEnded { .. }, Some(slot)) = (&event.fact, slot) {
            self.slots.retain(|other| *other != slot);
        }
        let after = matches!(
            event.fact,
            Fact::StopDecided { .. }
                | Fact::Publishing
                | Fact::Published { .. }
                | Fact::Watching { .. }
                | Fact::Reviewed { .. }
                | Fact::RunEnded { .. }
        );
        inside && !after
    }

    /// Whether what the agent of this slot says now belongs to the part.
    pub fn admits_slot(&self, slot: SlotId) -> bool {
        self.part == Part::Whole || self.slots.contains(&slot)
    }
}

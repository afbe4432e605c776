//! Whether the lanes are paused: one that begins then is paused too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_core::Timestamp;
use ralph_core::agent::AgentEvent;
use ralph_core::run::{Control, Fact, RunEvent, SlotId};
use ralph_core::view::Reporter;

/// Hears from every lane what a person told it.
#[derive(Debug, Clone, Default)]
pub(super) struct Paused(Arc<AtomicBool>);

impl Paused {
    /// Whether the last word was to pause.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Reporter for Paused {
    fn event(&mut self, event: &RunEvent) {
        match &event.fact {
            Fact::ControlReceived { control: Control::Pause } => {
                self.0.store(true, Ordering::Release);
            }
            Fact::ControlReceived { control: Control::Resume } => {
                self.0.store(false, Ordering::Release);
            }
            _ => {}
        }
    }

    fn agent(&mut self, _slot: SlotId, _event: &AgentEvent) {}

    fn tick(&mut self, _now: Timestamp) {}

    fn finish(&mut self) {}
}

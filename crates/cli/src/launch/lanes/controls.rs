//! The user's commands to the running lanes: a lane that starts while they are paused is paused too, and none starts
//! once one of them is cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_core::run::{Control, Fact, RunEvent};
use ralph_core::view::Reporter;

/// Collects the user's commands from every lane.
#[derive(Debug, Clone, Default)]
pub(super) struct Controls(Arc<ReceivedControls>);

#[derive(Debug, Default)]
struct ReceivedControls {
    paused: AtomicBool,
    cancelled: AtomicBool,
}

impl Controls {
    /// Whether the last command was to pause.
    pub(super) fn paused(&self) -> bool {
        self.0.paused.load(Ordering::Acquire)
    }

    /// Whether the call is cancelled, even if its lanes have not stopped yet.
    pub(super) fn cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }
}

impl Reporter for Controls {
    fn event(&mut self, event: &RunEvent) {
        let Fact::ControlReceived { control } = &event.fact else { return };
        match control {
            Control::Pause => self.0.paused.store(true, Ordering::Release),
            Control::Resume => self.0.paused.store(false, Ordering::Release),
            Control::Cancel(_) => self.0.cancelled.store(true, Ordering::Release),
            Control::Skip { .. } | Control::Retry { .. } | Control::Tell { .. } => {}
        }
    }
}

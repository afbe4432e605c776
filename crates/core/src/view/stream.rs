//! The stream that every display reads. Where it comes from, a running process, a socket or a journal, no reader can tell.
//!
//! Facts of a run come once each and in order, from its first on, however late or slow the reader is. Output of agents is
//! what a reader may miss: then [`Observed::Missed`] stands in its place.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::AgentEvent;
use crate::run::{RunEvent, SlotId};
use crate::time::{Timestamp, millis};

/// Which run of a stream something is about: they are numbered from 0 in the order in which they join.
pub type RunNumber = u32;

/// What happens in one of the runs of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    pub of: RunNumber,
    #[serde(flatten)]
    pub what: Observed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every value is of the large variant, and lives for a moment"
)]
pub enum Observed {
    /// The run joins the stream. A replay in which the user jumps back joins once more: everything about it starts over.
    Joined {
        /// The branch that it works on, where it is one of several; empty otherwise.
        name: String,
    },
    /// A line of its journal.
    Fact { event: RunEvent },
    /// An agent said or did something. This is in no journal.
    Agent {
        slot: SlotId,
        #[serde(with = "millis")]
        at: Timestamp,
        event: AgentEvent,
    },
    /// The reader was too slow or came too late for some output of an agent.
    Missed { slot: SlotId },
    /// The process of the run has ended: nothing more comes about it.
    Left,
}

/// What a source has next.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every value is of the large variant, and lives for a moment"
)]
pub enum Next {
    Seen(Observation),
    /// Nothing happened while the reader waited.
    Quiet,
    /// Nothing more will come.
    Over,
}

/// Where a display reads from.
pub trait EventSource {
    /// What happened next; waits so long for it. Never fails: a run that can no longer be read leaves the stream.
    fn next(&mut self, wait: Duration) -> Next;
}

impl<S: EventSource + ?Sized> EventSource for Box<S> {
    fn next(&mut self, wait: Duration) -> Next {
        (**self).next(wait)
    }
}

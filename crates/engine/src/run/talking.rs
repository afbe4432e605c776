//! How other parts of the engine talk to the session that runs in a slot.

use ralph_core::run::SlotId;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};

use super::ports::Ports;
use crate::process::{Delivery, Said};

/// How many texts may wait until the supervisor looks at them.
const MOST_WAITING: usize = 16;

/// The conversation with a session is open while this lives.
pub(super) struct OpenConversation<'a> {
    ports: &'a Ports,
    slot: SlotId,
}

impl Drop for OpenConversation<'_> {
    fn drop(&mut self) {
        *self.ports.says(self.slot) = None;
    }
}

impl Ports {
    /// Sends a text of the user to the session that runs in a slot. The agent reads it at its next turn, which is as
    /// soon as it has finished the tool call or the answer that it is at. The receiver learns how far the text got:
    ///
    /// - [`Delivery::Refused`]: no session runs there, its agent cannot be talked to, or it is about to end. The text
    ///   belongs into the prompt of the next attempt.
    /// - [`Delivery::Sent`]: the agent has it before it and has not confirmed it. Where the receiver is closed with
    ///   this value, the session ended without a confirmation.
    /// - [`Delivery::Arrived`]: the agent confirmed that it has read it.
    ///
    /// The value stays [`Delivery::Pending`] only for the moment until the supervisor takes the text up.
    pub(super) fn say(&self, slot: SlotId, text: &str) -> watch::Receiver<Delivery> {
        let (said, delivery) = Said::new(text);
        // What is dropped is refused.
        if let Some(says) = &*self.says(slot)
            && let Err(TrySendError::Full(said) | TrySendError::Closed(said)) = says.try_send(said)
        {
            said.report(Delivery::Refused);
        }
        delivery
    }

    /// A session begins that can be talked to.
    pub(super) fn open_conversation(
        &self,
        slot: SlotId,
    ) -> (OpenConversation<'_>, mpsc::Receiver<Said>) {
        let (sender, says) = mpsc::channel(MOST_WAITING);
        *self.says(slot) = Some(sender);
        (OpenConversation { ports: self, slot }, says)
    }
}

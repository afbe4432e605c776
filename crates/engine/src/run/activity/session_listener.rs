//! Listens to a session: its driver gives what the agent prints a meaning, the display shows it. Texts of the user go
//! the other way.

use ralph_core::agent::{AgentEvent, ProcessEnd, SessionEnd};
use ralph_core::run::SlotId;

use crate::agents::Driver;
use crate::process::{Delivery, LineEffect, Listener, Said};
use crate::run::display::Display;

/// How many texts may be on their way to an agent at once.
const MOST_UNCONFIRMED: usize = 64;

pub(super) struct SessionListener {
    driver: Box<dyn Driver>,
    events: Vec<AgentEvent>,
    display: Display,
    slot: SlotId,
    has_result: bool,
    /// Texts that the agent has not confirmed.
    unconfirmed: Vec<Said>,
}

impl SessionListener {
    pub(super) fn new(driver: Box<dyn Driver>, display: Display, slot: SlotId) -> Self {
        Self { driver, events: vec![], display, slot, has_result: false, unconfirmed: vec![] }
    }

    /// Whether the last word of the session was its result.
    pub(super) fn has_result(&self) -> bool {
        self.has_result
    }

    /// How the session ended, once its process is no more.
    pub(super) fn end(self, end: &ProcessEnd, stderr_tail: &str) -> SessionEnd {
        self.driver.end(end, stderr_tail)
    }
}

impl Listener for SessionListener {
    fn stdout(&mut self, line: &[u8], cut: bool, replies: &mut Vec<u8>) -> LineEffect {
        self.driver.set_display_active(self.display.has_room());
        let effect = self.driver.line(line, cut, &mut self.events, replies);
        match effect {
            LineEffect::Result | LineEffect::Over => self.has_result = true,
            LineEffect::Resumed => self.has_result = false,
            LineEffect::Going => {}
        }
        for event in self.events.drain(..) {
            if let AgentEvent::UserMessage { text } = &event {
                let arrived = self.unconfirmed.iter().position(|said| said.text == *text);
                let arrived = arrived.map(|at| self.unconfirmed.swap_remove(at));
                arrived.iter().for_each(|said| said.report(Delivery::Arrived));
            }
            self.display.agent(self.slot, event);
        }
        effect
    }

    fn say(&mut self, said: Said) -> Option<Vec<u8>> {
        let has_room = self.unconfirmed.len() < MOST_UNCONFIRMED;
        let words = if has_room { self.driver.say(&said.text) } else { None };
        match words {
            Some(_) => {
                said.report(Delivery::Sent);
                self.unconfirmed.push(said);
            }
            None => said.report(Delivery::Refused),
        }
        words
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        self.driver.interrupt()
    }
}

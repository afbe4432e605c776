//! A reader in the process of the run: what its own displays read.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use ralph_core::view::stream::{EventSource, Next, Observation, Observed};

use super::{Heard, Inner, KEPT, Ring, State};
use crate::clock::Stopwatch;

/// How much of a slot's output a reader still gets that has fallen behind. The rest of the space is its lead until the next
/// gap.
const REST: usize = KEPT / 4;

#[derive(Debug)]
pub struct LocalSource {
    live: Arc<Inner>,
    /// Which of the local readers it is.
    number: usize,
    heard: Heard,
}

impl LocalSource {
    pub(super) fn new(live: &Arc<Inner>) -> Self {
        let mut state = live.state();
        state.local.push(Some(VecDeque::new()));
        let number = state.local.len() - 1;
        drop(state);
        Self { live: Arc::clone(live), number, heard: Heard::default() }
    }

    fn take(&mut self, state: &mut State) -> Option<Observed> {
        let output = self.heard.next(state);
        let until = output.as_ref().map_or(state.fact, |(_, place, _)| place.after);
        let facts = state.local.get_mut(self.number).and_then(Option::as_mut)?;
        if let Some(event) = facts.pop_front_if(|event| event.seq <= until) {
            return Some(Observed::Fact { event: Arc::unwrap_or_clone(event) });
        }
        let (slot, place, what) = output?;
        self.heard.has(slot, place);
        if matches!(what, Observed::Missed { .. }) {
            self.heard.skip_to(slot, state.slots[slot].last_bytes(REST));
        }
        Some(what)
    }
}

impl Heard {
    /// Leaves out the output of a slot before this place.
    fn skip_to(&mut self, slot: usize, order: u64) {
        self.0[slot] = self.0[slot].max(order);
    }
}

impl Ring {
    /// Where the last output begins that has so many bytes.
    fn last_bytes(&self, most: usize) -> u64 {
        let mut bytes = 0;
        let newest = self.kept.iter().rev().take_while(|output| {
            bytes += output.bytes();
            bytes <= most
        });
        newest.last().or(self.kept.back()).map_or(0, |output| output.place.order)
    }
}

impl EventSource for LocalSource {
    fn next(&mut self, wait: Duration) -> Next {
        let began = Stopwatch::start();
        let live = Arc::clone(&self.live);
        let mut state = live.state();
        loop {
            if let Some(what) = self.take(&mut state) {
                return Next::Seen(Observation { of: 0, what });
            }
            if state.closed {
                return Next::Over;
            }
            let left = wait.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Next::Quiet;
            }
            let waited = live.added.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for LocalSource {
    /// Facts are no longer kept for it.
    fn drop(&mut self) {
        self.live.state().local[self.number] = None;
    }
}

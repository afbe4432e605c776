//! The panes: one for each slot of each run that counts now, and one for the summary of a run that has ended. Which one
//! has the focus, and how far each is scrolled.

use std::collections::BTreeMap;

use ralph_core::run::SlotId;
use ralph_core::view::live::{LiveRun, LiveView, Transcript};
use ralph_core::view::stream::RunNumber;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PaneId {
    Slot(RunNumber, SlotId),
    Summary(RunNumber),
}

impl PaneId {
    pub(super) const fn run(self) -> RunNumber {
        match self {
            Self::Slot(run, _) | Self::Summary(run) => run,
        }
    }
}

/// A place in a transcript: the number of an entry, and a row of it.
pub(super) type Anchor = (u64, usize);

/// What a pane shows first. `None` in the map means its end: the pane follows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Panes {
    focused: Option<PaneId>,
    anchors: BTreeMap<PaneId, Anchor>,
    /// Only the pane with the focus is shown.
    pub(super) zoomed: bool,
    /// Output of tools and gates is shown in full.
    pub(super) whole: bool,
}

/// The panes that there are.
pub(super) fn all(live: &LiveView) -> Vec<PaneId> {
    let current = live.current();
    let counts = |run: &LiveRun| current.iter().any(|one| std::ptr::eq(*one, run));
    let mut panes = Vec::new();
    for (run, number) in live.runs.iter().zip(0..).filter(|(run, _)| counts(run)) {
        let worked = |slot: &SlotId| {
            let busy = run.view.busy().any(|(busy, _)| busy == *slot);
            busy || run.said(*slot).is_some_and(|said| said.next_number() > 0)
        };
        let slots = run.view.slots.len() as SlotId;
        panes.extend((0..slots).filter(worked).map(|slot| PaneId::Slot(number, slot)));
        if run.view.outcome.is_some() {
            panes.push(PaneId::Summary(number));
        }
    }
    panes
}

impl Panes {
    /// The pane with the focus; where the user chose none, one that works.
    pub(super) fn focused(&self, live: &LiveView, all: &[PaneId]) -> Option<PaneId> {
        let chosen = self.focused.filter(|pane| all.contains(pane));
        let summary = || all.iter().rev().find(|pane| matches!(pane, PaneId::Summary(_)));
        let busy = || live.busy().map(|(run, slot)| PaneId::Slot(run, slot)).next();
        let usual = || match live.is_over() {
            true => summary().copied(),
            false => busy().filter(|pane| all.contains(pane)),
        };
        chosen.or_else(usual).or_else(|| all.first().copied())
    }

    pub(super) const fn focus(&mut self, pane: PaneId) {
        self.focused = Some(pane);
    }

    /// A run has ended: its summary is what the user wants to see.
    pub(super) const fn release(&mut self) {
        self.focused = None;
    }

    /// Moves the focus by so many panes, around the end.
    pub(super) fn cycle(&mut self, live: &LiveView, by: isize) {
        let all = all(live);
        let Some(now) = self.focused(live, &all) else { return };
        let at = all.iter().position(|pane| *pane == now).unwrap_or(0);
        let next = (at as isize + by).rem_euclid(all.len() as isize);
        self.focused = all.get(next as usize).copied();
    }

    /// The run begins once more: its panes show their ends.
    pub(super) fn follow(&mut self, run: RunNumber) {
        self.anchors.retain(|pane, _| pane.run() != run);
    }

    pub(super) fn anchor(&self, pane: PaneId) -> Option<Anchor> {
        self.anchors.get(&pane).copied()
    }

    pub(super) fn set_anchor(&mut self, pane: PaneId, anchor: Option<Anchor>) {
        match anchor {
            Some(anchor) => self.anchors.insert(pane, anchor),
            None => self.anchors.remove(&pane),
        };
    }
}

/// Rows of a transcript: `height` of the entry with this number.
pub(super) struct Rows<'a, F> {
    pub(super) said: &'a Transcript,
    pub(super) height: F,
}

impl<F: Fn(u64) -> usize> Rows<'_, F> {
    /// The place from which the last `rows` rows are shown.
    pub(super) fn end(&self, rows: usize) -> Anchor {
        self.up((self.said.next_number(), 0), rows)
    }

    /// `rows` rows before a place.
    pub(super) fn up(&self, (mut entry, row): Anchor, rows: usize) -> Anchor {
        if row >= rows {
            return (entry, row - rows);
        }
        let mut left = rows - row;
        while entry > self.said.dropped {
            entry -= 1;
            let own = (self.height)(entry);
            if own >= left {
                return (entry, own - left);
            }
            left -= own;
        }
        (self.said.dropped, 0)
    }

    /// `rows` rows after a place; `None` where the last `page` rows then show the end.
    pub(super) fn down(&self, (entry, row): Anchor, rows: usize, page: usize) -> Option<Anchor> {
        let (mut entry, mut row) =
            if entry < self.said.dropped { (self.said.dropped, 0) } else { (entry, row) };
        let mut left = rows;
        while entry < self.said.next_number() {
            let own = (self.height)(entry);
            if row + left < own {
                row += left;
                break;
            }
            left -= own.saturating_sub(row).min(left);
            (entry, row) = (entry + 1, 0);
            if left == 0 {
                break;
            }
        }
        ((entry, row) < self.end(page)).then_some((entry, row))
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::agent::AgentEvent;
    use ralph_core::time::Timestamp;
    use ralph_core::view::stream::{Observation, Observed};

    use super::*;

    fn three_entries() -> LiveView {
        let mut live = LiveView::default();
        for id in ["a", "b", "c"] {
            let (id, name, input) = (id.to_owned(), "Run".to_owned(), "ls".to_owned());
            let event = AgentEvent::ToolStarted { id, name, input };
            let (slot, at) = (0, Timestamp::default());
            live.apply(&Observation { of: 0, what: Observed::Agent { slot, at, event } });
        }
        live
    }

    #[test]
    fn a_transcript_scrolls_by_rows_and_follows_again_at_its_end() {
        let live = three_entries();
        // Nine rows.
        let rows = Rows { said: &live.runs[0].transcripts[0], height: |entry| 2 + entry as usize };
        let end = rows.end(4);
        assert_eq!(end, (2, 0));
        assert_eq!(rows.up(end, 1), (1, 2));
        assert_eq!(rows.up(end, 4), (0, 1));
        assert_eq!(rows.up(end, 99), (0, 0));
        assert_eq!(rows.down((0, 0), 3, 4), Some((1, 1)));
        assert_eq!(rows.down((1, 1), 2, 4), None);
        assert_eq!(rows.down((0, 0), 99, 4), None);
    }
}

//! The progress line: how far the run is and what it does now.

use ralph_core::time::Timestamp;
use ralph_core::view::{RunView, SlotView, words};

use crate::line::Line;
use crate::style::{Look, Meaning};
use crate::units::{duration, money};

/// The line, one cell narrower than the terminal, so that it never wraps.
pub(super) fn progress(view: &RunView, now: Timestamp, look: Look) -> String {
    let mut parts = Vec::new();
    // First, because a narrow terminal cuts the end.
    if let Some(cancel) = view.cancel {
        parts.push(words::cancel(cancel, view.sessions()).to_owned());
        parts.extend(doing(view, now));
    }
    if view.counts.total() > 0 {
        parts.push(format!("{}/{} done", view.counts.done, view.counts.total()));
    }
    parts.push(duration(view.elapsed(now)));
    if let Some(cost) = view.usage.cost_micro_usd {
        parts.push(money(cost));
    }
    if let Some(rest) = view.forecast() {
        let cost = rest.micro_usd.map(|cost| format!("~{}, ", money(cost))).unwrap_or_default();
        parts.push(format!("{cost}~{} left", duration(rest.duration_ms)));
    }
    if view.cancel.is_none() {
        parts.extend(doing(view, now));
        parts.extend(view.stopping.is_some().then(|| "stopping".to_owned()));
    }
    let width = look.width.map(|width| width.saturating_sub(1));
    Line::new().flexible(Some(Meaning::Faint), parts.join(" · ")).fit(look, width)
}

/// What each slot does, and for how long.
fn doing(view: &RunView, now: Timestamp) -> Vec<String> {
    let busy: Vec<&SlotView> = view.busy().map(|(_, slot)| slot).collect();
    match busy.as_slice() {
        [slot] => vec![alone(slot, now)],
        many => many.iter().map(|slot| beside_others(slot, now)).collect(),
    }
}

/// What the only busy slot does or waits for, and for how long.
fn alone(slot: &SlotView, now: Timestamp) -> String {
    if let Some(waiting) = &slot.waiting {
        let what = words::wait(&waiting.wait);
        return match waiting.until {
            Some(until) => format!("{what}: {} left", duration(until.millis_since(now))),
            None => what,
        };
    }
    let lasting = duration(now.millis_since(slot.since));
    match &slot.task {
        Some(task) => format!("{} {} {lasting}", task.id, slot.doing.as_str()),
        None => format!("{} {lasting}", slot.doing.as_str()),
    }
}

fn beside_others(slot: &SlotView, now: Timestamp) -> String {
    let lasting = duration(now.millis_since(slot.since));
    match (&slot.waiting, slot.iteration) {
        (Some(_), _) => format!("waiting {lasting}"),
        (None, 0) => format!("{} {lasting}", slot.doing.as_str()),
        (None, number) => format!("{number} {} {lasting}", slot.doing.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::agent::Usage;
    use ralph_core::task::Counts;

    use super::*;

    #[test]
    fn the_rest_is_told_once_three_tasks_are_settled() {
        let usage = Usage { cost_micro_usd: Some(600_000), ..Usage::default() };
        let counts = Counts { open: 2, done: 3, ..Counts::default() };
        let mut view =
            RunView { usage, counts, settled: 2, worked_ms: 90_000, ..RunView::default() };
        let shown = |view: &RunView| progress(view, Timestamp::default(), Look::PLAIN);
        assert_eq!(shown(&view), "3/5 done · 0s · $0.60");
        view.settled = 3;
        assert_eq!(shown(&view), "3/5 done · 0s · $0.60 · ~$0.40, ~1m 00s left");
        view.usage.cost_micro_usd = None;
        assert_eq!(shown(&view), "3/5 done · 0s · ~1m 00s left");
    }
}

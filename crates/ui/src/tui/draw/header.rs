//! The first two lines: which repository and run, what state it is in, how far it is, what it cost and will cost. In a
//! replay, a third one says where it is.

use ralph_core::time::Zone;
use ralph_core::view::playback::Position;
use ralph_core::view::totals::Totals;
use ralph_core::view::{Condition, words};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::text::Row;
use crate::style::Meaning;
use crate::tui::replay::Replay;
use crate::tui::state::State;
use crate::units::{duration, money};

const BETWEEN: &str = " · ";

/// How many rows the header has.
pub(super) const fn height(state: &State) -> u16 {
    if state.replay.is_some() { 3 } else { 2 }
}

pub(super) fn draw(state: &State, buffer: &mut Buffer, area: Rect) {
    let totals = state.live.totals(state.now);
    let width = usize::from(area.width);
    let (meaning, word) = condition(state, &totals);
    let time = match totals.elapsed_ms {
        0 => String::new(),
        elapsed => format!(" {}", duration(elapsed)),
    };
    let right = Row::of(meaning, word).add(Meaning::Faint, time);
    let left = Row::of(Meaning::Heading, name(&state.root)).fit(
        None,
        &about(state),
        width,
        right.width() + 2,
    );
    left.draw(buffer, (area.x, area.y), area.width, state.palette);
    let x = area.width.saturating_sub(right.width() as u16);
    right.draw(buffer, (x, area.y), area.width - x, state.palette);
    figures(state, &totals, width).draw(buffer, (0, area.y + 1), area.width, state.palette);
    if let Some(replay) = &state.replay {
        place(replay, &state.zone, width).draw(buffer, (0, area.y + 2), area.width, state.palette);
    }
}

/// Where a replay is, and how fast.
fn place(replay: &Replay, zone: &Zone, width: usize) -> Row {
    let Position { at, speed, paused, ended } = replay.position;
    let (meaning, word) = match (paused, ended) {
        (true, _) => (Meaning::Warning, "paused"),
        (false, true) => (Meaning::Good, "at its end"),
        (false, false) => (Meaning::Active, "playing"),
    };
    let percent = replay.timeline.percent(at);
    let row = Row::of(Meaning::Heading, "replay").plain(" ").add(meaning, word);
    let row = separated(row).plain(speed.to_string());
    let row = bar(row.plain(" "), u64::from(percent), 100, (width / 8).clamp(8, 24), meaning);
    let row = separated(row.plain(format!(" {percent}%"))).plain(at.clock(zone));
    match replay.iteration() {
        Some((number, last)) => {
            row.fit(None, &format!("{BETWEEN}iteration {number} of {last}"), width, 0)
        }
        None => row,
    }
}

/// The last folder of a path.
fn name(root: &str) -> &str {
    root.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(root)
}

/// What runs here, and with which agent.
fn about(state: &State) -> String {
    let current = state.live.current();
    let Some(run) = current.first().map(|run| &run.view) else { return String::new() };
    let mut parts = vec![format!("{} {}", run.mode, run.target).trim().to_owned()];
    if current.len() > 1 {
        parts = vec![format!("{} branches", current.len())];
    }
    if !run.preset.is_empty() {
        parts.push(run.preset.clone());
    }
    parts.push(run.agent.clone());
    parts.extend(run.run.as_ref().filter(|_| current.len() == 1).map(ToString::to_string));
    parts.retain(|part| !part.is_empty());
    format!("{BETWEEN}{}", parts.join(BETWEEN))
}

fn condition(state: &State, totals: &Totals) -> (Meaning, String) {
    let current = state.live.current();
    if let (Some(cancel), 1..) = (totals.cancel, totals.active) {
        return (Meaning::Warning, words::cancel(cancel, totals.sessions).to_lowercase());
    }
    match totals.active {
        0 => match current.last() {
            None => (Meaning::Faint, "no run".to_owned()),
            Some(run) => in_words(Condition::of(run)),
        },
        _ => in_words(Condition::of_active(totals.paused, totals.stopping)),
    }
}

fn in_words(condition: Condition) -> (Meaning, String) {
    let meaning = match condition {
        Condition::Running => Meaning::Active,
        Condition::Paused | Condition::Stopping | Condition::Ended => Meaning::Warning,
        Condition::Interrupted => Meaning::Bad,
        Condition::Done => Meaning::Good,
    };
    (meaning, condition.to_string())
}

/// Progress, cost and what is left, with a bar for each limit.
fn figures(state: &State, totals: &Totals, width: usize) -> Row {
    let mut row = Row::new();
    let counts = totals.counts;
    if counts.total() > 0 {
        let cells = (width / 8).clamp(8, 24);
        row = bar(row, counts.done, counts.total(), cells, Meaning::Good).plain(format!(
            " {}/{} done",
            counts.done,
            counts.total()
        ));
        for (n, what, meaning) in
            [(counts.failed, "failed", Meaning::Bad), (counts.waiting, "waiting", Meaning::Warning)]
        {
            if n > 0 {
                row = row.add(Meaning::Faint, BETWEEN).add(meaning, format!("{n} {what}"));
            }
        }
    }
    if let Some(cost) = totals.usage.cost_micro_usd {
        let least = if totals.has_unpriced { "at least " } else { "" };
        let limit = totals.budget.micro_usd;
        row = separated(row).plain(format!("{least}{}", money(cost)));
        if limit > 0 {
            let near = if cost.saturating_mul(10) >= limit.saturating_mul(8) {
                Meaning::Warning
            } else {
                Meaning::Active
            };
            row = bar(row.plain(" "), cost, limit, (width / 14).clamp(5, 12), near)
                .plain(format!(" of {}", money(limit)));
        }
    }
    let forecast = totals.forecast.or_else(|| {
        let page = state.status.as_ref()?;
        page.forecast.filter(|_| totals.active > 0)
    });
    if let Some(rest) = forecast.filter(|_| totals.active > 0) {
        let cost = rest.micro_usd.map(|cost| format!("~{}, ", money(cost))).unwrap_or_default();
        let text = format!("{cost}~{} left", duration(rest.duration_ms));
        if separated(row.clone()).width() + text.len() <= width {
            row = separated(row).plain(text);
        }
    }
    row
}

fn separated(row: Row) -> Row {
    if row.width() == 0 { row } else { row.add(Meaning::Faint, BETWEEN) }
}

/// A bar of so many cells.
fn bar(row: Row, part: u64, of: u64, cells: usize, meaning: Meaning) -> Row {
    let share = u128::from(part.min(of)) * cells as u128 / u128::from(of.max(1));
    let filled = usize::try_from(share).unwrap_or(cells);
    row.add(meaning, "█".repeat(filled)).add(Meaning::Faint, "░".repeat(cells - filled))
}

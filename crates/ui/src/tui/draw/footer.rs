//! The last lines: what waits for the user, and the keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::rule;
use super::text::Row;
use crate::style::Meaning;
use crate::tui::keys;
use crate::tui::needs::Need;
use crate::tui::overlay::{Overlay, Purpose};
use crate::tui::replay::Replay;
use crate::tui::state::{Focus, State};

/// How many rows the footer has: the keys, and what waits with a title.
pub(super) fn height(needs: &[Need], terminal: u16) -> u16 {
    let most = (terminal / 12).max(1);
    match u16::try_from(needs.len()).unwrap_or(u16::MAX) {
        0 => 1,
        waiting => 2 + waiting.min(most),
    }
}

pub(super) fn draw(state: &State, needs: &[Need], buffer: &mut Buffer, area: Rect) {
    let last = area.bottom() - 1;
    let width = usize::from(area.width);
    if !needs.is_empty() {
        let title = Row::of(Meaning::Warning, format!("Needs you: {}", needs.len()));
        let title = match state.replay {
            None => title.add(Meaning::Faint, " (n)"),
            Some(_) => title,
        };
        rule(buffer, Rect { height: 1, ..area }, &title, state.palette);
        for (need, y) in needs.iter().zip(area.y + 1..last) {
            line(need, width).draw(buffer, (0, y), area.width, state.palette);
        }
    }
    let row = match &state.note {
        Some((meaning, text)) => Row::new().fit(*meaning, text, width, 0),
        None => hints(state, width),
    };
    row.draw(buffer, (0, last), area.width, state.palette);
}

pub(super) fn line(need: &Need, width: usize) -> Row {
    let head = Row::of(Meaning::Warning, "? ")
        .add(Meaning::Name, need.task().as_str())
        .add(Meaning::Faint, format!(" {} ", need.kind()));
    head.fit(None, &need.text().replace('\n', " "), width, 0)
}

/// The keys of a replay.
const REPLAY: [(&str, &str); 3] = [("+ -", "speed"), ("← →", "iteration"), ("0-9 g", "place")];

fn of_replay(replay: &Replay) -> [(&'static str, &'static str); 4] {
    let space = match (replay.position.paused, replay.position.ended) {
        (true, _) => "go on",
        (false, true) => "start over",
        (false, false) => "pause",
    };
    [("Space", space), REPLAY[0], REPLAY[1], REPLAY[2]]
}

/// The keys that matter now, as many as fit.
fn hints(state: &State, width: usize) -> Row {
    let replay = state.replay.as_ref();
    let running = state.is_running();
    let paused = state.live.totals(state.now).paused;
    let keys: &[(&str, &str)] = match (&state.overlay, state.focus) {
        (Some(Overlay::Type(typing)), _) if typing.purpose == Purpose::Place => {
            &[("Enter", "go"), ("Esc", "cancel")]
        }
        (Some(Overlay::Type(_)), _) => &[("Enter", "send"), ("Esc", "cancel")],
        (Some(Overlay::Task { .. }), _) => &[
            ("d", "work or page"),
            ("↑↓", "scroll"),
            ("y", "approve"),
            ("x", "reject"),
            ("Esc", "close"),
        ],
        (Some(_), _) => &[("↑↓", "move"), ("Enter", "choose"), ("Esc", "close")],
        (None, Focus::Plan) => &[
            ("?", "help"),
            ("q", "quit"),
            ("Tab", "sessions"),
            ("Enter", "task"),
            ("/", "search"),
            ("f", "filter"),
            ("m", "message"),
            ("s", "skip"),
            ("r", "retry"),
        ],
        (None, Focus::Panes) => &[
            ("?", "help"),
            ("q", "quit"),
            ("Tab", "plan"),
            ("[ ]", "session"),
            ("↑↓", "scroll"),
            ("e", "in full"),
            ("z", "zoom"),
            ("m", "message"),
        ],
    };
    let keys_of_replay = replay.map(of_replay).unwrap_or_default();
    let of_run: &[(&str, &str)] = match (running && state.overlay.is_none(), paused) {
        _ if replay.is_some() && state.overlay.is_some() => &[],
        _ if replay.is_some() => &keys_of_replay,
        (true, false) => &[("p", "pause"), ("c", "cancel")],
        (true, true) => &[("p", "resume"), ("c", "cancel")],
        (false, _) => &[],
    };
    let (first, rest) = keys.split_at(keys.len().min(2));
    let mut row = Row::new();
    for (key, what) in first.iter().chain(of_run).chain(rest) {
        if replay.is_some() && keys::controls(key) {
            continue;
        }
        let next = row.clone().add(Meaning::Name, key).add(Meaning::Faint, format!(" {what}  "));
        if next.width() > width {
            break;
        }
        row = next;
    }
    row
}

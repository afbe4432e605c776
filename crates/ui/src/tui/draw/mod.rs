//! The screen as a picture of the state. Pure: the same state gives the same cells.
//!
//! | file | owns |
//! |---|---|
//! | `header` | the first lines: which run, how far, what it cost, the place of a replay |
//! | `plan` | the tasks, and what the selected one waits for |
//! | `panes` | what the sessions do, side by side or one of them |
//! | `transcript` | what an agent said and did, as rows |
//! | `task` | everything about one task, and its work as a diff |
//! | `overlay` | what lies over the rest |
//! | `footer` | what needs the user, and the keys |
//! | `text` | rows of colored text that cannot drive the terminal |

mod footer;
mod header;
mod overlay;
mod panes;
mod plan;
mod task;
pub(super) mod text;
pub(super) mod transcript;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use self::text::{Palette, Row};
use super::state::{Places, State};
use crate::style::Meaning;

/// The smallest terminal that has space for everything.
const LEAST: (u16, u16) = (70, 20);

/// Draws everything; where it is, and where the cursor is while the user types.
pub(super) fn draw(state: &State, buffer: &mut Buffer) -> (Option<Position>, Places) {
    let area = buffer.area;
    let mut places = Places::default();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        too_small(buffer, state.palette);
        return (None, places);
    }
    let header = header::height(state);
    header::draw(state, buffer, Rect { height: header, ..area });
    let needs = state.needs();
    let footer = footer::height(&needs, area.height);
    let body = Rect { y: header, height: area.height - header - footer, ..area };
    let left = (area.width * 34 / 100).clamp(28, 60);
    let plan = Rect { width: left, ..body };
    let panes = Rect { x: left + 1, width: area.width - left - 1, ..body };
    plan::draw(state, buffer, plan, &mut places);
    panes::draw(state, buffer, panes, &mut places);
    divide(buffer, Rect { x: left, width: 1, ..body }, state.palette);
    places.needs = Rect { y: body.bottom(), height: footer - 1, ..area };
    footer::draw(state, &needs, buffer, Rect { y: body.bottom(), height: footer, ..area });
    let cursor = overlay::draw(state, &needs, buffer, &mut places);
    (cursor, places)
}

fn too_small(buffer: &mut Buffer, palette: Palette) {
    let area = buffer.area;
    let text = format!(
        "The window is too small: ralph needs {} columns and {} rows. The run continues. Press q to quit.",
        LEAST.0, LEAST.1
    );
    let lines = crate::line::wrap(&text, Some(usize::from(area.width.max(1))));
    for (line, y) in lines.iter().zip(0..area.height) {
        Row::new().plain(line).draw(buffer, (0, y), area.width, palette);
    }
}

/// The line between the plan and the sessions, joined with the lines that meet it.
fn divide(buffer: &mut Buffer, area: Rect, palette: Palette) {
    for y in area.y..area.bottom() {
        let meets = |x: u16| buffer[(x, y)].symbol() == "─";
        let joint = match (meets(area.x - 1), meets(area.x + 1)) {
            (true, true) if y == area.y => "┬",
            (true, true) => "┼",
            (true, false) => "┤",
            (false, true) => "├",
            (false, false) => "│",
        };
        Row::of(Meaning::Faint, joint).draw(buffer, (area.x, y), 1, palette);
    }
}

/// A line across an area, with a title in it.
fn rule(buffer: &mut Buffer, area: Rect, title: &Row, palette: Palette) {
    let width = usize::from(area.width);
    let line = Row::of(Meaning::Faint, "─".repeat(width));
    line.draw(buffer, (area.x, area.y), area.width, palette);
    if title.width() > 0 {
        let room = area.width.saturating_sub(2);
        let title = Row::new().plain(" ").join(title).plain(" ");
        title.draw(buffer, (area.x + 1, area.y), room, palette);
    }
}

/// Rows below each other, as many as fit.
fn rows(buffer: &mut Buffer, area: Rect, rows: &[Row], palette: Palette) {
    for (row, y) in rows.iter().zip(area.y..area.bottom()) {
        row.draw(buffer, (area.x, y), area.width, palette);
    }
}

/// Marks an area as selected.
fn select(buffer: &mut Buffer, area: Rect) {
    let style = ratatui::style::Style::default().add_modifier(ratatui::style::Modifier::REVERSED);
    buffer.set_style(area.intersection(buffer.area), style);
}

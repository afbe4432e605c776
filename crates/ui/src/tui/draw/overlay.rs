//! What lies over the screen: the help, a task, a list to choose from, a line to type.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::text::Row;
use super::{footer, rows, select, task};
use crate::line::wrap;
use crate::style::Meaning;
use crate::tui::keys;
use crate::tui::needs::Need;
use crate::tui::overlay::{CANCELS, Overlay, Purpose, Typing};
use crate::tui::plan::STATES;
use crate::tui::state::{Places, State};
use crate::tui::update::state_name;

/// What a window over the screen shows: its title, its rows, and which of them is selected.
struct Content {
    title: String,
    rows: Vec<Row>,
    selected: Option<usize>,
    hint: &'static str,
}

/// Draws the overlay, if there is one; where the cursor is while the user types.
pub(super) fn draw(
    state: &State,
    needs: &[Need],
    buffer: &mut Buffer,
    places: &mut Places,
) -> Option<Position> {
    let overlay = state.overlay.as_ref()?;
    let (screen, palette) = (buffer.area, state.palette);
    let large = matches!(overlay, Overlay::Task { .. });
    let width = match large {
        true => screen.width - 4,
        false => screen.width.saturating_sub(8).min(76),
    };
    let content = content(state, overlay, needs, usize::from(width) - 4);
    let most = screen.height - 4;
    let wanted = u16::try_from(content.rows.len()).unwrap_or(most).saturating_add(2);
    let height = if large { most } else { wanted.min(most) };
    let (x, y) = ((screen.width - width) / 2, (screen.height - height) / 2);
    let area = Rect { x, y, width, height };
    frame(buffer, area, &content, state);
    let inside = Rect { x: x + 2, y: y + 1, width: width - 4, height: height - 2 };
    places.overlay = inside;
    places.overlay_rows = content.rows.len();
    let page = usize::from(inside.height);
    let last = content.rows.len().saturating_sub(page);
    let first =
        content.selected.map_or(state.scrolled, |at| (at + 1).saturating_sub(page)).min(last);
    rows(buffer, inside, &content.rows[first..], palette);
    if let Some(at) = content.selected {
        let y = inside.y + (at - first) as u16;
        select(buffer, Rect { y, height: 1, ..inside });
    }
    match overlay {
        Overlay::Type(typing) => {
            let (_, cursor) = typing.input.window(usize::from(inside.width) - 2);
            Some(Position::new(inside.x + 2 + cursor as u16, inside.bottom() - 1))
        }
        _ => None,
    }
}

/// An empty window with a title and what the keys do.
fn frame(buffer: &mut Buffer, area: Rect, content: &Content, state: &State) {
    for y in area.y..area.bottom() {
        for x in area.x..area.right() {
            buffer[(x, y)].reset();
            buffer[(x, y)].set_style(Style::reset());
        }
    }
    let across = "─".repeat(usize::from(area.width) - 2);
    let mut line = |y: u16, ends: (&str, &str), title: Row| {
        let row = Row::of(Meaning::Faint, format!("{}{across}{}", ends.0, ends.1));
        row.draw(buffer, (area.x, y), area.width, state.palette);
        title.draw(buffer, (area.x + 2, y), area.width - 4, state.palette);
    };
    let title = Row::of(Meaning::Heading, format!(" {} ", content.title));
    line(area.y, ("┌", "┐"), title);
    line(area.bottom() - 1, ("└", "┘"), Row::of(Meaning::Faint, format!(" {} ", content.hint)));
    for y in area.y + 1..area.bottom() - 1 {
        for x in [area.x, area.right() - 1] {
            Row::of(Meaning::Faint, "│").draw(buffer, (x, y), 1, state.palette);
        }
    }
}

fn content(state: &State, overlay: &Overlay, needs: &[Need], width: usize) -> Content {
    let list = |title: &str, rows: Vec<Row>, selected: usize, hint| {
        let selected = (!rows.is_empty()).then(|| selected.min(rows.len() - 1));
        Content { title: title.to_owned(), rows, selected, hint }
    };
    let page = |title: String, rows: Vec<Row>, hint| Content { title, rows, selected: None, hint };
    match overlay {
        Overlay::Help => page("Keys".to_owned(), help(state.replay.is_some(), width), "Esc closes"),
        Overlay::Task { task: id, diff } => {
            let what = if *diff { "work" } else { "task" };
            let rows = task::rows(state.details.as_ref(), *diff, width);
            page(format!("{id}: {what}"), rows, "d work or page · ↑↓ scroll · Esc closes")
        }
        Overlay::Needs { selected } => {
            let line = |need: &Need| {
                let does = format!("  Enter: {}", need.does());
                let row = footer::line(need, width.saturating_sub(does.len()));
                row.add(Meaning::Faint, does)
            };
            let rows: Vec<Row> = needs.iter().map(line).collect();
            match rows.is_empty() {
                true => page(
                    "Needs you".to_owned(),
                    vec![Row::new().plain("Nothing waits for you.")],
                    "Esc closes",
                ),
                false => list("Needs you", rows, *selected, "Enter chooses · Esc closes"),
            }
        }
        Overlay::Filter { selected } => {
            let states = STATES.iter().map(|state| Some(*state));
            let row = |of: Option<_>| {
                let count = of.map_or(state.plan.total(), |of| state.plan.count(of));
                Row::of(of.and_then(Meaning::of), format!("{:<10}", state_name(of)))
                    .add(Meaning::Faint, count.to_string())
            };
            let rows = std::iter::once(None).chain(states).map(row).collect();
            list("Show only", rows, *selected, "Enter chooses · Esc closes")
        }
        Overlay::Cancel { selected } => {
            let row = |(_, name, what): &(_, &str, &str)| {
                Row::of(Meaning::Name, format!("{name:<19}")).fit(None, what, width, 0)
            };
            let hint = "Enter cancels the run · Esc closes · Ctrl-C quits";
            list("Cancel the run", CANCELS.iter().map(row).collect(), *selected, hint)
        }
        Overlay::Confirm { question, .. } => {
            page("Sure?".to_owned(), wrapped(question, width), "Enter or y does it · Esc does not")
        }
        Overlay::Decide { task, reason } => {
            let hint = "y approves · x rejects · d shows the work · Esc closes";
            page(format!("{task} wants approval"), wrapped(reason, width), hint)
        }
        Overlay::Type(typing) => typed(typing, width),
    }
}

fn typed(typing: &Typing, width: usize) -> Content {
    let (mut rows, hint) = match &typing.purpose {
        Purpose::Answer { text, .. } => {
            (wrapped(text, width), "Enter sends the answer · Esc closes")
        }
        Purpose::Reject { .. } => (vec![], "Enter rejects the work · Esc closes"),
        Purpose::Tell { task } => (
            wrapped(&format!("The session of {task} gets this, or the next one."), width),
            "Enter sends · Esc closes",
        ),
        Purpose::Place => (
            wrapped(
                "An iteration (12), a percentage (80%), a length of time (1h20m) or a time (14:30)",
                width,
            ),
            "Enter goes there · Esc closes",
        ),
        Purpose::Search => (vec![], "Enter keeps the list · Esc shows all"),
    };
    rows.push(Row::new());
    let (shown, _) = typing.input.window(width.saturating_sub(2));
    rows.push(Row::of(Meaning::Tool, "> ").plain(shown));
    let title = typing.purpose.title().to_owned();
    Content { title, rows, selected: None, hint }
}

fn wrapped(text: &str, width: usize) -> Vec<Row> {
    wrap(text, Some(width)).iter().map(|line| Row::new().plain(line)).collect()
}

fn help(replays: bool, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, bindings) in keys::help(replays) {
        if !rows.is_empty() {
            rows.push(Row::new());
        }
        rows.push(Row::of(Meaning::Heading, name));
        for (shown, what) in bindings {
            let key = Row::of(Meaning::Name, format!("  {shown:<12}"));
            rows.push(key.fit(None, what, width, 0));
        }
    }
    let last = Row::of(Meaning::Name, format!("  {:<12}", "Ctrl-C"));
    let what = match replays {
        true => "Quit",
        false => "Asks how to cancel the run; again: quit the display",
    };
    rows.push(last.fit(None, what, width, 0));
    rows
}

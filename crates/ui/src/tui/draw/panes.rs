//! The sessions: all of them where each has space enough, else the one with the focus below a line of tabs. A run that has
//! ended has its summary here.

use ralph_core::view::live::LiveRun;
use ralph_core::view::{SlotView, words};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::text::Row;
use super::transcript::{Fit, visible};
use super::{rows, rule};
use crate::line::wrap;
use crate::plain::summary::{next_commands, summary as summary_lines};
use crate::style::{Meaning, TextStyle};
use crate::tui::panes::PaneId;
use crate::tui::state::{Focus, Places, State};
use crate::units::duration;

/// The least that a pane gets where several are side by side: columns, and rows with its title.
const LEAST: (u16, u16) = (60, 9);

pub(super) fn draw(state: &State, buffer: &mut Buffer, area: Rect, places: &mut Places) {
    let all = state.panes();
    let Some(focused) = state.focused_pane() else {
        rule(buffer, area, &Row::new(), state.palette);
        let text = inside(area);
        return nothing_yet(state, buffer, Rect { x: text.x + 1, width: text.width - 1, ..text });
    };
    // A run that has ended has one thing to show: how it ended.
    let together = !state.panes.zoomed && (all.len() == 1 || !state.live.is_over());
    match tiles(area, all.len()).filter(|_| together) {
        Some(areas) => {
            for (pane, area) in all.iter().zip(areas) {
                one(state, (*pane, *pane == focused), buffer, area, places);
            }
        }
        None => {
            let tabs = Rect { height: 1, ..area };
            let below = inside(area);
            draw_tabs(state, &all, focused, buffer, tabs, places);
            one(state, (focused, true), buffer, below, places);
        }
    }
}

const fn inside(area: Rect) -> Rect {
    Rect { x: area.x, y: area.y + 1, width: area.width, height: area.height - 1 }
}

/// Where so many panes go, if there is space for all.
fn tiles(area: Rect, count: usize) -> Option<Vec<Rect>> {
    let count = u16::try_from(count).ok()?;
    let columns = (1..=2).find(|columns| {
        let (width, height) = (area.width / columns, area.height / count.div_ceil(*columns).max(1));
        height >= LEAST.1 && (*columns == 1 || width >= LEAST.0)
    })?;
    let lines = count.div_ceil(columns);
    let area_of = |index: u16| {
        let (column, line) = (index % columns, index / columns);
        let (x, right) = (area.width * column / columns, area.width * (column + 1) / columns);
        let (y, bottom) = (area.height * line / lines, area.height * (line + 1) / lines);
        let gap = u16::from(column + 1 < columns);
        Rect { x: area.x + x, y: area.y + y, width: right - x - gap, height: bottom - y }
    };
    Some((0..count).map(area_of).collect())
}

fn draw_tabs(
    state: &State,
    all: &[PaneId],
    focused: PaneId,
    buffer: &mut Buffer,
    area: Rect,
    places: &mut Places,
) {
    rule(buffer, area, &Row::new(), state.palette);
    let mut x = area.x + 1;
    for pane in all {
        let Some(run) = state.live.runs.get(pane.run() as usize) else { continue };
        let tab = Row::new()
            .plain(" ")
            .add(label_meaning(run, *pane), short(state, run, *pane))
            .plain(" ");
        let width = tab.width() as u16;
        if x + width > area.right() {
            Row::of(Meaning::Faint, "…").draw(buffer, (area.right() - 1, area.y), 1, state.palette);
            return;
        }
        let place = Rect { x, y: area.y, width, height: 1 };
        tab.draw(buffer, (x, area.y), width, state.palette);
        if *pane == focused {
            super::select(buffer, place);
        }
        places.tabs.push((*pane, place));
        x += width + 1;
    }
}

fn label_meaning(run: &LiveRun, pane: PaneId) -> Option<Meaning> {
    let PaneId::Slot(_, slot) = pane else { return Some(Meaning::Heading) };
    run.view.busy().any(|(busy, _)| busy == slot).then_some(Meaning::Active)
}

/// The name of a pane in a word or two.
fn short(state: &State, run: &LiveRun, pane: PaneId) -> String {
    let several = state.live.current().len() > 1;
    match pane {
        PaneId::Summary(_) if several && !run.name.is_empty() => format!("{} ended", run.name),
        PaneId::Summary(_) => "Summary".to_owned(),
        PaneId::Slot(_, slot) => {
            let task = run.view.slot(slot).and_then(|slot| slot.task.as_ref());
            let task = task.map(|task| task.id.to_string());
            let name = Some(&run.name).filter(|name| !name.is_empty()).cloned();
            let number = run.view.is_parallel().then(|| (slot + 1).to_string());
            let parts: Vec<String> = name.into_iter().chain(number).chain(task).collect();
            if parts.is_empty() { "Session".to_owned() } else { parts.join(" ") }
        }
    }
}

/// A pane: its title, and what it shows.
fn one(
    state: &State,
    (pane, focused): (PaneId, bool),
    buffer: &mut Buffer,
    area: Rect,
    places: &mut Places,
) {
    let Some(run) = state.live.runs.get(pane.run() as usize) else { return };
    let has_focus = focused && state.focus == Focus::Panes;
    let scrolled = state.panes.anchor(pane).is_some();
    let end = match (pane, scrolled) {
        (PaneId::Slot(..), true) => Row::of(Meaning::Warning, " scrolled, G follows "),
        _ => Row::new(),
    };
    let room = usize::from(area.width).saturating_sub(end.width() + 4);
    let title = title(state, run, pane, has_focus, room);
    rule(buffer, Rect { height: 1, ..area }, &title, state.palette);
    let x = area.right().saturating_sub(end.width() as u16 + 1);
    end.draw(buffer, (x, area.y), end.width() as u16, state.palette);
    let text = inside(area);
    let text = Rect { x: text.x + 1, width: text.width - 1, ..text };
    places.panes.push((pane, text));
    let height = usize::from(text.height);
    let shown = match pane {
        PaneId::Summary(_) => {
            let from = state.panes.anchor(pane).map_or(0, |(_, row)| row);
            summary(state, pane, text.width).into_iter().skip(from).take(height).collect()
        }
        PaneId::Slot(_, slot) => {
            let fit = Fit::of(state, text.width);
            let anchor = state.panes.anchor(pane);
            run.said(slot).map(|said| visible(said, anchor, height, fit)).unwrap_or_default()
        }
    };
    rows(buffer, text, &shown, state.palette);
}

fn title(state: &State, run: &LiveRun, pane: PaneId, focused: bool, width: usize) -> Row {
    let meaning = focused.then_some(Meaning::Heading);
    let PaneId::Slot(_, number) = pane else {
        return Row::of(meaning, short(state, run, pane));
    };
    let Some(slot) = run.view.slot(number) else { return Row::new() };
    let doing = activity(slot, state);
    let model = slot.model.as_ref().map(|model| format!(" · {model}")).unwrap_or_default();
    let name = match &slot.task {
        Some(task) => format!("{} {}", short(state, run, pane), task.title),
        None => slot.about.clone().unwrap_or_else(|| short(state, run, pane)),
    };
    let model = if width > 70 { model } else { String::new() };
    let row = Row::new().fit(meaning, &name, width, doing.width() + model.len());
    row.join(&doing).add(Meaning::Faint, model)
}

/// What a slot does or waits for, and for how long.
fn activity(slot: &SlotView, state: &State) -> Row {
    if let Some(waiting) = &slot.waiting {
        let left = waiting
            .until
            .map(|until| format!(", {} left", duration(until.millis_since(state.now))));
        let text =
            format!(" · waiting: {}{}", words::wait(&waiting.wait), left.unwrap_or_default());
        return Row::of(Meaning::Warning, text);
    }
    if slot.iteration == 0 && slot.task.is_none() {
        return Row::of(Meaning::Faint, format!(" · {}", slot.activity()));
    }
    let time = duration(state.now.millis_since(slot.active_since()));
    Row::of(Meaning::Faint, " · ")
        .add(Meaning::Active, slot.activity())
        .add(Meaning::Faint, format!(" {time}"))
}

/// How a run ended, what to type next, and then what it did: the commands must not be below the end of a small pane.
pub(super) fn summary(state: &State, pane: PaneId, width: u16) -> Vec<Row> {
    let Some(run) = state.live.runs.get(pane.run() as usize) else { return vec![] };
    let Some(outcome) = &run.view.outcome else { return vec![] };
    let style = TextStyle { color: true, width: Some(usize::from(width)) };
    let next = next_commands(&words::next(&run.view), style);
    let mut lines = summary_lines(&run.view, style);
    if !next.is_empty() {
        lines.truncate(lines.len().saturating_sub(next.len() + 1));
    }
    // The first two are a line across.
    let sentence = wrap(&outcome.sentence(), Some(usize::from(width).saturating_sub(2))).len();
    let (first, rest) = lines.split_at(lines.len().min(2 + sentence));
    let blank = [String::new()];
    let next = if next.is_empty() { vec![] } else { [&blank[..], &next, &blank].concat() };
    let all = first.iter().skip(2).chain(&next).chain(rest);
    all.map(|line| Row::of_painted(line)).collect()
}

fn nothing_yet(state: &State, buffer: &mut Buffer, area: Rect) {
    let text = match (state.live.runs.is_empty(), state.over) {
        (false, _) => "The run looks for work.",
        (true, true) => "Nothing has run here yet. Start a run: ralph build",
        (true, false) => {
            "No run yet. A run that starts in this repository appears here: ralph build"
        }
    };
    let lines = wrap(text, Some(usize::from(area.width)));
    let lines: Vec<Row> = lines.iter().map(|line| Row::of(Meaning::Faint, line)).collect();
    rows(buffer, area, &lines, state.palette);
}

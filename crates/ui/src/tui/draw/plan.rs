//! The tasks of the plan with their states, and below them what the selected one waits for.

use ralph_core::task::{ShownStatus, Task};
use ralph_core::view::live::LiveRun;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::text::Row;
use super::{rows, rule, select};
use crate::line::wrap;
use crate::style::Meaning;
use crate::tui::state::{Focus, Places, State};
use crate::tui::update::state_name;

/// A sign for each state: colors alone tell nothing to everybody.
pub(super) const fn sign(status: ShownStatus) -> &'static str {
    match status {
        ShownStatus::Open => "○",
        ShownStatus::Blocked => "·",
        ShownStatus::Active => "●",
        ShownStatus::Waiting => "?",
        ShownStatus::Done => "✓",
        ShownStatus::Failed => "✗",
        ShownStatus::Deleted => "-",
    }
}

pub(super) fn draw(state: &State, buffer: &mut Buffer, area: Rect, places: &mut Places) {
    let title = Row::of((state.focus == Focus::Plan).then_some(Meaning::Heading), "Plan")
        .add(Meaning::Faint, listed(state));
    rule(buffer, area, &title, state.palette);
    let below = match area.height {
        30.. => 9,
        18.. => 6,
        _ => 5,
    };
    let list = Rect { y: area.y + 1, height: area.height - 1 - below, ..area };
    places.plan = list;
    if state.plan.is_empty() {
        return without_tasks(state, buffer, Rect { height: area.height - 1, ..list });
    }
    let page = usize::from(list.height);
    let selected = state.plan.selected_row();
    let most = state.plan.rows().len().saturating_sub(page);
    let top = selected.saturating_sub(page / 2).min(most);
    places.plan_top = top;
    let width = usize::from(area.width);
    for (index, y) in (top..state.plan.rows().len()).zip(list.y..list.bottom()) {
        let (task, depth) = state.plan.rows()[index];
        let row = line(state.plan.at(task), usize::from(depth), width);
        row.draw(buffer, (list.x, y), area.width, state.palette);
        if index == selected && state.focus == Focus::Plan {
            select(buffer, Rect { x: list.x, y, width: area.width, height: 1 });
        }
    }
    if state.plan.rows().is_empty() {
        let row = Row::of(Meaning::Faint, "No task matches. Esc shows all.");
        row.draw(buffer, (list.x, list.y), area.width, state.palette);
    }
    let details = Rect { y: list.bottom(), height: below, ..area };
    about_selected(state, buffer, details);
}

fn listed(state: &State) -> String {
    let (shown, all) = (state.plan.rows().len(), state.plan.total());
    let filter = state.plan.filter().map(|filter| state_name(Some(filter)));
    let search = Some(state.plan.search()).filter(|text| !text.is_empty());
    let by: Vec<String> = filter
        .map(str::to_owned)
        .into_iter()
        .chain(search.map(|text| format!("“{text}”")))
        .collect();
    match (all, by.is_empty()) {
        (0, _) => String::new(),
        (_, true) => format!(" {all}"),
        (_, false) => format!(" {shown} of {all}: {}", by.join(", ")),
    }
}

fn line(task: &Task, depth: usize, width: usize) -> Row {
    let status = task.shown();
    let indent = "  ".repeat(depth.min(6));
    Row::of(Meaning::of(status), format!("{indent}{} ", sign(status)))
        .add(Meaning::Faint, task.id.as_str())
        .plain(" ")
        .fit(
            (status == ShownStatus::Active).then_some(Meaning::Heading),
            task.title.as_str(),
            width,
            0,
        )
}

/// Runs without a task database work through a file: then the runs are listed with how far they are.
fn without_tasks(state: &State, buffer: &mut Buffer, area: Rect) {
    let current = state.live.current();
    let width = usize::from(area.width);
    let mut lines: Vec<Row> = current.iter().flat_map(|run| of_run(run, width)).collect();
    if lines.is_empty() {
        let text = match state.has_plan {
            true => "No tasks yet. Add one: ralph task add \"What to do\"",
            false => "Reading the plan…",
        };
        lines = wrap(text, Some(width)).iter().map(|line| Row::of(Meaning::Faint, line)).collect();
    }
    rows(buffer, area, &lines, state.palette);
}

fn of_run(run: &LiveRun, width: usize) -> Vec<Row> {
    let counts = run.view.counts;
    let (meaning, sign) = match (&run.view.outcome, run.left) {
        (Some(outcome), _) if outcome.left.unresolved() == 0 && outcome.left.failed == 0 => {
            (Meaning::Good, "✓")
        }
        (Some(_), _) | (None, true) => (Meaning::Warning, "·"),
        (None, false) => (Meaning::Active, "●"),
    };
    let name = if run.name.is_empty() { &run.view.target } else { &run.name };
    let done = match counts.total() {
        0 => String::new(),
        total => format!("  {}/{total}", counts.done),
    };
    let first = Row::of(meaning, format!("{sign} "))
        .fit(Meaning::Heading, name, width, done.len())
        .plain(done);
    let tasks = run.view.busy().filter_map(|(_, slot)| slot.task.as_ref());
    let tasks = tasks.map(|task| {
        Row::of(Meaning::Faint, format!("    {} ", task.id)).fit(None, &task.title, width, 0)
    });
    std::iter::once(first).chain(tasks).collect()
}

/// What the selected task waits for, how often it was tried, and why it came back.
fn about_selected(state: &State, buffer: &mut Buffer, area: Rect) {
    let Some(task) = state.plan.selected() else {
        return rule(buffer, area, &Row::new(), state.palette);
    };
    let shown = task.shown();
    let title = Row::of(Meaning::Faint, task.id.as_str())
        .plain(" ")
        .add(Meaning::of(shown), shown.as_str());
    rule(buffer, area, &title, state.palette);
    let width = usize::from(area.width);
    let wrapped = |text: &str| wrap(text, Some(width));
    let mut lines: Vec<Row> =
        wrapped(task.title.as_str()).iter().take(2).map(|line| Row::new().plain(line)).collect();
    if let Some(attempt) = attempt(state, task) {
        lines.push(Row::of(Meaning::Faint, attempt));
    }
    for dep in &task.deps {
        let known = state.plan.task(dep);
        let status = known.map_or(ShownStatus::Deleted, Task::shown);
        let row = Row::of(Meaning::Faint, "needs ")
            .add(Meaning::of(status), sign(status))
            .plain(format!(" {dep} "));
        lines.push(row.fit(Meaning::Faint, known.map_or("", |task| task.title.as_str()), width, 0));
    }
    let reason = task.reason.as_deref().unwrap_or_default();
    if shown != ShownStatus::Done {
        lines.extend(wrapped(reason).iter().map(|line| Row::of(Meaning::Warning, line)));
    }
    let room = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    rows(buffer, room, &lines, state.palette);
}

fn attempt(state: &State, task: &Task) -> Option<String> {
    let slots = state.live.runs.iter().flat_map(|run| run.view.busy());
    let mut works = slots.filter_map(|(_, slot)| slot.task.as_ref());
    let now =
        works.find(|works| works.id == task.id).map(|works| format!("attempt {}", works.attempt));
    let retries = match task.retry_count {
        0 => None,
        1 => Some("1 retry".to_owned()),
        many => Some(format!("{many} retries")),
    };
    let parts: Vec<String> = now.into_iter().chain(retries).collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

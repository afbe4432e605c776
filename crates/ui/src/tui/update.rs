//! What keys and the mouse do to the state.

use ralph_core::TaskId;
use ralph_core::task::ShownStatus;
use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::draw::transcript;
use super::input::Input;
use super::keys::{self, Command};
use super::needs::Need;
use super::overlay::{CANCELS, Details, Overlay, Purpose, Typing};
use super::panes::PaneId;
use super::plan::STATES;
use super::state::{Focus, Request, State};
use crate::ports::UserAction;
use crate::style::Meaning;

/// How many rows the wheel scrolls.
const WHEEL: isize = 3;

impl State {
    pub(super) fn key(&mut self, key: &KeyEvent) -> Option<Request> {
        let command = keys::command(key);
        if command == Some(Command::Interrupt) {
            return self.interrupt();
        }
        match &mut self.overlay {
            Some(Overlay::Type(_)) => self.type_key(key),
            Some(_) => self.overlay_key(key, command),
            None => command.and_then(|command| self.command(command)),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Some(Overlay::Type(typing)) = &mut self.overlay {
            typing.input.paste(text);
            self.search_as_typed();
        }
    }

    /// Ctrl-C asks how to cancel a run that goes on; pressed again, and where none does, it quits.
    fn interrupt(&mut self) -> Option<Request> {
        if !self.is_running() || matches!(self.overlay, Some(Overlay::Cancel { .. })) {
            return Some(Request::Quit);
        }
        self.open(Overlay::Cancel { selected: 1 });
        None
    }

    fn open(&mut self, overlay: Overlay) {
        self.scrolled = 0;
        self.overlay = Some(overlay);
    }

    fn command(&mut self, command: Command) -> Option<Request> {
        self.note = None;
        match command {
            Command::Help => self.open(Overlay::Help),
            Command::Quit | Command::Interrupt => return Some(Request::Quit),
            Command::Pause => return self.pause(),
            Command::Cancel if self.is_running() => self.open(Overlay::Cancel { selected: 1 }),
            Command::Cancel => self.refuse("no run is active"),
            Command::Needs => self.open(Overlay::Needs { selected: 0 }),
            Command::Filter => {
                let at = STATES.iter().position(|state| self.plan.filter() == Some(*state));
                self.open(Overlay::Filter { selected: at.map_or(0, |at| at + 1) });
            }
            Command::Search => {
                let input = match self.focus {
                    Focus::Plan => Input::of(self.plan.search()),
                    Focus::Panes => Input::default(),
                };
                self.open(Overlay::Type(Typing { purpose: Purpose::Search, input }));
            }
            Command::Whole => self.panes.whole = !self.panes.whole,
            Command::Zoom => self.panes.zoomed = !self.panes.zoomed,
            Command::NextPane => self.panes.cycle(&self.live, 1),
            Command::PreviousPane => self.panes.cycle(&self.live, -1),
            Command::Focus => {
                self.focus = if self.focus == Focus::Plan { Focus::Panes } else { Focus::Plan };
            }
            Command::Left => self.focus = Focus::Plan,
            Command::Right => self.focus = Focus::Panes,
            Command::Back => {
                self.plan.show_with("");
                self.plan.show_only(None);
            }
            Command::Up => self.scroll(-1),
            Command::Down => self.scroll(1),
            Command::PageUp => self.scroll(-self.page()),
            Command::PageDown => self.scroll(self.page()),
            Command::Top => self.scroll(isize::MIN / 2),
            Command::Bottom => self.scroll(isize::MAX / 2),
            Command::Skip
            | Command::Retry
            | Command::Reopen
            | Command::Answer
            | Command::Approve
            | Command::Reject
            | Command::Tell
            | Command::Open
            | Command::Diff => return self.task_command(command),
        }
        None
    }

    fn refuse(&mut self, why: &str) {
        self.note = Some((Meaning::Warning, why.to_owned()));
    }

    fn pause(&mut self) -> Option<Request> {
        if !self.is_running() {
            self.refuse("no run is active");
            return None;
        }
        let paused = self.live.totals(self.now).paused;
        Some(Request::Perform(if paused { UserAction::Resume } else { UserAction::Pause }))
    }

    fn task_command(&mut self, command: Command) -> Option<Request> {
        let Some(task) = self.task() else {
            self.refuse("select a task first");
            return None;
        };
        let confirm = |action, question| Some(Overlay::Confirm { action, question });
        let typing = |purpose| Some(Overlay::Type(Typing { purpose, input: Input::default() }));
        let overlay = match command {
            Command::Skip => confirm(
                UserAction::Skip { task: task.clone() },
                format!("Skip {task}? Its session stops, and the task waits for you."),
            ),
            Command::Retry => confirm(
                UserAction::Retry { task: task.clone() },
                format!("Retry {task} from scratch? This clears its retries and open questions."),
            ),
            Command::Reopen => confirm(
                UserAction::Reopen { task: task.clone() },
                format!("Reopen {task}? Its work stays; an agent works on it again."),
            ),
            Command::Approve => confirm(
                UserAction::Approve { task: task.clone() },
                format!("Approve the work of {task}? It lands on the branch."),
            ),
            Command::Reject => typing(Purpose::Reject { task }),
            Command::Tell => typing(Purpose::Tell { task }),
            Command::Answer => self.question_of(&task).and_then(typing),
            _ => return self.show_task(task, command == Command::Diff),
        };
        match overlay {
            Some(overlay) => self.open(overlay),
            None => self.refuse("no question of this task waits for an answer"),
        }
        None
    }

    /// The question of this task; where it has none, the only one that there is.
    fn question_of(&self, task: &TaskId) -> Option<Purpose> {
        let asked = |need: Need| match need {
            Need::Question { id, task, text } => Some(Purpose::Answer { question: id, task, text }),
            _ => None,
        };
        let mut all: Vec<Purpose> = self.needs().into_iter().filter_map(asked).collect();
        let own =
            |purpose: &Purpose| matches!(purpose, Purpose::Answer { task: of, .. } if of == task);
        match all.iter().position(own) {
            Some(at) => Some(all.swap_remove(at)),
            None if all.len() == 1 => all.pop(),
            None => None,
        }
    }

    fn show_task(&mut self, task: TaskId, diff: bool) -> Option<Request> {
        self.open(Overlay::Task { task: task.clone(), diff });
        let known = self.details.as_ref().filter(|details| details.task == task);
        let wanted = known.is_none_or(|details| match diff {
            true => details.diff.is_none(),
            false => true,
        });
        if known.is_none() {
            self.details = Some(Details { task: task.clone(), page: None, diff: None });
        }
        wanted.then(|| if diff { Request::Diff(task) } else { Request::Task(task) })
    }

    fn overlay_key(&mut self, key: &KeyEvent, command: Option<Command>) -> Option<Request> {
        let overlay = self.overlay.clone()?;
        let enter = key.code == KeyCode::Enter;
        if command == Some(Command::Back) || command == Some(Command::Quit) {
            self.overlay = None;
            return None;
        }
        match overlay {
            Overlay::Task { task, diff } => return self.task_key(task, diff, key, command),
            Overlay::Help if command == Some(Command::Help) => self.overlay = None,
            Overlay::Help => self.scroll_overlay(command),
            Overlay::Needs { selected } => {
                let needs = self.needs();
                if enter && let Some(need) = needs.get(selected) {
                    return self.attend(need);
                }
                let selected = moved(selected, command, needs.len());
                self.overlay = Some(Overlay::Needs { selected });
            }
            Overlay::Filter { selected } if enter => {
                self.overlay = None;
                self.plan.show_only(selected.checked_sub(1).map(|at| STATES[at]));
                self.focus = Focus::Plan;
            }
            Overlay::Filter { selected } => {
                let selected = moved(selected, command, STATES.len() + 1);
                self.overlay = Some(Overlay::Filter { selected });
            }
            Overlay::Cancel { selected } if enter => {
                self.overlay = None;
                return Some(Request::Perform(UserAction::Cancel { after: CANCELS[selected].0 }));
            }
            Overlay::Cancel { selected } => {
                let selected = moved(selected, command, CANCELS.len());
                self.overlay = Some(Overlay::Cancel { selected });
            }
            Overlay::Confirm { action, .. } if enter || command == Some(Command::Approve) => {
                self.overlay = None;
                return Some(Request::Perform(action));
            }
            Overlay::Decide { task, .. } => match (key.code, command) {
                (_, Some(Command::Approve)) => {
                    self.overlay = None;
                    return Some(Request::Perform(UserAction::Approve { task }));
                }
                (_, Some(Command::Reject | Command::Diff)) | (KeyCode::Enter, _) => {
                    self.overlay = None;
                    return match command {
                        Some(Command::Reject) => {
                            let purpose = Purpose::Reject { task };
                            let input = Input::default();
                            self.open(Overlay::Type(Typing { purpose, input }));
                            None
                        }
                        _ => self.show_task(task, true),
                    };
                }
                _ => {}
            },
            Overlay::Confirm { .. } | Overlay::Type(_) => {}
        }
        None
    }

    fn task_key(
        &mut self,
        task: TaskId,
        diff: bool,
        key: &KeyEvent,
        command: Option<Command>,
    ) -> Option<Request> {
        match (command, key.code) {
            (Some(Command::Diff | Command::Focus | Command::Left | Command::Right), _) => {
                return self.show_task(task, !diff);
            }
            (
                Some(
                    command @ (Command::Approve
                    | Command::Reject
                    | Command::Skip
                    | Command::Retry
                    | Command::Reopen
                    | Command::Answer
                    | Command::Tell),
                ),
                _,
            ) => {
                self.plan.go_to(&task);
                let focus = std::mem::replace(&mut self.focus, Focus::Plan);
                let request = self.task_command(command);
                self.focus = focus;
                return request;
            }
            _ => self.scroll_overlay(command),
        }
        None
    }

    /// Does what a thing that waits for the user asks for.
    fn attend(&mut self, need: &Need) -> Option<Request> {
        match need.clone() {
            Need::Question { id, task, text } => {
                let purpose = Purpose::Answer { question: id, task, text };
                self.open(Overlay::Type(Typing { purpose, input: Input::default() }));
                None
            }
            Need::Approval { task, reason } => {
                self.open(Overlay::Decide { task, reason });
                None
            }
            Need::Waiting { task, .. } => self.show_task(task, false),
            Need::Merge(merge) => self.show_task(merge.task, false),
        }
    }

    fn type_key(&mut self, key: &KeyEvent) -> Option<Request> {
        let Some(Overlay::Type(typing)) = &mut self.overlay else { return None };
        match key.code {
            KeyCode::Esc => {
                let searched = typing.purpose == Purpose::Search && self.focus == Focus::Plan;
                self.overlay = None;
                if searched {
                    self.plan.show_with("");
                }
            }
            KeyCode::Enter => {
                let typing = typing.clone();
                let text = typing.input.text();
                let Some(action) = typing.purpose.action(text) else {
                    self.overlay = None;
                    self.find_back(text);
                    return None;
                };
                // An empty line does nothing: the user may still type.
                if !text.trim().is_empty() {
                    self.overlay = None;
                    return Some(Request::Perform(action));
                }
            }
            _ => {
                if let Some(edit) = keys::edit(key) {
                    typing.input.edit(edit);
                    self.search_as_typed();
                }
            }
        }
        None
    }

    fn search_as_typed(&mut self) {
        if let Some(Overlay::Type(Typing { purpose: Purpose::Search, input })) = &self.overlay
            && self.focus == Focus::Plan
        {
            let text = input.text().to_owned();
            self.plan.show_with(&text);
        }
    }

    /// Shows the entry of the session before the one at the top that has this text.
    fn find_back(&mut self, text: &str) {
        let (Focus::Panes, Some(pane)) = (self.focus, self.focused_pane()) else { return };
        if text.is_empty() {
            return;
        }
        match transcript::find_back(self, pane, text) {
            Some(anchor) => self.panes.set_anchor(pane, Some(anchor)),
            None => self.refuse("not found in this session"),
        }
    }

    fn scroll_overlay(&mut self, command: Option<Command>) {
        let page = usize::from(self.places.overlay.height);
        let last = self.places.overlay_rows.saturating_sub(page);
        self.scrolled = match command {
            Some(Command::Up) => self.scrolled.saturating_sub(1),
            Some(Command::Down) => self.scrolled + 1,
            Some(Command::PageUp) => self.scrolled.saturating_sub(page),
            Some(Command::PageDown) => self.scrolled + page,
            Some(Command::Top) => 0,
            Some(Command::Bottom) => last,
            _ => self.scrolled,
        }
        .min(last);
    }

    /// How many rows a page has where the focus is.
    fn page(&self) -> isize {
        let pane = self.focused_pane();
        let of_pane = || self.places.panes.iter().find(|(id, _)| Some(*id) == pane);
        let height = match self.focus {
            Focus::Plan => self.places.plan.height,
            Focus::Panes => of_pane().map_or(1, |(_, area)| area.height),
        };
        isize::try_from(height.saturating_sub(1).max(1)).unwrap_or(1)
    }

    fn scroll(&mut self, rows: isize) {
        match (self.focus, self.focused_pane()) {
            (Focus::Plan, _) => self.plan.move_by(rows),
            (Focus::Panes, Some(pane)) => self.scroll_pane(pane, rows),
            (Focus::Panes, None) => {}
        }
    }

    fn scroll_pane(&mut self, pane: PaneId, rows: isize) {
        let Some((_, area)) = self.places.panes.iter().find(|(id, _)| *id == pane) else { return };
        let anchor = transcript::scrolled(self, pane, (area.width, area.height), rows);
        self.panes.set_anchor(pane, anchor);
    }

    pub(super) fn mouse(&mut self, event: MouseEvent) -> Option<Request> {
        let at = Position::new(event.column, event.row);
        let pane = self.places.panes.iter().find(|(_, area)| area.contains(at));
        let pane = pane.map(|(pane, _)| *pane);
        match event.kind {
            MouseEventKind::ScrollUp => self.wheel(at, pane, -WHEEL),
            MouseEventKind::ScrollDown => self.wheel(at, pane, WHEEL),
            MouseEventKind::Down(MouseButton::Left) if self.overlay.is_none() => {
                let tab = self.places.tabs.iter().find(|(_, area)| area.contains(at));
                if let Some(pane) = tab.map(|(pane, _)| *pane).or(pane) {
                    self.panes.focus(pane);
                    self.focus = Focus::Panes;
                } else if self.places.plan.contains(at) {
                    let row = usize::from(at.y - self.places.plan.y) + self.places.plan_top;
                    self.focus = Focus::Plan;
                    if row < self.plan.rows().len() {
                        self.plan.select(row);
                    }
                } else if self.places.needs.contains(at) && !self.needs().is_empty() {
                    self.open(Overlay::Needs { selected: 0 });
                }
            }
            _ => {}
        }
        None
    }

    fn wheel(&mut self, at: Position, pane: Option<PaneId>, rows: isize) {
        if self.overlay.is_some() {
            let command = if rows < 0 { Command::Up } else { Command::Down };
            (0..rows.unsigned_abs()).for_each(|_| self.scroll_overlay(Some(command)));
        } else if let Some(pane) = pane {
            self.scroll_pane(pane, rows);
        } else if self.places.plan.contains(at) {
            self.plan.move_by(rows);
        }
    }
}

/// The selected row of a list of so many after a command.
fn moved(selected: usize, command: Option<Command>, rows: usize) -> usize {
    let last = rows.saturating_sub(1);
    match command {
        Some(Command::Up) => selected.saturating_sub(1),
        Some(Command::Down | Command::Focus) => selected + 1,
        Some(Command::Top) => 0,
        Some(Command::Bottom) => last,
        _ => selected,
    }
    .min(last)
}

/// The name of a choice of the filter.
pub(super) fn state_name(state: Option<ShownStatus>) -> &'static str {
    state.map_or("all", ShownStatus::as_str)
}

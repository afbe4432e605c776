//! What keys and the mouse do to the state.

use ralph_core::TaskId;
use ralph_core::task::ShownStatus;
use ratatui::crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::draw::transcript;
use super::input::Input;
use super::keys::{self, Command};
use super::needs::Need;
use super::overlay::{Details, Overlay, Purpose, Typing};
use super::panes::PaneId;
use super::plan::STATES;
use super::replay::CONTROLS_NOTHING;
use super::state::{Focus, Request, State};
use crate::ports::UserAction;
use crate::style::Meaning;

/// How many rows the wheel scrolls.
const WHEEL: isize = 3;

impl State {
    pub(super) fn key(&mut self, key: &KeyEvent) -> Option<Request> {
        let plays = self.replay.is_some() && self.overlay.is_none();
        let command = keys::command(key, plays);
        if command == Some(Command::Interrupt) {
            return self.interrupt();
        }
        let is_typing = matches!(self.overlay, Some(Overlay::Type(_)));
        if self.replay.is_some() && !is_typing && command.is_some_and(Command::controls) {
            self.refuse(CONTROLS_NOTHING);
            return None;
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
        let is_running = self.is_running() && self.replay.is_none();
        if !is_running || matches!(self.overlay, Some(Overlay::Cancel { .. })) {
            return Some(Request::Quit);
        }
        self.open(Overlay::Cancel { selected: 1 });
        None
    }

    pub(super) fn open(&mut self, overlay: Overlay) {
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
            Command::GoTo => {
                let input = Input::default();
                self.open(Overlay::Type(Typing { purpose: Purpose::Place, input }));
            }
            Command::PlayPause
            | Command::Faster
            | Command::Slower
            | Command::Earlier
            | Command::Later
            | Command::Tenth(_) => {
                return self.replay.as_ref()?.play(command).map(Request::Play);
            }
        }
        None
    }

    pub(super) fn refuse(&mut self, why: &str) {
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

    pub(super) fn task_command(&mut self, command: Command) -> Option<Request> {
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

    pub(super) fn show_task(&mut self, task: TaskId, diff: bool) -> Option<Request> {
        self.open(Overlay::Task { task: task.clone(), diff });
        let known = self.details.as_ref().filter(|details| details.task == task);
        let wanted = known.is_none_or(|details| match diff {
            true => details.diff.is_none(),
            false => true,
        });
        if known.is_none() {
            self.details = Some(Details { task: task.clone(), page: None, diff: None });
        }
        wanted.then_some(if diff { Request::Diff(task) } else { Request::Task(task) })
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
                } else if self.places.needs.contains(at)
                    && !self.needs().is_empty()
                    && self.replay.is_none()
                {
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

/// The name of a choice of the filter.
pub(super) fn state_name(state: Option<ShownStatus>) -> &'static str {
    state.map_or("all", ShownStatus::as_str)
}

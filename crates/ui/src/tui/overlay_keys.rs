//! What keys do while something lies over the screen: lists, questions, a line that the user types.

use ralph_core::TaskId;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::draw::transcript;
use super::input::Input;
use super::keys::{self, Command};
use super::needs::Need;
use super::overlay::{CANCELS, Overlay, Purpose, Typing};
use super::plan::STATES;
use super::state::{Focus, Request, State};
use crate::ports::UserAction;

impl State {
    pub(super) fn overlay_key(
        &mut self,
        key: &KeyEvent,
        command: Option<Command>,
    ) -> Option<Request> {
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

    pub(super) fn type_key(&mut self, key: &KeyEvent) -> Option<Request> {
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
                    if typing.purpose == Purpose::Place {
                        return self.go_to(text.trim());
                    }
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

    /// Jumps to a place of the replay.
    fn go_to(&mut self, text: &str) -> Option<Request> {
        let replay = self.replay.as_ref().filter(|_| !text.is_empty())?;
        match replay.go_to(text, &self.zone) {
            Ok(play) => return Some(Request::Play(play)),
            Err(why) => self.refuse(why),
        }
        None
    }

    pub(super) fn search_as_typed(&mut self) {
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

    pub(super) fn scroll_overlay(&mut self, command: Option<Command>) {
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

//! What the display knows and what the user has opened: the fold of the stream, the plan, the selection. Pure: keys and
//! news go in, requests come out. `update` has what keys do.

use ralph_core::TaskId;
use ralph_core::run::Fact;
use ralph_core::task::Task;
use ralph_core::time::{Timestamp, Zone};
use ralph_core::view::live::LiveView;
use ralph_core::view::playback::Position;
use ralph_core::view::stream::{Observation, Observed};
use ratatui::layout::Rect;
use serde_json::Value;

use super::draw::text::Palette;
use super::needs::{Need, needs};
use super::overlay::{Details, Overlay};
use super::panes::{self, PaneId, Panes};
use super::plan::Plan;
use super::replay::{Play, Replay};
use crate::ports::{Answer, Refused, UserAction};
use crate::status::StatusPage;
use crate::style::Meaning;

/// What the user moves with the arrow keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Focus {
    #[default]
    Plan,
    Panes,
}

/// What the display asks of the threads around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    Quit,
    Perform(UserAction),
    /// Everything about a task.
    Task(TaskId),
    Diff(TaskId),
    Play(Play),
}

/// What the board answers.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    Plan(Vec<Task>),
    Status(Box<StatusPage>),
    Task(TaskId, Answer<Value>),
    Diff(TaskId, Answer<String>),
    Done(Answer<String>),
    /// The board cannot be read now.
    Trouble(Refused),
}

/// Where things were drawn last, for the mouse and for scrolling.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Places {
    pub(super) plan: Rect,
    /// The first row of the plan that is shown.
    pub(super) plan_top: usize,
    pub(super) panes: Vec<(PaneId, Rect)>,
    pub(super) tabs: Vec<(PaneId, Rect)>,
    pub(super) needs: Rect,
    pub(super) overlay: Rect,
    /// How many rows the overlay has.
    pub(super) overlay_rows: usize,
}

pub(super) struct State {
    pub(super) live: LiveView,
    /// The stream is a replay.
    pub(super) replay: Option<Replay>,
    /// The stream has ended.
    pub(super) over: bool,
    pub(super) plan: Plan,
    /// The plan was read at least once.
    pub(super) has_plan: bool,
    pub(super) status: Option<Box<StatusPage>>,
    pub(super) focus: Focus,
    pub(super) panes: Panes,
    pub(super) overlay: Option<Overlay>,
    /// The first row of the overlay that is shown.
    pub(super) scrolled: usize,
    pub(super) details: Option<Details>,
    /// What the last action did, or why it was refused.
    pub(super) note: Option<(Meaning, String)>,
    pub(super) places: Places,
    pub(super) now: Timestamp,
    pub(super) zone: Zone,
    /// The folder of the repository.
    pub(super) root: String,
    pub(super) palette: Palette,
}

impl State {
    pub(super) fn new(root: String, zone: Zone, now: Timestamp, color: bool) -> Self {
        Self {
            live: LiveView::default(),
            replay: None,
            over: false,
            plan: Plan::default(),
            has_plan: false,
            status: None,
            focus: Focus::Plan,
            panes: Panes::default(),
            overlay: None,
            scrolled: 0,
            details: None,
            note: None,
            places: Places::default(),
            now,
            zone,
            root,
            palette: Palette { color },
        }
    }

    /// Takes in what happened; whether the status page has to be read again.
    pub(super) fn seen(&mut self, seen: &Observation) -> bool {
        self.live.apply(seen);
        if matches!(seen.what, Observed::Joined { .. }) {
            self.panes.follow(seen.of);
        }
        let Observed::Fact { event } = &seen.what else {
            return matches!(seen.what, Observed::Left);
        };
        match &event.fact {
            Fact::IterationStarted { task: Some(task), .. } if !self.plan.chosen => {
                self.plan.go_to(&task.id);
            }
            Fact::RunEnded { .. } => self.panes.release(),
            _ => {}
        }
        matches!(
            event.fact,
            Fact::RunStarted { .. }
                | Fact::RunEnded { .. }
                | Fact::QuestionAsked { .. }
                | Fact::TaskSettled { .. }
                | Fact::ControlReceived { .. }
        )
    }

    pub(super) fn replied(&mut self, reply: Reply) {
        match reply {
            Reply::Plan(tasks) => {
                self.plan.set(tasks);
                self.has_plan = true;
                let working = self.live.busy().next();
                let task = working.and_then(|(run, slot)| self.task_of(PaneId::Slot(run, slot)));
                if let Some(task) = task.filter(|_| !self.plan.chosen) {
                    self.plan.go_to(&task);
                }
            }
            // It shows what waits now, which is not what is replayed.
            Reply::Status(_) if self.replay.is_some() => {}
            Reply::Status(page) => self.status = Some(page),
            Reply::Task(task, page) => {
                if let Some(details) = self.details.as_mut().filter(|open| open.task == task) {
                    details.page = Some(page);
                }
            }
            Reply::Diff(task, diff) => {
                if let Some(details) = self.details.as_mut().filter(|open| open.task == task) {
                    details.diff = Some(diff);
                }
            }
            Reply::Done(Ok(sentence)) => self.note = Some((Meaning::Good, sentence)),
            Reply::Done(Err(refused)) | Reply::Trouble(refused) => {
                self.note = Some((Meaning::Bad, sentence(&refused)));
            }
        }
    }

    pub(super) fn needs(&self) -> Vec<Need> {
        needs(self.status.as_deref(), &self.live)
    }

    pub(super) fn panes(&self) -> Vec<PaneId> {
        panes::all(&self.live)
    }

    pub(super) fn focused_pane(&self) -> Option<PaneId> {
        self.panes.focused(&self.live, &self.panes())
    }

    /// The task that a pane is about.
    pub(super) fn task_of(&self, pane: PaneId) -> Option<TaskId> {
        let PaneId::Slot(run, slot) = pane else { return None };
        let slot = self.live.runs.get(run as usize)?.view.slot(slot)?;
        slot.task.as_ref().map(|task| task.id.clone())
    }

    /// The task that keys are about: of the session with the focus, or the selected one.
    pub(super) fn task(&self) -> Option<TaskId> {
        let selected = || self.plan.selected().map(|task| task.id.clone());
        match self.focus {
            Focus::Panes => self.focused_pane().and_then(|pane| self.task_of(pane)),
            Focus::Plan => selected().or_else(|| self.task_of(self.focused_pane()?)),
        }
    }

    /// Whether some run of the stream goes on.
    pub(super) fn is_running(&self) -> bool {
        self.live.runs.iter().any(|run| !run.has_ended())
    }

    /// Takes the time; whether something on the screen shows it.
    pub(super) fn tick(&mut self, now: Timestamp) -> bool {
        let is_new = now.as_millis().div_euclid(1000) != self.now.as_millis().div_euclid(1000);
        self.now = now;
        is_new && self.is_running()
    }

    /// Takes the place of the replay, whose time is the one that is shown; whether the screen shows something else now.
    pub(super) fn played(&mut self, position: Position) -> bool {
        let second = self.now.as_millis().div_euclid(1000);
        let Some(replay) = &mut self.replay else { return false };
        self.now = position.at;
        let before = Position { at: position.at, ..replay.position };
        let is_new = second != position.at.as_millis().div_euclid(1000) || before != position;
        replay.position = position;
        is_new
    }
}

/// Why something was refused, and what to do.
fn sentence(refused: &Refused) -> String {
    match refused.hints.first() {
        Some(hint) => format!("{} ({hint})", refused.message),
        None => refused.message.clone(),
    }
}

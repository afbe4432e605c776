//! One slot of a run as users see it.

use serde::{Serialize, Serializer};

use super::words;
use crate::agent::{AgentEvent, Usage};
use crate::ids::TaskId;
use crate::run::{Fact, Landing, SlotId, SlotStep, TaskBrief, Wait};
use crate::time::Timestamp;

words! {
    /// What a slot is doing.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Doing {
        #[default]
        Idle = "idle",
        /// Looking at the plan, or claiming.
        Looking = "looking for work",
        Starting = "starting",
        Working = "working",
        Reading = "reading the changes",
        Judging = "running gates",
        Verifying = "verifying",
        Queued = "waiting to land",
        Integrating = "landing",
        Settling = "recording the result",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskView {
    pub id: TaskId,
    pub title: String,
    /// Which attempt on it this is, from 1.
    pub attempt: u32,
}

impl From<&TaskBrief> for TaskView {
    fn from(task: &TaskBrief) -> Self {
        Self { id: task.id.clone(), title: task.title.clone(), attempt: task.attempt_number }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    #[serde(flatten)]
    pub wait: Wait,
    /// Until when, if that is known.
    pub until: Option<Timestamp>,
}

/// A tool that the agent runs now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolView {
    pub name: String,
    pub since: Timestamp,
}

/// One place where sessions run, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SlotView {
    pub doing: Doing,
    pub since: Timestamp,
    /// The number of its iteration; 0 between two.
    pub iteration: u32,
    /// What that is about; `None` between two, and where the agent picks.
    pub task: Option<TaskView>,
    /// What the plan has next, where the agent picks.
    pub about: Option<String>,
    /// The model: as the agent reports it, else as requested.
    pub model: Option<String>,
    pub waiting: Option<Waiting>,
    /// The tool that its agent runs, where a display sees the events of agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolView>,
    /// What its session used so far, where a display sees the events of agents. The run's own count has it once the
    /// session has ended.
    #[serde(skip)]
    pub usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// What it does besides, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<SlotStep>,
    /// The latest end of the gate or the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Slots as JSON, with the words of what they do: a display that reads JSON has none of its own.
pub(super) fn with_words<S: Serializer>(slots: &[SlotView], to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct WithWords<'a> {
        #[serde(flatten)]
        slot: &'a SlotView,
        activity: String,
    }
    to.collect_seq(slots.iter().map(|slot| WithWords { slot, activity: slot.shown() }))
}

impl SlotView {
    /// Takes in an event of its agent.
    pub(super) fn on_agent_event(&mut self, event: &AgentEvent, now: Timestamp) {
        if let AgentEvent::Message { usage, .. } | AgentEvent::Result { usage, .. } = event {
            self.usage = *usage;
        }
        match event {
            AgentEvent::Started { model: Some(model), .. } | AgentEvent::Message { model, .. }
                if !model.is_empty() =>
            {
                self.model = Some(model.clone());
                self.tool = None;
            }
            AgentEvent::ToolStarted { name, .. } => {
                self.tool = Some(ToolView { name: name.clone(), since: now });
            }
            AgentEvent::ToolEnded { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::Result { .. } => self.tool = None,
            _ => {}
        }
    }

    /// What it does, in a word or two: the agent's tool, the gate or the verifier where there is one.
    pub fn activity(&self) -> String {
        match (&self.tool, &self.gate) {
            (Some(tool), _) if self.doing == Doing::Working => tool.name.clone(),
            _ if self.step.is_some() => self.step.map_or("", SlotStep::as_str).to_owned(),
            (_, Some(gate)) => format!("gate {gate}"),
            _ if self.doing == Doing::Verifying => "verifier".to_owned(),
            _ => self.doing.as_str().to_owned(),
        }
    }

    /// What it does or waits for.
    pub fn shown(&self) -> String {
        match &self.waiting {
            Some(waiting) => format!("waiting: {}", words::wait(&waiting.wait)),
            None => self.activity(),
        }
    }

    /// How long the gate or the step that runs may take, in milliseconds.
    pub fn limit_ms(&self) -> Option<u64> {
        Some(self.until?.millis_since(self.since))
    }

    /// Since when it does that.
    pub fn active_since(&self) -> Timestamp {
        let tool = self.tool.as_ref().filter(|_| self.doing == Doing::Working);
        tool.map_or(self.since, |tool| tool.since)
    }

    /// Takes in a fact about this slot.
    pub(super) fn apply(&mut self, fact: &Fact, at: Timestamp) {
        let doing = match fact {
            Fact::Surveying { .. } | Fact::Claiming { .. } => {
                self.waiting = None;
                Doing::Looking
            }
            Fact::ClaimMissed { .. } => Doing::Idle,
            Fact::SlotFreed { .. } | Fact::IterationEnded { .. } => {
                *self = Self { since: at, ..Self::default() };
                Doing::Idle
            }
            Fact::IterationStarted { iteration, task, about, model, .. } => {
                *self = Self {
                    since: at,
                    iteration: *iteration,
                    task: task.as_ref().map(TaskView::from),
                    about: about.as_ref().map(|about| about.title.clone()),
                    model: model.clone(),
                    ..Self::default()
                };
                Doing::Starting
            }
            Fact::SessionStarted { .. } if self.doing == Doing::Verifying => return,
            Fact::SessionStarted { .. } => Doing::Working,
            Fact::SessionEnded { report, .. } => {
                if let Some(model) = &report.end.model {
                    self.model = Some(model.clone());
                }
                Doing::Reading
            }
            Fact::HeadMoved { .. } | Fact::WorkFound { .. } => Doing::Reading,
            Fact::HookRefused { .. } => return,
            Fact::CandidateMade { .. } => Doing::Judging,
            // Also where a checkout for the verifier is set up.
            Fact::GateStarted { gate, timeout_ms, .. } => {
                (self.gate, self.step) = (Some(gate.clone()), None);
                self.until = timeout_ms.map(|timeout| at.plus_millis(timeout));
                self.since = at;
                return;
            }
            Fact::StepStarted { step, timeout_ms, .. } => {
                (self.gate, self.step) = (None, Some(*step));
                self.until = timeout_ms.map(|timeout| at.plus_millis(timeout));
                self.since = at;
                return;
            }
            Fact::Verifying { agent, model, .. } => {
                self.model = Some(model.as_ref().unwrap_or(agent).clone());
                Doing::Verifying
            }
            Fact::Queued { .. } => Doing::Queued,
            Fact::Integrating { .. } => Doing::Integrating,
            Fact::Integrated { landing: Landing::Rebased, .. } => Doing::Judging,
            Fact::Judged { .. }
            | Fact::Approved { .. }
            | Fact::Integrated { .. }
            | Fact::Verified { .. }
            | Fact::Unverified { .. }
            | Fact::Settling { .. } => Doing::Settling,
            Fact::WaitStarted { wait, until, .. } => {
                self.waiting = Some(Waiting { wait: wait.clone(), until: *until });
                self.since = at;
                return;
            }
            Fact::WaitEnded { .. } => {
                self.waiting = None;
                self.since = at;
                return;
            }
            _ => return,
        };
        if self.doing != doing {
            self.doing = doing;
            self.since = at;
            (self.tool, self.gate, self.usage) = (None, None, Usage::default());
            (self.step, self.until) = (None, None);
        }
    }
}

impl Fact {
    /// The slot that it is about.
    pub const fn slot(&self) -> Option<SlotId> {
        match self {
            Self::Surveying { slot }
            | Self::Claiming { slot }
            | Self::ClaimMissed { slot }
            | Self::SlotFreed { slot }
            | Self::IterationStarted { slot, .. }
            | Self::SessionStarted { slot, .. }
            | Self::MessageGiven { slot, .. }
            | Self::SessionEnded { slot, .. }
            | Self::CandidateMade { slot, .. }
            | Self::Judged { slot, .. }
            | Self::Approved { slot, .. }
            | Self::Verifying { slot, .. }
            | Self::Verified { slot, .. }
            | Self::Unverified { slot, .. }
            | Self::Queued { slot }
            | Self::GateStarted { slot, .. }
            | Self::StepStarted { slot, .. }
            | Self::Integrating { slot }
            | Self::Integrated { slot, .. }
            | Self::HeadMoved { slot }
            | Self::WorkFound { slot, .. }
            | Self::HookRefused { slot, .. }
            | Self::Settling { slot, .. }
            | Self::TaskSettled { slot, .. }
            | Self::Committed { slot, .. }
            | Self::IterationEnded { slot, .. }
            | Self::AgentLimited { slot, .. }
            | Self::AgentSwitched { slot, .. }
            | Self::WaitStarted { slot, .. }
            | Self::WaitEnded { slot }
            | Self::ClaimLost { slot, .. }
            | Self::PortFailed { slot, .. } => Some(*slot),
            Self::RunStarted { .. }
            | Self::Noticed { .. }
            | Self::PlanCounted { .. }
            | Self::MergesNeeded { .. }
            | Self::TasksLeft { .. }
            | Self::PlanWritten { .. }
            | Self::MarkerFound { .. }
            | Self::QuestionAsked { .. }
            | Self::WorkSaved { .. }
            | Self::WorkPutBack { .. }
            | Self::ControlReceived { .. }
            | Self::Anomaly { .. }
            | Self::StopDecided { .. }
            | Self::RunEnded { .. }
            | Self::Publishing
            | Self::Published { .. }
            | Self::Watching { .. }
            | Self::Reviewed { .. }
            | Self::Unknown => None,
        }
    }
}

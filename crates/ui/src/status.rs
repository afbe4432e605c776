//! `ralph status`: the state of the run and the plan on one page, as text and as JSON.

use ralph_core::TaskId;
use ralph_core::amounts::money;
use ralph_core::run::{Cancel, Outcome};
use ralph_core::task::Counts;
use ralph_core::time::Timestamp;
use ralph_core::view::forecast::Forecast;
use ralph_core::view::{CommitView, Condition, QuestionView, RunView, SlotView, words};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::line::{TextLine, field, fields, paragraph};
use crate::plain::start::plan;
use crate::plain::summary::{cost, heading, next_commands, questions, rest, waiting};
use crate::style::{Meaning, TextStyle};
use crate::units::{brief_duration, duration};

/// Whether a run is active here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    Running {
        pid: u32,
    },
    Stopped,
    /// The last run was interrupted; the next one continues it.
    Interrupted,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitingTask {
    pub task: TaskId,
    /// Why it waits; may be empty.
    pub reason: String,
    /// Its finished work waits for approval.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
}

/// A branch with a worktree of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaneStatus {
    pub branch: String,
    #[serde(flatten)]
    pub state: State,
    /// The name of the outcome of the last run there.
    pub outcome: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// What runs there now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<SlotView>,
    /// How long the run has lasted.
    pub elapsed_ms: Option<u64>,
    /// The page of its pull request, or the one on which you open it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// Iterations that it counted.
    pub iterations: u32,
    pub done: u64,
    pub total: u64,
    /// Millionths of a dollar that the run cost, where that is known.
    pub cost_micro_usd: Option<u64>,
    pub last_error: Option<String>,
    /// How soon the run stops, if it was cancelled.
    pub cancel: Option<Cancel>,
}

/// Everything on the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusPage {
    #[serde(flatten)]
    pub state: State,
    /// The run, or the last one.
    pub run: Option<RunView>,
    pub counts: Counts,
    /// Estimated time and cost of the remaining tasks.
    pub forecast: Option<Forecast>,
    pub level: Option<String>,
    pub questions: Vec<QuestionView>,
    /// Tasks that wait for the user without a question, and why.
    pub waiting: Vec<WaitingTask>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<LaneStatus>,
    pub last_error: Option<String>,
    /// The newest commits, the newest first.
    pub commits: Vec<CommitView>,
    /// What to type, the best first.
    pub next: Vec<String>,
    /// The time of the page.
    #[serde(rename = "at")]
    pub now: Timestamp,
}

impl StatusPage {
    pub fn text(&self, style: TextStyle) -> String {
        let mut lines = self.first_lines(style);
        let run = self.run.as_ref();
        let mut rows: Vec<(&str, Option<String>)> = vec![("run", run.map(|run| self.what(run)))];
        rows.extend(self.now_doing().into_iter().map(|now| ("now", Some(now))));
        rows.extend([
            ("plan", Some(self.plan())),
            ("time", run.map(|run| self.lasted(run))),
            ("cost", run.and_then(cost)),
            ("remaining", self.forecast.as_ref().map(rest)),
            ("published", run.and_then(|run| Some(run.publication.as_ref()?.sentence()))),
            ("review", run.and_then(|run| Some(run.review.as_ref()?.sentence()))),
            ("sandbox", self.level.clone()),
        ]);
        lines.extend(fields(rows, style));
        if let Some(error) = &self.last_error {
            lines.extend(field("last error", Meaning::Bad, error, style));
        }
        self.lanes(&mut lines, style);
        lines.extend(questions(&self.questions, style));
        let tasks = self.waiting.iter().map(|waits| {
            let verb = if waits.approval { "approve" } else { "task show" };
            let command = format!("ralph {verb} {}", waits.task);
            (&waits.task, "", waits.reason.as_str(), command)
        });
        lines.extend(waiting("Waiting for you", tasks, style));
        if !self.commits.is_empty() {
            heading("Recent commits", &mut lines, style);
            for commit in &self.commits {
                let line =
                    TextLine::new().plain("  ").add(Meaning::Active, commit.short()).plain("  ");
                lines.push(line.flexible(None, &commit.subject).show(style));
            }
        }
        if !self.next.is_empty() {
            lines.push(String::new());
            lines.extend(next_commands(&self.next, style));
        }
        lines.join("\n") + "\n"
    }

    /// The same page at a later time, at which nothing else has changed.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Self {
        let mut page = Self { now, ..self.clone() };
        for lane in page.lanes.iter_mut().filter(|lane| matches!(lane.state, State::Running { .. }))
        {
            lane.elapsed_ms = lane.elapsed_ms.map(|lasted| lasted + now.millis_since(self.now));
        }
        page
    }

    /// The page in two or three lines: the state, what runs, the plan.
    pub fn brief(&self, style: TextStyle) -> Vec<String> {
        let mut lines = self.first_lines(style);
        let now = self.now_doing().into_iter().map(|now| ("now", Some(now)));
        lines.extend(fields(now.chain([("plan", Some(self.plan()))]), style));
        lines
    }

    fn plan(&self) -> String {
        match self.counts.total() {
            0 => "no tasks".to_owned(),
            _ => plan(&self.counts),
        }
    }

    /// What is running, one sentence per session; empty where nothing runs.
    fn now_doing(&self) -> Vec<String> {
        match (&self.state, &self.run) {
            (State::Running { .. }, Some(run)) => {
                let watched = run.watched.iter().map(|page| format!("watching {page}"));
                let publishes = run.phase.iter().filter(|_| run.watched.is_none());
                let publishes = publishes.map(|phase| {
                    let lasting = duration(self.now.millis_since(phase.since));
                    format!("{} for {lasting}", phase.what)
                });
                let slots = run.busy().map(|(_, slot)| doing(slot, self.now));
                slots.chain(publishes).chain(watched).collect()
            }
            _ => vec![],
        }
    }

    fn first_lines(&self, style: TextStyle) -> Vec<String> {
        // A run that has ended is not the one that runs now.
        let run = self.run.as_ref().filter(|run| run.outcome.is_none());
        let active = run.map_or(Condition::Running, Condition::while_active);
        let cancelled = self.cancelled();
        let (meaning, text) = match self.state {
            State::Running { pid } if cancelled.is_some() => {
                (Meaning::Warning, format!("{} (pid {pid})", cancelled.unwrap_or_default()))
            }
            State::Running { pid } => {
                let meaning = match active {
                    Condition::Running => Meaning::Active,
                    _ => Meaning::Warning,
                };
                (meaning, format!("{active} (pid {pid})"))
            }
            State::Interrupted => match self.outcome() {
                Some(outcome) => {
                    let text = outcome.sentence();
                    (Meaning::Warning, format!("{text} {}", self.goes_on()))
                }
                None => {
                    let text = format!("{}: {}", Condition::Interrupted, self.goes_on());
                    (Meaning::Warning, text)
                }
            },
            State::Stopped => match self.outcome() {
                Some(outcome) => (Meaning::Heading, outcome.sentence()),
                None if self.lanes.is_empty() => {
                    (Meaning::Heading, "nothing has run here yet".to_owned())
                }
                None => (Meaning::Heading, "no run is active".to_owned()),
            },
        };
        paragraph(0, Some(meaning), &text, style)
    }

    /// How soon the active runs stop, where they were cancelled. A run that has ended does not count.
    pub fn cancel(&self) -> Option<Cancel> {
        let run = self.run.as_ref().filter(|run| run.outcome.is_none());
        let lanes = self.working_lanes().filter_map(|lane| lane.cancel);
        lanes.chain(run.and_then(|run| run.cancel)).max()
    }

    fn cancelled(&self) -> Option<&'static str> {
        let sessions =
            self.run.as_ref().map_or(0, RunView::sessions) + self.working_lanes().count();
        self.cancel().map(|cancel| words::cancel(cancel, sessions))
    }

    fn working_lanes(&self) -> impl Iterator<Item = &LaneStatus> {
        self.lanes.iter().filter(|lane| matches!(lane.state, State::Running { .. }))
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.run.as_ref().and_then(|run| run.outcome.as_ref())
    }

    fn goes_on(&self) -> String {
        let mode = self.run.as_ref().map_or("", |run| run.mode.as_str());
        format!("ralph {} continues it", if mode.is_empty() { "build" } else { mode })
    }

    fn what(&self, run: &RunView) -> String {
        let done = run.successful + run.failed;
        let limit = run.max_sessions.map(|most| format!(" of {most}")).unwrap_or_default();
        format!(
            "{} {}, {} with {}, {done}{limit} iterations ended",
            run.mode, run.target, run.preset, run.agent
        )
    }

    /// The time that the run took: until now, or until its last event.
    fn lasted(&self, run: &RunView) -> String {
        match self.state {
            State::Running { .. } => duration(run.elapsed(self.now)),
            State::Stopped | State::Interrupted => brief_duration(run.elapsed(run.last_at)),
        }
    }

    fn lanes(&self, lines: &mut Vec<String>, style: TextStyle) {
        if self.lanes.is_empty() {
            return;
        }
        heading("Branches", lines, style);
        let word = |lane: &LaneStatus| match (&lane.state, &lane.outcome) {
            (State::Running { .. }, _) => match lane.cancel {
                Some(cancel) => (Meaning::Warning, words::cancel(cancel, 1).to_lowercase()),
                None if lane.paused => (Meaning::Warning, Condition::Paused.to_string()),
                None => (Meaning::Active, Condition::Running.to_string()),
            },
            (State::Interrupted, _) => (Meaning::Warning, Condition::Interrupted.to_string()),
            (State::Stopped, Some(outcome)) => (Meaning::Faint, outcome.clone()),
            (State::Stopped, None) => (Meaning::Faint, "not started".to_owned()),
        };
        let widest = |text: &dyn Fn(&LaneStatus) -> usize| self.lanes.iter().map(text).max();
        let name = widest(&|lane| lane.branch.width()).unwrap_or(0);
        let second = widest(&|lane| word(lane).1.width()).unwrap_or(0);
        let gap = |width: usize, text: &str| " ".repeat(2 + width.saturating_sub(text.width()));
        for lane in &self.lanes {
            let (meaning, state) = word(lane);
            let cost = lane.cost_micro_usd.map(|cost| format!(", {}", money(cost)));
            let time = lane.elapsed_ms.map(|lasted| format!(", {}", brief_duration(lasted)));
            let iterations = words::count(u64::from(lane.iterations), "iteration");
            let line = TextLine::new().plain("  ").add(Meaning::Name, &lane.branch);
            let line = line.plain(gap(name, &lane.branch)).add(meaning, &state);
            let line = line.plain(format!(
                "{}{} of {} tasks done, {iterations}{}{}",
                gap(second, &state),
                lane.done,
                lane.total,
                cost.unwrap_or_default(),
                time.unwrap_or_default()
            ));
            lines.push(line.show(style));
            for slot in &lane.slots {
                lines.extend(paragraph(4, None, &doing(slot, self.now), style));
            }
            if let Some(page) = &lane.page {
                lines.extend(paragraph(4, Some(Meaning::Name), page, style));
            }
            if let Some(error) = &lane.last_error {
                lines.extend(paragraph(4, Some(Meaning::Bad), error, style));
            }
        }
    }
}

/// What a slot does, in a sentence.
fn doing(slot: &SlotView, now: Timestamp) -> String {
    if let Some(waiting) = &slot.waiting {
        let what = words::wait(&waiting.wait);
        return match waiting.until {
            Some(until) => format!("waiting: {what}, {} left", duration(until.millis_since(now))),
            None => format!("waiting: {what}"),
        };
    }
    let lasting = duration(now.millis_since(slot.since));
    let model = slot.model.as_ref().map(|model| format!(", {model}")).unwrap_or_default();
    let what = match (&slot.gate, slot.step) {
        (Some(gate), _) => format!("running gate {gate}"),
        (None, Some(step)) => step.as_str().to_owned(),
        (None, None) => slot.doing.as_str().to_owned(),
    };
    let limit = slot.limit_ms().map(|limit| format!(" of {}", duration(limit))).unwrap_or_default();
    let doing = format!("{what} for {lasting}{limit}{model}");
    match (&slot.task, slot.iteration) {
        (Some(task), number) => format!("iteration {number}: {} {}\n{doing}", task.id, task.title),
        (None, 0) => doing,
        (None, number) => format!("iteration {number}: {doing}"),
    }
}

#[cfg(test)]
mod tests;

//! The fold of a journal into what a user wants to know.

use serde::Serialize;

use super::forecast::{Forecast, Spent, forecast};
use super::slot_view::{Doing, SlotView};
use super::words;
use crate::agent::{AgentEvent, Usage};
use crate::ids::{QuestionId, RunId, TaskId};
use crate::run::{
    Budget, Cancel, Class, Control, Fact, LeftTask, NeedsMerge, Notice, Outcome, Planned,
    Publication, Review, RunEvent, SlotId, StopReason,
};
use crate::task::{Counts, Status};
use crate::time::Timestamp;

/// How many of the newest commits are kept.
const COMMITS: usize = 10;
/// How many different warnings are kept.
const WARNINGS: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommitView {
    pub id: String,
    /// Its first line.
    pub subject: String,
}

impl CommitView {
    /// The first seven letters of its id.
    pub fn short(&self) -> &str {
        self.id.get(..7).unwrap_or(&self.id)
    }
}

/// A question that waits for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuestionView {
    pub id: QuestionId,
    pub task: TaskId,
    pub text: String,
}

/// A task that the loop will not work on by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndedTask {
    pub id: TaskId,
    pub title: String,
    /// Why it ended this way.
    pub reason: String,
    /// Its finished work waits for the user's approval.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approval: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SavedWork {
    pub task: TaskId,
    /// The ref.
    pub name: String,
}

/// A run as users see it. Terminal, page and `ralph status` all show this, so they cannot disagree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RunView {
    pub run: Option<RunId>,
    /// What it works on, in words.
    pub target: String,
    /// `build`, `plan` or `prompt`.
    pub mode: String,
    pub preset: String,
    /// The agent that works now.
    pub agent: String,
    /// The agents that stand in for it at a limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
    pub level: String,
    pub gates: Vec<String>,
    /// The verifier, in words.
    pub verifier: Option<String>,
    /// The maximum number of sessions; `None` is unlimited.
    pub max_sessions: Option<u32>,
    /// What it may spend.
    pub budget: Budget,
    /// The commit that it started from.
    pub head: Option<String>,
    /// The branch that it works on, where that is not the one you have checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The iteration that an interrupted run had reached, where this one continues it.
    pub resumed_after: Option<u32>,
    /// What carries over from the interrupted run.
    pub kept: Vec<String>,
    /// When this process started or continued it.
    #[serde(rename = "started_at")]
    pub began_at: Timestamp,
    /// The time of the newest fact.
    pub last_at: Timestamp,
    pub counts: Counts,
    #[serde(serialize_with = "super::slot_view::with_words")]
    pub slots: Vec<SlotView>,
    /// Iterations that succeeded.
    pub successful: u32,
    /// Iterations that counted and failed.
    pub failed: u32,
    /// What all sessions that ended used.
    pub usage: Usage,
    /// The same with the sessions under way, as far as a display sees the events of agents.
    #[serde(rename = "usage_so_far")]
    pub so_far: Usage,
    /// Sessions that used tokens and reported no price: the cost is a lower bound.
    pub unpriced: u32,
    /// Tasks that this run finished: done, or failed for good.
    #[serde(rename = "finished")]
    pub settled: u64,
    /// Milliseconds of all iterations that ended, without waits.
    pub worked_ms: u64,
    /// Milliseconds during which at least one session was under way, without waits.
    #[serde(skip)]
    pub busy_ms: u64,
    /// The same, counted once for each session.
    #[serde(skip)]
    pub sessions_ms: u64,
    /// What earlier runs spent, as it was when this one began.
    pub earlier: Spent,
    /// The newest commits of the run, by agents and by the loop, the last one last.
    pub commits: Vec<CommitView>,
    /// How many commits the run made.
    pub commit_count: u32,
    /// Questions of this run that wait for the user.
    pub questions: Vec<QuestionView>,
    /// Tasks that failed for good.
    pub failed_tasks: Vec<EndedTask>,
    /// Tasks that wait for the user without a question.
    pub held_tasks: Vec<EndedTask>,
    /// Ready tasks that wait until the user merges a branch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merges: Vec<NeedsMerge>,
    /// Unfinished work that was saved, the newest of each task.
    pub saved: Vec<SavedWork>,
    /// Where work that was uncommitted before the run was saved, and how many paths it has.
    pub saved_start: Option<(String, u32)>,
    /// The plan that a planning session wrote.
    pub planned: Option<Planned>,
    /// What the user should know, each once.
    pub warnings: Vec<String>,
    pub last_error: Option<String>,
    /// The user paused it.
    pub paused: bool,
    /// The user cancelled it: how soon it stops.
    pub cancel: Option<Cancel>,
    /// It is going to stop.
    pub stopping: Option<StopReason>,
    /// The result of publishing its branch.
    pub publication: Option<Publication>,
    /// The page of its pull request while ralph watches it.
    pub watched: Option<String>,
    /// The last result of watching its pull request.
    pub review: Option<Review>,
    /// What the run as a whole waits for, while no slot works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<RunPhase>,
    /// It has ended.
    pub outcome: Option<Outcome>,
}

/// What a run as a whole waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunPhase {
    /// In words that can follow "now:".
    pub what: &'static str,
    pub since: Timestamp,
    /// The latest end, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl RunView {
    pub fn of<'a>(events: impl IntoIterator<Item = &'a RunEvent>) -> Self {
        let mut view = Self::default();
        for event in events {
            view.apply(event);
        }
        view
    }

    /// Milliseconds that the run has lasted.
    pub fn elapsed(&self, now: Timestamp) -> u64 {
        match &self.outcome {
            Some(outcome) => outcome.duration_ms,
            None => now.max(self.last_at).millis_since(self.began_at),
        }
    }

    /// The page of its pull request, where it has one, or the one on which you open it.
    pub fn page(&self) -> Option<&str> {
        let reviewed = self.review.as_ref().map(|review| review.page.as_str());
        let published = self.publication.as_ref().map(|made| made.page.as_str());
        let known = [self.watched.as_deref(), reviewed, published];
        known.into_iter().flatten().find(|page| !page.is_empty())
    }

    /// What it has spent, as the base of the forecast.
    pub fn spent(&self) -> Spent {
        let priced = self.usage.cost_micro_usd.filter(|_| self.unpriced == 0);
        Spent { tasks: self.settled, micro_usd: priced, millis: self.worked_ms }
    }

    /// The forecast for the remaining tasks, from what this run and earlier ones have spent.
    pub fn forecast(&self) -> Option<Forecast> {
        self.forecast_for(self.counts.unresolved())
    }

    /// The same for so many tasks.
    pub fn forecast_for(&self, left: u64) -> Option<Forecast> {
        let rest = forecast(self.spent(), self.earlier, left)?;
        Some(rest.side_by_side(self.sessions_ms, self.busy_ms, self.slots.len() as u64))
    }

    /// Whether sessions run in parallel.
    pub fn is_parallel(&self) -> bool {
        self.slots.len() > 1
    }

    /// The slot, where there is one of that number.
    pub fn slot(&self, slot: SlotId) -> Option<&SlotView> {
        self.slots.get(slot as usize)
    }

    /// The busy slots, with their numbers.
    pub fn busy(&self) -> impl Iterator<Item = (SlotId, &SlotView)> {
        let numbered = self.slots.iter().enumerate().map(|(index, slot)| (index as SlotId, slot));
        numbered.filter(|(_, slot)| slot.doing != Doing::Idle || slot.waiting.is_some())
    }

    /// How many sessions are running, gates and landing included.
    pub fn sessions(&self) -> usize {
        self.slots.iter().filter(|slot| slot.iteration > 0).count()
    }

    /// Applies the next line of the journal.
    pub fn apply(&mut self, event: &RunEvent) {
        self.count_time(event.at);
        self.last_at = self.last_at.max(event.at);
        match &event.fact {
            fact @ Fact::RunStarted { .. } => self.started(event, fact),
            Fact::Noticed { notice } => self.noticed(notice),
            Fact::PlanCounted { counts } => self.counts = *counts,
            Fact::TasksLeft { tasks } => self.left(tasks),
            Fact::MergesNeeded { tasks } => self.merges.clone_from(tasks),
            Fact::PlanWritten { planned } => self.planned = Some(planned.clone()),
            Fact::IterationStarted { task: Some(task), .. } => self.forget(&task.id),
            Fact::SessionEnded { report, .. } => self.used(report.end.usage),
            Fact::Verified { report, .. } => self.used(report.end.usage),
            Fact::TaskSettled { task, title, class, status, reason, .. } => {
                let first = reason.trim().lines().next().unwrap_or_default();
                if *class == Class::Red && !first.is_empty() {
                    self.last_error = Some(format!("{task}: {first}"));
                }
                self.settled += u64::from(matches!(status, Status::Done | Status::Failed));
                self.settle(task, title, (*class, *status), reason);
            }
            Fact::QuestionAsked { task, question, text } => {
                let (id, task, text) = (question.clone(), task.clone(), text.clone());
                self.questions.push(QuestionView { id, task, text });
            }
            Fact::Committed { commit, subject, .. } => {
                self.commit_count += 1;
                if self.commits.len() == COMMITS {
                    self.commits.remove(0);
                }
                self.commits.push(CommitView { id: commit.clone(), subject: subject.clone() });
            }
            Fact::WorkSaved { task, name } => {
                self.saved.retain(|saved| saved.task != *task);
                self.saved.push(SavedWork { task: task.clone(), name: name.clone() });
            }
            Fact::IterationEnded { class, detail, again, duration_ms, .. } => {
                self.worked_ms = self.worked_ms.saturating_add(*duration_ms);
                if class.row().counts && !again {
                    let good = class.is_success();
                    *(if good { &mut self.successful } else { &mut self.failed }) += 1;
                    // Work on the plan as a whole is saved under the name of the mode.
                    let mode = self.mode.clone();
                    self.saved.retain(|saved| !good || saved.task.as_str() != mode);
                }
                if words::is_error(*class) && *class != Class::Red {
                    self.last_error = Some(words::with_detail(class.words(), detail));
                }
            }
            Fact::PortFailed { port, error, .. } => {
                self.last_error = Some(words::with_detail(words::port(*port), error));
            }
            Fact::AgentSwitched { to, .. } => self.agent.clone_from(to),
            Fact::ClaimLost { task, .. } => {
                self.warn(format!("this run lost its claim on {task} to another agent"));
            }
            Fact::ControlReceived { control } => match control {
                Control::Pause => self.paused = true,
                Control::Resume => self.paused = false,
                Control::Cancel(level) => self.cancel = self.cancel.max(Some(*level)),
                Control::Skip { .. } | Control::Retry { .. } | Control::Tell { .. } => {}
            },
            Fact::StopDecided { reason } => self.stopping = Some(reason.clone()),
            Fact::Publishing => {
                let what = "publishing the branch";
                self.phase = Some(RunPhase { what, since: event.at, until: None });
            }
            Fact::Published { publication } => {
                self.phase = None;
                if publication.is_warning() {
                    self.warn(publication.sentence());
                }
                self.publication = Some(publication.clone());
            }
            Fact::Watching { page, until } => {
                let what = "watching the pull request";
                self.phase = Some(RunPhase { what, since: event.at, until: Some(*until) });
                self.watched = Some(page.clone());
            }
            Fact::Reviewed { review } => {
                self.phase = None;
                // The run continues.
                if review.is_work() {
                    self.stopping = None;
                }
                if review.is_warning() {
                    self.warn(review.sentence());
                }
                self.watched = None;
                self.review = Some(review.clone());
            }
            Fact::RunEnded { outcome } => {
                self.phase = None;
                self.counts = outcome.left;
                self.usage = outcome.usage;
                self.outcome = Some(outcome.clone());
            }
            _ => {}
        }
        if let Some(slot) = event.fact.slot().and_then(|slot| self.slots.get_mut(slot as usize)) {
            slot.apply(&event.fact, event.at);
        }
        self.so_far = self.usage_so_far();
    }

    /// Applies an event of the agent in a slot: its tool, its model and what it used. The journal has none of these.
    pub fn on_agent_event(&mut self, slot: SlotId, event: &AgentEvent, now: Timestamp) {
        if let Some(slot) = self.slots.get_mut(slot as usize) {
            slot.on_agent_event(event, now);
        }
        self.so_far = self.usage_so_far();
    }

    /// What all sessions used, those that still run too.
    pub fn usage_so_far(&self) -> Usage {
        self.slots.iter().fold(self.usage, |sum, slot| sum.plus(slot.usage))
    }

    fn used(&mut self, usage: Usage) {
        self.usage = self.usage.plus(usage);
        self.unpriced += u32::from(usage.is_unpriced());
    }

    /// Counts the time since the last event for the sessions that were under way.
    fn count_time(&mut self, now: Timestamp) {
        let passed = now.max(self.last_at).millis_since(self.last_at);
        let works = |slot: &&SlotView| slot.iteration > 0 && slot.waiting.is_none();
        let sessions = self.slots.iter().filter(works).count() as u64;
        self.sessions_ms = self.sessions_ms.saturating_add(passed.saturating_mul(sessions));
        self.busy_ms = self.busy_ms.saturating_add(if sessions > 0 { passed } else { 0 });
    }

    fn started(&mut self, event: &RunEvent, fact: &Fact) {
        let Fact::RunStarted {
            policy,
            agent,
            target,
            gates,
            level,
            head,
            branch,
            resumed,
            earlier,
            ..
        } = fact
        else {
            return;
        };
        *self = Self {
            run: Some(event.run.clone()),
            target: target.clone(),
            mode: policy.mode.clone(),
            preset: policy.preset.clone(),
            agent: agent.clone(),
            fallback: policy.fallback.iter().map(|agent| agent.name.clone()).collect(),
            level: level.clone(),
            gates: gates.clone(),
            verifier: policy.verify.as_ref().map(ToString::to_string),
            max_sessions: policy.max_sessions,
            budget: policy.budget,
            head: head.clone(),
            branch: branch.clone(),
            earlier: *earlier,
            resumed_after: resumed.as_ref().map(|resume| resume.iteration),
            kept: resumed.as_ref().map_or_else(Vec::new, |resume| resume.kept.clone()),
            began_at: event.at,
            last_at: event.at,
            slots: vec![
                SlotView { since: event.at, ..SlotView::default() };
                policy.slots.max(1) as usize
            ],
            ..Self::default()
        };
    }

    fn noticed(&mut self, notice: &Notice) {
        if let Notice::DirtyStart { saved, paths } = notice {
            self.saved_start = Some((saved.clone(), *paths));
        }
        let is_news = matches!(notice, Notice::Promise { .. } | Notice::Other { .. });
        if is_news || words::is_warning(notice) {
            self.warn(words::notice(notice));
        }
    }

    fn settle(
        &mut self,
        task: &TaskId,
        title: &str,
        (class, status): (Class, Status),
        reason: &str,
    ) {
        let ended = || EndedTask {
            id: task.clone(),
            title: title.to_owned(),
            reason: reason.to_owned(),
            approval: class == Class::Approval,
        };
        match status {
            Status::Done => self.saved.retain(|saved| saved.task != *task),
            Status::Failed => self.failed_tasks.push(ended()),
            Status::Waiting if !self.questions.iter().any(|asked| asked.task == *task) => {
                self.held_tasks.push(ended());
            }
            Status::Waiting | Status::Pending | Status::InProgress | Status::Deleted => {}
        }
    }

    /// The tasks that failed or wait, as the plan has them: also those of earlier runs.
    fn left(&mut self, tasks: &[LeftTask]) {
        let asked = |task: &LeftTask| self.questions.iter().any(|asked| asked.task == task.id);
        let of = |status: Status| {
            let there = tasks.iter().filter(|task| task.status == status && !asked(task));
            let ended = |task: &LeftTask| EndedTask {
                id: task.id.clone(),
                title: task.title.clone(),
                reason: task.reason.clone(),
                approval: task.approval,
            };
            there.map(ended).collect::<Vec<_>>()
        };
        let (failed, held) = (of(Status::Failed), of(Status::Waiting));
        (self.failed_tasks, self.held_tasks) = (failed, held);
    }

    /// A session works on the task again: it no longer failed or waits.
    fn forget(&mut self, task: &TaskId) {
        self.questions.retain(|question| question.task != *task);
        self.failed_tasks.retain(|ended| ended.id != *task);
        self.held_tasks.retain(|ended| ended.id != *task);
    }

    fn warn(&mut self, text: String) {
        if self.warnings.len() < WARNINGS && !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }
}

#[cfg(test)]
mod tests;

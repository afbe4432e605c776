//! The state of a run: the fold of its facts, and nothing else.

use serde::{Deserialize, Serialize};

use super::SlotId;
use super::budget::Allowance;
use super::class::Class;
use super::control::Cancel;
use super::fact::{Fact, LeftTask, RunEvent, Wait};
use super::fallback::Agents;
use super::merging::NeedsMerge;
use super::notice::Notice;
use super::outcome::{Outcome, Planned, StopReason};
use super::policy::{Exhausted, OnRed, Picker, Policy};
use super::publish::Publishing;
use super::report::{Earlier, SessionReport};
use super::slot::{Difference, Interventions, Iteration, Phase, Slot, Work};
use crate::agent::Usage;
use crate::ids::{AgentId, RunId, TaskId};
use crate::policy::strategy::{ModelState, TroubleSignals};
use crate::task::{Counts, Status, after_failure};
use crate::time::{Timestamp, millis};

/// What an interrupted run leaves for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    pub run: RunId,
    /// Iterations that it counted.
    pub iteration: u32,
    #[serde(with = "millis")]
    pub started_at: Timestamp,
    pub error_count: u32,
    /// Errors in a row.
    pub consecutive_errors: u32,
    pub last_error: Option<String>,
    /// The last accepted commit.
    pub last_commit: Option<String>,
    /// Iterations in a row without a change.
    pub idle_iterations: u32,
    /// What else carries over from that run, in a few words each.
    #[serde(default)]
    pub kept: Vec<String>,
}

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunState {
    pub policy: Policy,
    /// When it started; for a continued run, when the interrupted one did.
    pub started_at: Timestamp,
    /// When this process started or continued it.
    pub began_at: Timestamp,
    /// The id under which each slot claims.
    pub agent_ids: Vec<AgentId>,
    pub slots: Vec<Slot>,
    /// The highest iteration number given out.
    pub last_iteration: u32,
    /// Numbers of iterations that did not count: they are used again.
    pub spare_iterations: Vec<u32>,
    /// Iterations that count.
    pub counted: u32,
    /// Sessions that ended because the run was cancelled. They count only towards the session limit of a
    /// continued run.
    pub cut_off: u32,
    /// Iterations of this process that succeeded.
    pub successful: u32,
    /// Iterations of this process that failed.
    pub failed: u32,
    pub error_count: u32,
    /// Errors in a row.
    pub consecutive_errors: u32,
    pub last_error: Option<String>,
    /// The newest accepted commit.
    pub last_commit: Option<String>,
    /// When the last iteration ended.
    pub last_iteration_at: Option<Timestamp>,
    /// Iterations in a row that left the same tree, without those that were errors.
    pub idle_iterations: u32,
    /// The tree of the last iteration.
    pub last_tree: String,
    /// The plan, when it was counted last.
    pub counts: Counts,
    /// How often work was queued to land.
    pub queued: u64,
    /// What all sessions used.
    pub usage: Usage,
    /// Limits hit in a row.
    pub limit_streak: u32,
    /// The agents, and the limits that they are at.
    pub agents: Agents,
    /// The agent of the last iteration met a limit that lasts, and others stand in for it.
    pub last_limited: bool,
    /// Tasks done in a row.
    pub done_in_a_row: u32,
    /// Words of trouble in the task logs since the last done.
    pub trouble: TroubleSignals,
    /// The state of the model strategy.
    pub models: ModelState,
    /// The class of the last iteration.
    pub last_class: Option<Class>,
    /// After the last iteration a task waits for the user.
    pub last_parked: bool,
    /// Iterations in a row whose requests the provider rejected: repeating them would end the same.
    pub parked_in_a_row: u32,
    /// How the last iteration ended, for the next session.
    pub earlier: Earlier,
    /// How often the iteration was retried, where iterations are retried.
    pub iteration_retries: u32,
    /// The class of the iteration whose retries are used up.
    pub exhausted: Option<Class>,
    /// A commit hook rejected the work of the last iteration.
    pub hook_refused: bool,
    /// The agent's question, where a question ends the run.
    pub asked: Option<String>,
    /// The words with which the agent or the plan last said that the plan is done.
    pub marker: Option<String>,
    /// The tasks in scope that failed or wait for the user, as of the last survey.
    pub left_tasks: Vec<LeftTask>,
    /// Ready tasks that wait until a branch is merged, as of the last survey.
    pub merges: Vec<NeedsMerge>,
    pub failed_task: Option<TaskId>,
    /// The plan that a planning session wrote.
    pub planned: Option<Planned>,
    /// Budgets that the user was warned about.
    pub warned: Vec<(Allowance, Option<TaskId>)>,
    /// ralph has already warned that a session reported no price.
    pub unpriced_reported: bool,
    /// The user paused it: nothing new starts.
    pub paused: bool,
    /// The user cancelled it: how soon it stops.
    pub cancel: Option<Cancel>,
    /// It is going to end.
    pub stop: Option<StopReason>,
    /// How far publishing its branch is.
    pub publishing: Publishing,
    pub ended: bool,
}

impl RunState {
    /// Before anything happened.
    pub fn new(policy: Policy) -> Self {
        let slots = vec![Slot::default(); policy.slots.max(1) as usize];
        Self { policy, slots, ..Self::default() }
    }

    /// The state after a journal; `None` when it does not begin with the start of a run.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a RunEvent>) -> Option<Self> {
        let mut events = events.into_iter();
        let first = events.next()?;
        let Fact::RunStarted { policy, .. } = &first.fact else { return None };
        let mut state = Self::new((**policy).clone());
        state.evolve(&first.fact, first.at);
        for event in events {
            state.evolve(&event.fact, event.at);
        }
        Some(state)
    }

    /// The slot with this number.
    pub fn slot(&self, slot: SlotId) -> Option<&Slot> {
        self.slots.get(slot as usize)
    }

    /// Whether the run can start with this fact.
    pub(super) fn may_start(&self, started: &Fact) -> bool {
        matches!(started, Fact::RunStarted { .. }) && self.agent_ids.is_empty()
    }

    /// Whether a slot works on this task.
    pub(super) fn holds(&self, slot: SlotId, task: &TaskId) -> bool {
        self.slot(slot).is_some_and(|slot| slot.holds(task))
    }

    /// Whether a slot waits for something else than the user.
    pub(super) fn can_be_woken(&self, slot: SlotId) -> bool {
        let wait = self.slot(slot).and_then(|slot| slot.wait.as_ref());
        wait.is_some_and(|(wait, _)| !matches!(wait, Wait::Paused))
    }

    /// Whether another slot is busy.
    pub fn others_busy(&self, slot: SlotId) -> bool {
        let others = self.slots.iter().enumerate().filter(|(index, _)| *index != slot as usize);
        others.into_iter().any(|(_, slot)| slot.is_busy())
    }

    /// The number of the next iteration: numbers that did not count are used again.
    pub fn next_iteration(&self) -> u32 {
        self.spare_iterations.iter().min().copied().unwrap_or(self.last_iteration + 1)
    }

    /// Sessions that are under way and may come to count.
    pub fn under_way(&self) -> u32 {
        let counts = |slot: &&Slot| slot.is_busy() && slot.phase != Phase::Surveying;
        self.slots.iter().filter(counts).count() as u32
    }

    /// Sessions that a continued run subtracts from its limit: those that counted, those that were cut off, and
    /// those that are running, which are cut off if the process dies now.
    pub fn sessions_used(&self) -> u32 {
        let running = self.slots.iter().filter_map(Slot::iteration);
        let running = running.filter(|iteration| iteration.started).count() as u32;
        self.counted.saturating_add(self.cut_off).saturating_add(running)
    }

    /// Whether an iteration that ended so is retried under the same number.
    pub fn tries_again(&self, class: Class) -> bool {
        self.is_retried(class)
            && after_failure(self.iteration_retries, self.policy.retries, false) == Status::Pending
    }

    /// Whether iterations that end so are retried, as long as retries are left.
    pub fn is_retried(&self, class: Class) -> bool {
        let fed = class == Class::Red && self.policy.on_red == OnRed::Feed;
        self.policy.by_iteration() && class.is_tried_again() && !fed
    }

    /// The circumstances that decide the end of the slot's iteration.
    pub fn interventions(&self, slot: &Slot) -> Interventions {
        if let Phase::Settling(_, decided) = slot.phase {
            return decided;
        }
        let iteration = slot.iteration();
        Interventions {
            skip: iteration.is_some_and(|iteration| iteration.skip),
            lost: iteration.is_some_and(|iteration| iteration.lost),
            cancelled: self.cancel >= Some(Cancel::Now),
            unread: slot.has_unread(),
        }
    }

    /// Whether the run is cancelled and everything that the user let finish has finished.
    pub fn is_cancelled(&self) -> bool {
        match self.cancel {
            None => false,
            Some(Cancel::AfterTask) => !self.slots.iter().any(Slot::has_task_in_hand),
            Some(Cancel::AfterSession | Cancel::Now | Cancel::Kill) => true,
        }
    }

    /// Whether a cancellation still lets the slot start another session.
    pub fn may_begin(&self, slot: SlotId) -> bool {
        match self.cancel {
            None => true,
            Some(Cancel::AfterTask) => {
                !self.paused && self.slot(slot).is_some_and(|slot| slot.in_hand.is_some())
            }
            Some(Cancel::AfterSession | Cancel::Now | Cancel::Kill) => false,
        }
    }

    /// The outcome of the run, if it ended now.
    pub fn outcome(&self, reason: StopReason, now: Timestamp) -> Outcome {
        let asked = self.asked.clone().filter(|_| !matches!(reason, StopReason::Asked { .. }));
        Outcome {
            reason,
            asked,
            left: self.counts,
            iterations: self.counted,
            successful: self.successful,
            failed: self.failed,
            usage: self.usage,
            duration_ms: now.millis_since(self.began_at),
            strict: self.policy.strict_exit,
            failed_task: self.failed_task.clone().filter(|_| self.counts.failed > 0),
            planned: self.planned.clone(),
            unpublished: self.publishing == Publishing::Failed,
        }
    }

    /// Applies a fact to the state.
    pub fn evolve(&mut self, fact: &Fact, at: Timestamp) {
        match fact {
            Fact::RunStarted { agent, agent_ids, head, settled_tree, resumed, .. } => {
                self.agents = Agents::new(agent, &self.policy.fallback);
                self.started_at = at;
                self.began_at = at;
                self.agent_ids.clone_from(agent_ids);
                self.last_commit.clone_from(head);
                self.last_tree.clone_from(settled_tree);
                if let Some(resume) = resumed {
                    self.take_up(resume);
                }
            }
            Fact::PlanCounted { counts } => self.counts = *counts,
            Fact::TasksLeft { tasks } => {
                self.left_tasks.clone_from(tasks);
                let failed = tasks.iter().find(|task| task.status == Status::Failed);
                self.failed_task = failed.map(|task| task.id.clone());
            }
            Fact::MergesNeeded { tasks } => self.merges.clone_from(tasks),
            Fact::PlanWritten { planned } => self.planned = Some(planned.clone()),
            Fact::Surveying { slot } => self.at(*slot, |slot| slot.advance(|_| Phase::Surveying)),
            Fact::Claiming { slot } => self.at(*slot, |slot| slot.advance(|_| Phase::Claiming)),
            Fact::ClaimMissed { slot } => self.at(*slot, |slot| {
                slot.advance(|_| Phase::Free);
                slot.in_hand = None;
                slot.missed += 1;
            }),
            Fact::SlotFreed { slot } => self.at(*slot, |slot| *slot = Slot::default()),
            Fact::IterationStarted {
                slot, iteration, task, about, model, agent, models, ..
            } => {
                self.marker = None;
                self.hook_refused = false;
                self.spare_iterations.retain(|spare| spare != iteration);
                self.last_iteration = self.last_iteration.max(*iteration);
                self.models = *models;
                let iteration = Iteration {
                    number: *iteration,
                    began: at,
                    task: task.clone(),
                    about: about.clone(),
                    model: model.clone(),
                    agent: agent.as_ref().map_or(0, |agent| self.agents.index(agent)),
                    ..Iteration::default()
                };
                let phase = Phase::Running(Box::new(iteration));
                self.at(*slot, |slot| *slot = Slot { phase, ..Slot::default() });
            }
            Fact::MessageGiven { task, message, .. } => {
                for slot in self.slots.iter_mut().filter(|slot| slot.holds(task)) {
                    if let Some(iteration) = slot.iteration_mut() {
                        iteration.unread.retain(|number| *number != message.number);
                        iteration.got.push(message.number);
                    }
                }
            }
            Fact::WorkFound { slot, task } => {
                let report = SessionReport::of_found_work(task);
                self.at(*slot, |slot| {
                    slot.end_session(report, true);
                    if let Some(iteration) = slot.iteration_mut() {
                        iteration.task = Some(task.clone());
                    }
                });
            }
            Fact::SessionEnded { slot, report } => self.session_ended(*slot, report, at),
            Fact::CandidateMade { slot, tree, changed, plan_only, .. } => {
                let difference = match (changed, plan_only) {
                    (false, _) => Difference::None,
                    (true, true) => Difference::Plan,
                    (true, false) => Difference::Work,
                };
                self.at(*slot, |slot| {
                    slot.advance(|phase| match phase {
                        Phase::Candidate(session) => {
                            Phase::Judging(Box::new(Work::new(*session, tree.clone(), difference)))
                        }
                        other => other,
                    });
                });
            }
            Fact::MarkerFound { marker } => self.marker = Some(marker.clone()),
            Fact::Judged { slot, gates, green, risks, .. } => {
                self.at_work(*slot, |work| {
                    work.judged(gates, *green);
                    work.risks.clone_from(risks);
                });
            }
            Fact::Approved { slot, gates, .. } => {
                self.at_work(*slot, |work| work.judged(gates, true));
            }
            Fact::Verifying { slot, .. } => {
                self.at(*slot, |slot| slot.advance_work(Phase::Verifying));
            }
            Fact::Verified { slot, report } => {
                self.usage = self.usage.plus(report.end.usage);
                self.at_work(*slot, |work| work.record_verifier(report));
            }
            Fact::Unverified { slot, class, detail } => {
                self.at_work(*slot, |work| work.unverified = Some((*class, detail.clone())));
            }
            Fact::Queued { slot } => {
                self.queued += 1;
                let place = self.queued;
                self.at(*slot, |slot| slot.advance_work(|work| Phase::Queued(work, place)));
            }
            Fact::Integrating { slot } => self.at(*slot, |slot| {
                slot.advance_work(|work| {
                    Phase::Integrating(Box::new(Work { turn: true, ..*work }))
                });
            }),
            Fact::Integrated { slot, tree, landing, .. } => self.at(*slot, |slot| {
                slot.advance_work(|mut work| {
                    work.integrated(tree, landing);
                    Phase::Judging(work)
                });
            }),
            Fact::HookRefused { slot, gate } => {
                self.hook_refused = true;
                self.at(*slot, |slot| {
                    slot.advance_work(|mut work| {
                        work.refused(gate);
                        Phase::Judging(work)
                    });
                });
            }
            Fact::HeadMoved { slot } => self.at(*slot, Slot::head_moved),
            Fact::Settling { slot, .. } => {
                let under = self.slot(*slot).map(|slot| self.interventions(slot));
                let under = under.unwrap_or_default();
                self.at(*slot, |slot| slot.advance_work(|work| Phase::Settling(work, under)));
            }
            Fact::TaskSettled { slot, task, class, status, reason, .. } => {
                self.at_iteration(*slot, |iteration| {
                    iteration.parked |= *status == Status::Waiting;
                    iteration.returned |= *status == Status::Pending
                        && iteration.task.as_ref().is_some_and(|held| held.id == *task);
                });
                if *status == Status::Failed {
                    self.failed_task.get_or_insert_with(|| task.clone());
                }
                let used_up = *status == Status::Failed && class.is_return();
                if used_up && self.policy.on_exhausted == Exhausted::Stop {
                    self.exhausted = Some(*class);
                }
                // That its agent met a limit says nothing about the task.
                if !self.slot(*slot).is_some_and(Slot::is_limited) {
                    self.task_settled(*class, reason);
                }
            }
            Fact::Committed { commit, .. } => self.last_commit = Some(commit.clone()),
            Fact::IterationEnded { .. } => self.iteration_ended(fact, at),
            Fact::AgentLimited { slot, agent, limit } => {
                self.agents.limited(agent, *limit);
                self.at_iteration(*slot, |iteration| iteration.limited = true);
            }
            Fact::AgentSwitched { to, .. } => self.agents.switched(to),
            Fact::WaitStarted { slot, wait, until } => {
                self.at(*slot, |slot| slot.wait = Some((wait.clone(), *until)));
            }
            Fact::WaitEnded { slot } => self.at(*slot, |slot| slot.wait = None),
            Fact::ControlReceived { control } => self.control(control),
            Fact::ClaimLost { slot, .. } => {
                self.at_iteration(*slot, |iteration| iteration.lost = true);
            }
            Fact::PortFailed { slot, error, streak, .. } => {
                self.error_count += 1;
                self.last_error = Some(error.clone());
                let counts = self.policy.picker == Picker::Agent && !self.policy.by_iteration();
                let Some(slot) = self.slots.get_mut(*slot as usize) else { return };
                slot.port_streak = *streak;
                // A failed survey counts as an iteration where the agent picks.
                if counts && matches!(slot.phase, Phase::Surveying | Phase::Claiming) {
                    let most = self.policy.max_sessions.unwrap_or(u32::MAX);
                    self.counted = (self.counted + 1).min(most);
                    self.last_iteration += 1;
                }
            }
            Fact::StopDecided { reason } => self.stop = Some(reason.clone()),
            Fact::Publishing | Fact::Published { .. } | Fact::Watching { .. } => {
                self.publishing.evolve(fact);
            }
            Fact::Reviewed { review } if review.is_work() && self.cancel.is_none() => {
                self.publishing = Publishing::No;
                self.stop = None;
                self.marker = None;
            }
            Fact::Reviewed { .. } => self.publishing.evolve(fact),
            Fact::RunEnded { .. } => self.ended = true,
            Fact::Noticed { notice: Notice::BudgetNear { budget, task, .. } } => {
                self.warned.push((*budget, task.clone()));
            }
            Fact::Noticed { notice: Notice::Unpriced } => self.unpriced_reported = true,
            Fact::SessionStarted { slot, .. } => {
                self.at_iteration(*slot, |iteration| iteration.started = true);
            }
            Fact::Noticed { .. }
            | Fact::GateStarted { .. }
            | Fact::StepStarted { .. }
            | Fact::QuestionAsked { .. }
            | Fact::WorkSaved { .. }
            | Fact::WorkPutBack { .. }
            | Fact::Anomaly { .. }
            | Fact::Unknown => {}
        }
    }
}

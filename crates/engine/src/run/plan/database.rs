//! Tasks in the task database. The loop claims them, or the agent picks one.

use std::sync::PoisonError;

use ralph_core::run::{Input, Picker, SessionReport, SlotId, Survey, TaskBrief, overlaps};
use ralph_core::task::{Actor, NewTask, Task, TaskPatch};
use ralph_core::text::Title;
use ralph_core::{AgentId, TaskId};

use super::{PlanSource, claimed};
use crate::plan_file::NewBox;
use crate::ports::{Filter, Scope, Store, StoreError};
use crate::run::activity::session::Job;
use crate::run::activity::survey::brief;
use crate::run::ports::{Answer, Failed, Ports};
use crate::run::setup::Setup;
use crate::run::slot_state::SlotState;
use crate::socket::Adds;

/// How many ready tasks are searched for one that overlaps with no other.
const LOOKED_AT: usize = 64;
/// How many tasks an agent that picks for itself is shown.
const OFFERED: usize = 10;

pub(super) struct DatabasePlan;

impl PlanSource for DatabasePlan {
    fn survey(&self, ports: &Ports, slot: &mut SlotState) -> Result<Survey, Failed> {
        // Before the store is taken: a claim takes the two in this order.
        let touching = ports.touching.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut store = ports.store();
        let apart = ports.setup.work.pool.is_some();
        let most = if apart { LOOKED_AT } else { OFFERED };
        let mut peek = store.peek(&ports.setup.work.scope, most, ports.now())?;
        let mut needs_merge = ports.without_merges(store.as_mut(), &mut peek.claimable)?;
        if peek.claimable.is_empty() && !needs_merge.is_empty() {
            // Something behind them may be ready all the same.
            peek = store.peek(&ports.setup.work.scope, LOOKED_AT, ports.now())?;
            needs_merge = ports.without_merges(store.as_mut(), &mut peek.claimable)?;
        }
        let counts = store.counts(&ports.setup.work.scope)?;
        let mut approved = ports.approved_tasks(store.as_mut(), &ports.setup.work.scope)?;
        approved.retain(|task| needs_merge.iter().all(|waits| waits.task != task.id));
        let approved = match apart {
            true => non_overlapping(&touching, slot.id, store.as_mut(), &approved)?
                .into_iter()
                .map(|(id, _)| id)
                .next(),
            false => approved.into_iter().map(|task| task.id).next(),
        };
        let leases = ports.foreign_leases(&peek.claimed);
        slot.waits_for_merge = !needs_merge.is_empty();
        Ok(Survey {
            counts,
            claimable: match apart {
                true => non_overlapping(&touching, slot.id, store.as_mut(), &peek.claimable)?.len()
                    as u32,
                false => u32::try_from(peek.claimable.len()).unwrap_or(u32::MAX),
            },
            needs_merge,
            approved,
            foreign: leases.len() as u64,
            next_expiry: leases.into_iter().min(),
            absent: counts.total() == 0 && ports.setup.policy.picker == Picker::Loop,
            ..Survey::default()
        })
    }

    fn claim(&self, ports: &Ports, slot: &mut SlotState, only: Option<&TaskId>) -> Answer {
        if ports.setup.work.pool.is_some() || slot.waits_for_merge {
            return claim_apart(ports, slot, only);
        }
        Ok(claimed(slot, ports.claim_task(slot, &ports.setup.work.scope, only)?))
    }

    fn peek(&self, ports: &Ports, slot: &mut SlotState) -> Answer {
        let mut peek = ports.store().peek(&ports.setup.work.scope, OFFERED, ports.now())?;
        ports.without_merges(ports.store().as_mut(), &mut peek.claimable)?;
        let offered = u32::try_from(peek.claimable.len()).unwrap_or(u32::MAX);
        slot.peek = Some(peek);
        Ok(Input::Peeked { slot: slot.id, offered, about: None })
    }

    fn after_session(
        &self,
        ports: &Ports,
        slot: &mut SlotState,
        job: &Job,
        _: &mut SessionReport,
    ) -> Result<Vec<TaskBrief>, Failed> {
        if let Some(task) = &job.task {
            return Ok(vec![task.clone()]);
        }
        let mut store = ports.store();
        let assignee = Some(slot.agent.clone());
        let tasks = store.list(&Filter { assignee, ..Filter::default() })?;
        let mut held = Vec::new();
        for task in tasks.iter().filter(|task| task.claim.is_some()) {
            let brief = brief(store.as_mut(), task, ports.new_attempt()?)?;
            let began = task.claim.as_ref().map_or_else(|| ports.now(), |claim| claim.claimed_at);
            store.begin_attempt(&ports.attempt(slot, job, &brief, began))?;
            held.push(brief);
        }
        Ok(held)
    }

    fn add(&self, ports: &Ports, tasks: &[NewBox]) -> Result<(), String> {
        let feature = match &ports.setup.work.scope {
            Scope::All | Scope::Plan(_) => None,
            Scope::Feature(name) => Some(name.clone()),
            Scope::Task(id) => {
                return Err(format!("this run is only for {id}; run `ralph build` for all tasks"));
            }
        };
        let (mut store, mut ids) = (ports.store(), ports.ids());
        for NewBox { title, text, page } in tasks {
            let title = Title::new(title).map_err(|error| error.to_string())?;
            let reference = Some(page.clone()).filter(|page| !page.is_empty());
            let known = Filter { reference: reference.clone(), ..Filter::default() };
            let known = store.list(&known).map_err(|error| error.to_string())?;
            if known.iter().any(|task| task.title == title) {
                continue;
            }
            let fields = TaskPatch {
                description: Some(text.clone()),
                reference: reference.map(Some),
                feature: feature.clone().map(Some),
                ..TaskPatch::default()
            };
            let task = NewTask { id: None, title, fields };
            let id: TaskId = ids.task().map_err(|error| error.to_string())?;
            store.add(id, task, &by_review(), ports.now()).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn adds(&self, ports: &Ports) -> Option<Adds> {
        let feature = match &ports.setup.work.scope {
            Scope::Feature(feature) => Some(feature.clone()),
            _ => None,
        };
        (ports.setup.policy.mode == "build").then_some(Adds { feature })
    }

    fn scope(&self, setup: &Setup) -> Option<Scope> {
        (setup.policy.mode == "build").then(|| setup.work.scope.clone())
    }
}

/// The name under which findings of a review come into the task database.
fn by_review() -> Actor {
    #[expect(clippy::expect_used, reason = "a constant that is an id")]
    Actor::User(AgentId::new("review").expect("review is an id"))
}

/// Claims the first ready task that waits for no merge, and is about other files than those that are being
/// worked on.
fn claim_apart(ports: &Ports, slot: &mut SlotState, only: Option<&TaskId>) -> Answer {
    let mut touching = ports.touching.lock().unwrap_or_else(PoisonError::into_inner);
    let ready = {
        let mut store = ports.store();
        let mut peek = store.peek(&ports.setup.work.scope, LOOKED_AT, ports.now())?;
        if let Some(only) = only {
            // It may be behind those that the look shows.
            peek.claimable = vec![store.get(only)?];
        }
        ports.without_merges(store.as_mut(), &mut peek.claimable)?;
        non_overlapping(&touching, slot.id, store.as_mut(), &peek.claimable)?
    };
    let wanted = |(id, _): &(TaskId, _)| only.is_none_or(|only| only == id);
    for (id, touches) in ready.into_iter().filter(wanted) {
        if let Some(task) = ports.claim_task(slot, &Scope::All, Some(&id))? {
            touching[slot.id as usize] = touches;
            return Ok(claimed(slot, Some(task)));
        }
    }
    Ok(claimed(slot, None))
}

/// The ready tasks that overlap with no other slot, each with the files it is about: those it names itself, or
/// else those that its last attempt changed.
fn non_overlapping(
    touching: &[Vec<String>],
    slot: SlotId,
    store: &mut dyn Store,
    ready: &[Task],
) -> Result<Vec<(TaskId, Vec<String>)>, StoreError> {
    let mut found = Vec::new();
    for task in ready {
        let mut touches = task.touches.clone();
        if touches.is_empty() && task.generation > 0 {
            let attempts = store.attempts(&task.id)?;
            let last = attempts.iter().rev().find_map(|attempt| attempt.end.as_ref());
            let files = last.map(|end| end.changed.files.iter().map(|file| file.path.clone()));
            touches = files.into_iter().flatten().map(|path| format!("/{path}")).collect();
        }
        if !overlaps(touching, slot, &touches) {
            found.push((task.id.clone(), touches));
        }
    }
    Ok(found)
}

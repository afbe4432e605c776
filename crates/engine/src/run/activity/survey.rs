//! Surveys the plan: releases dead claims, counts tasks, claims the next one, and takes the snapshot for the agent.

use std::sync::PoisonError;

use ralph_core::ids::AttemptId;
use ralph_core::run::{Input, Port, Survey, TaskBrief};
use ralph_core::task::{Actor, Refusal, Task};
use ralph_core::{AgentId, TaskId, Timestamp};

use crate::crash;
use crate::ports::{ClaimRequest, Filter, Scope, Store, StoreError};
use crate::process::is_alive;
use crate::run::ports::{Answer, Failed, Ports};
use crate::run::slot_state::SlotState;
use crate::run_files::costs;

impl Ports {
    pub(in crate::run) fn survey(&self, slot: &mut SlotState) -> Answer {
        self.check_disk()?;
        self.store_file.check()?;
        self.looks(slot.id);
        self.touches(slot, vec![]);
        let taken_back = take_back_dead_claims(
            self.store().as_mut(),
            &self.setup.agent_ids,
            self.setup.branch_key().as_deref(),
            self.now(),
        )?;
        let survey = Survey { taken_back, ..self.plan.survey(self, slot)? };
        let survey = self.with_left(self.with_day(survey)?)?;
        crash::point("surveyed");
        Ok(Input::Surveyed { slot: slot.id, survey })
    }

    /// The survey with what was spent today, where a budget asks for it.
    fn with_day(&self, survey: Survey) -> Result<Survey, Failed> {
        let (others_micro_usd, others_tokens) = self.known_spent();
        let survey = Survey { others_micro_usd, others_tokens, ..survey };
        if self.setup.policy.budget.day_micro_usd == 0 {
            return Ok(survey);
        }
        let today = self.now().day_began();
        let attempts = self.store().history(today)?;
        let day_micro_usd = costs::spent(&attempts, &self.unattributed(), today);
        Ok(Survey { day_micro_usd, ..survey })
    }

    /// Reports this run's spending to runs that share the budget; returns theirs.
    pub(in crate::run) fn known_spent(&self) -> (u64, u64) {
        let shared_budget = self.setup.shared_budget.as_ref();
        shared_budget
            .map_or((0, 0), |shared_budget| shared_budget.exchange(self.dispatcher().spent()))
    }

    fn check_disk(&self) -> Result<(), Failed> {
        let folder = &self.setup.files.logs.folder;
        let Ok(found) = rustix::fs::statvfs(folder) else { return Ok(()) };
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        if free >= self.setup.files.disk_floor {
            return Ok(());
        }
        let free = free >> 20;
        let floor = self.setup.files.disk_floor >> 20;
        let error = format!("only {free} MiB are free on the disk; a session needs {floor} MiB");
        Err(Failed::new(Port::Disk, error, false))
    }

    /// Claims the first ready task, or `only` that one.
    pub(in crate::run) fn claim(&self, slot: &mut SlotState, only: Option<&TaskId>) -> Answer {
        self.looks(slot.id);
        self.plan.claim(self, slot, only)
    }

    /// Claims a task of the scope, or `only` that one; `None` when there is none, or another process has it.
    pub(in crate::run) fn claim_task(
        &self,
        slot: &SlotState,
        scope: &Scope,
        only: Option<&TaskId>,
    ) -> Result<Option<TaskBrief>, Failed> {
        let request = ClaimRequest {
            agent: slot.agent.clone(),
            task: only.cloned(),
            scope: scope.clone(),
            lease: self.setup.ports.lease,
        };
        let attempt = self.new_attempt()?;
        let mut store = self.store();
        match store.claim(&request, self.now()) {
            Ok(claimed) => {
                crash::point("claimed");
                Ok(Some(brief(store.as_mut(), &claimed.task, attempt)?))
            }
            Err(StoreError::Refused(
                Refusal::NothingReady { .. }
                | Refusal::NotClaimable { .. }
                | Refusal::Unknown { .. },
            )) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// When the leases end of those that other runs hold.
    pub(in crate::run) fn foreign_leases(&self, claimed: &[Task]) -> Vec<Timestamp> {
        let claims = claimed.iter().filter_map(|task| task.claim.as_ref());
        let foreign = claims.filter(|claim| !self.setup.agent_ids.contains(&claim.agent));
        foreign.map(|claim| claim.lease_expires_at).collect()
    }

    /// The slot's task is about these files.
    fn touches(&self, slot: &mut SlotState, files: Vec<String>) {
        let mut touching = self.touching.lock().unwrap_or_else(PoisonError::into_inner);
        touching[slot.id as usize] = files;
    }

    /// Leaves a task that was just claimed to the user.
    pub(in crate::run) fn park(
        &self,
        slot: &mut SlotState,
        task: &TaskBrief,
        reason: &str,
    ) -> Answer {
        self.mark_released(&task.id, task.generation);
        let by = slot.actor(task.generation);
        let mut store = self.store();
        store.note(&task.id, reason, &by, self.now())?;
        store.hold(&task.id, &by, self.now())?;
        Ok(Input::Parked { slot: slot.id })
    }
}

/// Releases the claims of dead runs on this machine. `alive` need not be checked. Tasks in the worktree of
/// another branch are left to the run there: see [`is_here`].
pub(in crate::run) fn take_back_dead_claims(
    store: &mut dyn Store,
    alive: &[AgentId],
    branch: Option<&str>,
    now: Timestamp,
) -> Result<Vec<TaskId>, StoreError> {
    let mut taken = Vec::new();
    for agent in store.agents()? {
        let Some(liveness) = &agent.liveness else { continue };
        if alive.contains(&agent.id) {
            continue;
        }
        if is_alive(liveness) == Some(false) {
            let filter = Filter { assignee: Some(agent.id.clone()), ..Filter::default() };
            if !store.list(&filter)?.iter().all(|task| is_here(task, branch)) {
                continue;
            }
            let by = Actor::Agent(agent.id.clone(), None);
            taken.extend(store.deregister_agent(&agent.id, &by, now)?);
        }
    }
    Ok(taken)
}

/// Whether what an interrupted run did about a task is in this worktree. A task of a branch plan is worked
/// on in the worktree of its branch, and the store names it by the plan and the branch.
pub(in crate::run) fn is_here(task: &Task, branch: Option<&str>) -> bool {
    let own = task.branch.as_ref().zip(task.reference.as_ref());
    let own = own.filter(|(branch, key)| key.ends_with(&format!("#{branch}")));
    own.map(|(_, key)| key.as_str()) == branch
}

/// What the loop needs to know of a task that it holds.
pub(in crate::run) fn brief(
    store: &mut dyn Store,
    task: &Task,
    attempt: AttemptId,
) -> Result<TaskBrief, StoreError> {
    let attempts = store.attempts(&task.id)?;
    if attempts.is_empty() {
        return Ok(TaskBrief::new(task, attempt, &[], &[], &[]));
    }
    let (log, evidence) = (store.log(&task.id)?, store.evidence(&task.id)?);
    Ok(TaskBrief::new(task, attempt, &attempts, &log, &evidence))
}

#[cfg(test)]
mod tests {
    use ralph_core::Lease;
    use ralph_core::records::Liveness;
    use ralph_core::task::{NewTask, TaskPatch};
    use ralph_core::text::Title;

    use super::*;
    use crate::process::liveness;
    use crate::store::SqliteStore;

    #[test]
    fn claims_of_a_dead_run_are_released_only_by_a_run_on_the_same_branch() {
        let (now, dead) = (Timestamp::from_millis(1_000), AgentId::new("dead").unwrap());
        let mut store = SqliteStore::empty().unwrap();
        let id = TaskId::new("a").unwrap();
        let fields = TaskPatch {
            branch: Some(Some("one".to_owned())),
            reference: Some(Some("PLAN.md#one".to_owned())),
            ..TaskPatch::default()
        };
        let task = NewTask { id: None, title: Title::new("a").unwrap(), fields };
        store.add(id.clone(), task, &Actor::User(dead.clone()), now).unwrap();
        // This process, as it would be known had it started at another time.
        let gone = Liveness { pid_started: 1, ..liveness() };
        store.register_agent(&dead, Some(&gone), now).unwrap();
        let (agent, scope) = (dead.clone(), Scope::All);
        let request = ClaimRequest { agent, task: None, scope, lease: Lease::DEFAULT };
        store.claim(&request, now).unwrap();
        for (branch, taken) in
            [(None, vec![]), (Some("PLAN.md#two"), vec![]), (Some("PLAN.md#one"), vec![id])]
        {
            let found = take_back_dead_claims(&mut store, &[], branch, now).unwrap();
            assert_eq!(found, taken, "{branch:?}");
        }
    }
}

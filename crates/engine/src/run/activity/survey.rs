//! Surveys the plan: releases dead claims, counts tasks, claims the next one, and takes the snapshot for the agent.

use std::sync::PoisonError;

use ralph_core::records::{Attempt, AttemptEnd, Evidence, LogKind, Verdict};
use ralph_core::run::{
    CLASSES, Class, FinishedWork, Input, Port, SIGNAL, SameFailure, Survey, TaskBrief, Unsignaled,
    VERIFIER,
};
use ralph_core::task::{Actor, Refusal, Task};
use ralph_core::{AgentId, TaskId, Timestamp};

use crate::crash;
use crate::ports::{ClaimRequest, Filter, Scope, Store, StoreError};
use crate::process::is_alive;
use crate::run::daily_cost::cost;
use crate::run::ports::{Answer, Failed, Ports};
use crate::run::slot_state::SlotState;

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

    /// A task whose earlier attempts used up its budget waits for the user, and nothing is started.
    pub(in crate::run) fn exceeds_task_budget(
        &self,
        slot: &mut SlotState,
        task: &TaskBrief,
    ) -> Result<bool, Failed> {
        let Some(reason) = self.setup.policy.budget.holds_task(task.spent_micro_usd) else {
            return Ok(false);
        };
        self.mark_released(&task.id, task.generation);
        let by = slot.actor(task.generation);
        let mut store = self.store();
        store.note(&task.id, &reason, &by, self.now())?;
        store.hold(&task.id, &by, self.now())?;
        drop(store);
        self.notice(format!("{} is waiting for you: {reason}", task.id));
        Ok(true)
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
    attempt: ralph_core::ids::AttemptId,
) -> Result<TaskBrief, StoreError> {
    let attempts = store.attempts(&task.id)?;
    let log = if attempts.is_empty() { vec![] } else { store.log(&task.id)? };
    let evidence = if attempts.is_empty() { vec![] } else { store.evidence(&task.id)? };
    let last = |kinds: &[LogKind]| {
        log.iter().rev().find(|entry| kinds.contains(&entry.kind)).map(|entry| entry.at)
    };
    Ok(TaskBrief {
        id: task.id.clone(),
        title: task.title.to_string(),
        generation: task.claim.as_ref().map_or(task.generation, |claim| claim.generation),
        retry_count: task.retry_count,
        returns: returns(last(&[LogKind::Reset, LogKind::Answered]), &attempts),
        spec: task.spec.clone(),
        attempt,
        attempt_number: u32::try_from(attempts.len()).unwrap_or(u32::MAX).saturating_add(1),
        spent_micro_usd: cost(since(last(&[LogKind::Reset]), &attempts)),
        failed: same_failure(since(last(&[LogKind::Reset, LogKind::Answered]), &attempts)),
        finished: finished(store, attempts.last())?,
        unsignaled: unsignaled(
            since(last(&[LogKind::Reset, LogKind::Answered]), &attempts),
            &evidence,
        ),
    })
}

/// The work of the last attempt, if every judge accepted it and it did not land: the run ended first, or files
/// of the user were in the way.
fn finished(
    store: &mut dyn Store,
    last: Option<&Attempt>,
) -> Result<Option<FinishedWork>, StoreError> {
    let Some(last) = last else { return Ok(None) };
    let held_up = |end: &AttemptEnd| end.outcome == Class::Conflict.as_str();
    if last.end.as_ref().is_some_and(|end| !held_up(end)) {
        return Ok(None);
    }
    let rows = store.evidence(&last.task)?;
    let is_judge = |row: &&Evidence| row.attempt.as_ref() == Some(&last.id) && row.judge != SIGNAL;
    let rows: Vec<_> = rows.iter().filter(is_judge).collect();
    let Some(newest) = rows.last() else { return Ok(None) };
    let of_tree: Vec<_> = rows.iter().filter(|row| row.tree == newest.tree).collect();
    let passed = |verdict| matches!(verdict, Verdict::Pass | Verdict::Ungated | Verdict::Unchanged);
    let verified = of_tree.iter().any(|row| row.judge == VERIFIER);
    let all = of_tree.iter().all(|row| passed(row.verdict));
    Ok(all.then(|| FinishedWork { tree: newest.tree.clone(), verified }))
}

/// The last failure, and how often in a row it was the same. What does not count says nothing.
fn same_failure(attempts: &[Attempt]) -> Option<SameFailure> {
    let row = |word: &str| CLASSES.iter().find(|row| row.class.as_str() == word);
    let mut ends = attempts.iter().rev().filter_map(|attempt| {
        let end = attempt.end.as_ref()?;
        row(&end.outcome).filter(|row| row.counts).map(|_| end.fingerprint.as_deref())
    });
    let fingerprint = ends.next()??;
    let times = 1 + ends.take_while(|other| *other == Some(fingerprint)).count();
    let times = u32::try_from(times).unwrap_or(u32::MAX);
    Some(SameFailure { fingerprint: fingerprint.to_owned(), times })
}

/// The last attempts in a row that ended without a signal. What does not count says nothing.
fn unsignaled(attempts: &[Attempt], evidence: &[Evidence]) -> Option<Unsignaled> {
    let row = |word: &str| CLASSES.iter().find(|row| row.class.as_str() == word);
    let mut found = None;
    for attempt in attempts {
        let Some(end) = &attempt.end else { continue };
        if !row(&end.outcome).is_some_and(|row| row.counts) {
            continue;
        }
        let missing = evidence.iter().find(|row| {
            row.judge == SIGNAL
                && row.verdict == Verdict::Unclaimed
                && row.attempt.as_ref() == Some(&attempt.id)
        });
        found = missing
            .map(|row| Unsignaled::after(found.as_ref(), &row.tree, end.changed.count() > 0));
    }
    found
}

/// The attempts, which are in order, that began then or later.
fn since(from: Option<Timestamp>, attempts: &[Attempt]) -> &[Attempt] {
    let before = |attempt: &&Attempt| from.is_some_and(|from| attempt.started_at < from);
    &attempts[attempts.iter().take_while(before).count()..]
}

/// How often in a row the task was returned without progress, since the user last intervened.
fn returns(by_hand: Option<Timestamp>, attempts: &[Attempt]) -> u32 {
    let row = |word: &str| CLASSES.iter().find(|row| row.class.as_str() == word);
    let mut count = 0;
    for attempt in since(by_hand, attempts).iter().rev() {
        match attempt.end.as_ref().and_then(|end| row(&end.outcome)) {
            Some(row) if row.class.is_return() => count += 1,
            // What does not count says nothing: a limit, a cancellation, a run that was killed.
            Some(row) if row.counts => break,
            Some(_) | None => {}
        }
    }
    count
}

//! Claims and outcomes.

use ralph_core::records::LogKind;
use ralph_core::task::{
    Actor, Claim, Refusal, RetryLimit, Status, Take, Task, TaskPatch, after_failure, claimable,
    may_write, parent_of_reopened,
};
use ralph_core::{Lease, TaskId};

use super::{Change, State, Table};
use crate::ports::{ClaimRequest, Claimed, DeleteWhich, Result, Scope};

impl<T: Table> Change<'_, T> {
    pub(super) fn claim(&mut self, request: &ClaimRequest) -> Result<Claimed> {
        let (key, task) = match &request.task {
            Some(id) => self.find(id)?,
            None => self.first_claimable(request)?,
        };
        let take = claimable(&task, self.now)
            .map_err(|why| Refusal::NotClaimable { id: task.id.clone(), why })?;
        let claim = Claim {
            agent: request.agent.clone(),
            generation: task.generation + 1,
            claimed_at: self.now,
            lease_expires_at: request.lease.ends(self.now),
        };
        let mut to = State::moved(&task, Status::InProgress);
        to.claim = Some(claim.clone());
        let note = match (take, &task.claim) {
            (Take::Expired, Some(before)) => {
                to.retry_count += 1;
                format!("the lease of {} expired", before.agent)
            }
            _ => String::new(),
        };
        self.settle(key, &task, &to)?;
        self.log(key, LogKind::Claimed, &note)?;
        let task = Task {
            status: to.status,
            generation: claim.generation,
            claim: to.claim,
            retry_count: to.retry_count,
            updated_at: self.now,
            ..task
        };
        let blocker_results =
            if task.deps.is_empty() { vec![] } else { self.table.blocker_results(key)? };
        Ok(Claimed { task, blocker_results })
    }

    fn first_claimable(&mut self, request: &ClaimRequest) -> Result<(T::Key, Task)> {
        match self.table.first_claimable(&request.scope, self.now)? {
            Some(key) => Ok((key, self.table.load(key)?)),
            None => {
                let counts = self.table.counts(&request.scope)?;
                Err(Refusal::NothingReady { counts }.into())
            }
        }
    }

    /// Changes fields, then the status, each by its own rule.
    pub(super) fn amend(
        &mut self,
        id: &TaskId,
        patch: TaskPatch,
        to: Status,
        limit: RetryLimit,
    ) -> Result<()> {
        let (_, task) = self.find(id)?;
        if !patch.is_empty() {
            self.update(id, patch)?;
        }
        if task.status == to {
            return Ok(());
        }
        self.may_become(&task, to)?;
        match to {
            Status::Pending => self.reset(id),
            Status::InProgress => {
                let request = ClaimRequest {
                    agent: self.by.name().clone(),
                    task: Some(id.clone()),
                    scope: Scope::All,
                    lease: Lease::DEFAULT,
                };
                self.claim(&request).map(drop)
            }
            Status::Waiting => self.hold(id),
            Status::Done => self.done(id, None),
            Status::Failed => self.fail(id, "set manually", true, limit).map(drop),
            Status::Deleted => self.delete(DeleteWhich::Ids(vec![id.clone()])).map(drop),
        }
    }

    /// Finds a task that is to leave `in_progress` for `to`, and checks that the actor may do it.
    fn held(&mut self, id: &TaskId, to: Status) -> Result<(T::Key, Task)> {
        let (key, task) = self.find(id)?;
        let from = task.status;
        let refused = Refusal::Transition { id: task.id.clone(), from, to };
        if matches!(from, Status::Done | Status::Failed | Status::Deleted) {
            return Err(refused.into());
        }
        may_write(&task, self.by)?;
        if from != Status::InProgress {
            return Err(refused.into());
        }
        Ok((key, task))
    }

    pub(super) fn renew(&mut self, id: &TaskId, lease: Lease) -> Result<Task> {
        let (key, mut task) = self.find(id)?;
        may_write(&task, self.by)?;
        let Some(claim) = &mut task.claim else {
            return Err(Refusal::NotClaimed { id: task.id, status: task.status }.into());
        };
        claim.lease_expires_at = lease.ends(self.now);
        let mut to = State::moved(&task, Status::InProgress);
        to.claim = task.claim.clone();
        self.table.set_state(key, task.status, &to, self.now)?;
        task.updated_at = self.now;
        Ok(task)
    }

    pub(super) fn release(&mut self, id: &TaskId) -> Result<()> {
        let (key, task) = self.held(id, Status::Pending)?;
        self.settle(key, &task, &State::moved(&task, Status::Pending))?;
        self.log(key, LogKind::Released, "")
    }

    pub(super) fn done(&mut self, id: &TaskId, result: Option<&str>) -> Result<()> {
        let (key, task) = self.held(id, Status::Done)?;
        // Parts may have been added since it was claimed.
        let left = match task.neighbors.children {
            0 => vec![],
            _ => self.parts(key, |status| status != Status::Done)?,
        };
        if !left.is_empty() {
            return Err(Refusal::HasUnfinishedParts { id: task.id, children: left }.into());
        }
        let mut to = State::moved(&task, Status::Done);
        to.done_at = Some(self.now);
        to.reason = None;
        if let Some(result) = result {
            to.result = Some(result.to_owned());
        }
        self.settle(key, &task, &to)?;
        self.log(key, LogKind::Done, "")
    }

    pub(super) fn fail(
        &mut self,
        id: &TaskId,
        reason: &str,
        final_: bool,
        limit: RetryLimit,
    ) -> Result<Status> {
        let (key, task) = self.held(id, Status::Failed)?;
        // A task with parts fails with them, never by itself.
        let status = match task.neighbors.children {
            0 => after_failure(task.retry_count, limit, final_),
            _ => Status::Pending,
        };
        let mut to = State::moved(&task, status);
        to.reason = Some(reason.to_owned());
        let kind = if status == Status::Pending {
            to.retry_count += 1;
            LogKind::Retry
        } else {
            LogKind::Failed
        };
        self.settle(key, &task, &to)?;
        self.log(key, kind, reason)?;
        Ok(status)
    }

    pub(super) fn reset(&mut self, id: &TaskId) -> Result<()> {
        let (key, task) = self.find(id)?;
        if task.status == Status::Pending {
            return Ok(());
        }
        self.may_become(&task, Status::Pending)?;
        let failed = self.parts(key, |status| status == Status::Failed)?;
        if !failed.is_empty() {
            return Err(Refusal::FailedParts { id: task.id, children: failed }.into());
        }
        let mut to = State::moved(&task, Status::Pending);
        to.retry_count = 0;
        to.reason = None;
        self.settle(key, &task, &to)?;
        self.forget_verdict(key, &task)?;
        self.log(key, LogKind::Reset, "")
    }

    /// Neither the verdict nor the questions of an attempt count for the next one.
    fn forget_verdict(&mut self, key: T::Key, task: &Task) -> Result<()> {
        if task.verification_status.is_some() {
            let task = Task { verification_status: None, ..self.table.load(key)? };
            self.table.save(key, &task)?;
        }
        self.withdraw_questions(key)
    }

    pub(super) fn reopen(&mut self, ids: &[TaskId], reason: &str) -> Result<()> {
        ids.iter().try_for_each(|id| self.reopen_one(id, reason))
    }

    fn reopen_one(&mut self, id: &TaskId, reason: &str) -> Result<()> {
        let (key, task) = self.find(id)?;
        let Task { id, status, .. } = task.clone();
        if !status.is_finished() {
            return Err(match status {
                Status::Pending => Refusal::Transition { id, from: status, to: status },
                Status::Deleted => Refusal::IsDeleted { id },
                _ => Refusal::NotFinished { id, status },
            }
            .into());
        }
        if task.neighbors.children > 0 {
            let like = self.parts(key, |part| part == status)?;
            // It follows its parts, so it cannot be open while they are not.
            return Err(match status {
                Status::Done => Refusal::DoneParts { id, children: like },
                _ => Refusal::FailedParts { id, children: like },
            }
            .into());
        }
        // The result is that of work which no longer counts; the attempts keep their commits.
        let pending = State::moved(&task, Status::Pending);
        let to = State { retry_count: 0, reason: None, result: None, done_at: None, ..pending };
        self.table.set_state(key, status, &to, self.now)?;
        self.forget_verdict(key, &task)?;
        self.log(key, LogKind::Reset, &format!("reopened, was {status}"))?;
        if !reason.is_empty() {
            // A note: the next session reads those.
            self.log(key, LogKind::Note, reason)?;
        }
        let mut below = key;
        while let Some(parent) = self.table.parent(below)? {
            let was_done = self.table.load(parent)?.status == Status::Done;
            if !self.follow_by(parent, parent_of_reopened)? {
                break;
            }
            if was_done {
                self.log(parent, LogKind::Reset, &format!("reopened with its part {id}"))?;
            }
            below = parent;
        }
        Ok(())
    }

    pub(super) fn hold(&mut self, id: &TaskId) -> Result<()> {
        let (key, task) = self.find(id)?;
        self.may_become(&task, Status::Waiting)?;
        if task.status == Status::InProgress {
            may_write(&task, self.by)?;
        }
        self.settle(key, &task, &State::moved(&task, Status::Waiting))?;
        self.log(key, LogKind::Asked, "")
    }

    pub(super) fn may_become(&self, task: &Task, to: Status) -> Result<()> {
        if task.status.allows(to) {
            return Ok(());
        }
        Err(Refusal::Transition { id: task.id.clone(), from: task.status, to }.into())
    }

    pub(super) fn deregister_agent(&mut self, id: &ralph_core::AgentId) -> Result<Vec<TaskId>> {
        let known = self.table.agents()?.into_iter().find(|agent| agent.id == *id);
        let Some(agent) = known else {
            return Err(Refusal::UnknownAgent { id: id.clone() }.into());
        };
        let leaver = Actor::Agent(id.clone(), None);
        let mut leaving = Change { table: self.table, by: &leaver, now: self.now };
        for task in &agent.claims {
            leaving.release(task)?;
        }
        self.table.remove_agent(id)?;
        Ok(agent.claims)
    }
}

//! The rules over any table: they make a table a [`Store`]. Each change is one transaction that first reads, then
//! asks `ralph_core::task`, then writes.

mod approvals;
mod claims;
mod editing;
mod messages;
mod records;
mod sync;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ralph_core::ids::{AttemptId, QuestionId};
use ralph_core::plan::PlanTask;
use ralph_core::records::{
    AgentRecord, Attempt, AttemptEnd, Evidence, Feature, Liveness, LogEntry, Question, Verdict,
};
use ralph_core::run::VERIFIER;
use ralph_core::task::{
    Actor, Children, Counts, NewTask, Refusal, RetryLimit, Status, Task, TaskPatch, parent_status,
};
use ralph_core::{AgentId, FeatureId, FeatureName, Lease, TaskId, Timestamp};

use super::table::{Attempts, Durability, State, Table};
use crate::ports::{
    ClaimRequest, Claimed, DeleteWhich, Filter, Peek, Result, Scope, Store, StoreError, SyncMode,
    SyncReport,
};

pub struct RuleStore<T>(T);

/// One change under way: the table, who makes it and when.
struct Change<'a, T> {
    table: &'a mut T,
    by: &'a Actor,
    now: Timestamp,
}

impl<T: Table> RuleStore<T> {
    pub fn over(table: T) -> Self {
        Self(table)
    }

    /// The table below the rules.
    pub(in crate::store) fn table(&self) -> &T {
        &self.0
    }

    fn change<R>(
        &mut self,
        durability: Durability,
        by: &Actor,
        now: Timestamp,
        work: impl FnOnce(&mut Change<'_, T>) -> Result<R>,
    ) -> Result<R> {
        self.transaction(durability, |table| work(&mut Change { table, by, now }))
    }

    fn transaction<R>(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&mut T) -> Result<R>,
    ) -> Result<R> {
        self.0.begin(durability)?;
        let done = work(&mut self.0).and_then(|value| self.0.commit().map(|()| value));
        done.inspect_err(|_| self.0.rollback())
    }

    fn known(&mut self, id: &TaskId) -> Result<T::Key> {
        known(&mut self.0, id)
    }
}

fn known<T: Table>(table: &mut T, id: &TaskId) -> Result<T::Key> {
    table.key(id)?.ok_or_else(|| Refusal::Unknown { id: id.clone() }.into())
}

impl<T: Table> Change<'_, T> {
    fn find(&mut self, id: &TaskId) -> Result<(T::Key, Task)> {
        let key = known(self.table, id)?;
        Ok((key, self.table.load(key)?))
    }

    fn log(&mut self, key: T::Key, kind: ralph_core::records::LogKind, text: &str) -> Result<()> {
        self.table.write_log(key, self.now, self.by.name(), kind, text)
    }

    fn parts(&mut self, key: T::Key, wanted: impl Fn(Status) -> bool) -> Result<Vec<TaskId>> {
        let parts = self.table.children(key)?.into_iter();
        Ok(parts.filter(|(_, _, status)| wanted(*status)).map(|(_, id, _)| id).collect())
    }

    /// Writes a task's new state, then lets its parents follow.
    fn settle(&mut self, key: T::Key, task: &Task, to: &State) -> Result<()> {
        self.table.set_state(key, task.status, to, self.now)?;
        if task.parent.is_some() {
            self.parents_follow(key)?;
        }
        Ok(())
    }

    /// Lets the parent of `key` follow its children, and its parent follow it, and so on.
    fn parents_follow(&mut self, key: T::Key) -> Result<()> {
        let mut below = key;
        while let Some(parent) = self.table.parent(below)? {
            if !self.follow_children(parent)? {
                break;
            }
            below = parent;
        }
        Ok(())
    }

    /// Brings one parent in line with its children. `false` when nothing changed.
    fn follow_children(&mut self, key: T::Key) -> Result<bool> {
        self.follow_by(key, parent_status)
    }

    /// The same by another rule.
    fn follow_by(
        &mut self,
        key: T::Key,
        rule: impl Fn(Status, Children) -> Option<Status>,
    ) -> Result<bool> {
        let children = self.table.family(key)?;
        let task = self.table.load(key)?;
        let Some(status) = rule(task.status, children) else {
            return Ok(false);
        };
        let mut to = State::moved(&task, status);
        to.done_at = (status == Status::Done).then_some(self.now);
        if status != Status::Failed {
            to.reason = None;
        }
        self.table.set_state(key, task.status, &to, self.now)?;
        Ok(true)
    }
}

/// The calls that change the plan by its rules, each with what its effect must survive: forwards them to [`Change`]
/// in one transaction.
macro_rules! changes {
    ($($survives:ident $call:ident($($value:ident: $type:ty),*) -> $result:ty;)*) => {$(
        fn $call(&mut self, $($value: $type,)* by: &Actor, now: Timestamp) -> Result<$result> {
            self.change(Durability::$survives, by, now, |change| change.$call($($value),*))
        }
    )*};
}

/// The calls that a table answers as it is.
macro_rules! looks {
    ($($call:ident($($value:ident: $type:ty),*) -> $result:ty;)*) => {$(
        fn $call(&mut self, $($value: $type),*) -> Result<$result> {
            self.0.$call($($value),*)
        }
    )*};
}

impl<T: Table> Store for RuleStore<T> {
    looks! {
        list(filter: &Filter) -> Vec<Task>;
        ready(scope: &Scope, limit: usize) -> Vec<Task>;
        counts(scope: &Scope) -> Counts;
        ids() -> Vec<TaskId>;
        features() -> Vec<Feature>;
        agents() -> Vec<AgentRecord>;
        verify() -> ();
    }

    changes! {
        Process add(id: TaskId, task: NewTask) -> ();
        Process update(id: &TaskId, patch: TaskPatch) -> ();
        Power amend(id: &TaskId, patch: TaskPatch, to: Status, limit: RetryLimit) -> ();
        Power delete(which: DeleteWhich) -> Vec<TaskId>;
        Process block(id: &TaskId, by_task: &TaskId) -> ();
        Process unblock(id: &TaskId, by_task: &TaskId) -> ();
        Power sync(tasks: &[PlanTask], mode: SyncMode) -> SyncReport;
        Power replace(tasks: &[PlanTask], gone: &[TaskId]) -> SyncReport;
        Process renew(id: &TaskId, lease: Lease) -> Task;
        Process release(id: &TaskId) -> ();
        Power done(id: &TaskId, result: Option<&str>) -> ();
        Power fail(id: &TaskId, reason: &str, final_: bool, limit: RetryLimit) -> Status;
        Power reset(id: &TaskId) -> ();
        Power reopen(ids: &[TaskId], reason: &str) -> ();
        Power approve(id: &TaskId) -> ();
        Power reject(id: &TaskId, reason: &str, limit: RetryLimit) -> Status;
        Power hold(id: &TaskId) -> ();
        Power tell(id: &TaskId, text: &str) -> u32;
        Process give(id: &TaskId, attempt: &AttemptId, messages: &[u32]) -> ();
        Process note(id: &TaskId, text: &str) -> ();
        Power ask(question: QuestionId, id: &TaskId, text: &str) -> ();
        Power answer(question: &QuestionId, text: &str) -> ();
        Power delete_feature(name: &FeatureName, confirmed: bool) -> Vec<TaskId>;
        Process deregister_agent(id: &AgentId) -> Vec<TaskId>;
    }

    fn heed(&mut self, stop: Option<Arc<AtomicBool>>) {
        self.0.heed(stop);
    }

    fn go_on(&self) -> Result<()> {
        self.0.go_on()
    }

    fn dry_run(
        &mut self,
        tasks: &[PlanTask],
        gone: &[TaskId],
        by: &Actor,
        now: Timestamp,
    ) -> Result<(SyncReport, Vec<Task>)> {
        self.0.begin(Durability::Process)?;
        let mut change = Change { table: &mut self.0, by, now };
        let seen = change.replace(tasks, gone).and_then(|report| {
            let found = tasks.iter().map(|line| Ok(change.find(&line.id)?.1));
            Ok((report, found.collect::<Result<Vec<Task>>>()?))
        });
        self.0.rollback();
        seen
    }

    fn get(&mut self, id: &TaskId) -> Result<Task> {
        let key = self.known(id)?;
        self.0.load(key)
    }

    fn dependents(&mut self, id: &TaskId) -> Result<Vec<Task>> {
        let key = self.known(id)?;
        let keys = self.0.dependents(key)?;
        keys.into_iter().map(|key| self.0.load(key)).collect()
    }

    fn peek(&mut self, scope: &Scope, limit: usize, now: Timestamp) -> Result<Peek> {
        let mut claimable = self.0.ready(scope, limit)?;
        let expired = self.0.expired(scope, now, limit)?;
        if !expired.is_empty() {
            claimable.extend(expired);
            claimable.sort_by_key(|task| (task.priority, task.order));
            claimable.truncate(limit);
        }
        Ok(Peek { claimable, claimed: self.0.held(scope, now)? })
    }

    fn claim(&mut self, request: &ClaimRequest, now: Timestamp) -> Result<Claimed> {
        let by = Actor::Agent(request.agent.clone(), None);
        self.change(Durability::Process, &by, now, |c| c.claim(request))
    }

    fn log(&mut self, id: &TaskId) -> Result<Vec<LogEntry>> {
        let key = self.known(id)?;
        self.0.read_log(key)
    }

    fn begin_attempt(&mut self, attempt: &Attempt) -> Result<()> {
        self.transaction(Durability::Process, |table| {
            let key = known(table, &attempt.task)?;
            table.insert_attempt(key, attempt)
        })
    }

    fn end_attempt(&mut self, id: &AttemptId, end: &AttemptEnd) -> Result<()> {
        self.transaction(Durability::Power, |table| table.end_attempt(id, end))
    }

    fn attempts(&mut self, id: &TaskId) -> Result<Vec<Attempt>> {
        let key = self.known(id)?;
        self.0.attempts(Attempts::Of(key))
    }

    fn history(&mut self, since: Timestamp) -> Result<Vec<Attempt>> {
        self.0.attempts(Attempts::Since(since))
    }

    fn add_evidence(&mut self, evidence: &Evidence) -> Result<()> {
        self.transaction(Durability::Power, |table| {
            let key = known(table, &evidence.task)?;
            table.insert_evidence(key, evidence)?;
            if evidence.judge != VERIFIER {
                return Ok(());
            }
            // The task itself has the verdict of the verifier, too.
            let mut task = table.load(key)?;
            let status = if evidence.verdict == Verdict::Pass { "passed" } else { "failed" };
            task.verification_status = Some(status.to_owned());
            task.updated_at = evidence.at;
            table.save(key, &task)
        })
    }

    fn evidence(&mut self, id: &TaskId) -> Result<Vec<Evidence>> {
        let key = self.known(id)?;
        self.0.evidence(key)
    }

    fn questions(&mut self, of: Option<&TaskId>, open_only: bool) -> Result<Vec<Question>> {
        let key = of.map(|id| self.known(id)).transpose()?;
        self.0.questions(key, open_only)
    }

    fn add_feature(&mut self, id: FeatureId, name: &FeatureName, now: Timestamp) -> Result<()> {
        let feature = Feature { id, name: name.clone(), created_at: now };
        self.transaction(Durability::Process, |table| match table.insert_feature(&feature)? {
            true => Ok(()),
            false => Err(Refusal::FeatureExists { name: name.clone() }.into()),
        })
    }

    fn register_agent(
        &mut self,
        id: &AgentId,
        liveness: Option<&Liveness>,
        now: Timestamp,
    ) -> Result<()> {
        self.transaction(Durability::Process, |table| table.put_agent(id, liveness, now))
    }
}

fn at_line(line: usize, refusal: Refusal) -> StoreError {
    StoreError::Plan { line, refusal }
}

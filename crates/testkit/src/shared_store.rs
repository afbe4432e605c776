//! A task database in memory that several handles share, as several connections share a file.

use std::sync::{Arc, Mutex, MutexGuard};

use ralph_core::ids::{AttemptId, QuestionId};
use ralph_core::plan::PlanTask;
use ralph_core::records::{
    AgentRecord, Attempt, AttemptEnd, Evidence, Feature, Liveness, LogEntry, Question,
};
use ralph_core::task::{Actor, Counts, NewTask, RetryLimit, Status, Task, TaskPatch};
use ralph_core::{AgentId, FeatureId, FeatureName, Lease, TaskId, Timestamp};
use ralph_engine::ports::{
    ClaimRequest, Claimed, DeleteWhich, Filter, Peek, Result, Scope, Store, SyncMode, SyncReport,
};

use crate::{MemoryStore, memory_store};

/// A handle on a database in memory; a clone is another handle on the same one.
#[derive(Clone)]
pub struct SharedStore(Arc<Mutex<MemoryStore>>);

impl Default for SharedStore {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(memory_store())))
    }
}

impl SharedStore {
    fn lock(&self) -> MutexGuard<'_, MemoryStore> {
        self.0.lock().unwrap()
    }
}

impl Store for SharedStore {
    fn add(&mut self, id: TaskId, task: NewTask, by: &Actor, now: Timestamp) -> Result<()> {
        self.lock().add(id, task, by, now)
    }

    fn update(&mut self, id: &TaskId, patch: TaskPatch, by: &Actor, now: Timestamp) -> Result<()> {
        self.lock().update(id, patch, by, now)
    }

    fn amend(
        &mut self,
        id: &TaskId,
        patch: TaskPatch,
        to: Status,
        limit: RetryLimit,
        by: &Actor,
        now: Timestamp,
    ) -> Result<()> {
        self.lock().amend(id, patch, to, limit, by, now)
    }

    fn delete(&mut self, which: DeleteWhich, by: &Actor, now: Timestamp) -> Result<Vec<TaskId>> {
        self.lock().delete(which, by, now)
    }

    fn block(&mut self, id: &TaskId, by_task: &TaskId, by: &Actor, now: Timestamp) -> Result<()> {
        self.lock().block(id, by_task, by, now)
    }

    fn unblock(&mut self, id: &TaskId, by_task: &TaskId, by: &Actor, now: Timestamp) -> Result<()> {
        self.lock().unblock(id, by_task, by, now)
    }

    fn sync(
        &mut self,
        tasks: &[PlanTask],
        mode: SyncMode,
        by: &Actor,
        now: Timestamp,
    ) -> Result<SyncReport> {
        self.lock().sync(tasks, mode, by, now)
    }

    fn replace(
        &mut self,
        tasks: &[PlanTask],
        gone: &[TaskId],
        by: &Actor,
        now: Timestamp,
    ) -> Result<SyncReport> {
        self.lock().replace(tasks, gone, by, now)
    }

    fn dry_run(
        &mut self,
        tasks: &[PlanTask],
        gone: &[TaskId],
        by: &Actor,
        now: Timestamp,
    ) -> Result<(SyncReport, Vec<Task>)> {
        self.lock().dry_run(tasks, gone, by, now)
    }

    fn get(&mut self, id: &TaskId) -> Result<Task> {
        self.lock().get(id)
    }

    fn list(&mut self, filter: &Filter) -> Result<Vec<Task>> {
        self.lock().list(filter)
    }

    fn dependents(&mut self, id: &TaskId) -> Result<Vec<Task>> {
        self.lock().dependents(id)
    }

    fn ready(&mut self, scope: &Scope, limit: usize) -> Result<Vec<Task>> {
        self.lock().ready(scope, limit)
    }

    fn peek(&mut self, scope: &Scope, limit: usize, now: Timestamp) -> Result<Peek> {
        self.lock().peek(scope, limit, now)
    }

    fn counts(&mut self, scope: &Scope) -> Result<Counts> {
        self.lock().counts(scope)
    }

    fn ids(&mut self) -> Result<Vec<TaskId>> {
        self.lock().ids()
    }

    fn claim(&mut self, request: &ClaimRequest, now: Timestamp) -> Result<Claimed> {
        self.lock().claim(request, now)
    }

    fn renew(&mut self, id: &TaskId, lease: Lease, by: &Actor, now: Timestamp) -> Result<Task> {
        self.lock().renew(id, lease, by, now)
    }

    fn release(&mut self, id: &TaskId, by: &Actor, now: Timestamp) -> Result<()> {
        self.lock().release(id, by, now)
    }

    fn done(
        &mut self,
        id: &TaskId,
        result: Option<&str>,
        by: &Actor,
        now: Timestamp,
    ) -> Result<()> {
        self.lock().done(id, result, by, now)
    }

    fn fail(
        &mut self,
        id: &TaskId,
        reason: &str,
        final_: bool,
        limit: RetryLimit,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Status> {
        self.lock().fail(id, reason, final_, limit, by, now)
    }

    fn reset(&mut self, id: &TaskId, by: &Actor, now: Timestamp) -> Result<()> {
        self.lock().reset(id, by, now)
    }

    fn reopen(&mut self, ids: &[TaskId], reason: &str, by: &Actor, now: Timestamp) -> Result<()> {
        self.lock().reopen(ids, reason, by, now)
    }

    fn tell(&mut self, id: &TaskId, text: &str, by: &Actor, now: Timestamp) -> Result<u32> {
        self.lock().tell(id, text, by, now)
    }

    fn give(
        &mut self,
        id: &TaskId,
        attempt: &AttemptId,
        messages: &[u32],
        by: &Actor,
        now: Timestamp,
    ) -> Result<()> {
        self.lock().give(id, attempt, messages, by, now)
    }

    fn approve(&mut self, id: &TaskId, by: &Actor, now: Timestamp) -> Result<()> {
        self.lock().approve(id, by, now)
    }

    fn reject(
        &mut self,
        id: &TaskId,
        reason: &str,
        limit: RetryLimit,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Status> {
        self.lock().reject(id, reason, limit, by, now)
    }

    fn hold(&mut self, id: &TaskId, by: &Actor, now: Timestamp) -> Result<()> {
        self.lock().hold(id, by, now)
    }

    fn note(&mut self, id: &TaskId, text: &str, by: &Actor, now: Timestamp) -> Result<()> {
        self.lock().note(id, text, by, now)
    }

    fn log(&mut self, id: &TaskId) -> Result<Vec<LogEntry>> {
        self.lock().log(id)
    }

    fn begin_attempt(&mut self, attempt: &Attempt) -> Result<()> {
        self.lock().begin_attempt(attempt)
    }

    fn end_attempt(&mut self, id: &AttemptId, end: &AttemptEnd) -> Result<()> {
        self.lock().end_attempt(id, end)
    }

    fn attempts(&mut self, id: &TaskId) -> Result<Vec<Attempt>> {
        self.lock().attempts(id)
    }

    fn history(&mut self, since: Timestamp) -> Result<Vec<Attempt>> {
        self.lock().history(since)
    }

    fn add_evidence(&mut self, evidence: &Evidence) -> Result<()> {
        self.lock().add_evidence(evidence)
    }

    fn evidence(&mut self, id: &TaskId) -> Result<Vec<Evidence>> {
        self.lock().evidence(id)
    }

    fn ask(
        &mut self,
        question: QuestionId,
        id: &TaskId,
        text: &str,
        by: &Actor,
        now: Timestamp,
    ) -> Result<()> {
        self.lock().ask(question, id, text, by, now)
    }

    fn answer(
        &mut self,
        question: &QuestionId,
        text: &str,
        by: &Actor,
        now: Timestamp,
    ) -> Result<()> {
        self.lock().answer(question, text, by, now)
    }

    fn questions(&mut self, of: Option<&TaskId>, open_only: bool) -> Result<Vec<Question>> {
        self.lock().questions(of, open_only)
    }

    fn add_feature(&mut self, id: FeatureId, name: &FeatureName, now: Timestamp) -> Result<()> {
        self.lock().add_feature(id, name, now)
    }

    fn features(&mut self) -> Result<Vec<Feature>> {
        self.lock().features()
    }

    fn delete_feature(
        &mut self,
        name: &FeatureName,
        confirmed: bool,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Vec<TaskId>> {
        self.lock().delete_feature(name, confirmed, by, now)
    }

    fn register_agent(
        &mut self,
        id: &AgentId,
        liveness: Option<&Liveness>,
        now: Timestamp,
    ) -> Result<()> {
        self.lock().register_agent(id, liveness, now)
    }

    fn agents(&mut self) -> Result<Vec<AgentRecord>> {
        self.lock().agents()
    }

    fn deregister_agent(
        &mut self,
        id: &AgentId,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Vec<TaskId>> {
        self.lock().deregister_agent(id, by, now)
    }

    fn verify(&mut self) -> Result<()> {
        self.lock().verify()
    }
}

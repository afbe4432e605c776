//! The store: tasks and everything about them, shared by many processes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ralph_core::ids::{AttemptId, QuestionId};
use ralph_core::plan::PlanTask;
use ralph_core::records::{
    AgentRecord, Attempt, AttemptEnd, Evidence, Feature, Liveness, LogEntry, Question,
};
use ralph_core::task::{
    Actor, Counts, NewTask, Refusal, RetryLimit, Status, StatusFilter, Task, TaskPatch,
};
use ralph_core::{AgentId, FeatureId, FeatureName, Lease, TaskId, Timestamp};

/// Where tasks, claims, attempts, logs and evidence are kept.
///
/// # Contract
/// - A call that changes something is one transaction: all of it happens, or none.
/// - When a call returns `Ok`, other processes see its effect, and a crash of this process does not
///   undo it. Outcomes, imports and answers also survive a power cut.
/// - Every rule comes from `ralph_core::task`. An implementation looks up and writes down; it decides
///   nothing by itself.
/// - [`Store::ready`], [`Store::peek`] and [`Store::claim`] do not get slower with the number of tasks.
/// - While another process writes, a call waits; it does not fail.
///
/// # What an implementation must not do
/// Read a clock (`now` is an argument), make up ids, or know who the user is.
///
/// The port is synchronous: a call takes microseconds, and the task commands need no runtime.
pub trait Store: Send {
    /// From now on calls fail once this is set, and their changes are rolled back: the caller no longer needs
    /// an answer. `None` ends that. A store whose calls are always short need not do so.
    fn heed(&mut self, _stop: Option<Arc<AtomicBool>>) {}

    /// Fails where such calls would fail: for work between two calls.
    fn go_on(&self) -> Result<()> {
        Ok(())
    }

    // --- the plan ---------------------------------------------------------------------------

    /// Makes a task. The id of a deleted task may be used again.
    fn add(&mut self, id: TaskId, task: NewTask, by: &Actor, now: Timestamp) -> Result<()>;

    /// Changes fields. An empty patch changes nothing.
    fn update(&mut self, id: &TaskId, patch: TaskPatch, by: &Actor, now: Timestamp) -> Result<()>;

    /// Changes fields and the status together, or neither.
    fn amend(
        &mut self,
        id: &TaskId,
        patch: TaskPatch,
        to: Status,
        limit: RetryLimit,
        by: &Actor,
        now: Timestamp,
    ) -> Result<()>;

    /// Deletes tasks and returns their ids. Done tasks stay when chosen by a group; a task with unfinished
    /// parts is deleted only together with them.
    fn delete(&mut self, which: DeleteWhich, by: &Actor, now: Timestamp) -> Result<Vec<TaskId>>;

    /// Adds a blocker. Adding it twice is fine.
    fn block(&mut self, id: &TaskId, by_task: &TaskId, by: &Actor, now: Timestamp) -> Result<()>;

    fn unblock(&mut self, id: &TaskId, by_task: &TaskId, by: &Actor, now: Timestamp) -> Result<()>;

    /// Imports a whole plan, or none of it.
    fn sync(
        &mut self,
        tasks: &[PlanTask],
        mode: SyncMode,
        by: &Actor,
        now: Timestamp,
    ) -> Result<SyncReport>;

    /// Imports a plan and deletes these tasks, or neither. Tasks that neither the plan nor `gone` names stay.
    fn replace(
        &mut self,
        tasks: &[PlanTask],
        gone: &[TaskId],
        by: &Actor,
        now: Timestamp,
    ) -> Result<SyncReport>;

    /// What [`Store::replace`] would do, and the tasks of the plan as they would be, in its order.
    /// Nothing is changed.
    fn dry_run(
        &mut self,
        tasks: &[PlanTask],
        gone: &[TaskId],
        by: &Actor,
        now: Timestamp,
    ) -> Result<(SyncReport, Vec<Task>)>;

    // --- looking ----------------------------------------------------------------------------

    fn get(&mut self, id: &TaskId) -> Result<Task>;

    /// Tasks in the order of their creation.
    fn list(&mut self, filter: &Filter) -> Result<Vec<Task>>;

    /// The tasks that wait for this one.
    fn dependents(&mut self, id: &TaskId) -> Result<Vec<Task>>;

    /// The first `limit` ready tasks: by priority, then creation.
    fn ready(&mut self, scope: &Scope, limit: usize) -> Result<Vec<Task>>;

    /// The first `limit` claimable tasks, and all that are validly claimed.
    fn peek(&mut self, scope: &Scope, limit: usize, now: Timestamp) -> Result<Peek>;

    /// The number of tasks per status.
    fn counts(&mut self, scope: &Scope) -> Result<Counts>;

    /// Every task id, for "did you mean".
    fn ids(&mut self) -> Result<Vec<TaskId>>;

    // --- claims and outcomes ----------------------------------------------------------------

    fn claim(&mut self, request: &ClaimRequest, now: Timestamp) -> Result<Claimed>;

    fn renew(&mut self, id: &TaskId, lease: Lease, by: &Actor, now: Timestamp) -> Result<Task>;

    /// Releases a claim; the task is pending again and nothing is counted.
    fn release(&mut self, id: &TaskId, by: &Actor, now: Timestamp) -> Result<()>;

    /// A claimed task is done, unless parts of it are not. Dependents and parents follow.
    fn done(&mut self, id: &TaskId, result: Option<&str>, by: &Actor, now: Timestamp)
    -> Result<()>;

    /// A claimed task failed: returns it for retry, or fails it for good when `final_` or when `limit` is used
    /// up. A task that got parts since it was claimed is returned in any case: it fails with its parts. Parents
    /// follow. Returns its new status.
    fn fail(
        &mut self,
        id: &TaskId,
        reason: &str,
        final_: bool,
        limit: RetryLimit,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Status>;

    /// Returns a task to pending and starts over: claim cleared, retries 0, open questions withdrawn. Pending
    /// stays pending.
    fn reset(&mut self, id: &TaskId, by: &Actor, now: Timestamp) -> Result<()>;

    /// Reopens done and failed tasks, all or none: pending again, retries 0, result and reason cleared. Attempts,
    /// evidence and log stay; a reason that is not empty is a note, which the next session reads. Done parents reopen with them. Dependents that are done stay done,
    /// pending ones are blocked again.
    fn reopen(&mut self, ids: &[TaskId], reason: &str, by: &Actor, now: Timestamp) -> Result<()>;

    /// The user lets the finished work of a task land that waits for approval: pending again.
    fn approve(&mut self, id: &TaskId, by: &Actor, now: Timestamp) -> Result<()>;

    /// The user rejects the finished work of a task that waits for approval: returned for retry with the reason, or
    /// failed when `limit` is used up. Parents follow. Returns its new status.
    fn reject(
        &mut self,
        id: &TaskId,
        reason: &str,
        limit: RetryLimit,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Status>;

    /// The task waits for the user, without a question.
    fn hold(&mut self, id: &TaskId, by: &Actor, now: Timestamp) -> Result<()>;

    /// The user tells the agent something about an unfinished task: a session gets it, see
    /// [`messages`](ralph_core::run::messages). Returns the number of the message on the task.
    fn tell(&mut self, id: &TaskId, text: &str, by: &Actor, now: Timestamp) -> Result<u32>;

    /// The session of an attempt got these messages. Saying it twice changes nothing.
    fn give(
        &mut self,
        id: &TaskId,
        attempt: &AttemptId,
        messages: &[u32],
        by: &Actor,
        now: Timestamp,
    ) -> Result<()>;

    // --- log, attempts, evidence, questions ---------------------------------------------------

    fn note(&mut self, id: &TaskId, text: &str, by: &Actor, now: Timestamp) -> Result<()>;

    /// A task's log, oldest first.
    fn log(&mut self, id: &TaskId) -> Result<Vec<LogEntry>>;

    /// An attempt begins. Its `end` is not read.
    fn begin_attempt(&mut self, attempt: &Attempt) -> Result<()>;

    /// An attempt ends. Only the first end counts.
    fn end_attempt(&mut self, id: &AttemptId, end: &AttemptEnd) -> Result<()>;

    /// The attempts on a task, oldest first.
    fn attempts(&mut self, id: &TaskId) -> Result<Vec<Attempt>>;

    /// The attempts on every task, deleted ones too, oldest first: those that ended then or later, and
    /// those that have not ended.
    fn history(&mut self, since: Timestamp) -> Result<Vec<Attempt>>;

    fn add_evidence(&mut self, evidence: &Evidence) -> Result<()>;

    /// The evidence for a task, oldest first.
    fn evidence(&mut self, id: &TaskId) -> Result<Vec<Evidence>>;

    /// A claimed or pending task asks the user and waits.
    fn ask(
        &mut self,
        question: QuestionId,
        id: &TaskId,
        text: &str,
        by: &Actor,
        now: Timestamp,
    ) -> Result<()>;

    /// The user answers; the task is pending again once nothing else is open.
    fn answer(
        &mut self,
        question: &QuestionId,
        text: &str,
        by: &Actor,
        now: Timestamp,
    ) -> Result<()>;

    /// The questions of one task or of all, oldest first; open ones only, or all.
    fn questions(&mut self, of: Option<&TaskId>, open_only: bool) -> Result<Vec<Question>>;

    // --- features and agents ------------------------------------------------------------------

    /// Makes a feature. One that was deleted comes back under its name, with its old id.
    fn add_feature(&mut self, id: FeatureId, name: &FeatureName, now: Timestamp) -> Result<()>;

    fn features(&mut self) -> Result<Vec<Feature>>;

    /// Deletes a feature with its unfinished tasks; if there are any, it is refused without `confirmed`.
    /// Returns the deleted tasks.
    fn delete_feature(
        &mut self,
        name: &FeatureName,
        confirmed: bool,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Vec<TaskId>>;

    fn register_agent(
        &mut self,
        id: &AgentId,
        liveness: Option<&Liveness>,
        now: Timestamp,
    ) -> Result<()>;

    /// The agents and what they hold, oldest first.
    fn agents(&mut self) -> Result<Vec<AgentRecord>>;

    /// Removes an agent and releases its claims. Returns their tasks.
    fn deregister_agent(&mut self, id: &AgentId, by: &Actor, now: Timestamp)
    -> Result<Vec<TaskId>>;

    /// Looks for damage and for counters that disagree with the rows; `Ok` when there is none.
    fn verify(&mut self) -> Result<()>;
}

pub type Result<T> = std::result::Result<T, StoreError>;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Scope {
    #[default]
    All,
    Feature(FeatureName),
    Task(TaskId),
    /// Those of a markdown plan, by what their reference is.
    Plan(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Any of these; empty means every status but deleted.
    pub statuses: Vec<StatusFilter>,
    /// Deleted ones too, when `statuses` is empty.
    pub deleted_too: bool,
    pub assignee: Option<AgentId>,
    pub feature: Option<FeatureName>,
    pub parent: Option<TaskId>,
    pub reference: Option<String>,
    pub spec: Option<String>,
    pub category: Option<String>,
}

impl Filter {
    /// The tasks of a scope. One task is looked up by its id.
    pub fn of(scope: &Scope) -> Self {
        let (feature, reference) = match scope {
            Scope::All | Scope::Task(_) => (None, None),
            Scope::Feature(name) => (Some(name.clone()), None),
            Scope::Plan(key) => (None, Some(key.clone())),
        };
        Self { feature, reference, ..Self::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeleteWhich {
    /// These, all or none.
    Ids(Vec<TaskId>),
    Matching(Filter),
}

/// A claim request: scope, agent and lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// Whose claim it becomes.
    pub agent: AgentId,
    /// The task, or `None` for the first claimable one in `scope`.
    pub task: Option<TaskId>,
    pub scope: Scope,
    pub lease: Lease,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    pub task: Task,
    /// What its finished blockers produced: id and JSON text.
    pub blocker_results: Vec<(TaskId, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Peek {
    /// The first claimable tasks; one with an expired lease still has its old claim.
    pub claimable: Vec<Task>,
    pub claimed: Vec<Task>,
}

/// What a plan says about tasks that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncMode {
    /// Nothing: they stay.
    Add,
    /// Tasks of a spec that the plan names, and which it leaves out, are deleted.
    ReplaceSpecs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyncReport {
    pub inserted: usize,
    pub updated: usize,
    pub deleted: usize,
    /// Done tasks that the plan names: untouched.
    pub skipped_done: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The rules do not allow it. Nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("line {line}: {refusal}")]
    Plan {
        /// The line, from 1.
        line: usize,
        refusal: Refusal,
    },
    #[error("{} is not a task database of ralph: {what}", path.display())]
    Foreign { path: PathBuf, what: String },
    #[error(
        "{} was written by a newer ralph (its schema is version {found}, this ralph knows {known})",
        path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("{} is damaged: {detail}", path.display())]
    Corrupt { path: PathBuf, detail: String },
    #[error("another process has locked {} for {}s", path.display(), waited.as_secs())]
    Locked { path: PathBuf, waited: Duration },
    #[error("the disk is full: {} could not be written", path.display())]
    DiskFull { path: PathBuf },
    #[error("{} cannot be written: {detail}", path.display())]
    NotWritable { path: PathBuf, detail: String },
    #[error("{} cannot be used: {detail}", path.display())]
    Failed { path: PathBuf, detail: String },
}

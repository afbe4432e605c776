//! The database interface that the rules need: look-ups and writes that decide nothing.

use std::collections::BTreeSet;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ralph_core::ids::{AttemptId, QuestionId};
use ralph_core::records::{
    AgentRecord, Attempt, AttemptEnd, Evidence, Feature, Liveness, LogEntry, LogKind, Question,
};
use ralph_core::task::{Children, Claim, Counts, Status, Task};
use ralph_core::{AgentId, FeatureId, FeatureName, TaskId, Timestamp};

use crate::ports::{Filter, Result, Scope};

/// How much a write must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A crash of the process: claims and logs.
    Process,
    /// A power cut too: outcomes, imports, answers.
    Power,
}

/// The part of a task that changes with its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    pub status: Status,
    pub claim: Option<Claim>,
    pub retry_count: u32,
    pub reason: Option<String>,
    pub result: Option<String>,
    pub done_at: Option<Timestamp>,
}

impl State {
    /// The task's state with another status and without a claim.
    pub fn moved(task: &Task, status: Status) -> Self {
        Self {
            status,
            claim: None,
            retry_count: task.retry_count,
            reason: task.reason.clone(),
            result: task.result.clone(),
            done_at: task.done_at,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempts<K> {
    Of(K),
    /// Those that did not end before this.
    Since(Timestamp),
}

/// Look-ups and writes. Writes happen between `begin` and `commit`; the neighbors of a task (open
/// blockers, children, failed ancestors) follow each write by themselves.
pub trait Table: Records {
    /// As [`crate::ports::Store::heed`].
    fn heed(&mut self, _stop: Option<Arc<AtomicBool>>) {}

    /// As [`crate::ports::Store::go_on`].
    fn go_on(&self) -> Result<()> {
        Ok(())
    }

    fn begin(&mut self, durability: Durability) -> Result<()>;
    /// Many rows are going to be touched: memory for speed.
    fn expect_many(&mut self) -> Result<()>;
    fn commit(&mut self) -> Result<()>;
    fn rollback(&mut self);

    fn key(&mut self, id: &TaskId) -> Result<Option<Self::Key>>;
    fn load(&mut self, key: Self::Key) -> Result<Task>;

    /// A new row from everything in `task` but its deps, parent and standing, with as many unfinished
    /// blockers as will be linked.
    fn insert(&mut self, task: &Task, open_blockers: u32) -> Result<Self::Key>;
    /// Writes the fields that have nothing to do with status, deps and parent.
    fn save(&mut self, key: Self::Key, task: &Task) -> Result<()>;
    /// Writes the state; dependents, parent and descendants follow.
    fn set_state(&mut self, key: Self::Key, from: Status, to: &State, now: Timestamp)
    -> Result<()>;
    /// Moves a task below another or to the top; both parents follow.
    fn set_parent(&mut self, key: Self::Key, parent: Option<Self::Key>) -> Result<()>;

    fn parent(&mut self, key: Self::Key) -> Result<Option<Self::Key>>;
    fn family(&mut self, key: Self::Key) -> Result<Children>;
    /// The children that are not deleted.
    fn children(&mut self, key: Self::Key) -> Result<Vec<(Self::Key, TaskId, Status)>>;
    /// Blockers and children: what must be done before this can be.
    fn needs(&mut self, key: Self::Key) -> Result<Vec<Self::Key>>;
    /// Every (needs, needed) pair there is.
    fn all_needs(&mut self) -> Result<Vec<(Self::Key, Self::Key)>>;
    fn dependents(&mut self, key: Self::Key) -> Result<Vec<Self::Key>>;

    /// Links a blocker without counting it. `false` when it was linked already.
    fn link(&mut self, task: Self::Key, blocker: Self::Key) -> Result<bool>;
    /// Links blockers of new tasks, none of them twice, without counting them.
    fn link_new(&mut self, links: &[(Self::Key, Self::Key)]) -> Result<()>;
    /// Unlinks a blocker without counting it. `false` when it was not linked.
    fn unlink(&mut self, task: Self::Key, blocker: Self::Key) -> Result<bool>;
    /// Counts unfinished blockers up or down.
    fn count_blockers(&mut self, task: Self::Key, change: i64) -> Result<()>;

    /// About how many tasks there are, deleted ones too.
    fn size(&mut self) -> Result<usize>;
    /// Every task there is, deleted ones too, in the order of creation.
    fn everything(&mut self) -> Result<Vec<(Self::Key, Task)>>;
    fn list(&mut self, filter: &Filter) -> Result<Vec<Task>>;
    fn ready(&mut self, scope: &Scope, limit: usize) -> Result<Vec<Task>>;
    /// The first task that could be claimed.
    fn first_claimable(&mut self, scope: &Scope, now: Timestamp) -> Result<Option<Self::Key>>;
    /// Claimed tasks whose lease has run out and which could be taken over, best first.
    fn expired(&mut self, scope: &Scope, now: Timestamp, limit: usize) -> Result<Vec<Task>>;
    /// Claimed tasks whose lease holds, best first.
    fn held(&mut self, scope: &Scope, now: Timestamp) -> Result<Vec<Task>>;
    fn counts(&mut self, scope: &Scope) -> Result<Counts>;
    fn ids(&mut self) -> Result<Vec<TaskId>>;
    /// The results of the blockers that are done and left one.
    fn blocker_results(&mut self, key: Self::Key) -> Result<Vec<(TaskId, String)>>;
    /// Tasks of these specs that are neither done nor deleted.
    fn of_specs(&mut self, specs: &BTreeSet<&String>) -> Result<Vec<(Self::Key, TaskId)>>;

    fn verify(&mut self) -> Result<()>;
}

/// What is kept beside the tasks: plain writes and reads, which touch no counter.
pub trait Records: Send {
    /// A row of a task, faster than by its id.
    type Key: Copy + Ord + Hash + Send;

    fn write_log(
        &mut self,
        key: Self::Key,
        at: Timestamp,
        by: &AgentId,
        kind: LogKind,
        text: &str,
    ) -> Result<()>;
    fn read_log(&mut self, key: Self::Key) -> Result<Vec<LogEntry>>;

    fn insert_attempt(&mut self, key: Self::Key, attempt: &Attempt) -> Result<()>;
    fn end_attempt(&mut self, id: &AttemptId, end: &AttemptEnd) -> Result<()>;
    /// Of one task, or of all those that did not end before the moment.
    fn attempts(&mut self, of: Attempts<Self::Key>) -> Result<Vec<Attempt>>;
    fn insert_evidence(&mut self, key: Self::Key, evidence: &Evidence) -> Result<()>;
    fn evidence(&mut self, key: Self::Key) -> Result<Vec<Evidence>>;

    fn insert_question(&mut self, key: Self::Key, question: &Question) -> Result<()>;
    fn answer_question(&mut self, id: &QuestionId, at: Timestamp, text: &str) -> Result<()>;
    fn questions(&mut self, of: Option<Self::Key>, open_only: bool) -> Result<Vec<Question>>;

    /// `false` when there is one of that name already.
    fn insert_feature(&mut self, feature: &Feature) -> Result<bool>;
    fn features(&mut self) -> Result<Vec<Feature>>;
    fn has_feature(&mut self, name: &FeatureName) -> Result<bool>;
    fn remove_feature(&mut self, id: &FeatureId, now: Timestamp) -> Result<()>;

    fn put_agent(
        &mut self,
        id: &AgentId,
        liveness: Option<&Liveness>,
        now: Timestamp,
    ) -> Result<()>;
    fn agents(&mut self) -> Result<Vec<AgentRecord>>;
    /// `false` when there was none.
    fn remove_agent(&mut self, id: &AgentId) -> Result<bool>;
}

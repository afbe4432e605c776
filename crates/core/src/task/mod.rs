//! A task and the rules that govern it. Stores keep tasks and make no rules of their own: they call the
//! functions here.

mod claim;
mod counts;
mod edit;
mod graph;
mod refusal;
mod status;

pub use claim::{
    Actor, Claim, Generation, NotClaimable, RetryLimit, Take, after_failure, claimable, may_write,
};
pub use counts::Counts;
pub use edit::{NewTask, Priority, PriorityError, TaskPatch};
pub use graph::{
    Children, NeighborCounts, cycle_in, is_ready, parent_of_reopened, parent_status, path_between,
    satisfies,
};
pub use refusal::Refusal;
pub use status::{ShownStatus, Status, StatusFilter, UnknownStatus};

use crate::ids::{FeatureName, TaskId};
use crate::text::Title;
use crate::time::Timestamp;

/// A task, as a store returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    /// What to do, in one line.
    pub title: Title,
    /// What to do, in detail; may be empty.
    pub description: String,
    /// 0 comes first.
    pub priority: Priority,
    pub status: Status,
    /// The user's own grouping.
    pub category: Option<String>,
    pub spec: Option<String>,
    /// Where else it is known: an issue, a section, a link.
    pub reference: Option<String>,
    /// The task that it is a part of.
    pub parent: Option<TaskId>,
    pub feature: Option<FeatureName>,
    /// The branch that it becomes part of.
    pub branch: Option<String>,
    /// Globs of the files that it will change.
    pub touches: Vec<String>,
    /// How to go about it, one line each.
    pub steps: Vec<String>,
    /// The tasks that must be done first, oldest first.
    pub deps: Vec<TaskId>,
    /// Who works on it. Present exactly while the status is [`Status::InProgress`].
    pub claim: Option<Claim>,
    /// Counts every claim ever made; with its own number a claim shuts out all earlier ones.
    pub generation: Generation,
    /// How many retries it has used.
    pub retry_count: u32,
    /// Why it failed or was last returned for retry.
    pub reason: Option<String>,
    /// What the work produced, as JSON text.
    pub result: Option<String>,
    /// `passed` or `failed`, once a verifier has judged it.
    pub verification_status: Option<String>,
    /// What it needs to know about its blockers, parents and children.
    pub neighbors: NeighborCounts,
    /// Its place in the order of creation.
    pub order: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub done_at: Option<Timestamp>,
}

impl Task {
    pub fn new(id: TaskId, title: Title, now: Timestamp) -> Self {
        Self {
            id,
            title,
            description: String::new(),
            priority: Priority::default(),
            status: Status::Pending,
            category: None,
            spec: None,
            reference: None,
            parent: None,
            feature: None,
            branch: None,
            touches: vec![],
            steps: vec![],
            deps: vec![],
            claim: None,
            generation: 0,
            retry_count: 0,
            reason: None,
            result: None,
            verification_status: None,
            neighbors: NeighborCounts::default(),
            order: 0,
            created_at: now,
            updated_at: now,
            done_at: None,
        }
    }

    /// Whether a loop can start it now.
    pub fn is_ready(&self) -> bool {
        is_ready(self.status, self.neighbors)
    }

    pub fn shown(&self) -> ShownStatus {
        ShownStatus::of(self.status, self.neighbors.open_blockers)
    }
}

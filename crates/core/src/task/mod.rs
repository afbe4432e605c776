//! A task and the rules that govern it. Every store keeps tasks; none of them makes a rule of its
//! own: they ask the functions here.

mod claim;
mod counts;
mod edit;
mod graph;
mod refusal;
mod status;

pub use claim::{
    Actor, Claim, Generation, NotClaimable, RetryLimit, Take, after_failure, claimable, may_write,
};
pub use counts::{Bucket, Counts};
pub use edit::{NewTask, Priority, PriorityError, TaskPatch};
pub use graph::{Children, Standing, cycle_in, is_ready, parent_status, path_between, satisfies};
pub use refusal::Refusal;
pub use status::{Shown, Status, StatusFilter, UnknownStatus};

use crate::ids::{FeatureName, TaskId};
use crate::text::Title;
use crate::time::Timestamp;

/// One piece of work, as a store gives it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub id: TaskId,
    /// What is to be done, in a line.
    pub title: Title,
    /// What is to be done, at length; may be empty.
    pub description: String,
    /// 0 comes first.
    pub priority: Priority,
    /// Where it stands.
    pub status: Status,
    /// The user's own grouping.
    pub category: Option<String>,
    /// The specification it comes from.
    pub spec: Option<String>,
    /// Where else it is known: an issue, a section, a link.
    pub reference: Option<String>,
    /// The task that it is a part of.
    pub parent: Option<TaskId>,
    /// The feature that it belongs to.
    pub feature: Option<FeatureName>,
    /// The branch that it becomes part of.
    pub branch: Option<String>,
    /// Globs of the files that it is going to change.
    pub touches: Vec<String>,
    /// How to go about it, one line each.
    pub steps: Vec<String>,
    /// The tasks that must be done first, oldest first.
    pub deps: Vec<TaskId>,
    /// Who works on it. Present exactly while the status is [`Status::InProgress`].
    pub claim: Option<Claim>,
    /// Counts every claim ever made; a claim's own number fences off those before it.
    pub generation: Generation,
    /// How often it came back for another try.
    pub retry_count: u32,
    /// Why it failed or came back last.
    pub reason: Option<String>,
    /// What the work produced, as JSON text.
    pub result: Option<String>,
    /// `passed` or `failed`, once a verifier has judged it.
    pub verification_status: Option<String>,
    /// How it stands among its neighbours.
    pub standing: Standing,
    /// Its place in the order of creation.
    pub order: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was done.
    pub done_at: Option<Timestamp>,
}

impl Task {
    /// A task that has only just been thought of.
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
            standing: Standing::default(),
            order: 0,
            created_at: now,
            updated_at: now,
            done_at: None,
        }
    }

    /// Whether a loop may take it up without waiting for anything.
    pub fn is_ready(&self) -> bool {
        is_ready(self.status, self.standing)
    }

    /// The word that people see for its status.
    pub fn shown(&self) -> Shown {
        Shown::of(self.status, self.standing.open_blockers)
    }
}

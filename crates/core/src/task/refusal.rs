//! Everything that the rules of the task database refuse: one variant and one sentence each.

use crate::amounts::first_of;
use crate::ids::{AgentId, FeatureName, QuestionId, TaskId};
use crate::task::claim::NotClaimable;
use crate::task::counts::Counts;
use crate::task::status::Status;

/// A change that the rules do not allow. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no task {id}")]
    Unknown { id: TaskId },
    #[error("there is no feature {name}")]
    UnknownFeature { name: FeatureName },
    #[error("there is no agent {id}")]
    UnknownAgent { id: AgentId },
    #[error("there is no open question {id}")]
    UnknownQuestion { id: QuestionId },
    #[error("the id {id} is taken")]
    Exists { id: TaskId },
    #[error("feature {name} already exists")]
    FeatureExists { name: FeatureName },
    #[error("{}", transition(id, *from, *to))]
    Transition { id: TaskId, from: Status, to: Status },
    #[error("{}", not_claimable(id, why))]
    NotClaimable { id: TaskId, why: NotClaimable },
    #[error("no task is ready")]
    NothingReady { counts: Counts },
    #[error("{}", claim_lost(id, agent, holder.as_ref()))]
    ClaimLost { id: TaskId, agent: AgentId, holder: Option<AgentId> },
    #[error("{id} cannot depend on itself")]
    OnItself { id: TaskId },
    #[error("that would create a cycle: {}", cycle(path))]
    Cycle { path: Vec<TaskId> },
    #[error("{parent} {}, so it cannot get new parts", state(*status))]
    ParentClosed { parent: TaskId, status: Status },
    #[error("{id} {}; a blocker would change nothing", state(*status))]
    BlockClosed { id: TaskId, status: Status },
    #[error("{id} is not blocked by {by}")]
    NotBlockedBy { id: TaskId, by: TaskId },
    #[error("{id} has unfinished parts: {}", first_of(children, 5))]
    HasUnfinishedParts { id: TaskId, children: Vec<TaskId> },
    #[error("{id} failed because its parts failed: {}", first_of(children, 5))]
    FailedParts { id: TaskId, children: Vec<TaskId> },
    #[error("{id} is done because its parts are done: {}", first_of(children, 5))]
    DoneParts { id: TaskId, children: Vec<TaskId> },
    #[error("{id} {}; only done and failed tasks can be reopened", state(*status))]
    NotFinished { id: TaskId, status: Status },
    #[error("{id} {}, and no work of it waits for approval", state(*status))]
    NoApproval { id: TaskId, status: Status },
    #[error("{id} {}, and no session will read a message about it", state(*status))]
    NoSession { id: TaskId, status: Status },
    #[error("{id} has parts, and only these have sessions: {}", first_of(children, 5))]
    OnlyParts { id: TaskId, children: Vec<TaskId> },
    #[error("{unread} messages about {id} wait for its next attempt; there can be no more")]
    TooManyMessages { id: TaskId, unread: usize },
    #[error("{id} {}, and no agent has claimed it", state(*status))]
    NotClaimed { id: TaskId, status: Status },
    #[error("{id} is deleted")]
    IsDeleted { id: TaskId },
    #[error("{id} is done, and a done task cannot change")]
    DoneIsFinal { id: TaskId },
    #[error("{name} has {}", tasks(*unfinished))]
    FeatureUnfinished { name: FeatureName, unfinished: u64 },
}

fn transition(id: &TaskId, from: Status, to: Status) -> String {
    if from == to {
        format!("{id} is already {from}")
    } else {
        format!("{id} {} and cannot become {to}", state(from))
    }
}

/// The status as the middle of a sentence.
fn state(status: Status) -> String {
    match status {
        Status::Failed => "has failed".to_owned(),
        other => format!("is {other}"),
    }
}

fn tasks(unfinished: u64) -> String {
    match unfinished {
        1 => "an unfinished task".to_owned(),
        many => format!("{many} unfinished tasks"),
    }
}

/// A long cycle is shown by its two ends.
fn cycle(path: &[TaskId]) -> String {
    let mut names: Vec<&str> = path.iter().map(TaskId::as_str).collect();
    if names.len() > 12 {
        names.splice(6..names.len() - 4, ["…"]);
    }
    names.join(" needs ")
}

fn not_claimable(id: &TaskId, why: &NotClaimable) -> String {
    match why {
        NotClaimable::Status(status) => format!("{id} {} and cannot be claimed", state(*status)),
        NotClaimable::Held { by, until } => format!("{id} is claimed by {by} until {until}"),
        NotClaimable::HasChildren => format!("{id} has parts; claim one of them"),
        NotClaimable::FailedAbove => format!("{id} is part of a task that has failed"),
        NotClaimable::Blocked(1) => format!("{id} is blocked by an unfinished task"),
        NotClaimable::Blocked(n) => format!("{id} is blocked by {n} unfinished tasks"),
    }
}

fn claim_lost(id: &TaskId, agent: &AgentId, holder: Option<&AgentId>) -> String {
    match holder {
        Some(holder) if holder == agent => {
            format!("{agent} lost its claim on {id} and claimed it again")
        }
        Some(holder) => format!("{agent} does not hold {id}: {holder} does"),
        None => format!("{agent} does not hold {id}: no agent does"),
    }
}

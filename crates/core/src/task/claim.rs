//! Claims: who may work on a task, until when, and which writes a claim covers.
//!
//! A claim has a lease, so that the task of a dead holder becomes free, and a generation, so that a holder
//! that returns late cannot overwrite its successor.

use serde::{Deserialize, Serialize};

use super::Task;
use super::refusal::Refusal;
use super::status::Status;
use crate::ids::AgentId;
use crate::time::Timestamp;

/// The number of a claim on its task, from 1. 0 means never claimed.
pub type Generation = u64;

/// The right to work on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub agent: AgentId,
    /// Which claim on this task it is.
    pub generation: Generation,
    pub claimed_at: Timestamp,
    /// When it ends unless it is renewed.
    pub lease_expires_at: Timestamp,
}

impl Claim {
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.lease_expires_at <= now
    }
}

/// Who asks for a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// The user at a terminal: acts directly, whoever holds the claim.
    User(AgentId),
    /// An agent: may settle only what it holds. With a generation, only that very claim.
    Agent(AgentId, Option<Generation>),
}

impl Actor {
    /// The name that goes into the log.
    pub fn name(&self) -> &AgentId {
        match self {
            Self::User(name) | Self::Agent(name, _) => name,
        }
    }
}

/// How a claimable task would be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    Fresh,
    /// The lease of its holder has expired: a retry.
    Expired,
}

/// Why a task cannot be claimed now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotClaimable {
    /// It is waiting, done, failed or deleted.
    Status(Status),
    Held {
        by: AgentId,
        until: Timestamp,
    },
    /// Its children are the work.
    HasChildren,
    FailedAbove,
    /// So many blockers are unfinished.
    Blocked(u32),
}

/// Whether, and how, a task may be claimed.
pub fn claimable(task: &Task, now: Timestamp) -> Result<Take, NotClaimable> {
    let take = match (task.status, &task.claim) {
        (Status::Pending, _) => Take::Fresh,
        (Status::InProgress, Some(claim)) if !claim.is_expired(now) => {
            return Err(NotClaimable::Held {
                by: claim.agent.clone(),
                until: claim.lease_expires_at,
            });
        }
        (Status::InProgress, _) => Take::Expired,
        (status, _) => return Err(NotClaimable::Status(status)),
    };
    if task.neighbors.children > 0 {
        Err(NotClaimable::HasChildren)
    } else if task.neighbors.failed_above {
        Err(NotClaimable::FailedAbove)
    } else if task.neighbors.open_blockers > 0 {
        Err(NotClaimable::Blocked(task.neighbors.open_blockers))
    } else {
        Ok(take)
    }
}

/// Whether `actor` may settle, renew or release the claim on `task`.
///
/// The lease does not matter: as long as no other agent claimed the task, a late holder may still finish.
pub fn may_write(task: &Task, actor: &Actor) -> Result<(), Refusal> {
    let Actor::Agent(agent, generation) = actor else {
        return Ok(());
    };
    match &task.claim {
        Some(claim)
            if claim.agent == *agent && generation.is_none_or(|g| g == claim.generation) =>
        {
            Ok(())
        }
        claim => Err(Refusal::ClaimLost {
            id: task.id.clone(),
            agent: agent.clone(),
            holder: claim.as_ref().map(|c| c.agent.clone()),
        }),
    }
}

/// How many retries a task may use before it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryLimit {
    /// This many retries after the first attempt.
    AtMost(u32),
    Unlimited,
}

impl Default for RetryLimit {
    fn default() -> Self {
        Self::AtMost(3)
    }
}

/// The status after a failed attempt of a task that had used `retry_count` retries before.
pub fn after_failure(retry_count: u32, limit: RetryLimit, final_: bool) -> Status {
    match limit {
        RetryLimit::AtMost(most) if retry_count >= most => Status::Failed,
        _ if final_ => Status::Failed,
        _ => Status::Pending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three retries are four attempts.
    #[test]
    fn retries_are_counted_after_the_first_attempt() {
        let three = RetryLimit::AtMost(3);
        let ends: Vec<Status> = (0..4).map(|n| after_failure(n, three, false)).collect();
        use Status::{Failed, Pending};
        assert_eq!(ends, [Pending, Pending, Pending, Failed]);
        assert_eq!(after_failure(999, RetryLimit::Unlimited, false), Pending);
        assert_eq!(after_failure(0, RetryLimit::Unlimited, true), Failed);
    }
}

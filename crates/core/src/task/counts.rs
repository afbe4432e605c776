//! How many tasks are in each state: the numbers of `plan-status`, which scripts loop by.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::status::Status;

/// The column of `plan-status` that a task counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// Pending and not blocked.
    Open,
    /// In progress and not blocked.
    Active,
    Done,
    /// Pending or in progress with an unfinished blocker.
    Blocked,
    Deleted,
    Failed,
    Waiting,
}

impl Bucket {
    /// The column for a status and whether a blocker is unfinished.
    pub const fn of(status: Status, blocked: bool) -> Self {
        match status {
            Status::Pending | Status::InProgress if blocked => Self::Blocked,
            Status::Pending => Self::Open,
            Status::InProgress => Self::Active,
            Status::Done => Self::Done,
            Status::Deleted => Self::Deleted,
            Status::Failed => Self::Failed,
            Status::Waiting => Self::Waiting,
        }
    }
}

/// All columns of `plan-status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    pub open: u64,
    pub active: u64,
    pub done: u64,
    pub blocked: u64,
    pub deleted: u64,
    pub failed: u64,
    pub waiting: u64,
}

impl Counts {
    pub fn add(&mut self, bucket: Bucket, n: u64) {
        *match bucket {
            Bucket::Open => &mut self.open,
            Bucket::Active => &mut self.active,
            Bucket::Done => &mut self.done,
            Bucket::Blocked => &mut self.blocked,
            Bucket::Deleted => &mut self.deleted,
            Bucket::Failed => &mut self.failed,
            Bucket::Waiting => &mut self.waiting,
        } += n;
    }

    /// Every task that is still part of the plan.
    pub fn total(&self) -> u64 {
        self.open + self.active + self.done + self.blocked + self.failed + self.waiting
    }

    /// Tasks that are neither done nor failed: what is left to do.
    pub fn unresolved(&self) -> u64 {
        self.open + self.active + self.blocked + self.waiting
    }
}

/// S0-19: one line that programs parse: `N open, N active, N done, N blocked, N deleted`.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { open, active, done, blocked, deleted, failed, waiting } = self;
        write!(
            f,
            "{open} open, {active} active, {done} done, {blocked} blocked, {deleted} deleted"
        )?;
        if *failed > 0 {
            write!(f, ", {failed} failed")?;
        }
        if *waiting > 0 {
            write!(f, ", {waiting} waiting")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s0_19_the_line_is_exact() {
        let mut counts = Counts { open: 3, done: 2, ..Counts::default() };
        assert_eq!(counts.to_string(), "3 open, 0 active, 2 done, 0 blocked, 0 deleted");
        counts.add(Bucket::Failed, 1);
        counts.add(Bucket::Waiting, 2);
        assert_eq!(
            counts.to_string(),
            "3 open, 0 active, 2 done, 0 blocked, 0 deleted, 1 failed, 2 waiting"
        );
        assert_eq!((counts.total(), counts.unresolved()), (8, 5));
    }

    #[test]
    fn a_blocked_task_counts_once() {
        assert_eq!(Bucket::of(Status::InProgress, true), Bucket::Blocked);
        assert_eq!(Bucket::of(Status::Done, true), Bucket::Done);
        assert_eq!(Bucket::of(Status::Waiting, true), Bucket::Waiting);
    }
}

//! How many tasks are in each state: the numbers of `plan-status`, which scripts loop by.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::status::Status;

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
    /// Counts `n` tasks with this status. One with an unfinished blocker is neither open nor active.
    pub fn add(&mut self, status: Status, blocked: bool, n: u64) {
        *match status {
            Status::Pending | Status::InProgress if blocked => &mut self.blocked,
            Status::Pending => &mut self.open,
            Status::InProgress => &mut self.active,
            Status::Done => &mut self.done,
            Status::Deleted => &mut self.deleted,
            Status::Failed => &mut self.failed,
            Status::Waiting => &mut self.waiting,
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
        counts.add(Status::Failed, false, 1);
        counts.add(Status::Waiting, false, 2);
        assert_eq!(
            counts.to_string(),
            "3 open, 0 active, 2 done, 0 blocked, 0 deleted, 1 failed, 2 waiting"
        );
        assert_eq!((counts.total(), counts.unresolved()), (8, 5));
    }

    #[test]
    fn a_blocked_task_counts_once() {
        let mut counts = Counts::default();
        for status in [Status::InProgress, Status::Done, Status::Waiting] {
            counts.add(status, true, 1);
        }
        assert_eq!(counts, Counts { blocked: 1, done: 1, waiting: 1, ..Counts::default() });
    }
}

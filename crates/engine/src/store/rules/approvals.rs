//! Finished work that waits for the user: approved or rejected.

use ralph_core::TaskId;
use ralph_core::records::LogKind;
use ralph_core::run::awaits_approval;
use ralph_core::task::{Refusal, RetryLimit, Status, Task, after_failure};

use super::{Change, State, Table};
use crate::ports::Result;
use crate::store::table::Attempts;

impl<T: Table> Change<'_, T> {
    pub(super) fn approve(&mut self, id: &TaskId) -> Result<()> {
        let (key, task) = self.awaiting_approval(id)?;
        self.settle(key, &task, &State::moved(&task, Status::Pending))?;
        self.log(key, LogKind::Approved, "")
    }

    /// The user is the last judge, so a rejection counts as a failing gate does. It is the one way from waiting to
    /// failed.
    pub(super) fn reject(
        &mut self,
        id: &TaskId,
        reason: &str,
        limit: RetryLimit,
    ) -> Result<Status> {
        let (key, task) = self.awaiting_approval(id)?;
        let status = after_failure(task.retry_count, limit, false);
        let mut to = State::moved(&task, status);
        to.reason = Some(reason.to_owned());
        let kind = match status {
            Status::Failed => LogKind::Failed,
            _ => {
                to.retry_count += 1;
                LogKind::Retry
            }
        };
        self.settle(key, &task, &to)?;
        self.log(key, kind, reason)?;
        Ok(status)
    }

    fn awaiting_approval(&mut self, id: &TaskId) -> Result<(T::Key, Task)> {
        let (key, task) = self.find(id)?;
        let (attempts, log) = (self.table.attempts(Attempts::Of(key))?, self.table.read_log(key)?);
        match awaits_approval(&task, &attempts, &log) {
            true => Ok((key, task)),
            false => Err(Refusal::NoApproval { id: task.id, status: task.status }.into()),
        }
    }
}

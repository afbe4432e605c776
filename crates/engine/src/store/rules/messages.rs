//! What the user tells the agent about a task, and which sessions got it. Both are in the log of the task.

use ralph_core::TaskId;
use ralph_core::ids::AttemptId;
use ralph_core::records::{LogKind, MAX_UNREAD, Message};
use ralph_core::run::{given_line, messages};
use ralph_core::task::{Refusal, Status};

use super::{Change, Table};
use crate::ports::Result;
use crate::store::table::Attempts;

impl<T: Table> Change<'_, T> {
    pub(super) fn tell(&mut self, id: &TaskId, text: &str) -> Result<u32> {
        let (key, task) = self.find(id)?;
        match task.status {
            Status::Deleted => return Err(Refusal::IsDeleted { id: task.id }.into()),
            status @ (Status::Done | Status::Failed) => {
                return Err(Refusal::NoSession { id: task.id, status }.into());
            }
            Status::Pending | Status::InProgress | Status::Waiting => {}
        }
        let open = |status: Status| !matches!(status, Status::Done | Status::Deleted);
        let children = self.parts(key, open)?;
        if !children.is_empty() {
            return Err(Refusal::OnlyParts { id: task.id, children }.into());
        }
        let told = self.told(key)?;
        let unread = told.iter().filter(|message| !message.delivered).count();
        if unread >= MAX_UNREAD {
            return Err(Refusal::TooManyMessages { id: task.id, unread }.into());
        }
        self.log(key, LogKind::Message, text)?;
        Ok(u32::try_from(told.len()).unwrap_or(u32::MAX).saturating_add(1))
    }

    pub(super) fn give(
        &mut self,
        id: &TaskId,
        attempt: &AttemptId,
        messages: &[u32],
    ) -> Result<()> {
        let key = super::known(self.table, id)?;
        for told in self.told(key)? {
            let number = told.message.number;
            if messages.contains(&number) && !told.given.contains(attempt) {
                self.log(key, LogKind::Delivered, &given_line(number, attempt))?;
            }
        }
        Ok(())
    }

    fn told(&mut self, key: T::Key) -> Result<Vec<Message>> {
        let (attempts, log) = (self.table.attempts(Attempts::Of(key))?, self.table.read_log(key)?);
        Ok(messages(&log, &attempts))
    }
}

//! Previews what a run would find in a plan file, without writing to the file or the store.

use ralph_core::TaskId;
use ralph_core::plan::markdown::ItemState;
use ralph_core::run::Survey;
use ralph_core::task::{Counts, Status};

use super::reconcile::tasks_of;
use super::removed_items::is_undecided;
use super::session::DONE_MARKER;
use super::{PlanFile, Read, ReconcileError, has_no_tasks, why_no_tasks};
use crate::ports::Store;

#[derive(Debug, Clone)]
pub struct Preview {
    pub read: Read,
    pub survey: Survey,
    pub next: Option<usize>,
}

impl PlanFile {
    /// What a run would find; `None` when there is no file. `by_iteration` when the agent picks.
    pub fn preview(
        &self,
        store: &mut dyn Store,
        by_iteration: bool,
    ) -> Result<Option<Preview>, ReconcileError> {
        let Some(read) = self.read()? else { return Ok(None) };
        let tasks = tasks_of(self, store)?;
        let known = self.remembered().map(|(synced, _)| synced);
        let ids: Vec<Option<&TaskId>> = match &known {
            Some(synced) => synced.ids_in(&read.doc),
            None => vec![None; read.doc.items.len()],
        };
        let (parents, standings) = (read.doc.parents(), read.doc.standings());
        let status = |index: usize| {
            let stored = ids[index].and_then(|id| tasks.get(id)).map(|task| task.status);
            match (standings[index], stored) {
                (ItemState::Done, _) => Status::Done,
                (ItemState::Dropped, _) => Status::Deleted,
                (ItemState::Waits, _) => Status::Waiting,
                (ItemState::Open, Some(Status::Deleted | Status::InProgress) | None) => {
                    Status::Pending
                }
                (ItemState::Open, Some(stored)) => stored,
            }
        };
        let deps = read.doc.all_dependencies();
        let is_blocked =
            |index: usize| deps[index].0.iter().any(|dep| status(*dep) != Status::Done);
        let (mut counts, mut claimable, mut next) = (Counts::default(), 0, None);
        for (index, is_parent) in parents.iter().enumerate() {
            let (status, blocked) = (status(index), is_blocked(index));
            counts.add(status, blocked, 1);
            if status == Status::Pending && !blocked && !is_parent {
                claimable += 1;
                next = next.or(Some(index));
            }
        }
        let left = known.iter().flat_map(|synced| &synced.left);
        counts.waiting += left.filter(|left| is_undecided(left, &tasks)).count() as u64;
        let absent = has_no_tasks(&read.text, &read.doc);
        let survey = Survey {
            counts,
            claimable: match by_iteration {
                true if claimable == 0 && counts.waiting > 0 => 0,
                true => 1,
                false => claimable,
            },
            absent,
            absent_why: absent.then(|| why_no_tasks(self.name(), &read.text, &read.doc)),
            marker: read.doc.is_done().then(|| DONE_MARKER.to_owned()),
            ..Survey::default()
        };
        Ok(Some(Preview { read, survey, next }))
    }
}

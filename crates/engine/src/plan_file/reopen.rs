//! Reopens done tasks in a plan: clears their checkboxes and those of the items that they are parts of.
//!
//! The file is changed before the store: a checkbox that is still ticked would make the task done again at the next
//! read. The task of an open checkbox that is not done in the store stays the same task.

use std::path::Path;

use ralph_core::TaskId;
use ralph_core::plan::markdown::{Edit, PlanKind};

use super::memory::Snapshot;
use super::reconcile::applied;
use super::replace::Replaced;
use super::{PlanFile, PlanFileError, Read, TRIES};

/// What a progress file says about itself once a task is open again.
const IN_PROGRESS: &str = "In progress";

impl PlanFile {
    /// The plan that the store knows under this key, if a run in `worktree` has used it and it is still there.
    pub fn known(worktree: &Path, key: &str) -> Result<Option<Self>, PlanFileError> {
        if !Self::all_known(worktree).iter().any(|known| known == key) {
            return Ok(None);
        }
        if let Some(plan) = Self::find(worktree, Path::new(key))? {
            return Ok(Some(plan));
        }
        let Some((name, branch)) = key.rsplit_once('#') else { return Ok(None) };
        let plan =
            Self::find(worktree, Path::new(name))?.filter(|p| p.kind() == PlanKind::Branches);
        Ok(plan.map(|plan| plan.of_branch(branch, worktree, "")))
    }

    /// Clears the checkboxes of these tasks. Returns whether the file changed.
    pub fn reopen(&self, tasks: &[TaskId]) -> Result<bool, PlanFileError> {
        let _turn = self.turn();
        for _ in 0..TRIES {
            let Some(read) = self.read_in_peace()? else { return Ok(false) };
            let Some(changed) = self.reopened(&read, tasks)? else { return Ok(false) };
            if self.replace(&read.text, &changed)? == Replaced::Yes {
                return Ok(true);
            }
        }
        Err(self.keeps_changing())
    }

    /// Another version of the plan, such as the committed one, with these checkboxes cleared; `None` where nothing
    /// of it would change.
    pub fn reopened_in(
        &self,
        text: &str,
        tasks: &[TaskId],
    ) -> Result<Option<String>, PlanFileError> {
        let read = self.parse(text.to_owned())?;
        self.reopened(&read, tasks)
    }

    fn reopened(&self, read: &Read, tasks: &[TaskId]) -> Result<Option<String>, PlanFileError> {
        let Some((last, _)) = self.remembered() else { return Ok(None) };
        let edits = cleared(&last, read, tasks);
        if edits.is_empty() {
            return Ok(None);
        }
        let mut after = applied(self, &read.text, &edits)?;
        if after.doc.is_done() {
            let edits = after.doc.set_status(&after.text, IN_PROGRESS);
            after = applied(self, &after.text, &edits)?;
        }
        Ok(Some(after.text))
    }
}

/// The edits that clear the checkboxes of these tasks, and of what they are parts of.
fn cleared(last: &Snapshot, read: &Read, tasks: &[TaskId]) -> Vec<Edit> {
    let ids = last.ids_in(&read.doc);
    let items = &read.doc.items;
    let mut open = vec![false; items.len()];
    for (index, id) in ids.iter().enumerate() {
        if !id.is_some_and(|id| tasks.contains(id)) {
            continue;
        }
        let mut at = Some(index);
        while let Some(index) = at.filter(|index| !open[*index]) {
            open[index] = true;
            at = items[index].parent;
        }
    }
    let open = open.iter().enumerate().filter(|(_, open)| **open);
    open.filter_map(|(index, _)| read.doc.set_done(index, false)).collect()
}

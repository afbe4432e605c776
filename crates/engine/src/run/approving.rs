//! Approval: what a change is, as far as it decides whether the user has to approve it, and approved work that lands
//! without a session. Which work waits is decided in the core.

use ralph_core::glob::Patterns;
use ralph_core::run::{Approve, ChangeSize, TaskBrief, is_approved};
use ralph_core::secret_files::looks_secret;
use ralph_core::task::{Status, StatusFilter, Task, claimable};

use super::ports::{Failed, Ports};
use super::slot_state::SlotState;
use crate::ports::{Candidate, Filter, Scope, Store};
use crate::vcs::wip::ref_name;

impl Ports {
    /// What the candidate changes. The checks on it have run.
    pub(super) fn change_size(&self, slot: &mut SlotState, candidate: &Candidate) -> ChangeSize {
        let policy = &self.setup.policy;
        if policy.approve == Approve::Never || policy.by_iteration() {
            return ChangeSize::default();
        }
        let settled = slot.workspace().settled_tree();
        // What cannot be counted is not small.
        let Ok(changes) = self.changes_of(slot, &settled, &candidate.tree) else {
            return ChangeSize { lines: u64::MAX, ..ChangeSize::default() };
        };
        let lines = |file: &ralph_core::records::FileChange| {
            file.added.unwrap_or(0).saturating_add(file.removed.unwrap_or(0))
        };
        let secret = |path: &&String| looks_secret(path, &Patterns::default());
        let trees = [settled, candidate.tree.clone()];
        let weakened = slot.weakened.clone().filter(|(of, _)| *of == trees);
        ChangeSize {
            lines: changes.iter().map(lines).fold(0, u64::saturating_add),
            protected: slot.protected.clone(),
            weakened: weakened.map(|(_, found)| found).unwrap_or_default(),
            secrets: changes.iter().map(|file| &file.path).filter(secret).cloned().collect(),
        }
    }

    /// The tasks of the scope that can be claimed now and whose finished work the user approved.
    pub(super) fn approved_tasks(
        &self,
        store: &mut dyn Store,
        scope: &Scope,
    ) -> Result<Vec<Task>, Failed> {
        if self.setup.policy.approve == Approve::Never || self.setup.policy.by_iteration() {
            return Ok(vec![]);
        }
        let filter =
            Filter { statuses: vec![StatusFilter::Stored(Status::Pending)], ..Filter::of(scope) };
        let of_scope = |task: &Task| match scope {
            Scope::Task(id) => task.id == *id,
            _ => true,
        };
        let (now, mut found) = (self.now(), Vec::new());
        for task in store.list(&filter)? {
            let may_be = task.generation > 0 && of_scope(&task) && claimable(&task, now).is_ok();
            if may_be && is_approved(&store.attempts(&task.id)?, &store.log(&task.id)?) {
                found.push(task);
            }
        }
        Ok(found)
    }

    /// Why approved work is not in the worktree as the user saw it.
    pub(super) fn why_missing(&self, slot: &SlotState, task: &TaskBrief) -> String {
        let name = ref_name(&task.id, task.attempt_number.saturating_sub(1));
        let why = match &slot.workspace_note {
            Some(note) => note.clone(),
            None => format!("the worktree does not have the work that is saved as {name}"),
        };
        format!(
            "{why}. Fix that and run ralph approve {id} again, or start over: ralph reject {id} \"WHY\"",
            id = task.id
        )
    }
}

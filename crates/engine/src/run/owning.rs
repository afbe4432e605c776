//! Prepares the worktree for the task of a session, and assigns the changes of a session to its task. The rules are
//! in version control: [`Workspaces::open`].
//!
//! [`Workspaces::open`]: crate::ports::Workspaces::open

use ralph_core::TaskId;
use ralph_core::amounts::first_of;
use ralph_core::run::{Picker, TaskBrief};

use super::ports::{Failed, Ports};
use super::slot_state::SlotState;
use super::workspace::Workspace;
use crate::ports::{EarlierWork, SetAsideWork};

/// How many files a sentence names.
const NAMED: usize = 5;

impl Ports {
    /// Prepares the worktree for a session. A task with its own worktree shares it with no other.
    pub(super) fn open_workspace(
        &self,
        slot: &mut SlotState,
        task: Option<&TaskBrief>,
    ) -> Result<(), Failed> {
        slot.workspace_note = None;
        if self.setup.work.pool.is_some() {
            return Ok(());
        }
        let workspace = slot.workspace();
        let owner = task.map(|task| task.id.clone()).or_else(|| self.iteration_owner());
        let opened = workspace.vcs.open(&self.setup.run, &workspace.base(), owner.as_ref())?;
        workspace.set_base(opened.base);
        if let Some((from, to)) = &opened.moved {
            let tree =
                workspace.vcs.carried(&workspace.settled_tree(), from.as_deref(), to.as_deref())?;
            workspace.set_settled_tree(&tree);
        }
        if let Some(left) = &opened.left {
            slot.unsure.clear();
            self.notice(left_words(left));
        }
        if let Some(restored) = &opened.restored {
            self.notice(restored_words(restored));
        }
        if let Some(blocked) = &opened.blocked {
            let note = blocked_words(blocked);
            self.notice(note.clone());
            slot.workspace_note = Some(note);
        }
        Ok(())
    }

    /// The task with the attempt whose finished work is still in the worktree, untouched: it needs no session.
    pub(super) fn found_work(
        &self,
        slot: &SlotState,
        task: Option<&TaskBrief>,
    ) -> Result<Option<TaskBrief>, Failed> {
        let Some((task, work)) = task.and_then(|task| Some((task, task.finished.as_ref()?))) else {
            return Ok(None);
        };
        let attempts = self.store().attempts(&task.id)?;
        let Some(last) = attempts.last() else { return Ok(None) };
        let number = u32::try_from(attempts.len()).unwrap_or(u32::MAX);
        let (workspace, candidate) = (slot.workspace(), self.new_candidate(slot)?);
        // Others may have landed since the user approved it: then it is the same change on another base.
        let is_same = candidate.tree == work.tree
            || (work.approved
                && workspace.vcs.holds_saved(&workspace.base(), &candidate, &task.id, number)?);
        if !is_same {
            return Ok(None);
        }
        Ok(Some(TaskBrief { attempt: last.id.clone(), attempt_number: number, ..task.clone() }))
    }

    /// After a session that chose its tasks itself: what is in the worktree for any other task is not part
    /// of its work.
    pub(super) fn keep_own_work(
        &self,
        slot: &mut SlotState,
        workspace: &Workspace,
    ) -> Result<(), Failed> {
        if self.setup.policy.picker != Picker::Agent || self.setup.policy.by_iteration() {
            return Ok(());
        }
        let held = slot.held.clone();
        if held.is_empty() {
            return Ok(());
        }
        if let Some(left) = workspace.vcs.keep_only(&workspace.base(), &held)? {
            self.notice(left_words(&left));
        }
        Ok(())
    }

    /// Says once where a session worked inside of a submodule: that repository is not ralph's to commit to.
    pub(super) fn name_submodules(&self, slot: &mut SlotState, workspace: &Workspace) {
        // It is only mentioned, so what cannot be found out stops nothing.
        let found = workspace.vcs.submodules_with_work().unwrap_or_default();
        let known = std::mem::replace(&mut slot.submodules, found.clone());
        for path in found.iter().filter(|path| !known.contains(path)) {
            self.notice(format!(
                "Submodule {path} has uncommitted work or new commits. ralph does not commit inside \
                 submodules: see git -C {path} status"
            ));
        }
    }

    /// Who owns the work of an iteration that is judged as a whole: the mode, and no task.
    fn iteration_owner(&self) -> Option<TaskId> {
        let policy = &self.setup.policy;
        policy.by_iteration().then(|| TaskId::new(&policy.mode).ok()).flatten()
    }
}

fn left_words(left: &SetAsideWork) -> String {
    let (count, task) = (left.paths.len(), &left.task);
    format!(
        "Set aside unfinished work of {task}: reverted {}. To see it now: ralph recover {task}",
        files(count)
    )
}

fn restored_words(restored: &EarlierWork) -> String {
    format!("Restored {} of unfinished work from {}", files(restored.paths.len()), restored.name)
}

fn blocked_words(blocked: &EarlierWork) -> String {
    format!(
        "Earlier work on this task is in {} and was not restored, because these files changed since: {}",
        blocked.name,
        first_of(blocked.paths.iter().map(|path| path.display()), NAMED)
    )
}

fn files(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    }
}

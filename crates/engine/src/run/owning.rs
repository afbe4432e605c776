//! Whose work lies in the worktree. Before a session it is made ready for the task of that session, and after
//! it what the session did belongs to that task. The rules are version control's: [`Vcs::open`].
//!
//! [`Vcs::open`]: crate::ports::Vcs::open

use ralph_core::TaskId;
use ralph_core::run::{Picker, SlotId, TaskBrief};

use super::crew::{Crew, Failed};
use super::site::Site;
use crate::ports::{Blocked, Left, Restored};

/// How many files a sentence names.
const NAMED: usize = 5;

impl Crew {
    /// Makes the worktree ready for a session. A task with a worktree of its own shares it with nobody.
    pub(super) fn open_workspace(
        &self,
        slot: SlotId,
        task: Option<&TaskBrief>,
    ) -> Result<(), Failed> {
        self.kit(slot).workspace_note = None;
        if self.setup.grounds.is_some() {
            return Ok(());
        }
        let site = self.site(slot);
        let owner = task.map(|task| task.id.clone()).or_else(|| self.iteration_owner());
        let opened = site.vcs.open(&self.setup.run, &site.base(), owner.as_ref())?;
        site.set_base(opened.base);
        if let Some((from, to)) = &opened.moved {
            let tree = site.vcs.carried(&site.settled_tree(), from.as_deref(), to.as_deref())?;
            site.set_settled_tree(&tree);
        }
        if opened.left.is_some() {
            self.kit(slot).unsure.clear();
        }
        if let Some(left) = &opened.left {
            self.notice(left_words(left));
        }
        if let Some(restored) = &opened.restored {
            self.notice(restored_words(restored));
        }
        if let Some(blocked) = &opened.blocked {
            let note = blocked_words(blocked);
            self.notice(note.clone());
            self.kit(slot).workspace_note = Some(note);
        }
        Ok(())
    }

    /// After a session that chose its tasks itself: what lies in the worktree for any other task is not part
    /// of its work.
    pub(super) fn keep_own_work(&self, slot: SlotId, site: &Site) -> Result<(), Failed> {
        if self.setup.policy.picker != Picker::Agent || self.setup.policy.by_iteration() {
            return Ok(());
        }
        let held = self.dispatcher().held_by(slot);
        if held.is_empty() {
            return Ok(());
        }
        if let Some(left) = site.vcs.keep_only(&site.base(), &held)? {
            self.notice(left_words(&left));
        }
        Ok(())
    }

    /// Who owns the work of an iteration that is judged as a whole: the mode, and no task.
    fn iteration_owner(&self) -> Option<TaskId> {
        let policy = &self.setup.policy;
        policy.by_iteration().then(|| TaskId::new(&policy.mode).ok()).flatten()
    }
}

fn left_words(left: &Left) -> String {
    let (count, task) = (left.paths.len(), &left.task);
    format!(
        "Set aside unfinished work of {task}: reverted {}. To see it now: ralph recover {task}",
        files(count)
    )
}

fn restored_words(restored: &Restored) -> String {
    format!("Restored {} of unfinished work from {}", files(restored.paths.len()), restored.name)
}

fn blocked_words(blocked: &Blocked) -> String {
    let named: Vec<String> =
        blocked.paths.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    let more = match blocked.paths.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "Earlier work on this task is in {} and was not restored, because these files changed since: {}{more}",
        blocked.name,
        named.join(", ")
    )
}

fn files(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    }
}

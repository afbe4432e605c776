//! Making, changing and deleting tasks, and the edges between them.

use std::collections::HashSet;

use ralph_core::TaskId;
use ralph_core::records::LogKind;
use ralph_core::task::{NewTask, Refusal, Status, Task, TaskPatch, path_between, satisfies};

use super::{Change, State, Table};
use crate::ports::{DeleteWhich, Result};

impl<T: Table> Change<'_, T> {
    pub(super) fn add(&mut self, id: TaskId, new: NewTask) -> Result<()> {
        let mut task = Task::new(id, new.title, self.now);
        apply_fields(&mut task, &new.fields);
        self.check_feature(&task)?;
        let key = match self.table.key(&task.id)? {
            Some(key) => {
                let before = self.table.load(key)?;
                if before.status != Status::Deleted {
                    return Err(Refusal::Exists { id: task.id }.into());
                }
                self.revive(key, &before, &task)?;
                self.follow_children(key)?;
                key
            }
            None => self.table.insert(&task, 0)?,
        };
        if let Some(Some(parent)) = &new.fields.parent {
            self.move_below(key, &task.id, Some(parent))?;
        }
        for blocker in new.fields.deps.iter().flatten() {
            self.add_blocker(key, &task.id, blocker)?;
        }
        self.log(key, LogKind::Created, "")
    }

    /// Turns a deleted row into the new task. Its log, and who waits for it, stay; parts that were
    /// finished under its old self do not count for the new one. The others do: it has yet to follow
    /// them.
    pub(super) fn revive(&mut self, key: T::Key, before: &Task, task: &Task) -> Result<()> {
        for (child, _, status) in self.table.children(key)? {
            if status == Status::Done {
                self.table.set_parent(child, None)?;
            }
        }
        for blocker in &before.deps {
            self.drop_blocker(key, blocker)?;
        }
        if before.parent.is_some() {
            self.table.set_parent(key, None)?;
        }
        self.table.save(key, task)?;
        let fresh =
            State { status: task.status, done_at: task.done_at, ..State::moved(task, task.status) };
        self.table.set_state(key, before.status, &fresh, self.now)
    }

    pub(super) fn update(&mut self, id: &TaskId, patch: TaskPatch) -> Result<()> {
        let (key, task) = self.find(id)?;
        match task.status {
            Status::Done => return Err(Refusal::DoneIsFinal { id: task.id }.into()),
            Status::Deleted => return Err(Refusal::IsDeleted { id: task.id }.into()),
            _ => {}
        }
        let changed = self.apply(key, &task, &patch)?;
        if !changed.is_empty() {
            self.log(key, LogKind::Updated, &changed.join(", "))?;
        }
        Ok(())
    }

    /// Applies a patch and names the fields that really changed.
    pub(super) fn apply(
        &mut self,
        key: T::Key,
        task: &Task,
        patch: &TaskPatch,
    ) -> Result<Vec<&'static str>> {
        let mut next = task.clone();
        let mut changed = apply_fields(&mut next, patch);
        // A feature that the patch does not name may be deleted by now.
        if patch.feature.is_some() {
            self.check_feature(&next)?;
        }
        if !changed.is_empty() {
            next.updated_at = self.now;
            self.table.save(key, &next)?;
        }
        // What goes away goes first: the patch is judged by what it leaves.
        let had: HashSet<&TaskId> = task.deps.iter().collect();
        let wanted: Option<HashSet<&TaskId>> = patch.deps.as_ref().map(|d| d.iter().collect());
        let deps = wanted.filter(|wanted| *wanted != had);
        if let Some(wanted) = &deps {
            for gone in task.deps.iter().filter(|id| !wanted.contains(id)) {
                self.drop_blocker(key, gone)?;
            }
        }
        if let Some(parent) = &patch.parent
            && *parent != task.parent
        {
            self.move_below(key, &task.id, parent.as_ref())?;
            changed.push("parent");
        }
        if deps.is_some() {
            for new in patch.deps.iter().flatten().filter(|id| !had.contains(id)) {
                self.add_blocker(key, &task.id, new)?;
            }
            changed.push("deps");
        }
        Ok(changed)
    }

    fn check_feature(&mut self, task: &Task) -> Result<()> {
        match &task.feature {
            Some(name) if !self.table.has_feature(name)? => {
                Err(Refusal::UnknownFeature { name: name.clone() }.into())
            }
            _ => Ok(()),
        }
    }

    fn move_below(&mut self, key: T::Key, id: &TaskId, parent: Option<&TaskId>) -> Result<()> {
        let to = match parent {
            None => None,
            Some(parent) if parent == id => return Err(Refusal::OnItself { id: id.clone() }.into()),
            Some(parent) => {
                let (parent_key, above) = self.find(parent)?;
                if matches!(above.status, Status::Done | Status::Deleted) {
                    let status = above.status;
                    return Err(Refusal::ParentClosed { parent: above.id, status }.into());
                }
                // The parent would need this task: does this task need the parent already?
                self.refuse_cycle(key, parent_key)?;
                Some(parent_key)
            }
        };
        let from = self.table.parent(key)?;
        self.table.set_parent(key, to)?;
        for family in [from, to].into_iter().flatten() {
            if self.follow_children(family)? {
                self.parents_follow(family)?;
            }
        }
        Ok(())
    }

    fn add_blocker(&mut self, key: T::Key, id: &TaskId, blocker: &TaskId) -> Result<()> {
        if blocker == id {
            return Err(Refusal::OnItself { id: id.clone() }.into());
        }
        let (blocker_key, blocking) = self.find(blocker)?;
        self.refuse_cycle(blocker_key, key)?;
        self.link(key, blocker_key, blocking.status).map(drop)
    }

    /// Links a blocker and counts it. `false` when it was linked already.
    pub(super) fn link(&mut self, key: T::Key, blocker: T::Key, status: Status) -> Result<bool> {
        let is_new = self.table.link(key, blocker)?;
        if is_new && !satisfies(status) {
            self.table.count_blockers(key, 1)?;
        }
        Ok(is_new)
    }

    pub(super) fn drop_blocker(&mut self, key: T::Key, blocker: &TaskId) -> Result<bool> {
        let (blocker_key, blocking) = self.find(blocker)?;
        let was_linked = self.table.unlink(key, blocker_key)?;
        if was_linked && !satisfies(blocking.status) {
            self.table.count_blockers(key, -1)?;
        }
        Ok(was_linked)
    }

    /// Refuses the edge "`to` needs `from`" when `from` needs `to` already.
    fn refuse_cycle(&mut self, from: T::Key, to: T::Key) -> Result<()> {
        let Some(path) = path_between(from, &to, |key| self.table.needs(*key))? else {
            return Ok(());
        };
        let mut ids = Vec::with_capacity(path.len() + 1);
        ids.push(self.table.load(to)?.id);
        for key in path {
            ids.push(self.table.load(key)?.id);
        }
        Err(Refusal::Cycle { path: ids }.into())
    }

    pub(super) fn block(&mut self, id: &TaskId, blocker: &TaskId) -> Result<()> {
        let (key, task) = self.find(id)?;
        if matches!(task.status, Status::Done | Status::Deleted) {
            return Err(Refusal::BlockClosed { id: task.id, status: task.status }.into());
        }
        if task.deps.contains(blocker) {
            return Ok(());
        }
        self.add_blocker(key, &task.id, blocker)?;
        self.log(key, LogKind::Blocked, blocker.as_str())
    }

    pub(super) fn unblock(&mut self, id: &TaskId, blocker: &TaskId) -> Result<()> {
        let (key, task) = self.find(id)?;
        if !self.drop_blocker(key, blocker)? {
            return Err(Refusal::NotBlockedBy { id: task.id, by: blocker.clone() }.into());
        }
        self.log(key, LogKind::Unblocked, blocker.as_str())
    }

    pub(super) fn delete(&mut self, which: DeleteWhich) -> Result<Vec<TaskId>> {
        let tasks = match which {
            DeleteWhich::Ids(ids) => {
                let mut tasks = Vec::with_capacity(ids.len());
                for id in &ids {
                    let (_, task) = self.find(id)?;
                    if task.status != Status::Deleted && !tasks.contains(&task) {
                        self.may_become(&task, Status::Deleted)?;
                        tasks.push(task);
                    }
                }
                tasks
            }
            DeleteWhich::Matching(filter) => self.table.list(&filter)?,
        };
        self.delete_tasks(tasks)
    }

    /// Deletes what may be deleted; parents follow when all of it is gone.
    pub(super) fn delete_tasks(&mut self, tasks: Vec<Task>) -> Result<Vec<TaskId>> {
        let tasks: Vec<Task> =
            tasks.into_iter().filter(|task| task.status.allows(Status::Deleted)).collect();
        let chosen: HashSet<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
        let mut keys = Vec::with_capacity(tasks.len());
        for task in &tasks {
            let key = super::known(self.table, &task.id)?;
            if task.neighbors.children > 0 {
                let mut left = self.parts(key, |status| status != Status::Done)?;
                left.retain(|id| !chosen.contains(id));
                if !left.is_empty() {
                    let id = task.id.clone();
                    return Err(Refusal::HasUnfinishedParts { id, children: left }.into());
                }
            }
            keys.push(key);
        }
        for (key, task) in keys.iter().zip(&tasks) {
            self.remove(*key, task, "")?;
        }
        for (key, task) in keys.iter().zip(&tasks) {
            if task.parent.is_some() {
                self.parents_follow(*key)?;
            }
        }
        Ok(tasks.into_iter().map(|task| task.id).collect())
    }

    /// Deletes one task, without its parents.
    pub(super) fn remove(&mut self, key: T::Key, task: &Task, why: &str) -> Result<()> {
        self.table.set_state(key, task.status, &State::moved(task, Status::Deleted), self.now)?;
        self.withdraw_questions(key)?;
        self.log(key, LogKind::Deleted, why)
    }
}

/// Sets the plain fields of a patch and names those that changed. Deps and parent are edges, which
/// the table keeps.
pub(super) fn apply_fields(task: &mut Task, patch: &TaskPatch) -> Vec<&'static str> {
    fn set<V: Clone + PartialEq>(
        name: &'static str,
        to: &Option<V>,
        field: &mut V,
        changed: &mut Vec<&'static str>,
    ) {
        if let Some(value) = to
            && value != field
        {
            field.clone_from(value);
            changed.push(name);
        }
    }
    let mut changed = Vec::new();
    set("title", &patch.title, &mut task.title, &mut changed);
    set("description", &patch.description, &mut task.description, &mut changed);
    set("priority", &patch.priority, &mut task.priority, &mut changed);
    set("category", &patch.category, &mut task.category, &mut changed);
    set("spec", &patch.spec, &mut task.spec, &mut changed);
    set("ref", &patch.reference, &mut task.reference, &mut changed);
    set("feature", &patch.feature, &mut task.feature, &mut changed);
    set("branch", &patch.branch, &mut task.branch, &mut changed);
    set("touches", &patch.touches, &mut task.touches, &mut changed);
    set("steps", &patch.steps, &mut task.steps, &mut changed);
    changed
}

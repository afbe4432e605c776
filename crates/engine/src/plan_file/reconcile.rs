//! Brings the tasks of a plan file into the store, and outcomes that only the store knows into the file.
//!
//! It compares the file with what it said at the last read. An item stays its task when it is reworded or moved; a
//! new item is a new task; a removed one leaves the plan, unless a session may have removed it: then it waits for
//! the user. A new tick or other mark is the user's word, unless a session was interrupted in between: then nothing
//! has judged it, and ralph reverts it. A done task stays done; if the user unticks it, its item is a new task.

use std::collections::HashMap;

use ralph_core::plan::markdown::{
    self, Edit, ItemState, Known, Mark, PlanDoc, PlanKind, apply, identify,
};
use ralph_core::plan::{Done, PlanTask};
use ralph_core::task::{Actor, Status, Task, TaskPatch};
use ralph_core::text::Title;
use ralph_core::{TaskId, Timestamp};

use super::marks::{self, Undone, hold_one, unless_refused};
use super::memory::Snapshot;
use super::removed_items::{self, RemovedItem, is_undecided};
use super::replace::{Replaced, create, replace};
use super::{PlanFile, PlanFileError, Read, TRIES};
use crate::entropy::Ids;
use crate::ports::{DeleteWhich, Filter, Store, StoreError, SyncMode};

#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    #[error(transparent)]
    File(#[from] PlanFileError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("ralph could not make an id: {0}")]
    Id(#[from] ralph_core::ids::IdError),
}

/// A plan file and the store, synchronized.
#[derive(Debug, Clone)]
pub struct SyncedPlan {
    pub plan: Snapshot,
    pub tasks: HashMap<TaskId, Task>,
    /// The titles of items whose ticks or other marks ralph reverted, because nothing has judged them.
    pub taken_back: Vec<String>,
}

impl SyncedPlan {
    /// The tasks that could be worked on, in the order of the file.
    pub fn open(&self) -> impl Iterator<Item = (usize, &Task)> {
        let (parents, standings) = (self.plan.doc.parents(), self.plan.doc.standings());
        self.plan.ids.iter().enumerate().filter_map(move |(index, id)| {
            let task = self.tasks.get(id)?;
            let open = standings[index] == ItemState::Open && !parents[index] && task.is_ready();
            open.then_some((index, task))
        })
    }

    pub fn next(&self) -> Option<usize> {
        let (parents, standings) = (self.plan.doc.parents(), self.plan.doc.standings());
        (0..parents.len()).find(|index| standings[*index] == ItemState::Open && !parents[*index])
    }

    /// The tasks that wait for the user, each with its place in the file.
    pub fn waiting(&self, file: &str) -> Vec<String> {
        let parents = self.plan.doc.parents();
        let is_waiting =
            |id: &TaskId| self.tasks.get(id).is_some_and(|task| task.status == Status::Waiting);
        let items = self.plan.doc.items.iter().zip(&self.plan.ids).enumerate();
        let items = items.filter(|(index, (item, id))| {
            is_waiting(id) || (parents[*index] && matches!(item.mark, Mark::Waits(_)))
        });
        let marked = items.map(|(_, (item, id))| match item.mark {
            Mark::Waits(mark) => format!("\"{}\" ([{mark}] in {file}:{})", item.title, item.line),
            _ => format!("\"{}\" ({id})", item.title),
        });
        let left = self.plan.left.iter().filter_map(|left| self.tasks.get(&left.id));
        let left =
            left.map(|task| format!("\"{}\" ({}, removed from {file})", task.title, task.id));
        marked.chain(left).collect()
    }

    pub fn why_no_plan(&self, file: &str) -> Option<String> {
        self.is_no_plan().then(|| why_no_tasks(file, &self.plan.text, &self.plan.doc))
    }

    /// There is nothing to work on and never was.
    pub fn is_no_plan(&self) -> bool {
        has_no_tasks(&self.plan.text, &self.plan.doc)
    }
}

pub fn has_no_tasks(text: &str, doc: &PlanDoc) -> bool {
    let is_dropped = |found: &ItemState| *found == ItemState::Dropped;
    if !doc.items.is_empty() {
        return doc.standings().iter().all(is_dropped);
    }
    match doc.kind {
        // Without a box it is a text that the agent works on as a whole.
        PlanKind::Checklist => text.trim_start_matches('\u{feff}').trim().is_empty(),
        PlanKind::Progress | PlanKind::Branches => true,
    }
}

impl PlanFile {
    /// Synchronizes file and store; `None` when there is no file. Changes to the file by an interrupted session
    /// are not trusted.
    pub fn reconcile(
        &self,
        store: &mut dyn Store,
        ids: &mut Ids,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Option<SyncedPlan>, ReconcileError> {
        let _turn = self.turn();
        let mut taken_back = Vec::new();
        for _ in 0..TRIES {
            let Some(read) = self.read_in_peace()? else { return Ok(None) };
            let before = self.remembered();
            if let Some((last, cut_off)) = &before {
                let tasks = tasks_of(self, store)?;
                let edits = match cut_off {
                    true => {
                        let marked = last.marked_in(&read.doc, &last.ids_in(&read.doc));
                        for id in &marked {
                            let reason = marks::reason(id, "by an interrupted session");
                            hold_one(store, id, &reason, by, now)?;
                        }
                        let undone = unjudged(last, &read, &tasks);
                        taken_back.extend(undone.ticks);
                        taken_back.extend(undone.marks.into_iter().map(|(title, _)| title));
                        undone.edits
                    }
                    false => marks::cleared(&read, last, &tasks),
                };
                if !edits.is_empty() {
                    let changed = applied(self, &read.text, &edits)?;
                    self.replace(&read.text, &changed.text)?;
                    continue;
                }
            }
            let mut reconciliation = Reconciliation::new(self, read, before, store, ids)?;
            if let Some(wanted) = reconciliation.wanted_back() {
                // After rereading, the lines are items like any other.
                self.put_lines_back(&reconciliation.read, &wanted)?;
                continue;
            }
            if reconciliation.cut_off.is_some() {
                reconciliation.hold_what_left(store, by, now)?;
            }
            reconciliation.update_store(store, by, now)?;
            reconciliation.follow_marks(store, by, now)?;
            let Some(synced) = reconciliation.write_back()? else { continue };
            self.remember(&synced.plan, false).map_err(|error| self.unwritable(error))?;
            let tasks = tasks_of(self, store)?;
            return Ok(Some(SyncedPlan { tasks, taken_back, ..synced }));
        }
        Err(self.keeps_changing().into())
    }

    /// Makes the file hold `new` if it still holds `old`.
    pub(super) fn replace(&self, old: &str, new: &str) -> Result<Replaced, PlanFileError> {
        if old == new {
            return Ok(Replaced::Yes);
        }
        self.refuse_links()?;
        std::fs::create_dir_all(&self.state)
            .and_then(|()| replace(&self.path, old.as_bytes(), new.as_bytes(), &self.state))
            .map_err(|error| self.unwritable(error))
    }

    /// Reverts the last write, unless the file has changed since.
    pub fn take_back(&self, written: &str, before: &str) -> Result<(), PlanFileError> {
        self.replace(written, before).map(drop)
    }

    /// Writes this text, whatever the file says now: it was removed from the worktree with other work.
    pub fn write_anew(&self, text: &str) -> Result<(), PlanFileError> {
        match self.read()? {
            Some(read) if read.text == text => Ok(()),
            Some(read) => match self.replace(&read.text, text)? {
                Replaced::Yes => Ok(()),
                Replaced::Changed => Err(self.keeps_changing()),
            },
            None => self.put_back(text),
        }
    }

    /// Recreates the removed file, unless another process has done so.
    pub(super) fn put_back(&self, text: &str) -> Result<(), PlanFileError> {
        self.refuse_links()?;
        std::fs::create_dir_all(&self.state)
            .and_then(|()| create(&self.path, text.as_bytes(), &self.state))
            .map_err(|error| self.unwritable(error))
    }

    /// Removes half-written files of a killed run. Only for the run that holds the worktree.
    pub fn sweep(&self) {
        let entries = std::fs::read_dir(&self.state).into_iter().flatten().flatten();
        for entry in entries.filter(|e| !e.file_name().as_encoded_bytes().ends_with(b".json")) {
            // A leftover file is harmless.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

pub(super) fn tasks_of(
    plan: &PlanFile,
    store: &mut dyn Store,
) -> Result<HashMap<TaskId, Task>, StoreError> {
    let reference = Some(plan.key());
    let all = store.list(&Filter { reference, deleted_too: true, ..Filter::default() })?;
    Ok(all.into_iter().map(|task| (task.id.clone(), task)).collect())
}

/// The marks that an interrupted session set: nothing has judged them. Items that it added are open.
fn unjudged(last: &Snapshot, read: &Read, tasks: &HashMap<TaskId, Task>) -> Undone {
    let ids = last.ids_in(&read.doc);
    let is_done = |id: &TaskId| tasks.get(id).is_some_and(|task| task.status == Status::Done);
    let mut undone = last.undo(&read.doc, &ids, is_done);
    for (index, _) in ids.iter().enumerate().filter(|(_, id)| id.is_none()) {
        if let Some(edit) = read.doc.set_done(index, false) {
            undone.edits.push(edit);
            undone.ticks.push(read.doc.items[index].title.clone());
        }
    }
    undone
}

pub fn why_no_tasks(file: &str, text: &str, doc: &PlanDoc) -> String {
    let blank = text.trim_start_matches('\u{feff}').trim().is_empty();
    let boxes = markdown::read(PlanKind::Checklist, text).map_or(0, |all| all.items.len());
    let elsewhere = match boxes {
        0 => String::new(),
        1 => "; its only checkbox is elsewhere".to_owned(),
        many => format!("; its {many} checkboxes are elsewhere"),
    };
    match doc.kind {
        _ if blank => format!("{file} is empty"),
        _ if !doc.items.is_empty() => format!("every task in {file} is dropped ([-])"),
        PlanKind::Progress => {
            format!("{file} has no checkbox (`- [ ] task`) below `## Tasks`{elsewhere}")
        }
        PlanKind::Branches => {
            format!("{file} has no checkbox (`- [ ] task`) below a `## Branch:` heading{elsewhere}")
        }
        PlanKind::Checklist => format!("{file} has no tasks"),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Open,
    Done,
    /// Done, and not ticked.
    Tick,
    Waits,
    Dropped,
}

struct Reconciliation<'a> {
    plan: &'a PlanFile,
    read: Read,
    ids: Vec<TaskId>,
    items: Vec<Item>,
    /// Tasks that the file has no longer.
    gone: Vec<TaskId>,
    /// Those of them that the user has to decide about.
    left: Vec<RemovedItem>,
    /// What the file said before a session that was interrupted.
    cut_off: Option<Snapshot>,
    /// Tasks that had left and are in the file again.
    back: Vec<TaskId>,
    /// Tasks that wait because of their marks, as they were at the last look.
    held: Vec<TaskId>,
    /// Neither the file nor the tasks are different from the last look.
    same: bool,
    status: Option<String>,
    tasks: HashMap<TaskId, Task>,
}

impl<'a> Reconciliation<'a> {
    fn new(
        plan: &'a PlanFile,
        read: Read,
        before: Option<(Snapshot, bool)>,
        store: &mut dyn Store,
        new_ids: &mut Ids,
    ) -> Result<Self, ReconcileError> {
        let tasks = tasks_of(plan, store)?;
        let (mut known, cut_off) = match &before {
            Some((synced, session)) => (synced.known(), *session),
            None => (known_from(&tasks), false),
        };
        let mut left = before.as_ref().map(|(synced, _)| synced.left.clone()).unwrap_or_default();
        let held = before.as_ref().map(|(synced, _)| synced.held.clone()).unwrap_or_default();
        let standings = read.doc.standings();
        left.retain(|left| is_undecided(left, &tasks));
        if let Some((synced, _)) = &before {
            let back = synced.known_left(&tasks).into_iter().filter(|known| {
                left.iter().any(|left| left.id == known.id) && !synced.ids.contains(&known.id)
            });
            known.extend(back);
        }
        let same = !cut_off
            && before.as_ref().is_some_and(|(synced, _)| {
                let mut ids = synced.ids.iter().zip(&standings);
                synced.text == read.text
                    && ids.all(|(id, at)| *at == ItemState::Dropped || tasks.contains_key(id))
            });
        let identified = identify(&known, &read.doc);
        let mut ids = Vec::with_capacity(read.doc.items.len());
        let mut items = Vec::with_capacity(read.doc.items.len());
        for (state, place) in standings.iter().zip(&identified.items) {
            store.go_on()?;
            let known = place.map(|place| &known[place]);
            let status = known.and_then(|known| tasks.get(&known.id)).map(|task| task.status);
            let was = known.is_some_and(|known| known.done);
            let mut id = known.map(|known| known.id.clone());
            items.push(match (state, was, status) {
                (ItemState::Done, _, _) => Item::Done,
                (ItemState::Dropped, _, _) => Item::Dropped,
                (_, false, Some(Status::Done)) => Item::Tick,
                (found, was, status) => {
                    if was && status == Some(Status::Done) {
                        id = None;
                    }
                    if *found == ItemState::Waits { Item::Waits } else { Item::Open }
                }
            });
            ids.push(match id {
                Some(id) => id,
                None => new_ids.task()?,
            });
        }
        let back: Vec<TaskId> = left.iter().map(|left| left.id.clone()).collect();
        let back: Vec<TaskId> = back.into_iter().filter(|id| ids.contains(id)).collect();
        left.retain(|left| !back.contains(&left.id));
        let gone = identified.gone.iter().map(|place| known[*place].id.clone());
        let mut reconciliation = Self {
            plan,
            ids,
            items,
            gone: gone.filter(|id| !left.iter().any(|left| left.id == *id)).collect(),
            left,
            back,
            held,
            cut_off: before.as_ref().filter(|_| cut_off).map(|(synced, _)| synced.clone()),
            same,
            status: before.filter(|_| cut_off && read.doc.is_done()).and_then(|(synced, _)| {
                let then = synced.doc.status_text().unwrap_or_default().to_owned();
                (!synced.doc.is_done()).then_some(then)
            }),
            read,
            tasks,
        };
        reconciliation.parents_follow(new_ids)?;
        Ok(reconciliation)
    }

    /// Tasks that had left the plan and that the user reopened by a command.
    fn wanted_back(&self) -> Option<Vec<&RemovedItem>> {
        let is_open = |left: &&RemovedItem| {
            self.tasks.get(&left.id).is_some_and(|task| task.status == Status::Pending)
        };
        let wanted: Vec<&RemovedItem> = self.left.iter().filter(is_open).collect();
        (!wanted.is_empty()).then_some(wanted)
    }

    /// What left the plan during a session that was interrupted waits from now on.
    fn hold_what_left(
        &mut self,
        store: &mut dyn Store,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some(start) = &self.cut_off else { return Ok(()) };
        let missing = start.missing_from(&self.read.doc);
        let held = removed_items::hold(store, missing, "during an interrupted session", by, now)?;
        self.gone.retain(|id| !held.iter().any(|left| left.id == *id));
        self.left.extend(held);
        Ok(())
    }

    /// A parent is done with its parts, whatever its own checkbox says.
    fn parents_follow(&mut self, new_ids: &mut Ids) -> Result<(), ReconcileError> {
        let parents = self.read.doc.parents();
        let mut open = vec![false; self.items.len()];
        for index in (0..self.items.len()).rev() {
            let is_open = match parents[index] {
                true => open[index],
                false => matches!(self.items[index], Item::Open | Item::Waits),
            };
            let is_own = matches!(self.items[index], Item::Waits | Item::Dropped);
            let is_open = is_open || self.items[index] == Item::Waits;
            if parents[index] && !is_own {
                self.items[index] = match (is_open, self.read.doc.items[index].is_done()) {
                    (true, _) => Item::Open,
                    (false, true) => Item::Done,
                    (false, false) => Item::Tick,
                };
                let task = self.tasks.get(&self.ids[index]);
                if is_open && task.is_some_and(|task| task.status == Status::Done) {
                    self.ids[index] = new_ids.task()?;
                }
            }
            if let Some(parent) = self.read.doc.items[index].parent.filter(|_| is_open) {
                open[parent] = true;
            }
        }
        Ok(())
    }

    fn update_store(
        &self,
        store: &mut dyn Store,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), ReconcileError> {
        if !self.same {
            let wanted = (0..self.ids.len()).filter(|index| self.items[*index] != Item::Dropped);
            let tasks: Vec<PlanTask> = wanted.map(|index| self.task(index)).collect();
            store.sync(&tasks, SyncMode::Add, by, now)?;
        }
        for id in &self.back {
            // Ticked, it is done already.
            unless_refused(store.reset(id, by, now))?;
        }
        let dropped = self.ids.iter().zip(&self.items).filter(|(_, item)| **item == Item::Dropped);
        let gone: Vec<TaskId> = self
            .gone
            .iter()
            .chain(dropped.map(|(id, _)| id))
            .filter(|id| {
                let status = self.tasks.get(*id).map(|task| task.status);
                status.is_some_and(|status| status.allows(Status::Deleted))
            })
            .cloned()
            .collect();
        if !gone.is_empty() {
            // Where the user has added parts, they stay.
            unless_refused(store.delete(DeleteWhich::Ids(gone), by, now))?;
        }
        Ok(())
    }

    /// Makes tasks wait whose marks say so, and releases those whose marks no longer do.
    fn follow_marks(
        &mut self,
        store: &mut dyn Store,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let parents = self.read.doc.parents();
        let mut held = Vec::new();
        for (index, id) in self.ids.iter().enumerate().filter(|(index, _)| !parents[*index]) {
            let was = self.held.contains(id);
            match self.items[index] {
                Item::Waits => {
                    let name = &self.plan.name;
                    let line = self.read.doc.items[index].line;
                    let reason = format!("marked as waiting for you in {name}:{line}");
                    if was || hold_one(store, id, &reason, by, now)? {
                        held.push(id.clone());
                    }
                }
                Item::Open if was => drop(unless_refused(store.reset(id, by, now))?),
                _ => {}
            }
        }
        self.held = held;
        Ok(())
    }

    fn task(&self, index: usize) -> PlanTask {
        let doc = &self.read.doc;
        let item = &doc.items[index];
        let group = doc.group_of(index);
        let is_branch = doc.kind == PlanKind::Branches;
        let words = group.map(|group| group.title.clone());
        let (deps, _) = doc.dependencies(index);
        let is_kept = |other: &usize| self.items[*other] != Item::Dropped;
        let fields = TaskPatch {
            description: Some(item.body.clone()),
            category: Some(words.clone().filter(|_| !is_branch)),
            spec: Some(item.spec.clone()),
            reference: Some(Some(self.plan.key())),
            parent: Some(item.parent.filter(is_kept).map(|parent| self.ids[parent].clone())),
            branch: Some(words.filter(|_| is_branch)),
            touches: Some(group.map(|group| group.touches.clone()).unwrap_or_default()),
            deps: Some(deps.into_iter().filter(is_kept).map(|dep| self.ids[dep].clone()).collect()),
            ..TaskPatch::default()
        };
        let done = matches!(self.items[index], Item::Done | Item::Tick);
        PlanTask {
            line: item.line,
            id: self.ids[index].clone(),
            title: title(&item.title),
            fields,
            done: done.then_some(Done { at: None }),
            // What its mark says is followed once the task is there.
            waits: None,
        }
    }

    /// Writes what the file lacks; `None` when it changed meanwhile.
    fn write_back(self) -> Result<Option<SyncedPlan>, ReconcileError> {
        let Self { plan, read: Read { text, doc }, ids, items, left, held, status, .. } = self;
        let ticks = items.iter().enumerate().filter(|(_, item)| **item == Item::Tick);
        let mut edits: Vec<Edit> =
            ticks.filter_map(|(index, _)| doc.set_done(index, true)).collect();
        if let Some(status) = status {
            edits.extend(doc.set_status(&text, &status));
        }
        let read = match edits.is_empty() {
            true => Read { text, doc },
            false => {
                let changed = applied(plan, &text, &edits)?;
                match plan.replace(&text, &changed.text)? {
                    Replaced::Yes => changed,
                    Replaced::Changed => return Ok(None),
                }
            }
        };
        let plan = Snapshot { text: read.text, doc: read.doc, ids, left, held };
        Ok(Some(SyncedPlan { plan, tasks: HashMap::new(), taken_back: vec![] }))
    }
}

pub(super) fn applied(plan: &PlanFile, text: &str, edits: &[Edit]) -> Result<Read, PlanFileError> {
    let failed = |error| plan.unwritable(std::io::Error::other(error));
    plan.parse(apply(text, edits).map_err(failed)?)
}

fn title(text: &str) -> Title {
    let unnamed = || Title::new("task").ok();
    #[expect(clippy::expect_used, reason = "a constant that is a title")]
    Title::new(text).ok().or_else(unnamed).expect("task is a title")
}

/// What is known of a plan whose last look was lost.
fn known_from(tasks: &HashMap<TaskId, Task>) -> Vec<Known> {
    let mut all: Vec<&Task> =
        tasks.values().filter(|task| task.status != Status::Deleted).collect();
    all.sort_by_key(|task| task.order);
    all.into_iter().map(known_as).collect()
}

/// A task of the store as an item of a plan.
pub(super) fn known_as(task: &Task) -> Known {
    Known {
        id: task.id.clone(),
        title: task.title.to_string(),
        body: task.description.clone(),
        group: task.category.clone().or_else(|| task.branch.clone()),
        // Unknown: ralph rather restores a missing tick than forgets a done task.
        done: false,
    }
}

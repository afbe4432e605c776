//! Marks other than a tick: tasks that the user has put on hold or dropped, and marks that a session set.
//!
//! Between sessions a mark is the user's word: the task waits in the store until the mark is gone, or until
//! `ralph retry` clears it. During a session it is a request: ralph reverts the mark in the file, and the task waits
//! for the user.

use std::collections::HashMap;

use ralph_core::plan::markdown::{Edit, ItemState, Mark, PlanDoc, identify};
use ralph_core::task::{Actor, Status, Task};
use ralph_core::{TaskId, Timestamp};

use super::Read;
use super::memory::Snapshot;
use crate::ports::{Store, StoreError};

/// Whether a session may not make this change of a mark by itself. Marking work as started changes nothing, and
/// an unticked task is open again.
pub(super) fn is_request(then: Mark, now: Mark) -> bool {
    then != now && !(now.is_open() && (then.is_open() || then == Mark::Done))
}

fn former(then: Mark) -> Mark {
    if then.is_open() { Mark::Open } else { then }
}

/// The marks of a file that a session changed and that nothing has judged.
#[derive(Debug, Default)]
pub(super) struct Undone {
    pub(super) edits: Vec<Edit>,
    /// The titles of items whose ticks are reverted.
    pub(super) ticks: Vec<String>,
    /// The titles of items whose other marks are reverted, each with its mark.
    pub(super) marks: Vec<(String, Mark)>,
}

impl Snapshot {
    fn places(&self) -> HashMap<&TaskId, usize> {
        self.ids.iter().enumerate().map(|(place, id)| (id, place)).collect()
    }

    /// What a session changed in `doc`, whose items are `ids`: all marks but the ticks that are `kept`, and
    /// those of parents, which follow their parts.
    pub(super) fn undo(
        &self,
        doc: &PlanDoc,
        ids: &[Option<&TaskId>],
        kept: impl Fn(&TaskId) -> bool,
    ) -> Undone {
        let (parents, places) = (doc.parents(), self.places());
        let mut undone = Undone::default();
        for (index, item) in doc.items.iter().enumerate() {
            let Some(id) = ids[index] else { continue };
            let then = places.get(id).map(|place| self.doc.items[*place].mark);
            let Some(then) = then.filter(|then| is_request(*then, item.mark)) else { continue };
            match item.mark {
                Mark::Done if kept(id) || parents[index] => continue,
                Mark::Done => undone.ticks.push(item.title.clone()),
                mark => undone.marks.push((item.title.clone(), mark)),
            }
            undone.edits.extend(doc.set_mark(index, former(then)));
        }
        undone
    }

    /// The open tasks that a session marked as dropped or waiting, by their own marks or by those of what
    /// they are a part of.
    pub(super) fn marked_in(&self, doc: &PlanDoc, ids: &[Option<&TaskId>]) -> Vec<TaskId> {
        let (then, now, parents) = (self.doc.standings(), doc.standings(), doc.parents());
        let places = self.places();
        let was_open =
            |id: &TaskId| places.get(id).is_some_and(|place| then[*place] == ItemState::Open);
        let marked = ids.iter().enumerate().filter(|(index, _)| {
            matches!(now[*index], ItemState::Dropped | ItemState::Waits) && !parents[*index]
        });
        marked.filter_map(|(_, id)| id.filter(|id| was_open(id)).cloned()).collect()
    }

    /// The task that each item of a later text is, as far as it was there.
    pub(super) fn ids_in<'s>(&'s self, doc: &PlanDoc) -> Vec<Option<&'s TaskId>> {
        let identified = identify(&self.known(), doc);
        identified.items.iter().map(|place| place.map(|place| &self.ids[place])).collect()
    }
}

/// Edits that clear the marks of waiting tasks that the user released by command.
pub(super) fn cleared(read: &Read, before: &Snapshot, tasks: &HashMap<TaskId, Task>) -> Vec<Edit> {
    let ids = before.ids_in(&read.doc);
    let is_wanted = |id: &TaskId| {
        before.held.contains(id) && tasks.get(id).is_some_and(|task| task.status == Status::Pending)
    };
    let waits = |index: usize| matches!(read.doc.items[index].mark, Mark::Waits(_));
    (0..ids.len())
        .filter(|index| waits(*index) && ids[*index].is_some_and(is_wanted))
        .filter_map(|index| read.doc.set_mark(index, Mark::Open))
        .collect()
}

/// Makes a task wait, with the reason; `false` when it cannot: it is done or claimed.
pub(super) fn hold_one(
    store: &mut dyn Store,
    id: &TaskId,
    reason: &str,
    by: &Actor,
    now: Timestamp,
) -> Result<bool, StoreError> {
    match unless_refused(store.hold(id, by, now))? {
        Some(()) => store.note(id, reason, by, now).map(|()| true),
        None => Ok(false),
    }
}

/// `None` where the rules do not allow it.
pub(super) fn unless_refused<T>(done: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match done {
        Err(StoreError::Refused(_)) => Ok(None),
        done => done.map(Some),
    }
}

pub(super) fn reason(id: &TaskId, when: &str) -> String {
    format!("was marked as blocked or dropped {when}; to work on it again: ralph retry {id}")
}

//! Tasks that disappeared from the plan while a session ran.
//!
//! The agent may have removed them so that the plan looks done, or you because they are no longer wanted: the file
//! does not tell. So ralph leaves the file as it is, and the task waits for you in the store: `ralph task delete`
//! confirms, `ralph task reset` restores its lines.

use std::collections::HashMap;

use ralph_core::plan::markdown::{Edit, ItemState, Known, PlanDoc, identify};
use ralph_core::task::{Actor, Status, Task};
use ralph_core::{TaskId, Timestamp};
use serde::{Deserialize, Serialize};

use super::marks::{self, hold_one};
use super::memory::Snapshot;
use super::reconcile::{applied, known_as};
use super::{PlanFile, PlanFileError, Read, ReconcileError};
use crate::ports::{Store, StoreError};

/// A task that left the plan, and the lines that it stood on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedItem {
    pub id: TaskId,
    pub lines: String,
}

impl Snapshot {
    /// The open items without parts that are not in this plan any more.
    pub(super) fn missing_from(&self, doc: &PlanDoc) -> Vec<RemovedItem> {
        let (parents, standings) = (self.doc.parents(), self.doc.standings());
        let gone = identify(&self.known(), doc).gone;
        let open = gone.into_iter().filter(|at| standings[*at] == ItemState::Open && !parents[*at]);
        open.filter_map(|at| {
            let lines = self.text.get(self.doc.items[at].span.clone())?.trim_end().to_owned();
            Some(RemovedItem { id: self.ids[at].clone(), lines })
        })
        .collect()
    }

    /// Tasks that left the plan as they would be known if they were in it.
    pub(super) fn known_left(&self, tasks: &HashMap<TaskId, Task>) -> Vec<Known> {
        self.left.iter().filter_map(|left| tasks.get(&left.id)).map(known_as).collect()
    }
}

/// Whether a task that left the plan still is the user's to decide.
pub(super) fn is_undecided(left: &RemovedItem, tasks: &HashMap<TaskId, Task>) -> bool {
    let status = tasks.get(&left.id).map(|task| task.status);
    matches!(status, Some(Status::Waiting | Status::Pending | Status::InProgress))
}

/// Makes these tasks wait, with the reason. Tasks that cannot wait are done or claimed: they are left out.
pub(super) fn hold(
    store: &mut dyn Store,
    left: Vec<RemovedItem>,
    when: &str,
    by: &Actor,
    now: Timestamp,
) -> Result<Vec<RemovedItem>, StoreError> {
    let mut held = Vec::new();
    for left in left {
        if hold_one(store, &left.id, &reason(&left.id, when), by, now)? {
            held.push(left);
        }
    }
    Ok(held)
}

pub(super) fn reason(id: &TaskId, when: &str) -> String {
    format!(
        "was removed from the plan {when}; to delete it: ralph task delete {id}, to restore it: \
         ralph task reset {id}"
    )
}

impl PlanFile {
    /// The session is over: tasks that disappeared from the plan meanwhile wait from now on. Returns them, and
    /// a sentence for each.
    pub fn hold_what_left(
        &self,
        start: &Snapshot,
        done: &[&TaskId],
        store: &mut dyn Store,
        (iteration, by, now): (u32, &Actor, Timestamp),
    ) -> Result<(Vec<RemovedItem>, Vec<String>), ReconcileError> {
        // An unreadable file says nothing about its tasks.
        let Ok(Some(read)) = self.read() else { return Ok((vec![], vec![])) };
        let missing = start.missing_from(&read.doc);
        let missing = missing.into_iter().filter(|left| !done.contains(&&left.id)).collect();
        let when = format!("during iteration {iteration}");
        let held = hold(store, missing, &when, by, now)?;
        let reported = held
            .iter()
            .map(|left| format!("\"{}\" {}", start.title_of(&left.id), reason(&left.id, &when)));
        let reported = reported.collect();
        Ok((held, reported))
    }

    /// The session is over: open tasks that it marked as dropped or waiting wait from now on. Returns a
    /// sentence for each.
    pub fn hold_marked(
        &self,
        start: &Snapshot,
        marked: &[TaskId],
        store: &mut dyn Store,
        (iteration, by, now): (u32, &Actor, Timestamp),
    ) -> Result<Vec<String>, ReconcileError> {
        let mut reported = Vec::new();
        for id in marked {
            let why = marks::reason(id, &format!("during iteration {iteration}"));
            if hold_one(store, id, &why, by, now)? {
                reported.push(format!("\"{}\" {why}", start.title_of(id)));
            }
        }
        Ok(reported)
    }

    /// Restores the lines of these tasks: after the last item, or at the end. Nothing happens when the file changed
    /// meanwhile.
    pub(super) fn put_lines_back(
        &self,
        read: &Read,
        left: &[&RemovedItem],
    ) -> Result<(), PlanFileError> {
        let last = read.doc.items.last().map(|item| {
            let end = item.span.end.min(read.text.len());
            read.text[..end].trim_end().len()
        });
        let at = last.unwrap_or_else(|| read.text.trim_end().len());
        let text: String = left.iter().map(|left| format!("\n{}", left.lines)).collect();
        let changed = applied(self, &read.text, &[Edit { range: at..at, text }])?;
        self.replace(&read.text, &changed.text).map(drop)
    }
}

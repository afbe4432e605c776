//! Which tasks have finished work that waits for the user, for every command that lists them.

use ralph_core::run::awaits_approval;
use ralph_core::task::{Status, StatusFilter, Task};
use ralph_engine::ports::{Filter, Store};

use crate::error::Result;

/// The tasks whose finished work waits for approval.
pub(crate) fn awaiting(store: &mut dyn Store) -> Result<Vec<Task>> {
    let filter =
        Filter { statuses: vec![StatusFilter::Stored(Status::Waiting)], ..Filter::default() };
    let mut found = Vec::new();
    for task in store.list(&filter)? {
        if is_awaited(store, &task)? {
            found.push(task);
        }
    }
    Ok(found)
}

/// Whether the finished work of a task waits for approval.
pub(crate) fn is_awaited(store: &mut dyn Store, task: &Task) -> Result<bool> {
    Ok(awaits_approval(task, &store.attempts(&task.id)?, &store.log(&task.id)?))
}

//! Tasks that the loop will not retry by itself: they failed or wait for the user, in this run or in an earlier one.
//! The outcome names them, so that no run reports an unfinished plan as done.

use ralph_core::records::LogKind;
use ralph_core::run::{LeftTask, Survey, awaits_approval};
use ralph_core::task::{Status, StatusFilter, Task};

use super::ports::{Failed, Ports};
use crate::ports::{Filter, Scope, Store, StoreError};

/// The most tasks that are named.
const MOST: usize = 20;

impl Ports {
    /// The survey with the tasks that failed or wait.
    pub(super) fn with_left(&self, survey: Survey) -> Result<Survey, Failed> {
        if survey.counts.failed + survey.counts.waiting == 0 {
            return Ok(survey);
        }
        let Some(scope) = self.plan.scope(&self.setup) else { return Ok(survey) };
        let left = left(self.store().as_mut(), &scope)?;
        Ok(Survey { left, ..survey })
    }
}

fn left(store: &mut dyn Store, scope: &Scope) -> Result<Vec<LeftTask>, StoreError> {
    let filter = Filter {
        statuses: vec![StatusFilter::Stored(Status::Failed), StatusFilter::Stored(Status::Waiting)],
        ..Filter::of(scope)
    };
    let tasks = store.list(&filter)?;
    let of_scope = |task: &Task| match scope {
        Scope::Task(id) => task.id == *id,
        _ => true,
    };
    // A parent fails with its parts, which say why.
    let leaves = tasks.iter().filter(|task| task.neighbors.children == 0 && of_scope(task));
    leaves
        .take(MOST)
        .map(|task| {
            Ok(LeftTask {
                id: task.id.clone(),
                title: task.title.to_string(),
                status: task.status,
                reason: reason(store, task)?,
                approval: awaits_approval(task, &store.attempts(&task.id)?, &store.log(&task.id)?),
            })
        })
        .collect()
}

/// Why it failed or waits, as recorded with that decision.
fn reason(store: &mut dyn Store, task: &Task) -> Result<String, StoreError> {
    if let (Status::Failed, Some(reason)) = (task.status, &task.reason) {
        return Ok(reason.clone());
    }
    let log = store.log(&task.id)?;
    // A task that waits without a question has its reason in the note before.
    let said = log.iter().rev().filter(|entry| !entry.text.is_empty());
    let reported = said.into_iter().find(|entry| {
        matches!(entry.kind, LogKind::Note | LogKind::Failed | LogKind::Retry | LogKind::Asked)
    });
    Ok(match reported {
        Some(entry) if entry.kind == LogKind::Asked => {
            format!("{} (answer with: ralph answer)", entry.text.trim())
        }
        Some(entry) => entry.text.clone(),
        None => String::new(),
    })
}

//! What the records of a task say about its next attempt: how often it was returned, how it failed, what it cost, and
//! whether its last attempt left finished work.

use super::class::{CLASSES, Class, Row};
use super::report::{FinishedWork, SIGNAL, SameFailure, TaskBrief, Unsignaled};
use super::verifier::VERIFIER;
use crate::ids::AttemptId;
use crate::records::{Attempt, AttemptEnd, Evidence, LogEntry, LogKind, Verdict};
use crate::task::Task;
use crate::time::Timestamp;

impl TaskBrief {
    /// What the loop needs to know of a task that it holds. Attempts, log and evidence are those of the task, in order.
    pub fn new(
        task: &Task,
        attempt: AttemptId,
        attempts: &[Attempt],
        log: &[LogEntry],
        evidence: &[Evidence],
    ) -> Self {
        let last = |kinds: &[LogKind]| {
            log.iter().rev().find(|entry| kinds.contains(&entry.kind)).map(|entry| entry.at)
        };
        let reopened = since(last(&[LogKind::Reset]), attempts);
        let untouched = since(last(&[LogKind::Reset, LogKind::Answered]), attempts);
        Self {
            id: task.id.clone(),
            title: task.title.to_string(),
            generation: task.claim.as_ref().map_or(task.generation, |claim| claim.generation),
            retry_count: task.retry_count,
            returns: returns(untouched),
            spec: task.spec.clone(),
            attempt,
            attempt_number: u32::try_from(attempts.len()).unwrap_or(u32::MAX).saturating_add(1),
            spent_micro_usd: cost(reopened),
            failed: same_failure(untouched),
            finished: attempts.last().and_then(|last| finished(last, evidence)),
            unsignaled: unsignaled(untouched, evidence),
        }
    }
}

impl FinishedWork {
    /// The newest tree of an attempt that was judged, if every judge accepted it.
    pub fn of(attempt: &Attempt, evidence: &[Evidence]) -> Option<Self> {
        // Evidence about its signals does not judge the tree.
        let judges =
            |row: &&Evidence| row.attempt.as_ref() == Some(&attempt.id) && row.judge != SIGNAL;
        let rows: Vec<&Evidence> = evidence.iter().filter(judges).collect();
        let tree = &rows.last()?.tree;
        let mut of_tree = rows.iter().filter(|row| row.tree == *tree);
        let verified = of_tree.clone().any(|row| row.judge == VERIFIER);
        let passed =
            |verdict| matches!(verdict, Verdict::Pass | Verdict::Ungated | Verdict::Unchanged);
        of_tree.all(|row| passed(row.verdict)).then(|| Self { tree: tree.clone(), verified })
    }
}

/// What attempts cost, as far as their agents reported it.
pub fn cost(attempts: &[Attempt]) -> u64 {
    let ends = attempts.iter().filter_map(|attempt| attempt.end.as_ref());
    ends.filter_map(|end| end.cost_micro_usd).fold(0, u64::saturating_add)
}

/// The work of the last attempt, if it passed and did not land: the run ended first, or files of the user were in the
/// way.
fn finished(last: &Attempt, evidence: &[Evidence]) -> Option<FinishedWork> {
    let held_up = |end: &AttemptEnd| end.outcome == Class::Conflict.as_str();
    match &last.end {
        Some(end) if !held_up(end) => None,
        _ => FinishedWork::of(last, evidence),
    }
}

/// The row of the class that an attempt ended with.
fn row(attempt: &Attempt) -> Option<(&'static Row, &AttemptEnd)> {
    let end = attempt.end.as_ref()?;
    Some((CLASSES.iter().find(|row| row.class.as_str() == end.outcome)?, end))
}

/// The last failure, and how often in a row it was the same. What does not count says nothing.
fn same_failure(attempts: &[Attempt]) -> Option<SameFailure> {
    let ends = attempts.iter().rev().filter_map(row);
    let mut prints = ends.filter(|(row, _)| row.counts).map(|(_, end)| end.fingerprint.as_deref());
    let fingerprint = prints.next()??;
    let times = 1 + prints.take_while(|other| *other == Some(fingerprint)).count();
    let times = u32::try_from(times).unwrap_or(u32::MAX);
    Some(SameFailure { fingerprint: fingerprint.to_owned(), times })
}

/// The last attempts in a row that ended without a signal. What does not count says nothing.
fn unsignaled(attempts: &[Attempt], evidence: &[Evidence]) -> Option<Unsignaled> {
    let mut found = None;
    for attempt in attempts {
        let Some((_, end)) = row(attempt).filter(|(row, _)| row.counts) else { continue };
        let missing = evidence.iter().find(|row| {
            row.judge == SIGNAL
                && row.verdict == Verdict::Unclaimed
                && row.attempt.as_ref() == Some(&attempt.id)
        });
        found = missing
            .map(|row| Unsignaled::after(found.as_ref(), &row.tree, end.changed.count() > 0));
    }
    found
}

/// The attempts that began then or later.
fn since(from: Option<Timestamp>, attempts: &[Attempt]) -> &[Attempt] {
    let before = |attempt: &&Attempt| from.is_some_and(|from| attempt.started_at < from);
    &attempts[attempts.iter().take_while(before).count()..]
}

/// How often in a row the task was returned without progress.
fn returns(attempts: &[Attempt]) -> u32 {
    let mut count = 0;
    for (row, _) in attempts.iter().rev().filter_map(row) {
        match row.class.is_return() {
            true => count += 1,
            // What does not count says nothing: a limit, a cancellation, a run that was killed.
            false if row.counts => break,
            false => {}
        }
    }
    count
}

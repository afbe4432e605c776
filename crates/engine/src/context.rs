//! Gathers the context of an attempt from the store and from the project's files.

mod files;

use std::collections::BTreeMap;

use ralph_core::attempt::AttemptContext;
use ralph_core::attempt::context::{
    AnsweredQuestion, AssignedTask, BranchWork, EarlierAttempt, FinishedBlocker, GateFailure,
    ParentTask, RetryInfo, SignalInfo, Skill,
};
use ralph_core::records::{Attempt, Evidence, LogEntry, LogKind, Verdict};
use ralph_core::run::{CLASSES, Class, SIGNAL, messages};
use ralph_core::task::{RetryLimit, Status, Task};
use ralph_core::{TaskId, Timestamp};
use serde_json::value::RawValue;

use crate::ports::{Result, Store};

pub use files::{ContextError, FeatureTexts, SkillWarning, Skills};

/// How many finished blockers are included at most: the last ones.
const MAX_BLOCKERS: usize = 100;
/// How many answers are included at most: the last ones.
const MAX_ANSWERS: usize = 20;
/// How many earlier attempts are included at most: the last ones.
const MAX_EARLIER: usize = 5;
/// How many notes are included at most: the last ones.
const MAX_NOTES: usize = 20;

#[derive(Debug, Clone)]
pub struct Gather<'a> {
    pub task: &'a TaskId,
    pub limit: RetryLimit,
    /// The spec and the plan, as read at the start of the run.
    pub texts: &'a FeatureTexts,
    pub plan_file: Option<&'a str>,
    pub branch: Option<&'a BranchWork>,
    pub skills: &'a [Skill],
    /// The agent is to write down what it learns.
    pub learn: bool,
}

pub fn gather(store: &mut dyn Store, about: &Gather<'_>) -> Result<AttemptContext> {
    let task = store.get(about.task)?;
    let log = store.log(&task.id)?;
    let retry = RetryInfo::of(task.retry_count, about.limit, last_reason(&task, &log));
    let evidence = store.evidence(&task.id)?;
    let reason = retry.as_ref().and_then(|retry| retry.reason.as_deref());
    let failures = failures(&evidence, &log, reason);
    let attempts = store.attempts(&task.id)?;
    let earlier = earlier(&attempts, &log, reason);
    let signal = signal(&evidence, &attempts, &log);
    let retry = retry.map(|retry| retry.after(&failures, &earlier));
    let parent = match &task.parent {
        Some(parent) => Some(store.get(parent)?),
        None => None,
    };
    let (blockers, more_blockers) = blockers(store, &task)?;
    Ok(AttemptContext {
        plan_file: about.plan_file.map(str::to_owned),
        branch: about.branch.cloned(),
        parent: parent.map(|parent| ParentTask {
            title: parent.title.into(),
            description: parent.description,
        }),
        blockers,
        more_blockers,
        spec: about.texts.spec.clone(),
        plan: about.texts.plan.clone(),
        failures,
        earlier,
        retry,
        signal,
        messages: messages(&log, &attempts),
        answers: answers(store, &task.id)?,
        notes: notes(&log),
        skills: about.skills.to_vec(),
        learn: about.learn,
        task: Some(AssignedTask {
            id: task.id,
            title: task.title.into(),
            description: task.description,
            steps: task.steps,
            category: task.category,
            spec: task.spec,
            reference: task.reference,
        }),
    })
}

fn last_reason(task: &Task, log: &[LogEntry]) -> Option<String> {
    let logged = || {
        let failed = |entry: &&LogEntry| matches!(entry.kind, LogKind::Retry | LogKind::Failed);
        log.iter().rev().find(failed).map(|entry| entry.text.clone())
    };
    task.reason.clone().or_else(logged).filter(|reason| !reason.trim().is_empty())
}

/// The finished blockers, and how many of them were left out.
fn blockers(store: &mut dyn Store, task: &Task) -> Result<(Vec<FinishedBlocker>, usize)> {
    let mut done = Vec::new();
    for id in &task.deps {
        // A deleted blocker is satisfied, but nothing was done.
        let blocker = store.get(id)?;
        if blocker.status == Status::Done {
            done.push(blocker);
        }
    }
    let more = done.len().saturating_sub(MAX_BLOCKERS);
    let mut reported = Vec::new();
    for blocker in done.into_iter().skip(more) {
        let mut notes = store.log(&blocker.id)?.into_iter().rev();
        let note = notes.find(|entry| entry.kind == LogKind::Note).map(|entry| entry.text);
        let commit = match blocker.result.as_deref().and_then(commit_of) {
            Some(commit) => Some(commit),
            None => store.attempts(&blocker.id)?.into_iter().rev().find_map(|a| a.end?.commit),
        };
        reported.push(FinishedBlocker {
            id: blocker.id,
            title: blocker.title.into(),
            summary: note.unwrap_or(blocker.description),
            commit,
        });
    }
    Ok((reported, more))
}

fn commit_of(result: &str) -> Option<String> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(result).ok()?;
    serde_json::from_str(fields.get("commit")?.get()).ok()
}

fn answers(store: &mut dyn Store, task: &TaskId) -> Result<Vec<AnsweredQuestion>> {
    let mut answers: Vec<AnsweredQuestion> = store
        .questions(Some(task), false)?
        .into_iter()
        .filter_map(|question| {
            let (_, answer) = question.answer?;
            Some(AnsweredQuestion { question: question.text, answer })
        })
        .collect();
    answers.drain(..answers.len().saturating_sub(MAX_ANSWERS));
    Ok(answers)
}

/// What was red when the last tree was judged, once per judge. Nothing after a reset, and nothing
/// that the reason of the retry says already.
fn failures(evidence: &[Evidence], log: &[LogEntry], reason: Option<&str>) -> Vec<GateFailure> {
    // Whether a signal was given does not judge the tree.
    let evidence: Vec<&Evidence> = evidence.iter().filter(|row| row.judge != SIGNAL).collect();
    let Some(last) = evidence.last() else {
        return vec![];
    };
    if last_reset(log).is_some_and(|reset| reset >= last.at) {
        return vec![];
    }
    let mut failures: Vec<GateFailure> = Vec::new();
    for judged in evidence.iter().filter(|e| e.attempt == last.attempt && e.tree == last.tree) {
        failures.retain(|failure| failure.judge != judged.judge);
        if judged.verdict == Verdict::Fail {
            failures.push(GateFailure {
                judge: judged.judge.clone(),
                exit_code: judged.exit_code,
                digest: judged.digest.clone(),
            });
        }
    }
    let reason = reason.unwrap_or_default().trim();
    failures.retain(|failure| {
        let digest = failure.digest.trim();
        digest.is_empty() || !reason.ends_with(digest)
    });
    failures
}

/// What was wrong with the signals of the last session on the task. Nothing after a reset.
fn signal(evidence: &[Evidence], attempts: &[Attempt], log: &[LogEntry]) -> Option<SignalInfo> {
    let about = |attempt: &&Attempt| {
        attempt.end.as_ref().is_some_and(|end| is_about_the_task(&end.outcome))
    };
    let last = attempts.iter().rev().find(about)?;
    let found = evidence
        .iter()
        .rev()
        .find(|row| row.judge == SIGNAL && row.attempt.as_ref() == Some(&last.id))?;
    if last_reset(log).is_some_and(|reset| reset >= found.at) {
        return None;
    }
    Some(SignalInfo::of(found.verdict == Verdict::Unclaimed, &found.digest))
}

fn last_reset(log: &[LogEntry]) -> Option<Timestamp> {
    log.iter().rev().find(|entry| entry.kind == LogKind::Reset).map(|entry| entry.at)
}

/// Limits, accounts and users say nothing about the task.
fn is_about_the_task(outcome: &str) -> bool {
    let class = CLASSES.iter().map(|row| row.class).find(|class| class.as_str() == outcome);
    !class.is_some_and(|class| {
        class.is_limit()
            || class.needs_user_action()
            || matches!(class, Class::Cancelled | Class::Skipped | Class::ClaimLost)
    })
}

/// How the last sessions on the task ended, as far as that says something about the task.
fn earlier(attempts: &[Attempt], log: &[LogEntry], reason: Option<&str>) -> Vec<EarlierAttempt> {
    let reset = last_reset(log);
    let mut reported: Vec<EarlierAttempt> = attempts
        .iter()
        .zip(1..)
        .filter(|(attempt, _)| reset.is_none_or(|reset| attempt.started_at > reset))
        .filter_map(|(attempt, number)| Some((attempt.end.as_ref()?, number)))
        .filter(|(end, _)| is_about_the_task(&end.outcome))
        .map(|(end, number)| {
            let output = reason.map(str::trim) == Some(end.detail.trim());
            EarlierAttempt {
                number,
                outcome: end.outcome.clone(),
                detail: if output { String::new() } else { end.detail.clone() },
                commit: end.commit.clone(),
                changed: end.changed.clone(),
                last_message: end.last_message.clone(),
                fingerprint: end.fingerprint.clone(),
            }
        })
        .collect();
    reported.drain(..reported.len().saturating_sub(MAX_EARLIER));
    reported
}

fn notes(log: &[LogEntry]) -> Vec<String> {
    let notes = log.iter().filter(|entry| entry.kind == LogKind::Note);
    let mut notes: Vec<String> = notes.map(|entry| entry.text.clone()).collect();
    notes.drain(..notes.len().saturating_sub(MAX_NOTES));
    notes
}

#[cfg(test)]
mod tests;

//! Tasks for programs. Every key is always there, in the same order; a status is the word that lists show.

use ralph_core::records::{Attempt, Evidence, LogEntry, Question};
use ralph_core::run::NeedsMerge;
use ralph_core::task::Task;
use ralph_core::time::{Timestamp, Zone};
use ralph_core::{FeatureName, TaskId};
use serde::Serialize;
use serde_json::value::RawValue;

use super::attempts::{Sums, last_failure};
use super::chain::Chain;

#[derive(Serialize)]
struct TaskJson<'a> {
    id: &'a str,
    title: &'a str,
    description: &'a str,
    priority: i64,
    status: &'static str,
    ready: bool,
    category: Option<&'a str>,
    spec: Option<&'a str>,
    #[serde(rename = "ref")]
    reference: Option<&'a str>,
    parent: Option<&'a TaskId>,
    feature: Option<&'a str>,
    branch: Option<&'a str>,
    touches: &'a [String],
    steps: &'a [String],
    deps: &'a [TaskId],
    children: u32,
    assignee: Option<&'a str>,
    lease_expires_at: Option<Timestamp>,
    generation: u64,
    retry_count: u32,
    reason: Option<&'a str>,
    result: Option<Box<RawValue>>,
    verification_status: Option<&'a str>,
    created_at: Timestamp,
    updated_at: Timestamp,
    done_at: Option<Timestamp>,
}

impl<'a> From<&'a Task> for TaskJson<'a> {
    fn from(task: &'a Task) -> Self {
        Self {
            id: task.id.as_str(),
            title: task.title.as_str(),
            description: &task.description,
            priority: task.priority.into(),
            status: task.shown().as_str(),
            ready: task.is_ready(),
            category: task.category.as_deref(),
            spec: task.spec.as_deref(),
            reference: task.reference.as_deref(),
            parent: task.parent.as_ref(),
            feature: task.feature.as_ref().map(FeatureName::as_str),
            branch: task.branch.as_deref(),
            touches: &task.touches,
            steps: &task.steps,
            deps: &task.deps,
            children: task.neighbors.children,
            assignee: task.claim.as_ref().map(|claim| claim.agent.as_str()),
            lease_expires_at: task.claim.as_ref().map(|claim| claim.lease_expires_at),
            generation: task.generation,
            retry_count: task.retry_count,
            reason: task.reason.as_deref(),
            result: task.result.as_ref().and_then(|text| RawValue::from_string(text.clone()).ok()),
            verification_status: task.verification_status.as_deref(),
            created_at: task.created_at,
            updated_at: task.updated_at,
            done_at: task.done_at,
        }
    }
}

/// The records of a task.
#[derive(Debug, Clone, Copy)]
pub struct Details<'a> {
    pub log: &'a [LogEntry],
    pub attempts: &'a [Attempt],
    pub evidence: &'a [Evidence],
    pub questions: &'a [Question],
    pub blockers: Option<&'a [Task]>,
    pub dependents: Option<&'a [Task]>,
    /// Set when the task waits until a branch is merged.
    pub needs_merge: Option<&'a NeedsMerge>,
    /// Everything in full, not only what is newest.
    pub all: bool,
    /// The zone of the times on the page; JSON has UTC.
    pub zone: &'a Zone,
}

#[derive(Serialize)]
struct AttemptJson<'a> {
    number: usize,
    duration_ms: Option<u64>,
    #[serde(flatten)]
    attempt: &'a Attempt,
}

fn attempt_json((index, attempt): (usize, &Attempt)) -> AttemptJson<'_> {
    let end = attempt.end.as_ref();
    let duration_ms = end.map(|end| end.at.millis_since(attempt.started_at));
    AttemptJson { number: index + 1, duration_ms, attempt }
}

#[derive(Serialize)]
struct DetailsJson<'a> {
    #[serde(flatten)]
    task: TaskJson<'a>,
    log: &'a [LogEntry],
    attempts: Vec<AttemptJson<'a>>,
    totals: Sums,
    evidence: &'a [Evidence],
    last_failure: Option<&'a Evidence>,
    questions: &'a [Question],
    #[serde(skip_serializing_if = "Option::is_none")]
    blockers: Option<Vec<TaskJson<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocker_results: Option<Results<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dependents: Option<Vec<TaskJson<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_merge: Option<&'a NeedsMerge>,
}

pub fn task_json(task: &Task) -> impl Serialize {
    TaskJson::from(task)
}

/// A claimed task and what its blockers produced, by their ids.
pub fn claim_json<'a>(task: &'a Task, results: &'a [(TaskId, String)]) -> impl Serialize + 'a {
    let results = results.iter().map(|(id, text)| (id, text.as_str())).collect();
    ClaimJson { task: task.into(), blocker_results: Results(results) }
}

#[derive(Serialize)]
struct ClaimJson<'a> {
    #[serde(flatten)]
    task: TaskJson<'a>,
    blocker_results: Results<'a>,
}

/// Results by the ids of their tasks.
struct Results<'a>(Vec<(&'a TaskId, &'a str)>);

/// What these tasks produced, as far as they have a result.
pub(super) fn results_of(tasks: &[Task]) -> Vec<(&TaskId, &str)> {
    tasks.iter().filter_map(|task| Some((&task.id, task.result.as_deref()?))).collect()
}

impl Serialize for Results<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = |text: &str| RawValue::from_string(text.to_owned()).ok();
        serializer.collect_map(self.0.iter().map(|(id, text)| (id, json(text))))
    }
}

/// A chain of blockers or dependents, the nearest first: `distance` 1 is a direct one.
pub fn chain_json(chain: &Chain) -> impl Serialize + '_ {
    let link = |(distance, task): &'_ (u32, Task)| LinkJson {
        id: task.id.clone(),
        title: task.title.as_str().to_owned(),
        status: task.shown().as_str(),
        distance: *distance,
        deps: task.deps.clone(),
    };
    chain.tasks.iter().map(link).collect::<Vec<_>>()
}

#[derive(Serialize)]
struct LinkJson {
    id: TaskId,
    title: String,
    status: &'static str,
    distance: u32,
    deps: Vec<TaskId>,
}

/// What could be claimed and what is.
pub fn peek_json<'a>(claimable: &'a [Task], claimed: &'a [Task]) -> impl Serialize + 'a {
    PeekJson {
        claimable: claimable.iter().map(TaskJson::from).collect(),
        claimed: claimed.iter().map(TaskJson::from).collect(),
    }
}

#[derive(Serialize)]
struct PeekJson<'a> {
    claimable: Vec<TaskJson<'a>>,
    claimed: Vec<TaskJson<'a>>,
}

/// One task with everything about it.
pub fn details<'a>(task: &'a Task, more: Details<'a>) -> impl Serialize {
    DetailsJson {
        task: task.into(),
        log: more.log,
        attempts: more.attempts.iter().enumerate().map(attempt_json).collect(),
        totals: Sums::of(more.attempts),
        evidence: more.evidence,
        last_failure: last_failure(task, more.evidence),
        questions: more.questions,
        blockers: more.blockers.map(|tasks| tasks.iter().map(TaskJson::from).collect()),
        blocker_results: more.blockers.map(|tasks| Results(results_of(tasks))),
        dependents: more.dependents.map(|tasks| tasks.iter().map(TaskJson::from).collect()),
        needs_merge: more.needs_merge,
    }
}

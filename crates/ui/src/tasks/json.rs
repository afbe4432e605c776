//! Tasks for programs. Every key is always there, in the same order; a status is the word that lists show.

use std::collections::BTreeMap;

use ralph_core::TaskId;
use ralph_core::records::{Attempt, Evidence, LogEntry, Question};
use ralph_core::run::NeedsMerge;
use ralph_core::task::Task;
use ralph_core::time::Zone;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;

use super::attempts::{Sums, last_failure};
use super::chain::Chain;

struct TaskJson<'a>(&'a Task);

impl Serialize for TaskJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.0;
        let claim = task.claim.as_ref();
        let result = task.result.as_ref().and_then(|text| RawValue::from_string(text.clone()).ok());
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("id", &task.id)?;
        fields.serialize_entry("title", &task.title)?;
        fields.serialize_entry("description", &task.description)?;
        fields.serialize_entry("priority", &task.priority)?;
        fields.serialize_entry("status", task.shown().as_str())?;
        fields.serialize_entry("ready", &task.is_ready())?;
        fields.serialize_entry("category", &task.category)?;
        fields.serialize_entry("spec", &task.spec)?;
        fields.serialize_entry("ref", &task.reference)?;
        fields.serialize_entry("parent", &task.parent)?;
        fields.serialize_entry("feature", &task.feature)?;
        fields.serialize_entry("branch", &task.branch)?;
        fields.serialize_entry("touches", &task.touches)?;
        fields.serialize_entry("steps", &task.steps)?;
        fields.serialize_entry("deps", &task.deps)?;
        fields.serialize_entry("children", &task.neighbors.children)?;
        fields.serialize_entry("assignee", &claim.map(|claim| &claim.agent))?;
        fields.serialize_entry("lease_expires_at", &claim.map(|claim| claim.lease_expires_at))?;
        fields.serialize_entry("generation", &task.generation)?;
        fields.serialize_entry("retry_count", &task.retry_count)?;
        fields.serialize_entry("reason", &task.reason)?;
        fields.serialize_entry("result", &result)?;
        fields.serialize_entry("verification_status", &task.verification_status)?;
        fields.serialize_entry("created_at", &task.created_at)?;
        fields.serialize_entry("updated_at", &task.updated_at)?;
        fields.serialize_entry("done_at", &task.done_at)?;
        fields.end()
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
    TaskJson(task)
}

/// A claimed task and what its blockers produced, by their ids.
pub fn claim_json<'a>(task: &'a Task, results: &'a [(TaskId, String)]) -> impl Serialize + 'a {
    let results = results.iter().map(|(id, text)| (id, text.as_str())).collect();
    ClaimJson { task: TaskJson(task), blocker_results: Results(results) }
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
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = |text: &str| RawValue::from_string(text.to_owned()).ok();
        serializer.collect_map(self.0.iter().map(|(id, text)| (id, json(text))))
    }
}

/// A chain of blockers or dependents, the nearest first: `distance` 1 is a direct one.
pub fn chain_json(chain: &Chain) -> Vec<serde_json::Value> {
    let link = |(distance, task): &(u32, Task)| {
        json!({
            "id": task.id,
            "title": task.title,
            "status": task.shown().as_str(),
            "distance": distance,
            "deps": task.deps,
        })
    };
    chain.tasks.iter().map(link).collect()
}

/// What could be claimed and what is.
pub fn peek_json<'a>(claimable: &'a [Task], claimed: &'a [Task]) -> impl Serialize + 'a {
    let tasks = |tasks: &'a [Task]| tasks.iter().map(TaskJson).collect::<Vec<_>>();
    BTreeMap::from([("claimable", tasks(claimable)), ("claimed", tasks(claimed))])
}

pub fn details<'a>(task: &'a Task, more: Details<'a>) -> impl Serialize {
    DetailsJson {
        task: TaskJson(task),
        log: more.log,
        attempts: more.attempts.iter().enumerate().map(attempt_json).collect(),
        totals: Sums::of(more.attempts),
        evidence: more.evidence,
        last_failure: last_failure(task, more.evidence),
        questions: more.questions,
        blockers: more.blockers.map(|tasks| tasks.iter().map(TaskJson).collect()),
        blocker_results: more.blockers.map(|tasks| Results(results_of(tasks))),
        dependents: more.dependents.map(|tasks| tasks.iter().map(TaskJson).collect()),
        needs_merge: more.needs_merge,
    }
}

//! Converts between rows and values.

use ralph_core::task::{Claim, NeighborCounts, Priority, Task};
use ralph_core::text::Title;
use ralph_core::{AgentId, FeatureName, TaskId, Timestamp};
use rusqlite::types::Type;
use rusqlite::{Error, Row};

/// Everything about a task in one row. Ids hold no comma, so a list of them can be joined by one. The
/// blockers come in the order of the primary key; `CROSS` keeps SQLite from turning the loops round,
/// and sorting in the aggregate would cost a temporary table for each row.
pub(super) const TASK: &str = "SELECT t.seq, t.id, t.title, t.description, t.priority, t.status,
  t.category, t.spec, t.ref, p.id, t.feature, t.branch, t.touches, t.steps,
  (SELECT group_concat(b.id)
     FROM dependencies d CROSS JOIN tasks b ON b.seq = d.blocker WHERE d.task = t.seq),
  t.agent, t.generation, t.claimed_at, t.lease_expires_at, t.retry_count, t.reason, t.result,
  t.verification_status, t.open_blockers, t.children, t.failed_above, t.created_at, t.updated_at,
  t.done_at
  FROM tasks t LEFT JOIN tasks p ON p.seq = t.parent ";

/// [`TASK`] by way of an index. SQLite has no statistics here and would rather read every pending
/// task and sort them than walk the one index that has them in order.
pub(super) fn task_by(index: &str) -> String {
    TASK.replace("FROM tasks t ", &format!("FROM tasks t INDEXED BY {index} "))
}

pub(super) fn task(row: &Row<'_>) -> Result<Task, Error> {
    let agent: Option<AgentId> = optional(row, 15)?;
    let generation = row.get::<_, i64>(16)?.unsigned_abs();
    let claim = match agent {
        Some(agent) => Some(Claim {
            agent,
            generation,
            claimed_at: time(row.get(17)?),
            lease_expires_at: time(row.get(18)?),
        }),
        None => None,
    };
    Ok(Task {
        order: row.get::<_, i64>(0)?.unsigned_abs(),
        id: parsed(row, 1)?,
        title: Title::new(row.get::<_, String>(2)?).map_err(|e| strange(2, e))?,
        description: row.get(3)?,
        priority: Priority::new(row.get(4)?).map_err(|e| strange(4, e))?,
        status: parsed(row, 5)?,
        category: row.get(6)?,
        spec: row.get(7)?,
        reference: row.get(8)?,
        parent: optional(row, 9)?,
        feature: optional::<FeatureName>(row, 10)?,
        branch: row.get(11)?,
        touches: list(row, 12)?,
        steps: list(row, 13)?,
        deps: joined(row, 14)?,
        claim,
        generation,
        retry_count: row.get(19)?,
        reason: row.get(20)?,
        result: row.get(21)?,
        verification_status: row.get(22)?,
        neighbors: NeighborCounts {
            open_blockers: row.get(23)?,
            children: row.get(24)?,
            failed_above: row.get::<_, i64>(25)? > 0,
        },
        created_at: time(row.get(26)?),
        updated_at: time(row.get(27)?),
        done_at: row.get::<_, Option<i64>>(28)?.map(time),
    })
}

pub(super) const fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A list as JSON; an empty one takes no space.
pub(super) fn stored_list(list: &[String]) -> Option<String> {
    (!list.is_empty()).then(|| serde_json::Value::from(list).to_string())
}

fn list(row: &Row<'_>, index: usize) -> Result<Vec<String>, Error> {
    match row.get_ref(index)?.as_str_or_null()? {
        None => Ok(vec![]),
        Some(text) => serde_json::from_str(text).map_err(|e| strange(index, e)),
    }
}

fn joined(row: &Row<'_>, index: usize) -> Result<Vec<TaskId>, Error> {
    match row.get_ref(index)?.as_str_or_null()? {
        None => Ok(vec![]),
        Some(ids) => {
            ids.split(',').map(|id| TaskId::new(id).map_err(|e| strange(index, e))).collect()
        }
    }
}

/// A column that holds one of our words or ids.
pub(super) fn parsed<T>(row: &Row<'_>, index: usize) -> Result<T, Error>
where
    T: std::str::FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    row.get_ref(index)?.as_str()?.parse().map_err(|e| strange(index, e))
}

/// [`parsed`], or nothing.
pub(super) fn optional<T>(row: &Row<'_>, index: usize) -> Result<Option<T>, Error>
where
    T: std::str::FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    match row.get_ref(index)?.as_str_or_null()? {
        None => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|e| strange(index, e)),
    }
}

fn strange(index: usize, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::FromSqlConversionFailure(index, Type::Text, Box::new(error))
}

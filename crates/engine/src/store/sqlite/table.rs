//! Look-ups and writes in SQL. Each write keeps the counters of the neighbors right in the same
//! transaction; nothing outside this file changes them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_core::task::{Children, Counts, Status, StatusFilter, Task, satisfies};
use ralph_core::{AgentId, FeatureName, TaskId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Params, Row, ffi, named_params, params};

use super::error::named;
use super::open::{self, Guard, Opened};
use super::rows::{self, TASK};
use super::schema;
use super::scope::{EXPIRED, READY, ready_index, scope_condition, scoped};
use crate::ports::{Filter, Result, Scope, StoreError};
use crate::store::table::{Durability, State, Table};

pub struct SqliteTable {
    // Closed before the guard is dropped: fields drop in order.
    connection: Connection,
    guard: Option<Guard>,
    path: PathBuf,
    synchronous: Option<Durability>,
    /// Calls fail once it is set.
    stop: Option<Arc<AtomicBool>>,
}

type Sql<T> = std::result::Result<T, rusqlite::Error>;

impl SqliteTable {
    pub(super) fn new(path: &Path, opened: Opened) -> Self {
        Self {
            connection: opened.connection,
            guard: opened.guard,
            path: path.to_owned(),
            synchronous: None,
            stop: None,
        }
    }

    pub(super) fn sql<R>(&self, work: impl FnOnce(&Connection) -> Sql<R>) -> Result<R> {
        let done = self.wanted().and_then(|()| work(&self.connection));
        done.map_err(|error| named(&self.path, open::waited(), &error))
    }

    /// Fails when the caller no longer needs an answer.
    fn wanted(&self) -> Sql<()> {
        match self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            true => Err(rusqlite::Error::SqliteFailure(
                ffi::Error::new(ffi::SQLITE_INTERRUPT),
                Some("the run was cancelled".to_owned()),
            )),
            false => Ok(()),
        }
    }

    pub(super) fn data_version(&self) -> Result<u64> {
        self.sql(|c| c.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)))
            .map(i64::cast_unsigned)
    }

    pub(super) fn run(&self, text: &str, values: impl Params) -> Result<()> {
        self.changed(text, values).map(drop)
    }

    /// Runs a statement, and says how many rows it changed.
    pub(super) fn changed(&self, text: &str, values: impl Params) -> Result<usize> {
        self.sql(|c| c.prepare_cached(text)?.execute(values))
    }

    pub(super) fn rows<R>(
        &self,
        text: &str,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Sql<R>,
    ) -> Result<Vec<R>> {
        let read = |row: &Row<'_>| self.wanted().and_then(|()| read(row));
        self.sql(|c| c.prepare_cached(text)?.query_map(values, read)?.collect())
    }

    /// Claimed tasks in a scope, before or after `now`, best first.
    fn claimed(
        &self,
        scope: &Scope,
        condition: &str,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<Task>> {
        let (of_scope, name) = scope_condition(scope);
        let text = format!(
            "{}WHERE t.status = 'in_progress' {condition} {of_scope}
              ORDER BY t.priority, t.seq LIMIT :limit",
            rows::task_by("tasks_claimed")
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let now = now.as_millis();
        self.rows(&text, &*scoped(&name, &[(":now", &now), (":limit", &limit)]), rows::task)
    }
}

/// How a status counts among the children of a parent: live, done, failed.
const fn as_child(status: Status) -> [i64; 3] {
    [
        !matches!(status, Status::Deleted) as i64,
        matches!(status, Status::Done) as i64,
        matches!(status, Status::Failed) as i64,
    ]
}

impl Drop for SqliteTable {
    fn drop(&mut self) {
        if self.guard.as_ref().is_some_and(Guard::is_alone) {
            open::shrink_log(&self.path, &self.connection);
        }
    }
}

impl Table for SqliteTable {
    fn begin(&mut self, durability: Durability) -> Result<()> {
        if self.synchronous != Some(durability) {
            let setting = match durability {
                Durability::Process => "PRAGMA synchronous = NORMAL",
                Durability::Power => "PRAGMA synchronous = FULL",
            };
            self.sql(|c| c.execute_batch(setting))?;
            self.synchronous = Some(durability);
        }
        // A deferred transaction that turns into a write fails at once when another process wrote
        // in between; an immediate one waits.
        self.run("BEGIN IMMEDIATE", [])
    }

    fn expect_many(&mut self) -> Result<()> {
        // 64 MiB instead of 2: a plan of 100,000 tasks stays in memory until it is committed.
        self.sql(|c| c.execute_batch("PRAGMA cache_size = -65536"))
    }

    fn commit(&mut self) -> Result<()> {
        self.run("COMMIT", [])
    }

    fn rollback(&mut self) {
        // After some failures SQLite has rolled back by itself.
        if !self.connection.is_autocommit() {
            // Also when calls are to stop.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }

    fn heed(&mut self, stop: Option<Arc<AtomicBool>>) {
        self.stop = stop;
    }

    fn go_on(&self) -> Result<()> {
        self.sql(|_| Ok(()))
    }

    fn key(&mut self, id: &TaskId) -> Result<Option<i64>> {
        let text = "SELECT seq FROM tasks WHERE id = ?1";
        self.sql(|c| c.prepare_cached(text)?.query_row([id.as_str()], |row| row.get(0)).optional())
    }

    fn load(&mut self, key: i64) -> Result<Task> {
        let text = format!("{TASK}WHERE t.seq = ?1");
        self.sql(|c| c.prepare_cached(&text)?.query_row([key], rows::task))
    }

    fn insert(&mut self, task: &Task, open_blockers: u32) -> Result<i64> {
        self.run(
            "INSERT INTO tasks (id, title, description, priority, status, category, spec, ref,
               feature, branch, touches, steps, open_blockers, created_at, updated_at, done_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            params![
                task.id.as_str(),
                task.title.as_str(),
                task.description,
                i64::from(task.priority),
                task.status.as_str(),
                task.category,
                task.spec,
                task.reference,
                task.feature.as_ref().map(FeatureName::as_str),
                task.branch,
                rows::stored_list(&task.touches),
                rows::stored_list(&task.steps),
                open_blockers,
                task.created_at.as_millis(),
                task.updated_at.as_millis(),
                task.done_at.map(Timestamp::as_millis),
            ],
        )?;
        Ok(self.connection.last_insert_rowid())
    }

    fn save(&mut self, key: i64, task: &Task) -> Result<()> {
        let text = "UPDATE tasks SET title = ?2, description = ?3, priority = ?4, category = ?5,
            spec = ?6, ref = ?7, feature = ?8, branch = ?9, touches = ?10, steps = ?11,
            verification_status = ?12, created_at = ?13, updated_at = ?14 WHERE seq = ?1";
        let values = params![
            key,
            task.title.as_str(),
            task.description,
            i64::from(task.priority),
            task.category,
            task.spec,
            task.reference,
            task.feature.as_ref().map(FeatureName::as_str),
            task.branch,
            rows::stored_list(&task.touches),
            rows::stored_list(&task.steps),
            task.verification_status,
            task.created_at.as_millis(),
            task.updated_at.as_millis(),
        ];
        self.run(text, values)
    }

    fn set_state(&mut self, key: i64, from: Status, to: &State, now: Timestamp) -> Result<()> {
        let claim = to.claim.as_ref();
        self.run(
            "UPDATE tasks SET status = ?2, agent = ?3, claimed_at = ?4, lease_expires_at = ?5,
               generation = coalesce(?6, generation), retry_count = ?7, reason = ?8, result = ?9,
               done_at = ?10, updated_at = ?11 WHERE seq = ?1",
            params![
                key,
                to.status.as_str(),
                claim.map(|c| c.agent.as_str()),
                claim.map(|c| c.claimed_at.as_millis()),
                claim.map(|c| c.lease_expires_at.as_millis()),
                claim.map(|c| i64::try_from(c.generation).unwrap_or(i64::MAX)),
                to.retry_count,
                to.reason,
                to.result,
                to.done_at.map(Timestamp::as_millis),
                now.as_millis(),
            ],
        )?;
        if satisfies(from) != satisfies(to.status) {
            let change = if satisfies(to.status) { -1 } else { 1 };
            self.run(
                "UPDATE tasks SET open_blockers = open_blockers + ?2
                  WHERE seq IN (SELECT task FROM dependencies WHERE blocker = ?1)",
                [key, change],
            )?;
        }
        let (before, after) = (as_child(from), as_child(to.status));
        if before != after {
            self.run(
                "UPDATE tasks SET children = children + ?2, children_done = children_done + ?3,
                   children_failed = children_failed + ?4
                  WHERE seq = (SELECT parent FROM tasks WHERE seq = ?1)",
                [key, after[0] - before[0], after[1] - before[1], after[2] - before[2]],
            )?;
        }
        if after[2] != before[2] {
            self.shift_failed_above(key, after[2] - before[2], false)?;
        }
        Ok(())
    }

    fn set_parent(&mut self, key: i64, parent: Option<i64>) -> Result<()> {
        let task = self.load(key)?;
        let [live, done, failed] = as_child(task.status);
        let count = "UPDATE tasks SET children = children + ?2, children_done = children_done + ?3,
            children_failed = children_failed + ?4 WHERE seq = ?1";
        let above = "SELECT failed_above + (status = 'failed') FROM tasks WHERE seq = ?1";
        let failed_above = |table: &Self, parent: Option<i64>| match parent {
            None => Ok(0),
            Some(parent) => table
                .sql(|c| c.prepare_cached(above)?.query_row([parent], |row| row.get::<_, i64>(0))),
        };
        let from = self.parent(key)?;
        let before = failed_above(self, from)?;
        let after = failed_above(self, parent)?;
        if let Some(from) = from {
            self.run(count, [from, -live, -done, -failed])?;
        }
        self.run("UPDATE tasks SET parent = ?2 WHERE seq = ?1", params![key, parent])?;
        if let Some(parent) = parent {
            self.run(count, [parent, live, done, failed])?;
        }
        if before != after {
            self.shift_failed_above(key, after - before, true)?;
        }
        Ok(())
    }

    fn parent(&mut self, key: i64) -> Result<Option<i64>> {
        let text = "SELECT parent FROM tasks WHERE seq = ?1";
        self.sql(|c| c.prepare_cached(text)?.query_row([key], |row| row.get(0)))
    }

    fn family(&mut self, key: i64) -> Result<Children> {
        let text = "SELECT children, children_done, children_failed FROM tasks WHERE seq = ?1";
        let read = |row: &Row<'_>| {
            Ok(Children { live: row.get(0)?, done: row.get(1)?, failed: row.get(2)? })
        };
        self.sql(|c| c.prepare_cached(text)?.query_row([key], read))
    }

    fn children(&mut self, key: i64) -> Result<Vec<(i64, TaskId, Status)>> {
        let text = "SELECT seq, id, status FROM tasks
                     WHERE parent = ?1 AND status <> 'deleted' ORDER BY seq";
        self.rows(text, [key], |row| {
            Ok((row.get(0)?, rows::parsed(row, 1)?, rows::parsed(row, 2)?))
        })
    }

    fn needs(&mut self, key: i64) -> Result<Vec<i64>> {
        let text = "SELECT blocker FROM dependencies WHERE task = ?1
                     UNION ALL SELECT seq FROM tasks WHERE parent = ?1";
        self.rows(text, [key], |row| row.get(0))
    }

    fn all_needs(&mut self) -> Result<Vec<(i64, i64)>> {
        let text = "SELECT task, blocker FROM dependencies
                     UNION ALL SELECT parent, seq FROM tasks WHERE parent IS NOT NULL";
        self.rows(text, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn dependents(&mut self, key: i64) -> Result<Vec<i64>> {
        let text = "SELECT task FROM dependencies WHERE blocker = ?1 ORDER BY task";
        self.rows(text, [key], |row| row.get(0))
    }

    fn link(&mut self, task: i64, blocker: i64) -> Result<bool> {
        let text = "INSERT OR IGNORE INTO dependencies (task, blocker) VALUES (?1, ?2)";
        Ok(self.changed(text, [task, blocker])? > 0)
    }

    fn link_new(&mut self, links: &[(i64, i64)]) -> Result<()> {
        // One row at a time: a statement with many would keep a journal of its own on disk.
        let text = "INSERT INTO dependencies (task, blocker) VALUES (?1, ?2)";
        self.sql(|c| {
            let mut insert = c.prepare_cached(text)?;
            links.iter().try_for_each(|(task, blocker)| insert.execute([task, blocker]).map(drop))
        })
    }

    fn unlink(&mut self, task: i64, blocker: i64) -> Result<bool> {
        let text = "DELETE FROM dependencies WHERE task = ?1 AND blocker = ?2";
        Ok(self.changed(text, [task, blocker])? > 0)
    }

    fn count_blockers(&mut self, task: i64, change: i64) -> Result<()> {
        let text = "UPDATE tasks SET open_blockers = open_blockers + ?2 WHERE seq = ?1";
        self.run(text, [task, change])
    }

    fn size(&mut self) -> Result<usize> {
        let text = "SELECT coalesce(max(seq), 0) FROM tasks";
        let last: i64 = self.sql(|c| c.prepare_cached(text)?.query_row([], |row| row.get(0)))?;
        Ok(usize::try_from(last).unwrap_or(usize::MAX))
    }

    fn everything(&mut self) -> Result<Vec<(i64, Task)>> {
        let text = format!("{TASK}ORDER BY t.seq");
        self.rows(&text, [], |row| Ok((row.get(0)?, rows::task(row)?)))
    }

    fn list(&mut self, filter: &Filter) -> Result<Vec<Task>> {
        let mut wanted = Vec::new();
        for status in &filter.statuses {
            wanted.push(match status {
                StatusFilter::Stored(status) => format!("t.status = '{}'", status.as_str()),
                StatusFilter::Blocked => "t.status = 'pending' AND t.open_blockers > 0".to_owned(),
            });
        }
        let statuses = match wanted.is_empty() {
            false => wanted.join(" OR "),
            true if filter.deleted_too => "1".to_owned(),
            true => "t.status <> 'deleted'".to_owned(),
        };
        let text = format!(
            "{TASK}WHERE ({statuses})
              AND (:assignee IS NULL OR t.agent = :assignee)
              AND (:feature IS NULL OR t.feature = :feature)
              AND (:parent IS NULL OR p.id = :parent)
              AND (:reference IS NULL OR t.ref = :reference)
              AND (:spec IS NULL OR t.spec = :spec)
              AND (:category IS NULL OR t.category = :category)
            ORDER BY t.seq"
        );
        self.rows(
            &text,
            named_params! {
                ":assignee": filter.assignee.as_ref().map(AgentId::as_str),
                ":feature": filter.feature.as_ref().map(FeatureName::as_str),
                ":parent": filter.parent.as_ref().map(TaskId::as_str),
                ":reference": filter.reference,
                ":spec": filter.spec,
                ":category": filter.category,
            },
            rows::task,
        )
    }

    fn ready(&mut self, scope: &Scope, limit: usize) -> Result<Vec<Task>> {
        let (of_scope, name) = scope_condition(scope);
        let task = rows::task_by(ready_index(scope));
        let text =
            format!("{task}WHERE {READY} {of_scope} ORDER BY t.priority, t.seq LIMIT :limit");
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.rows(&text, &*scoped(&name, &[(":limit", &limit)]), rows::task)
    }

    fn first_claimable(&mut self, scope: &Scope, now: Timestamp) -> Result<Option<i64>> {
        let (of_scope, name) = scope_condition(scope);
        let index = ready_index(scope);
        let text = format!(
            "SELECT seq FROM (
               SELECT * FROM (SELECT t.seq, t.priority FROM tasks t INDEXED BY {index}
                               WHERE {READY} {of_scope} ORDER BY t.priority, t.seq LIMIT 1)
               UNION ALL
               SELECT t.seq, t.priority FROM tasks t INDEXED BY tasks_claimed
                WHERE t.status = 'in_progress' AND {EXPIRED} {of_scope})
             ORDER BY priority, seq LIMIT 1"
        );
        let now = now.as_millis();
        let values = scoped(&name, &[(":now", &now)]);
        self.sql(|c| c.prepare_cached(&text)?.query_row(&*values, |row| row.get(0)).optional())
    }

    fn expired(&mut self, scope: &Scope, now: Timestamp, limit: usize) -> Result<Vec<Task>> {
        self.claimed(scope, &format!("AND {EXPIRED}"), now, limit)
    }

    fn held(&mut self, scope: &Scope, now: Timestamp) -> Result<Vec<Task>> {
        self.claimed(scope, "AND t.lease_expires_at > :now", now, usize::MAX)
    }

    fn counts(&mut self, scope: &Scope) -> Result<Counts> {
        let (of_scope, name) = scope_condition(scope);
        let text = format!(
            "SELECT t.status, t.open_blockers > 0, count(*) FROM tasks t WHERE 1 {of_scope} GROUP BY 1, 2"
        );
        let mut counts = Counts::default();
        let read = |row: &Row<'_>| {
            let n = row.get::<_, i64>(2)?.unsigned_abs();
            counts.add(rows::parsed(row, 0)?, row.get(1)?, n);
            Ok(())
        };
        self.rows(&text, &*scoped(&name, &[]), read)?;
        Ok(counts)
    }

    fn ids(&mut self) -> Result<Vec<TaskId>> {
        self.rows("SELECT id FROM tasks", [], |row| rows::parsed(row, 0))
    }

    fn blocker_results(&mut self, key: i64) -> Result<Vec<(TaskId, String)>> {
        let text = "SELECT b.id, b.result FROM dependencies d JOIN tasks b ON b.seq = d.blocker
                     WHERE d.task = ?1 AND b.status = 'done' AND b.result IS NOT NULL
                     ORDER BY d.blocker";
        self.rows(text, [key], |row| Ok((rows::parsed(row, 0)?, row.get(1)?)))
    }

    fn of_specs(&mut self, specs: &BTreeSet<&String>) -> Result<Vec<(i64, TaskId)>> {
        let text = "SELECT seq, id FROM tasks
                     WHERE spec IN (SELECT value FROM json_each(?1))
                       AND status NOT IN ('done', 'deleted') ORDER BY seq";
        let specs = serde_json::Value::from_iter(specs.iter().map(|spec| spec.as_str()));
        self.rows(text, [specs.to_string()], |row| Ok((row.get(0)?, rows::parsed(row, 1)?)))
    }

    fn verify(&mut self) -> Result<()> {
        open::check_whole(&self.path, &self.connection)?;
        let damaged = |detail: String| StoreError::Corrupt { path: self.path.clone(), detail };
        let orphans: Vec<String> = self.rows("PRAGMA foreign_key_check", [], |row| row.get(0))?;
        if let Some(table) = orphans.first() {
            return Err(damaged(format!("a row of {table} references a missing row")));
        }
        let wrong: Vec<String> = self.rows(schema::DISAGREEING, [], |row| row.get(0))?;
        if !wrong.is_empty() {
            return Err(damaged(format!("the counters of {} are wrong", wrong.join(", "))));
        }
        Ok(())
    }
}

impl SqliteTable {
    /// Updates the count of failed ancestors of everything below `key` (and of itself, if asked).
    fn shift_failed_above(&self, key: i64, change: i64, with_itself: bool) -> Result<()> {
        self.run(
            "WITH RECURSIVE below (seq) AS (
               SELECT seq FROM tasks WHERE parent = ?1
               UNION SELECT t.seq FROM tasks t JOIN below ON t.parent = below.seq
             )
             UPDATE tasks SET failed_above = failed_above + ?2
              WHERE seq IN (SELECT seq FROM below) OR (?3 AND seq = ?1)",
            params![key, change, with_itself],
        )
    }
}

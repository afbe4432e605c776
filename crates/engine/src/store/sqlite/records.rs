//! SQL for records other than tasks. Plain inserts and reads: no rule and no counter is here.

use ralph_core::ids::{AttemptId, QuestionId, RunId};
use ralph_core::records::{
    AgentRecord, Attempt, AttemptEnd, Changes, Evidence, Feature, Liveness, LogEntry, LogKind,
    Question,
};
use ralph_core::{AgentId, FeatureId, FeatureName, TaskId, Timestamp};
use rusqlite::params;

use super::rows::{optional, parsed, time};
use super::table::SqliteTable;
use crate::ports::Result;
use crate::store::table::{Attempts, Records};

fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Records for SqliteTable {
    type Key = i64;

    fn write_log(
        &mut self,
        key: i64,
        at: Timestamp,
        by: &AgentId,
        kind: LogKind,
        text: &str,
    ) -> Result<()> {
        self.run(
            "INSERT INTO task_log (task, at, by, kind, text) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![key, at.as_millis(), by.as_str(), kind.as_str(), text],
        )
    }

    fn read_log(&mut self, key: i64) -> Result<Vec<LogEntry>> {
        let text = "SELECT at, by, kind, text FROM task_log WHERE task = ?1 ORDER BY seq";
        self.rows(text, [key], |row| {
            Ok(LogEntry {
                at: time(row.get(0)?),
                by: parsed(row, 1)?,
                kind: parsed(row, 2)?,
                text: row.get(3)?,
            })
        })
    }

    fn insert_attempt(&mut self, key: i64, attempt: &Attempt) -> Result<()> {
        self.run(
            "INSERT INTO attempts (id, task, run, agent, generation, model, sandbox, started_at,
               program)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                attempt.id.as_str(),
                key,
                attempt.run.as_ref().map(RunId::as_str),
                attempt.agent.as_str(),
                stored(attempt.generation),
                attempt.model,
                attempt.sandbox,
                attempt.started_at.as_millis(),
                attempt.program,
            ],
        )
    }

    fn end_attempt(&mut self, id: &AttemptId, end: &AttemptEnd) -> Result<()> {
        self.run(
            "UPDATE attempts SET ended_at = ?2, outcome = ?3, detail = ?4, commit_id = ?5,
               input_tokens = ?6, output_tokens = ?7, cost_micro_usd = ?8, changed = ?9,
               said = ?10, fingerprint = ?11
              WHERE id = ?1 AND ended_at IS NULL",
            params![
                id.as_str(),
                end.at.as_millis(),
                end.outcome,
                end.detail,
                end.commit,
                stored(end.input_tokens),
                stored(end.output_tokens),
                end.cost_micro_usd.map(stored),
                end.changed.to_text(),
                end.last_message,
                end.fingerprint,
            ],
        )
    }

    fn attempts(&mut self, of: Attempts<i64>) -> Result<Vec<Attempt>> {
        let (which, value) = match of {
            Attempts::Of(task) => ("a.task = ?1 ORDER BY a.seq", task),
            Attempts::Since(since) => {
                let recent =
                    "(a.ended_at IS NULL OR a.ended_at >= ?1) ORDER BY a.started_at, a.seq";
                (recent, since.as_millis())
            }
        };
        let text = format!(
            "SELECT a.id, t.id, a.run, a.agent, a.generation, a.model, a.sandbox, a.started_at,
                      a.ended_at, a.outcome, a.detail, a.commit_id, a.input_tokens, a.output_tokens,
                      a.cost_micro_usd, a.changed, a.said, a.fingerprint, a.program
                     FROM attempts a JOIN tasks t ON t.seq = a.task WHERE {which}"
        );
        self.rows(&text, [value], |row| {
            let end = match row.get::<_, Option<i64>>(8)? {
                None => None,
                Some(at) => Some(AttemptEnd {
                    at: time(at),
                    outcome: row.get(9)?,
                    detail: row.get(10)?,
                    commit: row.get(11)?,
                    input_tokens: row.get::<_, i64>(12)?.unsigned_abs(),
                    output_tokens: row.get::<_, i64>(13)?.unsigned_abs(),
                    cost_micro_usd: row.get::<_, Option<i64>>(14)?.map(i64::unsigned_abs),
                    changed: Changes::from_text(
                        &row.get::<_, Option<String>>(15)?.unwrap_or_default(),
                    ),
                    last_message: row.get::<_, Option<String>>(16)?.unwrap_or_default(),
                    fingerprint: row.get(17)?,
                }),
            };
            Ok(Attempt {
                id: parsed(row, 0)?,
                task: parsed(row, 1)?,
                run: optional(row, 2)?,
                agent: parsed(row, 3)?,
                generation: row.get::<_, i64>(4)?.unsigned_abs(),
                program: row.get(18)?,
                model: row.get(5)?,
                sandbox: row.get(6)?,
                started_at: time(row.get(7)?),
                end,
            })
        })
    }

    fn insert_evidence(&mut self, key: i64, evidence: &Evidence) -> Result<()> {
        self.run(
            "INSERT INTO evidence (task, attempt, tree, judge, verdict, exit_code, duration_ms,
               digest, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                key,
                evidence.attempt.as_ref().map(AttemptId::as_str),
                evidence.tree,
                evidence.judge,
                evidence.verdict.as_str(),
                evidence.exit_code,
                stored(evidence.duration_ms),
                evidence.digest,
                evidence.at.as_millis(),
            ],
        )
    }

    fn evidence(&mut self, key: i64) -> Result<Vec<Evidence>> {
        let text = "SELECT t.id, e.attempt, e.tree, e.judge, e.verdict, e.exit_code, e.duration_ms,
                      e.digest, e.at
                     FROM evidence e JOIN tasks t ON t.seq = e.task WHERE e.task = ?1 ORDER BY e.seq";
        self.rows(text, [key], |row| {
            Ok(Evidence {
                task: parsed(row, 0)?,
                attempt: optional(row, 1)?,
                tree: row.get(2)?,
                judge: row.get(3)?,
                verdict: parsed(row, 4)?,
                exit_code: row.get(5)?,
                duration_ms: row.get::<_, i64>(6)?.unsigned_abs(),
                digest: row.get(7)?,
                at: time(row.get(8)?),
            })
        })
    }

    fn insert_question(&mut self, key: i64, question: &Question) -> Result<()> {
        self.run(
            "INSERT INTO questions (id, task, by, text, asked_at) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                question.id.as_str(),
                key,
                question.by.as_str(),
                question.text,
                question.asked_at.as_millis(),
            ],
        )
    }

    fn answer_question(&mut self, id: &QuestionId, at: Timestamp, text: &str) -> Result<()> {
        let sql = "UPDATE questions SET answered_at = ?2, answer = ?3 WHERE id = ?1";
        self.run(sql, params![id.as_str(), at.as_millis(), text])
    }

    fn questions(&mut self, of: Option<i64>, open_only: bool) -> Result<Vec<Question>> {
        let text = "SELECT q.id, t.id, q.by, q.text, q.asked_at, q.answered_at, q.answer
                     FROM questions q JOIN tasks t ON t.seq = q.task
                    WHERE (?1 IS NULL OR q.task = ?1) AND NOT (?2 AND q.answered_at IS NOT NULL)
                    ORDER BY q.seq";
        self.rows(text, params![of, open_only], |row| {
            let answer = match row.get::<_, Option<i64>>(5)? {
                None => None,
                Some(at) => Some((time(at), row.get(6)?)),
            };
            Ok(Question {
                id: parsed(row, 0)?,
                task: parsed(row, 1)?,
                by: parsed(row, 2)?,
                text: row.get(3)?,
                asked_at: time(row.get(4)?),
                answer,
            })
        })
    }

    fn insert_feature(&mut self, feature: &Feature) -> Result<bool> {
        if self.has_feature(&feature.name)? {
            return Ok(false);
        }
        let (name, at) = (feature.name.as_str(), feature.created_at.as_millis());
        let again = "UPDATE features SET deleted_at = NULL, created_at = ?2 WHERE name = ?1";
        if self.changed(again, params![name, at])? == 0 {
            let new = "INSERT INTO features (id, name, created_at) VALUES (?1, ?2, ?3)";
            self.run(new, params![feature.id.as_str(), name, at])?;
        }
        Ok(true)
    }

    fn features(&mut self) -> Result<Vec<Feature>> {
        let text =
            "SELECT id, name, created_at FROM features WHERE deleted_at IS NULL ORDER BY name";
        self.rows(text, [], |row| {
            Ok(Feature {
                id: parsed(row, 0)?,
                name: parsed(row, 1)?,
                created_at: time(row.get(2)?),
            })
        })
    }

    fn has_feature(&mut self, name: &FeatureName) -> Result<bool> {
        let text = "SELECT 1 FROM features WHERE name = ?1 AND deleted_at IS NULL";
        self.sql(|c| c.prepare_cached(text)?.exists([name.as_str()]))
    }

    fn remove_feature(&mut self, id: &FeatureId, now: Timestamp) -> Result<()> {
        let text = "UPDATE features SET deleted_at = ?2 WHERE id = ?1";
        self.run(text, params![id.as_str(), now.as_millis()])
    }

    fn put_agent(
        &mut self,
        id: &AgentId,
        liveness: Option<&Liveness>,
        now: Timestamp,
    ) -> Result<()> {
        self.run(
            "INSERT INTO agents (id, host, boot_id, pid, pid_started, registered_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (id) DO UPDATE SET host = excluded.host, boot_id = excluded.boot_id,
               pid = excluded.pid, pid_started = excluded.pid_started",
            params![
                id.as_str(),
                liveness.map(|l| l.host.as_str()),
                liveness.map(|l| l.boot_id.as_str()),
                liveness.map(|l| l.pid),
                liveness.map(|l| stored(l.pid_started)),
                now.as_millis(),
            ],
        )
    }

    fn agents(&mut self) -> Result<Vec<AgentRecord>> {
        let text =
            "SELECT id, host, boot_id, pid, pid_started, registered_at FROM agents ORDER BY seq";
        let mut agents = self.rows(text, [], |row| {
            let liveness = match row.get::<_, Option<String>>(1)? {
                None => None,
                Some(host) => Some(Liveness {
                    host,
                    boot_id: row.get(2)?,
                    pid: row.get(3)?,
                    pid_started: row.get::<_, i64>(4)?.unsigned_abs(),
                }),
            };
            Ok(AgentRecord {
                id: parsed(row, 0)?,
                liveness,
                registered_at: time(row.get(5)?),
                claims: vec![],
            })
        })?;
        let claims: Vec<(AgentId, TaskId)> = self.rows(
            "SELECT agent, id FROM tasks WHERE status = 'in_progress' ORDER BY seq",
            [],
            |row| Ok((parsed(row, 0)?, parsed(row, 1)?)),
        )?;
        for (agent, task) in claims {
            if let Some(record) = agents.iter_mut().find(|record| record.id == agent) {
                record.claims.push(task);
            }
        }
        Ok(agents)
    }

    fn remove_agent(&mut self, id: &AgentId) -> Result<bool> {
        Ok(self.changed("DELETE FROM agents WHERE id = ?1", [id.as_str()])? > 0)
    }
}

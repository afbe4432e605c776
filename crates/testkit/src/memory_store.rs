//! A store in memory: the rules of the engine over a table that keeps no counters. Every question is answered by
//! looking at all rows, which is slow and hard to get wrong.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ralph_core::ids::{AttemptId, QuestionId};
use ralph_core::records::{
    AgentRecord, Attempt, AttemptEnd, Evidence, Feature, Liveness, LogEntry, LogKind, Question,
};
use ralph_core::task::{Children, Counts, NeighborCounts, Status, Task, satisfies};
use ralph_core::{AgentId, FeatureId, FeatureName, TaskId, Timestamp};

use ralph_engine::ports::{Filter, Result, Scope};
use ralph_engine::store::RuleStore;
use ralph_engine::store::table::{Attempts, Durability, Records, State, Table};

pub type MemoryStore = RuleStore<MemoryTable>;

/// An empty store.
pub fn memory_store() -> MemoryStore {
    RuleStore::over(MemoryTable::default())
}

#[derive(Clone)]
struct Row {
    task: Task,
    parent: Option<usize>,
    blockers: BTreeSet<usize>,
    log: Vec<LogEntry>,
    attempts: Vec<Attempt>,
    evidence: Vec<Evidence>,
}

#[derive(Clone, Default)]
struct Contents {
    rows: Vec<Row>,
    by_id: HashMap<TaskId, usize>,
    features: BTreeMap<FeatureName, Feature>,
    gone: BTreeMap<FeatureName, FeatureId>,
    agents: Vec<(AgentId, Option<Liveness>, Timestamp)>,
    questions: Vec<Question>,
}

#[derive(Default)]
pub struct MemoryTable {
    now: Contents,
    before: Option<Contents>,
}

impl MemoryTable {
    fn row(&mut self, key: usize) -> &mut Row {
        &mut self.now.rows[key]
    }

    fn neighbors(&self, key: usize) -> NeighborCounts {
        let rows = &self.now.rows;
        let open = rows[key].blockers.iter().filter(|b| !satisfies(rows[**b].task.status));
        let mut failed_above = false;
        let mut above = rows[key].parent;
        // Bounded: a plan may close a circle of parents before it is refused.
        for _ in rows {
            let Some(parent) = above else { break };
            failed_above |= rows[parent].task.status == Status::Failed;
            above = rows[parent].parent;
        }
        NeighborCounts {
            open_blockers: count(open),
            children: count(self.live_children(key)),
            failed_above,
        }
    }

    fn live_children(&self, key: usize) -> impl Iterator<Item = (usize, &Row)> {
        let is_child =
            move |row: &&Row| row.parent == Some(key) && row.task.status != Status::Deleted;
        self.now.rows.iter().enumerate().filter(move |(_, row)| is_child(row))
    }

    fn view(&self, key: usize) -> Task {
        let rows = &self.now.rows;
        let row = &rows[key];
        Task {
            parent: row.parent.map(|parent| rows[parent].task.id.clone()),
            deps: row.blockers.iter().map(|b| rows[*b].task.id.clone()).collect(),
            neighbors: self.neighbors(key),
            order: key as u64 + 1,
            ..row.task.clone()
        }
    }

    fn views(&self) -> Vec<Task> {
        (0..self.now.rows.len()).map(|key| self.view(key)).collect()
    }

    fn best(&self, scope: &Scope, limit: usize, keep: impl Fn(&Task) -> bool) -> Vec<Task> {
        let mut tasks = self.views();
        tasks.retain(|task| within(scope, task) && keep(task));
        tasks.sort_by_key(|task| (task.priority, task.order));
        tasks.truncate(limit);
        tasks
    }
}

fn count<I>(items: impl Iterator<Item = I>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

/// Whether a field is as wanted, where anything is.
fn matches<T: PartialEq>(wanted: &Option<T>, found: &Option<T>) -> bool {
    wanted.is_none() || wanted == found
}

fn within(scope: &Scope, task: &Task) -> bool {
    match scope {
        Scope::All => true,
        Scope::Feature(name) => task.feature.as_ref() == Some(name),
        Scope::Task(id) => task.id == *id,
        Scope::Plan(file) => task.reference.as_ref() == Some(file),
    }
}

impl Table for MemoryTable {
    fn begin(&mut self, _: Durability) -> Result<()> {
        self.before = Some(self.now.clone());
        Ok(())
    }

    fn expect_many(&mut self) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.before = None;
        Ok(())
    }

    fn rollback(&mut self) {
        if let Some(before) = self.before.take() {
            self.now = before;
        }
    }

    fn key(&mut self, id: &TaskId) -> Result<Option<usize>> {
        Ok(self.now.by_id.get(id).copied())
    }

    fn load(&mut self, key: usize) -> Result<Task> {
        Ok(self.view(key))
    }

    fn insert(&mut self, task: &Task, _: u32) -> Result<usize> {
        let key = self.now.rows.len();
        self.now.by_id.insert(task.id.clone(), key);
        self.now.rows.push(Row {
            task: task.clone(),
            parent: None,
            blockers: BTreeSet::new(),
            log: vec![],
            attempts: vec![],
            evidence: vec![],
        });
        Ok(key)
    }

    fn save(&mut self, key: usize, task: &Task) -> Result<()> {
        let row = &mut self.row(key).task;
        let kept = row.clone();
        *row = Task {
            status: kept.status,
            claim: kept.claim,
            generation: kept.generation,
            retry_count: kept.retry_count,
            reason: kept.reason,
            result: kept.result,
            done_at: kept.done_at,
            ..task.clone()
        };
        Ok(())
    }

    fn set_state(&mut self, key: usize, _: Status, to: &State, now: Timestamp) -> Result<()> {
        let task = &mut self.row(key).task;
        task.status = to.status;
        task.generation = to.claim.as_ref().map_or(task.generation, |claim| claim.generation);
        task.claim = to.claim.clone();
        task.retry_count = to.retry_count;
        task.reason = to.reason.clone();
        task.result = to.result.clone();
        task.done_at = to.done_at;
        task.updated_at = now;
        Ok(())
    }

    fn set_parent(&mut self, key: usize, parent: Option<usize>) -> Result<()> {
        self.row(key).parent = parent;
        Ok(())
    }

    fn parent(&mut self, key: usize) -> Result<Option<usize>> {
        Ok(self.row(key).parent)
    }

    fn family(&mut self, key: usize) -> Result<Children> {
        let with = |status| count(self.live_children(key).filter(|c| c.1.task.status == status));
        Ok(Children {
            live: count(self.live_children(key)),
            done: with(Status::Done),
            failed: with(Status::Failed),
        })
    }

    fn children(&mut self, key: usize) -> Result<Vec<(usize, TaskId, Status)>> {
        let children = self.live_children(key);
        Ok(children.map(|(key, row)| (key, row.task.id.clone(), row.task.status)).collect())
    }

    fn needs(&mut self, key: usize) -> Result<Vec<usize>> {
        let children = self.now.rows.iter().enumerate().filter(|(_, row)| row.parent == Some(key));
        let blockers = self.now.rows[key].blockers.iter().copied();
        Ok(blockers.chain(children.map(|(key, _)| key)).collect())
    }

    fn all_needs(&mut self) -> Result<Vec<(usize, usize)>> {
        let mut pairs = Vec::new();
        for (key, row) in self.now.rows.iter().enumerate() {
            pairs.extend(row.blockers.iter().map(|blocker| (key, *blocker)));
            pairs.extend(row.parent.map(|parent| (parent, key)));
        }
        Ok(pairs)
    }

    fn dependents(&mut self, key: usize) -> Result<Vec<usize>> {
        let rows = self.now.rows.iter().enumerate();
        Ok(rows.filter(|(_, row)| row.blockers.contains(&key)).map(|(key, _)| key).collect())
    }

    fn link(&mut self, task: usize, blocker: usize) -> Result<bool> {
        Ok(self.row(task).blockers.insert(blocker))
    }

    fn link_new(&mut self, links: &[(usize, usize)]) -> Result<()> {
        for (task, blocker) in links {
            self.row(*task).blockers.insert(*blocker);
        }
        Ok(())
    }

    fn unlink(&mut self, task: usize, blocker: usize) -> Result<bool> {
        Ok(self.row(task).blockers.remove(&blocker))
    }

    fn count_blockers(&mut self, _: usize, _: i64) -> Result<()> {
        Ok(())
    }

    fn size(&mut self) -> Result<usize> {
        Ok(self.now.rows.len())
    }

    fn everything(&mut self) -> Result<Vec<(usize, Task)>> {
        Ok(self.views().into_iter().enumerate().collect())
    }

    fn list(&mut self, filter: &Filter) -> Result<Vec<Task>> {
        let mut tasks = self.views();
        tasks.retain(|task| {
            let open = task.neighbors.open_blockers;
            let status = if filter.statuses.is_empty() {
                filter.deleted_too || task.status != Status::Deleted
            } else {
                filter.statuses.iter().any(|wanted| wanted.admits(task.status, open))
            };
            let holder = task.claim.as_ref().map(|claim| claim.agent.clone());
            status
                && matches(&filter.assignee, &holder)
                && matches(&filter.feature, &task.feature)
                && matches(&filter.parent, &task.parent)
                && matches(&filter.reference, &task.reference)
                && matches(&filter.spec, &task.spec)
                && matches(&filter.category, &task.category)
        });
        Ok(tasks)
    }

    fn ready(&mut self, scope: &Scope, limit: usize) -> Result<Vec<Task>> {
        Ok(self.best(scope, limit, Task::is_ready))
    }

    fn first_claimable(&mut self, scope: &Scope, now: Timestamp) -> Result<Option<usize>> {
        let mut tasks = self.ready(scope, 1)?;
        tasks.extend(self.expired(scope, now, 1)?);
        let first = tasks.into_iter().min_by_key(|task| (task.priority, task.order));
        Ok(first.and_then(|task| self.now.by_id.get(&task.id).copied()))
    }

    fn expired(&mut self, scope: &Scope, now: Timestamp, limit: usize) -> Result<Vec<Task>> {
        Ok(self.best(scope, limit, |task| {
            task.claim.as_ref().is_some_and(|claim| claim.is_expired(now))
                && task.neighbors == NeighborCounts::default()
        }))
    }

    fn held(&mut self, scope: &Scope, now: Timestamp) -> Result<Vec<Task>> {
        let holds = |task: &Task| task.claim.as_ref().is_some_and(|c| !c.is_expired(now));
        Ok(self.best(scope, usize::MAX, holds))
    }

    fn counts(&mut self, scope: &Scope) -> Result<Counts> {
        let mut counts = Counts::default();
        for task in self.views().iter().filter(|task| within(scope, task)) {
            counts.add(task.status, task.neighbors.open_blockers > 0, 1);
        }
        Ok(counts)
    }

    fn ids(&mut self) -> Result<Vec<TaskId>> {
        Ok(self.now.rows.iter().map(|row| row.task.id.clone()).collect())
    }

    fn blocker_results(&mut self, key: usize) -> Result<Vec<(TaskId, String)>> {
        let rows = &self.now.rows;
        let done = rows[key].blockers.iter().map(|b| &rows[*b].task);
        let done = done.filter(|task| task.status == Status::Done);
        Ok(done.filter_map(|t| Some((t.id.clone(), t.result.clone()?))).collect())
    }

    fn of_specs(&mut self, specs: &BTreeSet<&String>) -> Result<Vec<(usize, TaskId)>> {
        let rows = self.now.rows.iter().enumerate();
        let open = rows.filter(|(_, row)| {
            row.task.spec.as_ref().is_some_and(|spec| specs.contains(spec))
                && row.task.status.allows(Status::Deleted)
        });
        Ok(open.map(|(key, row)| (key, row.task.id.clone())).collect())
    }

    fn verify(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Records for MemoryTable {
    type Key = usize;

    fn write_log(
        &mut self,
        key: usize,
        at: Timestamp,
        by: &AgentId,
        kind: LogKind,
        text: &str,
    ) -> Result<()> {
        let entry = LogEntry { at, by: by.clone(), kind, text: text.to_owned() };
        self.row(key).log.push(entry);
        Ok(())
    }

    fn read_log(&mut self, key: usize) -> Result<Vec<LogEntry>> {
        Ok(self.row(key).log.clone())
    }

    fn insert_attempt(&mut self, key: usize, attempt: &Attempt) -> Result<()> {
        self.row(key).attempts.push(Attempt { end: None, ..attempt.clone() });
        Ok(())
    }

    fn end_attempt(&mut self, id: &AttemptId, end: &AttemptEnd) -> Result<()> {
        let attempts = self.now.rows.iter_mut().flat_map(|row| &mut row.attempts);
        for attempt in attempts.filter(|attempt| attempt.id == *id) {
            attempt.end.get_or_insert_with(|| end.clone());
        }
        Ok(())
    }

    fn attempts(&mut self, of: Attempts<usize>) -> Result<Vec<Attempt>> {
        let since = match of {
            Attempts::Of(key) => return Ok(self.row(key).attempts.clone()),
            Attempts::Since(since) => since,
        };
        let all = self.now.rows.iter().flat_map(|row| &row.attempts);
        let recent = all.filter(|one| one.end.as_ref().is_none_or(|end| end.at >= since));
        let mut found: Vec<Attempt> = recent.cloned().collect();
        found.sort_by_key(|attempt| attempt.started_at);
        Ok(found)
    }

    fn insert_evidence(&mut self, key: usize, evidence: &Evidence) -> Result<()> {
        self.row(key).evidence.push(evidence.clone());
        Ok(())
    }

    fn evidence(&mut self, key: usize) -> Result<Vec<Evidence>> {
        Ok(self.row(key).evidence.clone())
    }

    fn insert_question(&mut self, _: usize, question: &Question) -> Result<()> {
        self.now.questions.push(question.clone());
        Ok(())
    }

    fn answer_question(&mut self, id: &QuestionId, at: Timestamp, text: &str) -> Result<()> {
        for question in self.now.questions.iter_mut().filter(|question| question.id == *id) {
            question.answer = Some((at, text.to_owned()));
        }
        Ok(())
    }

    fn questions(&mut self, of: Option<usize>, open_only: bool) -> Result<Vec<Question>> {
        let task = of.map(|key| self.row(key).task.id.clone());
        let wanted = |question: &&Question| {
            task.as_ref().is_none_or(|task| question.task == *task)
                && !(open_only && question.answer.is_some())
        };
        Ok(self.now.questions.iter().filter(wanted).cloned().collect())
    }

    fn insert_feature(&mut self, feature: &Feature) -> Result<bool> {
        let name = feature.name.clone();
        if self.now.features.contains_key(&name) {
            return Ok(false);
        }
        let id = self.now.gone.get(&name).unwrap_or(&feature.id).clone();
        self.now.features.insert(name, Feature { id, ..feature.clone() });
        Ok(true)
    }

    fn features(&mut self) -> Result<Vec<Feature>> {
        Ok(self.now.features.values().cloned().collect())
    }

    fn has_feature(&mut self, name: &FeatureName) -> Result<bool> {
        Ok(self.now.features.contains_key(name))
    }

    fn remove_feature(&mut self, id: &FeatureId, _: Timestamp) -> Result<()> {
        let gone = self.now.features.extract_if(.., |_, feature| feature.id == *id);
        self.now.gone.extend(gone.map(|(name, feature)| (name, feature.id)));
        Ok(())
    }

    fn put_agent(
        &mut self,
        id: &AgentId,
        liveness: Option<&Liveness>,
        now: Timestamp,
    ) -> Result<()> {
        match self.now.agents.iter_mut().find(|agent| agent.0 == *id) {
            Some(agent) => agent.1 = liveness.cloned(),
            None => self.now.agents.push((id.clone(), liveness.cloned(), now)),
        }
        Ok(())
    }

    fn agents(&mut self) -> Result<Vec<AgentRecord>> {
        let tasks = self.views();
        let record = |(id, liveness, registered_at): &(AgentId, Option<Liveness>, Timestamp)| {
            let held = |task: &&Task| task.claim.as_ref().is_some_and(|claim| claim.agent == *id);
            AgentRecord {
                id: id.clone(),
                liveness: liveness.clone(),
                registered_at: *registered_at,
                claims: tasks.iter().filter(held).map(|task| task.id.clone()).collect(),
            }
        };
        Ok(self.now.agents.iter().map(record).collect())
    }

    fn remove_agent(&mut self, id: &AgentId) -> Result<bool> {
        let before = self.now.agents.len();
        self.now.agents.retain(|agent| agent.0 != *id);
        Ok(self.now.agents.len() < before)
    }
}

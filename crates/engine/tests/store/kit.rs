//! Short words for the cases: names, times, a few one-line steps, and how a case is run on a store.

use std::sync::mpsc;
use std::time::Duration;

use ralph_core::plan::{Done, PlanTask};
use ralph_core::records::LogKind;
use ralph_core::task::{
    Actor, Generation, NewTask, Priority, Refusal, RetryLimit, Status, Task, TaskPatch,
};
use ralph_core::text::Title;
use ralph_core::{AgentId, FeatureId, FeatureName, Lease, TaskId, Timestamp};
use ralph_engine::ports::{
    ClaimRequest, Claimed, DeleteWhich, Filter, Result, Scope, Store, StoreError, SyncMode,
    SyncReport,
};
use ralph_engine::store::SqliteStore;
use ralph_testkit::memory_store;

/// What a suite does with a store.
pub(crate) type Case = fn(&mut dyn Store);

/// Runs a case on a store in memory.
pub(crate) fn in_memory(case: Case) {
    let mut store = memory_store();
    case(&mut store);
    store.verify().unwrap();
}

/// Runs a case on a store in a file, and looks whether the file says the same when opened again.
pub(crate) fn in_sqlite(case: Case) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("progress.db");
    let mut store = SqliteStore::open(&path).unwrap();
    case(&mut store);
    store.verify().unwrap();
    let before = store.list(&everything()).unwrap();
    drop(store);
    let mut again = SqliteStore::open(&path).unwrap();
    again.verify().unwrap();
    assert_eq!(again.list(&everything()).unwrap(), before);
}

/// Runs a case on a store of its own; a case that does not come back is a failure.
pub(crate) fn within_seconds(run: fn(Case), case: Case) {
    let (report, reported) = mpsc::channel();
    let work = std::thread::spawn(move || {
        run(case);
        let _ = report.send(());
    });
    match reported.recv_timeout(Duration::from_secs(20)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it does not come back"),
        _ => work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

pub(crate) fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

pub(crate) fn ids(texts: &[&str]) -> Vec<TaskId> {
    texts.iter().map(|text| id(text)).collect()
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

pub(crate) fn feature(name: &str) -> FeatureName {
    FeatureName::new(name).unwrap()
}

pub(crate) fn title(text: &str) -> Title {
    Title::new(text).unwrap()
}

/// A person at a terminal.
pub(crate) fn pat() -> Actor {
    Actor::User(agent("pat"))
}

/// An agent that does not say which claim it means.
pub(crate) fn by(name: &str) -> Actor {
    Actor::Agent(agent(name), None)
}

/// An agent with the number of its claim.
pub(crate) fn by_claim(name: &str, generation: Generation) -> Actor {
    Actor::Agent(agent(name), Some(generation))
}

/// So many seconds after the start of the story.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + seconds * 1000)
}

pub(crate) fn minute() -> Lease {
    Lease::seconds(60).unwrap()
}

pub(crate) const THREE: RetryLimit = RetryLimit::AtMost(3);

/// Every task, deleted ones too.
pub(crate) fn everything() -> Filter {
    Filter { deleted_too: true, ..Filter::default() }
}

/// A patch, written as the changes to an empty one.
pub(crate) fn patch(change: impl FnOnce(&mut TaskPatch)) -> TaskPatch {
    let mut patch = TaskPatch::default();
    change(&mut patch);
    patch
}

pub(crate) fn below(parent: &str) -> TaskPatch {
    patch(|p| p.parent = Some(Some(id(parent))))
}

pub(crate) fn at_the_top() -> TaskPatch {
    patch(|p| p.parent = Some(None))
}

pub(crate) fn after(blockers: &[&str]) -> TaskPatch {
    patch(|p| p.deps = Some(ids(blockers)))
}

pub(crate) fn priority(number: i64) -> TaskPatch {
    patch(|p| p.priority = Some(Priority::new(number).unwrap()))
}

pub(crate) fn of_feature(name: &str) -> TaskPatch {
    patch(|p| p.feature = Some(Some(feature(name))))
}

/// A line of a plan.
pub(crate) fn line(number: usize, name: &str, fields: TaskPatch) -> PlanTask {
    PlanTask { line: number, id: id(name), title: title(name), fields, done: None, waits: None }
}

/// A line that calls its task done.
pub(crate) fn done_line(number: usize, name: &str, fields: TaskPatch) -> PlanTask {
    PlanTask { done: Some(Done { at: None }), ..line(number, name, fields) }
}

pub(crate) fn names(tasks: &[Task]) -> Vec<&str> {
    tasks.iter().map(|task| task.id.as_str()).collect()
}

/// Why the rules said no.
pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T>) -> Refusal {
    match result {
        Err(StoreError::Refused(refusal)) => refusal,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// Why a plan was not applied, and which line is to blame.
pub(crate) fn plan_refusal<T: std::fmt::Debug>(result: Result<T>) -> (usize, Refusal) {
    match result {
        Err(StoreError::Plan { line, refusal }) => (line, refusal),
        other => panic!("expected a refused line, got {other:?}"),
    }
}

pub(crate) fn transition(name: &str, from: Status, to: Status) -> Refusal {
    let id = id(name);
    Refusal::Transition { id, from, to }
}

/// The steps that most cases are made of. A step that is refused ends the test.
pub(crate) trait Steps {
    fn make(&mut self, name: &str);
    fn make_with(&mut self, name: &str, fields: TaskPatch);
    fn make_feature(&mut self, name: &str);
    fn try_make(&mut self, name: &str, fields: TaskPatch) -> Result<()>;
    fn change(&mut self, name: &str, fields: TaskPatch);
    fn try_change(&mut self, name: &str, fields: TaskPatch) -> Result<()>;
    fn remove(&mut self, names: &[&str]) -> Vec<TaskId>;
    fn try_remove(&mut self, names: &[&str]) -> Result<Vec<TaskId>>;
    /// Claims the named task for a minute, at second 0.
    fn take(&mut self, who: &str, name: &str) -> Claimed;
    fn try_take(&mut self, who: &str, name: Option<&str>, seconds: i64) -> Result<Claimed>;
    /// Claims and finishes.
    fn finish(&mut self, name: &str);
    /// Claims and gives up for good.
    fn give_up(&mut self, name: &str);
    fn task(&mut self, name: &str) -> Task;
    fn status(&mut self, name: &str) -> Status;
    fn ready_names(&mut self) -> Vec<String>;
    fn kinds(&mut self, name: &str) -> Vec<LogKind>;
    fn bring(&mut self, plan: &[PlanTask]) -> SyncReport;
    fn bring_specs(&mut self, plan: &[PlanTask]) -> SyncReport;
    fn try_bring(&mut self, plan: &[PlanTask]) -> Result<SyncReport>;
}

impl Steps for dyn Store + '_ {
    fn make(&mut self, name: &str) {
        self.make_with(name, TaskPatch::default());
    }

    fn make_with(&mut self, name: &str, fields: TaskPatch) {
        self.try_make(name, fields).unwrap();
    }

    fn make_feature(&mut self, name: &str) {
        let own_id = FeatureId::new(format!("f-{name}")).unwrap();
        self.add_feature(own_id, &feature(name), at(0)).unwrap();
    }

    fn try_make(&mut self, name: &str, fields: TaskPatch) -> Result<()> {
        let task = NewTask { fields, ..NewTask::titled(title(name)) };
        self.add(id(name), task, &pat(), at(0))
    }

    fn change(&mut self, name: &str, fields: TaskPatch) {
        self.try_change(name, fields).unwrap();
    }

    fn try_change(&mut self, name: &str, fields: TaskPatch) -> Result<()> {
        self.update(&id(name), fields, &pat(), at(0))
    }

    fn remove(&mut self, names: &[&str]) -> Vec<TaskId> {
        self.try_remove(names).unwrap()
    }

    fn try_remove(&mut self, names: &[&str]) -> Result<Vec<TaskId>> {
        self.delete(DeleteWhich::Ids(ids(names)), &pat(), at(0))
    }

    fn take(&mut self, who: &str, name: &str) -> Claimed {
        self.try_take(who, Some(name), 0).unwrap()
    }

    fn try_take(&mut self, who: &str, name: Option<&str>, seconds: i64) -> Result<Claimed> {
        let request = ClaimRequest {
            agent: agent(who),
            task: name.map(id),
            scope: Scope::All,
            lease: minute(),
        };
        self.claim(&request, at(seconds))
    }

    fn finish(&mut self, name: &str) {
        self.take("worker", name);
        self.done(&id(name), None, &by("worker"), at(0)).unwrap();
    }

    fn give_up(&mut self, name: &str) {
        self.take("worker", name);
        let became = self.fail(&id(name), "no way", true, THREE, &by("worker"), at(0));
        assert_eq!(became.unwrap(), Status::Failed);
    }

    fn task(&mut self, name: &str) -> Task {
        self.get(&id(name)).unwrap()
    }

    fn status(&mut self, name: &str) -> Status {
        self.task(name).status
    }

    fn ready_names(&mut self) -> Vec<String> {
        let ready = self.ready(&Scope::All, 100).unwrap();
        ready.iter().map(|task| task.id.to_string()).collect()
    }

    fn kinds(&mut self, name: &str) -> Vec<LogKind> {
        let log = self.log(&id(name)).unwrap();
        log.into_iter().map(|entry| entry.kind).collect()
    }

    fn bring(&mut self, plan: &[PlanTask]) -> SyncReport {
        self.try_bring(plan).unwrap()
    }

    fn bring_specs(&mut self, plan: &[PlanTask]) -> SyncReport {
        self.sync(plan, SyncMode::ReplaceSpecs, &pat(), at(0)).unwrap()
    }

    fn try_bring(&mut self, plan: &[PlanTask]) -> Result<SyncReport> {
        self.sync(plan, SyncMode::Add, &pat(), at(0))
    }
}

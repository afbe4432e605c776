//! A repository for a server: tasks that a test sets, a stream that it feeds, and a list of what was done.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use ralph_core::TaskId;
use ralph_core::agent::AgentEvent;
use ralph_core::ids::RunId;
use ralph_core::task::{Counts, Task};
use ralph_core::text::Title;
use ralph_core::time::{Timestamp, Zone};
use ralph_core::view::report::Report;
use ralph_core::view::stream::{EventSource, Next, Observation, Observed};
use ralph_ui::ports::{Answer, Board, Ports, Refused, UserAction};
use ralph_ui::runs::RunRow;
use ralph_ui::status::{State, StatusPage};
use serde_json::{Value, json};

/// A handle: its copies are the same repository.
#[derive(Clone, Default)]
pub(crate) struct Fake(Arc<Inner>);

impl std::ops::Deref for Fake {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) version: AtomicU64,
    pub(crate) tasks: Mutex<Vec<Task>>,
    pub(crate) done: Mutex<Vec<UserAction>>,
    /// How often all tasks were read, and how often the status.
    pub(crate) reads: AtomicU64,
    pub(crate) pages: AtomicU64,
    events: Mutex<Vec<Observation>>,
    more: Condvar,
}

impl Fake {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// With so many open tasks, each after the one before.
    pub(crate) fn with_tasks(count: usize) -> Self {
        let fake = Self::new();
        *fake.tasks.lock().unwrap() =
            (0..count).map(|at| task(at, &format!("Task number {at}"))).collect();
        fake
    }

    pub(crate) fn say(&self, text: &str) {
        let event = AgentEvent::Text { text: text.to_owned() };
        self.tell(Observed::Agent { slot: 0, at: Timestamp::from_millis(5), event });
    }

    pub(crate) fn tell(&self, what: Observed) {
        self.events.lock().unwrap().push(Observation { of: 0, what });
        self.more.notify_all();
    }

    pub(crate) fn done(&self) -> Vec<UserAction> {
        self.done.lock().unwrap().clone()
    }
}

pub(crate) fn task(at: usize, title: &str) -> Task {
    let id = |at: usize| TaskId::new(format!("t-{at}")).unwrap();
    let mut task = Task::new(id(at), Title::new(title).unwrap(), Timestamp::from_millis(0));
    task.order = at as u64;
    if at > 0 {
        task.deps = vec![id(at - 1)];
        task.neighbors.open_blockers = 1;
    }
    task
}

impl Ports for Fake {
    fn live(&self) -> Box<dyn EventSource + Send> {
        Box::new(Source { from: self.clone(), place: 0 })
    }

    fn run(&self, run: &RunId) -> Answer<Box<dyn EventSource + Send>> {
        match run.as_str() {
            "r-1" => {
                let all: VecDeque<Observation> =
                    self.events.lock().unwrap().iter().cloned().collect();
                Ok(Box::new(Stored(all)))
            }
            _ => Err(missing("there is no such run")),
        }
    }

    fn board(&self) -> Box<dyn Board> {
        Box::new(FakeBoard(self.clone()))
    }

    fn now(&self) -> Timestamp {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
        Timestamp::from_millis(now.as_millis() as i64)
    }

    fn zone(&self) -> Zone {
        Zone::UTC
    }

    fn root(&self) -> String {
        "/home/me/shop".to_owned()
    }
}

fn missing(message: &str) -> Refused {
    Refused { message: message.to_owned(), hints: vec!["ralph runs".to_owned()], missing: true }
}

struct Source {
    from: Fake,
    place: usize,
}

impl EventSource for Source {
    fn next(&mut self, wait: Duration) -> Next {
        let events = self.from.events.lock().unwrap();
        let is_empty = |events: &mut Vec<Observation>| events.len() <= self.place;
        let (events, _) = self.from.more.wait_timeout_while(events, wait, is_empty).unwrap();
        let next = events.get(self.place).cloned();
        self.place += usize::from(next.is_some());
        next.map_or(Next::Quiet, Next::Seen)
    }
}

struct Stored(VecDeque<Observation>);

impl EventSource for Stored {
    fn next(&mut self, _: Duration) -> Next {
        self.0.pop_front().map_or(Next::Over, Next::Seen)
    }
}

struct FakeBoard(Fake);

impl Board for FakeBoard {
    fn status(&mut self) -> Answer<StatusPage> {
        self.0.pages.fetch_add(1, Ordering::Relaxed);
        Ok(StatusPage {
            state: State::Stopped,
            run: None,
            counts: Counts::default(),
            forecast: None,
            level: None,
            questions: vec![],
            waiting: vec![],
            lanes: vec![],
            last_error: None,
            commits: vec![],
            next: vec!["ralph build".to_owned()],
            now: Timestamp::from_millis(0),
        })
    }

    fn tasks(&mut self) -> Answer<Vec<Task>> {
        self.0.reads.fetch_add(1, Ordering::Relaxed);
        Ok(self.0.tasks.lock().unwrap().clone())
    }

    fn version(&mut self) -> Answer<u64> {
        Ok(self.0.version.load(Ordering::Relaxed))
    }

    fn task(&mut self, id: &TaskId) -> Answer<Value> {
        let tasks = self.0.tasks.lock().unwrap();
        let task = tasks.iter().find(|task| task.id == *id);
        let task = task.ok_or_else(|| missing(&format!("there is no task {id}")))?;
        Ok(json!({"id": id, "title": task.title}))
    }

    fn diff(&mut self, id: &TaskId) -> Answer<String> {
        Err(missing(&format!("{id} has no work yet")))
    }

    fn runs(&mut self) -> Answer<Vec<RunRow>> {
        Ok(vec![])
    }

    fn report(&mut self) -> Answer<Report> {
        Ok(Report::of(vec![], vec![]))
    }

    fn perform(&mut self, action: &UserAction) -> Answer<String> {
        if matches!(action, UserAction::Resume) {
            let message = "no run is active".to_owned();
            return Err(Refused { message, hints: vec!["ralph build".to_owned()], missing: false });
        }
        self.0.done.lock().unwrap().push(action.clone());
        self.0.version.fetch_add(1, Ordering::Relaxed);
        Ok("paused".to_owned())
    }
}

//! The tasks of the plan. A thread of its own reads them when their version changes, so that no viewer waits for a plan of
//! 100,000 tasks; answers come from what it has read last.

mod query;

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use ralph_core::TaskId;
use ralph_core::task::{Counts, Task};
use ralph_core::view::plan_graph::{PlanGraph, plan_graph};
use ralph_ui::ports::{Board, Ports, Refused};
use serde::Serialize;
use tokio::sync::watch;

pub(crate) use query::{Query, TaskJson, number};

use crate::answer;
use crate::live::Live;

/// How often the version is asked for while there are viewers.
const EVERY: Duration = Duration::from_secs(1);
/// How long an answer waits for news of tasks that it has already.
const FRESH: Duration = Duration::from_millis(150);
/// How long the first answer waits.
const FIRST: Duration = Duration::from_secs(60);
/// Reading all tasks may take so much of the time, as one part of so many.
const SHARE: u64 = 5;
/// How many drawings of one version are kept.
const DRAWINGS: usize = 16;

/// The tasks at one version.
pub(crate) struct Plan {
    pub(crate) version: u64,
    tasks: Vec<Task>,
    /// What a search reads of each task, in lower case.
    texts: Vec<String>,
    counts: Counts,
    drawings: Mutex<HashMap<(Option<TaskId>, usize), Bytes>>,
}

#[derive(Default)]
struct State {
    /// How often the version was asked for.
    checks: u64,
    plan: Option<Result<Arc<Plan>, Refused>>,
}

/// The tasks that the server has read last.
pub(crate) struct Plans {
    state: watch::Receiver<State>,
    wake: Mutex<Sender<()>>,
}

impl Plans {
    pub(crate) fn new(ports: Arc<dyn Ports>, live: Arc<Live>) -> Self {
        let (publish, state) = watch::channel(State::default());
        let (wake, woken) = channel();
        std::thread::spawn(move || Reader { ports, live, publish }.follow(&woken));
        Self { state, wake: Mutex::new(wake) }
    }

    /// Asks for the version now: something may have changed.
    pub(crate) fn wake(&self) {
        let _ = self.wake.lock().unwrap_or_else(PoisonError::into_inner).send(());
    }

    /// The tasks, as new as can be had without waiting long.
    pub(crate) async fn current(&self) -> Result<Arc<Plan>, Refused> {
        let mut state = self.state.clone();
        let (before, has_one) = {
            let state = state.borrow();
            (state.checks, matches!(state.plan, Some(Ok(_))))
        };
        self.wake();
        let wait = if has_one { FRESH } else { FIRST };
        let checked = state.wait_for(|state| state.checks > before && state.plan.is_some());
        let _ = tokio::time::timeout(wait, checked).await.map(drop);
        let state = self.state.borrow();
        state.plan.clone().unwrap_or_else(|| Err(answer::because("the tasks cannot be read yet")))
    }
}

/// The thread that reads tasks.
struct Reader {
    ports: Arc<dyn Ports>,
    live: Arc<Live>,
    publish: watch::Sender<State>,
}

impl Reader {
    fn follow(&self, woken: &Receiver<()>) {
        let mut board: Option<Box<dyn Board>> = None;
        // Not before this time is everything read again.
        let mut rest_until = self.ports.now();
        loop {
            match woken.recv_timeout(EVERY) {
                Ok(()) => woken.try_iter().for_each(drop),
                Err(RecvTimeoutError::Timeout) if self.live.viewers() == 0 => continue,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let began = self.ports.now();
            // A clock that was set back must not stop the page.
            let is_resting = rest_until.millis_since(began).clamp(0, 60_000) > 0
                && rest_until.millis_since(began) < 60_000;
            let known = match &self.publish.borrow().plan {
                Some(Ok(plan)) => Some(plan.version),
                _ => None,
            };
            let asked = board.get_or_insert_with(|| self.ports.board());
            let read = match asked.version() {
                Ok(version) if known == Some(version) || (known.is_some() && is_resting) => None,
                Ok(version) => Some(asked.tasks().map(|tasks| Plan::new(version, tasks))),
                Err(refused) => Some(Err(refused)),
            };
            if matches!(read, Some(Err(_))) {
                board = None;
            }
            if let Some(Ok(_)) = &read {
                let now = self.ports.now();
                rest_until = now.plus_millis(now.millis_since(began) * (SHARE - 1));
            }
            self.checked(read, known);
        }
    }

    fn checked(&self, read: Option<Result<Plan, Refused>>, known: Option<u64>) {
        let version = match &read {
            Some(Ok(plan)) => Some(plan.version),
            _ => None,
        };
        self.publish.send_modify(|state| {
            state.checks += 1;
            if let Some(read) = read {
                state.plan = Some(read.map(Arc::new));
            }
        });
        if let Some(version) = version.filter(|_| known.is_some()) {
            self.live.plan_changed(version);
        }
    }
}

#[derive(Serialize)]
struct Drawing<'a> {
    version: u64,
    #[serde(flatten)]
    graph: &'a PlanGraph,
}

impl Plan {
    fn new(version: u64, tasks: Vec<Task>) -> Self {
        let mut counts = Counts::default();
        for task in &tasks {
            counts.add(task.status, task.neighbors.open_blockers > 0, 1);
        }
        let texts = tasks.iter().map(query::text).collect();
        Self { version, tasks, texts, counts, drawings: Mutex::default() }
    }

    /// The answer to a search, as JSON.
    pub(crate) fn list(&self, query: &Query) -> Bytes {
        let places = query.places(&self.tasks, &self.texts);
        let total = places.len();
        let page = places.into_iter().skip(query.offset).take(query.limit);
        let tasks = page.map(|place| TaskJson::of(&self.tasks[place])).collect();
        let (version, counts) = (self.version, self.counts);
        answer::bytes(&query::ListJson { version, total, counts, tasks })
    }

    /// The drawing of the plan, as JSON.
    pub(crate) fn graph(&self, around: Option<TaskId>, limit: usize) -> Bytes {
        let key = (around, limit);
        let kept = || self.drawings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = kept().get(&key) {
            return bytes.clone();
        }
        let graph = plan_graph(&self.tasks, key.0.as_ref(), limit);
        let bytes = answer::bytes(&Drawing { version: self.version, graph: &graph });
        let mut drawings = kept();
        if drawings.len() >= DRAWINGS {
            drawings.clear();
        }
        drawings.insert(key, bytes.clone());
        bytes
    }
}

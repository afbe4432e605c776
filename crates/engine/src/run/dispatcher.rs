//! The one loop.
//!
//! ```text
//!        inputs (effects, timers, signals, controls)
//!              │
//!              ▼
//!   ┌──▶ decide(state, input, now)                pure
//!   │          │ facts, effects
//!   │          ▼
//!   │    stamp ─▶ journal ─▶ evolve ─▶ displays, feed, state.toml
//!   │          │
//!   │          ▼
//!   │    effects, each a task of its own ──────▶ answers are inputs
//!   └──────────┘
//! ```
//!
//! One task, nothing shared, nothing awaited in the body but the next input. Facts are written before
//! their effects run: a crash in between leaves "we meant to", and the next run finds out from the store
//! and from git what really happened.

use std::sync::Arc;

use ralph_core::run::{Control, Effect, Fact, Input, Notice, Outcome, RunEvent, RunState, decide};
use ralph_core::task::Actor;
use ralph_core::view::Reporter;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::crash;
use super::crew::Crew;
use super::display::Display;
use super::setup::Setup;
use super::state_file::Writer;
use super::watch::StoreWatch;
use crate::clock::now;
use crate::feed::Feed;
use crate::ports::{GitError, Store, StoreError};
use crate::process;
use crate::socket::{ControlSocket, Place, PlaceError, SocketError};

/// Why a run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Git.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The folder of the sockets.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The sockets.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// A file of the run.
    #[error("{what}: {source}")]
    Io {
        /// What was touched.
        what: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Runs to the end, and shows it to `reporters`.
pub fn run(setup: Setup, reporters: Vec<Box<dyn Reporter + Send>>) -> Result<Outcome, RunError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|source| RunError::Io { what: "the runtime".to_owned(), source })?;
    let outcome = runtime.block_on(run_inside(setup, reporters));
    // Whatever still waits must not keep the process.
    runtime.shutdown_background();
    outcome
}

async fn run_inside(
    mut setup: Setup,
    reporters: Vec<Box<dyn Reporter + Send>>,
) -> Result<Outcome, RunError> {
    let leftovers = process::end_leftovers(&setup.project.root);
    if leftovers > 0 {
        setup.notices.push(Notice::LeftoversEnded { processes: leftovers });
    }
    let mut store = (setup.open_store)()?;
    let base = super::recover::begin(&mut setup, store.as_mut())?;
    register(&setup, store.as_mut())?;

    let io = |what: &str| {
        let what = what.to_owned();
        move |source| RunError::Io { what, source }
    };
    let (inputs, mut arriving) = mpsc::unbounded_channel();
    let place = Place::make(setup.runtime.as_deref(), &mut setup.ids)?;
    let (controls, mut wishes) = mpsc::channel(16);
    let feed = Feed::open(&setup.logs.journal()).map_err(io("the journal"))?;
    let (status, status_now) = watch::channel(serde_json::Value::Null);
    let inquiry = move |what: &str| (what == "status").then(|| status_now.borrow().clone());
    let control = ControlSocket::open(&place, controls, Arc::new(inquiry), feed.clone())?;
    let me = process::liveness();
    let state_file = Writer {
        path: setup.state_path.clone(),
        run: setup.run.clone(),
        pid: me.pid,
        pid_started: me.pid_started,
        control_socket: Some(control.path().to_owned()),
    };
    let (display, display_thread) = Display::start(reporters);

    let state = RunState::new(setup.policy.clone());
    let begin = begin(&setup, &base);
    let crew = Crew::new(setup, base, store, display.clone(), inputs, place);
    let mut dispatcher = Dispatcher {
        state,
        seq: 0,
        display,
        feed,
        state_file,
        status,
        crew: Arc::clone(&crew),
        tasks: JoinSet::new(),
        journal_broken: false,
    };
    let mut keepers = JoinSet::new();
    keepers.spawn(Arc::clone(&crew).keep_claims());
    let store_watch = StoreWatch::start(&crew.setup.store_path, crew.changed.clone());

    let mut signals = Signals::new().map_err(io("signals"))?;
    let mut outcome = dispatcher.step(&begin);
    crash::point("run-started");
    while outcome.is_none() {
        let input = tokio::select! {
            Some(input) = arriving.recv() => input,
            Some(control) = wishes.recv() => Input::Control(control),
            control = signals.next() => Input::Control(control),
            Some(_) = dispatcher.tasks.join_next() => continue,
        };
        outcome = dispatcher.step(&input);
    }
    crash::point("run-ending");
    keepers.shutdown().await;
    drop(store_watch);
    // Releases that were asked for last are still on their way.
    while dispatcher.tasks.join_next().await.is_some() {}
    dispatcher.feed.close();
    control.finish().await;
    leave(&crew);
    drop(dispatcher);
    drop(crew);
    let _ = tokio::task::spawn_blocking(|| display_thread.finish()).await;
    // The loop ends only with an outcome.
    outcome.ok_or_else(|| RunError::Io {
        what: "the run".to_owned(),
        source: std::io::Error::other("ended without an outcome"),
    })
}

/// The first input.
fn begin(setup: &Setup, base: &crate::ports::RunBase) -> Input {
    let started = Fact::RunStarted {
        policy: setup.policy.clone(),
        ralph: env!("CARGO_PKG_VERSION").to_owned(),
        agent: setup.agent.name().to_owned(),
        agent_ids: setup.agent_ids.clone(),
        target: setup.target.clone(),
        gates: setup.gates.iter().map(|gate| gate.name.clone()).collect(),
        level: "none".to_owned(),
        head: base.head.clone(),
        settled_tree: base.settled_tree.clone(),
        resumed: setup.resume.clone(),
    };
    Input::Begin { started: Box::new(started), notices: setup.notices.clone() }
}

/// Makes the run known, so that others can tell whether it lives.
fn register(setup: &Setup, store: &mut dyn Store) -> Result<(), StoreError> {
    let me = process::liveness();
    for agent in &setup.agent_ids {
        store.register_agent(agent, Some(&me), now())?;
    }
    Ok(())
}

/// The run goes; what it still holds is given back.
fn leave(crew: &Crew) {
    let mut store = crew.store();
    for agent in &crew.setup.agent_ids {
        let by = Actor::Agent(agent.clone(), None);
        let _ = store.deregister_agent(agent, &by, now());
    }
}

struct Dispatcher {
    state: RunState,
    seq: u64,
    display: Display,
    feed: Feed,
    state_file: Writer,
    status: watch::Sender<serde_json::Value>,
    crew: Arc<Crew>,
    tasks: JoinSet<()>,
    journal_broken: bool,
}

impl Dispatcher {
    /// Takes one input; the outcome when it was the last.
    fn step(&mut self, input: &Input) -> Option<Outcome> {
        let at = now();
        let step = decide(&self.state, input, at);
        let events: Vec<RunEvent> = step
            .facts
            .into_iter()
            .map(|fact| {
                self.seq += 1;
                let run = self.crew.setup.run.clone();
                RunEvent { v: RunEvent::VERSION, run, seq: self.seq, at, fact }
            })
            .collect();
        self.record(&events);
        let mut outcome = None;
        for effect in step.effects {
            if let Effect::Finish { outcome: end } = &effect {
                outcome = Some(end.clone());
            }
            self.crew.carry_out(effect, &mut self.tasks);
        }
        // What others are shown can come after what is to be done.
        self.publish(&events);
        outcome
    }

    fn record(&mut self, events: &[RunEvent]) {
        for event in events {
            // Recording must not break a run: a line that is not written costs history, never work.
            if let Err(error) = self.feed.append(event)
                && !self.journal_broken
            {
                self.journal_broken = true;
                let name = self.feed.path().display().to_string();
                self.crew.notice(format!("{name} cannot be written: {error}"));
            }
            self.state.evolve(&event.fact, event.at);
            self.display.event(event);
            if matches!(event.fact, Fact::IterationEnded { .. }) {
                crash::point("iteration-ended");
            }
        }
    }

    fn publish(&mut self, events: &[RunEvent]) {
        if events.is_empty() {
            return;
        }
        let is_kept = |event: &RunEvent| {
            matches!(
                event.fact,
                Fact::RunStarted { .. } | Fact::IterationEnded { .. } | Fact::RunEnded { .. }
            )
        };
        if events.iter().any(is_kept) {
            match self.state_file.write(&self.state) {
                Ok(()) => {}
                Err(error) => {
                    let name = self.state_file.path.display().to_string();
                    self.crew.notice(format!("{name} cannot be written: {error}"));
                }
            }
            crash::point("state-written");
        }
        self.status.send_replace(super::status::of(&self.state));
    }
}

/// Signals of the terminal and of the system.
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
    interrupted: bool,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupted: false,
        })
    }

    /// The first interrupt lets the session finish, anything after it does not.
    async fn next(&mut self) -> Control {
        tokio::select! {
            _ = self.interrupt.recv() => {
                let now = self.interrupted;
                self.interrupted = true;
                Control::Cancel { now }
            }
            _ = self.terminate.recv() => Control::Cancel { now: true },
            _ = self.hangup.recv() => Control::Cancel { now: true },
        }
    }
}

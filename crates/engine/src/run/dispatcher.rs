//! The one loop.
//!
//! ```text
//!        inputs (effects, timers, signals, controls)
//!              │
//!              ▼
//!   ┌──▶ decide(state, input, now)                pure
//!   │          │ facts, effects
//!   │          ▼
//!   │    stamp ─▶ journal ─▶ evolve ─▶ displays, feed
//!   │          │
//!   │          ▼
//!   │    effects ──────▶ answers are inputs
//!   └──────────┘
//! ```
//!
//! One input at a time: a [`Dispatcher`] is behind a lock, and the thread that has an input takes the step itself.
//! So the thread that finished one effect continues with the next; with a separate thread for the loop every effect
//! would cost two thread switches. A step never blocks. Facts are written before their effects run: a crash in
//! between leaves a record of the intent, and the next run finds out from the store and from git what happened.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::agent::Usage;
use ralph_core::ids::RunId;
use ralph_core::records::Spent;
use ralph_core::redact::Secrets;
use ralph_core::run::{
    Cancel, Control, Effect, Fact, Input, Notice, Outcome, RunEvent, RunState, SlotId, TaskBrief,
    decide,
};
use ralph_core::task::{Actor, Generation};
use ralph_core::view::report::Total;
use ralph_core::{TaskId, Timestamp};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::display::{Display, Reader};
use super::ports::Ports;
use super::setup::Setup;
use super::slot_state::SlotState;
use super::watch::StoreWatch;
use crate::crash;
use crate::feed::Feed;
use crate::feed::live::Live;
use crate::interrupts::{Interrupt, Interrupts};
use crate::ports::{Clock, GitError, Store, StoreError};
use crate::process;
use crate::run_files::state_file::Writer;
use crate::socket::{ControlSocket, SocketDir, SocketDirError, SocketError};

/// How far back earlier runs count for the cost of tasks: 90 days.
const LATELY_MS: i64 = 90 * 24 * 3_600_000;

/// Why a run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Git(#[from] GitError),
    /// The folder of the sockets.
    #[error(transparent)]
    Place(#[from] SocketDirError),
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// A file of the run.
    #[error("{what}: {source}")]
    Io {
        what: String,
        #[source]
        source: std::io::Error,
    },
}

/// Runs to the end. Each of the `readers` gets its stream, on a thread of its own.
pub fn run(setup: Setup, readers: Vec<Reader>) -> Result<Ended, RunError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|source| RunError::Io { what: "the runtime".to_owned(), source })?;
    let outcome = runtime.block_on(run_inside(setup, readers));
    // A blocked thread must not keep the process alive.
    runtime.shutdown_background();
    outcome
}

async fn run_inside(mut setup: Setup, readers: Vec<Reader>) -> Result<Ended, RunError> {
    let leftovers = process::end_leftovers(&setup.files.project.root);
    if leftovers > 0 {
        setup.notices.push(Notice::LeftoversEnded { processes: leftovers });
    }
    let mut store = (setup.ports.open_store)()?;
    let base = super::recover::begin(&mut setup, store.as_mut())?;
    register(&setup, store.as_mut())?;

    let io = |what: &str| {
        let what = what.to_owned();
        move |source| RunError::Io { what, source }
    };
    let (inputs, mut arriving) = mpsc::unbounded_channel();
    let place = SocketDir::make(setup.files.runtime.as_deref(), &mut setup.ports.ids)?;
    let (controls, mut wishes) = mpsc::channel(16);
    let feed = Feed::open(&setup.files.logs.journal()).map_err(io("the journal"))?;
    let live = Live::new(feed.path());
    let control = ControlSocket::open(&place, controls, live.clone())?;
    let me = process::liveness();
    let state_file = Writer {
        record: setup.files.record.clone(),
        run: setup.run.clone(),
        pid: me.pid,
        pid_started: me.pid_started,
        control_socket: Some(control.path().to_owned()),
        level: setup.sandbox.level().to_string(),
        request: setup.files.request.clone(),
    };
    let (display, display_threads) = Display::start(readers, setup.files.secrets.clone(), live);

    let earlier = spent_before(store.as_mut(), setup.ports.clock.now())?;
    let begin = begin(&setup, &base, earlier);
    // Before anything else: a run that is killed at its first step keeps its limits, too.
    state_file.begin(&setup.policy, &begin).map_err(io("the record of the run"))?;
    let dispatcher = Dispatcher {
        state: RunState::new(setup.policy.clone()),
        slots: vec![],
        clock: Arc::clone(&setup.ports.clock),
        run: setup.run.clone(),
        secrets: setup.files.secrets.clone(),
        seq: 0,
        display: display.clone(),
        feed,
        journal_broken: false,
        unsaved: false,
        writer: Arc::new(Mutex::new(state_file)),
        outcome: None,
    };
    let ports = Ports::new(setup, base, store, display, inputs, place, dispatcher);
    let mut keepers = JoinSet::new();
    keepers.spawn(Arc::clone(&ports).keep_claims());
    let store_watch = StoreWatch::start(&ports.setup.ports.store_path, ports.changed.clone());

    let mut interrupts = Interrupts::listen().map_err(io("signals"))?;
    ports.take(&begin);
    if ports.setup.paused {
        ports.take(&Input::Control(Control::Pause));
    }
    crash::point("run-started");
    let outcome = loop {
        // Looked at first: what is saved then is the end, too.
        let ended = ports.dispatcher().outcome.clone();
        save(&ports);
        if let Some(outcome) = ended {
            break outcome;
        }
        let input = tokio::select! {
            Some(input) = arriving.recv() => input,
            Some(received) = wishes.recv() => {
                ports.take_control(received);
                look_or_not(&ports);
                continue;
            }
            interrupt = interrupts.next() => meaning(interrupt),
            () = ports.news.notified() => continue,
        };
        ports.take(&input);
        look_or_not(&ports);
    };
    crash::point("run-ending");
    keepers.shutdown().await;
    drop(store_watch);
    // Releases that were asked for last are still on their way.
    loop {
        let mut tasks = ports.all_tasks();
        if tasks.is_empty() {
            break;
        }
        // They may start others.
        while tasks.join_next().await.is_some() {}
    }
    ports.forget_sessions();
    ports.dispatcher().display.end();
    control.finish().await;
    leave(&ports);
    let notes = crate::run::tidy::tidy(&ports);
    drop(ports);
    let _ = tokio::task::spawn_blocking(|| display_threads.finish()).await;
    Ok(Ended { outcome, notes })
}

/// A run that starts nothing new gives up a look at the plan that is under way.
fn look_or_not(ports: &Ports) {
    let ends = ports.dispatcher().state.cancel >= Some(Cancel::AfterSession);
    ports.stops_looking.store(ends, Ordering::Relaxed);
}

/// A run that is over.
#[derive(Debug)]
pub struct Ended {
    pub outcome: Outcome,
    /// What could not be cleaned up after it, in sentences.
    pub notes: Vec<String>,
}

/// What recent runs spent, to forecast this one.
fn spent_before(store: &mut dyn Store, now: Timestamp) -> Result<Spent, StoreError> {
    let since = Timestamp::from_millis(now.as_millis().saturating_sub(LATELY_MS));
    Ok(Total::of(&store.history(since)?).spent())
}

/// The first input.
fn begin(setup: &Setup, base: &crate::ports::RunBase, earlier: Spent) -> Input {
    let started = Fact::RunStarted {
        policy: Box::new(setup.policy.clone()),
        ralph: env!("CARGO_PKG_VERSION").to_owned(),
        agent: setup.agent.program.agent.name.to_owned(),
        agent_ids: setup.agent_ids.clone(),
        target: setup.work.target.clone(),
        gates: setup.gates.specs.iter().map(|gate| gate.name.clone()).collect(),
        level: setup.sandbox.level().to_string(),
        head: base.head.clone(),
        branch: base.branch.clone().filter(|_| {
            let project = &setup.files.project;
            project.worktree != project.root
        }),
        settled_tree: base.settled_tree.clone(),
        resumed: setup.resume.clone().map(Box::new),
        earlier,
    };
    Input::Begin { started: Box::new(started), notices: setup.notices.clone() }
}

/// Registers the run, so that others can see whether it is alive.
fn register(setup: &Setup, store: &mut dyn Store) -> Result<(), StoreError> {
    let me = process::liveness();
    for agent in &setup.agent_ids {
        store.register_agent(agent, Some(&me), setup.ports.clock.now())?;
    }
    Ok(())
}

/// The run ends; its remaining claims are released.
fn leave(ports: &Ports) {
    let mut store = ports.store();
    for agent in &ports.setup.agent_ids {
        let by = Actor::Agent(agent.clone(), None);
        let _ = store.deregister_agent(agent, &by, ports.now());
    }
}

/// Writes the record if there is something new in it.
fn save(ports: &Ports) {
    if ports.dispatcher().unsaved {
        record(ports);
        crash::point("state-written");
    }
}

/// Writes the record of the run as it is now. One at a time, so that a later state is never replaced by
/// an earlier one.
pub(super) fn record(ports: &Ports) {
    let writer = Arc::clone(&ports.dispatcher().writer);
    let writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
    let text = {
        let mut dispatcher = ports.dispatcher();
        dispatcher.unsaved = false;
        writer.text(&dispatcher.state, ports.now())
    };
    if let Err(error) = text.and_then(|text| writer.record.write(&text)) {
        ports.notice(format!("{} cannot be written: {error}", writer.record.copy.display()));
    }
}

/// The state of the loop, and how a step is taken.
pub(super) struct Dispatcher {
    state: RunState,
    /// The state of each slot; absent while an activity has it.
    pub(super) slots: Vec<Option<Box<SlotState>>>,
    clock: Arc<dyn Clock>,
    run: RunId,
    secrets: Secrets,
    seq: u64,
    display: Display,
    feed: Feed,
    journal_broken: bool,
    /// `state.toml` is behind.
    unsaved: bool,
    writer: Arc<Mutex<Writer>>,
    outcome: Option<Outcome>,
}

/// What a step leads to.
pub(super) struct Next {
    pub(super) effects: Vec<Effect>,
    /// The writer of `state.toml`, or a waiter for the end, has to check.
    pub(super) news: bool,
    /// Why the journal is not whole; reported once.
    pub(super) journal_error: Option<String>,
}

impl Dispatcher {
    /// Takes one input. It has no effect once the run has ended.
    pub(super) fn step(&mut self, input: &Input) -> Next {
        let input = &input.redacted(&self.secrets);
        let mut next = Next { effects: vec![], news: false, journal_error: None };
        if self.outcome.is_some() {
            return next;
        }
        let at = self.clock.now();
        let step = decide(&self.state, input, at);
        let events: Vec<RunEvent> = step
            .facts
            .into_iter()
            .map(|fact| {
                self.seq += 1;
                let run = self.run.clone();
                RunEvent { v: RunEvent::VERSION, run, seq: self.seq, at, fact }
            })
            .collect();
        next.journal_error = self.record(events);
        next.effects = step.effects;
        for effect in &next.effects {
            if let Effect::Finish { outcome } = effect {
                self.outcome = Some(outcome.clone());
            }
        }
        next.news = self.unsaved || self.outcome.is_some();
        next
    }

    /// Whether a slot waits for a time or a change.
    pub(super) fn waits(&self, slot: SlotId) -> bool {
        self.state.slot(slot).is_some_and(|slot| slot.wait.is_some())
    }

    /// Whether the loop has heard of this message about the task of a slot.
    pub(super) fn knows_message(&self, slot: SlotId, number: u32) -> bool {
        self.state.slot(slot).is_some_and(|slot| slot.knows_message(number))
    }

    /// What all sessions used so far.
    pub(super) fn spent(&self) -> Usage {
        self.state.usage
    }

    /// The task that the loop works on in each slot, and its claim.
    pub(super) fn taken(&self) -> Vec<Option<(TaskId, Generation)>> {
        let task = |task: &TaskBrief| (task.id.clone(), task.generation);
        self.state.slots.iter().map(|slot| slot.task().map(task)).collect()
    }

    /// Hands out the state of a slot; `None` while an activity has it.
    pub(super) fn take_slot(&mut self, slot: SlotId) -> Option<Box<SlotState>> {
        self.slots.get_mut(slot as usize)?.take()
    }

    /// Takes the state of a slot back from its activity.
    pub(super) fn give_back(&mut self, slot: Box<SlotState>) {
        if let Some(place) = self.slots.get_mut(slot.id as usize) {
            *place = Some(slot);
        }
    }

    fn record(&mut self, events: Vec<RunEvent>) -> Option<String> {
        if events.is_empty() {
            return None;
        }
        // Recording must not break a run: a line that is not written costs history, never work.
        let failed = self.feed.append(&events).err().filter(|_| !self.journal_broken);
        self.journal_broken |= failed.is_some();
        for event in &events {
            self.state.evolve(&event.fact, event.at);
            self.unsaved |= matches!(
                event.fact,
                Fact::RunStarted { .. }
                    // Its cost must be recorded, whatever happens while it is judged.
                    | Fact::SessionEnded { .. }
                    | Fact::IterationEnded { .. }
                    | Fact::RunEnded { .. }
            );
            if matches!(event.fact, Fact::IterationEnded { .. }) {
                crash::point("iteration-ended");
            }
        }
        self.display.events(events);
        failed.map(|error| format!("{} cannot be written: {error}", self.feed.path().display()))
    }
}

/// What a request to stop means for the run. A user presses Ctrl-C once more to get further; TERM and HUP stop it at
/// once, and the session has its grace.
const fn meaning(interrupt: Interrupt) -> Input {
    match interrupt {
        Interrupt::CtrlC => Input::CtrlC,
        Interrupt::Terminate => Input::Control(Control::Cancel(Cancel::Now)),
    }
}

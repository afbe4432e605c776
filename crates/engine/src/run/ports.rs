//! What the activities of a run share: its setup, its ports and the way back to the loop. Nothing in here belongs to
//! one slot; an activity has the state of its slot alone while it runs.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ralph_core::ids::AttemptId;
use ralph_core::run::{Effect, Input, Notice, Port, SlotId};
use ralph_core::task::Generation;
use ralph_core::{AgentId, TaskId, Timestamp};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::dispatcher::Dispatcher;
use super::display::Display;
use super::plan::{PlanSource, source};
use super::setup::Setup;
use super::slot_state::SlotState;
use super::store_file::StoreFile;
use super::telling::Messages;
use super::workspace::Workspace;
use crate::entropy::Ids;
use crate::ports::{GitError, RunBase, Store, StoreError};
use crate::process::{Said, Stop};
use crate::run::activity::publish::Publisher;
use crate::run::checks::baseline::Baseline;
use crate::run_files::costs::{UnattributedCost, sessions_before};

/// The result of an effect: an input for the loop, or a failed port.
pub(super) type Answer = Result<Input, Failed>;

/// A port that failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) port: Port,
    pub(super) error: String,
    pub(super) for_good: bool,
}

impl Failed {
    pub(super) fn new(port: Port, error: impl std::fmt::Display, for_good: bool) -> Self {
        Self { port, error: error.to_string(), for_good }
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        let passes = matches!(
            error,
            StoreError::Locked { .. } | StoreError::DiskFull { .. } | StoreError::Failed { .. }
        );
        Self::new(Port::Store, &error, !passes)
    }
}

impl From<GitError> for Failed {
    fn from(error: GitError) -> Self {
        let needs_user_action = matches!(
            error,
            GitError::NotStarted(_)
                | GitError::NoIdentity { .. }
                | GitError::OtherBranch { .. }
                | GitError::InProgress { .. }
                | GitError::Unmerged { .. }
        );
        let remedy = match &error {
            GitError::NoIdentity { .. } => {
                " (git config user.name \"Your Name\"; git config user.email you@example.com)"
                    .to_owned()
            }
            GitError::OtherBranch { expected: Some(branch), .. } => {
                format!(" (to go back: git switch {branch})")
            }
            _ => String::new(),
        };
        Self::new(Port::Git, format!("{error}{remedy}"), needs_user_action)
    }
}

/// How the loop reaches what runs in a slot, or waits there.
#[derive(Default)]
struct SlotControl {
    /// Stops what runs.
    stop: watch::Sender<Stop>,
    /// Takes texts for the session that runs there, if one does.
    says: Mutex<Option<mpsc::Sender<Said>>>,
    /// Speaks to the session that runs.
    told: Mutex<Messages>,
    /// What wakes it.
    waker: Mutex<Option<JoinHandle<()>>>,
    /// How many changes of the store were known when it last looked at the plan.
    seen: AtomicU64,
}

/// What the activities of a run share.
pub(super) struct Ports {
    pub(super) setup: Setup,
    pub(super) plan: Arc<dyn PlanSource>,
    /// The user's worktree, as a place to work in.
    pub(super) home: Arc<Workspace>,
    pub(super) display: Display,
    pub(super) inputs: mpsc::UnboundedSender<Input>,
    pub(super) sockets: crate::socket::SocketDir,
    store: Mutex<Box<dyn Store>>,
    pub(super) store_file: StoreFile,
    ids: Mutex<Ids>,
    controls: Vec<SlotControl>,
    sessions: AtomicU32,
    dispatcher: Mutex<Dispatcher>,
    tasks: Mutex<JoinSet<()>>,
    /// A step has done something that others wait for.
    pub(super) news: Notify,
    /// Claims that this run ended itself: no other process took them.
    released: Mutex<HashSet<(TaskId, Generation)>>,
    /// The files that the task of each slot is about, where tasks run side by side.
    pub(super) touching: Mutex<Vec<Vec<String>>>,
    /// Commits of tasks that are in the history of the branch.
    merged: Mutex<HashSet<String>>,
    /// Sessions whose cost may be in no attempt.
    unattributed: Mutex<Vec<UnattributedCost>>,
    /// What the gates said before the first session.
    pub(super) baseline: tokio::sync::OnceCell<Baseline>,
    /// Signals that some process changed the store.
    pub(super) changed: watch::Sender<u64>,
    /// What the pushes of the run share.
    pub(super) publisher: Publisher,
    /// The run starts nothing new: a look at the plan that is under way is given up.
    pub(super) stops_looking: Arc<AtomicBool>,
}

impl Ports {
    pub(super) fn new(
        mut setup: Setup,
        base: RunBase,
        store: Box<dyn Store>,
        display: Display,
        inputs: mpsc::UnboundedSender<Input>,
        sockets: crate::socket::SocketDir,
        mut dispatcher: Dispatcher,
    ) -> Arc<Self> {
        let store_file = StoreFile::opened(&setup.ports.store_path);
        let ids = std::mem::replace(&mut setup.ports.ids, Ids::new(Some(0)));
        let gate_inputs = setup.gate_inputs(&setup.files.project, setup.ports.vcs.as_ref());
        let home = Arc::new(Workspace::new(
            setup.files.project.clone(),
            Arc::clone(&setup.ports.vcs),
            setup.work.folder.clone(),
            base,
            gate_inputs,
            None,
        ));
        let slots = setup.agent_ids.iter().zip(0..);
        dispatcher.slots =
            slots.map(|(agent, id)| Some(SlotState::new(id, agent, &home))).collect();
        let logs =
            setup.files.logs.folder.parent().filter(|_| setup.policy.budget.day_micro_usd > 0);
        let today = setup.ports.clock.now().day_began();
        let unattributed = logs.map(|logs| sessions_before(logs, today)).unwrap_or_default();
        Arc::new(Self {
            plan: source(&setup),
            home,
            display,
            inputs,
            sockets,
            store: Mutex::new(store),
            store_file,
            ids: Mutex::new(ids),
            controls: setup.agent_ids.iter().map(|_| SlotControl::default()).collect(),
            sessions: AtomicU32::new(0),
            dispatcher: Mutex::new(dispatcher),
            tasks: Mutex::default(),
            news: Notify::new(),
            released: Mutex::default(),
            touching: Mutex::new(vec![vec![]; setup.agent_ids.len()]),
            merged: Mutex::default(),
            unattributed: Mutex::new(unattributed),
            baseline: tokio::sync::OnceCell::new(),
            changed: watch::Sender::new(0),
            publisher: Publisher::default(),
            stops_looking: Arc::default(),
            setup,
        })
    }

    /// The time of the run.
    pub(super) fn now(&self) -> Timestamp {
        self.setup.ports.clock.now()
    }

    /// The store. Calls take microseconds; while holding it, do not wait for anything else.
    pub(super) fn store(&self) -> MutexGuard<'_, Box<dyn Store>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop. While holding it, do not wait for anything else.
    pub(super) fn dispatcher(&self) -> MutexGuard<'_, Dispatcher> {
        self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that was started and may still be under way.
    pub(super) fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks
    }

    /// The same, to be awaited.
    pub(super) fn all_tasks(&self) -> JoinSet<()> {
        std::mem::take(&mut *self.tasks())
    }

    fn control(&self, slot: SlotId) -> &SlotControl {
        // The loop hands out only slots that exist.
        &self.controls[(slot as usize).min(self.controls.len() - 1)]
    }

    /// Stops what runs in a slot.
    pub(super) fn stop(&self, slot: SlotId) -> &watch::Sender<Stop> {
        &self.control(slot).stop
    }

    /// Takes texts for the session that runs in a slot: [`Ports::say`].
    pub(super) fn says(&self, slot: SlotId) -> MutexGuard<'_, Option<mpsc::Sender<Said>>> {
        self.control(slot).says.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the session of a slot is spoken to.
    pub(super) fn told(&self, slot: SlotId) -> &Mutex<Messages> {
        &self.control(slot).told
    }

    /// What wakes a slot.
    pub(super) fn waker(&self, slot: SlotId) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.control(slot).waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many changes of the store a slot knew when it last looked at the plan.
    pub(super) fn seen(&self, slot: SlotId) -> u64 {
        self.control(slot).seen.load(Ordering::Relaxed)
    }

    pub(super) fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id under which a slot claims.
    pub(super) fn agent_id(&self, slot: SlotId) -> &AgentId {
        let ids = &self.setup.agent_ids;
        &ids[(slot as usize).min(ids.len() - 1)]
    }

    pub(super) fn new_attempt(&self) -> Result<AttemptId, Failed> {
        self.ids().attempt().map_err(|error| Failed::new(Port::Store, error, true))
    }

    /// This run is about to end this claim.
    pub(super) fn mark_released(&self, task: &TaskId, generation: Generation) {
        let mut all = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((task.clone(), generation));
    }

    /// Commits of tasks that are in the history of the branch.
    pub(super) fn merged(&self) -> MutexGuard<'_, HashSet<String>> {
        self.merged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sessions whose cost may be in no attempt.
    pub(super) fn unattributed(&self) -> MutexGuard<'_, Vec<UnattributedCost>> {
        self.unattributed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this run ended this claim itself.
    pub(super) fn was_released(&self, task: &TaskId, generation: Generation) -> bool {
        let all = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        all.contains(&(task.clone(), generation))
    }

    /// The slot is about to look at the plan: what changes from now on is news to it.
    pub(super) fn looks(&self, slot: SlotId) {
        self.control(slot).seen.store(*self.changed.borrow(), Ordering::Relaxed);
    }

    /// A number that no other session of this run has.
    pub(super) fn next_session(&self) -> u32 {
        self.sessions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Queues an input for the loop. Neither results of effects nor notices are queued: [`Ports::answer`],
    /// [`Ports::notify`].
    pub(super) fn send(&self, input: Input) {
        // The receiver is gone only when the run has ended.
        let _ = self.inputs.send(input);
    }

    /// Records a notice and shows it. Not queued: the run could end before it is read.
    pub(super) fn notify(&self, notice: Notice) {
        self.step(&Input::Notice(notice));
    }

    /// The same for a sentence.
    pub(super) fn notice(&self, text: impl Into<String>) {
        self.notify(Notice::Other { text: text.into() });
    }

    /// Takes a step, and starts its effects.
    pub(super) fn take(self: &Arc<Self>, input: &Input) {
        for effect in self.step(input) {
            self.start(effect);
        }
    }

    /// Takes a step; the caller starts its effects.
    pub(super) fn step(&self, input: &Input) -> Vec<Effect> {
        let next = self.dispatcher().step(input);
        if let Some(error) = next.journal_error {
            self.notice(error);
        }
        if next.news {
            self.news.notify_one();
        }
        next.effects
    }

    /// Sends the result of an activity to the loop, and the state of its slot with it.
    pub(super) fn answer(self: &Arc<Self>, slot: Box<SlotState>, answer: Answer) {
        for effect in self.step_with(slot, answer) {
            self.start(effect);
        }
    }

    /// The same; the caller starts the effects.
    pub(super) fn step_with(&self, slot: Box<SlotState>, answer: Answer) -> Vec<Effect> {
        let input = input(slot.id, answer);
        self.dispatcher().give_back(slot);
        self.step(&input)
    }
}

/// The result of an effect, as an input of the loop.
fn input(slot: SlotId, answer: Answer) -> Input {
    answer.unwrap_or_else(|Failed { port, error, for_good }| Input::PortFailed {
        slot,
        port,
        error,
        for_good,
    })
}

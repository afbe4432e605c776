//! What the effects of a run share.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ralph_core::agent::Usage;
use ralph_core::ids::AttemptId;
use ralph_core::plan::Proposals;
use ralph_core::records::FileChange;
use ralph_core::run::{Effect, GateReport, Input, Notice, Port, SlotId};
use ralph_core::task::{Actor, Generation};
use ralph_core::{AgentId, TaskId, Timestamp};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::baseline::Baseline;
use super::daily_cost::{UnattributedCost, sessions_before};
use super::dispatcher::Dispatcher;
use super::display::Display;
use super::judging_inputs::JudgingInputs;
use super::publish::Publisher;
use super::setup::Setup;
use super::store_file::StoreFile;
use super::workspace::Workspace;
use crate::entropy::Ids;
use crate::plan_file::{Requested, SyncedPlan};
use crate::ports::{Candidate, GitError, Peek, RunBase, Store, StoreError};
use crate::process::Stop;
use crate::trust::SessionWatch;

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

/// Why an iteration failed.
#[derive(Debug, Clone, Default)]
pub(super) struct Failure {
    pub(super) reason: String,
    pub(super) tries: u32,
    pub(super) gates: Vec<GateReport>,
}

/// The state of a slot's iteration besides what the loop decides by.
pub(super) struct SlotKit {
    /// The worktree of its task; `None` is the user's.
    pub(super) workspace: Option<Arc<Workspace>>,
    /// Ends what runs in the slot.
    pub(super) stop: watch::Sender<Stop>,
    /// The first line of the commit that was made for it before it lands.
    pub(super) subject: Option<String>,
    /// The work of its session is not on its branch, and where it is saved.
    pub(super) off_branch: Option<String>,
    /// It was rebased onto what has landed since.
    pub(super) rebased: bool,
    /// The branch that its work goes to is held for it.
    pub(super) holds: bool,
    /// The tree that is being judged.
    pub(super) candidate: Option<Candidate>,
    /// What the gates said of it.
    pub(super) gates: Vec<GateReport>,
    /// A tree, and the files in which it differs from the accepted one.
    pub(super) changes: Option<(String, Vec<FileChange>)>,
    /// Two trees, the accepted one first, and which tests the second makes weaker, a sentence each.
    pub(super) weakened: Option<([String; 2], Vec<String>)>,
    /// Protected files that it changes.
    pub(super) protected: Vec<String>,
    /// The end of what the session said last.
    pub(super) last_message: String,
    /// What looked like a signal in its last message and did not count.
    pub(super) ignored: Vec<String>,
    /// What the session used.
    pub(super) usage: Usage,
    /// The look at the plan that its session was shown.
    pub(super) peek: Option<Peek>,
    /// The plan file as it was when the iteration began.
    pub(super) plan: Option<SyncedPlan>,
    /// What was said about lines of the plan file.
    pub(super) warned: HashSet<String>,
    /// What its session asked for by the plan file.
    pub(super) asked: Option<Requested>,
    /// The tasks that its session proposed.
    pub(super) proposals: Option<Proposals>,
    /// The outcome is written to the plan file.
    pub(super) plan_written: bool,
    /// Paths that changed while gates ran and may be the gates' own.
    pub(super) unsure: BTreeSet<String>,
    /// Submodules with work in them that were named.
    pub(super) submodules: Vec<String>,
    /// What the next session has to know about the worktree.
    pub(super) workspace_note: Option<String>,
    /// Why the iteration is tried again, for its next session.
    pub(super) failure: Option<Failure>,
    /// How many changes of the store were known when it last looked.
    pub(super) seen: u64,
    /// What wakes it.
    pub(super) waker: Option<JoinHandle<()>>,
    /// The number of its iteration.
    pub(super) iteration: u32,
    /// When its session began.
    pub(super) since: Timestamp,
    /// The deciding files when its session began.
    pub(super) deciding: Option<SessionWatch>,
}

/// Shared by all effects.
pub(super) struct Crew {
    pub(super) setup: Setup,
    /// The user's worktree, as a place to work in.
    pub(super) home: Arc<Workspace>,
    pub(super) display: Display,
    pub(super) inputs: mpsc::UnboundedSender<Input>,
    pub(super) sockets: crate::socket::SocketDir,
    store: Mutex<Box<dyn Store>>,
    /// Its file.
    pub(super) store_file: StoreFile,
    ids: Mutex<Ids>,
    slots: Vec<Mutex<SlotKit>>,
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

impl Crew {
    pub(super) fn new(
        mut setup: Setup,
        base: RunBase,
        store: Box<dyn Store>,
        display: Display,
        inputs: mpsc::UnboundedSender<Input>,
        sockets: crate::socket::SocketDir,
        dispatcher: Dispatcher,
    ) -> Arc<Self> {
        let kit = || {
            Mutex::new(SlotKit {
                workspace: None,
                subject: None,
                off_branch: None,
                rebased: false,
                holds: false,
                stop: watch::Sender::new(Stop::Go),
                candidate: None,
                gates: vec![],
                changes: None,
                weakened: None,
                protected: vec![],
                last_message: String::new(),
                ignored: vec![],
                usage: Usage::default(),
                peek: None,
                plan: None,
                warned: HashSet::new(),
                asked: None,
                proposals: None,
                plan_written: false,
                unsure: BTreeSet::new(),
                submodules: vec![],
                workspace_note: None,
                failure: None,
                seen: 0,
                waker: None,
                iteration: 0,
                since: Timestamp::default(),
                deciding: None,
            })
        };
        let store_file = StoreFile::opened(&setup.ports.store_path);
        let slots = setup.agent_ids.iter().map(|_| kit()).collect();
        let touching = Mutex::new(vec![vec![]; setup.agent_ids.len()]);
        let ids = std::mem::replace(&mut setup.ports.ids, Ids::new(Some(0)));
        let judging_inputs =
            JudgingInputs::of(&setup, &setup.files.project, setup.ports.vcs.as_ref());
        let home = Workspace::new(
            setup.files.project.clone(),
            Arc::clone(&setup.ports.vcs),
            setup.work.folder.clone(),
            base,
            judging_inputs,
            None,
        );
        let logs =
            setup.files.logs.folder.parent().filter(|_| setup.policy.budget.day_micro_usd > 0);
        let today = crate::clock::now().day_began();
        let unattributed = logs.map(|logs| sessions_before(logs, today)).unwrap_or_default();
        Arc::new(Self {
            setup,
            home: Arc::new(home),
            display,
            inputs,
            sockets,
            store: Mutex::new(store),
            store_file,
            ids: Mutex::new(ids),
            slots,
            sessions: AtomicU32::new(0),
            dispatcher: Mutex::new(dispatcher),
            tasks: Mutex::default(),
            news: Notify::new(),
            released: Mutex::default(),
            touching,
            merged: Mutex::default(),
            unattributed: Mutex::new(unattributed),
            baseline: tokio::sync::OnceCell::new(),
            changed: watch::Sender::new(0),
            publisher: Publisher::default(),
            stops_looking: Arc::default(),
        })
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

    /// The kit of a slot.
    pub(super) fn kit(&self, slot: SlotId) -> MutexGuard<'_, SlotKit> {
        // The loop hands out only slots that exist.
        let index = (slot as usize).min(self.slots.len() - 1);
        self.slots[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a slot works.
    pub(super) fn workspace(&self, slot: SlotId) -> Arc<Workspace> {
        self.kit(slot).workspace.as_ref().map_or_else(|| Arc::clone(&self.home), Arc::clone)
    }

    pub(super) fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id under which a slot claims.
    pub(super) fn agent_id(&self, slot: SlotId) -> &AgentId {
        let ids = &self.setup.agent_ids;
        &ids[(slot as usize).min(ids.len() - 1)]
    }

    /// The slot as the actor of store calls.
    pub(super) fn actor(&self, slot: SlotId, generation: Generation) -> Actor {
        Actor::Agent(self.agent_id(slot).clone(), Some(generation))
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
        let known = *self.changed.borrow();
        self.kit(slot).seen = known;
    }

    /// A number that no other session of this run has.
    pub(super) fn next_session(&self) -> u32 {
        self.sessions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Queues an input for the loop. Results of effects are not queued: [`Crew::answer`].
    pub(super) fn send(&self, input: Input) {
        // The receiver is gone only when the run has ended.
        let _ = self.inputs.send(input);
    }

    /// Shows users a notice. It has no other effect.
    pub(super) fn notice(&self, text: impl Into<String>) {
        self.step(&Input::Notice(Notice::Other { text: text.into() }));
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

    /// Sends the result of an effect to the loop.
    pub(super) fn answer(self: &Arc<Self>, slot: SlotId, answer: Answer) {
        self.take(&input(slot, answer));
    }
}

/// The result of an effect, as an input of the loop.
pub(super) fn input(slot: SlotId, answer: Answer) -> Input {
    answer.unwrap_or_else(|Failed { port, error, for_good }| Input::PortFailed {
        slot,
        port,
        error,
        for_good,
    })
}

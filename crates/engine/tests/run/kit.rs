//! A world for runs: what its sessions do, what its gates say, and what is left of it.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ralph_core::policy::strategy::{Strategy, TierNames};
use ralph_core::records::{Attempt, Evidence};
use ralph_core::run::{
    Class, Control, Fact, FallbackAgent, Notice, Outcome, Picker, Policy, RunEvent, StopReason,
    Verifier, VerifierModel,
};
use ralph_core::task::{Actor, NewTask, RetryLimit, Status, Task, TaskPatch};
use ralph_core::text::Title;
use ralph_core::view::part::Part;
use ralph_core::view::{Reporter, show, words};
use ralph_core::{AgentId, TaskId, Timestamp};
use ralph_engine::entropy::Ids;
use ralph_engine::gates::{GateRules, GateSpec};
use ralph_engine::ports::{Clock, Store};
use ralph_engine::run::setup::OpenStore;
use ralph_engine::run::{PromptStyle, Reader, Setup, run};
use ralph_engine::run_files::RunLogs;
use ralph_engine::store::SqliteStore;
use ralph_testkit::fake_vcs::FakeVcs;
use ralph_testkit::setup::{Base, agent, setup};
use ralph_testkit::shared_store::SharedStore;

use crate::plays::{Gate, Requests, ScriptedPrograms, send_control};
pub(crate) use crate::plays::{
    Inside, Play, claude_hits_limit, crashes, done, hits_limit, picks, says, stays, works,
};

/// When every first run begins: 2026-11-15 02:45 UTC.
pub(crate) const START: i64 = 1_794_710_700_000;

type Change = Box<dyn Fn(&mut Setup)>;

/// A control that a user sends once, at the first of these facts.
type Reaction = (fn(&Fact) -> bool, Control);

/// A repository with a plan, in which one run after the other works.
pub(crate) struct World {
    folder: Arc<tempfile::TempDir>,
    pub(crate) vcs: Arc<FakeVcs>,
    pub(crate) policy: Policy,
    pub(crate) rules: GateRules,
    plays: Vec<Play>,
    gates: Vec<(String, Gate)>,
    open_store: OpenStore,
    clock: Arc<VirtualClock>,
    agent: &'static str,
    /// What else differs from the usual setup.
    changes: Vec<Change>,
    runs: u64,
    /// The next run continues the last one, where that was interrupted.
    continues: bool,
    /// What a user does once the run has told something.
    reaction: Option<Reaction>,
}

/// What is left of a run.
pub(crate) struct Played {
    pub(crate) outcome: Outcome,
    pub(crate) events: Vec<RunEvent>,
    pub(crate) vcs: Arc<FakeVcs>,
    pub(crate) sessions: usize,
    /// The arguments of each session.
    pub(crate) arguments: Vec<Vec<String>>,
    /// The program of each session.
    pub(crate) programs: Vec<String>,
    /// How long it took by its own clock.
    pub(crate) took_ms: i64,
    folder: Arc<tempfile::TempDir>,
    open_store: OpenStore,
}

/// A folder in memory, where the machine has one.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

/// A task database in memory: nothing waits for a file that changes.
fn in_memory() -> OpenStore {
    let store = SharedStore::default();
    Arc::new(move || Ok(Box::new(store.clone()) as Box<dyn Store>))
}

pub(crate) fn user() -> Actor {
    Actor::User(AgentId::new("user").unwrap())
}

impl World {
    /// A repository with one commit, and these tasks.
    pub(crate) fn new(tasks: &[&str]) -> Self {
        let world = Self::empty();
        for id in tasks {
            world.add(id, TaskPatch::default());
        }
        world
    }

    /// The same with a task database in a file, where changes of the file matter.
    pub(crate) fn on_disk(tasks: &[&str]) -> Self {
        let mut world = Self::empty();
        let path = world.folder.path().join(".ralph/progress.db");
        world.open_store = Arc::new(move || {
            SqliteStore::open(&path).map(|store| Box::new(store) as Box<dyn Store>)
        });
        for id in tasks {
            world.add(id, TaskPatch::default());
        }
        world
    }

    fn empty() -> Self {
        let folder = Arc::new(folder());
        let git = folder.path().join(".git");
        for name in ["objects", "refs"] {
            std::fs::create_dir_all(git.join(name)).unwrap();
        }
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::create_dir_all(folder.path().join(".ralph/logs")).unwrap();
        let vcs = Arc::new(FakeVcs::new());
        vcs.write("README.md", "A repository\n");
        vcs.commit_all("first");
        let policy = Policy { strategy: Strategy::Agent, port_retries: 3, ..Policy::default() };
        let clock = Arc::new(VirtualClock(AtomicI64::new(START - 1_000), AtomicBool::new(false)));
        Self {
            folder,
            open_store: in_memory(),
            vcs,
            policy,
            rules: GateRules::default(),
            plays: vec![],
            gates: vec![],
            clock,
            agent: "script",
            changes: vec![],
            runs: 0,
            continues: false,
            reaction: None,
        }
    }

    /// Adds a task with these fields to the plan.
    pub(crate) fn add(&self, id: &str, fields: TaskPatch) {
        add(&mut *self.store(), id, fields, self.clock.tick());
    }

    pub(crate) fn store(&self) -> Box<dyn Store> {
        (self.open_store)().unwrap()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.tick()
    }

    /// A file that is committed before the run.
    pub(crate) fn has(self, path: &str, text: &str) -> Self {
        self.vcs.write(path, text);
        self.vcs.commit_all("more");
        self
    }

    /// The sessions, one after the other.
    pub(crate) fn plays(mut self, plays: impl IntoIterator<Item = Play>) -> Self {
        self.plays.extend(plays);
        self
    }

    pub(crate) fn gate(
        mut self,
        name: &str,
        gate: impl Fn(&Inside) -> (i32, String) + Send + Sync + 'static,
    ) -> Self {
        self.gates.push((name.to_owned(), Arc::new(gate)));
        self
    }

    /// With a verifier: its sessions come in turn with the others.
    pub(crate) fn verified(mut self) -> Self {
        let agent = self.agent.to_owned();
        let verifier = Verifier { agent, model: VerifierModel::Same };
        self.policy.verify = Some(Box::new(verifier));
        self
    }

    pub(crate) fn policy(mut self, change: impl FnOnce(&mut Policy)) -> Self {
        change(&mut self.policy);
        self
    }

    pub(crate) fn setup(mut self, change: impl Fn(&mut Setup) + 'static) -> Self {
        self.changes.push(Box::new(change));
        self
    }

    /// At most one session.
    pub(crate) fn once(self) -> Self {
        self.policy(|policy| policy.max_sessions = Some(1))
    }

    /// The preset `pick`: the agent chooses from a look at the plan.
    pub(crate) fn picking(self) -> Self {
        let world = self.policy(|policy| {
            policy.preset = "pick".to_owned();
            policy.picker = Picker::Agent;
            policy.retries = RetryLimit::Unlimited;
            policy.graph = false;
        });
        world.setup(|setup| setup.agent.style = PromptStyle::Peek)
    }

    /// Sessions that speak as Claude Code does.
    pub(crate) fn with_claude(mut self) -> Self {
        self.agent = "claude";
        self
    }

    /// While the agent is at a limit, these work in its place.
    pub(crate) fn with_fallback(self, agents: &'static [&'static str]) -> Self {
        let stands_in =
            |name: &&str| FallbackAgent { name: (*name).to_owned(), tiers: TierNames::default() };
        let world = self.policy(|policy| policy.fallback = agents.iter().map(stands_in).collect());
        world.setup(|setup| {
            let program = |name: &&str| agent(name, Path::new(name));
            setup.agent.fallback = agents.iter().map(program).collect();
        })
    }

    /// The next run continues this one, if it was interrupted.
    pub(crate) fn continuing(&mut self) -> &mut Self {
        self.continues = true;
        self
    }

    /// A user sends this control when the run tells that; waits do not end by themselves.
    pub(crate) fn reacting(mut self, control: Control, to: fn(&Fact) -> bool) -> Self {
        self.reaction = Some((to, control));
        self.clock.1.store(true, Ordering::Relaxed);
        self
    }

    /// Runs these sessions to the end.
    pub(crate) fn build(&mut self, plays: impl IntoIterator<Item = Play>) -> Played {
        self.plays = plays.into_iter().collect();
        self.run()
    }

    /// Runs it to its end.
    pub(crate) fn run(&mut self) -> Played {
        self.runs += 1;
        if self.runs > 1 {
            // The logs of runs are named by the second.
            self.clock.0.fetch_add(60_000, Ordering::Relaxed);
        }
        self.clock.0.fetch_max(START, Ordering::Relaxed);
        let started = self.clock.0.load(Ordering::Relaxed);
        let open_store = Arc::clone(&self.open_store);
        let events = Arc::new(Mutex::new(vec![]));
        let programs = Arc::new(ScriptedPrograms {
            vcs: Arc::clone(&self.vcs),
            plays: Mutex::new(std::mem::take(&mut self.plays).into()),
            gates: self.gates.clone(),
            sessions: Mutex::default(),
            repo: self.folder.path().canonicalize().unwrap(),
            events: Arc::clone(&events),
            open_store: Arc::clone(&open_store),
            programs: Mutex::default(),
            clock: Arc::clone(&self.clock),
        });
        let mut setup = setup(Base {
            repo: self.folder.path(),
            ralph: Path::new("ralph"),
            ids: Ids::new(Some(self.runs)),
            open_store: Arc::clone(&open_store),
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            vcs: Arc::clone(&self.vcs) as _,
        });
        setup.ports.programs = Arc::clone(&programs) as _;
        setup.ports.handler = Arc::new(Requests(open_store, Arc::clone(&self.clock)));
        setup.agent.program = agent(self.agent, Path::new(self.agent));
        setup.policy = self.policy.clone();
        setup.agent.prompting.retries = self.policy.retries;
        setup.gates.rules = self.rules.clone();
        let gate = |(name, _): &(String, Gate)| GateSpec {
            name: name.clone(),
            command: format!("run {name}"),
            timeout: Duration::from_secs(60),
        };
        setup.gates.specs = self.gates.iter().map(gate).collect();
        let verifies = self.policy.verify.is_some();
        setup.gates.verifier = verifies.then(|| agent(self.agent, Path::new(self.agent)));
        if std::mem::take(&mut self.continues) {
            let files = &setup.files;
            let earlier = files.record.interrupted(&files.project, "build").unwrap();
            setup.resume = earlier.map(|earlier| earlier.state.resume(vec![]));
        }
        for change in &self.changes {
            change(&mut setup);
        }
        let mut recorder = Recorder {
            events: Arc::clone(&events),
            repo: self.folder.path().to_owned(),
            reaction: self.reaction.clone(),
        };
        let reader: Reader =
            Box::new(move |source| show(source, Part::Whole, &mut recorder, |last| last));
        let ended = run(setup, vec![reader]).unwrap();
        assert_eq!(ended.notes, Vec::<String>::new());
        let arguments = programs.sessions.lock().unwrap().clone();
        let events = events.lock().unwrap().clone();
        Played {
            outcome: ended.outcome,
            events,
            vcs: Arc::clone(&self.vcs),
            sessions: arguments.len(),
            arguments,
            programs: programs.programs.lock().unwrap().clone(),
            took_ms: self.clock.0.load(Ordering::Relaxed) - started,
            folder: Arc::clone(&self.folder),
            open_store: Arc::clone(&self.open_store),
        }
    }
}

impl Played {
    /// A task as the task database has it now.
    pub(crate) fn task(&self, id: &str) -> Task {
        self.store().get(&task_id(id)).unwrap()
    }

    pub(crate) fn status(&self, id: &str) -> Status {
        self.task(id).status
    }

    /// Why the task is as it is.
    pub(crate) fn reason_of(&self, id: &str) -> String {
        self.task(id).reason.unwrap_or_default()
    }

    pub(crate) fn store(&self) -> Box<dyn Store> {
        (self.open_store)().unwrap()
    }

    pub(crate) fn evidence(&self, id: &str) -> Vec<Evidence> {
        self.store().evidence(&task_id(id)).unwrap()
    }

    pub(crate) fn attempts(&self, id: &str) -> Vec<Attempt> {
        self.store().attempts(&task_id(id)).unwrap()
    }

    /// The texts of a task's log.
    pub(crate) fn log(&self, id: &str) -> String {
        let log = self.store().log(&task_id(id)).unwrap();
        log.into_iter().map(|entry| entry.text + "\n").collect()
    }

    /// The first lines of the commits after the first one.
    pub(crate) fn commits(&self) -> Vec<String> {
        let log = self.vcs.log().into_iter().skip(1).map(|commit| commit.subject);
        log.filter(|subject| subject != "more").collect()
    }

    /// The paths that the last commit changed or added.
    pub(crate) fn committed(&self, path: &str) -> Option<String> {
        self.vcs.file_in(&self.vcs.log().last()?.id, path)
    }

    pub(crate) fn ralph_dir(&self) -> PathBuf {
        self.folder.path().join(".ralph")
    }

    /// A file of the newest run.
    fn path(&self, name: &str) -> PathBuf {
        let logs = RunLogs::all(&self.folder.path().join(".ralph/logs")).unwrap();
        logs.iter().map(|logs| &logs.folder).max().unwrap().join(name)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn has_file(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The text about the task that a session got.
    pub(crate) fn prompt(&self, iteration: u32) -> String {
        self.file(&format!("iteration-{iteration:03}.task.md"))
    }

    pub(crate) fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.events.iter().map(|event| &event.fact)
    }

    /// What became of each iteration.
    pub(crate) fn classes(&self) -> Vec<Class> {
        let class = |fact: &Fact| match fact {
            Fact::IterationEnded { class, .. } => Some(*class),
            _ => None,
        };
        self.facts().filter_map(class).collect()
    }

    pub(crate) fn notices(&self) -> impl Iterator<Item = &Notice> {
        self.facts().filter_map(|fact| match fact {
            Fact::Noticed { notice } => Some(notice),
            _ => None,
        })
    }

    /// The notices, as every display words them.
    pub(crate) fn noticed(&self) -> String {
        self.notices().map(|notice| words::notice(notice) + "\n").collect()
    }

    pub(crate) fn reason(&self) -> &StopReason {
        &self.outcome.reason
    }

    /// The models that the sessions were started with.
    pub(crate) fn models(&self) -> Vec<String> {
        let model = |fact: &Fact| match fact {
            Fact::IterationStarted { model, .. } => Some(model.clone().unwrap_or_default()),
            _ => None,
        };
        self.facts().filter_map(model).collect()
    }

    /// The number of each iteration that began.
    pub(crate) fn iterations(&self) -> Vec<u32> {
        let number = |fact: &Fact| match fact {
            Fact::IterationStarted { iteration, .. } => Some(*iteration),
            _ => None,
        };
        self.facts().filter_map(number).collect()
    }

    /// How many iterations began.
    pub(crate) fn started(&self) -> usize {
        self.models().len()
    }

    /// Where unfinished work of a task was saved, and what a file holds there.
    pub(crate) fn saved(&self, task: &str, path: &str) -> Option<String> {
        let refs = self.vcs.refs();
        let mut of_task =
            refs.iter().filter(|(name, _)| name.starts_with(&format!("refs/ralph/wip/{task}/")));
        of_task.find_map(|(_, commit)| self.vcs.file_in(commit, path))
    }
}

/// Adds a task with these fields.
pub(crate) fn add(store: &mut dyn Store, id: &str, fields: TaskPatch, now: Timestamp) {
    let title = Title::new(format!("Title of {id}")).unwrap();
    store.add(task_id(id), NewTask { id: None, title, fields }, &user(), now).unwrap();
}

pub(crate) fn task_id(id: &str) -> TaskId {
    TaskId::new(id).unwrap()
}

/// A clock that stands still, and jumps to the end of every wait, unless waits are to last.
pub(crate) struct VirtualClock(pub(crate) AtomicI64, AtomicBool);

impl VirtualClock {
    /// A moment later.
    pub(crate) fn tick(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }

    fn sleep_until<'a>(&'a self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            if self.1.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            self.0.fetch_max(at.as_millis(), Ordering::Relaxed);
        })
    }
}

struct Recorder {
    events: Arc<Mutex<Vec<RunEvent>>>,
    repo: PathBuf,
    reaction: Option<Reaction>,
}

impl Reporter for Recorder {
    fn event(&mut self, event: &RunEvent) {
        self.events.lock().unwrap().push(event.clone());
        if let Some((_, control)) = self.reaction.take_if(|(so, _)| so(&event.fact)) {
            send_control(&self.repo, &control);
        }
    }
}

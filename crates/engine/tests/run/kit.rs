//! A world for a run: what its sessions do, what its gates say, and what is left of it.

use std::collections::VecDeque;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{future::Future, pin::Pin};

use ralph_core::agent::{AgentEvent, ProcessEnd};
use ralph_core::attempt::prompt::RULES;
use ralph_core::policy::strategy::Strategy;
use ralph_core::redact::Secrets;
use ralph_core::run::{
    Fact, Outcome, Policy, RunEvent, SlotId, StopReason, Verifier, VerifierModel,
};
use ralph_core::task::{Actor, NewTask, RetryLimit, Task, TaskPatch};
use ralph_core::text::Title;
use ralph_core::view::Reporter;
use ralph_core::{AgentId, Lease, TaskId, Timestamp};
use ralph_engine::agents;
use ralph_engine::context::FeatureTexts;
use ralph_engine::entropy::Ids;
use ralph_engine::gates::{GateRules, GateSpec};
use ralph_engine::ports::{Clock, KeepSaves, Scope, Store};
use ralph_engine::process::{Ended, Listener, Watch};
use ralph_engine::project::Project;
use ralph_engine::prompts::Prompting;
use ralph_engine::prompts::Template;
use ralph_engine::run::{
    AgentProgram, AgentSetup, FileSetup, GateSetup, PortSetup, PromptStyle, Setup, WorkSetup, run,
};
use ralph_engine::run_files::state_file::{Record, Request};
use ralph_engine::run_files::{RunLogs, WorktreeLock};
use ralph_engine::sandbox::{self, Program, ProgramKind, Programs, Ran};
use ralph_engine::socket::{Call, Reply, SessionIdentity, SessionRequestHandler};
use ralph_engine::store::SqliteStore;
use ralph_engine::trust::{Deciding, Trust};
use ralph_testkit::fake_vcs::FakeVcs;

/// When every run begins: 2026-11-15 02:45 UTC.
pub(crate) const START: i64 = 1_794_710_700_000;

/// What a session does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Play {
    /// Files that it writes.
    files: Vec<(String, String)>,
    /// Lines that it prints, before its last words.
    lines: Vec<String>,
    /// Its last words; `{id}` is its task.
    says: Option<String>,
    /// How its process ends, where that is not in order.
    crash: Option<i32>,
}

/// A session that says this last.
pub(crate) fn says(text: &str) -> Play {
    Play { says: Some(text.to_owned()), ..Play::default() }
}

/// A session that calls its task done.
pub(crate) fn done() -> Play {
    says("<task-done>{id}</task-done>")
}

/// A session whose process ends with this code, without a word.
pub(crate) fn crashes(code: i32) -> Play {
    Play { crash: Some(code), ..Play::default() }
}

/// A session that hits a usage limit, which resets at this time.
pub(crate) fn hits_limit(resets_at: i64) -> Play {
    let line = format!(r#"{{"event":"limit","resets_at_ms":{resets_at}}}"#);
    Play { lines: vec![line], ..Play::default() }
}

impl Play {
    pub(crate) fn writes(mut self, path: &str, text: &str) -> Self {
        self.files.push((path.to_owned(), text.to_owned()));
        self
    }

    /// It reports this cost, in millionths of a dollar.
    pub(crate) fn costs(mut self, micro_usd: u64) -> Self {
        self.lines.push(format!(
            r#"{{"event":"usage","usage":{{"input_tokens":10,"output_tokens":2,"cost_micro_usd":{micro_usd},"turns":null,"requests":null}}}}"#
        ));
        self
    }
}

/// What a gate says of the files: its exit code, and what it prints.
type Gate = Box<dyn Fn(&FakeVcs) -> (i32, String) + Send + Sync>;

/// The world of one run.
pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) vcs: Arc<FakeVcs>,
    pub(crate) policy: Policy,
    plays: Vec<Play>,
    gates: Vec<(String, Gate)>,
    clock: Arc<VirtualClock>,
}

/// What is left of a run.
pub(crate) struct Played {
    pub(crate) outcome: Outcome,
    pub(crate) events: Vec<RunEvent>,
    pub(crate) vcs: Arc<FakeVcs>,
    pub(crate) sessions: u32,
    /// How long it took by its own clock.
    pub(crate) took_ms: i64,
    folder: tempfile::TempDir,
}

impl World {
    /// A repository with one commit, and these tasks.
    pub(crate) fn new(tasks: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".git")).unwrap();
        std::fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::create_dir_all(folder.path().join(".git/objects")).unwrap();
        std::fs::create_dir_all(folder.path().join(".git/refs")).unwrap();
        std::fs::create_dir_all(folder.path().join(".ralph/logs")).unwrap();
        let vcs = Arc::new(FakeVcs::new());
        vcs.write("README.md", "A repository\n");
        vcs.commit_all("first");
        let mut store = SqliteStore::open(&folder.path().join(".ralph/progress.db")).unwrap();
        let by = Actor::User(AgentId::new("user").unwrap());
        for (number, id) in (0..).zip(tasks) {
            let title = Title::new(format!("Title of {id}")).unwrap();
            let task = NewTask { id: None, title, fields: TaskPatch::default() };
            store
                .add(task_id(id), task, &by, Timestamp::from_millis(START - 1_000 + number))
                .unwrap();
        }
        let policy = Policy { strategy: Strategy::Agent, port_retries: 3, ..Policy::default() };
        let clock = Arc::new(VirtualClock(AtomicI64::new(START)));
        Self { folder, vcs, policy, plays: vec![], gates: vec![], clock }
    }

    /// The sessions, one after the other.
    pub(crate) fn plays(mut self, plays: impl IntoIterator<Item = Play>) -> Self {
        self.plays.extend(plays);
        self
    }

    pub(crate) fn gate(
        mut self,
        name: &str,
        gate: impl Fn(&FakeVcs) -> (i32, String) + Send + Sync + 'static,
    ) -> Self {
        self.gates.push((name.to_owned(), Box::new(gate)));
        self
    }

    /// With a verifier: its sessions come in turn with the others.
    pub(crate) fn verified(mut self) -> Self {
        let verifier = Verifier { agent: "script".to_owned(), model: VerifierModel::Same };
        self.policy.verify = Some(Box::new(verifier));
        self
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Played {
        let gates: Vec<GateSpec> = self
            .gates
            .iter()
            .map(|(name, _)| GateSpec {
                name: name.clone(),
                command: format!("run {name}"),
                timeout: Duration::from_secs(60),
            })
            .collect();
        let programs = Arc::new(ScriptedPrograms {
            vcs: Arc::clone(&self.vcs),
            plays: Mutex::new(self.plays.into()),
            gates: self.gates,
            sessions: Mutex::new(0),
        });
        let events = Arc::new(Mutex::new(vec![]));
        let (clock, vcs) = (self.clock, self.vcs);
        let has_verifier = self.policy.verify.is_some();
        let setup = setup(
            self.folder.path(),
            self.policy,
            gates,
            has_verifier,
            (Arc::clone(&programs), Arc::clone(&vcs), Arc::clone(&clock)),
        );
        let ended = run(setup, vec![Box::new(Recorder(Arc::clone(&events)))]).unwrap();
        assert_eq!(ended.notes, Vec::<String>::new());
        let events = events.lock().unwrap().clone();
        let sessions = *programs.sessions.lock().unwrap();
        let took_ms = clock.0.load(Ordering::Relaxed) - START;
        Played { outcome: ended.outcome, events, vcs, sessions, took_ms, folder: self.folder }
    }
}

impl Played {
    /// A task as the task database has it now.
    pub(crate) fn task(&self, id: &str) -> Task {
        self.store().get(&task_id(id)).unwrap()
    }

    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.folder.path().join(".ralph/progress.db")).unwrap()
    }

    /// The first lines of the commits after the first one.
    pub(crate) fn commits(&self) -> Vec<String> {
        self.vcs.log().into_iter().skip(1).map(|commit| commit.subject).collect()
    }

    /// The text about the task that a session got.
    pub(crate) fn prompt(&self, iteration: u32) -> String {
        let logs = RunLogs::all(&self.folder.path().join(".ralph/logs")).unwrap();
        let name = format!("iteration-{iteration:03}.task.md");
        std::fs::read_to_string(logs[0].folder.join(name)).unwrap()
    }

    pub(crate) fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.events.iter().map(|event| &event.fact)
    }

    pub(crate) fn reason(&self) -> &StopReason {
        &self.outcome.reason
    }
}

fn task_id(id: &str) -> TaskId {
    TaskId::new(id).unwrap()
}

/// A clock that stands still, and jumps to the end of every wait.
struct VirtualClock(AtomicI64);

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }

    fn sleep_until<'a>(&'a self, at: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            self.0.fetch_max(at.as_millis(), Ordering::Relaxed);
        })
    }
}

/// Plays sessions and gates without a process.
struct ScriptedPrograms {
    vcs: Arc<FakeVcs>,
    plays: Mutex<VecDeque<Play>>,
    gates: Vec<(String, Gate)>,
    sessions: Mutex<u32>,
}

impl ScriptedPrograms {
    fn session(
        &self,
        task: &str,
        listener: &mut dyn Listener,
        mut raw: Option<&mut (dyn Write + Send)>,
    ) -> ProcessEnd {
        let mut print = |line: &str| {
            if let Some(raw) = &mut raw {
                raw.write_all(format!("{line}\n").as_bytes()).unwrap();
            }
            listener.stdout(line.as_bytes(), false);
        };
        *self.sessions.lock().unwrap() += 1;
        let Some(play) = self.plays.lock().unwrap().pop_front() else {
            return ProcessEnd::NotStarted { error: "there is no session left".to_owned() };
        };
        print(r#"{"event":"started","version":"0.1.0"}"#);
        for (path, text) in &play.files {
            self.vcs.write(path, text);
        }
        for line in &play.lines {
            print(line);
        }
        if let Some(text) = &play.says {
            let text = text.replace("{id}", task);
            print(&serde_json::json!({ "event": "say", "text": text }).to_string());
            print(r#"{"event":"result","duration_ms":5}"#);
        }
        ProcessEnd::Exited { code: play.crash.unwrap_or(0) }
    }
}

impl Programs for ScriptedPrograms {
    fn run<'a>(
        &'a self,
        program: Program<'a>,
        listener: &'a mut dyn Listener,
        raw: Option<&'a mut (dyn Write + Send)>,
    ) -> Ran<'a> {
        Box::pin(async move {
            let value = |name: &str| {
                let found = program.command.env.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.to_string_lossy().into_owned()).unwrap_or_default()
            };
            let end = match program.sandboxed.kind {
                ProgramKind::Session | ProgramKind::Verifier => {
                    self.session(&value("RALPH_TASK_ID"), listener, raw)
                }
                _ => {
                    let name = value("RALPH_GATE");
                    let (_, gate) = self.gates.iter().find(|(known, _)| *known == name).unwrap();
                    let (code, text) = gate(&self.vcs);
                    for line in text.lines() {
                        listener.stdout(line.as_bytes(), false);
                    }
                    ProcessEnd::Exited { code }
                }
            };
            (Ended { end, ..Ended::never_ran(String::new()) }, vec![])
        })
    }
}

struct Recorder(Arc<Mutex<Vec<RunEvent>>>);

impl Reporter for Recorder {
    fn event(&mut self, event: &RunEvent) {
        self.0.lock().unwrap().push(event.clone());
    }

    fn agent(&mut self, _: SlotId, _: &AgentEvent) {}

    fn tick(&mut self, _: Timestamp) {}

    fn finish(&mut self) {}
}

/// No session asks for anything by a command.
struct NoRequests;

impl SessionRequestHandler for NoRequests {
    fn answer(&self, _: &SessionIdentity, _: &Call) -> Reply {
        Reply::default()
    }
}

fn setup(
    folder: &Path,
    policy: Policy,
    gates: Vec<GateSpec>,
    has_verifier: bool,
    (programs, vcs, clock): (Arc<ScriptedPrograms>, Arc<FakeVcs>, Arc<VirtualClock>),
) -> Setup {
    let project = Project::find(folder).unwrap();
    let store_path = project.ralph_dir().join("progress.db");
    let opened = store_path.clone();
    let mut ids = Ids::new(Some(7));
    let agent = || AgentProgram {
        agent: agents::find("script").unwrap(),
        executable: "script".into(),
        extra_args: vec![],
        cassette: None,
    };
    Setup {
        run: ids.run().unwrap(),
        agent_ids: vec![ids.slot_agent().unwrap()],
        resume: None,
        paused: false,
        notices: vec![],
        shared_budget: None,
        publish: None,
        work: WorkSetup {
            scope: Scope::All,
            target: "all tasks".to_owned(),
            plan: None,
            deliverable: None,
            about: None,
            folder: folder.to_owned(),
            recent_attempts: 5,
            pool: None,
            earlier: None,
            keep_saves: KeepSaves::default(),
        },
        agent: AgentSetup {
            program: agent(),
            tools: vec![],
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            watch: Watch::default(),
            style: PromptStyle::System,
            prompting: Prompting {
                test_command: String::new(),
                template: Template::built_in(RULES),
                feature: FeatureTexts::default(),
                skill_folders: vec![],
                learn: false,
                retries: RetryLimit::AtMost(3),
                budget: 12_000,
                rules: Template::built_in(RULES),
                mode: "build".to_owned(),
                plan_file: None,
                branch: None,
                bare: false,
                known: None,
                idea: None,
            },
        },
        gates: GateSetup {
            specs: gates,
            rules: GateRules::default(),
            environment: vec![],
            sandboxed_environment: vec![],
            verifier: has_verifier.then(agent),
        },
        sandbox: Arc::new(no_sandbox(&project)),
        files: FileSetup {
            lock: WorktreeLock::take(&project.ralph_dir()).unwrap(),
            logs: RunLogs::create(&folder.join(".ralph/logs"), clock.now()).unwrap(),
            keep_raw: true,
            record: Record::of(None, &project, "build"),
            request: Request::default(),
            deciding: Deciding {
                trust: Trust::of(Some(&folder.join(".ralph")), &project),
                home: project.worktree.clone(),
                named: vec![],
                found: Arc::new(|_| None),
                open: true,
            },
            runtime: Some(folder.to_owned()),
            disk_floor: 0,
            secrets: Secrets::default(),
            project,
        },
        ports: PortSetup {
            open_store: Arc::new(move || {
                SqliteStore::open(&opened).map(|store| Box::new(store) as Box<dyn Store>)
            }),
            store_path,
            lease: Lease::DEFAULT,
            clock,
            programs,
            vcs,
            handler: Arc::new(NoRequests),
            peek_text: Arc::new(|_| String::new()),
            ids,
            ralph: "ralph".into(),
        },
        policy,
    }
}

fn no_sandbox(project: &Project) -> sandbox::Sandbox {
    let config = sandbox::SandboxConfig {
        project: project.clone(),
        homes: vec![],
        environment: vec![],
        caches: sandbox::Caches::of(&project.root, &project.root),
        ralph: "ralph".into(),
        programs: vec![],
        hidden: vec![],
        writable: vec![],
        readable: vec![],
        home: sandbox::Home::masked(),
        sockets: vec![],
        limits: sandbox::Limits::default(),
        network: sandbox::Network::of_machine(),
        agents: vec![],
    };
    let none = sandbox::Wanted::Exactly(sandbox::Level::None);
    sandbox::choose(none, config).expect("there is always none").sandbox
}

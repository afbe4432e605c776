//! What sessions and gates of a world do, without a process.

use std::collections::VecDeque;
use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_core::run::{Control, Fact, Request, RequestedOutcome, RunEvent};
use ralph_core::task::TaskPatch;
use ralph_core::{Lease, TaskId, Timestamp};
use ralph_engine::ports::{ClaimRequest, Clock, Scope, Store};
use ralph_engine::process::{Ended, Listener, Said, Stop};
use ralph_engine::run::setup::OpenStore;
use ralph_engine::sandbox::{Program, ProgramKind, Programs, Ran};
use ralph_engine::socket::{Call, Reply, SessionIdentity, SessionRequestHandler, client};
use ralph_testkit::fake_vcs::FakeVcs;
use ralph_testkit::wait_until;
use tokio::sync::mpsc;

use crate::kit::{VirtualClock, add};

const PATIENCE: Duration = Duration::from_secs(20);

type Act = Arc<dyn Fn(&Inside) + Send + Sync>;

/// A step of a session.
#[derive(Clone)]
enum Step {
    Act(Act),
    /// A line that it prints.
    Prints(String),
    /// Words; `{id}` is its task.
    Says(String),
}

/// What a session does.
#[derive(Clone, Default)]
pub(crate) struct Play {
    steps: Vec<Step>,
    /// It prints its result.
    finishes: bool,
    /// It does not end by itself.
    stays: bool,
    /// It takes texts of the user and confirms none.
    is_deaf: bool,
    /// How its process ends, where that is not in order.
    end: Option<ProcessEnd>,
}

/// A session that says this last.
pub(crate) fn says(text: &str) -> Play {
    Play::default().says(text)
}

/// A session that calls its task done.
pub(crate) fn done() -> Play {
    says("<task-done>{id}</task-done>")
}

/// A session that does its task: a file with the task's name, and done.
pub(crate) fn works() -> Play {
    done().writes("{id}.txt", "work\n")
}

/// A session whose process ends with this code, without a word.
pub(crate) fn crashes(code: i32) -> Play {
    Play::default().ends(ProcessEnd::Exited { code })
}

/// A session that hits a usage limit, which resets at this time.
pub(crate) fn hits_limit(resets_at: i64) -> Play {
    Play::default().prints(&format!(r#"{{"event":"limit","resets_at_ms":{resets_at}}}"#))
}

/// The same of Claude Code, whose words these are.
pub(crate) fn claude_hits_limit(resets_at: i64) -> Play {
    let seconds = resets_at / 1000;
    let window = format!(
        r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","resetsAt":{seconds}}}}}"#
    );
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"result":"no","api_error_status":429}"#;
    let play = Play::default().prints(&window).prints(failed);
    play.ends(ProcessEnd::Exited { code: 1 })
}

/// A session that is there until it is stopped.
pub(crate) fn stays() -> Play {
    Play { stays: true, ..Play::default() }
}

/// Where the agent picks: it claims a task, does it and asks for done.
pub(crate) fn picks(task: &str) -> Play {
    says("finished")
        .asks(&["claim", task])
        .asks(&["done", task])
        .writes(&format!("{task}.txt"), "work\n")
}

impl Play {
    pub(crate) fn says(mut self, text: &str) -> Self {
        self.steps.push(Step::Says(text.to_owned()));
        self.finishes = true;
        self
    }

    /// Before its last words.
    fn before(mut self, step: Step) -> Self {
        let is_words = |step: &Step| matches!(step, Step::Says(_));
        let at = self.steps.iter().rposition(is_words).unwrap_or(self.steps.len());
        self.steps.insert(at, step);
        self
    }

    pub(crate) fn does(self, act: impl Fn(&Inside) + Send + Sync + 'static) -> Self {
        self.before(Step::Act(Arc::new(act)))
    }

    pub(crate) fn deaf(self) -> Self {
        Self { is_deaf: true, ..self }
    }

    pub(crate) fn prints(self, line: &str) -> Self {
        self.before(Step::Prints(line.to_owned()))
    }

    pub(crate) fn writes(self, path: &str, text: &str) -> Self {
        let (path, text) = (path.to_owned(), text.to_owned());
        self.does(move |inside| inside.write(&path.replace("{id}", &inside.task), &text))
    }

    pub(crate) fn removes(self, path: &str) -> Self {
        let path = path.to_owned();
        self.does(move |inside| inside.remove(&path))
    }

    /// It commits everything.
    pub(crate) fn commits(self, subject: &str) -> Self {
        let subject = subject.to_owned();
        self.does(move |inside| drop(inside.commit_all(&subject)))
    }

    /// It asks ralph for something, as `ralph task` does.
    pub(crate) fn asks(self, words: &[&str]) -> Self {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        self.does(move |inside| drop(inside.ask(&words)))
    }

    /// It reports this cost, in millionths of a dollar.
    pub(crate) fn costs(self, micro_usd: u64) -> Self {
        self.uses(Some(micro_usd))
    }

    /// It reports tokens, and perhaps a price.
    pub(crate) fn uses(self, micro_usd: Option<u64>) -> Self {
        let usage = serde_json::json!({
            "input_tokens": 1000, "output_tokens": 10, "cost_micro_usd": micro_usd, "turns": null, "requests": null
        });
        self.prints(&serde_json::json!({ "event": "usage", "usage": usage }).to_string())
    }

    pub(crate) fn ends(mut self, end: ProcessEnd) -> Self {
        self.end = Some(end);
        self
    }
}

/// What a session or a gate sees of the world.
pub(crate) struct Inside {
    vcs: Arc<FakeVcs>,
    pub(crate) task: String,
    /// Where its program runs.
    folder: PathBuf,
    /// The arguments of its program.
    pub(crate) arguments: Vec<String>,
    repo: PathBuf,
    socket: PathBuf,
    events: Arc<Mutex<Vec<RunEvent>>>,
    open_store: OpenStore,
    clock: Arc<VirtualClock>,
    stays: AtomicBool,
}

impl Deref for Inside {
    type Target = FakeVcs;

    fn deref(&self) -> &FakeVcs {
        &self.vcs
    }
}

impl Inside {
    /// A file where the program runs: in the worktree, or in a checkout.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        match self.folder == self.repo {
            true => self.vcs.read(path),
            false => std::fs::read_to_string(self.folder.join(path)).ok(),
        }
    }

    pub(crate) fn store(&self) -> Box<dyn Store> {
        (self.open_store)().unwrap()
    }

    /// The gate does not end by itself.
    pub(crate) fn stay(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }

    pub(crate) fn ask(&self, words: &[impl AsRef<str>]) -> Reply {
        let words = words.iter().map(|word| word.as_ref().to_owned());
        client::call(&self.socket, &Call::new(words)).unwrap()
    }

    fn controls(&self) -> usize {
        let is_control = |event: &&RunEvent| matches!(event.fact, Fact::ControlReceived { .. });
        self.events.lock().unwrap().iter().filter(is_control).count()
    }

    /// A user sends a control to the run, which takes it in.
    pub(crate) fn control(&self, control: &Control) {
        let before = self.controls();
        self.send_control(control);
        wait_until("the control", PATIENCE, || self.controls() > before);
    }

    /// The same, where the run may end before it tells.
    pub(crate) fn send_control(&self, control: &Control) {
        send_control(&self.repo, control);
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.tick()
    }

    /// Time passes.
    pub(crate) fn pass(&self, millis: i64) {
        self.clock.0.fetch_add(millis, Ordering::Relaxed);
    }

    pub(crate) fn ralph_dir(&self) -> PathBuf {
        self.repo.join(".ralph")
    }

    /// A user adds a task to the plan.
    pub(crate) fn add_task(&self, id: &str) {
        add(&mut *self.store(), id, TaskPatch::default(), self.now());
    }

    pub(crate) fn wait_until(&self, what: &str, so: impl FnMut() -> bool) {
        wait_until(what, PATIENCE, so);
    }
}

/// Sends a control to the run in this repository.
pub(crate) fn send_control(repo: &Path, control: &Control) {
    let state = std::fs::read_to_string(repo.join(".ralph/state.toml")).unwrap();
    let state: toml::Table = state.parse().unwrap();
    let socket = state["control_socket"].as_str().unwrap();
    client::control(Path::new(socket), control).unwrap();
}

/// What a gate says of the files: its exit code, and what it prints.
pub(crate) type Gate = Arc<dyn Fn(&Inside) -> (i32, String) + Send + Sync>;

/// Plays sessions and gates without a process.
pub(crate) struct ScriptedPrograms {
    pub(crate) vcs: Arc<FakeVcs>,
    pub(crate) plays: Mutex<VecDeque<Play>>,
    pub(crate) gates: Vec<(String, Gate)>,
    pub(crate) sessions: Mutex<Vec<Vec<String>>>,
    /// The program of each session.
    pub(crate) programs: Mutex<Vec<String>>,
    pub(crate) repo: PathBuf,
    pub(crate) events: Arc<Mutex<Vec<RunEvent>>>,
    pub(crate) open_store: OpenStore,
    pub(crate) clock: Arc<VirtualClock>,
}

impl ScriptedPrograms {
    fn inside(&self, program: &Program<'_>) -> Inside {
        let value = |name: &str| {
            let found = program.command.env.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let words = program.command.args.iter();
        Inside {
            vcs: Arc::clone(&self.vcs),
            task: value("RALPH_TASK_ID"),
            folder: program.command.folder.clone(),
            arguments: words.map(|word| word.to_string_lossy().into_owned()).collect(),
            repo: self.repo.clone(),
            socket: value("RALPH_SOCKET").into(),
            events: Arc::clone(&self.events),
            open_store: Arc::clone(&self.open_store),
            clock: Arc::clone(&self.clock),
            stays: AtomicBool::new(false),
        }
    }

    /// Words of the session, as its agent prints them.
    fn words(is_claude: bool, text: &str) -> String {
        match is_claude {
            true => serde_json::json!({
                "type": "assistant",
                "message": { "id": "m", "model": "claude-fake", "content": [{ "type": "text", "text": text }],
                    "usage": { "input_tokens": 3, "output_tokens": 5 } },
            }),
            false => serde_json::json!({ "event": "say", "text": text }),
        }
        .to_string()
    }

    fn first_line(is_claude: bool) -> &'static str {
        match is_claude {
            true => {
                r#"{"type":"system","subtype":"init","session_id":"s","model":"claude-fake","claude_code_version":"2.1.999"}"#
            }
            false => r#"{"event":"started","version":"0.1.0"}"#,
        }
    }

    fn result(is_claude: bool, text: &str) -> String {
        match is_claude {
            true => serde_json::json!({
                "type": "result", "subtype": "success", "is_error": false, "duration_ms": 7, "num_turns": 1,
                "result": text, "stop_reason": "end_turn", "terminal_reason": "completed",
                "total_cost_usd": 0.01, "usage": { "input_tokens": 3, "output_tokens": 5 },
                "permission_denials": [],
            })
            .to_string(),
            false => r#"{"event":"result","duration_ms":5}"#.to_owned(),
        }
    }
}

/// Runs something that may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

/// The next text for the session; never, where none is sent.
async fn next(says: &mut Option<mpsc::Receiver<Said>>) -> Said {
    if let Some(said) = match says {
        Some(says) => says.recv().await,
        None => None,
    } {
        return said;
    }
    std::future::pending().await
}

/// What Claude Code prints when it takes up a line that it got, unless it does not.
fn repeated(line: Option<Vec<u8>>, is_deaf: bool) -> Option<String> {
    let mut line: serde_json::Value = serde_json::from_slice(&line.filter(|_| !is_deaf)?).unwrap();
    line["isReplay"] = true.into();
    Some(line.to_string())
}

/// Waits until the program is stopped.
async fn stopped(stop: &mut tokio::sync::watch::Receiver<Stop>) -> ProcessEnd {
    let _ = stop.wait_for(|stop| *stop != Stop::Go).await;
    ProcessEnd::Stopped
}

impl ScriptedPrograms {
    async fn session(
        &self,
        mut program: Program<'_>,
        listener: &mut dyn Listener,
        mut raw: Option<&mut (dyn Write + Send)>,
    ) -> ProcessEnd {
        if *program.stop.borrow() != Stop::Go {
            return ProcessEnd::Stopped;
        }
        let mut inside = self.inside(&program);
        // Sessions speak as their agent does.
        let is_claude = program.command.program == "claude";
        self.programs.lock().unwrap().push(program.command.program.to_string_lossy().into_owned());
        self.sessions.lock().unwrap().push(inside.arguments.clone());
        let Some(play) = self.plays.lock().unwrap().pop_front() else {
            return ProcessEnd::NotStarted { error: "there is no session left".to_owned() };
        };
        let mut says = program.says.take();
        let mut print = |listener: &mut dyn Listener, line: &str| {
            if let Some(raw) = &mut raw {
                raw.write_all(format!("{line}\n").as_bytes()).unwrap();
            }
            listener.stdout(line.as_bytes(), false, &mut vec![]);
        };
        if !is_claude || (play.finishes && play.end.is_none()) {
            print(listener, Self::first_line(is_claude));
        }
        let mut last = String::new();
        for step in play.steps {
            match step {
                Step::Prints(line) => print(listener, &line),
                Step::Says(text) => {
                    last = text.replace("{id}", &inside.task);
                    print(listener, &Self::words(is_claude, &last));
                }
                Step::Act(act) => {
                    let acts = blocking(move || {
                        act(&inside);
                        inside
                    });
                    tokio::pin!(acts);
                    inside = loop {
                        tokio::select! {
                            inside = &mut acts => break inside,
                            said = next(&mut says) => {
                                if let Some(line) = repeated(listener.say(said), play.is_deaf) {
                                    print(listener, &line);
                                }
                            }
                        }
                    };
                }
            }
        }
        if play.stays {
            return stopped(&mut program.stop).await;
        }
        if play.finishes && play.end.is_none() {
            print(listener, &Self::result(is_claude, &last));
        }
        play.end.unwrap_or(ProcessEnd::Exited { code: 0 })
    }

    async fn gate(&self, mut program: Program<'_>, listener: &mut dyn Listener) -> ProcessEnd {
        let inside = self.inside(&program);
        let name = program.command.env.iter().find(|(name, _)| name == "RALPH_GATE");
        let name = name.map(|(_, name)| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (_, gate) = self.gates.iter().find(|(known, _)| *known == name).unwrap();
        let gate = Arc::clone(gate);
        let (inside, code, text) = blocking(move || {
            let (code, text) = gate(&inside);
            (inside, code, text)
        })
        .await;
        if inside.stays.load(Ordering::Relaxed) {
            return stopped(&mut program.stop).await;
        }
        for line in text.lines() {
            listener.stdout(line.as_bytes(), false, &mut vec![]);
        }
        ProcessEnd::Exited { code }
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
            let end = match program.sandboxed.kind {
                ProgramKind::Session | ProgramKind::Verifier => {
                    self.session(program, listener, raw).await
                }
                _ => self.gate(program, listener).await,
            };
            (Ended { end, ..Ended::never_ran(String::new()) }, vec![])
        })
    }
}

/// Answers the requests of sessions: claims are made, and everything else is recorded. The command line has the real
/// one, with its checks.
pub(crate) struct Requests(pub(crate) OpenStore, pub(crate) Arc<VirtualClock>);

impl SessionRequestHandler for Requests {
    fn answer(&self, identity: &SessionIdentity, call: &Call) -> Reply {
        let words: Vec<&str> = call.argv.iter().map(String::as_str).collect();
        let record = |task: &str, outcome| {
            let request = Request { task: TaskId::new(task).unwrap(), outcome };
            identity.requests.record(request).unwrap();
        };
        let text = |text: &str| text.to_owned();
        match words.as_slice() {
            ["claim", task] => {
                let request = ClaimRequest {
                    agent: identity.agent.clone(),
                    task: Some(TaskId::new(*task).unwrap()),
                    scope: Scope::All,
                    lease: Lease::DEFAULT,
                };
                if let Err(error) = (self.0)().unwrap().claim(&request, self.1.now()) {
                    return Reply::failed(error);
                }
            }
            ["done", task] => record(task, RequestedOutcome::Done { result: None }),
            ["fail", task, reason] => {
                record(task, RequestedOutcome::Fail { reason: text(reason), for_good: true });
            }
            ["ask", task, question] => {
                record(task, RequestedOutcome::Ask { text: text(question) });
            }
            words => panic!("the kit knows no {words:?}"),
        }
        Reply::default()
    }
}

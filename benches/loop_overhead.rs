//! What the loop adds to an agent that does nothing.
//!
//! The agent (`agent.c`) writes down when it began, so an iteration is the time from one beginning to
//! the next, seen from outside. Floor and ralph take turns, so a noisy machine disturbs both. All files
//! lie in memory (`/dev/shm`): what a disk takes to sync is not the loop's.
//!
//! The engine runs with a store in a file and version control in memory, beside starting and awaiting
//! the same program (`posix_spawn`), and beside the supervisor alone. `everyday.rs` measures the whole.
//!
//! `cargo bench --bench loop_overhead` prints the table and fails when a figure is over its target.
//! `-- --quick` runs fewer iterations.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time and starts programs")]
#![expect(clippy::disallowed_macros, reason = "a benchmark prints its table")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark that cannot run should stop"
)]

mod common;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{RALPH, Stamped, Verdicts, figures, ms, repository};
use ralph_core::TaskId;
use ralph_core::agent::ProcessEnd;
use ralph_core::ids::RunId;
use ralph_core::policy::strategy::{Strategy, TierNames};
use ralph_core::records::FileChange;
use ralph_core::run::{Budget, Claims, Picker, Policy, StopReason};
use ralph_core::task::RetryLimit;
use ralph_core::view::part::Part;
use ralph_core::view::{Reporter, show};
use ralph_engine::clock::SystemClock;
use ralph_engine::entropy::Ids;
use ralph_engine::ports::{
    Candidate, Checkout, GitError, RunBase, Saved, SessionCommits, Store, Trees, Vcs, Workspaces,
};
use ralph_engine::process::{CommandSpec, LineEffect, Listener, Mark, Stop, Watch, supervise};
use ralph_engine::run::{Reader, Setup, run};
use ralph_engine::run_files::{RunLogs, private_file};
use ralph_engine::store::SqliteStore;
use ralph_testkit::fake_vcs::FakeVcs;
use ralph_testkit::setup::{self, Base};
use ralph_ui::plain::{Options, PlainReporter};
use ralph_ui::session_log::SessionLog;

/// What the loop may add to an iteration, in milliseconds.
const OVER_SPAWN: f64 = 1.5;

fn main() {
    let quick = std::env::args().any(|arg| arg == "--quick");
    let (rounds, iterations) = if quick { (2, 60) } else { (5, 200) };
    let mut verdicts = Verdicts::default();
    without_git(rounds, iterations, &mut verdicts);
    verdicts.finish();
}

// --- without git --------------------------------------------------------------

fn without_git(rounds: usize, iterations: usize, verdicts: &mut Verdicts) {
    let folder = common::folder();
    let agent =
        Stamped::build_in(folder.path(), &folder.path().join("stamps").display().to_string(), &[]);
    let [mut ours, mut sessions, mut floor, mut over] = [(); 4].map(|()| Vec::new());
    for round in 0..rounds {
        let one = agent.between_in(folder.path(), iterations, || spawn(&agent.program, iterations));
        sessions.extend(
            agent.between_in(folder.path(), iterations, || sit_by(&agent.program, iterations)),
        );
        let repo = folder.path().join(format!("r{round}"));
        repository(&repo, iterations);
        let setup = setup(&repo, &agent.program);
        let readers = readers(&setup.files.logs);
        let two = agent.between_in(folder.path(), iterations, || {
            let ended = run(setup, readers).unwrap();
            assert_eq!(ended.outcome.reason, StopReason::Complete);
        });
        over.push(figures(two.clone()).median.saturating_sub(figures(one.clone()).median));
        floor.extend(one);
        ours.extend(two);
    }
    let (ours, floor, over) = (figures(ours), figures(floor), figures(over));
    let sessions = figures(sessions).text();
    println!("## The loop without git, ms an iteration: median [min..p90]\n");
    println!("{rounds} runs of {iterations} tasks, store and logs in memory\n");
    println!(
        "| loop | supervisor alone | spawn and wait | loop over spawn: median (best run) | target |"
    );
    println!("|---|---|---|---|---|");
    // A limit in milliseconds is judged by the best run: another load can only add to it.
    let best = over.min.as_secs_f64() * 1000.0;
    let verdict = verdicts.judge("loop over spawn, ms", best, OVER_SPAWN);
    let (ours, floor) = (ours.text(), floor.text());
    println!(
        "| {ours} | {sessions} | {floor} | {} ({}) | {OVER_SPAWN} ms {verdict} |",
        ms(over.median),
        ms(over.min)
    );
}

/// The floor: the same program, started and awaited.
fn spawn(program: &Path, times: usize) {
    for _ in 0..times {
        let mut command = Command::new(program);
        command.env("RALPH_TASK_ID", "b-0001").stdin(Stdio::null()).stdout(Stdio::null());
        assert!(command.status().unwrap().success());
    }
}

/// The same program as a session that nobody listens to.
fn sit_by(program: &Path, times: usize) {
    let command = CommandSpec {
        program: program.into(),
        folder: "/".into(),
        env: vec![("RALPH_TASK_ID".into(), "b-0001".into())],
        ..CommandSpec::default()
    };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let sessions = async move {
        for number in 0..times {
            let (_go, stop) = tokio::sync::watch::channel(Stop::Go);
            let mark = Mark::new(Path::new("/"), number as u64);
            let ended =
                supervise(&command, &Watch::default(), &mark, &mut IgnoreOutput, None, stop).await;
            assert_eq!(ended.end, ProcessEnd::Exited { code: 0 });
        }
    };
    runtime.block_on(runtime.spawn(sessions)).unwrap();
}

struct IgnoreOutput;

impl Listener for IgnoreOutput {
    fn stdout(&mut self, _line: &[u8], _cut: bool, _replies: &mut Vec<u8>) -> LineEffect {
        LineEffect::Going
    }
}

/// The displays of a run whose output goes into a pipe.
fn readers(logs: &RunLogs) -> Vec<Reader> {
    let log = io::BufWriter::new(private_file(&logs.readable).unwrap());
    let plain = PlainReporter::new(io::sink(), Options::PLAIN);
    vec![reader(plain), reader(SessionLog::new(log, ralph_core::time::Zone::UTC))]
}

fn reader(mut display: impl Reporter + Send + 'static) -> Reader {
    Box::new(move |source| show(source, Part::Whole, &mut display, |last| last))
}

fn setup(repo: &Path, program: &Path) -> Setup {
    let store = repo.join(".ralph/progress.db");
    let mut setup = setup::setup(Base {
        repo,
        ralph: Path::new(RALPH),
        ids: Ids::new(Some(7)),
        open_store: Arc::new(move || {
            SqliteStore::open(&store).map(|store| Box::new(store) as Box<dyn Store>)
        }),
        clock: Arc::new(SystemClock),
        vcs: Arc::new(Changing::default()),
    });
    setup.policy = policy();
    setup.agent.program = setup::agent("claude", program);
    setup.agent.tools = vec!["Bash".to_owned()];
    setup.agent.watch = Watch { timeout: Some(Duration::from_secs(3600)), ..Watch::default() };
    setup.agent.prompting.learn = true;
    setup
}

fn policy() -> Policy {
    Policy {
        preset: "dag".to_owned(),
        mode: "build".to_owned(),
        picker: Picker::Loop,
        slots: 1,
        max_sessions: None,
        retries: RetryLimit::AtMost(3),
        give_up_after: 5,
        breaker: 5,
        idle: 3,
        claims: Claims::Trust,
        budget: Budget::default(),
        strategy: Strategy::Agent,
        tiers: TierNames::default(),
        port_retries: 0,
        ..Policy::default()
    }
}

/// Version control in memory, in which every session left something new.
#[derive(Default)]
struct Changing(FakeVcs, AtomicU32);

impl Vcs for Changing {
    fn begin(
        &self,
        run: &RunId,
        resumes: Option<(&RunId, Option<&str>)>,
    ) -> Result<RunBase, GitError> {
        self.0.begin(run, resumes)
    }

    fn candidate(&self, base: &RunBase) -> Result<Candidate, GitError> {
        self.0.write("work", &self.1.fetch_add(1, Ordering::Relaxed).to_string());
        self.0.candidate(base)
    }

    fn commit(
        &self,
        base: &RunBase,
        candidate: &Candidate,
        subject: &str,
        body: &str,
    ) -> Result<Option<String>, GitError> {
        self.0.commit(base, candidate, subject, body)
    }

    fn head(&self) -> Result<Option<String>, GitError> {
        self.0.head()
    }

    fn put_back(&self, base: &RunBase, candidate: &Candidate) -> Result<Vec<PathBuf>, GitError> {
        self.0.put_back(base, candidate)
    }

    fn checkout(&self, candidate: &Candidate, include: &str) -> Result<Checkout, GitError> {
        self.0.checkout(candidate, include)
    }
}

impl Trees for Changing {
    fn changes(&self, from_tree: &str, to_tree: &str) -> Result<Vec<String>, GitError> {
        self.0.changes(from_tree, to_tree)
    }

    fn patch(&self, from_tree: &str, to_tree: &str, most: usize) -> Result<String, GitError> {
        self.0.patch(from_tree, to_tree, most)
    }

    fn counted_changes(&self, from_tree: &str, to_tree: &str) -> Result<Vec<FileChange>, GitError> {
        self.0.counted_changes(from_tree, to_tree)
    }

    fn file(&self, tree: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        self.0.file(tree, path)
    }
}

impl Workspaces for Changing {
    fn save(
        &self,
        base: &RunBase,
        candidate: &Candidate,
        task: &TaskId,
        attempt: u32,
    ) -> Result<Option<Saved>, GitError> {
        self.0.save(base, candidate, task, attempt)
    }
}

impl SessionCommits for Changing {}

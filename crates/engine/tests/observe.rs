//! Several runs as one stream.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ralph_core::Timestamp;
use ralph_core::agent::AgentEvent;
use ralph_core::ids::RunId;
use ralph_core::run::{Fact, RunEvent};
use ralph_core::view::stream::{EventSource, Next, Observed};
use ralph_engine::entropy::Ids;
use ralph_engine::feed::Feed;
use ralph_engine::feed::live::Live;
use ralph_engine::observe::{AllSource, Place};
use ralph_engine::run_files::{RunLogs, WorktreeLock};
use ralph_engine::socket::{ControlSocket, SocketDir};
use tokio::sync::mpsc;

/// A repository with worktrees, and the runs in them.
struct World {
    folder: tempfile::TempDir,
    places: Arc<Mutex<Vec<Place>>>,
    runtime: tokio::runtime::Runtime,
}

/// A run without a loop: what others see of one.
struct Run {
    id: RunId,
    feed: Feed,
    live: Live,
    seq: u64,
    worktree: PathBuf,
    socket: Option<ControlSocket>,
    _controls: mpsc::Receiver<ralph_engine::socket::ReceivedControl>,
    _place: SocketDir,
    lock: Option<WorktreeLock>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sockets")).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        Self { folder, places: Arc::default(), runtime }
    }

    fn logs(&self) -> PathBuf {
        self.folder.path().join("logs")
    }

    fn watch(&self) -> AllSource {
        let places = Arc::clone(&self.places);
        AllSource::new(Box::new(move || places.lock().unwrap().clone()), &self.logs())
    }

    fn worktree(&self, name: &str) -> PathBuf {
        let worktree = self.folder.path().join(format!("wt-{name}"));
        if !worktree.exists() {
            std::fs::create_dir(&worktree).unwrap();
            let place = Place { worktree: worktree.clone(), name: name.to_owned() };
            self.places.lock().unwrap().push(place);
        }
        worktree
    }

    fn start(&self, name: &str, id: &str) -> Run {
        let worktree = self.worktree(name);
        let lock = WorktreeLock::take(&worktree.join(".ralph")).unwrap();
        let logs = RunLogs::create(&self.logs(), Timestamp::from_millis(0)).unwrap();
        let feed = Feed::open(&logs.journal()).unwrap();
        let live = Live::new(feed.path());
        let place = SocketDir::make(Some(&self.folder.path().join("sockets")), &mut Ids::new(None))
            .unwrap();
        let (sender, controls) = mpsc::channel(1);
        let socket = self
            .runtime
            .block_on(async { ControlSocket::open(&place, sender, live.clone()).unwrap() });
        let id = RunId::new(id).unwrap();
        let mut run = Run {
            id,
            feed,
            live,
            seq: 0,
            worktree: worktree.clone(),
            socket: Some(socket),
            _controls: controls,
            _place: place,
            lock: Some(lock),
        };
        run.fact();
        state(&worktree, &run.id, true, run.socket.as_ref().unwrap().path());
        run
    }
}

fn state(worktree: &Path, run: &RunId, active: bool, socket: &Path) {
    let text = format!(
        "active = {active}\niteration = 0\nmode = \"build\"\nstarted_at = \"2026-01-02T03:04:05.000Z\"\n\
         error_count = 0\nconsecutive_errors = 0\nidle_iterations = 0\nrun = \"{run}\"\npid = {}\n\
         pid_started = 1\ncontrol_socket = \"{}\"\n",
        std::process::id(),
        socket.display()
    );
    std::fs::write(worktree.join(".ralph/state.toml"), text).unwrap();
}

impl Run {
    fn fact(&mut self) {
        self.seq += 1;
        let (run, at) = (self.id.clone(), Timestamp::from_millis(1));
        let fact = Fact::Surveying { slot: 0 };
        let event = RunEvent { v: RunEvent::VERSION, run, seq: self.seq, at, fact };
        self.feed.append(std::slice::from_ref(&event)).unwrap();
        self.live.facts(vec![event]);
    }

    fn says(&self, text: &str) {
        let event = AgentEvent::Text { text: text.to_owned() };
        self.live.agent(0, Timestamp::from_millis(2), event);
    }

    fn end(mut self, world: &World) {
        self.live.close();
        let socket = self.socket.take().unwrap();
        state(&self.worktree, &self.id, false, socket.path());
        world.runtime.block_on(socket.finish());
        drop(self.lock.take());
    }

    /// Its process is gone, and its files are as they were.
    fn kill(mut self) {
        drop(self.socket.take());
        drop(self.lock.take());
    }
}

/// What comes next, in short.
fn next(source: &mut AllSource) -> String {
    match source.next(Duration::from_secs(20)) {
        Next::Quiet => panic!("nothing came"),
        Next::Over => "over".to_owned(),
        Next::Seen(seen) => {
            let what = match seen.what {
                Observed::Joined { name } => format!("joined {name}"),
                Observed::Fact { event } => event.seq.to_string(),
                Observed::Agent { event: AgentEvent::Text { text }, .. } => text,
                Observed::Left => "left".to_owned(),
                other => format!("{other:?}"),
            };
            format!("{} {what}", seen.of)
        }
    }
}

fn rest(source: &mut AllSource) -> Vec<String> {
    let mut all = vec![];
    while let Some(one) = Some(next(source)).filter(|one| one != "over") {
        all.push(one);
    }
    all
}

fn of(number: u32, all: &[String]) -> Vec<&str> {
    let prefix = format!("{number} ");
    all.iter().filter_map(|one| one.strip_prefix(&prefix)).collect()
}

#[test]
fn four_branches_are_one_stream_and_a_fifth_joins() {
    let world = World::new();
    let names = ["one", "two", "three", "four"];
    let ids = ["r-aaaa2345", "r-bbbb2345", "r-cccc2345", "r-dddd2345"];
    let mut runs: Vec<Run> =
        names.iter().zip(ids).map(|(name, id)| world.start(name, id)).collect();
    let mut source = world.watch();
    let joined: Vec<String> = (0..4).map(|_| next(&mut source)).collect();
    assert_eq!(joined, ["0 joined one", "1 joined two", "2 joined three", "3 joined four"]);
    for run in &mut runs {
        run.says("a");
        run.fact();
    }
    let fifth = world.start("five", "r-eeee2345");
    fifth.says("late");
    let mut all = vec![];
    while !all.iter().any(|one| one == "4 late") {
        all.push(next(&mut source));
    }
    for run in runs {
        run.end(&world);
    }
    fifth.end(&world);
    all.extend(rest(&mut source));
    for number in 0..4 {
        assert_eq!(of(number, &all), ["1", "a", "2", "left"]);
    }
    assert_eq!(of(4, &all), ["joined five", "1", "late", "left"]);
}

#[test]
fn a_killed_run_leaves_and_the_next_one_in_its_worktree_joins() {
    let world = World::new();
    let (mut first, other) = (world.start("", "r-aaaa2345"), world.start("b", "r-bbbb2345"));
    let mut source = world.watch();
    assert_eq!(next(&mut source), "0 joined ");
    first.fact();
    first.kill();
    let mut all = vec![];
    while !all.iter().any(|one| one == "0 left") {
        all.push(next(&mut source));
    }
    let second = world.start("", "r-cccc2345");
    second.says("again");
    while !all.iter().any(|one| one == "2 again") {
        all.push(next(&mut source));
    }
    other.end(&world);
    second.end(&world);
    all.extend(rest(&mut source));
    assert_eq!(of(0, &all), ["1", "2", "left"]);
    assert_eq!(of(1, &all), ["joined b", "1", "left"]);
    assert_eq!(of(2, &all), ["joined ", "1", "again", "left"]);
}

#[test]
fn without_an_active_run_the_last_one_is_shown() {
    let world = World::new();
    assert_eq!(rest(&mut world.watch()), Vec::<String>::new());
    world.start("", "r-aaaa2345").end(&world);
    let mut last = world.start("b", "r-bbbb2345");
    last.fact();
    last.kill();
    assert_eq!(rest(&mut world.watch()), ["0 joined ", "0 1", "0 2", "0 left"]);
}

/// A run that has taken the lock and not opened its socket is waited for, and so is a call over several branches.
#[test]
fn a_run_that_is_starting_is_waited_for() {
    let world = World::new();
    let folder = world.worktree("").join(".ralph");
    let lock = WorktreeLock::take(&folder).unwrap();
    let mut source = world.watch();
    assert_eq!(source.next(Duration::from_millis(200)), Next::Quiet);
    let lane = world.start("b", "r-aaaa2345");
    assert_eq!(next(&mut source), "0 joined b");
    lane.end(&world);
    assert_eq!((next(&mut source), next(&mut source)), ("0 1".to_owned(), "0 left".to_owned()));
    assert_eq!(source.next(Duration::from_millis(700)), Next::Quiet);
    drop(lock);
    assert_eq!(next(&mut source), "over");
}

#[test]
fn a_run_that_cannot_be_followed_is_read_from_its_journal() {
    let world = World::new();
    let mut run = world.start("", "r-aaaa2345");
    run.fact();
    drop(run.socket.take());
    let mut source = world.watch();
    let got: Vec<String> = (0..4).map(|_| next(&mut source)).collect();
    assert_eq!(got, ["0 joined ", "0 1", "0 2", "0 left"]);
    assert_eq!(source.next(Duration::from_millis(200)), Next::Quiet);
    drop(run.lock.take());
    assert_eq!(next(&mut source), "over");
}

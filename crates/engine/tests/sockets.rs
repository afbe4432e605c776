//! The sockets of a run, with a desk that only says what it was told.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ralph_core::agent::AgentEvent;
use ralph_core::ids::RunId;
use ralph_core::run::{Cancel, Control, Fact, Request, RequestedOutcome, RunEvent};
use ralph_core::view::stream::{EventSource, Next, Observed};
use ralph_core::{AgentId, TaskId, Timestamp};
use ralph_engine::entropy::Ids;
use ralph_engine::feed::Feed;
use ralph_engine::feed::live::Live;
use ralph_engine::observe::SocketSource;
use ralph_engine::socket::client::{self, ClientError};
use ralph_engine::socket::protocol::MAX_LINE;
use ralph_engine::socket::{
    Call, ControlSocket, ReceivedControl, Reply, Requests, SessionIdentity, SessionRequestHandler,
    SessionSocket, SocketDir,
};
use tokio::sync::mpsc;

/// Says who asked for what; `note` is recorded, `big` is answered at length.
struct Echo;

impl SessionRequestHandler for Echo {
    fn answer(&self, identity: &SessionIdentity, call: &Call) -> Reply {
        let words = call.argv.join(" ");
        match call.argv.first().map(String::as_str) {
            Some("big") => Reply { code: 0, out: "x".repeat(1 << 20), err: String::new() },
            Some("panic") => panic!("as asked"),
            Some("note") => {
                identity.requests.note(&words);
                Reply::default()
            }
            _ => {
                let out = format!("{} {words}{}", identity.agent, call.stdin);
                Reply { code: 7, out, err: "heard".to_owned() }
            }
        }
    }
}

struct World {
    _runtime: tempfile::TempDir,
    place: SocketDir,
}

fn world() -> World {
    let runtime = tempfile::tempdir().unwrap();
    let place = SocketDir::make(Some(runtime.path()), &mut Ids::new(None)).unwrap();
    World { _runtime: runtime, place }
}

fn task(id: &str) -> TaskId {
    TaskId::new(id).unwrap()
}

fn identity(agent: &str) -> SessionIdentity {
    SessionIdentity {
        agent: AgentId::new(agent).unwrap(),
        task: Some((task("t-1"), 3)),
        may_claim: false,
        plan: None,
        requests: Requests::default(),
        adds: None,
    }
}

fn open(world: &World, number: u32, agent: &str) -> SessionSocket {
    let ralph = Path::new("/opt/it's here/ralph");
    SessionSocket::open(&world.place, number, identity(agent), Arc::new(Echo), ralph).unwrap()
}

/// Runs the blocking side beside the server.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

async fn call(path: &Path, words: &[&str]) -> Result<Reply, ClientError> {
    let (path, call) = (path.to_owned(), Call::new(words.iter().copied()));
    apart(move || client::call(&path, &call)).await
}

/// Sends bytes, says that no more will come, and takes whatever is answered.
async fn raw(path: &Path, bytes: Vec<u8>) -> String {
    let path = path.to_owned();
    apart(move || {
        let mut stream = UnixStream::connect(path).unwrap();
        // The server may hang up before it has everything.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_calls_is_known_by_the_socket() {
    let world = world();
    let (ada, bob) = (open(&world, 1, "ada"), open(&world, 2, "bob"));
    let reply = call(ada.path(), &["list", "--all"]).await.unwrap();
    assert_eq!(reply, Reply { code: 7, out: "ada list --all".into(), err: "heard".into() });
    let line = r#"{"v":1,"argv":["peek"],"agent":"ada","RALPH_AGENT_ID":"ada","stdin":"!"}"#;
    let answer = raw(bob.path(), format!("{line}\n").into_bytes()).await;
    assert_eq!(answer, "{\"code\":7,\"out\":\"bob peek!\",\"err\":\"heard\"}\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_finds_what_it_needs_in_its_environment() {
    let world = world();
    let socket = open(&world, 1, "agent-0a1b2c3d");
    let environment: Vec<(String, String)> = socket
        .environment()
        .into_iter()
        .map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap()))
        .collect();
    let value = |name: &str| environment.iter().find(|(n, _)| n == name).unwrap().1.clone();
    assert_eq!(environment.len(), 4);
    assert_eq!(value("RALPH_AGENT_ID"), "agent-0a1b2c3d");
    assert_eq!(value("RALPH_TASK_ID"), "t-1");
    assert_eq!(PathBuf::from(value("RALPH_SOCKET")), socket.path());
    let script = PathBuf::from(value("RALPH_TASK_SCRIPT"));
    assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let text = std::fs::read_to_string(&script).unwrap();
    assert_eq!(text, "#!/bin/sh\nexec \"/opt/it's here/ralph\" task \"$@\"\n");
    assert!(socket.path().as_os_str().len() < 100);
    let folder = socket.folder().to_owned();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "a box shows nothing else");
    drop(socket);
    assert!(!folder.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_callers_at_once_are_all_answered() {
    let world = world();
    let socket = open(&world, 1, "ada");
    let callers: Vec<_> = (0..50)
        .map(|number| {
            let path = socket.path().to_owned();
            tokio::task::spawn_blocking(move || {
                client::call(&path, &Call::new(["show".to_owned(), format!("t-{number}")])).unwrap()
            })
        })
        .collect();
    for (number, caller) in callers.into_iter().enumerate() {
        assert_eq!(caller.await.unwrap().out, format!("ada show t-{number}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_bytes_are_answered_and_harm_nobody() {
    let world = world();
    let socket = open(&world, 1, "ada");
    let path = socket.path();
    let half = raw(path, br#"{"v":1,"argv":["li"#.to_vec()).await;
    assert!(half.contains("in the middle of its line"), "{half}");
    let giant = raw(path, vec![b'x'; 2 * MAX_LINE]).await;
    assert!(giant.contains("longer than 1048576 bytes"), "{giant}");
    let newer = raw(path, b"{\"v\":2,\"argv\":[]}\n".to_vec()).await;
    assert!(newer.contains("speaks protocol version 1, the request has version 2"), "{newer}");
    let panicked = raw(path, b"{\"v\":1,\"argv\":[\"panic\"]}\n".to_vec()).await;
    assert!(panicked.contains("could not do this"), "{panicked}");
    assert_eq!(raw(path, vec![]).await, "");
    let deep = "[".repeat(100_000) + "\n";
    for line in ["\n", "null\n", "[]\n", "{}\n", "{\"v\":\"1\"}\n", "\u{0}\u{1b}[2J\n", &deep] {
        let answer = raw(path, line.as_bytes().to_vec()).await;
        let reply: Reply = serde_json::from_str(&answer).unwrap();
        assert_eq!(reply.code, 1, "{line:?}");
    }
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..200 {
        let bytes: Vec<u8> = (0..random.usize(..400)).map(|_| random.u8(..)).collect();
        let answer = raw(path, bytes).await;
        assert!(answer.is_empty() || answer.starts_with("{\"code\":1"), "{answer}");
    }
    assert_eq!(call(path, &["ready"]).await.unwrap().out, "ada ready");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_never_read_or_never_write_hold_up_nobody() {
    let world = world();
    let socket = open(&world, 1, "ada");
    let path = socket.path().to_owned();
    let idle = apart(move || {
        let mut idle: Vec<UnixStream> =
            (0..30).map(|_| UnixStream::connect(&path).unwrap()).collect();
        for stream in &mut idle[..15] {
            stream.write_all(b"{\"v\":1,\"argv\":[\"big\"]}\n").unwrap();
        }
        idle
    })
    .await;
    let answered = tokio::time::timeout(Duration::from_secs(5), call(socket.path(), &["ready"]));
    assert_eq!(answered.await.unwrap().unwrap().out, "ada ready");
    drop(idle);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_may_be_long_and_a_request_may_not() {
    let world = world();
    let socket = open(&world, 1, "ada");
    assert_eq!(call(socket.path(), &["big"]).await.unwrap().out.len(), 1 << 20);
    let long = "x".repeat(MAX_LINE);
    let error = call(socket.path(), &["log", "t-1", &long]).await.unwrap_err();
    assert!(matches!(error, ClientError::TooLong(_)), "{error}");
    let path = socket.path().to_owned();
    drop(socket);
    let error = call(&path, &["list"]).await.unwrap_err();
    assert!(matches!(error, ClientError::NobodyThere(_)), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_a_task_is_kept_and_none_after_the_end() {
    let requests = Requests::default();
    let fail = |reason: &str| Request {
        task: task("t-1"),
        outcome: RequestedOutcome::Fail { reason: reason.to_owned(), for_good: false },
    };
    let done = Request { task: task("t-1"), outcome: RequestedOutcome::Done { result: None } };
    assert_eq!(requests.record(fail("a")), Ok(None));
    assert_eq!(requests.record(done.clone()), Ok(Some(fail("a").outcome)));
    assert_eq!(requests.record_if_none(fail("b")), Ok(false));
    assert_eq!(requests.of(&task("t-1")), Some(done.outcome.clone()));
    requests.note(&"ü".repeat(10_000));
    let (all, notes) = requests.close();
    assert_eq!(all, [done]);
    assert!(notes[0].len() <= 4_000);
    assert!(requests.record(fail("late")).is_err());
    assert!(requests.record_if_none(fail("late")).is_err());
    assert_eq!(requests.close(), (vec![], vec![]));
}

struct Controlled {
    world: World,
    socket: ControlSocket,
    controls: mpsc::Receiver<ReceivedControl>,
    live: Live,
    feed: Feed,
}

fn controlled() -> Controlled {
    let world = world();
    let feed = Feed::open(&world.place.folder().join("events.jsonl")).unwrap();
    let live = Live::new(feed.path());
    let (sender, controls) = mpsc::channel(4);
    let socket = ControlSocket::open(&world.place, sender, live.clone()).unwrap();
    Controlled { world, socket, controls, live, feed }
}

impl Controlled {
    fn fact(&mut self, seq: u64, fact: Fact) {
        let run = RunId::new("r-abcd2345").unwrap();
        let at = Timestamp::from_millis(1_000 + seq.cast_signed());
        let event = RunEvent { v: RunEvent::VERSION, run, seq, at, fact };
        self.feed.append(std::slice::from_ref(&event)).unwrap();
        self.live.facts(vec![event]);
    }

    fn surveying(&mut self, seq: u64) {
        self.fact(seq, Fact::Surveying { slot: 0 });
    }

    fn says(&self, text: &str) {
        let event = AgentEvent::Text { text: text.to_owned() };
        self.live.agent(0, Timestamp::from_millis(self.live_time()), event);
    }

    /// Later each time.
    fn live_time(&self) -> i64 {
        std::fs::metadata(self.feed.path()).unwrap().len().cast_signed()
    }
}

/// What a source gives until it is over, in short.
fn all_of(mut source: impl EventSource) -> Vec<String> {
    let mut all = vec![];
    loop {
        match source.next(Duration::from_secs(20)) {
            Next::Seen(seen) => all.push(match seen.what {
                Observed::Joined { .. } => "joined".to_owned(),
                Observed::Fact { event } => event.seq.to_string(),
                Observed::Agent { event: AgentEvent::Text { text }, .. } => text,
                other => format!("{other:?}"),
            }),
            Next::Quiet => panic!("nothing came after {all:?}"),
            Next::Over => return all,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controls_reach_the_loop_and_anything_else_is_refused() {
    let mut run = controlled();
    let path = run.socket.path().to_owned();
    for control in
        [Control::Pause, Control::Cancel(Cancel::Now), Control::Skip { task: task("t-9") }]
    {
        let (path, sent) = (path.clone(), control.clone());
        apart(move || client::control(&path, &sent)).await.unwrap();
        assert_eq!(run.controls.recv().await.map(|received| received.control), Some(control));
    }
    for line in ["{}", "{\"v\":1}", "{\"v\":1,\"control\":{\"do\":\"explode\"}}", "\u{7}"] {
        let answer = raw(&path, format!("{line}\n").into_bytes()).await;
        assert!(answer.starts_with("{\"ok\":false,\"error\":"), "{answer}");
    }
    drop(run.controls);
    let error = apart(move || client::control(&path, &Control::Resume)).await.unwrap_err();
    assert_eq!(error.to_string(), "the run is ending and accepts no more requests");
    drop(run.world);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_catches_up_goes_live_and_gets_the_end() {
    let mut run = controlled();
    run.surveying(1);
    run.says("a");
    run.surveying(2);
    let source = SocketSource::open(run.socket.path(), None);
    let follower = tokio::task::spawn_blocking(move || all_of(source.unwrap()));
    tokio::time::sleep(Duration::from_millis(50)).await;
    run.says("b");
    run.surveying(3);
    run.live.close();
    run.socket.finish().await;
    assert_eq!(follower.await.unwrap(), ["joined", "1", "a", "2", "b", "3", "Left"]);
    assert!(!run.world.place.control().exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_that_is_quiet_says_so_in_time() {
    let mut run = controlled();
    let path = run.socket.path().to_owned();
    run.surveying(1);
    let (mut source, first) = apart(move || {
        let mut source = SocketSource::open(&path, None).unwrap();
        let wait = Duration::from_millis(500);
        let first = [source.next(wait), source.next(wait), source.next(Duration::ZERO)];
        (source, first)
    })
    .await;
    assert!(matches!(first, [Next::Seen(_), Next::Seen(_), Next::Quiet]), "{first:?}");
    run.surveying(2);
    let next = apart(move || source.next(Duration::from_secs(20))).await;
    assert!(matches!(next, Next::Seen(_)), "{next:?}");
}

/// The run of a follower is killed: what it had written and not sent is in its journal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_facts_of_a_killed_run_come_from_its_journal() {
    let mut run = controlled();
    run.surveying(1);
    let (path, journal) = (run.socket.path().to_owned(), run.feed.path().to_owned());
    let mut source = apart(move || SocketSource::open(&path, Some(&journal)).unwrap()).await;
    let (source, first) = apart(move || {
        let first = [source.next(Duration::from_secs(20)), source.next(Duration::from_secs(20))];
        (source, first)
    })
    .await;
    assert!(matches!(first, [Next::Seen(_), Next::Seen(_)]));
    // In the journal, and on no display yet.
    let run_id = RunId::new("r-abcd2345").unwrap();
    let (at, fact) = (Timestamp::from_millis(9_000), Fact::Surveying { slot: 0 });
    run.feed.append(&[RunEvent { v: RunEvent::VERSION, run: run_id, seq: 2, at, fact }]).unwrap();
    drop(run.socket);
    assert_eq!(apart(move || all_of(source)).await, ["2", "Left"]);
}

/// A run disconnects readers that were stopped for minutes. They come back, and get nothing twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_that_was_disconnected_continues_where_it_was() {
    let mut run = controlled();
    run.surveying(1);
    run.says("a");
    let path = run.socket.path().to_owned();
    let (source, first) = apart(move || {
        let mut source = SocketSource::open(&path, None).unwrap();
        let first: Vec<Next> = (0..3).map(|_| source.next(Duration::from_secs(20))).collect();
        (source, first)
    })
    .await;
    assert!(first.iter().all(|next| matches!(next, Next::Seen(_))), "{first:?}");
    run.surveying(2);
    drop(run.socket);
    let (sender, _controls) = mpsc::channel(4);
    let again = ControlSocket::open(&run.world.place, sender, run.live.clone()).unwrap();
    run.live.agent(
        0,
        Timestamp::from_millis(i64::from(u32::MAX)),
        AgentEvent::Text { text: "b".to_owned() },
    );
    run.live.close();
    assert_eq!(apart(move || all_of(source)).await, ["2", "b", "Left"]);
    drop(again);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn facts_of_a_newer_ralph_are_passed_on() {
    let mut run = controlled();
    let unknown =
        r#"{"v":1,"run":"r-abcd2345","seq":1,"at":"2026-01-01T00:00:00Z","kind":"of_tomorrow"}"#;
    run.feed.append_line(unknown).unwrap();
    let read = unknown.replace("of_tomorrow\"", "surveying\",\"slot\":0");
    run.live.facts(vec![serde_json::from_str(&read).unwrap()]);
    run.surveying(2);
    run.live.close();
    let path = run.socket.path().to_owned();
    let got = apart(move || all_of(SocketSource::open(&path, None).unwrap())).await;
    assert_eq!(got, ["joined", "1", "2", "Left"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_that_leaves_is_let_go() {
    let run = controlled();
    let path = run.socket.path().to_owned();
    // More than are served at once: those that left must have made room.
    for _ in 0..5 {
        let path = path.clone();
        let followers = apart(move || {
            let follow = || {
                let mut stream = UnixStream::connect(&path).unwrap();
                stream.write_all(b"{\"v\":1,\"watch\":true}\n").unwrap();
                stream
            };
            (0..20).map(|_| follow()).collect::<Vec<_>>()
        });
        drop(followers.await);
    }
    let asked = apart(move || client::control(&path, &Control::Pause));
    assert!(tokio::time::timeout(Duration::from_secs(5), asked).await.unwrap().is_ok());
}

//! The sockets of a run, with a desk that only says what it was told.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ralph_core::run::{Cancel, Control, Request, RequestedOutcome};
use ralph_core::{AgentId, TaskId};
use ralph_engine::entropy::Ids;
use ralph_engine::feed::Feed;
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

fn line(seq: u64) -> String {
    format!(r#"{{"v":1,"run":"r-1","seq":{seq},"kind":"surveying","slot":0}}"#)
}

struct Controlled {
    world: World,
    socket: ControlSocket,
    controls: mpsc::Receiver<ReceivedControl>,
    feed: Feed,
}

fn controlled() -> Controlled {
    let world = world();
    let feed = Feed::open(&world.place.folder().join("events.jsonl")).unwrap();
    let (sender, controls) = mpsc::channel(4);
    let socket = ControlSocket::open(&world.place, sender, feed.clone()).unwrap();
    Controlled { world, socket, controls, feed }
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
    let run = controlled();
    for seq in 1..=3 {
        run.feed.append_line(seq, &line(seq)).unwrap();
    }
    let path = run.socket.path().to_owned();
    let (heard, mut lines) = mpsc::channel(16);
    let follower = tokio::task::spawn_blocking(move || {
        for line in client::feed(&path, 2).unwrap() {
            heard.blocking_send(line.unwrap()).unwrap();
        }
    });
    assert_eq!(lines.recv().await, Some(line(2)));
    assert_eq!(lines.recv().await, Some(line(3)));
    run.feed.append_line(4, &line(4)).unwrap();
    assert_eq!(lines.recv().await, Some(line(4)));
    run.feed.append_line(5, &line(5)).unwrap();
    run.feed.close();
    run.socket.finish().await;
    assert_eq!(lines.recv().await, Some(line(5)));
    assert_eq!(lines.recv().await, None);
    follower.await.unwrap();
    assert!(!run.world.place.control().exists());
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
                stream.write_all(b"{\"v\":1,\"feed\":1}\n").unwrap();
                stream
            };
            (0..20).map(|_| follow()).collect::<Vec<_>>()
        });
        drop(followers.await);
    }
    let asked = apart(move || client::control(&path, &Control::Pause));
    assert!(tokio::time::timeout(Duration::from_secs(5), asked).await.unwrap().is_ok());
}

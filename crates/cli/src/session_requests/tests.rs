//! The session request handler over a real socket and a real store.

use std::path::Path;
use std::sync::Arc;

use ralph_core::ids::FeatureId;
use ralph_core::run::{Request, RequestedOutcome};
use ralph_core::task::{Actor, NewTask, Status, Task};
use ralph_core::text::Title;
use ralph_core::time::Lease;
use ralph_core::{AgentId, FeatureName, TaskId};
use ralph_engine::clock;
use ralph_engine::entropy::Ids;
use ralph_engine::ports::{ClaimRequest, Scope, Store};
use ralph_engine::socket::{Adds, Requests, SessionSocket, SocketDir, client};
use ralph_engine::store::SqliteStore;

use super::*;
use crate::config::Sources;

const RALPH: &str = "/run/ralph/bin/ralph";

struct World {
    folder: tempfile::TempDir,
    place: SocketDir,
    handler: Arc<TaskHandler>,
}

impl World {
    /// A plan of `t-1` to `t-4`.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("repo/.git")).unwrap();
        let runtime = folder.path().join("run");
        std::fs::create_dir(&runtime).unwrap();
        let environment = Environment {
            runtime_dir: Some(runtime),
            // The environment of the loop's starter must not leak into its sessions.
            ralph: vec![("RALPH_AGENT_ID".into(), "somebody".into())],
            ..Environment::default()
        };
        let place =
            SocketDir::make(environment.runtime_dir.as_deref(), &mut Ids::new(None)).unwrap();
        let project = Project::find(&folder.path().join("repo")).unwrap();
        let config = Config::load(Sources::default()).unwrap().config;
        let handler = Arc::new(TaskHandler::new(crate::app::PROGRAM, environment, project, config));
        let world = Self { folder, place, handler };
        for number in 1..=4 {
            let new = NewTask::titled(Title::new(format!("Task {number}")).unwrap());
            let user = Actor::User(agent("user"));
            world.store().add(task(&format!("t-{number}")), new, &user, clock::now()).unwrap();
        }
        world
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.folder.path().join("repo/.ralph/progress.db")).unwrap()
    }

    fn claim(&self, who: &str, id: &str) -> u64 {
        let request = ClaimRequest {
            agent: agent(who),
            task: Some(task(id)),
            scope: Scope::All,
            lease: Lease::DEFAULT,
        };
        self.store().claim(&request, clock::now()).unwrap().task.generation
    }

    fn get(&self, id: &str) -> Task {
        self.store().get(&task(id)).unwrap()
    }

    fn sit(&self, number: u32, identity: SessionIdentity) -> SessionSocket {
        let handler: Arc<dyn SessionRequestHandler> = Arc::clone(&self.handler) as _;
        SessionSocket::open(&self.place, number, identity, handler, Path::new(RALPH)).unwrap()
    }

    /// A session on `t-1`, which the loop has claimed for it.
    fn dag(&self) -> SessionSocket {
        let generation = self.claim("agent-1", "t-1");
        self.sit(
            1,
            SessionIdentity { task: Some((task("t-1"), generation)), ..identity("agent-1", false) },
        )
    }

    /// A session that claims by itself.
    fn pick(&self) -> SessionSocket {
        self.sit(2, identity("agent-2", true))
    }
}

fn identity(who: &str, may_claim: bool) -> SessionIdentity {
    let requests = Requests::default();
    SessionIdentity { agent: agent(who), task: None, may_claim, plan: None, requests, adds: None }
}

fn agent(id: &str) -> AgentId {
    AgentId::new(id).unwrap()
}

fn task(id: &str) -> TaskId {
    TaskId::new(id).unwrap()
}

async fn ask(socket: &SessionSocket, call: Call) -> Reply {
    let path = socket.path().to_owned();
    tokio::task::spawn_blocking(move || client::call(&path, &call).unwrap()).await.unwrap()
}

async fn call(socket: &SessionSocket, words: &[&str]) -> Reply {
    ask(socket, Call::new(words.iter().copied())).await
}

async fn ok(socket: &SessionSocket, words: &[&str]) -> (String, String) {
    let reply = call(socket, words).await;
    assert_eq!(reply.code, 0, "{words:?}: {}", reply.err);
    (reply.out, reply.err)
}

async fn refused(socket: &SessionSocket, words: &[&str]) -> String {
    let reply = call(socket, words).await;
    assert_eq!((reply.code, reply.out.as_str()), (2, ""), "{words:?}: {}", reply.err);
    assert!(reply.err.starts_with("error: ") && reply.err.ends_with('\n'), "{}", reply.err);
    reply.err
}

fn failed(reason: &str) -> RequestedOutcome {
    RequestedOutcome::Fail { reason: reason.to_owned(), for_good: false }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outcomes_are_recorded_and_change_nothing() {
    let world = World::new();
    let socket = world.dag();
    let result = r#"{"commit":"4f2a9c1"}"#;
    let (out, err) = ok(&socket, &["done", "t-1", "--result", result]).await;
    assert_eq!(
        (out.as_str(), err.as_str()),
        ("", "recorded: ralph will check t-1 when the session ends\n")
    );
    assert_eq!(world.get("t-1").status, Status::InProgress);
    let done = RequestedOutcome::Done { result: Some(result.to_owned()) };
    assert_eq!(socket.requests().of(&task("t-1")), Some(done));

    let (_, err) = ok(&socket, &["fail", "t-1", "--reason", "red", "--final"]).await;
    assert_eq!(err, "recorded: t-1 will fail when the session ends (instead of done)\n");
    let (_, err) = ok(&socket, &["fail", "t-1", "--reason", " the API is down "]).await;
    assert_eq!(err, "recorded: ralph will retry t-1 after this session (instead of fail)\n");
    assert_eq!(socket.requests().of(&task("t-1")), Some(failed("the API is down")));
    let from_stdin = Call { stdin: "Which one?\n".into(), ..Call::new(["ask", "t-1", "-"]) };
    assert_eq!(ask(&socket, from_stdin).await.code, 0);
    let asked = Request {
        task: task("t-1"),
        outcome: RequestedOutcome::Ask { text: "Which one?".to_owned() },
    };
    assert!(world.store().questions(None, false).unwrap().is_empty());
    assert_eq!(socket.requests().close().0, [asked]);
    let late = refused(&socket, &["done", "t-1"]).await;
    assert!(late.contains("the session has ended"), "{late}");
    let task = world.get("t-1");
    assert_eq!((task.status, task.retry_count), (Status::InProgress, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_for_is_checked_as_the_direct_command_does() {
    let world = World::new();
    let socket = world.dag();
    for (words, code, says) in [
        (vec!["done", "t-1", "--result", "{"], 1, "the result is not JSON"),
        (vec!["done", "t-1", "--result", "{}"], 1, "the result names no commit"),
        (vec!["ask", "t-1", "\n"], 1, "the question is empty"),
        (vec!["done", "../x"], 1, "is not a valid task id"),
        (vec!["done", "t-11"], 2, "did you mean t-1"),
        (vec!["done"], 64, "required arguments"),
        (vec!["dnoe", "t-1"], 64, "unrecognized subcommand"),
        (vec![], 64, "Usage:"),
        (vec!["hook", "explode"], 64, "unrecognized subcommand"),
    ] {
        let reply = call(&socket, &words).await;
        assert_eq!((reply.code, reply.out.as_str()), (code, ""), "{words:?}: {}", reply.err);
        assert!(reply.err.contains(says), "{words:?}: {}", reply.err);
    }
    let (out, _) = ok(&socket, &["done", "--help"]).await;
    assert!(out.contains("Report a claimed task as done"), "{out}");
    assert_eq!(socket.requests().close().0, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_task_of_another_is_out_of_reach() {
    let world = World::new();
    let (dag, pick) = (world.dag(), world.pick());
    world.claim("agent-3", "t-3");
    world.claim("agent-1", "t-4");
    for words in [["done", "t-3"], ["done", "t-2"], ["done", "t-4"]] {
        let err = refused(&dag, &words).await;
        assert!(err.contains("is not assigned to this session"), "{err}");
        assert!(err.contains("your task is t-1"), "{err}");
    }
    let err = refused(&pick, &["done", "t-1"]).await;
    assert!(err.contains("agent-2 does not hold t-1: agent-1 does"), "{err}");
    refused(&pick, &["fail", "t-3", "--reason", "spite"]).await;
    refused(&pick, &["ask", "t-2", "May I?"]).await;
    refused(&pick, &["renew", "t-3"]).await;
    // A claim that another agent held in between is not the claim of this session.
    let user = Actor::User(agent("user"));
    world.store().reset(&task("t-1"), &user, clock::now()).unwrap();
    let err = refused(&dag, &["done", "t-1"]).await;
    assert!(err.contains("t-1 is open"), "{err}");
    world.claim("agent-1", "t-1");
    let err = refused(&dag, &["done", "t-1"]).await;
    assert!(err.contains("lost its claim on t-1"), "{err}");
    assert_eq!((dag.requests().close().0, pick.requests().close().0), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s0_6_an_agent_claims_by_itself_only_where_it_chooses() {
    let world = World::new();
    let (dag, pick) = (world.dag(), world.pick());
    for words in [&["claim"][..], &["claim", "t-2"], &["renew", "t-1"]] {
        let err = refused(&dag, words).await;
        assert!(err.contains("the loop chooses and claims"), "{err}");
    }
    let (out, _) = ok(&pick, &["claim", "t-3", "--lease", "86400", "--agent", "agent-9"]).await;
    assert!(out.contains("assignee: agent-2"), "{out}");
    let claim = world.get("t-3").claim.unwrap();
    assert_eq!(claim.agent, agent("agent-2"));
    assert_eq!(claim.lease_expires_at.millis_since(claim.claimed_at), 600_000);
    ok(&pick, &["renew", "t-3", "--lease", "604800"]).await;
    let renewed = world.get("t-3").claim.unwrap();
    assert!(renewed.lease_expires_at.millis_since(clock::now()) <= 600_000);
    let (_, err) = ok(&pick, &["done", "t-3"]).await;
    assert!(err.starts_with("recorded: ralph will check t-3"), "{err}");
    let (out, _) = ok(&pick, &["peek", "-n", "1"]).await;
    assert!(out.starts_with("## Task t-2\n") && out.contains("assignee: agent-2"), "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_other_change_is_refused_and_says_what_is_possible() {
    let world = World::new();
    let socket = world.pick();
    let before = world.store().list(&Default::default()).unwrap();
    for words in [
        &["add", "Mine"][..],
        &["create", "t-9", "Mine"],
        &["update", "t-1", "--title", "x"],
        &["update", "t-1", "--status", "done"],
        &["delete", "t-1"],
        &["delete", "--all", "--confirm"],
        &["block", "t-1", "--by", "t-2"],
        &["unblock", "t-1", "--by", "t-2"],
        &["reset", "t-1"],
        &["plan-sync"],
        &["agent", "register"],
        &["agent", "deregister", "somebody"],
    ] {
        let err = refused(&socket, words).await;
        assert!(err.contains("a session cannot use this command"), "{err}");
        assert!(err.contains("you can use ralph task peek, ready, list"), "{err}");
    }
    assert_eq!(world.store().list(&Default::default()).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_adds_new_tasks_within_limits_and_the_log_names_it() {
    let world = World::new();
    let adds = Some(Adds { feature: None });
    let generation = world.claim("agent-1", "t-1");
    let own = Some((task("t-1"), generation));
    let socket = world.sit(1, SessionIdentity { task: own, adds, ..identity("agent-1", false) });
    let (out, _) = ok(&socket, &["add", "Mend the pump", "--id", "found", "--deps", "t-1"]).await;
    assert_eq!(out, "found\n");
    let (id, _) = ok(&socket, &["add", "And the hose"]).await;
    let mut store = world.store();
    assert_eq!(store.get(&task("found")).unwrap().status, Status::Pending);
    let log = store.log(&task("found")).unwrap();
    assert!(log.iter().any(|entry| entry.text == "added by a session on t-1"), "{log:?}");
    assert_eq!(socket.requests().added(), [task("found"), task(id.trim())]);
    // Existing tasks never change: none gets a part, none is recreated.
    let err = refused(&socket, &["add", "Part", "--parent", "t-2"]).await;
    assert!(err.contains("a session cannot add parts to another task"), "{err}");
    let taken = call(&socket, &["create", "t-2", "Mine"]).await;
    assert!(taken.code != 0 && taken.err.contains("t-2 is taken"), "{}", taken.err);
    for number in 2..Adds::MOST {
        ok(&socket, &["add", &format!("Task {number}")]).await;
    }
    let err = refused(&socket, &["add", "One too many"]).await;
    assert!(err.contains("a session may add 10 tasks"), "{err}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_session_adds_in_a_run_for_a_feature_belongs_to_it() {
    let world = World::new();
    let login = FeatureName::new("login").unwrap();
    let number = FeatureId::new("f-1").unwrap();
    world.store().add_feature(number, &login, clock::now()).unwrap();
    let adds = Some(Adds { feature: Some(login.clone()) });
    let socket = world.sit(1, SessionIdentity { adds, ..identity("agent-1", true) });
    ok(&socket, &["add", "Mend the pump", "--id", "found"]).await;
    assert_eq!(world.store().get(&task("found")).unwrap().feature, Some(login));
    let err = refused(&socket, &["add", "Other", "--feature", "other"]).await;
    assert!(err.contains("for the feature login only"), "{err}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_and_notes_are_carried_out_under_the_name_of_the_session() {
    let world = World::new();
    let socket = world.dag();
    ok(&socket, &["log", "t-1", "the parser works"]).await;
    let from_stdin = Call { stdin: "two\nlines".into(), ..Call::new(["log", "t-1", "-"]) };
    assert_eq!(ask(&socket, from_stdin).await.code, 0);
    let log = world.store().log(&task("t-1")).unwrap();
    let notes: Vec<(&str, &str)> =
        log.iter().map(|entry| (entry.by.as_str(), entry.text.as_str())).collect();
    assert_eq!(notes[2..], [("agent-1", "the parser works"), ("agent-1", "two\nlines")]);
    for words in [
        &["list"][..],
        &["list", "--json"],
        &["show", "t-1"],
        &["tree"],
        &["deps", "t-1"],
        &["ready"],
        &["peek"],
        &["plan-status"],
        &["log", "t-1"],
    ] {
        assert!(!ok(&socket, words).await.0.is_empty(), "{words:?}");
    }
    let (out, _) = ok(&socket, &["plan-status"]).await;
    assert_eq!(out, "3 open, 1 active, 0 done, 0 blocked, 0 deleted\n");
    let painted = Call { color: true, width: Some(60), ..Call::new(["list"]) };
    assert!(ask(&socket, painted.clone()).await.out.contains('\u{1b}'));
    let plain = Call { argv: vec!["list".into(), "--color=never".into()], ..painted };
    assert!(!ask(&socket, plain).await.out.contains('\u{1b}'));
    let (_, notes) = socket.requests().close();
    assert_eq!(notes, ["the parser works", "two\nlines"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_settings_of_the_run_hold_whatever_the_agent_writes_or_names() {
    let world = World::new();
    let socket = world.dag();
    let secret = world.folder.path().join("secret.toml");
    std::fs::write(&secret, "password = hunter2").unwrap();
    std::fs::write(world.folder.path().join("repo/ralph.toml"), "[store]\npath = \"mine.db\"")
        .unwrap();
    let secret = secret.to_str().unwrap();
    for words in [
        &["plan-status", "--config", secret][..],
        &["plan-status", "-C", "/"],
        &["plan-status", "--set", "store.path=/tmp/mine.db"],
        &["plan-status"],
    ] {
        let (out, err) = ok(&socket, words).await;
        assert_eq!(out, "3 open, 1 active, 0 done, 0 blocked, 0 deleted\n", "{words:?}");
        assert_eq!(err, "", "{words:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s0_18_a_hook_asks_for_another_try_of_what_is_left_and_only_once() {
    let world = World::new();
    let socket = world.pick();
    for id in ["t-1", "t-2", "t-3"] {
        ok(&socket, &["claim", id]).await;
    }
    world.claim("agent-3", "t-4");
    ok(&socket, &["done", "t-2"]).await;
    ok(&socket, &["hook", "pre-compact"]).await;
    ok(&socket, &["hook", "session-end"]).await;
    ok(&socket, &["hook", "session-end"]).await;
    assert_eq!(world.get("t-1").status, Status::InProgress, "it is the loop that settles");
    let (requests, _) = socket.requests().close();
    let wishes: Vec<(&str, RequestedOutcome)> =
        requests.iter().map(|r| (r.task.as_str(), r.outcome.clone())).collect();
    let full = RequestedOutcome::Left { reason: "context limit reached".to_owned() };
    let done = RequestedOutcome::Done { result: None };
    assert_eq!(wishes, [("t-2", done), ("t-1", full.clone()), ("t-3", full)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s0_18_where_the_loop_claims_the_end_of_a_session_is_the_loops_to_judge() {
    let world = World::new();
    let socket = world.dag();
    ok(&socket, &["hook", "session-end"]).await;
    assert_eq!(socket.requests().of(&task("t-1")), None);
    ok(&socket, &["hook", "pre-compact"]).await;
    let left = RequestedOutcome::Left { reason: "context limit reached".to_owned() };
    assert_eq!(socket.requests().of(&task("t-1")), Some(left));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_agents_calls_at_once_are_all_carried_out() {
    let world = World::new();
    let socket = world.pick();
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let path = socket.path().to_owned();
            tokio::task::spawn_blocking(move || {
                let text = format!("note {number}");
                let call = match number % 2 {
                    0 => Call::new(["log", "t-1", &text]),
                    _ => Call::new(["claim"]),
                };
                client::call(&path, &call).unwrap().code
            })
        })
        .collect();
    let mut codes = Vec::new();
    for call in calls {
        codes.push(call.await.unwrap());
    }
    // Twenty-five notes, and four tasks for twenty-five claims.
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 29);
    assert_eq!(codes.iter().filter(|code| **code == 2).count(), 21);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_gets_json_in_the_same_envelope_as_the_user() {
    let world = World::new();
    let socket = world.dag();
    let (out, err) = ok(&socket, &["plan-status", "--json"]).await;
    assert!(out.starts_with(r#"{"v":1,"kind":"task.plan_status","data":{"open":"#), "{out}");
    assert_eq!((out.lines().count(), err.as_str()), (1, ""));
    for (words, code, exit) in [
        (&["show", "nope", "--json"][..], "unknown_task", 2),
        (&["claim", "t-2", "--json"], "not_eligible", 2),
        (&["list", "--json", "--nope"], "usage", 64),
    ] {
        let reply = call(&socket, words).await;
        assert_eq!((reply.code, reply.out.as_str()), (exit, ""), "{words:?}");
        let error: serde_json::Value = serde_json::from_str(&reply.err).unwrap();
        assert_eq!((&error["v"], &error["kind"]), (&1.into(), &"error".into()), "{error}");
        assert_eq!(error["error"]["code"], code, "{error}");
    }
}

//! The binary at the calling end of the two sockets. What the loop makes of a call is tested at its
//! desk, in `cli/src/handler/tests.rs`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use ralph_core::run::{Cancel, Control};
use ralph_core::{AgentId, TaskId};
use ralph_engine::entropy::Ids;
use ralph_engine::feed::live::Live;
use ralph_engine::socket::{
    Call, ControlSocket, ReceivedControl, Reply, Requests, SessionIdentity, SessionRequestHandler,
    SessionSocket, SocketDir,
};
use ralph_testkit::TestEnv;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::{RALPH, env};

/// Remembers the calls and answers each in the same way.
#[derive(Default)]
struct CallLog(Mutex<Vec<Call>>);

impl SessionRequestHandler for CallLog {
    fn answer(&self, _: &SessionIdentity, call: &Call) -> Reply {
        self.0.lock().unwrap().push(call.clone());
        match call.argv.first().map(String::as_str) {
            Some("reset") => Reply { code: 2, out: String::new(), err: "error: no\n".into() },
            _ => Reply { code: 0, out: "data\n".into(), err: "recorded: yes\n".into() },
        }
    }
}

struct Session {
    env: TestEnv,
    runtime: Runtime,
    place: SocketDir,
    socket: Option<SessionSocket>,
    calls: Arc<CallLog>,
}

/// A repository, and the environment of a session in it.
fn session() -> Session {
    let mut env = env();
    let runtime = Runtime::new().unwrap();
    let place = SocketDir::make(Some(env.folder()), &mut Ids::new(None)).unwrap();
    let calls = Arc::new(CallLog::default());
    let identity = SessionIdentity {
        agent: AgentId::new("agent-0a1b2c3d").unwrap(),
        task: Some((TaskId::new("t-1").unwrap(), 1)),
        may_claim: false,
        plan: None,
        requests: Requests::default(),
        adds: None,
    };
    let handler: Arc<dyn SessionRequestHandler> = Arc::clone(&calls) as _;
    let socket = {
        let _entered = runtime.enter();
        SessionSocket::open(&place, 1, identity, handler, Path::new(RALPH)).unwrap()
    };
    for (name, value) in socket.environment() {
        env.set(name.to_str().unwrap(), value.to_str().unwrap());
    }
    Session { env, runtime, place, socket: Some(socket), calls }
}

impl Session {
    fn calls(&self) -> Vec<Vec<String>> {
        self.calls.0.lock().unwrap().drain(..).map(|call| call.argv).collect()
    }
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

#[test]
fn in_a_session_a_call_goes_to_the_loop_as_it_was_typed() {
    let session = session();
    let env = &session.env;
    let ran = env.ralph(&["-C", "/nowhere", "task", "done", "t-1", "--result", "{}"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "data\n", "recorded: yes\n")
    );
    assert_eq!(session.calls(), [words("done t-1 --result {}")]);
    let quiet = env.ralph(&["-q", "task", "done", "t-1"]);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("data\n", ""));
    let output = env.ralph(&["-q", "task", "reset", "t-1"]).failure(2);
    assert_eq!(output, "error: no\n");
    env.ralph_with(&["task", "log", "t-1", "-"], "from a pipe").success();
    let last = session.calls.0.lock().unwrap().pop().unwrap();
    assert_eq!((last.stdin.as_str(), last.width, last.color), ("from a pipe", None, false));
    // Help and slips need no loop.
    session.calls();
    assert!(env.ralph(&["task", "claim", "--help"]).success().contains("Example:"));
    assert_eq!(env.ralph(&["task", "dnoe"]).code, 64);
    assert_eq!(session.calls(), [] as [Vec<String>; 0]);
    assert!(!env.repo().join(".ralph").exists(), "the store is not even made");
}

#[test]
fn without_the_loop_a_session_gets_an_error_and_the_store_is_not_touched() {
    let mut session = session();
    let unset = |arguments: &[&str]| {
        let mut command = session.env.command(arguments);
        command.env_remove("RALPH_SOCKET").output().unwrap()
    };
    assert!(unset(&["task", "add", "Mine", "--id", "t-1"]).status.success());
    session.socket = None;
    let output = session.env.ralph(&["task", "list"]).failure(1);
    assert!(output.contains("the loop of this session does not answer at"), "{output}");
    assert!(output.contains("unset RALPH_SOCKET"), "{output}");
    for call in
        [&["feature", "list"][..], &["answer"], &["pause"], &["retry", "t-1"], &["export", "prd"]]
    {
        let output = session.env.ralph(call).failure(2);
        assert!(output.contains("a session cannot use this command"), "{call:?}: {output}");
    }
}

#[test]
fn the_task_script_behaves_like_ralph_task() {
    let session = session();
    let script = session.socket.as_ref().unwrap().script().to_owned();
    let mut command = Command::new(script);
    command.args(["log", "t-1", "it's \"quoted\" $HOME"]).env_clear();
    command.env("RALPH_SOCKET", session.socket.as_ref().unwrap().path());
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "data\n");
    assert_eq!(session.calls(), [["log", "t-1", "it's \"quoted\" $HOME"]]);
}

#[test]
fn a_hook_notifies_the_run_and_never_fails() {
    let mut session = session();
    let input = r#"{"session_id":"x","hook_event_name":"SessionEnd"}"#;
    let ran = session.env.ralph_with(&["hook", "session-end"], input);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let stop = "{\"continue\":false,\"stopReason\":\"Context Limit Reached\"}\n";
    assert_eq!(session.env.ralph(&["hook", "pre-compact"]).success(), stop);
    assert_eq!(session.calls(), [words("hook session-end"), words("hook pre-compact")]);
    session.socket = None;
    let ran = session.env.ralph(&["hook", "pre-compact"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, stop));
    assert!(ran.stderr.starts_with("warning: the loop of this session"), "{}", ran.stderr);
    drop((session.runtime, session.place));
}

#[test]
fn a_hook_without_an_agent_does_nothing() {
    let env = env();
    env.task(&["add", "Mine", "--id", "t-1"]);
    env.task(&["claim", "t-1"]);
    for event in ["session-end", "pre-compact"] {
        let ran = env.ralph(&["hook", event]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    }
    assert!(env.task(&["plan-status"]).starts_with("0 open, 1 active"));
}

#[test]
fn s0_7_s0_9_s0_18_a_hook_of_an_agent_without_a_loop_fails_all_that_is_its_own() {
    let mut env = env();
    for id in ["a", "b", "c"] {
        env.task(&["add", id, "--id", id]);
    }
    env.task_as("ada", &["claim", "a"]).success();
    env.task_as("ada", &["claim", "b"]).success();
    env.task_as("bob", &["claim", "c"]).success();
    env.set("RALPH_AGENT_ID", "ada");
    for _ in 0..2 {
        let ran = env.ralph(&["hook", "session-end"]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    }
    let all: Vec<serde_json::Value> = ralph_testkit::data(&env.task(&["list", "--json"]));
    let seen: Vec<(&str, u64)> = all
        .iter()
        .map(|task| (task["status"].as_str().unwrap(), task["retry_count"].as_u64().unwrap()))
        .collect();
    assert_eq!(seen, [("open", 1), ("open", 1), ("active", 0)]);
    assert_eq!(all[0]["reason"], "session ended unexpectedly");
}

#[test]
fn a_hook_has_no_opinion_about_where_it_is_called() {
    let mut env = TestEnv::without_repository(RALPH);
    env.set("RALPH_AGENT_ID", "ada");
    let ran = env.ralph(&["hook", "pre-compact"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.starts_with("{\"continue\":false"), "{}", ran.stdout);
    env.set("RALPH_AGENT_ID", "not an id");
    assert_eq!(env.ralph(&["hook", "session-end"]).code, 0);
    // An input that never ends is not waited for.
    let mut command = env.command(&["hook", "session-end"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let held = child.stdin.take();
    assert!(child.wait().unwrap().success());
    drop(held);
}

struct Run {
    controls: mpsc::Receiver<ReceivedControl>,
    _socket: ControlSocket,
    _place: SocketDir,
    _runtime: Runtime,
}

/// A run that takes controls in this repository.
fn run(env: &TestEnv) -> Run {
    let runtime = Runtime::new().unwrap();
    let place = SocketDir::make(Some(env.folder()), &mut Ids::new(None)).unwrap();
    let live = Live::new(&env.folder().join("events.jsonl"));
    let (sender, controls) = mpsc::channel(8);
    let socket = {
        let _entered = runtime.enter();
        ControlSocket::open(&place, sender, live).unwrap()
    };
    let state = format!("iteration = 1\ncontrol_socket = {:?}\n", socket.path());
    env.write(".ralph/state.toml", state);
    Run { controls, _socket: socket, _place: place, _runtime: runtime }
}

#[test]
fn controls_go_to_the_run_that_the_state_file_names() {
    let env = env();
    env.task(&["add", "Mine", "--id", "t-1"]);
    let mut run = run(&env);
    let task = TaskId::new("t-1").unwrap();
    for (call, control) in [
        (&["pause"][..], Control::Pause),
        (&["resume"], Control::Resume),
        (&["cancel"], Control::Cancel(Cancel::AfterSession)),
        (&["cancel", "--after", "task"], Control::Cancel(Cancel::AfterTask)),
        (&["cancel", "--after", "session"], Control::Cancel(Cancel::AfterSession)),
        (&["cancel", "--after", "now"], Control::Cancel(Cancel::Now)),
        (&["cancel", "--now"], Control::Cancel(Cancel::Now)),
        (&["skip", "t-1"], Control::Skip { task: task.clone() }),
        (&["retry", "t-1"], Control::Retry { task }),
    ] {
        let ran = env.ralph(call);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{call:?}: {}", ran.stderr);
        assert!(!ran.stderr.is_empty(), "{call:?} says what it did");
        assert_eq!(run.controls.try_recv().unwrap().control, control);
    }
    let control = serde_json::json!({"do": "cancel", "now": true, "stop": "now"});
    let sent = serde_json::json!({"control": control, "reached": "run"});
    let printed = env.ralph(&["cancel", "--now", "--json"]).success();
    assert_eq!(ralph_testkit::data::<serde_json::Value>(&printed), sent);
    let output = env.ralph(&["skip", "t-2"]).failure(2);
    assert!(output.contains("did you mean t-1?"), "{output}");
    assert!(env.task(&["plan-status"]).starts_with("1 open"), "the loop changes the task");
}

#[test]
fn without_a_run_there_is_nothing_to_control_but_tasks() {
    let env = env();
    env.task(&["add", "Mine", "--id", "t-1"]);
    let run = run(&env);
    // The run is gone and its state file is not.
    drop(run);
    for call in [&["pause"][..], &["resume"], &["cancel"], &["cancel", "--now"]] {
        let output = env.ralph(call).failure(1);
        assert!(output.starts_with("error: no run is active in this worktree\n"), "{output}");
    }
    let output = env.ralph(&["skip", "t-1"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    assert!(env.task(&["show", "t-1"]).contains("waiting"));
    let control = serde_json::json!({"do": "retry", "task": "t-1"});
    let sent = serde_json::json!({"control": control, "reached": "store"});
    assert_eq!(env.json(&["retry", "t-1"]), sent);
    assert!(env.task(&["plan-status"]).starts_with("1 open"));
}

#[test]
fn a_question_waits_for_its_answer() {
    let env = env();
    assert_eq!(env.ralph(&["answer"]).success(), "");
    for id in ["t-1", "t-2"] {
        env.task(&["add", "Mine", "--id", id]);
    }
    let first = env.task(&["ask", "t-1", "Which of the two?"]);
    let second = env.ralph_with(&["task", "ask", "t-1", "-"], "And when?\n").success();
    let third = env.task(&["ask", "t-2", "-- why?"]);
    let (first, second, third) = (first.trim(), second.trim(), third.trim());
    assert!(first.starts_with("q-") && first.len() == 10 && first != second, "{first}");
    let list = env.ralph(&["answer"]).success();
    assert!(list.starts_with("ID          TASK  AGE  QUESTION\n"), "{list}");
    assert!(list.contains("Which of the two?") && list.contains(third), "{list}");
    let json: serde_json::Value = ralph_testkit::data(&env.ralph(&["answer", "--json"]).success());
    assert_eq!((&json[0]["id"], &json[0]["task"]), (&first.into(), &"t-1".into()));

    let output = env.ralph(&["answer", "t-1", "The old one."]).failure(2);
    assert!(output.contains("t-1 has 2 open questions") && output.contains(second), "{output}");
    let output = env.ralph(&["answer", "t-3", "x"]).failure(2);
    assert!(output.contains("no open question t-3"), "{output}");
    assert!(env.ralph(&["answer", first, " "]).failure(1).contains("the answer is empty"));
    assert!(env.ralph(&["answer", first]).failure(1).contains("the answer is empty"));

    let ran = env.ralph(&["answer", first, "-1, the old one."]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("t-1 waits for one more answer"), "{}", ran.stderr);
    let ran = env.ralph_with(&["answer", "t-1"], "Tomorrow.\n");
    assert_eq!(ran.stderr, "t-1 is open again; its next attempt gets the answer\n");
    assert!(env.ralph(&["answer", first, "again"]).failure(2).contains("no open question"));
    let shown = env.task(&["show", "t-1"]);
    assert!(shown.contains("-1, the old one.") && shown.contains("Tomorrow."), "{shown}");
    assert_eq!(
        env.task(&["plan-status"]),
        "1 open, 0 active, 0 done, 0 blocked, 0 deleted, 1 waiting\n"
    );
}

/// Whoever loses the socket does not become a person by that.
#[test]
fn a_process_of_a_session_without_its_socket_changes_nothing() {
    let mut env = env();
    env.task(&["add", "greet", "--id", "greet"]);
    env.task(&["claim", "greet", "--agent", "agent-0a1b2c3d"]);
    env.set("RALPH_MARK", "boot.1.2.project.3.4");
    for agent in ["", "agent-0a1b2c3d"] {
        env.set("RALPH_AGENT_ID", agent);
        let output = env.ralph(&["task", "done", "greet"]).failure(2);
        assert!(output.contains("belongs to a session of a run"), "{output}");
    }
    assert!(env.task(&["list"]).contains("greet"), "looking is nobody's harm");
    // A gate is started by the loop for the person.
    env.set("RALPH_AGENT_ID", "").set("RALPH_GATE", "test");
    env.task(&["done", "greet"]);
}

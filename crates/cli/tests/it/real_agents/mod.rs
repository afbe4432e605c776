//! Whole runs: `ralph build` with the real Codex, Gemini CLI and opencode, a scripted model and a real repository.

mod by_config;
mod codex;
mod fallback;
mod gemini;
mod opencode;

use std::time::Duration;

use ralph_testkit::TestEnv;
use ralph_testkit::agents::{AgentEnv, AgentKind};
use ralph_testkit::model_server::{Request, Script, Turn};
use ralph_testkit::{Ran, send_signal, wait_until};
use serde_json::Value;

use crate::RALPH;

/// Long enough for a loaded machine.
const SOON: Duration = Duration::from_secs(120);
/// The end of a session that wants its task judged.
const DONE: &str = "Done. <task-done>a</task-done>";

/// A repository with the task `a` and a gate that wants its work, and a model that plays this.
fn playing(kind: AgentKind, script: Script) -> Option<AgentEnv> {
    let env = AgentEnv::new(RALPH, kind, script)?;
    let config = env.home().join(".config/ralph/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    // The model server knows the tools of these models only.
    let model = match kind {
        AgentKind::Codex => "scripted",
        AgentKind::Gemini => "gemini-2.5-pro",
        AgentKind::Opencode => "scripted/scripted",
    };
    let settings = format!(
        "[agent]\nname = {:?}\nenv = [\"SCRIPTED_API_KEY\"]\n[models]\nstrategy = \"fixed\"\nfixed = {model:?}\n",
        kind.name()
    );
    std::fs::write(config, settings).unwrap();
    let gate = "grep -qx hello hello.txt || { echo 'FAILED: misspelt greeting'; exit 3; }";
    env.write("ralph.toml", format!("[[gate]]\nname = \"check\"\ncommand = {gate:?}\n"));
    env.git(&["add", "."]);
    env.git(&["commit", "--quiet", "--message", "gate"]);
    env.task(&["add", "Greet the world", "--id", "a", "-d", "Say hello in hello.txt."]);
    Some(env)
}

/// A session that writes this into `hello.txt`, and says that the task is done.
fn session(greeting: &str) -> [Turn; 2] {
    [Turn::bash(format!("echo {greeting} > hello.txt")), Turn::text(DONE)]
}

fn build(env: &AgentEnv, arguments: &[&str]) -> Ran {
    let mut all = vec!["build"];
    all.extend(arguments);
    env.ralph(&all)
}

/// The run must have ended with this code; what it said.
#[track_caller]
fn output_of(ran: Ran, code: i32) -> String {
    assert_eq!(ran.code, code, "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran.stderr
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in:\n{text}");
}

/// What `ralph task show --json` says.
fn shown(env: &AgentEnv) -> Value {
    ralph_testkit::data(&env.task(&["show", "a", "--json"]))
}

/// The outcomes of the attempts, in their order.
fn outcomes(env: &AgentEnv) -> Vec<String> {
    let word = |attempt: &Value| attempt["end"]["outcome"].as_str().unwrap_or("open").to_owned();
    shown(env)["attempts"].as_array().unwrap().iter().map(word).collect()
}

/// The first request of each session.
fn openings(env: &AgentEnv) -> Vec<Request> {
    env.sessions_seen().into_iter().map(|turns| turns[0].clone()).collect()
}

/// The processes that have the home of this test. Those that have ended and were not waited for have no environment.
pub(crate) fn processes(env: &TestEnv) -> Vec<String> {
    let home = format!("HOME={}", env.home().display());
    let mut found = vec![];
    for entry in std::fs::read_dir("/proc").unwrap() {
        let folder = entry.unwrap().path();
        let environment = std::fs::read(folder.join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|word| word == home.as_bytes()) {
            let command = std::fs::read(folder.join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&command).replace('\0', " "));
        }
    }
    found
}

/// A task that is wrong first: the next session has the output of the gate, and its work is done.
fn retries_a_red_gate(kind: AgentKind) {
    let script = Script::new().session(session("helo")).session(session("hello"));
    let Some(env) = playing(kind, script) else { return };
    let output = output_of(build(&env, &[]), 0);
    has(&output, "✗ check");
    has(&output, "✓ done     a");
    let seen = openings(&env);
    assert_eq!(seen.len(), 2, "{output}");
    has(&seen[0].user_text(), "Say hello in hello.txt.");
    has(&seen[1].user_text(), "FAILED: misspelt greeting");
    assert_eq!(outcomes(&env), ["red", "done"]);
    assert_eq!(env.git(&["show", "HEAD:hello.txt"]), "hello\n");
    assert_eq!(env.server().unscripted(), 0);
    let end = shown(&env)["attempts"][1]["end"].clone();
    assert!(end["input_tokens"].as_u64() > Some(0), "{end}");
    assert_eq!(processes(&env), [""; 0]);
}

/// A login that the provider refuses ends the run with the remedy.
fn stops_at_a_refused_login(kind: AgentKind) {
    let script = Script::new().session([Turn::unauthorized().for_ever()]);
    let Some(env) = playing(kind, script) else { return };
    let output = output_of(build(&env, &[]), 4);
    has(&output, "log in");
    assert_eq!(outcomes(&env), ["auth"]);
    assert_eq!(shown(&env)["retry_count"], 0);
    assert_eq!(env.sessions_seen().len(), 1);
}

/// Ctrl-C in a command, twice: nothing of the session is left, and its work is saved.
fn leaves_nothing_behind(kind: AgentKind) {
    let long = Turn::bash("echo half > hello.txt; echo $$ > ../notes/pid; sleep 300; true");
    let Some(env) = playing(kind, Script::new().session([long])) else { return };
    let pid = env.note("pid");
    let run = env.start(&["build"]);
    let read = || std::fs::read_to_string(&pid).unwrap_or_default().trim().to_owned();
    wait_until("the command runs", SOON, || !read().is_empty());
    send_signal("INT", run.id());
    std::thread::sleep(Duration::from_millis(500));
    send_signal("INT", run.id());
    has(&output_of(Ran::end_of(run), 130), "Stopped: cancelled.");
    assert_eq!(processes(&env), [""; 0]);
    assert_eq!(outcomes(&env), ["cancelled"]);
    assert_eq!(env.git(&["show", "refs/ralph/wip/a/1:hello.txt"]), "half\n");
}

/// One vendor's agent builds, another's verifies.
#[test]
fn codex_verifies_what_gemini_built() {
    let looks = [Turn::bash("cat hello.txt"), Turn::text("Good.\n<verify-pass/>")];
    let script = Script::new().session(session("hello")).session(looks);
    let Some(mut env) =
        playing(AgentKind::Gemini, script).and_then(|env| env.with(AgentKind::Codex))
    else {
        return;
    };
    env.with_verifier();
    let output = output_of(
        build(&env, &["--set", "agent.verify=codex", "--set", "models.verify=scripted"]),
        0,
    );
    has(&output, "✓ verifier");
    has(&output, "✓ done     a");
    let seen = env.sessions_seen();
    let tools: Vec<String> = seen.iter().map(|turns| turns[0].body.to_string()).collect();
    assert!(tools[0].contains("run_shell_command") && tools[1].contains("exec_command"));
    has(&seen[1][1].tool_results()[0].0, "hello");
    assert_eq!(shown(&env)["verification_status"], "passed");
    assert_eq!(processes(&env), [""; 0]);
}

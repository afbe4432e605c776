//! Whole runs: `ralph build` with the real Claude Code, a scripted model and a real repository.

mod ends;
mod learning;
mod pick;
mod processes;
mod telling;
mod users;
mod verifying;
mod work;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use ralph_testkit::claude::ClaudeEnv;
use ralph_testkit::model_server::{Request, Script, Turn};
use ralph_testkit::{Ran, wait_until};
use serde_json::Value;

use crate::RALPH;

/// Long enough for a loaded machine.
const SOON: Duration = Duration::from_secs(60);
/// The end of a session that wants its task judged.
const DONE: &str = "Done. <task-done>{id}</task-done>";

/// A repository with the task `a`, and a model that plays these turns for the first session.
fn session(turns: impl IntoIterator<Item = Turn>) -> Option<ClaudeEnv> {
    playing(Script::new().session(turns))
}

/// A repository with the task `a`, and a model that plays this.
fn playing(script: Script) -> Option<ClaudeEnv> {
    let env = ClaudeEnv::new(RALPH, script)?;
    env.task(&["add", "Greet the world", "--id", "a", "-d", "Say hello in hello.txt."]);
    Some(env)
}

/// A command that does the work of the task and commits it.
pub(crate) fn commits() -> Turn {
    Turn::bash("echo hello > hello.txt && git add . && git commit --quiet -m 'Greet the world'")
}

/// Two turns that do the whole task.
fn good_session() -> [Turn; 2] {
    [commits(), Turn::text(DONE)]
}

/// One gate, by the settings of the repository.
pub(crate) fn gate(env: &ClaudeEnv, command: &str) {
    env.write("ralph.toml", format!("[[gate]]\nname = \"check\"\ncommand = {command:?}\n"));
    env.git(&["add", "."]);
    env.git(&["commit", "--quiet", "--message", "gate"]);
}

/// What `ralph task show --json` says.
fn shown(env: &ClaudeEnv, id: &str) -> Value {
    ralph_testkit::data(&env.task(&["show", id, "--json"]))
}

/// The outcomes of the attempts on a task, in their order.
fn outcomes(env: &ClaudeEnv, id: &str) -> Vec<String> {
    let shown = shown(env, id);
    let word = |attempt: &Value| attempt["end"]["outcome"].as_str().unwrap_or("open").to_owned();
    shown["attempts"].as_array().unwrap().iter().map(word).collect()
}

/// The folders of the runs so far, the oldest first.
fn runs(env: &ClaudeEnv) -> Vec<PathBuf> {
    let Ok(logs) = std::fs::read_dir(env.repo().join(".ralph/logs")) else { return vec![] };
    let mut runs: Vec<PathBuf> = logs.map(|entry| entry.unwrap().path()).collect();
    runs.retain(|path| path.is_dir());
    runs.sort();
    runs
}

/// The facts of one kind in the journal of the newest run. Its last line may be in the making.
pub(crate) fn facts(env: &ClaudeEnv, kind: &str) -> Vec<Value> {
    let Some(run) = runs(env).pop() else { return vec![] };
    let text = std::fs::read_to_string(run.join("events.jsonl")).unwrap_or_default();
    let read = |line| serde_json::from_str::<Value>(line).ok();
    text.lines().filter_map(read).filter(|fact| fact["kind"] == kind).collect()
}

/// The first request of each session.
pub(crate) fn openings(env: &ClaudeEnv) -> Vec<Request> {
    env.sessions_seen().into_iter().map(|turns| turns[0].clone()).collect()
}

/// What the model was told about its task at the beginning of a session.
pub(crate) fn prompt(opening: &Request) -> String {
    opening.user_text()
}

/// The run must have ended with this code; what it said.
#[track_caller]
fn output_of(ran: Ran, code: i32) -> String {
    assert_eq!(ran.code, code, "{}", ran.stderr);
    assert_eq!(ran.stdout, "", "a run prints no data");
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran.stderr
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in:\n{text}");
}

#[track_caller]
fn has_not(text: &str, part: &str) {
    assert!(!text.contains(part), "{part:?} is in:\n{text}");
}

/// Starts `ralph build`.
fn start(env: &ClaudeEnv, arguments: &[&str]) -> Child {
    let mut all = vec!["build"];
    all.extend(arguments);
    env.start(&all)
}

/// Waits for a fact in the journal of the newest run.
#[track_caller]
fn wait_for_fact(env: &ClaudeEnv, kind: &str) -> Value {
    wait_until(kind, SOON, || !facts(env, kind).is_empty());
    facts(env, kind).remove(0)
}

/// The processes that this test has started, directly or not: all have its home. Those that have
/// ended and were not waited for do not count.
pub(crate) fn processes(env: &ClaudeEnv) -> Vec<String> {
    let home = format!("HOME={}", env.home().display());
    let mut found = vec![];
    for entry in std::fs::read_dir("/proc").unwrap() {
        let folder = entry.unwrap().path();
        let environment = std::fs::read(folder.join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|word| word == home.as_bytes()) {
            let command = std::fs::read(folder.join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            found.push(format!("{}: {command}", folder.display()));
        }
    }
    found
}

/// Puts a script in front of Claude Code; `$CLAUDE` in it is the real one.
fn wrap_claude(env: &ClaudeEnv, script: &str) {
    let claude = env.folder().join("bin/claude");
    // A sandbox shows what links on the `PATH` lead to.
    let real = env.folder().join("bin/claude-itself");
    std::fs::rename(&claude, &real).unwrap();
    let script = script.replace("$CLAUDE", &format!("'{}'", real.display()));
    std::fs::write(&claude, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
}

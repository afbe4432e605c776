//! `ralph build` from the outside: the real binary, real git, and agents that do what they are told.

mod allowances;
mod approving;
mod bad_gates;
mod baseline;
mod budgets;
mod clean;
mod costs;
mod ends;
mod escapes;
mod evidence;
mod fallback;
mod forbidden;
mod gates;
mod git_hooks;
mod graph;
mod learning;
mod missing_gates;
mod modes;
#[cfg(target_os = "linux")]
mod notifying;
mod outcomes;
mod own_agents;
#[cfg(target_os = "linux")]
mod own_git;
mod owning;
mod picking;
mod places;
mod protected;
mod secrets;
mod shapes;
mod shown;
mod skills;
mod stopping;
mod store;
mod strange;
mod telling;
mod untrusted;
mod users;
mod verifying;

use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use ralph_testkit::{Ran, TestEnv, wait_until};
use serde_json::Value;

use crate::env;

/// How long anything may take that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A repository with one commit and these tasks; a task's title is its id.
pub(crate) fn project(tasks: &[&str]) -> TestEnv {
    let mut env = env();
    // Several runs on one store need names that differ.
    env.set("RALPH_TEST_SEED", "");
    env.identify();
    env.write("README.md", "A project.\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "first"]);
    for task in tasks {
        env.task(&["add", task, "--id", task]);
    }
    env
}

/// Writes the cassette: each text is a session, its lines are steps.
pub(crate) fn cassette(env: &TestEnv, sessions: &[&str]) -> PathBuf {
    let path = env.folder().join("cassette.jsonl");
    let text: String =
        sessions.iter().map(|session| format!("{{\"do\":\"session\"}}\n{session}\n")).collect();
    std::fs::write(&path, text).unwrap();
    let _ = std::fs::remove_file(env.folder().join("cassette.jsonl.cursor"));
    path
}

/// A step that says something.
pub(crate) fn say(text: &str) -> String {
    serde_json::json!({ "do": "say", "text": text }).to_string()
}

/// A step that runs a shell command. `ralph` is the one under test.
pub(crate) fn sh(command: &str) -> String {
    let command = format!("ralph() {{ {} \"$@\"; }}; {command}", crate::RALPH);
    serde_json::json!({ "do": "run", "argv": ["sh", "-c", command] }).to_string()
}

/// A step that writes a file.
pub(crate) fn write(path: &str, text: &str) -> String {
    serde_json::json!({ "do": "write", "path": path, "text": text }).to_string()
}

/// A session of these steps.
pub(crate) fn session(steps: &[String]) -> String {
    steps.join("\n")
}

/// A session that does its task: a file with the task's name, and done.
pub(crate) fn works() -> String {
    session(&[write("{id}.txt", "work\n"), say("<task-done>{id}</task-done>")])
}

/// A session that says one thing and does nothing.
pub(crate) fn only_says(text: &str) -> String {
    say(text)
}

/// Where the agent picks: claims a task, writes a file, asks for done.
fn picks(task: &str) -> String {
    session(&[
        sh(&format!("ralph task claim {task} && ralph task done {task}")),
        write(&format!("{task}.txt"), "work\n"),
        say("finished"),
    ])
}

/// The arguments of a run with these sessions.
pub(crate) fn arguments<'a>(extra: &[&'a str]) -> Vec<&'a str> {
    let mut all =
        vec!["build", "--agent", "script", "--set", "agent.script.path=../cassette.jsonl"];
    all.extend(extra);
    all
}

/// Runs the loop with these sessions.
pub(crate) fn build(env: &TestEnv, sessions: &[&str], extra: &[&str]) -> Ran {
    cassette(env, sessions);
    again(env, extra)
}

/// Runs the loop on, with the cassette as it stands.
pub(crate) fn again(env: &TestEnv, extra: &[&str]) -> Ran {
    env.ralph(&arguments(extra))
}

/// Starts the loop with these sessions and does not wait.
pub(crate) fn start(env: &TestEnv, sessions: &[&str], extra: &[&str]) -> Child {
    cassette(env, sessions);
    env.start(&arguments(extra))
}

/// Waits until this note is there.
pub(crate) fn wait_for(env: &TestEnv, name: &str) {
    let path = env.note(name);
    wait_until(name, PATIENCE, || path.exists());
}

/// A step that tells that it was reached, and waits until it may go on.
pub(crate) fn gate_step(reached: &str, go_on: &str) -> String {
    sh(&format!("touch ../notes/{reached}; until test -e ../notes/{go_on}; do sleep 0.02; done"))
}

pub(crate) fn touch(env: &TestEnv, name: &str) {
    std::fs::write(env.note(name), "").unwrap();
}

/// The folders of all runs, oldest first.
pub(crate) fn runs(env: &TestEnv) -> Vec<PathBuf> {
    let logs = env.repo().join(".ralph/logs");
    let mut found: Vec<PathBuf> = std::fs::read_dir(logs)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// A file of the newest run.
pub(crate) fn run_file(env: &TestEnv, name: &str) -> String {
    let path = runs(env).pop().unwrap().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The journal of the newest run, as far as it was written.
pub(crate) fn journal(env: &TestEnv) -> Vec<Value> {
    let Some(folder) = runs(env).pop() else { return vec![] };
    let text = std::fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Waits until the newest run has told this.
pub(crate) fn wait_for_event(env: &TestEnv, what: &str, so: impl Fn(&Value) -> bool) {
    wait_until(what, PATIENCE, || journal(env).iter().any(&so));
}

/// The events of a kind.
pub(crate) fn of_kind<'a>(journal: &'a [Value], kind: &str) -> Vec<&'a Value> {
    journal.iter().filter(|event| event["kind"] == kind).collect()
}

/// The class of each iteration of the newest run.
pub(crate) fn classes(env: &TestEnv) -> Vec<String> {
    let journal = journal(env);
    let ended = of_kind(&journal, "iteration_ended");
    ended.iter().map(|event| event["class"].as_str().unwrap().to_owned()).collect()
}

/// A task with everything about it.
pub(crate) fn show(env: &TestEnv, task: &str) -> Value {
    ralph_testkit::data(&env.task(&["show", task, "--json"]))
}

pub(crate) fn status(env: &TestEnv, task: &str) -> String {
    show(env, task)["status"].as_str().unwrap().to_owned()
}

/// The subjects of all commits, newest first.
pub(crate) fn subjects(env: &TestEnv) -> Vec<String> {
    env.git(&["log", "--format=%s"]).lines().map(str::to_owned).collect()
}

/// A stand-in for Claude Code, first on PATH. `body` is bash; it finds `$n`, the number of the session,
/// `$here`, a folder for its notes, and `result TEXT`. The arguments of session N are in `argv.N`, each
/// ended by a zero byte.
pub(crate) fn stand_in(env: &mut TestEnv, body: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let here = env.note("stand-in");
    std::fs::create_dir_all(here.join("bin")).unwrap();
    let script = format!(
        r#"#!/bin/bash
if [ "$1" = --version ]; then echo "2.1.999 (Claude Code)"; exit 0; fi
here={here}
n=$(($(cat $here/count 2>/dev/null || echo 0) + 1)); echo $n > $here/count
printf '%s\0' "$@" > $here/argv.$n
ralph() {{ {ralph} "$@"; }}
talks=$(printf '%s\n' "$@" | grep -c replay-user-messages)
# What it reads first: a line where the user can talk to it, everything else.
input() {{ if [ $talks = 1 ]; then head -n 1; else cat; fi; }}
init() {{ echo '{{"type":"system","subtype":"init","session_id":"s","model":"claude-fake","claude_code_version":"2.1.999"}}'; }}
result() {{
  init
  echo '{{"type":"assistant","message":{{"id":"m'$n'","model":"claude-fake","content":[{{"type":"text","text":"'"$1"'"}}],"usage":{{"input_tokens":3,"output_tokens":5}}}}}}'
  echo '{{"type":"result","subtype":"success","is_error":false,"duration_ms":7,"num_turns":1,"result":"'"$1"'","stop_reason":"end_turn","terminal_reason":"completed","total_cost_usd":0.01,"usage":{{"input_tokens":3,"output_tokens":5}},"permission_denials":[]}}'
}}
{body}
"#,
        here = here.display(),
        ralph = crate::RALPH,
    );
    let program = here.join("bin/claude");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    env.set("PATH", &format!("{}:{path}", here.join("bin").display()));
    here
}

/// The arguments of a session of the stand-in.
pub(crate) fn argv(here: &std::path::Path, session: u32) -> Vec<String> {
    let text = std::fs::read_to_string(here.join(format!("argv.{session}"))).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// How many sessions the stand-in has seen.
pub(crate) fn sessions_of(here: &std::path::Path) -> u32 {
    std::fs::read_to_string(here.join("count")).map_or(0, |text| text.trim().parse().unwrap())
}

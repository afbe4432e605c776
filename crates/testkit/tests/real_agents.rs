//! The real Codex, Gemini CLI and opencode against the scripted model: that the harness works, and
//! what the agents do with errors.
//!
//! Run `cargo test -p ralph-testkit --test real_agents -- --ignored --nocapture` to record the
//! transcripts again.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the recording reads its choice from the environment, waits for agents and prints rows"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ralph_engine::clock::Stopwatch;
use ralph_testkit::agents::{AgentEnv, AgentKind};
use ralph_testkit::model_server::{Script, Turn};
use serde_json::Value;

/// The agent runs a command, gets its output, and says its last word.
fn works(kind: AgentKind) {
    let script = Script::new().session([
        Turn::thinking("A command.").and_text("I look.").and_bash("echo made > new.txt; echo seen"),
        Turn::text("All done. <task-done>{id}</task-done>"),
    ]);
    let Some(env) = AgentEnv::new("/no/ralph/here", kind, script) else { return };
    let ran = env.run("go. RALPH_TASK_ID=t-1");
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(std::fs::read_to_string(env.repo().join("new.txt")).unwrap(), "made\n");
    assert_eq!(last_text(kind, &ran.events()), "All done. <task-done>t-1</task-done>");
    let sessions = env.sessions_seen();
    assert_eq!(sessions.iter().map(Vec::len).collect::<Vec<_>>(), [2]);
    assert!(!sessions[0][0].session().is_empty());
    let results = sessions[0][1].tool_results();
    assert!(results.len() == 1 && results[0].0.contains("seen"), "{results:?}");
    assert_eq!(env.server().unscripted(), 0);
}

/// The last message of the agent.
fn last_text(kind: AgentKind, events: &[Value]) -> String {
    let text = |event: &Value| match kind {
        AgentKind::Codex if event["item"]["type"] == "agent_message" => {
            event["item"]["text"].as_str().map(str::to_owned)
        }
        AgentKind::Opencode if event["type"] == "text" => {
            event["part"]["text"].as_str().map(str::to_owned)
        }
        _ => None,
    };
    if kind == AgentKind::Gemini {
        // It comes in pieces, after the last result of a tool.
        let last = events.iter().rposition(|event| event["type"] == "tool_result");
        let pieces = events[last.map_or(0, |last| last + 1)..].iter();
        let said = pieces.filter(|event| event["role"] == "assistant");
        return said.filter_map(|event| event["content"].as_str()).collect();
    }
    events.iter().filter_map(text).next_back().unwrap_or_default()
}

#[test]
fn codex_runs_a_command_and_reports_the_last_text() {
    works(AgentKind::Codex);
}

#[test]
fn gemini_runs_a_command_and_reports_the_last_text() {
    works(AgentKind::Gemini);
}

#[test]
fn opencode_runs_a_command_and_reports_the_last_text() {
    works(AgentKind::Opencode);
}

/// The cases whose output the decoders are written from.
fn cases() -> Vec<(&'static str, Vec<Turn>)> {
    vec![
        (
            "done",
            vec![
                Turn::thinking("I think.")
                    .and_text("I write the file.")
                    .and_bash("echo hello > hello.txt"),
                Turn::text("All done."),
            ],
        ),
        ("toolerr", vec![Turn::bash("cat nope.txt; exit 3"), Turn::text("It failed.")]),
        ("e400", vec![Turn::error(400).for_ever()]),
        ("e401", vec![Turn::error(401).for_ever()]),
        ("e403", vec![Turn::error(403).for_ever()]),
        ("e429ra", vec![Turn::error(429).retry_after(3600).for_ever()]),
        ("e429", vec![Turn::error(429).for_ever()]),
        ("e500", vec![Turn::error(500).for_ever()]),
        ("cut", vec![Turn::text("Half a sentence").then_cut().for_ever()]),
        ("sse-error", vec![Turn::text("Half").then_error("server_error").for_ever()]),
        ("etoolong", vec![Turn::prompt_too_long().for_ever()]),
    ]
}

/// How long a recording may take.
const AT_MOST: Duration = Duration::from_secs(180);

/// Records the cases that `CASES` and `AGENTS` name, or all, into `RECORD_TO`, and prints the rows for
/// the table in the README there.
#[test]
#[ignore = "records transcripts: takes up to 3 minutes for each case"]
fn recording() {
    let chosen = |variable: &str, name: &str| {
        std::env::var(variable).map_or(true, |names| names.split(' ').any(|known| known == name))
    };
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts");
    let place = std::env::var_os("RECORD_TO").map_or(own, Into::into);
    for kind in AgentKind::ALL.into_iter().filter(|kind| chosen("AGENTS", kind.name())) {
        for (case, turns) in cases().into_iter().filter(|(case, _)| chosen("CASES", case)) {
            record(kind, case, turns, &place.join(kind.name()));
        }
    }
}

fn record(kind: AgentKind, case: &str, turns: Vec<Turn>, place: &Path) {
    let script = Script::new().session(turns);
    let Some(mut env) = AgentEnv::new("/no/ralph/here", kind, script) else { return };
    env.leaves_processes("a recording ends agents that retry for ever");
    std::fs::create_dir_all(place).unwrap();
    let (out, err) = (env.folder().join("out"), env.folder().join("err"));
    let start = Stopwatch::start();
    let mut command: Command = env.agent_command(&kind.arguments("go"));
    command.stdin(Stdio::null());
    command.stdout(std::fs::File::create(&out).unwrap());
    command.stderr(std::fs::File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    while child.try_wait().unwrap().is_none() && start.elapsed() < AT_MOST {
        std::thread::sleep(Duration::from_millis(100));
    }
    let seconds = start.elapsed().as_secs();
    let was_killed = child.try_wait().unwrap().is_none();
    if was_killed {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    let rewrite = |text: String| {
        text.replace(env.repo().to_str().unwrap(), "/project")
            .replace(env.home().to_str().unwrap(), "/home/user")
            .replace(env.folder().to_str().unwrap(), "/test")
            .replace(&env.server().url(), "http://127.0.0.1:8080")
    };
    let stdout = rewrite(std::fs::read_to_string(&out).unwrap());
    std::fs::write(place.join(format!("{case}.ndjson")), stdout).unwrap();
    let stderr = rewrite(String::from_utf8_lossy(&std::fs::read(&err).unwrap()).into_owned());
    // Of a stack trace only the message counts.
    let lines: Vec<&str> = stderr
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("at "))
        .collect();
    let last = &lines[lines.len().saturating_sub(8)..];
    let last: String = last.join(" ⏎ ").chars().take(500).collect();
    let code = match status.code() {
        Some(code) => code.to_string(),
        None if was_killed => "none, killed".to_owned(),
        None => status.to_string(),
    };
    let requests = env.server().turns().len();
    println!("| {case} | {code} | {requests} | {seconds} | {} |", last.replace('|', "\\|"));
}

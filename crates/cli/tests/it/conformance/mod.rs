//! One suite for all agents: whatever happens in a session, it ends as the table says, the task is as this end demands,
//! and no process is left. Each agent is the real one with a scripted model, natively or by the Agent Client Protocol.
//!
//! `./check` plays a few cases, `./check --full` all of them. `CASES` and `AGENTS` choose others by name:
//! `CASES='e429 cut' AGENTS='codex opencode-acp' cargo nextest run -p ralph --test it conformance`.

mod cases;

use std::time::Duration;

use ralph_core::run::{Becomes, Class, Retry};
use ralph_testkit::acp::AcpAgent;
use ralph_testkit::agents::AgentKind;
use ralph_testkit::model_server::Script;
use ralph_testkit::real_agent::{AgentName, RealAgent};
use ralph_testkit::{Ran, send_signal, times, wait_until};

use crate::RALPH;
use crate::real_agents::processes;
use cases::{CASES, Case, Interruption};

/// Long enough for an agent that tries again by itself, on a loaded machine.
const SOON: Duration = Duration::from_secs(600);

/// The agents in the order of the table's columns.
const AGENTS: [(&str, AgentName); 8] = [
    ("claude", AgentName::Claude),
    ("codex", AgentName::Native(AgentKind::Codex)),
    ("gemini", AgentName::Native(AgentKind::Gemini)),
    ("opencode", AgentName::Native(AgentKind::Opencode)),
    ("claude-acp", AgentName::Acp(AcpAgent::Claude)),
    ("codex-acp", AgentName::Acp(AcpAgent::Codex)),
    ("gemini-acp", AgentName::Acp(AcpAgent::Gemini)),
    ("opencode-acp", AgentName::Acp(AcpAgent::Opencode)),
];

/// What `./check` plays: a login that is refused and an interrupted command, where an agent needs no half minute for a
/// session. Claude Code has tests of its own for nearly every case.
const USUALLY: [(&str, &str); 6] = [
    ("codex", "401"),
    ("codex", "interrupt"),
    ("gemini", "401"),
    ("gemini", "interrupt"),
    ("opencode", "unknown-event"),
    ("gemini-acp", "terminate"),
];

/// Whether this run of the tests plays the case.
fn is_chosen(agent: &str, case: &str) -> bool {
    let named = |variable: &str, name: &str| {
        std::env::var(variable).ok().map(|names| names.split(' ').any(|known| known == name))
    };
    match (named("AGENTS", agent), named("CASES", case)) {
        (None, None) => times(0, 1) > 0 || USUALLY.contains(&(agent, case)),
        (by_agent, by_case) => by_agent.unwrap_or(true) && by_case.unwrap_or(true),
    }
}

/// Plays the chosen cases of an agent. All of them, also after one that fails: each says something about the agent.
fn conforms(agent: &str) {
    let column = AGENTS.iter().position(|(name, _)| *name == agent).unwrap();
    let mut failed = vec![];
    for case in CASES.iter().filter(|case| is_chosen(agent, case.name)) {
        let plays = || plays(AGENTS[column].1, case, case.ends[column]);
        match std::panic::catch_unwind(plays) {
            Ok(true) => {}
            Ok(false) => return,
            Err(_) => failed.push(case.name),
        }
    }
    assert!(failed.is_empty(), "{agent}: {failed:?}");
}

/// Plays one case. `false`: the agent cannot be installed here.
fn plays(name: AgentName, case: &Case, class: Class) -> bool {
    let script = Script::new().session((case.turns)());
    let Some(mut agent) = RealAgent::new(RALPH, name, script) else { return false };
    agent.set("CLAUDE_CODE_MAX_RETRIES", "1");
    if name.is_adapter() {
        agent.without_sandbox("the adapters of the test lie where no sandbox shows them");
    }
    if case.stray_line {
        agent.wrap(match name {
            AgentName::Acp(_) => cases::STRAY_MESSAGE,
            _ => cases::STRAY_EVENT,
        });
    }
    agent.task(&["add", "Greet the world", "--id", "a", "-d", "Say hello in hello.txt."]);
    let flags = agent.flags();
    let mut call = vec!["build", "1", "--set", "models.strategy=agent"];
    call.extend(flags.iter().map(String::as_str));
    let silence = case.silence.map(|seconds| format!("agent.silence={seconds}s"));
    if let Some(silence) = &silence {
        call.extend(["--set", silence]);
    }
    let run = agent.start(&call);
    let pid = run.id();
    if let Some(interruption) = case.interruption {
        wait_until("the command runs", SOON, || agent.note("pid").exists());
        send_signal(interruption.signal, pid);
        for _ in 1..interruption.times {
            std::thread::sleep(Duration::from_millis(500));
            send_signal(interruption.signal, pid);
        }
    } else if class.is_limit() {
        // ralph would wait for the limit: the second signal ends the wait of a run that still records something.
        let waits = || {
            let journal = journal(&agent);
            ["\"wait_started\"", "\"run_ended\""].iter().any(|fact| journal.contains(fact))
        };
        wait_until("ralph waits", SOON, waits);
        send_signal("TERM", pid);
    }
    let ran = Ran::end_of(run);
    let context =
        format!("{} {}\n{}\n{}", name.program(), case.name, ran.stderr, last_lines(&agent));
    assert!(!ran.stderr.contains("panicked"), "{context}");
    let task = agent.json(&["task", "show", "a"]);
    let end = &task["attempts"][0]["end"];
    assert_eq!(end["outcome"], class.as_str(), "{context}\n{end}");
    assert_eq!(task["status"], status(class), "{context}");
    assert_eq!(task["retry_count"], retries(class), "{context}");
    assert_eq!(ran.code, code(class, case.interruption), "{context}");
    assert_eq!(processes(&agent), [""; 0], "{context}");
    match class {
        Class::Done => {
            assert_eq!(agent.git(&["show", "HEAD:hello.txt"]), "hello\n", "{context}");
            assert!(end["input_tokens"].as_u64() > Some(0), "{context}\n{end}");
        }
        Class::Cancelled => {
            assert_eq!(agent.git(&["show", "refs/ralph/wip/a/1:hello.txt"]), "half\n", "{context}");
        }
        Class::TaskFailed | Class::NoSignal => {}
        class => assert!(ran.stderr.contains(class.words()), "{context}"),
    }
    true
}

/// What `ralph task show` calls the state that this end leaves a task in.
fn status(class: Class) -> &'static str {
    match class.row().becomes {
        Becomes::Done => "done",
        Becomes::Failed => "failed",
        Becomes::Waiting => "waiting",
        Becomes::Pending | Becomes::Untouched => "open",
    }
}

fn retries(class: Class) -> u32 {
    // A crash of the agent is nothing that the work of the task could be blamed for.
    u32::from(class.row().retry == Retry::Yes)
}

/// The exit code of a run of one session.
fn code(class: Class, interruption: Option<Interruption>) -> i32 {
    match class {
        _ if interruption.is_some() || class.is_limit() => 130,
        class if class.needs_user_action() => 4,
        _ => 0,
    }
}

/// The journals of all runs so far.
fn journal(agent: &RealAgent) -> String {
    let Ok(logs) = std::fs::read_dir(agent.repo().join(".ralph/logs")) else {
        return String::new();
    };
    let journals = logs.filter_map(|entry| Some(entry.ok()?.path().join("events.jsonl")));
    journals.filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

/// What the agent printed last, to explain a failure.
fn last_lines(agent: &RealAgent) -> String {
    let folders = std::fs::read_dir(agent.repo().join(".ralph/logs")).into_iter().flatten();
    let raw = folders.filter_map(|entry| Some(entry.ok()?.path().join("iteration-001.ndjson")));
    let text: String = raw.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    let lines: Vec<&str> =
        text.lines().rev().take(6).map(|line| &line[..line.floor_char_boundary(1_000)]).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

#[test]
fn claude_code_conforms() {
    conforms("claude");
}

#[test]
fn codex_conforms() {
    conforms("codex");
}

#[test]
fn gemini_cli_conforms() {
    conforms("gemini");
}

#[test]
fn opencode_conforms() {
    conforms("opencode");
}

/// The adapters and the Node that they need are a gigabyte: only `./check --full` installs them.
#[test]
fn the_adapter_of_claude_code_conforms() {
    conforms("claude-acp");
}

#[test]
fn the_adapter_of_codex_conforms() {
    conforms("codex-acp");
}

#[test]
fn gemini_cli_conforms_by_the_protocol() {
    conforms("gemini-acp");
}

#[test]
fn opencode_conforms_by_the_protocol() {
    conforms("opencode-acp");
}

/// A case that no agent plays, or an agent that plays none, would be a check that cannot fail.
#[test]
fn what_is_usually_played_is_in_the_table() {
    for (agent, case) in USUALLY {
        assert!(AGENTS.iter().any(|(name, _)| *name == agent), "{agent}");
        assert!(CASES.iter().any(|known| known.name == case), "{case}");
    }
}

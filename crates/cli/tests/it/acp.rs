//! `ralph build --agent acp` with the real agents that speak the Agent Client Protocol.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_testkit::acp::{AcpAgent, AcpEnv};
use ralph_testkit::model_server::{Script, Turn};
use ralph_testkit::{TestEnv, times};
use serde_json::Value;

use crate::RALPH;

/// The agent works through one task.
fn does_a_task(agent: AcpAgent) {
    let script = Script::new().session([
        Turn::bash("echo hello > hello.txt"),
        Turn::text("Done. <task-done>{id}</task-done>"),
    ]);
    let Some(mut env) = AcpEnv::new(RALPH, agent, script) else { return };
    if matches!(agent, AcpAgent::Claude | AcpAgent::Codex) {
        env.without_sandbox("the adapters of the test lie where no sandbox shows them");
    }
    env.task(&["add", "Greet the world", "--id", "a", "-d", "Say hello in hello.txt."]);
    let ran = env.build(&["--once", "--verbose"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let task = env.json(&["task", "show", "a"]);
    assert_eq!(task["status"], "done", "{task}\n{}", ran.stderr);
    assert_eq!(env.git(&["show", "HEAD:hello.txt"]), "hello\n");
    let end = &task["attempts"][0]["end"];
    assert_eq!(end["outcome"], "done", "{task}");
    assert!(end["input_tokens"].as_u64() > Some(0), "{task}");
    let raw = || {
        let find = ["-c", "cat .ralph/logs/*/iteration-001.ndjson"];
        let found = env.program("sh").args(find).output().unwrap();
        String::from_utf8_lossy(&found.stdout).into_owned()
    };
    assert!(ran.stderr.contains("→ "), "the tool call is shown:\n{}\n{}", ran.stderr, raw());
    let first = env.server().turns().remove(0);
    assert!(first.user_text().contains("Say hello in hello.txt."), "{}", first.body);
}

/// The adapters and the Node that they need are a gigabyte: only `./check --full` installs them.
#[test]
fn the_adapters_of_claude_code_and_codex_do_a_task() {
    for agent in [AcpAgent::Claude, AcpAgent::Codex] {
        if times(0, 1) > 0 {
            does_a_task(agent);
        }
    }
}

#[test]
fn gemini_cli_does_a_task() {
    does_a_task(AcpAgent::Gemini);
}

#[test]
fn opencode_does_a_task() {
    does_a_task(AcpAgent::Opencode);
}

/// A program that speaks the protocol, does its task, and notes its arguments and what it is asked for.
const STAND_IN: &str = r#"#!/bin/bash
here=${0%/*}
printf '%s\n' "$@" > "$here/arguments"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
while read -r line; do
  printf '%s\n' "$line" >> "$here/heard"
  id=${line##*'"id":'}
  id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*) say '"id":'"$id"',"result":{"protocolVersion":1}' ;;
    *'"method":"session/new"'*)
      say '"id":'"$id"',"result":{"sessionId":"s","models":{"currentModelId":"usual"}}' ;;
    *'"method":"session/prompt"'*)
      echo "$RALPH_TASK_ID" > "$RALPH_TASK_ID.txt"
      text="<task-done>$RALPH_TASK_ID</task-done>"
      update='{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$text"'"}}'
      say '"method":"session/update","params":{"sessionId":"s","update":'"$update"'}'
      say '"id":'"$id"',"result":{"stopReason":"end_turn"}' ;;
    *'"id":'*) say '"id":'"$id"',"result":{}' ;;
  esac
done
"#;

/// A repository with these tasks, the folder of the stand-in, and its path.
fn with_stand_in(tasks: &[&str]) -> (TestEnv, PathBuf, String) {
    let env = crate::looping::project(tasks);
    let here = env.note("acp");
    std::fs::create_dir_all(&here).unwrap();
    let program = here.join("stand-in");
    std::fs::write(&program, STAND_IN).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    (env, here, program.display().to_string())
}

fn heard(here: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(here.join("heard")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_program_and_its_arguments_are_those_of_the_settings() {
    let (env, here, program) = with_stand_in(&["a"]);
    let path = format!("agent.acp.path={program}");
    let args = "agent.acp.args=[\"--acp\", \"-x\"]";
    let ran = env.ralph(&["build", "--once", "--agent", "acp", "--set", &path, "--set", args]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(env.json(&["task", "show", "a"])["status"], "done", "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(here.join("arguments")).unwrap(), "--acp\n-x\n");
    let heard = heard(&here);
    let methods: Vec<&str> = heard.iter().filter_map(|one| one["method"].as_str()).collect();
    assert_eq!(methods, ["initialize", "session/new", "session/prompt"]);
    assert_eq!(heard[1]["params"]["cwd"], env.repo().canonicalize().unwrap().to_str().unwrap());
    let prompt = heard[2]["params"]["prompt"][0]["text"].as_str().unwrap();
    assert!(prompt.contains("You are one session of a loop"), "{prompt}");
}

#[test]
fn each_tier_of_acp_is_the_model_that_its_setting_names() {
    let (env, here, program) = with_stand_in(&["a", "b", "c", "d", "e", "f"]);
    let path = format!("agent.acp.path={program}");
    for (setting, tier, name) in [
        ("models.acp.opus=big-1", "opus", "big-1"),
        ("models.acp.sonnet=mid-1", "sonnet", "mid-1"),
        ("models.acp.haiku=tiny-1", "haiku", "tiny-1"),
        ("models.acp.large=big-2", "large", "big-2"),
        ("models.acp.medium=mid-2", "medium", "mid-2"),
        ("models.acp.small=tiny-2", "small", "tiny-2"),
    ] {
        let _ = std::fs::remove_file(here.join("heard"));
        let call = ["build", "--once", "--agent", "acp", "--set", &path, "--set", setting];
        env.ralph(&[&call[..], &["--model", tier]].concat()).success();
        let heard = heard(&here);
        let model = heard.iter().find(|one| one["method"] == "session/set_model").unwrap();
        assert_eq!(model["params"]["modelId"], name, "{setting}");
    }
}

#[test]
fn a_program_that_is_not_named_is_asked_for() {
    let env: TestEnv = crate::looping::project(&["a"]);
    let ran = env.ralph(&["build", "--once", "--agent", "acp"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("agent.acp.path is not set"), "{}", ran.stderr);
    assert!(ran.stderr.contains("ralph config set"), "{}", ran.stderr);
    assert_eq!(env.json(&["task", "show", "a"])["status"], "open");
}

#[test]
fn a_program_that_does_not_speak_the_protocol_is_named() {
    let env: TestEnv = crate::looping::project(&["a"]);
    let set = ["--set", "agent.acp.path=/bin/echo", "--set", "agent.acp.args=[\"hello\"]"];
    let ran = env.ralph(&[&["build", "--once", "--agent", "acp"], &set[..]].concat());
    assert!(ran.stderr.contains("no message of the Agent Client Protocol"), "{}", ran.stderr);
}

//! The command line, what lines of output mean, and the ends of whole sessions.

mod transcripts;

use ralph_core::Timestamp;
use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd};

use super::*;
use crate::agents::Written;
use crate::process::{LineEffect, Stdin};

fn spec(prompt: PromptBy) -> SessionSpec {
    SessionSpec {
        executable: "/opt/gemini".into(),
        extra_args: vec![],
        folder: "/project".into(),
        environment: vec![("HOME".into(), "/home/user".into())],
        prompt,
        model: None,
        permissions: Permissions::Boxed,
        sandboxed: true,
        cassette: None,
        session: None,
        verifies: false,
    }
}

fn args(spec: &SessionSpec) -> Vec<String> {
    let args = (PROFILE.command)(spec).args.into_iter();
    let mut args: Vec<String> = args.map(|arg| arg.into_string().unwrap()).collect();
    let own = args.split_off(2);
    assert_eq!(args, ["--output-format", "stream-json"]);
    own
}

fn value(spec: &SessionSpec, name: &str) -> Option<String> {
    let env = (PROFILE.command)(spec).env;
    let found = env.into_iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.into_string().unwrap())
}

#[test]
fn the_arguments_say_what_a_session_may_do() {
    let mut spec = spec(PromptBy::Stdin("x".into()));
    assert_eq!(args(&spec), ["--skip-trust", "--yolo"]);
    spec.model = Some("gemini-3.5-flash".into());
    spec.extra_args = vec!["--debug".into()];
    let all = ["--model", "gemini-3.5-flash", "--skip-trust", "--yolo", "--debug"];
    assert_eq!(args(&spec), all);
    (spec.model, spec.extra_args) = (None, vec![]);

    let asks = ["--skip-trust", "--approval-mode", "default"];
    spec.permissions = Permissions::Tools(vec!["run_shell_command".into(), "replace".into()]);
    let tools = ["--allowed-tools", "run_shell_command,replace"];
    assert_eq!(args(&spec), [&asks[..], &tools].concat());
    spec.permissions = Permissions::Tools(vec![]);
    assert_eq!(args(&spec), asks);
    assert_eq!(value(&spec, "GEMINI_CLI_TRUST_WORKSPACE"), None);
    assert_eq!(value(&spec, "GEMINI_CLI_NO_RELAUNCH").as_deref(), Some("true"));
}

#[test]
fn a_verifier_does_not_trust_the_tree_and_has_settings_of_its_own() {
    let mut spec = spec(PromptBy::Stdin("x".into()));
    spec.verifies = true;
    spec.permissions = Permissions::SandboxedTools(vec!["run_shell_command".into()]);
    assert_eq!(args(&spec), [""; 0]);
    assert_eq!(value(&spec, "GEMINI_CLI_TRUST_WORKSPACE").as_deref(), Some("false"));
    let settings: serde_json::Value = serde_json::from_str(JUDGING_SETTINGS).unwrap();
    let core: Vec<&str> = settings["tools"]["core"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool.as_str().unwrap())
        .collect();
    assert!(core.contains(&"run_shell_command") && !core.contains(&"write_file"));
    assert!(toml::from_str::<toml::Table>(JUDGING_POLICY).is_ok());
}

#[test]
fn a_prompt_goes_by_stdin_with_its_rules_first() {
    let written = |text: &str| Written { text: text.into(), file: "/run/x.md".into() };
    let system = PromptBy::System { system: written("Rules."), task: written("Task.") };
    for (prompt, stdin) in [
        (PromptBy::Stdin("do it".into()), "do it"),
        (PromptBy::Argument("/x".into()), "/x"),
        (system, "Rules.\n\nTask."),
    ] {
        assert_eq!((PROFILE.command)(&spec(prompt)).stdin, Stdin::Text(stdin.into()));
    }
    assert_eq!(PROFILE.version("0.61.0\n").as_deref(), Some("0.61.0"));
}

fn read(lines: &[&str], end: ProcessEnd) -> (Vec<AgentEvent>, Vec<LineEffect>, SessionEnd) {
    read_with(lines, end, "last words")
}

fn read_with(
    lines: &[&str],
    end: ProcessEnd,
    stderr: &str,
) -> (Vec<AgentEvent>, Vec<LineEffect>, SessionEnd) {
    let (mut driver, mut events) = ((PROFILE.driver)(None), Vec::new());
    let mut hear = |line: &&str| driver.line(line.as_bytes(), false, &mut events, &mut vec![]);
    let heard = lines.iter().map(&mut hear).collect();
    (events, heard, driver.end(&end, stderr))
}

const EXITED: ProcessEnd = ProcessEnd::Exited { code: 0 };
const WORD: &str = r#"{"type":"message","role":"assistant","content":"hi","delta":true}"#;
const GOOD: &str =
    r#"{"type":"result","status":"success","stats":{"input_tokens":5,"output_tokens":1}}"#;

fn failed(message: &str) -> String {
    let message = serde_json::json!(message);
    format!(
        r#"{{"type":"result","timestamp":"2026-11-18T12:00:00.000Z","status":"error","error":{{"message":{message}}}}}"#
    )
}

#[test]
fn the_answer_of_the_provider_gives_the_class() {
    let exited = |code| ProcessEnd::Exited { code };
    for (message, code, class) in [
        (
            r#"[API Error: {"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]"#,
            173,
            EndClass::RateLimit,
        ),
        (
            r#"[API Error: {"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
            144,
            EndClass::Auth,
        ),
        (r#"[API Error: {"error":{"code":503,"status":"UNAVAILABLE"}}]"#, 1, EndClass::Overload),
        ("[API Error: the model is gone]", 148, EndClass::UnknownModel),
        ("[API Error: fetch failed]", 1, EndClass::Network),
        ("something with 429 in it", 1, EndClass::Crash),
        ("turns", 53, EndClass::MaxTurns),
    ] {
        let line = failed(message);
        let (_, heard, end) = read(&[&line], exited(code));
        assert_eq!((end.class, end.detail.as_str()), (class, message), "{message}");
        assert_eq!(heard, [LineEffect::Result]);
    }
    // Where a sandbox passes the code on, it looks like that of a signal.
    let line = failed("[API Error: no]");
    assert_eq!(read(&[&line], ProcessEnd::Signalled { signal: 17 }).2.class, EndClass::Auth);
    assert_eq!(read(&[], exited(41)).2.class, EndClass::Auth);
    assert_eq!(read(&[], exited(55)).2.class, EndClass::Crash);
}

#[test]
fn an_end_without_a_result_names_the_status_of_the_answer() {
    // As a sandbox passes the exit code 144 on.
    let end = read(&[WORD], ProcessEnd::Signalled { signal: 16 }).2;
    assert_eq!(end.detail, "the model's API answered with HTTP status 400");
    let killed = read(&[WORD], ProcessEnd::Signalled { signal: 9 }).2;
    assert_eq!(killed.detail, "killed by signal 9: last words");
}

#[test]
fn a_long_wait_is_a_usage_window_that_resets() {
    let line = |wait: &str| {
        failed(&format!("[API Error: slow\nSuggested retry after {wait}s.]\nPlease wait"))
    };
    let end = |wait: &str| read(&[&line(wait)], ProcessEnd::Exited { code: 173 }).2;
    let at = |text| Timestamp::parse(text);
    assert_eq!(
        (end("3600").class, end("3600").resets_at),
        (EndClass::UsageWindow, at("2026-11-18T13:00:00Z"))
    );
    assert_eq!(
        (end("2.5").class, end("2.5").resets_at),
        (EndClass::RateLimit, at("2026-11-18T12:00:02.500Z"))
    );
    assert_eq!((end("x").class, end("-1").resets_at), (EndClass::RateLimit, None));
}

#[test]
fn silence_while_it_tries_again_is_what_it_tries_again_for() {
    let silent = ProcessEnd::Silent { after_ms: 900_000 };
    let stderr = "Attempt 3 failed.\n    at retry (x.js:1)\n  {\n  status: 429\n}\n";
    assert_eq!(read_with(&[WORD], silent.clone(), stderr).2.class, EndClass::RateLimit);
    assert_eq!(read_with(&[WORD], ProcessEnd::Stopped, stderr).2.class, EndClass::Cancelled);
    assert_eq!(read(&[WORD], silent).2.class, EndClass::Silence);
}

#[test]
fn tools_become_events_and_the_final_text_is_what_comes_after_them() {
    let (events, heard, end) = read(
        &[
            WORD,
            r#"{"type":"tool_use","tool_name":"write_file","tool_id":"a","parameters":{"file_path":"/p/x","content":"y"}}"#,
            r#"{"type":"tool_result","tool_id":"a","status":"error","output":"no","error":{"type":"tool_not_registered"}}"#,
            r#"{"type":"message","role":"user","content":"mine"}"#,
            r#"{"type":"error","severity":"warning","message":"careful"}"#,
            r#"{"type":"weather"}"#,
            WORD,
            WORD,
            GOOD,
            WORD,
            GOOD,
        ],
        EXITED,
    );
    assert_eq!(
        (end.class, end.text.as_str(), end.denied),
        (EndClass::Completed, "hihihi", vec!["write_file".to_owned()])
    );
    assert_eq!(heard[8..10], [LineEffect::Result, LineEffect::Resumed]);
    let started =
        AgentEvent::ToolStarted { id: "a".into(), name: "write_file".into(), input: "/p/x".into() };
    assert_eq!(events[1], started);
    assert_eq!(events[2], AgentEvent::Denied { tool: "write_file".into() });
    assert_eq!(
        events[3],
        AgentEvent::ToolEnded { id: "a".into(), is_error: true, text: "no".into() }
    );
    assert_eq!(events[4], AgentEvent::Unknown { kind: "weather".into() });
    assert_eq!(read(&[GOOD], EXITED).2.class, EndClass::Empty);
}

#[test]
fn lines_of_any_kind_are_survived() {
    let (mut driver, mut events) = ((PROFILE.driver)(None), Vec::new());
    let huge =
        format!(r#"{{"type":"tool_result","tool_id":"x","output":"{}"}}"#, "ä".repeat(1 << 20));
    for line in [
        &b"\xff\xfe"[..],
        b"{",
        b"[1]",
        br#"{"type":7}"#,
        br#"{"type":"tool_use"}"#,
        br#"{"type":"result","stats":[]}"#,
        br#"{"type":"message","role":"assistant","content":{}}"#,
        huge.as_bytes(),
    ] {
        for cut in [false, true] {
            driver.line(line, cut, &mut events, &mut vec![]);
            driver.line(&line[..line.len() / 2], cut, &mut events, &mut vec![]);
        }
    }
    let longest = events.iter().filter_map(|event| match event {
        AgentEvent::ToolEnded { text, .. } => Some(text.len()),
        _ => None,
    });
    assert_eq!(longest.max(), Some(4 << 10));
    driver.end(&EXITED, "");
}

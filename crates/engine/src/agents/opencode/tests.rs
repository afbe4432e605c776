//! The command line, what lines of output mean, and the ends of whole sessions.

mod transcripts;

use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd};

use super::*;
use crate::agents::Written;
use crate::process::{LineEffect, Stdin};

fn spec(prompt: PromptBy) -> SessionSpec {
    SessionSpec {
        executable: "/opt/opencode".into(),
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
    let own = args.split_off(6);
    assert_eq!(args, ["run", "--format", "json", "--thinking", "--title", "ralph"]);
    own
}

fn value(spec: &SessionSpec, name: &str) -> Option<String> {
    let env = (PROFILE.command)(spec).env;
    let found = env.into_iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.into_string().unwrap())
}

#[test]
fn permissions_go_by_the_environment() {
    let mut spec = spec(PromptBy::Stdin("x".into()));
    assert_eq!((args(&spec), value(&spec, PERMISSION)), (vec!["--auto".to_owned()], None));
    assert_eq!(value(&spec, "OPENCODE_DISABLE_AUTOUPDATE").as_deref(), Some("1"));
    spec.model = Some("anthropic/claude-opus".into());
    spec.extra_args = vec!["--variant".into(), "high".into()];
    assert_eq!(args(&spec), ["--model", "anthropic/claude-opus", "--auto", "--variant", "high"]);

    let permissions = |spec: &SessionSpec| -> Value {
        serde_json::from_str(&value(spec, PERMISSION).unwrap()).unwrap()
    };
    spec.permissions = Permissions::Tools(vec!["bash".into()]);
    let limited = serde_json::json!({"*": "deny", "bash": "allow", "external_directory": "allow"});
    assert_eq!(permissions(&spec), limited);
    spec.sandboxed = false;
    assert_eq!(permissions(&spec)["external_directory"], "deny");
    spec.permissions = Permissions::Tools(vec![]);
    assert_eq!(value(&spec, PERMISSION), None);
}

#[test]
fn a_verifier_gets_no_settings_of_the_tree_that_it_judges() {
    let mut spec = spec(PromptBy::Stdin("x".into()));
    assert_eq!(value(&spec, "OPENCODE_DISABLE_PROJECT_CONFIG"), None);
    spec.verifies = true;
    spec.permissions = Permissions::SandboxedTools(vec!["read".into()]);
    assert_eq!(args(&spec), ["--auto", "--pure"]);
    assert_eq!(value(&spec, "OPENCODE_DISABLE_PROJECT_CONFIG").as_deref(), Some("1"));
    assert!(value(&spec, PERMISSION).unwrap().contains(r#""*":"deny""#));
    assert!(PROFILE.steering.contains(&".opencode"), "its plugins would run");
}

#[test]
fn a_prompt_goes_by_stdin_with_its_rules_first() {
    let written = |text: &str| Written { text: text.into(), file: "/run/x.md".into() };
    let system = PromptBy::System { system: written("Rules."), task: written("Task.") };
    assert_eq!((PROFILE.command)(&spec(system)).stdin, Stdin::Text("Rules.\n\nTask.".into()));
    assert_eq!(
        (PROFILE.command)(&spec(PromptBy::Argument("x".into()))).stdin,
        Stdin::Text("x".into())
    );
    assert_eq!(PROFILE.version("1.18.33\n").as_deref(), Some("1.18.33"));
}

fn read(lines: &[&str], end: ProcessEnd) -> (Vec<AgentEvent>, Vec<LineEffect>, SessionEnd) {
    let (mut driver, mut events) = ((PROFILE.driver)(None), Vec::new());
    let mut hear = |line: &&str| driver.line(line.as_bytes(), false, &mut events, &mut vec![]);
    let heard = lines.iter().map(&mut hear).collect();
    (events, heard, driver.end(&end, "last words"))
}

const EXITED: ProcessEnd = ProcessEnd::Exited { code: 0 };
const START: &str = r#"{"type":"step_start","part":{}}"#;
const WORD: &str = r#"{"type":"text","part":{"text":"hi"}}"#;

fn step(reason: &str) -> String {
    format!(
        r#"{{"type":"step_finish","part":{{"reason":"{reason}","tokens":{{"input":10,"output":2,"reasoning":1,"cache":{{"read":5,"write":1}}}},"cost":0.001}}}}"#
    )
}

fn error(name: &str, data: &str) -> String {
    format!(r#"{{"type":"error","error":{{"name":"{name}","data":{data}}}}}"#)
}

#[test]
fn the_reason_of_the_last_step_is_how_the_session_ended() {
    for (reason, class) in [
        ("stop", EndClass::Completed),
        ("tool-calls", EndClass::Crash),
        ("length", EndClass::MaxTurns),
        ("content-filter", EndClass::Refusal),
        ("other", EndClass::Crash),
    ] {
        let last = step(reason);
        let (_, _, end) = read(&[START, WORD, &last], EXITED);
        assert_eq!(end.class, class, "{reason}");
        assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (16, 3));
        assert_eq!(end.usage.cost_micro_usd, Some(1_000));
    }
    assert_eq!(read(&[START, &step("stop")], EXITED).2.class, EndClass::Empty);
    assert_eq!(read(&[WORD, &step("stop"), START], EXITED).2.class, EndClass::Crash);
}

#[test]
fn names_and_status_of_an_error_give_the_class() {
    for (name, data, class) in [
        ("APIError", r#"{"statusCode":401}"#, EndClass::Auth),
        (
            "APIError",
            r#"{"statusCode":429,"responseBody":"{\"error\":{\"code\":\"insufficient_quota\"}}"}"#,
            EndClass::Billing,
        ),
        ("APIError", r#"{"message":"Cannot connect"}"#, EndClass::Network),
        ("ProviderAuthError", r#"{"message":"no key"}"#, EndClass::Auth),
        ("UnknownError", r#"{"message":"{\"type\":\"server_error\"}"}"#, EndClass::Overload),
        ("UnknownError", r#"{"message":"Unexpected server error, status 429"}"#, EndClass::Crash),
        ("ContextOverflowError", "{}", EndClass::TooLong),
        ("MessageOutputLengthError", "{}", EndClass::MaxTurns),
        ("", "7", EndClass::Crash),
    ] {
        let line = error(name, data);
        assert_eq!(read(&[&line], ProcessEnd::Exited { code: 1 }).2.class, class, "{name} {data}");
        assert_eq!(read(&[&line], ProcessEnd::Stopped).2.class, EndClass::Cancelled);
    }
}

#[test]
fn a_conversation_that_stays_too_long_ends_the_session() {
    let long = error("ContextOverflowError", "{}");
    let tool =
        r#"{"type":"tool_use","part":{"tool":"bash","callID":"a","state":{"status":"completed"}}}"#;
    let (_, heard, end) = read(&[&long, START, WORD, &step("stop"), &long], EXITED);
    assert_eq!(heard[4], LineEffect::Over);
    assert_eq!(end.class, EndClass::TooLong);
    // It went on with its work in between.
    let (_, heard, end) = read(&[&long, START, tool, &long, START, WORD, &step("stop")], EXITED);
    assert!(heard.iter().all(|effect| *effect == LineEffect::Going));
    assert_eq!((end.class, end.text.as_str()), (EndClass::Completed, "hi"));
}

#[test]
fn tools_and_retries_become_events() {
    let (events, _, end) = read(
        &[
            START,
            START,
            r#"{"type":"reasoning","part":{"text":"hm"}}"#,
            r#"{"type":"tool_use","part":{"tool":"bash","callID":"a","state":{"status":"completed","input":{"command":"ls","description":"d"},"output":"no","metadata":{"exit":3}}}}"#,
            r#"{"type":"tool_use","part":{"tool":"invalid","callID":"b","state":{"status":"completed","input":{"tool":"write","error":"x"},"output":"x"}}}"#,
            r#"{"type":"tool_use","part":{"tool":"read","callID":"c","state":{"status":"error","error":"gone"}}}"#,
            r#"{"type":"text","part":{"text":"to itself","synthetic":true}}"#,
            r#"{"type":"weather"}"#,
        ],
        EXITED,
    );
    let shown: Vec<String> = events
        .iter()
        .map(|event| match event {
            AgentEvent::Retrying { attempt, .. } => format!("retry {attempt}"),
            AgentEvent::Thinking { text } => text.clone(),
            AgentEvent::ToolStarted { id, name, input } => format!("+{id} {name} {input}"),
            AgentEvent::ToolEnded { id, is_error, text } => format!("-{id} {is_error} {text}"),
            AgentEvent::Denied { tool } => format!("denied {tool}"),
            AgentEvent::Unknown { kind } => format!("unknown {kind}"),
            other => format!("{other:?}"),
        })
        .collect();
    let tools = [
        "+a bash ls",
        "-a true no",
        "denied write",
        r#"+b write {"error":"x","tool":"write"}"#,
        "-b true x",
        "+c read ",
        "-c true gone",
    ];
    assert_eq!(shown[..2], ["retry 1", "hm"]);
    assert_eq!(shown[2..9], tools);
    assert_eq!(shown[9..], ["unknown weather"]);
    assert_eq!(end.denied, ["write"]);
}

#[test]
fn lines_of_any_kind_are_survived() {
    let (mut driver, mut events) = ((PROFILE.driver)(None), Vec::new());
    let huge = format!(
        r#"{{"type":"tool_use","part":{{"tool":"bash","state":{{"output":"{}"}}}}}}"#,
        "ä".repeat(1 << 20)
    );
    for line in [
        &b"\xff\xfe"[..],
        b"{",
        b"[1]",
        br#"{"type":7}"#,
        br#"{"type":"tool_use"}"#,
        br#"{"type":"error","error":[]}"#,
        br#"{"type":"step_finish","part":{"cost":-1,"tokens":"many"}}"#,
        br#"{"type":"text","part":[]}"#,
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

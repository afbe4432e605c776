//! The command line, and what lines of output mean. The ends of whole sessions are in [`transcripts`].

mod transcripts;

use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd};

use super::*;
use crate::agents::Written;
use crate::process::{LineEffect, Stdin};

fn spec(prompt: PromptBy) -> SessionSpec {
    SessionSpec {
        executable: "/opt/codex".into(),
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

/// The arguments that differ from session to session.
fn args(spec: &SessionSpec) -> Vec<String> {
    let args = (PROFILE.command)(spec).args.into_iter();
    let mut args: Vec<String> = args.map(|arg| arg.into_string().unwrap()).collect();
    let own = args.split_off(8);
    assert_eq!(args[..4], ["exec", "--json", "--skip-git-repo-check", "--ephemeral"]);
    assert_eq!(args[5..], ["check_for_update_on_startup=false", "-c", "analytics.enabled=false"]);
    own
}

const HOOKS: &str = "--dangerously-bypass-hook-trust";
const ALL: &str = "--dangerously-bypass-approvals-and-sandbox";

#[test]
fn the_arguments_say_what_a_session_may_do() {
    let mut spec = spec(PromptBy::Stdin("x".into()));
    assert_eq!(args(&spec), [HOOKS, ALL, "-"]);
    spec.model = Some("gpt-6-luna".into());
    spec.extra_args = vec!["-c".into(), "a=1".into()];
    assert_eq!(args(&spec), ["--model", "gpt-6-luna", HOOKS, ALL, "-", "-c", "a=1"]);
    spec.model = None;
    spec.extra_args.clear();

    // Codex knows no list of tools, and its own sandbox does not work within ralph's.
    spec.permissions = Permissions::Tools(vec!["Bash".into()]);
    assert_eq!(args(&spec), [HOOKS, ALL, "-"]);
    spec.sandboxed = false;
    assert_eq!(args(&spec), ["--sandbox", "workspace-write", "-"]);
    spec.permissions = Permissions::Tools(vec![]);
    assert_eq!(args(&spec), ["--sandbox", "workspace-write", "-"]);
}

#[test]
fn a_verifier_gets_nothing_of_the_tree_that_it_judges() {
    let mut spec = spec(PromptBy::Stdin("x".into()));
    (spec.verifies, spec.folder) = (true, "/tmp/a \"b\"".into());
    spec.permissions = Permissions::SandboxedTools(vec![]);
    let closed = [
        "-c",
        "project_doc_max_bytes=0",
        "-c",
        "skills.include_instructions=false",
        "--ignore-rules",
        "--disable",
        "hooks",
        "-c",
        r#"projects={"/tmp/a \"b\""={trust_level="untrusted"}}"#,
    ];
    assert_eq!(args(&spec), [&closed[..], &[ALL, "-"]].concat());
    (spec.permissions, spec.sandboxed) = (Permissions::Tools(vec![]), false);
    assert_eq!(args(&spec), [&closed[..], &["--sandbox", "read-only", "-"]].concat());
}

#[test]
fn a_prompt_goes_by_stdin_with_its_rules_first() {
    let long = "x".repeat(300 << 10);
    let written = |text: &str| Written { text: text.into(), file: "/run/x.md".into() };
    let system = |rules| PromptBy::System { system: written(rules), task: written("Add a login.") };
    for (prompt, stdin) in [
        (PromptBy::Stdin("do it".into()), "do it"),
        (PromptBy::Argument("-x".into()), "-x"),
        (PromptBy::Argument(long.clone()), &long),
        (system("Do one task."), "Do one task.\n\nAdd a login."),
        (system(" "), "Add a login."),
    ] {
        let command = (PROFILE.command)(&spec(prompt));
        assert_eq!(command.stdin, Stdin::Text(stdin.into()));
        assert_eq!(command.args.last().unwrap(), "-");
    }
}

#[test]
fn the_version_is_found() {
    assert_eq!(PROFILE.version("codex-cli 0.166.0\n").as_deref(), Some("0.166.0"));
    assert!(PROFILE.is_too_old("0.98.0") && !PROFILE.is_too_old("0.170.1"));
}

pub(super) fn read(
    lines: &[&str],
    end: ProcessEnd,
) -> (Vec<AgentEvent>, Vec<LineEffect>, SessionEnd) {
    let (mut driver, mut events) = ((PROFILE.driver)(None), Vec::new());
    let mut hear = |line: &&str| driver.line(line.as_bytes(), false, &mut events, &mut vec![]);
    let heard = lines.iter().map(&mut hear).collect();
    (events, heard, driver.end(&end, "last words"))
}

const EXITED: ProcessEnd = ProcessEnd::Exited { code: 0 };
const FAILED: ProcessEnd = ProcessEnd::Exited { code: 1 };
const WORD: &str =
    r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"hi"}}"#;
const GOOD: &str = r#"{"type":"turn.completed","usage":{"input_tokens":5,"cached_input_tokens":2,"output_tokens":1}}"#;

fn failure(message: &str) -> [String; 2] {
    let message = serde_json::json!(message);
    [
        format!(r#"{{"type":"error","message":{message}}}"#),
        format!(r#"{{"type":"turn.failed","error":{{"message":{message}}}}}"#),
    ]
}

#[test]
fn tools_become_events() {
    let (events, ..) = read(
        &[
            r#"{"type":"item.started","item":{"id":"a","type":"command_execution","command":"ls\n -l","status":"in_progress"}}"#,
            r#"{"type":"item.completed","item":{"id":"a","type":"command_execution","command":"ls","aggregated_output":"no","exit_code":2,"status":"failed"}}"#,
            r#"{"type":"item.completed","item":{"id":"b","type":"file_change","changes":[{"path":"/p/x","kind":"add"},{"path":"/p/y"}],"status":"completed"}}"#,
            r#"{"type":"item.completed","item":{"id":"c","type":"mcp_tool_call","server":"docs","tool":"find","arguments":{"q":1},"status":"completed"}}"#,
            r#"{"type":"item.completed","item":{"id":"d","type":"command_execution","command":"rm","status":"declined"}}"#,
            r#"{"type":"item.updated","item":{"id":"e","type":"todo_list","items":[]}}"#,
            r#"{"type":"item.completed","item":{"id":"f","type":"hologram"}}"#,
            r#"{"type":"weather","wind":3}"#,
        ],
        EXITED,
    );
    let shown: Vec<String> = events
        .iter()
        .map(|event| match event {
            AgentEvent::ToolStarted { id, name, input } => format!("+{id} {name} {input}"),
            AgentEvent::ToolEnded { id, is_error, text } => format!("-{id} {is_error} {text}"),
            AgentEvent::Denied { tool } => format!("denied {tool}"),
            AgentEvent::Unknown { kind } => format!("unknown {kind}"),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "+a shell ls -l",
            "-a true no",
            "+b apply_patch /p/x /p/y",
            "-b false ",
            r#"+c docs.find {"q":1}"#,
            "-c false ",
            "denied shell",
            "+d shell rm",
            "-d true ",
            "unknown hologram",
            "unknown weather",
        ]
    );
}

#[test]
fn what_codex_words_itself_gives_the_class() {
    for (message, class) in [
        (
            "You’ve hit your usage limit. Upgrade to Pro or try again at Nov 25th, 2026 9:46 AM.",
            EndClass::UsageWindow,
        ),
        ("Quota exceeded. Check your plan and billing details.", EndClass::Billing),
        ("Your workspace is out of credits. Add credits to continue.", EndClass::Billing),
        ("unexpected status 402 Payment Required: pay, url: http://x", EndClass::Billing),
        (
            "Codex ran out of room in the model's context window. Start a new thread.",
            EndClass::TooLong,
        ),
        (
            r#"{"error":{"type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            EndClass::TooLong,
        ),
        ("Incomplete response returned, reason: max_output_tokens", EndClass::MaxTurns),
        (
            "stream disconnected before completion: Incomplete response returned, reason: content_filter",
            EndClass::Refusal,
        ),
        ("Selected model is at capacity. Please try a different model.", EndClass::Overload),
        ("rate limit exceeded: Please try again in 20.5s.", EndClass::RateLimit),
        ("unexpected status 404 Not Found: x", EndClass::UnknownModel),
        ("Connection failed: error sending request", EndClass::Network),
        ("something about a rate limit and status 401", EndClass::Crash),
        ("", EndClass::Crash),
    ] {
        let lines = failure(message);
        let (_, heard, end) = read(&[&lines[0], &lines[1]], FAILED);
        assert_eq!((end.class, end.detail.as_str()), (class, message), "{message}");
        assert_eq!(heard[1], LineEffect::Result);
    }
}

/// Recorded with a 404 `model_not_found`: of the provider's answer only its words are left.
#[test]
fn an_unknown_model_shows_in_what_codex_does_not_know() {
    let warning = r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata for `x` not found. Defaulting to fallback metadata"}}"#;
    let lines = failure("The model x does not exist");
    let class = |lines: &[&str]| read(lines, FAILED).2.class;
    assert_eq!(class(&[warning, &lines[0], &lines[1]]), EndClass::UnknownModel);
    assert_eq!(class(&[&lines[0], &lines[1]]), EndClass::Crash);
    assert_eq!(class(&[warning, WORD, &lines[0], &lines[1]]), EndClass::Crash);
}

fn retry(counter: &str, why: &str) -> String {
    format!(r#"{{"type":"error","message":"Reconnecting... {counter} ({why})"}}"#)
}

#[test]
fn a_login_that_is_refused_twice_ends_the_session() {
    let why = "unexpected status 401 Unauthorized: no, url: http://x";
    let (first, second) = (retry("1/5", why), retry("2/5", why));
    let (events, heard, end) = read(&[&first, &second], ProcessEnd::Signalled { signal: 15 });
    assert_eq!(heard, [LineEffect::Going, LineEffect::Over]);
    assert_eq!((end.class, end.detail.as_str()), (EndClass::Auth, why));
    let expected =
        AgentEvent::Retrying { attempt: 2, delay_ms: 0, status: Some(401), error: why.into() };
    assert_eq!(events[1], expected);
    // A token that was renewed between them.
    let (_, heard, _) = read(&[&first, WORD, &second], EXITED);
    assert_eq!(heard[2], LineEffect::Going);
}

#[test]
fn codex_does_not_wait_for_the_network_forever() {
    let wait = retry("waiting for network", "Connection failed: error sending request");
    let (_, heard, end) = read(&[&wait, &wait, &wait], ProcessEnd::Signalled { signal: 15 });
    assert_eq!(heard[1..], [LineEffect::Going, LineEffect::Over]);
    assert_eq!(end.class, EndClass::Network);
}

#[test]
fn silence_after_a_limit_is_the_limit() {
    let silent = ProcessEnd::Silent { after_ms: 900_000 };
    let limited = retry("1/5", "exceeded retry limit, last status: 429 Too Many Requests");
    assert_eq!(read(&[&limited], silent.clone()).2.class, EndClass::UsageWindow);
    assert_eq!(read(&[&limited, WORD], silent.clone()).2.class, EndClass::Silence);
    assert_eq!(read(&[&limited], ProcessEnd::Stopped).2.class, EndClass::Cancelled);
    assert_eq!(read(&[], silent).2.class, EndClass::Silence);
}

#[test]
fn the_last_result_counts() {
    let lines = failure("rate limit exceeded: x");
    let (_, heard, end) = read(&[WORD, GOOD, WORD, &lines[1]], FAILED);
    assert_eq!(heard[1..3], [LineEffect::Result, LineEffect::Resumed]);
    assert_eq!((end.class, end.text.as_str()), (EndClass::RateLimit, ""));
    let (_, _, end) = read(&[WORD, GOOD], ProcessEnd::Lingered { after_ms: 1 });
    assert_eq!((end.class, end.text.as_str()), (EndClass::Completed, "hi"));
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (5, 1));
    assert_eq!(read(&[GOOD], EXITED).2.class, EndClass::Empty);
}

#[test]
fn lines_of_any_kind_are_survived() {
    let (mut driver, mut events) = ((PROFILE.driver)(None), Vec::new());
    let huge = format!(
        r#"{{"type":"item.completed","item":{{"type":"command_execution","aggregated_output":"{}"}}}}"#,
        "ä".repeat(1 << 20)
    );
    for line in [
        &b"\xff\xfe"[..],
        b"{",
        b"[1]",
        b"null",
        br#"{"type":7}"#,
        br#"{"type":"item.started"}"#,
        br#"{"type":"item.completed","item":[]}"#,
        br#"{"type":"error","message":{"a":1}}"#,
        br#"{"type":"turn.completed","usage":"much"}"#,
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

//! The command line, and what lines of output mean. The ends of whole sessions are in [`transcripts`].

mod agreement;
mod transcripts;

use std::ffi::OsString;

use ralph_core::Timestamp;
use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd, Usage};

use super::*;
use crate::process::{LineEffect, Stdin};

fn spec(prompt: PromptBy) -> SessionSpec {
    SessionSpec {
        executable: "/opt/claude".into(),
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

fn system(rules: impl Into<String>, task: impl Into<String>, file: &str) -> PromptBy {
    PromptBy::System {
        system: Written { text: rules.into(), file: "/run/system.md".into() },
        task: Written { text: task.into(), file: file.into() },
    }
}

fn args(spec: &SessionSpec) -> Vec<String> {
    let args = (PROFILE.command)(spec).args;
    args.into_iter().map(|arg| arg.into_string().unwrap()).collect()
}

const FIXED: [&str; 5] =
    ["--print", "--verbose", "--output-format", "stream-json", "--no-session-persistence"];

#[test]
fn s1_23_the_arguments_are_those_of_the_seed() {
    let mut spec = spec(system("Do one task.", "Add a login.", "/run/prompt.md"));
    spec.model = Some("sonnet".into());
    let common = ["--model", "sonnet", "--system-prompt", "Do one task.", "@/run/prompt.md"];
    let boxed = [&FIXED[..], &common, &["--dangerously-skip-permissions"], &TALKS].concat();
    assert_eq!(args(&spec), boxed);

    spec.permissions = Permissions::Tools(vec!["Bash".into(), "Edit".into()]);
    spec.extra_args = vec!["--max-turns".into(), "9".into()];
    let (tools, extra) = (["--allowed-tools", "Bash", "Edit"], ["--max-turns", "9"]);
    assert_eq!(args(&spec), [&FIXED[..], &common, &tools, &TALKS, &extra].concat());

    spec.permissions = Permissions::SandboxedTools(vec!["Bash".into(), "Read".into()]);
    let tools = ["--dangerously-skip-permissions", "--tools", "Bash,Read"];
    assert_eq!(args(&spec), [&FIXED[..], &common, &tools, &TALKS, &extra].concat());

    let command = (PROFILE.command)(&spec);
    let sandboxed = |(name, _): &(OsString, OsString)| name == "IS_SANDBOX";
    assert!(command.env.iter().any(sandboxed));
    let opening = br#"{"message":{"content":"@/run/prompt.md","role":"user"},"type":"user"}"#;
    let opening = Stdin::Conversation([&opening[..], b"\n"].concat());
    assert_eq!((command.program, command.stdin), (OsString::from("/opt/claude"), opening));
    assert_eq!(command.folder, Path::new("/project"));
}

/// What makes a session one that can be talked to.
const TALKS: [&str; 3] = ["--input-format", "stream-json", "--replay-user-messages"];

/// What the session of this specification reads, and whether it can be talked to.
fn input(spec: &SessionSpec) -> (String, bool) {
    match (PROFILE.command)(spec).stdin {
        Stdin::Text(text) => (String::from_utf8(text).unwrap(), false),
        Stdin::Conversation(line) => {
            let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
            assert_eq!((&line["type"], &line["message"]["role"]), (&"user".into(), &"user".into()));
            (line["message"]["content"].as_str().unwrap().to_owned(), true)
        }
    }
}

#[test]
fn nobody_talks_to_a_verifier_and_to_a_session_whose_prompt_comes_by_stdin() {
    let system = system("Do one task.", "Add a login.", "/run/prompt.md");
    for (prompt, verifies, extra, input_) in [
        (system.clone(), false, "--debug", ("@/run/prompt.md", true)),
        (system.clone(), true, "--debug", ("", false)),
        (system.clone(), false, "--input-format=text", ("", false)),
        (PromptBy::Stdin("do it".into()), false, "--debug", ("do it", false)),
    ] {
        let spec = SessionSpec { verifies, extra_args: vec![extra.into()], ..spec(prompt) };
        assert_eq!(input(&spec), (input_.0.to_owned(), input_.1), "{spec:?}");
        assert_eq!(args(&spec).contains(&TALKS[2].to_owned()), input_.1, "{spec:?}");
        assert_eq!(args(&spec).contains(&"@/run/prompt.md".to_owned()), input_.0 != "do it");
    }
}

#[test]
fn a_text_of_the_user_is_a_line_and_has_arrived_when_the_cli_repeats_it() {
    let (mut driver, mut events) = ((PROFILE.driver)(None), Vec::new());
    let words = driver.say("and greet").unwrap();
    let mut line: serde_json::Value = serde_json::from_slice(&words).unwrap();
    assert_eq!(line["message"]["content"], "and greet");
    driver.line(GOOD.as_bytes(), false, &mut events, &mut vec![]);
    line["isReplay"] = true.into();
    let effect = driver.line(line.to_string().as_bytes(), false, &mut events, &mut vec![]);
    assert_eq!(effect, LineEffect::Resumed);
    assert_eq!(events.last(), Some(&AgentEvent::UserMessage { text: "and greet".into() }));
    // The prompt is repeated, too, and is no text of the user.
    line["uuid"] = "e1d51c72-6401-4e6b-96a0-e40a8c10f73b".into();
    let count = events.len();
    driver.line(line.to_string().as_bytes(), false, &mut events, &mut vec![]);
    assert_eq!(events.len(), count);
    let request: serde_json::Value = serde_json::from_slice(&driver.interrupt().unwrap()).unwrap();
    assert_eq!(request["request"]["subtype"], "interrupt");
}

#[test]
fn a_prompt_goes_by_argument_or_by_stdin() {
    let long = "x".repeat(MAX_ARGUMENT + 1);
    for (prompt, argument, stdin) in [
        (PromptBy::Argument("/ralph-build a".into()), Some("/ralph-build a"), ""),
        (PromptBy::Stdin("do it".into()), None, "do it"),
        (PromptBy::Argument("-x is an option".into()), None, "-x is an option"),
        (PromptBy::Argument("a zero \0 byte".into()), None, "a zero \0 byte"),
        (PromptBy::Argument(long.clone()), None, long.as_str()),
    ] {
        let spec = spec(prompt);
        let talks = !matches!(spec.prompt, PromptBy::Stdin(_));
        let mut expected: Vec<&str> = FIXED.to_vec();
        expected.extend(argument);
        expected.push("--dangerously-skip-permissions");
        expected.extend(TALKS.iter().filter(|_| talks));
        assert_eq!(args(&spec), expected);
        assert_eq!(input(&spec), (argument.unwrap_or(stdin).to_owned(), talks));
    }
}

#[test]
fn a_task_goes_as_a_file_where_the_cli_would_read_it() {
    let long = "x".repeat(MAX_MENTION + 1);
    for (task, file, argument) in [
        ("short", "/run/a-b_c.1.md", Some("@/run/a-b_c.1.md")),
        ("short", "/tmp/my files/p.md", Some("@\"/tmp/my files/p.md\"")),
        ("short", "/tmp/a#1/p.md", None),
        ("short", "/tmp/a\"b/p.md", None),
        (long.as_str(), "/run/p.md", None),
    ] {
        let spec = spec(system("", task, file));
        let mut expected: Vec<&str> = FIXED.to_vec();
        expected.extend(argument);
        expected.push("--dangerously-skip-permissions");
        expected.extend(TALKS);
        assert_eq!(args(&spec), expected, "{file}");
        assert_eq!(input(&spec), (argument.unwrap_or(task).to_owned(), true), "{file}");
    }
}

#[test]
fn a_system_prompt_goes_by_argument_or_by_file() {
    let rules = |text: String| args(&spec(system(text, "short", "/run/p.md")))[5..7].join(" ");
    assert_eq!(rules("-minus".into()), "--system-prompt -minus");
    assert_eq!(rules("x".repeat(MAX_ARGUMENT + 1)), "--system-prompt-file /run/system.md");
    assert_eq!(rules("zero \0".into()), "--system-prompt-file /run/system.md");
}

#[test]
fn the_environment_is_bounded_and_the_users_retries_win() {
    let mut spec = spec(PromptBy::Stdin("x".into()));
    let value = |spec: &SessionSpec, name: &str| {
        let env = (PROFILE.command)(spec).env;
        let found: Vec<OsString> =
            env.into_iter().filter(|(known, _)| known == name).map(|(_, value)| value).collect();
        assert!(found.len() <= 1, "{name} is there twice");
        found.into_iter().next()
    };
    assert_eq!(value(&spec, "HOME"), Some("/home/user".into()));
    assert_eq!(value(&spec, "DISABLE_AUTOUPDATER"), Some("1".into()));
    assert_eq!(value(&spec, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"), Some("1".into()));
    assert_eq!(value(&spec, "CLAUDE_CODE_MAX_RETRIES"), Some(MAX_RETRIES.into()));
    assert_eq!(value(&spec, "IS_SANDBOX"), Some("1".into()));
    spec.permissions = Permissions::Tools(vec![]);
    spec.environment.push(("CLAUDE_CODE_MAX_RETRIES".into(), "2".into()));
    spec.environment.push(("DISABLE_AUTOUPDATER".into(), "0".into()));
    assert_eq!(value(&spec, "IS_SANDBOX"), None);
    assert_eq!(value(&spec, "CLAUDE_CODE_MAX_RETRIES"), Some("2".into()));
    assert_eq!(value(&spec, "DISABLE_AUTOUPDATER"), Some("1".into()));
    assert!(!args(&spec).contains(&"--allowed-tools".to_owned()));
}

#[test]
fn the_version_is_the_first_word() {
    assert_eq!(PROFILE.version("2.1.325 (Claude Code)\n").as_deref(), Some("2.1.325"));
    assert_eq!(PROFILE.version("command not found"), None);
    assert_eq!(PROFILE.version(""), None);
}

/// Reads these lines and ends.
fn read(lines: &[&str], end: ProcessEnd) -> (Vec<AgentEvent>, Vec<LineEffect>, SessionEnd) {
    read_with(lines, end, "")
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
const GOOD: &str = r#"{"is_error":false,"result":"fine","subtype":"success","type":"result"}"#;
const WORD: &str = r#"{"type":"assistant","message":{"id":"m1","model":"opus","content":[{"type":"text","text":"hi"}]}}"#;

#[test]
fn blocks_and_tools_become_events() {
    let (events, ..) = read(
        &[
            r#"{"type":"system","subtype":"init","model":"opus-5","claude_code_version":"2.1.325"}"#,
            r#"{"type":"assistant","message":{"id":"m1","model":"opus-5","usage":{"output_tokens":40},"content":[{"type":"thinking","thinking":"hm"}]}}"#,
            r#"{"message":{"content":[{"type":"text","text":"I will."}],"model":"opus-5","id":"m1"},"type":"assistant"}"#,
            r#"{"type":"assistant","message":{"id":"m2","model":"opus-5","usage":{"output_tokens":2},"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"description":"d","command":"cargo test\n  -q"}}]}}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image"},{"type":"text","text":"good"}]}]}}"#,
            r#"{"type":"assistant","message":{"id":"m2","model":"opus-5","content":[{"type":"tool_use","id":"t2","name":"Odd","input":{"n":1}}]}}"#,
            r#"{"type":"system","subtype":"api_retry","attempt":2,"retry_delay_ms":502.5,"error_status":529,"error":"overloaded"}"#,
            r#"{"type":"system","subtype":"permission_denied","tool_name":"Write"}"#,
            r#"{"type":"system","subtype":"status","status":"requesting"}"#,
            r#"{"type":"news","of":"tomorrow"}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"result":"x","duration_ms":2710}"#,
        ],
        EXITED,
    );
    let message = |tokens| AgentEvent::Message {
        model: "opus-5".into(),
        usage: Usage { output_tokens: tokens, ..Usage::default() },
    };
    let tool = |id: &str, name: &str, input: &str| AgentEvent::ToolStarted {
        id: id.into(),
        name: name.into(),
        input: input.into(),
    };
    assert_eq!(
        events,
        [
            AgentEvent::Started { model: Some("opus-5".into()), version: Some("2.1.325".into()) },
            message(40),
            AgentEvent::Thinking { text: "hm".into() },
            AgentEvent::Text { text: "I will.".into() },
            message(42),
            tool("t1", "Bash", "cargo test -q"),
            AgentEvent::ToolEnded { id: "t1".into(), is_error: true, text: "no\ngood".into() },
            tool("t2", "Odd", r#"{"n":1}"#),
            AgentEvent::Retrying {
                attempt: 2,
                delay_ms: 502,
                status: Some(529),
                error: "overloaded".into()
            },
            AgentEvent::Denied { tool: "Write".into() },
            AgentEvent::Unknown { kind: "news".into() },
            AgentEvent::Result { duration_ms: Some(2710), usage: Default::default() },
        ]
    );
}

#[test]
fn long_tool_texts_are_shown_in_part() {
    let long = "ä".repeat(1 << 20);
    let call = format!(
        r#"{{"type":"assistant","message":{{"id":"m","model":"o","content":[{{"type":"tool_use","id":"t","name":"Bash","input":{{"command":"{long}"}}}}]}}}}"#
    );
    let back = format!(
        r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"{long}"}}]}}}}"#
    );
    let (events, ..) = read(&[&call, &back], EXITED);
    let [_, AgentEvent::ToolStarted { input, .. }, AgentEvent::ToolEnded { text, .. }] =
        events.as_slice()
    else {
        panic!("{} events", events.len());
    };
    assert_eq!(input.chars().count(), MAX_SHOWN_INPUT + 1);
    assert_eq!(text.len(), 4096);
}

const MAX_SHOWN_INPUT: usize = 500;

#[test]
fn s1_26_unparsable_lines_are_ignored_and_the_last_result_counts() {
    let second = GOOD.replace("fine", "finer");
    let (_, heard, end) = read(
        &["warning: a shell said this", GOOD, "{\"half\":", WORD, "\u{fffd}", &second],
        EXITED,
    );
    assert_eq!(heard[1], LineEffect::Result);
    assert_eq!(heard[3], LineEffect::Resumed);
    assert_eq!(heard[5], LineEffect::Result);
    assert_eq!((end.class, end.text.as_str()), (EndClass::Completed, "finer"));
}

#[test]
fn bytes_that_are_no_text_do_not_spoil_a_line() {
    let (mut driver, mut events) = ((PROFILE.driver)(None), Vec::new());
    let line = [
        &br#"{"type":"result","subtype":"success","is_error":false,"result":"a"#[..],
        &[0xff, 0xfe],
        &br#"b"}"#[..],
    ]
    .concat();
    assert_eq!(driver.line(&line, false, &mut events, &mut vec![]), LineEffect::Result);
    assert_eq!(driver.end(&EXITED, "").text, "a\u{fffd}\u{fffd}b");
}

#[test]
fn work_after_a_result_takes_the_result_back() {
    let (_, heard, end) = read(&[GOOD, WORD, WORD], ProcessEnd::Exited { code: 1 });
    assert_eq!(heard, [LineEffect::Result, LineEffect::Resumed, LineEffect::Going]);
    assert_eq!((end.class, end.text.as_str()), (EndClass::Crash, ""));
    // Notices of the CLI are not work: hooks may still say goodbye.
    let notice = r#"{"type":"system","subtype":"hook_started"}"#;
    let (_, heard, end) = read(&[GOOD, notice], EXITED);
    assert_eq!(heard, [LineEffect::Result, LineEffect::Going]);
    assert_eq!(end.class, EndClass::Completed);
}

#[test]
fn how_the_process_ended_decides_where_there_is_no_result() {
    for (end, class) in [
        (ProcessEnd::TimedOut { after_ms: 60_000 }, EndClass::Timeout),
        (ProcessEnd::Silent { after_ms: 60_000 }, EndClass::Silence),
        (ProcessEnd::Stopped, EndClass::Cancelled),
        (ProcessEnd::Signalled { signal: 9 }, EndClass::Crash),
        (ProcessEnd::Exited { code: 143 }, EndClass::Crash),
        (EXITED, EndClass::Crash),
        (ProcessEnd::NotStarted { error: "no such file".into() }, EndClass::NotStarted),
    ] {
        let (.., reported) = read(&[WORD], end.clone());
        assert_eq!((reported.class, reported.text.as_str()), (class, ""), "{end:?}");
        assert_eq!(reported.model.as_deref(), Some("opus"));
    }
}

#[test]
fn a_result_that_stands_counts_however_the_process_left() {
    for end in [
        ProcessEnd::Lingered { after_ms: 30_000 },
        ProcessEnd::TimedOut { after_ms: 60_000 },
        ProcessEnd::Silent { after_ms: 60_000 },
        ProcessEnd::Signalled { signal: 15 },
        ProcessEnd::Exited { code: 1 },
    ] {
        let (.., reported) = read(&[WORD, GOOD], end.clone());
        assert_eq!(
            (reported.class, reported.text.as_str()),
            (EndClass::Completed, "fine"),
            "{end:?}"
        );
    }
    let (.., reported) = read(&[WORD, GOOD], ProcessEnd::Stopped);
    assert_eq!((reported.class, reported.text.as_str()), (EndClass::Cancelled, ""));
}

#[test]
fn a_crash_shows_the_last_lines_of_stderr() {
    let stderr = "trace 1\n\nError: no such option\nTry --help\n";
    let (.., end) = read_with(&[], ProcessEnd::Exited { code: 1 }, stderr);
    assert_eq!(end.class, EndClass::Crash);
    assert_eq!(end.detail, "exited with code 1: trace 1; Error: no such option; Try --help");
}

#[test]
fn output_without_events_is_a_text() {
    let (events, _, end) = read(&["Working …", "", "<task-done>t-1</task-done>"], EXITED);
    assert_eq!(end.class, EndClass::Completed);
    assert_eq!(end.text, "Working …\n<task-done>t-1</task-done>");
    assert_eq!(events.len(), 2);
    assert_eq!(read(&["", "  "], EXITED).2.class, EndClass::Empty);
    assert_eq!(read(&[], EXITED).2.class, EndClass::Empty);
    let code = ProcessEnd::Exited { code: 1 };
    assert_eq!(read(&["API Error: 400"], code).2.class, EndClass::Crash);
}

#[test]
fn json_of_another_program_is_malformed() {
    for line in [r#"{"thread":1}"#, r#"{"type":"thread.started"}"#] {
        assert_eq!(read(&[line], EXITED).2.class, EndClass::Malformed, "{line}");
    }
    let (mut driver, mut events) = ((PROFILE.driver)(None), Vec::new());
    driver.line(WORD.as_bytes(), false, &mut events, &mut vec![]);
    driver.line(GOOD.as_bytes(), true, &mut events, &mut vec![]);
    assert_eq!(driver.end(&EXITED, "").class, EndClass::Malformed);
}

#[test]
fn a_result_of_odd_types_is_still_read() {
    let odd = r#"{"type":"result","subtype":"success","is_error":false,"result":"fine","num_turns":1.5,"usage":[],"modelUsage":{"m":3},"total_cost_usd":"free","permission_denials":7}"#;
    let (.., end) = read(&[odd], EXITED);
    assert_eq!((end.class, end.text.as_str()), (EndClass::Completed, "fine"));
    assert_eq!(end.usage.cost_micro_usd, None);
}

#[test]
fn limits_are_distinguished() {
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":1,"error_status":429}"#;
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"result":"no","api_error_status":429}"#;
    let window = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794710700,"rateLimitType":"five_hour"}}"#;
    let flat = r#"{"type":"rate_limit_event","status":"rejected","resetsAt":1794710700}"#;
    let allowed = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1794710700}}"#;
    let at = Some(Timestamp::from_millis(1_794_710_700_000));
    for (lines, class, resets_at) in [
        (&[retry, failed][..], EndClass::RateLimit, None),
        (&[failed], EndClass::UsageWindow, None),
        (&[window, failed], EndClass::UsageWindow, at),
        (&[retry, flat, failed], EndClass::UsageWindow, at),
        (&[window, allowed, retry, failed], EndClass::RateLimit, None),
        // The retry belongs to an earlier request, which was answered.
        (&[retry, WORD, failed], EndClass::UsageWindow, None),
        (&[window, GOOD], EndClass::Completed, None),
    ] {
        let (.., end) = read(lines, ProcessEnd::Exited { code: 1 });
        assert_eq!((end.class, end.resets_at), (class, resets_at), "{lines:?}");
    }
}

#[test]
fn tokens_of_a_session_that_was_ended_are_those_of_its_messages() {
    let message = |id: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"o","usage":{{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":2}},"content":[]}}}}"#
        )
    };
    let (a, b) = (message("a"), message("b"));
    let (.., end) = read(&[&a, &a, &b], ProcessEnd::TimedOut { after_ms: 1000 });
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (30, 4));
    assert_eq!(end.usage.cost_micro_usd, None);
}

proptest::proptest! {
    #[test]
    fn any_lines_are_read_without_harm(
        lines in proptest::collection::vec(proptest::collection::vec(proptest::num::u8::ANY, 0..80), 0..20),
        cut: bool,
    ) {
        let (mut driver, mut events) = ((PROFILE.driver)(None), Vec::new());
        for line in &lines {
            driver.line(line, cut, &mut events, &mut vec![]);
        }
        driver.end(&EXITED, "");
    }

    #[test]
    fn damaged_events_are_read_without_harm(at in 0..WORD.len(), byte: u8, drop: bool) {
        let mut line = WORD.as_bytes().to_vec();
        if drop { line.truncate(at); } else { line[at] = byte; }
        let (mut driver, mut events) = ((PROFILE.driver)(None), Vec::new());
        driver.line(&line, false, &mut events, &mut vec![]);
        driver.line(GOOD.as_bytes(), false, &mut events, &mut vec![]);
        proptest::prop_assert_eq!(driver.end(&EXITED, "").text, "fine");
    }
}

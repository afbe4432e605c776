//! The course of sessions, and what messages mean. Sessions of real agents are in [`transcripts`].

mod transcripts;

use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd};
use serde_json::{Value, json};

use super::*;
use crate::agents::{Driver, Permissions, PromptBy, Written};
use crate::process::LineEffect;

const EXITED: ProcessEnd = ProcessEnd::Exited { code: 0 };

fn spec(permissions: Permissions) -> SessionSpec {
    let written =
        |text: &str| Written { text: text.to_owned(), file: format!("/run/{text}").into() };
    SessionSpec {
        executable: "gemini".into(),
        extra_args: vec!["--acp".into()],
        folder: "/project".into(),
        environment: vec![],
        prompt: PromptBy::System { system: written("Rules."), task: written("Task.") },
        model: None,
        permissions,
        cassette: None,
        session: None,
        sandboxed: true,
        verifies: false,
    }
}

/// A session that is fed with messages.
struct Session {
    driver: Box<dyn Driver>,
    events: Vec<AgentEvent>,
    effect: LineEffect,
}

impl Session {
    fn new(spec: &SessionSpec) -> Self {
        let driver = (PROFILE.driver)(Some(spec));
        Self { driver, events: vec![], effect: LineEffect::Going }
    }

    /// A session that has been prompted.
    fn prompted(spec: &SessionSpec) -> Self {
        let mut session = Self::new(spec);
        session.feed(json!({ "id": 1, "result": { "protocolVersion": 1 } }));
        session.feed(json!({ "id": 2, "result": { "sessionId": "s" } }));
        session
    }

    fn line(&mut self, line: &str) -> Vec<Value> {
        let mut replies = vec![];
        self.effect = self.driver.line(line.as_bytes(), false, &mut self.events, &mut replies);
        messages(&replies)
    }

    /// What ralph answers to a message.
    fn feed(&mut self, message: Value) -> Vec<Value> {
        self.line(&message.to_string())
    }

    fn update(&mut self, update: Value) {
        let params = json!({ "sessionId": "s", "update": update });
        self.feed(json!({ "method": "session/update", "params": params }));
    }

    fn says(&mut self, text: &str) {
        let content = json!({ "type": "text", "text": text });
        self.update(json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
    }

    fn end(self) -> SessionEnd {
        self.driver.end(&EXITED, "")
    }
}

fn messages(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

#[test]
fn the_program_gets_its_arguments_and_is_asked_to_initialize() {
    let command = (PROFILE.command)(&spec(Permissions::Boxed));
    assert_eq!((command.program, command.args), ("gemini".into(), vec!["--acp".into()]));
    assert!(command.env.contains(&("IS_SANDBOX".into(), "1".into())));
    let Stdin::Conversation(opening) = &command.stdin else { panic!("{:?}", command.stdin) };
    let [message] = messages(opening).try_into().unwrap();
    assert_eq!((&message["id"], &message["method"]), (&json!(1), &json!("initialize")));
    assert_eq!(message["params"]["protocolVersion"], 1);
    let offered = &message["params"]["clientCapabilities"];
    assert_eq!(offered["fs"], json!({ "readTextFile": false, "writeTextFile": false }));
    assert_eq!(offered["terminal"], false);
}

#[test]
fn a_session_is_initialized_opened_and_prompted() {
    let mut session = Session::new(&spec(Permissions::Boxed));
    let info = json!({ "name": "x", "version": "1.2.3" });
    let [open] = session
        .feed(json!({ "id": 1, "result": { "protocolVersion": 1, "agentInfo": info } }))
        .try_into()
        .unwrap();
    assert_eq!(open["method"], "session/new");
    assert_eq!(open["params"], json!({ "cwd": "/project", "mcpServers": [] }));
    let version = Some("1.2.3".to_owned());
    assert_eq!(session.events, [AgentEvent::Started { model: None, version }]);
    let [prompt] =
        session.feed(json!({ "id": 2, "result": { "sessionId": "s-1" } })).try_into().unwrap();
    assert_eq!(prompt["method"], "session/prompt");
    assert_eq!(prompt["params"]["sessionId"], "s-1");
    assert_eq!(prompt["params"]["prompt"], json!([{ "type": "text", "text": "Rules.\n\nTask." }]));
    session.says("I will ");
    session.update(json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute",
                           "status": "pending", "title": "Terminal", "rawInput": {} }));
    session.update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t",
                           "rawInput": { "command": "cargo  test" } }));
    session.update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t",
                           "status": "failed", "rawOutput": "exit code 1" }));
    session.says("Done");
    session.says(".");
    session.update(json!({ "sessionUpdate": "usage_update", "used": 3,
                           "cost": { "amount": 0.25, "currency": "USD" } }));
    let usage = json!({ "inputTokens": 10, "cachedReadTokens": 5, "outputTokens": 2,
                        "totalTokens": 17 });
    let replies =
        session.feed(json!({ "id": 3, "result": { "stopReason": "end_turn", "usage": usage } }));
    assert_eq!((replies.len(), session.effect), (0, LineEffect::Result));
    let shown: Vec<_> = session.events[1..6].to_vec();
    let text = |text: &str| AgentEvent::Text { text: text.into() };
    let (id, name) = ("t".to_owned(), "execute".to_owned());
    assert_eq!(
        shown,
        [
            text("I will "),
            AgentEvent::ToolStarted { id: id.clone(), name, input: "cargo test".into() },
            AgentEvent::ToolEnded { id, is_error: true, text: "exit code 1".into() },
            text("Done"),
            text("."),
        ]
    );
    let end = session.end();
    assert_eq!((end.class, end.text.as_str()), (EndClass::Completed, "Done."));
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (15, 2));
    assert_eq!(end.usage.cost_micro_usd, Some(250_000));
}

#[test]
fn a_verifier_gets_nothing_of_the_judged_tree_from_the_adapter_of_claude_code() {
    let of_claude = json!({ "protocolVersion": 1,
                            "agentCapabilities": { "_meta": { "claudeCode": {} } } });
    for verifies in [false, true] {
        let permissions = Permissions::SandboxedTools(vec!["read".into()]);
        let mut session = Session::new(&SessionSpec { verifies, ..spec(permissions) });
        let [open] = session.feed(json!({ "id": 1, "result": of_claude })).try_into().unwrap();
        let options = &open["params"]["_meta"]["claudeCode"]["options"];
        let sources = if verifies { json!(["user"]) } else { json!(null) };
        assert_eq!(options["settingSources"], sources);
    }
}

#[test]
fn model_and_mode_are_chosen_before_the_prompt_as_the_agent_offers_them() {
    let mut spec = spec(Permissions::Boxed);
    spec.model = Some("big".into());
    let modes = json!({ "currentModeId": "default",
                        "availableModes": [{ "id": "default" }, { "id": "yolo" }] });
    let models = json!({ "currentModelId": "small", "availableModels": [] });
    let option = json!([{ "id": "m", "category": "model", "currentValue": "small" }]);
    for (opened, methods) in [
        (
            json!({ "modes": modes, "models": models }),
            &["session/set_mode", "session/set_model"][..],
        ),
        (json!({ "configOptions": option, "models": models }), &["session/set_config_option"]),
        (json!({ "models": { "currentModelId": "big" } }), &[]),
        (json!({}), &[]),
    ] {
        let mut opened = opened;
        opened["sessionId"] = json!("s");
        let mut session = Session::new(&spec);
        session.feed(json!({ "id": 1, "result": { "protocolVersion": 1 } }));
        let mut replies = session.feed(json!({ "id": 2, "result": opened }));
        let mut asked = vec![];
        while replies.iter().all(|reply| reply["method"] != "session/prompt") {
            asked.extend(replies.iter().map(|reply| reply["method"].as_str().unwrap().to_owned()));
            let ids: Vec<Value> = replies.iter().map(|reply| reply["id"].clone()).collect();
            let answers =
                ids.into_iter().flat_map(|id| session.feed(json!({ "id": id, "result": {} })));
            replies = answers.collect();
        }
        assert_eq!(asked, methods, "{opened}");
    }
    // A size without a name is the agent's choice, unless the agent has a model of that name.
    spec.model = Some("sonnet".into());
    for listed in [json!([]), json!([{ "modelId": "sonnet" }])] {
        let is_listed = listed != json!([]);
        let models = json!({ "currentModelId": "small", "availableModels": listed });
        let mut session = Session::new(&spec);
        session.feed(json!({ "id": 1, "result": { "protocolVersion": 1 } }));
        let opened = json!({ "sessionId": "s", "models": models });
        let replies = session.feed(json!({ "id": 2, "result": opened }));
        let method = if is_listed { "session/set_model" } else { "session/prompt" };
        assert_eq!((replies.len(), &replies[0]["method"]), (1, &json!(method)));
    }
    spec.model = Some("big".into());
    // A mode that is refused is no reason to stop; a model is.
    let mut session = Session::new(&spec);
    session.feed(json!({ "id": 1, "result": { "protocolVersion": 1 } }));
    let opened = json!({ "sessionId": "s", "modes": modes, "models": models });
    session.feed(json!({ "id": 2, "result": opened }));
    let error = json!({ "code": -32603, "message": "no" });
    session.feed(json!({ "id": 3, "error": error }));
    assert_eq!(session.effect, LineEffect::Going);
    session.feed(json!({ "id": 4, "error": error }));
    assert_eq!(session.effect, LineEffect::Over);
    assert_eq!(session.end().class, EndClass::UnknownModel);
}

#[test]
fn the_mode_is_that_of_what_the_session_may_do() {
    let tools = || vec!["read".to_owned()];
    let modes = ["read-only", "agent-full-access", "bypassPermissions"];
    for (permissions, verifies, modes, chosen) in [
        (Permissions::Boxed, false, &modes[1..2], Some("agent-full-access")),
        (Permissions::Boxed, false, &modes[2..], Some("bypassPermissions")),
        (Permissions::SandboxedTools(tools()), true, &modes[..], Some("agent-full-access")),
        (Permissions::SandboxedTools(tools()), true, &modes[2..], None),
        (Permissions::Tools(tools()), true, &modes[..], Some("read-only")),
        (Permissions::Tools(tools()), false, &modes[..], None),
    ] {
        let mut session = Session::new(&SessionSpec { verifies, ..spec(permissions) });
        session.feed(json!({ "id": 1, "result": { "protocolVersion": 1 } }));
        let available: Vec<Value> = modes.iter().map(|mode| json!({ "id": mode })).collect();
        let modes = json!({ "currentModeId": "usual", "availableModes": available });
        let replies =
            session.feed(json!({ "id": 2, "result": { "sessionId": "s", "modes": modes } }));
        assert_eq!(replies[0]["params"]["modeId"].as_str(), chosen, "{modes}");
    }
}

#[test]
fn permission_is_given_by_what_the_session_may_do() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let usual = || Permissions::Tools(names(PROFILE.tools.usual));
    let judging = || Permissions::SandboxedTools(names(PROFILE.tools.judging));
    for (permissions, kind, name, allowed) in [
        (Permissions::Boxed, "other", "Anything", true),
        (usual(), "edit", "Write", true),
        (usual(), "execute", "Bash", true),
        (usual(), "fetch", "WebFetch", false),
        (Permissions::Tools(names(&["Bash"])), "execute", "Bash", true),
        (Permissions::Tools(names(&["Bash"])), "edit", "Write", false),
        (Permissions::Tools(vec![]), "read", "Read", false),
        (judging(), "read", "Read", true),
        (judging(), "execute", "Bash", false),
        (judging(), "edit", "Write", false),
    ] {
        let mut session = Session::prompted(&spec(permissions));
        let options = json!([
            { "optionId": "always", "kind": "allow_always" },
            { "optionId": "once", "kind": "allow_once" },
            { "optionId": "no", "kind": "reject_once" },
        ]);
        let call = json!({ "toolCallId": "t", "kind": kind, "name": name, "title": "x" });
        let params = json!({ "sessionId": "s", "toolCall": call, "options": options });
        let request =
            json!({ "id": "abc", "method": "session/request_permission", "params": params });
        let [reply] = session.feed(request).try_into().unwrap();
        let wanted = if allowed { "once" } else { "no" };
        assert_eq!(reply["id"], "abc");
        assert_eq!(reply["result"]["outcome"]["optionId"], wanted, "{kind}");
        let denied = AgentEvent::Denied { tool: name.into() };
        assert_eq!(session.events.contains(&denied), !allowed);
        assert_eq!(session.end().denied.len(), usize::from(!allowed));
    }
    // Where nothing fits, nothing is chosen.
    let mut session = Session::prompted(&spec(Permissions::Tools(vec![])));
    let params = json!({ "toolCall": {}, "options": [{ "optionId": "y", "kind": "allow_once" }] });
    let request = json!({ "id": 0, "method": "session/request_permission", "params": params });
    let [reply] = session.feed(request).try_into().unwrap();
    assert_eq!(reply["result"], json!({ "outcome": { "outcome": "cancelled" } }));
}

#[test]
fn what_ralph_does_not_offer_is_answered_as_unknown() {
    let mut session = Session::prompted(&spec(Permissions::Boxed));
    for method in ["fs/read_text_file", "fs/write_text_file", "terminal/create", "x/y"] {
        let [reply] =
            session.feed(json!({ "id": 7, "method": method, "params": {} })).try_into().unwrap();
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!(7), &json!(-32601)));
    }
    // A notification wants no answer, whatever it is about.
    assert!(session.feed(json!({ "method": "x/y" })).is_empty());
}

#[test]
fn the_reason_of_a_turns_end_decides() {
    for (reason, class) in [
        ("end_turn", EndClass::Completed),
        ("max_tokens", EndClass::MaxTurns),
        ("max_turn_requests", EndClass::MaxTurns),
        ("refusal", EndClass::Refusal),
        ("cancelled", EndClass::Crash),
        ("news", EndClass::Crash),
        ("", EndClass::Crash),
    ] {
        let mut session = Session::prompted(&spec(Permissions::Boxed));
        session.says("Text.");
        session.feed(json!({ "id": 3, "result": { "stopReason": reason } }));
        assert_eq!(session.effect, LineEffect::Result);
        assert_eq!(session.end().class, class, "{reason}");
    }
    let mut session = Session::prompted(&spec(Permissions::Boxed));
    session.feed(json!({ "id": 3, "result": { "stopReason": "end_turn" } }));
    assert_eq!(session.end().class, EndClass::Empty);
}

#[test]
fn errors_are_classified_by_code_and_data() {
    for (code, data, class) in [
        (-32000, json!(null), EndClass::Auth),
        (-32603, json!({ "status": 401 }), EndClass::Auth),
        (-32603, json!({ "details": "x", "response": { "statusCode": 429 } }), EndClass::RateLimit),
        (-32603, json!({ "errorKind": "rate_limit" }), EndClass::RateLimit),
        (-32603, json!({ "error": { "type": "overloaded_error" } }), EndClass::Overload),
        (-32603, json!({ "status": 503 }), EndClass::Overload),
        (-32603, json!({ "status": 404 }), EndClass::UnknownModel),
        (429, json!(null), EndClass::RateLimit),
        (-32603, json!({ "code": "rate_limit is only prose here" }), EndClass::Crash),
        (-32603, json!("429"), EndClass::Crash),
        (-32602, json!(null), EndClass::Rejected),
        (-32601, json!(null), EndClass::Malformed),
        (-1, json!([]), EndClass::Crash),
    ] {
        let mut session = Session::prompted(&spec(Permissions::Boxed));
        let error = json!({ "code": code, "message": "It failed", "data": data });
        session.feed(json!({ "id": 3, "error": error }));
        assert_eq!(session.effect, LineEffect::Over);
        let end = session.end();
        assert_eq!(end.class, class, "{code} {data}");
        assert!(end.detail.starts_with("session/prompt failed: It failed"), "{}", end.detail);
    }
}

#[test]
fn a_text_of_the_user_is_the_next_prompt() {
    let mut session = Session::prompted(&spec(Permissions::Boxed));
    session.says("First.");
    assert_eq!(session.driver.say("and greet"), Some(vec![]));
    let [prompt] = session
        .feed(json!({ "id": 3, "result": { "stopReason": "end_turn" } }))
        .try_into()
        .unwrap();
    assert_eq!(session.effect, LineEffect::Going);
    assert_eq!((&prompt["id"], &prompt["method"]), (&json!(4), &json!("session/prompt")));
    assert_eq!(prompt["params"]["prompt"][0]["text"], "and greet");
    let heard = AgentEvent::UserMessage { text: "and greet".into() };
    assert!(!session.events.contains(&heard));
    session.says("Hello.");
    assert!(session.events.contains(&heard));
    session.feed(json!({ "id": 4, "result": { "stopReason": "end_turn" } }));
    assert_eq!(session.effect, LineEffect::Result);
    assert_eq!(session.driver.say("too late"), None);
    assert_eq!(session.end().text, "Hello.");
}

#[test]
fn an_agent_that_queues_prompts_gets_a_text_at_once() {
    let mut session = Session::new(&spec(Permissions::Boxed));
    let capabilities = json!({ "_meta": { "claudeCode": { "promptQueueing": true } } });
    let result = json!({ "protocolVersion": 1, "agentCapabilities": capabilities });
    session.feed(json!({ "id": 1, "result": result }));
    session.feed(json!({ "id": 2, "result": { "sessionId": "s" } }));
    session.says("I begin.");
    let [prompt] = messages(&session.driver.say("and greet").unwrap()).try_into().unwrap();
    assert_eq!((&prompt["id"], &prompt["method"]), (&json!(4), &json!("session/prompt")));
    let heard = AgentEvent::UserMessage { text: "and greet".into() };
    session.says(" Still.");
    assert!(!session.events.contains(&heard));
    // The first prompt ends where the agent takes up the second.
    session.feed(json!({ "id": 3, "result": { "stopReason": "end_turn" } }));
    assert_eq!(session.effect, LineEffect::Going);
    assert!(session.events.contains(&heard));
    session.says(" Hello.");
    session.feed(json!({ "id": 4, "result": { "stopReason": "end_turn" } }));
    assert_eq!(session.effect, LineEffect::Result);
    assert_eq!(session.end().text, "I begin. Still. Hello.");
}

#[test]
fn an_interrupted_turn_is_cancelled_and_no_other_begins() {
    let mut session = Session::new(&spec(Permissions::Boxed));
    assert_eq!(session.driver.interrupt(), None, "there is nothing to cancel yet");
    let mut session = Session::prompted(&spec(Permissions::Boxed));
    session.driver.say("never read");
    let [cancel] = messages(&session.driver.interrupt().unwrap()).try_into().unwrap();
    assert_eq!(
        (&cancel["method"], &cancel["params"]["sessionId"]),
        (&json!("session/cancel"), &json!("s"))
    );
    assert_eq!(cancel.get("id"), None);
    let replies = session.feed(json!({ "id": 3, "result": { "stopReason": "cancelled" } }));
    assert_eq!((replies.len(), session.effect), (0, LineEffect::Result));
    assert_eq!(session.end().class, EndClass::Cancelled);
}

#[test]
fn a_turn_that_is_cancelled_after_a_time_limit_counts_as_that() {
    let cancelled = |asked: bool, end: ProcessEnd| {
        let mut session = Session::prompted(&spec(Permissions::Boxed));
        if asked {
            session.driver.interrupt().unwrap();
        }
        session.feed(json!({ "id": 3, "result": { "stopReason": "cancelled" } }));
        session.driver.end(&end, "").class
    };
    for asked in [true, false] {
        assert_eq!(cancelled(asked, ProcessEnd::Silent { after_ms: 900_000 }), EndClass::Silence);
    }
    assert_eq!(cancelled(true, ProcessEnd::TimedOut { after_ms: 900_000 }), EndClass::Timeout);
    assert_eq!(cancelled(true, ProcessEnd::Stopped), EndClass::Cancelled);
    assert_eq!(cancelled(false, EXITED), EndClass::Crash);
}

/// As codex-acp 2.6.0 does it.
#[test]
fn the_adapter_of_codex_reports_a_failure_beside_the_end_of_the_turn() {
    let end = |status: &str, text: &str| {
        let mut session = Session::prompted(&spec(Permissions::Boxed));
        session.update(json!({ "sessionUpdate": "session_info_update",
                               "_meta": { "codex": { "threadStatus": { "type": status } } } }));
        session.says(text);
        session.feed(json!({ "id": 3, "result": { "stopReason": "end_turn" } }));
        session.end()
    };
    let limited = "exceeded retry limit, last status: 429 Too Many Requests\n\n";
    assert_eq!(end("systemError", limited).class, EndClass::RateLimit);
    assert_eq!(end("systemError", "unexpected status 403 Forbidden").class, EndClass::Forbidden);
    assert_eq!(end("systemError", "Something else.").class, EndClass::Crash);
    let talk = end("active", limited);
    assert_eq!((talk.class, talk.text.as_str()), (EndClass::Completed, limited));
}

#[test]
fn of_a_very_long_message_the_end_is_kept() {
    let mut session = Session::prompted(&spec(Permissions::Boxed));
    session.says(&"word ".repeat(200_000));
    session.says("<task-done>a</task-done>");
    session.feed(json!({ "id": 3, "result": { "stopReason": "end_turn" } }));
    let end = session.end();
    assert_eq!(end.class, EndClass::Completed);
    assert!(end.text.ends_with("<task-done>a</task-done>") && end.text.len() < 600_000);
}

#[test]
fn an_agent_of_another_version_or_none_is_named() {
    let mut session = Session::new(&spec(Permissions::Boxed));
    session.feed(json!({ "id": 1, "result": { "protocolVersion": 2 } }));
    assert_eq!(session.effect, LineEffect::Over);
    let end = session.end();
    assert_eq!(end.class, EndClass::Malformed);
    assert!(end.detail.contains("speaks version 2"), "{}", end.detail);

    let mut session = Session::new(&spec(Permissions::Boxed));
    session.line("Usage: tool [OPTIONS]");
    let end = session.end();
    assert_eq!(end.class, EndClass::Malformed);
    assert!(end.detail.contains("no message of the Agent Client Protocol"), "{}", end.detail);

    let end = Session::new(&spec(Permissions::Boxed)).driver.end(&ProcessEnd::Stopped, "");
    assert_eq!(end.class, EndClass::Cancelled);
}

#[test]
fn strange_messages_change_nothing() {
    let mut session = Session::prompted(&spec(Permissions::Boxed));
    for line in [
        "",
        "{",
        "[]",
        "null",
        "7",
        "{}",
        r#"{"id":99,"result":{}}"#,
        r#"{"id":99,"error":{}}"#,
        r#"{"id":"3","result":{"stopReason":"end_turn"}}"#,
        r#"{"id":-3,"result":{}}"#,
        r#"{"id":1,"result":{"protocolVersion":9}}"#,
        r#"{"method":"session/update"}"#,
        r#"{"method":"session/update","params":7}"#,
        r#"{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":3}}}"#,
        r#"{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":[]}}}"#,
        r#"{"id":{},"method":"session/request_permission","params":[]}"#,
    ] {
        session.line(line);
        assert_eq!(session.effect, LineEffect::Going, "{line}");
    }
    session.update(json!({ "sessionUpdate": "news_of_tomorrow" }));
    assert_eq!(
        session.events.last(),
        Some(&AgentEvent::Unknown { kind: "news_of_tomorrow".into() })
    );
    session.says("Fine.");
    session.feed(json!({ "id": 3, "result": { "stopReason": "end_turn" } }));
    assert_eq!(session.end().text, "Fine.");
}

#[test]
fn an_error_without_an_id_ends_a_session_that_was_not_understood() {
    let mut session = Session::new(&spec(Permissions::Boxed));
    let error = json!({ "code": -32700, "message": "Parse error" });
    session.feed(json!({ "jsonrpc": "2.0", "id": null, "error": error }));
    assert_eq!(session.effect, LineEffect::Over);
    assert_eq!(session.end().class, EndClass::Malformed);
}

proptest::proptest! {
    #[test]
    fn any_lines_are_read_without_harm(
        lines in proptest::collection::vec(proptest::collection::vec(proptest::num::u8::ANY, 0..80), 0..20),
        cut: bool,
    ) {
        let (mut driver, mut events) = ((PROFILE.driver)(Some(&spec(Permissions::Boxed))), vec![]);
        for line in &lines {
            driver.line(line, cut, &mut events, &mut vec![]);
        }
        driver.end(&EXITED, "");
    }
}

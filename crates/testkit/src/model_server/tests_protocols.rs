//! The formats of the APIs beside Anthropic's, as a client sees them that knows nothing but sockets.

use serde_json::{Value, json};

use super::tests::{is_whole, json_body, receive, send};
use super::{ModelServer, Script, Stop, Turn, Usage};

const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";
const GEMINI: &str = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
const GEMINI_WHOLE: &str = "/v1beta/models/gemini-2.5-pro:generateContent";

/// A request for a turn, with two messages and the result of a tool before it.
fn turn(path: &str) -> Value {
    match path {
        RESPONSES => json!({
            "model": "scripted", "stream": true, "prompt_cache_key": "s-1",
            "tools": [{ "type": "function", "name": "exec_command" }, { "type": "web_search" }],
            "input": [
                { "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "be good" }] },
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "RALPH_TASK_ID=t-1" }] },
                { "type": "function_call_output", "call_id": "c", "output": "the result" },
            ],
        }),
        CHAT => json!({
            "model": "scripted", "stream": true, "user": "s-1",
            "tools": [{ "type": "function", "function": { "name": "bash" } }],
            "messages": [
                { "role": "system", "content": "be good" },
                { "role": "user", "content": "RALPH_TASK_ID=t-1" },
                { "role": "tool", "tool_call_id": "c", "content": "the result" },
            ],
        }),
        _ => json!({
            "systemInstruction": { "parts": [{ "text": "be good" }] },
            "tools": [{ "functionDeclarations": [{ "name": "run_shell_command" }] }],
            "contents": [
                { "role": "user", "parts": [{ "text": "RALPH_TASK_ID=t-1" }] },
                { "role": "model", "parts": [{ "functionCall": { "name": "run_shell_command" } }] },
                { "role": "user", "parts": [{ "functionResponse": { "response": { "output": "the result" } } }] },
            ],
        }),
    }
}

fn ask(server: &ModelServer, path: &str) -> String {
    receive(send(server, path, &turn(path)))
}

fn playing(turns: impl IntoIterator<Item = Turn>) -> ModelServer {
    ModelServer::start(Script::new().session(turns))
}

/// The events of a stream, without the word that ends it.
fn events(answer: &str) -> Vec<Value> {
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn everything() -> Turn {
    let usage = Usage { input: 7, output: 9, cache_read: 3, cache_creation: 2 };
    Turn::thinking("hm").and_text("grüße").and_bash("echo {id}").usage(usage)
}

/// All strings at a pointer, together.
fn gathered(events: &[Value], pointer: &str) -> String {
    events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
}

#[test]
fn every_api_answers_what_a_request_asks() {
    for path in [RESPONSES, CHAT, GEMINI] {
        let server = playing([Turn::text("hi")]);
        ask(&server, path);
        let request = &server.turns()[0];
        assert!(request.wants_stream() && !request.is_compaction(), "{path}");
        assert_eq!(request.task_id().as_deref(), Some("t-1"), "{path}");
        assert_eq!(request.system_text().trim(), "be good", "{path}");
        assert_eq!(request.user_text().trim(), "RALPH_TASK_ID=t-1", "{path}");
        assert_eq!(request.tool_results(), [("the result".to_owned(), false)], "{path}");
        let gemini = path == GEMINI;
        assert_eq!(request.model(), if gemini { "gemini-2.5-pro" } else { "scripted" });
        assert_eq!(request.session(), if gemini { "" } else { "s-1" });
    }
}

#[test]
fn the_responses_api_streams_items() {
    let answer = ask(&playing([everything()]), RESPONSES);
    assert!(answer.contains("event: response.created\n"), "{answer}");
    let events = events(&answer);
    let of = |kind: &str| -> Vec<Value> {
        events.iter().filter(|event| event["type"] == kind).cloned().collect()
    };
    assert_eq!(gathered(&of("response.output_text.delta"), "/delta"), "grüße");
    assert_eq!(gathered(&of("response.reasoning_summary_text.delta"), "/delta"), "hm");
    let items = of("response.output_item.done");
    let kinds: Vec<&Value> = items.iter().map(|event| &event["item"]["type"]).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call"]);
    assert_eq!(items[2]["item"]["name"], "exec_command");
    let arguments = gathered(&of("response.function_call_arguments.delta"), "/delta");
    assert_eq!(items[2]["item"]["arguments"], json!(arguments));
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap()["cmd"], "echo t-1");
    let end = events.last().unwrap();
    assert_eq!(end["type"], "response.completed");
    assert_eq!(end["response"]["usage"]["input_tokens"], 12);
    assert_eq!(end["response"]["usage"]["input_tokens_details"]["cached_tokens"], 3);
    assert_eq!(end["response"]["usage"]["output_tokens"], 9);
}

#[test]
fn the_chat_api_streams_deltas() {
    let answer = ask(&playing([everything()]), CHAT);
    assert!(answer.contains("data: [DONE]"), "{answer}");
    let events = events(&answer);
    assert_eq!(gathered(&events, "/choices/0/delta/content"), "grüße");
    assert_eq!(gathered(&events, "/choices/0/delta/reasoning_content"), "hm");
    let call = "/choices/0/delta/tool_calls/0/function";
    assert_eq!(gathered(&events, &format!("{call}/name")), "bash");
    let arguments = gathered(&events, &format!("{call}/arguments"));
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap()["command"], "echo t-1");
    assert_eq!(gathered(&events, "/choices/0/finish_reason"), "tool_calls");
    assert_eq!(events.last().unwrap()["usage"]["prompt_tokens"], 12);
}

#[test]
fn the_gemini_api_streams_parts() {
    let events = events(&ask(&playing([everything()]), GEMINI));
    assert_eq!(gathered(&events, "/candidates/0/content/parts/0/text"), "hmgrüße");
    assert_eq!(events[0]["candidates"][0]["content"]["parts"][0]["thought"], true);
    let call = "/candidates/0/content/parts/0/functionCall";
    assert_eq!(gathered(&events, &format!("{call}/name")), "run_shell_command");
    assert_eq!(gathered(&events, &format!("{call}/args/command")), "echo t-1");
    let end = events.last().unwrap();
    assert_eq!(end["candidates"][0]["finishReason"], "STOP");
    assert_eq!(end["usageMetadata"]["promptTokenCount"], 12);
}

#[test]
fn a_message_comes_in_one_piece_when_no_stream_is_wanted() {
    let stopped = || everything().stop(Stop::MaxTokens);
    let mut chat = turn(CHAT);
    chat["stream"] = json!(false);
    let answer = json_body(&receive(send(&playing([stopped()]), CHAT, &chat)));
    assert_eq!(answer["choices"][0]["message"]["content"], "grüße");
    assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "bash");
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    let answer = json_body(&ask(&playing([stopped()]), GEMINI_WHOLE));
    assert_eq!(answer["candidates"][0]["content"]["parts"][1]["text"], "grüße");
    assert_eq!(answer["candidates"][0]["finishReason"], "MAX_TOKENS");
    let mut responses = turn(RESPONSES);
    responses["stream"] = json!(false);
    let answer = json_body(&receive(send(&playing([stopped()]), RESPONSES, &responses)));
    assert_eq!(answer["status"], "incomplete");
    assert_eq!(answer["output"][1]["content"][0]["text"], "grüße");
}

#[test]
fn a_request_without_tools_takes_no_turn() {
    for path in [RESPONSES, CHAT, GEMINI] {
        let server = playing([Turn::text("the turn")]);
        let mut title = turn(path);
        title["tools"] = json!([]);
        let fixed = receive(send(&server, path, &title));
        assert!(fixed.contains("Scri") && !fixed.contains("turn\""), "{fixed}");
        assert!(server.turns().is_empty());
        assert!(ask(&server, path).contains("urn\""), "{path}");
    }
}

#[test]
fn errors_look_like_those_of_the_api() {
    for (path, pointer, value) in [
        (RESPONSES, "/error/code", json!("rate_limit_exceeded")),
        (CHAT, "/error/type", json!("rate_limit_error")),
        (GEMINI, "/error/status", json!("RESOURCE_EXHAUSTED")),
        (GEMINI, "/error/details/0/retryDelay", json!("3s")),
    ] {
        let answer = ask(&playing([Turn::rate_limited().retry_after(3)]), path);
        assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
        assert!(answer.contains("retry-after: 3\r\n"), "{answer}");
        assert_eq!(json_body(&answer).pointer(pointer), Some(&value), "{answer}");
    }
}

#[test]
fn streams_break_on_request() {
    for (path, end) in
        [(RESPONSES, "response.output_item.done"), (CHAT, "[DONE]"), (GEMINI, "finishReason")]
    {
        let server = playing([
            Turn::text("begun").then_cut(),
            Turn::text("begun").then_error("overloaded_error"),
            Turn::reset(),
        ]);
        let cut = ask(&server, path);
        assert!(cut.contains("\"be\"") && !is_whole(&cut) && !cut.contains(end), "{cut}");
        let error = ask(&server, path);
        assert!(error.contains("overloaded_error") && is_whole(&error), "{error}");
        assert_eq!(ask(&server, path), "");
    }
}

#[test]
fn a_file_is_written_with_the_tool_of_the_agent() {
    for (path, name) in [(CHAT, "write"), (GEMINI, "write_file"), (RESPONSES, "exec_command")] {
        let answer = ask(&playing([Turn::write("/a/b", "it's")]), path);
        assert!(answer.contains(&format!("\"name\":\"{name}\"")), "{answer}");
    }
    let mut older = turn(RESPONSES);
    older["tools"] = json!([{ "type": "function", "name": "shell" }]);
    let answer = receive(send(&playing([Turn::bash("ls")]), RESPONSES, &older));
    let item = events(&answer).last().unwrap()["response"]["output"][0].clone();
    assert_eq!(item["name"], "shell");
    assert_eq!(item["arguments"], r#"{"command":["bash","-lc","ls"]}"#);
}

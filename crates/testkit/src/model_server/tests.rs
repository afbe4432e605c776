//! The server as a client sees it that knows nothing but sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::{ModelServer, Request, Script, Stop, Turn, Usage};

/// A connection with one request on its way.
pub(super) fn send(server: &ModelServer, path: &str, body: &Value) -> TcpStream {
    let address = server.url().replace("http://", "");
    let mut stream = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    let length = body.len();
    write!(stream, "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}")
        .unwrap();
    stream
}

/// All that comes back, up to the end of the answer or of the connection.
pub(super) fn receive(mut stream: TcpStream) -> String {
    receive_until(&mut stream, is_whole)
}

/// What comes back until it is so, or the connection ends.
fn receive_until(stream: &mut TcpStream, enough: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    let mut some = [0; 4096];
    loop {
        let count = stream.read(&mut some).unwrap();
        text += std::str::from_utf8(&some[..count]).unwrap();
        if count == 0 || enough(&text) {
            return text;
        }
    }
}

pub(super) fn is_whole(answer: &str) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return false };
    match head.split_once("content-length: ") {
        Some((_, length)) => body.len() >= length.lines().next().unwrap().parse().unwrap(),
        None => body.ends_with("0\r\n\r\n"),
    }
}

/// A turn of a session.
fn turn(session: &str, stream: bool, prompt: &str) -> Value {
    json!({
        "model": "scripted",
        "stream": stream,
        "metadata": { "user_id": json!({ "session_id": session }).to_string() },
        "tools": [{ "name": "Bash" }],
        "messages": [{ "role": "user", "content": prompt }],
    })
}

fn ask(server: &ModelServer, session: &str, prompt: &str) -> String {
    receive(send(server, "/v1/messages?beta=true", &turn(session, true, prompt)))
}

/// The events of a stream.
fn events(answer: &str) -> Vec<Value> {
    answer
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

fn answer_text(answer: &str) -> String {
    events(answer).iter().filter_map(|event| event["delta"]["text"].as_str()).collect()
}

pub(super) fn json_body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn a_message_is_streamed_in_events() {
    let server = ModelServer::start(Script::new().session([
        Turn::thinking("hm").and_text("grüße").and_bash("ls").usage(Usage {
            input: 7,
            output: 9,
            cache_read: 3,
            cache_creation: 2,
        }),
    ]));
    let answer = ask(&server, "a", "go");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("content-type: text/event-stream\r\n"), "{answer}");
    let events = events(&answer);
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let block = ["content_block_start", "content_block_delta", "content_block_delta"];
    let (open, close) = (&block[..], &["content_block_stop"][..]);
    let thinking = &["content_block_delta"][..];
    assert_eq!(
        kinds,
        [
            &["message_start"][..],
            open,
            thinking,
            close,
            open,
            close,
            open,
            close,
            &["message_delta", "message_stop"][..]
        ]
        .concat()
    );
    assert_eq!(answer_text(&answer), "grüße");
    let input: String =
        events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert_eq!(serde_json::from_str::<Value>(&input).unwrap()["command"], "ls");
    let start = &events[0]["message"];
    assert_eq!(start["model"], "scripted");
    assert_eq!(start["usage"]["cache_read_input_tokens"], 3);
    let end = &events[events.len() - 2];
    assert_eq!(end["delta"]["stop_reason"], "tool_use");
    assert_eq!(end["usage"]["output_tokens"], 9);
}

#[test]
fn a_message_comes_in_one_piece_when_no_stream_is_wanted() {
    let server = ModelServer::start(
        Script::new().session([Turn::text("half").and_bash("ls").stop(Stop::MaxTokens)]),
    );
    let answer = json_body(&receive(send(&server, "/v1/messages", &turn("a", false, "go"))));
    assert_eq!(answer["content"][0]["text"], "half");
    assert_eq!(answer["content"][1]["input"]["command"], "ls");
    assert_eq!(answer["stop_reason"], "max_tokens");
}

#[test]
fn one_connection_serves_many_requests() {
    let server = ModelServer::start(Script::new().session([Turn::text("a"), Turn::text("b")]));
    let stream = send(&server, "/v1/messages", &turn("a", true, "go"));
    assert_eq!(answer_text(&receive(stream.try_clone().unwrap())), "a");
    let body = turn("a", true, "go on").to_string();
    let (first, second) = body.split_at(10);
    write!(
        &stream,
        "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    )
    .unwrap();
    assert_eq!(answer_text(&receive(stream)), "b");
}

#[test]
fn what_carries_no_tools_takes_no_turn() {
    let server = ModelServer::start(Script::new().session([Turn::text("the turn")]));
    let title = json!({ "messages": [{ "role": "user", "content": "a title, please" }] });
    let answer = json_body(&receive(send(&server, "/v1/messages", &title)));
    assert_eq!(answer["content"][0]["text"], "Scripted");
    let count =
        receive(send(&server, "/v1/messages/count_tokens?beta=true", &turn("a", false, "go")));
    assert!(json_body(&count)["input_tokens"].as_u64().unwrap() > 0, "{count}");
    assert!(receive(send(&server, "/elsewhere", &title)).starts_with("HTTP/1.1 404 "));
    assert_eq!(answer_text(&ask(&server, "a", "go")), "the turn");
    assert_eq!(server.requests().len(), 4);
    assert_eq!(server.turns().len(), 1);
    assert_eq!(server.requests()[3].body["messages"][0]["content"], "go");
}

#[test]
fn each_session_takes_the_next_list_and_the_last_may_go_on() {
    let server = ModelServer::start(
        Script::new()
            .session([Turn::text("one").times(2), Turn::text("two")])
            .session([Turn::text("other"), Turn::text("still").for_ever()])
            .for_ever(),
    );
    let answers: Vec<String> = ["a", "b", "a", "a", "b", "b", "b", "c"]
        .iter()
        .map(|session| answer_text(&ask(&server, session, "go")))
        .collect();
    assert_eq!(answers, ["one", "other", "one", "two", "still", "still", "still", "other"]);
    assert_eq!(server.unscripted(), 0);
    let over = ask(&server, "a", "go");
    assert!(over.starts_with("HTTP/1.1 400 "), "{over}");
    assert!(over.contains("the script of the model server is over"), "{over}");
    assert_eq!(server.unscripted(), 1);
    let sizes: Vec<usize> = server.sessions().iter().map(Vec::len).collect();
    assert_eq!(sizes, [4, 4, 1]);
    server.play(Script::new().session([Turn::text("anew")]));
    assert_eq!(answer_text(&ask(&server, "a", "go")), "anew");
}

#[test]
fn a_task_with_turns_of_its_own_gets_them_whenever_it_comes() {
    let server = ModelServer::start(
        Script::new()
            .session([Turn::text("any {id}")])
            .session_for("t-2", [Turn::text("second")])
            .session_for("t-1", [Turn::bash("echo {id}")]),
    );
    let first = ask(&server, "a", "RALPH_TASK_ID=t-1");
    let input: String =
        events(&first).iter().filter_map(|e| e["delta"]["partial_json"].as_str()).collect();
    assert!(input.contains("echo t-1"), "{input}");
    assert_eq!(answer_text(&ask(&server, "b", "RALPH_TASK_ID=t-3")), "any t-3");
    assert_eq!(answer_text(&ask(&server, "c", "RALPH_TASK_ID=t-2")), "second");
    // Its own list is used up, and it takes no other.
    assert!(ask(&server, "d", "RALPH_TASK_ID=t-2").starts_with("HTTP/1.1 400 "));
}

#[test]
fn a_function_may_answer() {
    fn react(request: &Request) -> Turn {
        match request.task_id().as_deref() {
            Some("t-bad") => Turn::overloaded(),
            _ => Turn::text("<task-done>{id}</task-done>"),
        }
    }
    let server = ModelServer::start(Script::answering(react));
    assert!(ask(&server, "a", "RALPH_TASK_ID=t-bad").starts_with("HTTP/1.1 529 "));
    assert_eq!(answer_text(&ask(&server, "a", "RALPH_TASK_ID=t-1")), "<task-done>t-1</task-done>");
}

#[test]
fn errors_have_their_status_type_text_and_headers() {
    for (turn, status, kind, text) in [
        (Turn::rate_limited().retry_after(3), 429, "rate_limit_error", "retry-after: 3\r\n"),
        (Turn::overloaded(), 529, "overloaded_error", "Overloaded"),
        (Turn::error(500), 500, "api_error", "Internal server error"),
        (Turn::unauthorized(), 401, "authentication_error", "invalid x-api-key"),
        (Turn::error(403), 403, "permission_error", "permission"),
        (Turn::error(404), 404, "not_found_error", "model"),
        (Turn::no_credit(), 400, "invalid_request_error", "credit balance is too low"),
        (Turn::prompt_too_long(), 400, "invalid_request_error", "prompt is too long"),
        (Turn::error(429).of_type("odd_error").saying("so"), 429, "odd_error", "so"),
    ] {
        let server = ModelServer::start(Script::new().session([turn]));
        let answer = ask(&server, "a", "go");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert_eq!(json_body(&answer)["error"]["type"], kind);
        assert!(answer.contains(text), "{answer}");
    }
}

#[test]
fn streams_break_on_request() {
    let server = ModelServer::start(Script::new().session([
        Turn::text("begun").then_cut(),
        Turn::text("begun").then_error("overloaded_error"),
        Turn::reset(),
    ]));
    let cut = ask(&server, "a", "go");
    assert_eq!(answer_text(&cut), "begun");
    assert!(!is_whole(&cut) && !cut.contains("content_block_stop"), "{cut}");
    let error = ask(&server, "a", "go");
    assert_eq!(events(&error).last().unwrap()["error"]["type"], "overloaded_error");
    assert!(is_whole(&error), "{error}");
    assert_eq!(ask(&server, "a", "go"), "");
}

#[test]
fn a_silent_server_ends_with_its_value() {
    let script = || Script::new().session([Turn::text("begun").then_hang(), Turn::silent()]);
    let server = ModelServer::start(script());
    let mut hanging = send(&server, "/v1/messages", &turn("a", true, "go"));
    // A word comes in pieces, and a read may end in the middle of one.
    let whole_lines = |text: &str| text.rfind('\n').map_or(0, |end| end + 1);
    let has_begun = |text: &str| answer_text(&text[..whole_lines(text)]) == "begun";
    let begun = receive_until(&mut hanging, has_begun);
    let mute = send(&server, "/v1/messages", &turn("a", true, "go"));
    server.wait_for_requests(2, Duration::from_secs(10));
    drop(server);
    assert_eq!(answer_text(&(begun + &receive(hanging))), "begun");
    assert_eq!(receive(mute), "");
}

#[test]
fn delays_and_slow_events_take_their_time() {
    let (delay, pace) = (Duration::from_millis(60), Duration::from_millis(20));
    let server =
        ModelServer::start(Script::new().session([Turn::text("slow").after(delay).slowly(pace)]));
    let clock = ralph_engine::clock::Stopwatch::start();
    assert_eq!(answer_text(&ask(&server, "a", "go")), "slow");
    // Five events, each with a pause after it.
    assert!(clock.elapsed() >= delay + 5 * pace, "{:?}", clock.elapsed());
}

#[test]
#[should_panic(expected = "1 of 2 requests came")]
fn waiting_for_a_request_that_never_comes_fails() {
    let server = ModelServer::start(Script::new().session([Turn::text("hi")]));
    ask(&server, "a", "go");
    server.wait_for_requests(2, Duration::from_millis(10));
}

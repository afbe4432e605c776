//! A message that is read in one pass says what it says when it is read patiently.

use std::path::Path;

use ralph_core::agent::AgentEvent;

use crate::agents::Driver;
use crate::agents::claude::driver::ClaudeDriver;
use crate::agents::claude::message::Brought;
use crate::process::LineEffect;

/// Lines that are nearly as we know them.
const NEARLY: &[&str] = &[
    r#"{"type":"assistant","message":{"content":[{"type":"text","text":"\ud83d\ude00 \u00e9\/\b\f\r\t\"\\"}]}}"#,
    r#"{"type":"assistant","message":{"content":[{"type":"text","text":"lone \ud83d"}]}}"#,
    r#"{"type":"assistant","message":{"content":[{"type":"text","text":"lone \ude00 \ud83dx"}]}}"#,
    r#"{"type":"assistant","message":{"content":[{"type":"text","text":null},{"text":"no type"}]}}"#,
    r#"{"type":"assistant","message":{"content":[{"type":"t\u0065xt","text":"a"},{"type":"text","te\u0078t":"b"}]}}"#,
    r#"{"type":"assistant","message":{"content":[{"type":"text","text":7},{"type":"text","text":"a"}]}}"#,
    r#"{"type":"assistant","message":{"content":"a text","model":null,"id":[1]}}"#,
    r#"{"type":"assistant","message":{"id":"m","usage":{"input_tokens":-1}}}"#,
    r#"{"type":"assistant","message":{"id":"m","usage":{"input_tokens":1e3,"output_tokens":99999999999999999999}}}"#,
    r#"{"type":"assistant","message":{"id":"m","usage":{"input_tokens":1,"inputTokens":2}}}"#,
    r#"{"type":"assistant","message":{"id":"m","usage":null}}"#,
    r#"{"type":"assistant","message":{"id":"m","id":"n"}}"#,
    r#"{"type":"assistant","message":{"id":"m"},"type":"user"}"#,
    r#"{"type":"assistant","message":{"id":"m"},"message":{"id":"n"}}"#,
    r#"{"type":"assistant","message":{"id":"m"},"subtype":1,"subtype":2}"#,
    r#"{"type":"assistant","message":{"id":"m"},"error":null,"parent_tool_use_id":null}"#,
    r#"{"type":"assistant","message":{"id":"m"},"error":"overloaded"}"#,
    r#"{"type":"assistant","message":{"id":"m","model":"<synthetic>"}}"#,
    r#"{"type":"assistant","message":null}"#,
    r#"{"type":"assistant","session_id":"x"}"#,
    r#"{"type":"assistant","message":{"id":"m"}} x"#,
    r#"{"type":"assistant","message":{"id":"m",}}"#,
    r#"{"type":"assistant","message":{"n":[01,-0,0.5e+7,-1.,.5,1e]}}"#,
    r#"{"type":"assistant","message":{"n":[-0,0.5e+7,10,1E2],"b":[true,false,null]}}"#,
    r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":null}]}}"#,
    r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":["ls"]}]}}"#,
    r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"x":1, "y" : {}}}]}}"#,
    r#"{"type":"assistant","message":{"content":[{"type":"tool_use","input":{"query":"q","path":"\ud83d","pattern":3}}]}}"#,
    r#"{"type":"assistant","message":{"content":[{"type":"tool_use","input":{"path":"a","path":"b"}}]}}"#,
    r#"{"type":"assistant","message":{"content":[{"type":"tool_use","input":{"comm\u0061nd":"a"}}]}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":"yes","content":"a"}]}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":{}}]}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"text","text":"b\n"}]}]}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"a"},{"text":"b"}]}]}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"a","content":1,"content":2}]}]}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","content":[1]}]}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","content":[]}]}}"#,
    r#"{"type":"user","message":"hello"}"#,
];

type Reading = (LineEffect, Vec<AgentEvent>, String);

fn read(
    line: &[u8],
    by: impl FnOnce(&mut ClaudeDriver, &mut Vec<AgentEvent>) -> LineEffect,
) -> Reading {
    let (mut driver, mut events) = (ClaudeDriver::default(), Vec::new());
    // To tell a line of a running session from one after its end.
    driver.line(
        br#"{"type":"result","subtype":"success","result":"x"}"#,
        false,
        &mut vec![],
        &mut vec![],
    );
    let heard = by(&mut driver, &mut events);
    assert!(!line.is_empty());
    (heard, events, format!("{driver:?}"))
}

#[track_caller]
fn agree(line: &[u8]) {
    let line = line.trim_ascii();
    // Parts of messages are not looked into at all.
    if line.is_empty() || line.starts_with(br#"{"type":"stream_event""#) {
        return;
    }
    let quickly = read(line, |driver, events| driver.line(line, false, events, &mut vec![]));
    let leniently = read(line, |driver, events| driver.leniently(line, false, events));
    assert_eq!(quickly, leniently, "{}", String::from_utf8_lossy(line));
}

fn recorded() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/transcripts/claude");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let lines = files.flat_map(|file| {
        let bytes = std::fs::read(file).unwrap();
        bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>()
    });
    lines.collect()
}

fn is_message(line: &[u8]) -> bool {
    line.starts_with(br#"{"type":"assistant","#) || line.starts_with(br#"{"type":"user","#)
}

#[test]
fn one_pass_and_the_patient_reading_agree_on_every_recorded_line() {
    for line in recorded() {
        agree(&line);
    }
}

#[test]
fn one_pass_and_the_patient_reading_agree_on_lines_that_are_nearly_known() {
    for line in NEARLY {
        agree(line.as_bytes());
    }
    let long = "a line of a long file\\n".repeat(1000);
    for end in ["", "\\u00e9", "\\ud83d", "é"] {
        let start = r#"{"type":"user","message":{"content":[{"type":"tool_result","content":""#;
        agree(format!(r#"{start}{long}{end}"}}]}}}}"#).as_bytes());
    }
    for depth in [10, 90, 99, 100, 120, 200] {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        agree(format!(r#"{{"type":"user","message":{{"id":"m"}},"x":{open}{close}}}"#).as_bytes());
    }
}

#[test]
fn one_pass_and_the_patient_reading_agree_on_damaged_lines() {
    const BYTES: &[u8] = b"\"\\{}[],:0-.eu \t\x00\x1f\x7f\xc3\xa9\xff";
    let mut rng = fastrand::Rng::with_seed(11);
    let recorded: Vec<Vec<u8>> = recorded().into_iter().filter(|line| is_message(line)).collect();
    let nearly = NEARLY.iter().map(|line| line.as_bytes().to_vec());
    let all: Vec<Vec<u8>> = recorded.into_iter().chain(nearly).collect();
    let mut taken = 0;
    for _ in 0..20_000 {
        let mut line = all[rng.usize(..all.len())].clone();
        for _ in 0..rng.usize(1..3) {
            let at = rng.usize(..line.len());
            let to = (at + rng.usize(..40)).min(line.len());
            match rng.u8(..6) {
                0 => drop(line.drain(at..to)),
                1 => line.insert(at, BYTES[rng.usize(..BYTES.len())]),
                2 => line[at] = BYTES[rng.usize(..BYTES.len())],
                3 => line.truncate(to.max(1)),
                4 => line[at] = rng.u8(..),
                _ => {
                    let copy = line[at..to].to_vec();
                    drop(line.splice(at..at, copy));
                }
            }
            if line.is_empty() {
                break;
            }
        }
        taken += usize::from(Brought::read(line.trim_ascii()).is_some());
        agree(&line);
    }
    assert!(taken > 1000, "only {taken} of the damaged lines were read in one pass");
}

#[test]
fn nearly_all_recorded_messages_are_read_in_one_pass() {
    let messages: Vec<Vec<u8>> = recorded().into_iter().filter(|line| is_message(line)).collect();
    let taken = messages.iter().filter(|line| Brought::read(line).is_some()).count();
    assert!(taken * 10 >= messages.len() * 8, "{taken} of {}", messages.len());
}

#[test]
fn who_is_not_heard_ends_the_same() {
    for line in recorded() {
        let heard = read(b"x", |driver, events| driver.line(&line, false, events, &mut vec![]));
        let unheard = read(b"x", |driver, events| {
            driver.set_display_active(false);
            let heard = driver.line(&line, false, events, &mut vec![]);
            driver.set_display_active(true);
            heard
        });
        assert_eq!((heard.0, heard.2), (unheard.0, unheard.2));
    }
}

//! The lines that Claude Code reads from stdin in a session that can be talked to.
//!
//! Facts about the real CLI, checked with 2.1.325:
//!
//! - It repeats each line that it takes up, with `isReplay` and the `uuid` of the line.
//! - A line that comes during a turn reaches the model with its next request, so after the tool call that runs. The
//!   turn then has one result, not two.
//! - A line that begins with a slash, after white space too, waits until the turn has ended: it may be a command.
//! - Lines that were sent before stdin was closed are still worked on, in turns of their own with results of their own.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::json;

/// The beginning of the ids of lines with a text of the user; the number of the line follows.
const ID: &str = "72616c70-6800-4000-8000-";

/// The line with the prompt.
pub(super) fn first(prompt: &str) -> Vec<u8> {
    line(json!({ "type": "user", "message": { "role": "user", "content": prompt } }))
}

/// The line that ends the turn which runs.
pub(super) fn interrupt() -> Vec<u8> {
    let request = json!({ "subtype": "interrupt" });
    line(json!({ "type": "control_request", "request_id": "interrupt", "request": request }))
}

fn line(value: serde_json::Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Texts of the user that the CLI has not taken up, in their order.
#[derive(Debug, Default)]
pub(super) struct Said {
    count: u64,
    waiting: VecDeque<(String, String)>,
}

impl Said {
    /// The line with this text.
    pub(super) fn say(&mut self, text: &str) -> Vec<u8> {
        self.count += 1;
        let id = format!("{ID}{:012}", self.count);
        let content = match text.trim_start().starts_with('/') {
            true => format!("The user says: {text}"),
            false => text.to_owned(),
        };
        let message = json!({ "role": "user", "content": content });
        let said = line(json!({ "type": "user", "uuid": id, "message": message }));
        self.waiting.push_back((id, text.to_owned()));
        said
    }

    /// The text of a line that the CLI repeats: it has arrived.
    pub(super) fn repeated(&mut self, line: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Repeated<'a> {
            #[serde(borrow)]
            uuid: Cow<'a, str>,
        }
        let Repeated { uuid } = serde_json::from_str(line).ok()?;
        let at = self.waiting.iter().position(|(known, _)| *known == uuid)?;
        self.waiting.remove(at).map(|(_, text)| text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_arrived_when_its_line_is_repeated() {
        let mut said = Said::default();
        let lines = ["first", "second\nline"].map(|text| said.say(text));
        assert!(lines.iter().all(|line| line.iter().filter(|byte| **byte == b'\n').count() == 1));
        let [first, second] = lines.map(|line| String::from_utf8(line).unwrap());
        assert_eq!(said.repeated(r#"{"uuid":"another"}"#), None);
        assert_eq!(said.repeated(&second).as_deref(), Some("second\nline"));
        assert_eq!(said.repeated(&first).as_deref(), Some("first"));
        assert_eq!(said.repeated(&first), None);
    }

    #[test]
    fn a_text_is_never_a_command_of_the_cli() {
        let mut said = Said::default();
        for (text, content) in [
            ("/clear", "The user says: /clear"),
            ("\n /etc is wrong", "The user says: \n /etc is wrong"),
            ("do /clear", "do /clear"),
        ] {
            assert_eq!(read(&said.say(text))["message"]["content"], content);
        }
    }

    fn read(line: &[u8]) -> serde_json::Value {
        serde_json::from_slice(line).unwrap()
    }
}

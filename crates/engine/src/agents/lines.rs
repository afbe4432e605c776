//! The lines of an agent that prints one JSON event on each: which are events, and what it means if none was.
//! Which events there are is the business of each decoder.

use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd};
use serde_json::Value;

use super::text::one_line;
use super::unfinished::unfinished;

/// How much of a tool's arguments is shown, in characters.
const MAX_INPUT: usize = 500;
/// How much of a tool's result is shown, in bytes.
const MAX_RESULT: usize = 4 << 10;

/// Counts lines by what they were.
#[derive(Debug, Default)]
pub(super) struct Lines {
    events: u64,
    /// Of these, such as this version does not know.
    unknown: u64,
    /// Lines that are not events.
    unreadable: u64,
    cut: u64,
}

impl Lines {
    /// The event of a line. Of a line that was cut, the beginning is not looked into: which fields are missing is
    /// unknown.
    pub(super) fn event(&mut self, line: &[u8], cut: bool) -> Option<Value> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        if cut {
            self.cut += 1;
            return None;
        }
        let event = serde_json::from_str::<Value>(&String::from_utf8_lossy(line)).ok();
        let event = event.filter(|event| event["type"].is_string());
        match event {
            Some(_) => self.events += 1,
            None => self.unreadable += 1,
        }
        event
    }

    pub(super) fn unknown(&mut self, kind: &str, events: &mut Vec<AgentEvent>) {
        self.unknown += 1;
        events.push(AgentEvent::Unknown { kind: one_line(kind, 60) });
    }

    /// The class of a session without a result, and a sentence for users.
    pub(super) fn unfinished(&self, end: &ProcessEnd, stderr_tail: &str) -> (EndClass, String) {
        let (class, mut sentence) = unfinished(end, stderr_tail);
        if *end != (ProcessEnd::Exited { code: 0 }) {
            return (class, sentence);
        }
        let missed = self.cut + self.unreadable;
        if self.events == self.unknown {
            return match missed + self.unknown {
                0 => (EndClass::Empty, "printed nothing".to_owned()),
                _ => (EndClass::Malformed, "printed what this agent does not print".to_owned()),
            };
        }
        if missed > 0 {
            sentence.push_str(&format!("; {missed} lines could not be parsed"));
        }
        // The result may have been the line that was too long.
        let class = if self.cut > 0 { EndClass::Malformed } else { class };
        (class, sentence)
    }
}

/// The text of a field; empty where it has none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// What a tool is called with: the argument that says most, or all of them.
pub(super) fn input(arguments: &Value, main: &[&str]) -> String {
    let named = main.iter().find_map(|name| arguments[*name].as_str());
    match named.or(arguments.as_str()) {
        Some(text) => one_line(text, MAX_INPUT),
        None if arguments.is_null() => String::new(),
        None => one_line(&arguments.to_string(), MAX_INPUT),
    }
}

/// The beginning of what a tool returned.
pub(super) fn beginning(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_RESULT)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_prints_no_events_is_not_the_agent() {
        let exited = ProcessEnd::Exited { code: 0 };
        let class = |lines: &[(&[u8], bool)], end: &ProcessEnd| {
            let mut read = Lines::default();
            lines.iter().for_each(|(line, cut)| drop(read.event(line, *cut)));
            read.unfinished(end, "").0
        };
        let event = br#"{"type":"x"}"#.as_slice();
        for (lines, expected) in [
            (&[][..], EndClass::Empty),
            (&[(b"  ".as_slice(), false)], EndClass::Empty),
            (&[(b"hello", false)], EndClass::Malformed),
            (&[(b"{\"kind\":1}", false)], EndClass::Malformed),
            (&[(b"\xff\xfe{", false)], EndClass::Malformed),
            (&[(event, false)], EndClass::Crash),
            (&[(event, false), (b"hello", false)], EndClass::Crash),
            (&[(event, false), (event, true)], EndClass::Malformed),
        ] {
            assert_eq!(class(lines, &exited), expected, "{lines:?}");
        }
        assert_eq!(class(&[(b"hello", false)], &ProcessEnd::Exited { code: 2 }), EndClass::Crash);
    }

    #[test]
    fn the_argument_that_says_most_is_shown() {
        let arguments = serde_json::json!({"description": "d", "command": "ls\n -l"});
        assert_eq!(input(&arguments, &["command", "description"]), "ls -l");
        assert_eq!(input(&serde_json::json!({"n": 1}), &["command"]), r#"{"n":1}"#);
        assert_eq!(input(&Value::Null, &["command"]), "");
        assert_eq!(beginning(&"ä".repeat(MAX_RESULT)).len(), MAX_RESULT);
    }
}

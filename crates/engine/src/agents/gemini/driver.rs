//! Reads the stream of events of one Gemini CLI session, and classifies its end.
//!
//! Gemini CLI reports an error of its model as one text, `[API Error: …]`, with the JSON body of the answer in it, and
//! as the exit code: the HTTP status modulo 256. Both are read; the words are shown and not interpreted, except for
//! `Suggested retry after N s`, which the CLI always words the same.

use ralph_core::Timestamp;
use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd, Usage};
use serde_json::Value;

use crate::agents::Driver;
use crate::agents::lines::{Lines, beginning, count, input, text};
use crate::agents::provider_error::ProviderError;
use crate::agents::text::one_line;
use crate::process::LineEffect;

/// The longest sentence that is passed on, in characters.
const MAX_DETAIL: usize = 600;
const MAIN_ARGUMENTS: [&str; 7] =
    ["command", "file_path", "dir_path", "pattern", "query", "prompt", "description"];
/// From this wait on, in milliseconds, a limit is a usage window.
const WINDOW: u64 = 10 * 60 * 1000;

#[derive(Debug, Default)]
pub(super) struct GeminiDriver {
    /// The text of messages is not needed.
    unheard: bool,
    lines: Lines,
    /// What the model said since the last tool, which comes in pieces.
    text: String,
    model: Option<String>,
    usage: Usage,
    denied: Vec<String>,
    /// The names of tools that run, by their ids.
    open: Vec<(String, String)>,
    /// An error event, which a result without one leaves to explain the end.
    warning: String,
    outcome: Option<Outcome>,
}

#[derive(Debug)]
enum Outcome {
    Completed,
    Failed(Failure),
}

#[derive(Debug, Default)]
struct Failure {
    message: String,
    at: Option<Timestamp>,
    /// The result names no error: the stream of the model ended early, again and again.
    is_stream: bool,
}

impl Driver for GeminiDriver {
    fn line(
        &mut self,
        line: &[u8],
        cut: bool,
        events: &mut Vec<AgentEvent>,
        _replies: &mut Vec<u8>,
    ) -> LineEffect {
        let Some(event) = self.lines.event(line, cut) else { return LineEffect::Going };
        match text(&event["type"]) {
            "init" => {
                self.model = event["model"].as_str().map(str::to_owned);
                events.push(AgentEvent::Started { model: self.model.clone(), version: None });
                LineEffect::Going
            }
            "message" => {
                if text(&event["role"]) != "assistant" {
                    return LineEffect::Going;
                }
                let piece = text(&event["content"]);
                self.text.push_str(piece);
                if !self.unheard && !piece.is_empty() {
                    events.push(AgentEvent::Text { text: piece.to_owned() });
                }
                self.works()
            }
            "tool_use" => {
                self.tool_starts(&event, events);
                self.works()
            }
            "tool_result" => {
                self.tool_ends(&event, events);
                self.works()
            }
            // Warnings; what ends a session is its result.
            "error" => {
                self.warning = text(&event["message"]).to_owned();
                LineEffect::Going
            }
            "result" => {
                self.result(&event, events);
                LineEffect::Result
            }
            kind => {
                self.lines.unknown(kind, events);
                LineEffect::Going
            }
        }
    }

    fn set_display_active(&mut self, is_active: bool) {
        self.unheard = !is_active;
    }

    fn end(self: Box<Self>, end: &ProcessEnd, stderr_tail: &str) -> SessionEnd {
        let (class, detail, resets_at) = self.judged(end, stderr_tail);
        let text = if class == EndClass::Completed { self.text } else { String::new() };
        SessionEnd {
            text,
            usage: self.usage,
            model: self.model,
            denied: self.denied,
            resets_at,
            ..SessionEnd::of(class, detail)
        }
    }
}

impl GeminiDriver {
    /// The session does something: an earlier result is not its last word.
    fn works(&mut self) -> LineEffect {
        match self.outcome.take() {
            Some(_) => LineEffect::Resumed,
            None => LineEffect::Going,
        }
    }

    fn tool_starts(&mut self, event: &Value, events: &mut Vec<AgentEvent>) {
        // What was said before was not the final text.
        self.text.clear();
        let (id, name) = (text(&event["tool_id"]), text(&event["tool_name"]));
        self.open.push((id.to_owned(), name.to_owned()));
        if !self.unheard {
            events.push(AgentEvent::ToolStarted {
                id: id.to_owned(),
                name: name.to_owned(),
                input: input(&event["parameters"], &MAIN_ARGUMENTS),
            });
        }
    }

    fn tool_ends(&mut self, event: &Value, events: &mut Vec<AgentEvent>) {
        let id = text(&event["tool_id"]);
        let place = self.open.iter().position(|(open, _)| open == id);
        let name = place.map(|place| self.open.swap_remove(place).1).unwrap_or_default();
        // Such a tool is not there because the user would have to be asked.
        if text(&event["error"]["type"]) == "tool_not_registered" {
            if !self.denied.contains(&name) {
                self.denied.push(name.clone());
            }
            events.push(AgentEvent::Denied { tool: name });
        }
        if !self.unheard {
            events.push(AgentEvent::ToolEnded {
                id: id.to_owned(),
                is_error: text(&event["status"]) == "error",
                text: beginning(text(&event["output"])),
            });
        }
    }

    fn result(&mut self, event: &Value, events: &mut Vec<AgentEvent>) {
        let stats = &event["stats"];
        self.usage = Usage {
            // Cached ones are among them.
            input_tokens: count(&stats["input_tokens"]),
            output_tokens: count(&stats["output_tokens"]),
            ..Usage::default()
        };
        self.outcome = Some(match text(&event["status"]) {
            "success" => Outcome::Completed,
            _ => {
                let message = text(&event["error"]["message"]);
                let message = if message.is_empty() { &self.warning } else { message };
                let at = Timestamp::parse(text(&event["timestamp"]));
                let is_stream = event.get("error").is_none();
                Outcome::Failed(Failure { message: message.to_owned(), at, is_stream })
            }
        });
        let duration_ms = stats["duration_ms"].as_u64();
        events.push(AgentEvent::Result { duration_ms, usage: self.usage });
    }

    /// The class, a sentence for users, and when a limit resets.
    fn judged(&self, end: &ProcessEnd, stderr_tail: &str) -> (EndClass, String, Option<Timestamp>) {
        let is_ours = matches!(end, ProcessEnd::NotStarted { .. } | ProcessEnd::Stopped);
        match &self.outcome {
            Some(Outcome::Completed) if !is_ours => {
                let (class, detail) = match (self.text.trim(), self.denied.as_slice()) {
                    ("", _) => (EndClass::Empty, "the agent returned no text".to_owned()),
                    (_, []) => (EndClass::Completed, String::new()),
                    (_, tools) => (EndClass::Completed, format!("refused: {}", tools.join(", "))),
                };
                (class, detail, None)
            }
            Some(Outcome::Failed(failure)) if !is_ours => failure.judged(end, stderr_tail),
            _ => {
                let (class, sentence) = self.lines.unfinished(end, stderr_tail);
                let gave_up =
                    matches!(end, ProcessEnd::Silent { .. } | ProcessEnd::TimedOut { .. });
                // It tries again without a word on stdout.
                let retried = gave_up.then(|| last_status(stderr_tail)).flatten();
                let found = of_exit(end).filter(|_| !is_ours).or(retried);
                let sentence = match http_status(end) {
                    Some(status) => format!("the model's API answered with HTTP status {status}"),
                    None => sentence,
                };
                (found.unwrap_or(class), sentence, None)
            }
        }
    }
}

impl Failure {
    fn judged(&self, end: &ProcessEnd, stderr_tail: &str) -> (EndClass, String, Option<Timestamp>) {
        let wait = retry_after(&self.message);
        let resets_at = self.at.zip(wait).map(|(at, wait)| at.plus_millis(wait));
        let class = match self.class(end) {
            EndClass::RateLimit if wait.is_some_and(|wait| wait >= WINDOW) => EndClass::UsageWindow,
            class => class,
        };
        let is_limit = matches!(class, EndClass::RateLimit | EndClass::UsageWindow);
        let detail = match self.message.as_str() {
            "" => crate::agents::text::last_words(stderr_tail),
            message => one_line(message, MAX_DETAIL),
        };
        (class, detail, resets_at.filter(|_| is_limit))
    }

    fn class(&self, end: &ProcessEnd) -> EndClass {
        let inner = self.message.strip_prefix("[API Error: ");
        let body = inner.map(|rest| rest.rfind('}').map_or(rest, |last| &rest[..=last]));
        let named = body.and_then(ProviderError::of_body).and_then(|error| error.class());
        // Without a body and a status, the connection was lost.
        let lost = || inner.map(|_| EndClass::Network);
        let usual = if self.is_stream { EndClass::Overload } else { EndClass::Crash };
        named.or_else(|| of_exit(end)).or_else(lost).unwrap_or(usual)
    }
}

/// The class of an exit code: Gemini CLI's own ones, and the HTTP status modulo 256.
fn of_exit(end: &ProcessEnd) -> Option<EndClass> {
    match *end {
        ProcessEnd::Exited { code: 41 } => Some(EndClass::Auth),
        ProcessEnd::Exited { code: 53 } => Some(EndClass::MaxTurns),
        _ => ProviderError::of_status(http_status(end)?).class(),
    }
}

/// The HTTP status that an exit code stands for.
fn http_status(end: &ProcessEnd) -> Option<u16> {
    // The supervisor takes codes from 129 on for signals where a sandbox passes them on.
    let code = match *end {
        ProcessEnd::Exited { code } => code,
        ProcessEnd::Signalled { signal } => signal + 128,
        _ => return None,
    };
    // 400 to 431; no signal that kills has a number in between that an agent gets by itself.
    (144..=175).contains(&code).then(|| u16::try_from(code + 256).ok()).flatten()
}

/// How long the provider asks to wait, in milliseconds.
fn retry_after(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("\nSuggested retry after ")?;
    let seconds: f64 = rest.split_once('s')?.0.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1000.0) as u64)
}

/// The class of the error that stderr ends with: the CLI prints it, with its status in a line of its own, before it
/// tries again.
fn last_status(stderr_tail: &str) -> Option<EndClass> {
    let fields = stderr_tail.lines().rev().map(str::trim);
    let mut fields = fields.take_while(|line| line.len() < 100 && !line.starts_with("at "));
    let status = fields.find_map(|line| line.strip_prefix("status: "))?;
    ProviderError::of_status(status.trim_end_matches(',').parse().ok()?).class()
}

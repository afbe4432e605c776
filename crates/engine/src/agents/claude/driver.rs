//! Reads the stream of events of one Claude Code session.

use std::borrow::Cow;

use ralph_core::Timestamp;
use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd, Usage};

use super::ends::{ApiError, Limits, Outcome, class};
use super::message::{Brought, By, Message, Part};
use super::stream_line::{StreamLine, get, text, totals};
use super::user_line::{self, Said};
use crate::agents::Driver;
use crate::agents::text::one_line;
use crate::agents::unfinished::unfinished;
use crate::process::{LineEffect, Tail};

/// How much of a tool's arguments is shown, in characters.
const MAX_INPUT: usize = 500;
/// How much of a tool's result is shown, in bytes.
const MAX_RESULT: usize = 4 << 10;
/// How much is kept of what a program prints that prints no events, in bytes.
const MAX_PRINTED: usize = 256 << 10;
/// How many refused tools are kept by name.
const MAX_DENIED: usize = 100;
/// Most lines of a chatty session, not worth a look: whole blocks follow.
const PARTIAL: &[u8] = br#"{"type":"stream_event""#;
/// A login that is refused is tried again like an outage, for half a minute. The second retry has shown that
/// the cause is not a token that is just being renewed.
const LOGIN_RETRIES: u32 = 2;
/// The model that error messages of the CLI itself name.
const NO_MODEL: &str = "<synthetic>";

#[derive(Debug, Default)]
pub(super) struct ClaudeDriver {
    /// The text of messages is not needed.
    unheard: bool,
    events: u64,
    /// Of these, such as this version does not know.
    unknown: u64,
    /// Lines that were JSON objects, but no events.
    strange: u64,
    /// Lines that were neither.
    unreadable: u64,
    cut: u64,
    /// What was printed, as long as there was no event.
    printed: Tail<MAX_PRINTED>,
    message: String,
    model: Option<String>,
    denied: Vec<String>,
    error: ApiError,
    limits: Limits,
    outcome: Option<Outcome>,
    /// The outcome of the session although it keeps trying.
    over: Option<Outcome>,
    said: Said,
    /// Usage from results: tokens and price of the whole session.
    reported: Usage,
    /// Usage from messages since the last result.
    since: Usage,
}

impl Driver for ClaudeDriver {
    fn line(
        &mut self,
        line: &[u8],
        cut: bool,
        events: &mut Vec<AgentEvent>,
        _replies: &mut Vec<u8>,
    ) -> LineEffect {
        let line = line.trim_ascii();
        if line.is_empty() {
            return LineEffect::Going;
        }
        if line.starts_with(PARTIAL) {
            self.events += 1;
            return self.works();
        }
        if !cut
            && let Some(brought) = Brought::read(line)
            && brought.message.model != NO_MODEL
        {
            self.events += 1;
            let heard = self.works();
            match brought.by {
                By::Assistant => self.assistant(brought.message, brought.of_subagent, events),
                By::User => self.tool_ends(brought.message, events),
            }
            return heard;
        }
        self.leniently(line, cut, events)
    }

    fn say(&mut self, text: &str) -> Option<Vec<u8>> {
        Some(self.said.say(text))
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        Some(user_line::interrupt())
    }

    fn set_display_active(&mut self, is_active: bool) {
        self.unheard = !is_active;
    }

    fn end(self: Box<Self>, end: &ProcessEnd, stderr_tail: &str) -> SessionEnd {
        let (class, text, detail) = self.judged(end, stderr_tail);
        let is_limit = matches!(class, EndClass::RateLimit | EndClass::UsageWindow);
        SessionEnd {
            class,
            text,
            detail,
            usage: self.reported.plus(self.since),
            model: self.model,
            denied: self.denied,
            resets_at: self.limits.resets_at.filter(|_| is_limit),
        }
    }
}

impl ClaudeDriver {
    pub(super) fn leniently(
        &mut self,
        line: &[u8],
        cut: bool,
        events: &mut Vec<AgentEvent>,
    ) -> LineEffect {
        let text = String::from_utf8_lossy(line);
        let parsed = if cut { None } else { serde_json::from_str::<StreamLine<'_>>(&text).ok() };
        match parsed {
            Some(parsed) => {
                self.events += 1;
                if get(parsed.is_replay) == Some(true) {
                    let arrived = self.said.repeated(&text);
                    events.extend(arrived.map(|text| AgentEvent::UserMessage { text }));
                }
                self.event(&parsed, events)
            }
            None => {
                self.other(line, &text, cut, events);
                LineEffect::Going
            }
        }
    }

    /// The session does something: an earlier result is not its last word.
    fn works(&mut self) -> LineEffect {
        match self.outcome.take() {
            Some(_) => LineEffect::Resumed,
            None => LineEffect::Going,
        }
    }

    /// A line that is not an event. Until the first event it may be the text of a program that prints no
    /// events.
    fn other(&mut self, line: &[u8], text: &str, cut: bool, events: &mut Vec<AgentEvent>) {
        if cut {
            self.cut += 1;
        } else if line.starts_with(b"{")
            && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
        {
            self.strange += 1;
            return;
        } else {
            self.unreadable += 1;
        }
        if self.events == 0 {
            self.printed.line(line);
            events.push(AgentEvent::Text { text: text.to_owned() });
        }
    }

    fn event(&mut self, line: &StreamLine<'_>, events: &mut Vec<AgentEvent>) -> LineEffect {
        let subtype = text(line.subtype).unwrap_or_default();
        let effect = match (&*line.kind, &*subtype) {
            ("assistant" | "user" | "stream_event", _) | ("system", "init" | "api_retry") => {
                self.works()
            }
            _ => LineEffect::Going,
        };
        match (&*line.kind, &*subtype) {
            ("assistant", _) => match Message::leniently(line) {
                // The CLI's own text about an error; the end of the session reports it.
                Some(message) if line.error.is_some() || message.model == NO_MODEL => {
                    self.error = ApiError::of(line);
                }
                Some(message) => {
                    self.assistant(message, line.parent_tool_use_id.is_some(), events);
                }
                None => {}
            },
            ("user", _) => {
                if let Some(message) = Message::leniently(line) {
                    self.tool_ends(message, events);
                }
            }
            ("result", _) => {
                self.result(line, events);
                return LineEffect::Result;
            }
            ("system", "init") => events.push(AgentEvent::Started {
                model: text(line.model).map(Cow::into_owned),
                version: text(line.claude_code_version).map(Cow::into_owned),
            }),
            ("system", "api_retry") => {
                self.limits.retried = true;
                events.push(AgentEvent::Retrying {
                    attempt: get(line.attempt).unwrap_or_default(),
                    delay_ms: get::<f64>(line.retry_delay_ms).unwrap_or_default() as u64,
                    status: get(line.error_status),
                    error: text(line.error).unwrap_or_default().into_owned(),
                });
                let refused = get(line.error_status) == Some(401);
                if refused && get(line.attempt) >= Some(LOGIN_RETRIES) {
                    self.over = Some(Outcome::not_logged_in(line));
                    return LineEffect::Over;
                }
            }
            ("system", "permission_denied") => {
                if let Some(tool) = text(line.tool_name) {
                    self.deny(&tool);
                    events.push(AgentEvent::Denied { tool: tool.into_owned() });
                }
            }
            ("rate_limit_event", _) => self.limit(line),
            // The many notices of the CLI about itself, and parts of messages.
            (
                "system" | "control_response" | "control_request" | "keep_alive" | "stream_event",
                _,
            ) => {}
            (kind, _) => {
                self.unknown += 1;
                events.push(AgentEvent::Unknown { kind: one_line(kind, 60) });
            }
        }
        effect
    }

    fn assistant(&mut self, message: Message<'_>, of_subagent: bool, events: &mut Vec<AgentEvent>) {
        self.error = ApiError::default();
        self.limits.retried = false;
        let (id, model) = (&*message.id, &*message.model);
        // One message comes as several lines, each with the usage of the whole.
        let is_new = id.is_empty() || self.message != id;
        if is_new {
            self.message.clear();
            self.message.push_str(id);
            self.since = self.since.plus(message.usage);
            if !of_subagent && !model.is_empty() && self.model.as_deref() != Some(model) {
                self.model = Some(model.to_owned());
            }
        }
        if self.unheard {
            return;
        }
        if is_new && !model.is_empty() {
            let usage = self.reported.plus(self.since);
            events.push(AgentEvent::Message { model: model.to_owned(), usage });
        }
        for part in message.parts() {
            match part {
                Part::Text(text) => {
                    events.push(AgentEvent::Text { text: text.text().into_owned() });
                }
                Part::Thinking(text) => {
                    let text = text.text();
                    if !text.is_empty() {
                        events.push(AgentEvent::Thinking { text: text.into_owned() });
                    }
                }
                Part::ToolUse { id, name, input } => events.push(AgentEvent::ToolStarted {
                    id: id.text().into_owned(),
                    name: name.text().into_owned(),
                    input: one_line(&input.text(), MAX_INPUT),
                }),
                Part::ToolResult { .. } | Part::Other => {}
            }
        }
    }

    fn result(&mut self, line: &StreamLine<'_>, events: &mut Vec<AgentEvent>) {
        #[derive(serde::Deserialize)]
        struct Denial {
            tool_name: String,
        }
        for denial in get::<Vec<Denial>>(line.permission_denials).unwrap_or_default() {
            self.deny(&denial.tool_name);
        }
        let (used, models) = totals(line);
        // Turns are those since the last result, unlike tokens and price.
        let turns = get::<u32>(line.num_turns);
        let turns = turns.map(|turns| turns.saturating_add(self.reported.turns.unwrap_or(0)));
        self.reported = Usage { turns: turns.or(self.reported.turns), ..used };
        self.since = Usage::default();
        if self.model.is_none() {
            self.model = models.into_iter().next();
        }
        self.outcome = Some(Outcome::of(line, &self.error));
        events.push(AgentEvent::Result {
            duration_ms: get::<f64>(line.duration_ms).map(|millis| millis as u64),
            usage: self.reported,
        });
    }

    fn limit(&mut self, line: &StreamLine<'_>) {
        #[derive(serde::Deserialize)]
        struct Info {
            status: Option<String>,
            #[serde(rename = "resetsAt")]
            resets_at: Option<f64>,
        }
        let info = get::<Info>(line.rate_limit_info).unwrap_or_else(|| Info {
            status: text(line.status).map(Cow::into_owned),
            resets_at: get(line.resets_at),
        });
        self.limits.rejected = info.status.as_deref() == Some("rejected");
        let resets_at = info.resets_at.filter(|_| self.limits.rejected);
        self.limits.resets_at =
            resets_at.map(|seconds| Timestamp::from_millis((seconds * 1000.0) as i64));
    }

    fn deny(&mut self, tool: &str) {
        if self.denied.len() < MAX_DENIED && !self.denied.iter().any(|known| known == tool) {
            self.denied.push(one_line(tool, 100));
        }
    }

    /// The class, the final text and a sentence for users.
    fn judged(&self, end: &ProcessEnd, stderr_tail: &str) -> (EndClass, String, String) {
        let none = String::new;
        let is_ours = matches!(end, ProcessEnd::NotStarted { .. } | ProcessEnd::Stopped);
        // The last result counts, however the process ended afterwards, unless ralph was asked to stop it.
        let reported = self.outcome.as_ref().or(self.over.as_ref());
        let Some(outcome) = reported.filter(|_| !is_ours) else {
            return self.without_result(end, stderr_tail);
        };
        match class(outcome, self.limits) {
            EndClass::Completed => {
                let refused = match self.denied.as_slice() {
                    [] => none(),
                    tools => format!("refused: {}", tools.join(", ")),
                };
                (EndClass::Completed, outcome.text.clone(), refused)
            }
            EndClass::Empty => (EndClass::Empty, none(), "the agent returned no text".to_owned()),
            class => (class, none(), outcome.sentence()),
        }
    }

    fn without_result(&self, end: &ProcessEnd, stderr_tail: &str) -> (EndClass, String, String) {
        let (class, mut sentence) = unfinished(end, stderr_tail);
        if *end != (ProcessEnd::Exited { code: 0 }) {
            return (class, String::new(), sentence);
        }
        if self.events == self.unknown {
            return self.without_events();
        }
        let missed = self.cut + self.strange + self.unreadable;
        if missed > 0 {
            sentence.push_str(&format!("; {missed} lines could not be parsed"));
        }
        // The result may have been the line that was too long.
        let class = if self.cut > 0 { EndClass::Malformed } else { class };
        (class, String::new(), sentence)
    }

    /// It ended well and is not who we thought.
    fn without_events(&self) -> (EndClass, String, String) {
        let text = String::from_utf8_lossy(self.printed.bytes()).trim().to_owned();
        let (class, sentence) = match text.is_empty() {
            _ if self.strange + self.unknown > 0 => {
                (EndClass::Malformed, "printed JSON that this agent does not print")
            }
            true => (EndClass::Empty, "printed nothing"),
            false => return (EndClass::Completed, text, String::new()),
        };
        (class, String::new(), sentence.to_owned())
    }

    fn tool_ends(&self, message: Message<'_>, events: &mut Vec<AgentEvent>) {
        if self.unheard {
            return;
        }
        for part in message.parts() {
            if let Part::ToolResult { id, is_error, text } = part {
                let text = text.beginning(MAX_RESULT);
                let text = text[..text.floor_char_boundary(MAX_RESULT)].to_owned();
                let id = id.text().into_owned();
                events.push(AgentEvent::ToolEnded { id, is_error, text });
            }
        }
    }
}

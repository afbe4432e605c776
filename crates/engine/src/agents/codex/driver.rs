//! Reads the stream of events of one Codex session.

use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd, Usage};
use serde_json::Value;

use super::ends::{class, status};
use crate::agents::Driver;
use crate::agents::lines::{Lines, beginning, count, input, text};
use crate::agents::text::one_line;
use crate::process::LineEffect;

/// The longest sentence that is passed on, in characters.
const MAX_DETAIL: usize = 600;
/// Codex tries a refused login again like an outage. The second retry has shown that the cause is not a token that is
/// just being renewed.
const LOGIN_RETRIES: u32 = 2;
/// How often Codex may report that it waits for the network. It would do so forever; ralph waits without a process.
const NETWORK_WAITS: u32 = 3;
/// How many tools may run at once; ids beyond are forgotten.
const MAX_OPEN: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct CodexDriver {
    /// The text of messages is not needed.
    unheard: bool,
    lines: Lines,
    /// The last message of the agent.
    text: String,
    usage: Usage,
    /// Tools that have started and not ended.
    open: Vec<String>,
    denied: Vec<String>,
    /// Whether Codex knows nothing about the model that it was given.
    unknown_model: bool,
    /// What Codex reports as the reason why it tries again, until the model answers.
    retrying: Option<String>,
    login_retries: u32,
    network_waits: u32,
    outcome: Option<Outcome>,
}

#[derive(Debug)]
enum Outcome {
    Completed,
    Failed(String),
    /// It keeps trying, and ralph ends it.
    Over(String),
}

impl Driver for CodexDriver {
    fn line(
        &mut self,
        line: &[u8],
        cut: bool,
        events: &mut Vec<AgentEvent>,
        _replies: &mut Vec<u8>,
    ) -> LineEffect {
        let Some(event) = self.lines.event(line, cut) else { return LineEffect::Going };
        match text(&event["type"]) {
            "thread.started" => {
                events.push(AgentEvent::Started { model: None, version: None });
                LineEffect::Going
            }
            "turn.started" => self.works(),
            kind @ ("item.started" | "item.updated" | "item.completed") => {
                self.item(&event["item"], kind, events);
                self.works()
            }
            "turn.completed" => {
                self.usage = self.usage.plus(tokens(&event["usage"]));
                self.outcome = Some(Outcome::Completed);
                events.push(AgentEvent::Result { duration_ms: None, usage: self.usage });
                LineEffect::Result
            }
            "turn.failed" => {
                self.failed(text(&event["error"]["message"]));
                events.push(AgentEvent::Result { duration_ms: None, usage: self.usage });
                LineEffect::Result
            }
            "error" => self.error(text(&event["message"]), events),
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
        let (class, detail) = self.judged(end, stderr_tail);
        let text = if class == EndClass::Completed { self.text } else { String::new() };
        SessionEnd { text, usage: self.usage, denied: self.denied, ..SessionEnd::of(class, detail) }
    }
}

impl CodexDriver {
    /// The session does something: an earlier result is not its last word.
    fn works(&mut self) -> LineEffect {
        match self.outcome.take() {
            Some(_) => LineEffect::Resumed,
            None => LineEffect::Going,
        }
    }

    fn failed(&mut self, message: &str) {
        self.outcome = Some(Outcome::Failed(message.to_owned()));
    }

    /// An error is final unless Codex says that it tries again.
    fn error(&mut self, message: &str, events: &mut Vec<AgentEvent>) -> LineEffect {
        let Some(rest) = message.strip_prefix("Reconnecting... ") else {
            self.failed(message);
            return LineEffect::Going;
        };
        let (counter, why) = rest.split_once(" (").unwrap_or((rest, ""));
        let why = why.strip_suffix(')').unwrap_or(why);
        let attempt = counter.split('/').next().and_then(|number| number.parse().ok());
        events.push(AgentEvent::Retrying {
            attempt: attempt.unwrap_or_default(),
            delay_ms: 0,
            status: status(why),
            error: one_line(why, MAX_DETAIL),
        });
        self.retrying = Some(why.to_owned());
        self.login_retries += u32::from(status(why) == Some(401));
        self.network_waits += u32::from(attempt.is_none());
        if self.login_retries >= LOGIN_RETRIES || self.network_waits >= NETWORK_WAITS {
            self.outcome = Some(Outcome::Over(why.to_owned()));
            return LineEffect::Over;
        }
        LineEffect::Going
    }

    fn item(&mut self, item: &Value, event: &str, events: &mut Vec<AgentEvent>) {
        let kind = text(&item["type"]);
        if kind == "error" {
            // A warning of Codex about itself; what ends a session is an event of its own.
            self.unknown_model |= text(&item["message"]).starts_with("Model metadata for `");
            return;
        }
        // The model has answered.
        (self.retrying, self.login_retries, self.network_waits) = (None, 0, 0);
        let is_end = event == "item.completed";
        match kind {
            "agent_message" if is_end => {
                let message = text(&item["text"]);
                self.text = message.to_owned();
                if !self.unheard {
                    events.push(AgentEvent::Text { text: self.text.clone() });
                }
            }
            "reasoning" if is_end && !self.unheard => {
                events.push(AgentEvent::Thinking { text: text(&item["text"]).to_owned() });
            }
            "agent_message" | "reasoning" | "todo_list" => {}
            "command_execution" => self.tool(item, "shell", is_end, events),
            "file_change" => self.tool(item, "apply_patch", is_end, events),
            "mcp_tool_call" => {
                let name = format!("{}.{}", text(&item["server"]), text(&item["tool"]));
                self.tool(item, &name, is_end, events);
            }
            "web_search" | "collab_tool_call" => self.tool(item, kind, is_end, events),
            kind => self.lines.unknown(kind, events),
        }
    }

    fn tool(&mut self, item: &Value, name: &str, is_end: bool, events: &mut Vec<AgentEvent>) {
        let id = text(&item["id"]);
        let status = text(&item["status"]);
        if status == "declined" && is_end {
            let known = self.denied.iter().any(|tool| tool == name);
            if !known {
                self.denied.push(name.to_owned());
            }
            events.push(AgentEvent::Denied { tool: name.to_owned() });
        }
        if self.unheard {
            return;
        }
        let opened = self.open.iter().position(|open| open == id);
        if opened.is_none() {
            let name = name.to_owned();
            let input = arguments(item);
            events.push(AgentEvent::ToolStarted { id: id.to_owned(), name, input });
        }
        match (opened, is_end) {
            (Some(place), true) => drop(self.open.swap_remove(place)),
            (None, false) if self.open.len() < MAX_OPEN => self.open.push(id.to_owned()),
            _ => {}
        }
        if is_end {
            let is_error = matches!(status, "failed" | "declined");
            let text = beginning(text(&item["aggregated_output"]));
            events.push(AgentEvent::ToolEnded { id: id.to_owned(), is_error, text });
        }
    }

    /// The class, and a sentence for users.
    fn judged(&self, end: &ProcessEnd, stderr_tail: &str) -> (EndClass, String) {
        let is_ours = matches!(end, ProcessEnd::NotStarted { .. } | ProcessEnd::Stopped);
        let gave_up = matches!(end, ProcessEnd::Silent { .. } | ProcessEnd::TimedOut { .. });
        match &self.outcome {
            _ if is_ours => self.lines.unfinished(end, stderr_tail),
            Some(Outcome::Completed) if self.text.trim().is_empty() => {
                (EndClass::Empty, "the agent returned no text".to_owned())
            }
            Some(Outcome::Completed) => {
                let refused = match self.denied.as_slice() {
                    [] => String::new(),
                    tools => format!("refused: {}", tools.join(", ")),
                };
                (EndClass::Completed, refused)
            }
            Some(Outcome::Failed(message) | Outcome::Over(message)) => {
                (self.class(message), one_line(message, MAX_DETAIL))
            }
            None => match &self.retrying {
                // It waited silently, for as long as the provider told it to.
                Some(why) if gave_up => match self.class(why) {
                    EndClass::RateLimit => (EndClass::UsageWindow, one_line(why, MAX_DETAIL)),
                    class => (class, one_line(why, MAX_DETAIL)),
                },
                _ => self.lines.unfinished(end, stderr_tail),
            },
        }
    }

    /// Of an unknown model Codex passes on only what the provider says. That Codex knows nothing of the model, and
    /// that it neither got an answer nor tried again, are signs of that.
    fn class(&self, message: &str) -> EndClass {
        let is_unknown = self.unknown_model && self.retrying.is_none() && self.text.is_empty();
        class(message).unwrap_or(match is_unknown && !message.is_empty() {
            true => EndClass::UnknownModel,
            false => EndClass::Crash,
        })
    }
}

/// Input tokens hold the cached ones, and output tokens those of thoughts.
fn tokens(usage: &Value) -> Usage {
    Usage {
        input_tokens: count(&usage["input_tokens"]),
        output_tokens: count(&usage["output_tokens"]),
        turns: Some(1),
        ..Usage::default()
    }
}

fn arguments(item: &Value) -> String {
    let Some(changes) = item["changes"].as_array() else {
        return match &item["arguments"] {
            Value::Null => input(item, &["command", "query", "prompt", "tool"]),
            arguments => input(arguments, &[]),
        };
    };
    let paths: Vec<&str> = changes.iter().map(|change| text(&change["path"])).collect();
    input(&Value::String(paths.join(" ")), &[])
}

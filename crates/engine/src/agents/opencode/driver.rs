//! Reads the stream of events of one opencode session, and classifies its end.
//!
//! There is no event for the end of a session. It is complete when its last step stopped by itself. While opencode
//! tries a failed request again it prints nothing.

use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd, Usage};
use serde_json::Value;

use crate::agents::lines::{Lines, beginning, count, input, text};
use crate::agents::provider_error::ProviderError;
use crate::agents::text::one_line;
use crate::agents::{Driver, micro_usd};
use crate::process::LineEffect;

/// The longest sentence that is passed on, in characters.
const MAX_DETAIL: usize = 600;
const MAIN_ARGUMENTS: [&str; 7] =
    ["command", "filePath", "pattern", "path", "url", "query", "description"];
/// How often the conversation may be too long before a tool has run in between. opencode would shorten it and try again
/// forever.
const OVERFLOWS: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct OpencodeDriver {
    /// The text of messages is not needed.
    unheard: bool,
    lines: Lines,
    /// What the model said since the last tool.
    text: String,
    usage: Usage,
    dollars: f64,
    denied: Vec<String>,
    /// A step has started and not ended.
    in_step: bool,
    retries: u32,
    overflows: u32,
    outcome: Option<Outcome>,
}

#[derive(Debug)]
enum Outcome {
    /// The last step ended; why.
    Step(String),
    Failed(EndClass, String),
}

impl Driver for OpencodeDriver {
    fn line(
        &mut self,
        line: &[u8],
        cut: bool,
        events: &mut Vec<AgentEvent>,
        _replies: &mut Vec<u8>,
    ) -> LineEffect {
        let Some(event) = self.lines.event(line, cut) else { return LineEffect::Going };
        if self.overflows >= OVERFLOWS {
            // Its end is decided, whatever it still prints.
            return LineEffect::Over;
        }
        let part = &event["part"];
        match text(&event["type"]) {
            "step_start" => self.step_starts(events),
            "step_finish" => self.step_ends(part, events),
            "text" => self.says(part, events),
            "reasoning" if self.unheard => {}
            "reasoning" => {
                events.push(AgentEvent::Thinking { text: text(&part["text"]).to_owned() });
            }
            "tool_use" => self.tool(part, events),
            "error" => return self.fails(&event["error"]),
            kind => self.lines.unknown(kind, events),
        }
        LineEffect::Going
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

impl OpencodeDriver {
    fn step_starts(&mut self, events: &mut Vec<AgentEvent>) {
        self.outcome = None;
        if self.in_step {
            // The stream broke off, and the request was sent again.
            self.retries += 1;
            events.push(AgentEvent::Retrying {
                attempt: self.retries,
                delay_ms: 0,
                status: None,
                error: "the answer of the model broke off".to_owned(),
            });
        }
        self.in_step = true;
    }

    fn step_ends(&mut self, part: &Value, events: &mut Vec<AgentEvent>) {
        (self.in_step, self.retries) = (false, 0);
        let (tokens, cache) = (&part["tokens"], &part["tokens"]["cache"]);
        let cached = count(&cache["read"]).saturating_add(count(&cache["write"]));
        self.dollars += part["cost"].as_f64().unwrap_or_default().max(0.0);
        self.usage = Usage {
            // A price of nothing is one that opencode does not know.
            cost_micro_usd: micro_usd(self.dollars).filter(|cost| *cost > 0),
            ..self.usage.plus(Usage {
                input_tokens: count(&tokens["input"]).saturating_add(cached),
                output_tokens: count(&tokens["output"]).saturating_add(count(&tokens["reasoning"])),
                turns: Some(1),
                requests: Some(1),
                ..Usage::default()
            })
        };
        let reason = text(&part["reason"]);
        self.outcome = Some(Outcome::Step(reason.to_owned()));
        if reason == "stop" {
            events.push(AgentEvent::Result { duration_ms: None, usage: self.usage });
        }
    }

    fn says(&mut self, part: &Value, events: &mut Vec<AgentEvent>) {
        // What opencode says to itself is not a text of the model.
        if part["synthetic"] == true {
            return;
        }
        let words = text(&part["text"]);
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(words);
        if !self.unheard {
            events.push(AgentEvent::Text { text: words.to_owned() });
        }
    }

    /// A tool is reported when it has ended.
    fn tool(&mut self, part: &Value, events: &mut Vec<AgentEvent>) {
        self.text.clear();
        self.overflows = 0;
        let (id, state) = (text(&part["callID"]), &part["state"]);
        let mut name = text(&part["tool"]);
        let is_denied = name == "invalid";
        if is_denied {
            // The model called a tool that is not there.
            name = state["input"]["tool"].as_str().unwrap_or(name);
            if !self.denied.iter().any(|known| known == name) {
                self.denied.push(one_line(name, 100));
            }
            events.push(AgentEvent::Denied { tool: one_line(name, 100) });
        }
        if self.unheard {
            return;
        }
        events.push(AgentEvent::ToolStarted {
            id: id.to_owned(),
            name: name.to_owned(),
            input: input(&state["input"], &MAIN_ARGUMENTS),
        });
        let failed = state["metadata"]["exit"].as_i64().is_some_and(|code| code != 0);
        let output = state["output"].as_str().unwrap_or_else(|| text(&state["error"]));
        events.push(AgentEvent::ToolEnded {
            id: id.to_owned(),
            is_error: is_denied || failed || text(&state["status"]) == "error",
            text: beginning(output),
        });
    }

    fn fails(&mut self, error: &Value) -> LineEffect {
        let data = &error["data"];
        let message = text(&data["message"]);
        let class = class(text(&error["name"]), data, message);
        self.outcome = Some(Outcome::Failed(class, one_line(message, MAX_DETAIL)));
        if class == EndClass::TooLong {
            self.overflows += 1;
            if self.overflows >= OVERFLOWS {
                return LineEffect::Over;
            }
        }
        LineEffect::Going
    }

    /// The class, and a sentence for users.
    fn judged(&self, end: &ProcessEnd, stderr_tail: &str) -> (EndClass, String) {
        let is_ours = matches!(end, ProcessEnd::NotStarted { .. } | ProcessEnd::Stopped);
        match &self.outcome {
            Some(Outcome::Failed(class, message)) if !is_ours => (*class, message.clone()),
            Some(Outcome::Step(reason)) if !is_ours => match reason.as_str() {
                "stop" if self.text.trim().is_empty() => {
                    (EndClass::Empty, "the agent returned no text".to_owned())
                }
                "stop" => {
                    let refused = match self.denied.as_slice() {
                        [] => String::new(),
                        tools => format!("refused: {}", tools.join(", ")),
                    };
                    (EndClass::Completed, refused)
                }
                "length" => {
                    (EndClass::MaxTurns, "the answer reached its longest length".to_owned())
                }
                "content-filter" => {
                    (EndClass::Refusal, "the provider withheld the answer".to_owned())
                }
                _ => self.lines.unfinished(end, stderr_tail),
            },
            _ => self.lines.unfinished(end, stderr_tail),
        }
    }
}

fn class(name: &str, data: &Value, message: &str) -> EndClass {
    let of_body = |body: &Value| ProviderError::of_body(text(body)).unwrap_or_default();
    let error = match data["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok()) {
        Some(status) => ProviderError::of_status(status).plus(of_body(&data["responseBody"])),
        None => of_body(&data["responseBody"]).plus(of_body(&data["message"])),
    };
    match name {
        "ContextOverflowError" => EndClass::TooLong,
        "ProviderAuthError" => EndClass::Auth,
        "MessageOutputLengthError" => EndClass::MaxTurns,
        "ContentFilterError" => EndClass::Refusal,
        // Without a status there was no answer.
        "APIError" => error.class().unwrap_or(EndClass::Network),
        _ => error.class().unwrap_or(match message {
            _ if name == "ProviderModelNotFoundError" => EndClass::UnknownModel,
            _ => EndClass::Crash,
        }),
    }
}

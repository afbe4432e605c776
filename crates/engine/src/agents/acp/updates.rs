//! What the agent reports of its turn by `session/update`: text, thoughts, tool calls, and what they cost.

use std::collections::HashMap;

use ralph_core::agent::{AgentEvent, EndClass};
use ralph_core::text::tail;
use serde::Deserialize;
use serde_json::Value;

use super::ends::Outcome;
use crate::agents::codex;
use crate::agents::micro_usd;
use crate::agents::text::one_line;

/// How much of a tool's arguments is shown, in characters.
const MAX_INPUT: usize = 500;
/// How much of a tool's result is shown, in bytes.
const MAX_RESULT: usize = 4 << 10;
/// How much of the text since the last tool call is kept, in bytes.
const MAX_TEXT: usize = 256 << 10;
/// How many tool calls may be under way at once.
const MAX_CALLS: usize = 1000;

/// The arguments that say most, by the names that agents give them.
const TELLING: [&str; 9] = [
    "command",
    "file_path",
    "filePath",
    "path",
    "pattern",
    "query",
    "url",
    "prompt",
    "description",
];

/// Updates that say nothing about the turn.
const NOTICES: [&str; 7] = [
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "config_options_update",
    "session_info_update",
    "user_message_chunk",
    "plan",
];

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Update {
    session_update: String,
    message_id: Option<String>,
    content: Value,
    cost: Option<Cost>,
    #[serde(rename = "_meta")]
    meta: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cost {
    amount: f64,
    currency: String,
}

/// A tool call that has not ended.
#[derive(Debug, Default)]
struct Call {
    is_reported: bool,
    name: String,
    title: String,
    input: Value,
}

/// What is known of the turn that runs.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The agent's words since its last tool call.
    pub(super) text: String,
    message: Option<String>,
    calls: HashMap<String, Call>,
    /// The adapter of Codex says that Codex failed, and then, as a message, why.
    codex_failed: bool,
    failure: String,
    /// What the session has cost so far.
    pub(super) cost_micro_usd: Option<u64>,
    pub(super) model: Option<String>,
    /// Events of messages are not needed.
    pub(super) is_unheard: bool,
}

impl Turn {
    /// Another turn of the same session begins.
    pub(super) fn begin(&mut self) {
        self.text.clear();
        self.message = None;
        self.calls.clear();
        self.codex_failed = false;
        self.failure.clear();
    }

    /// Why the turn failed, where its end does not say that it did.
    pub(super) fn failure(&self) -> Option<Outcome> {
        let class = || codex::error_class(&self.failure).unwrap_or(EndClass::Crash);
        self.codex_failed.then(|| Outcome::new(class(), &self.failure))
    }

    /// Takes the parameters of a `session/update`.
    pub(super) fn update(&mut self, params: &Value, events: &mut Vec<AgentEvent>) {
        let raw = &params["update"];
        let update = Update::deserialize(raw).unwrap_or_default();
        if let Some(model) = update.meta["_claude/model"].as_str() {
            self.model = Some(model.to_owned());
        }
        if let Some(status) = update.meta["codex"]["threadStatus"]["type"].as_str() {
            self.codex_failed = status == "systemError";
        }
        match update.session_update.as_str() {
            "agent_message_chunk" if self.codex_failed => {
                self.failure.push_str(&text_of(&update.content));
            }
            "agent_message_chunk" => self.words(&update, events),
            "agent_thought_chunk" => {
                let text = text_of(&update.content);
                if !text.is_empty() {
                    self.event(AgentEvent::Thinking { text }, events);
                }
            }
            "tool_call" | "tool_call_update" => self.tool_call(raw, events),
            "usage_update" => {
                let price = update.cost.filter(|cost| cost.currency == "USD");
                self.cost_micro_usd =
                    price.and_then(|cost| micro_usd(cost.amount)).or(self.cost_micro_usd);
            }
            notice if NOTICES.contains(&notice) => {}
            kind => events.push(AgentEvent::Unknown { kind: one_line(kind, 60) }),
        }
    }

    fn event(&self, event: AgentEvent, events: &mut Vec<AgentEvent>) {
        if !self.is_unheard {
            events.push(event);
        }
    }

    fn words(&mut self, update: &Update, events: &mut Vec<AgentEvent>) {
        let mut text = text_of(&update.content);
        if self.message != update.message_id {
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                text.insert_str(0, "\n\n");
            }
            self.message.clone_from(&update.message_id);
        }
        self.text.push_str(&text);
        // The end is what counts: a signal stands there.
        if self.text.len() > 2 * MAX_TEXT {
            self.text = tail(&self.text, MAX_TEXT);
        }
        if !text.is_empty() {
            self.event(AgentEvent::Text { text }, events);
        }
    }

    /// A tool call as it is reported, or as permission is asked for it.
    pub(super) fn tool_call(&mut self, raw: &Value, events: &mut Vec<AgentEvent>) {
        let Some(id) = raw["toolCallId"].as_str() else { return };
        let is_new = !self.calls.contains_key(id);
        let status = raw["status"].as_str().unwrap_or_default();
        let has_ended = matches!(status, "completed" | "failed");
        if is_new && raw["status"].is_null() && raw["title"].is_null() {
            // More about a call that has ended.
            return;
        }
        if is_new && self.calls.len() >= MAX_CALLS {
            self.calls.clear();
        }
        if is_new {
            self.text.clear();
        }
        let call = self.calls.entry(id.to_owned()).or_default();
        call.learn(raw);
        let is_told = call.input.as_object().is_some_and(|input| !input.is_empty());
        let must_show = has_ended || status == "in_progress" || is_told;
        if must_show && !std::mem::replace(&mut call.is_reported, true) {
            let (name, input) = (call.name.clone(), one_line(&call.shown(), MAX_INPUT));
            self.event(AgentEvent::ToolStarted { id: id.to_owned(), name, input }, events);
        }
        if has_ended {
            self.calls.remove(id);
            let text = result_of(raw);
            let text = text[..text.floor_char_boundary(MAX_RESULT)].to_owned();
            let is_error = status == "failed";
            self.event(AgentEvent::ToolEnded { id: id.to_owned(), is_error, text }, events);
        }
    }
}

impl Call {
    fn learn(&mut self, raw: &Value) {
        let text = |field: &str| raw[field].as_str().filter(|text| !text.is_empty());
        // The best name comes first: the kind is the protocol's own, and always there at the beginning.
        if self.name.is_empty() || raw["name"].is_string() {
            let name = text("name").or(text("kind")).or(text("title"));
            name.into_iter().for_each(|name| self.name = one_line(name, 100));
        }
        text("title").into_iter().for_each(|title| self.title = title.to_owned());
        if raw["rawInput"].as_object().is_some_and(|input| !input.is_empty()) {
            self.input = raw["rawInput"].clone();
        }
    }

    /// For users: its most telling argument, else its title.
    fn shown(&self) -> String {
        let telling = TELLING.iter().find_map(|name| self.input[*name].as_str());
        telling.unwrap_or(&self.title).to_owned()
    }
}

/// The name of the tool that permission is asked for.
pub(super) fn tool_name(tool_call: &Value) -> String {
    let fields = ["name", "kind", "title"].into_iter();
    let name = fields.filter_map(|field| tool_call[field].as_str()).find(|name| !name.is_empty());
    one_line(name.unwrap_or("a tool"), 100)
}

/// The text of a block of content.
fn text_of(content: &Value) -> String {
    content["text"].as_str().unwrap_or_default().to_owned()
}

/// What a tool call returned, as text.
fn result_of(raw: &Value) -> String {
    let output = &raw["rawOutput"];
    let known = output.as_str().or(output["output"].as_str()).or(output["error"].as_str());
    if let Some(known) = known {
        return known.to_owned();
    }
    let blocks = raw["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<String> = blocks
        .iter()
        .map(|block| text_of(&block["content"]))
        .filter(|text| !text.is_empty())
        .collect();
    texts.join("\n")
}

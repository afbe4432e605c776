//! The course of a session: initialize, open, choose mode and model, prompt, end. Whatever the agent sends, in whatever
//! order, is answered or ignored; only an answer to something that ralph asked moves the session on.

use std::collections::VecDeque;

use ralph_core::agent::{AgentEvent, EndClass, ProcessEnd, SessionEnd, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::ends::Outcome;
use super::opened::Opened;
use super::permission::{Asked, Policy};
use super::rpc::{self, Incoming, RpcError};
use super::updates::{Turn, tool_name};
use crate::agents::unfinished::unfinished;
use crate::agents::{Driver, PromptBy, SessionSpec};
use crate::process::LineEffect;

/// The version of the protocol that ralph speaks.
const VERSION: u64 = 1;
/// How many refused tools are kept by name.
const MAX_DENIED: usize = 100;
/// The sizes of models, where no name for one is set.
const SIZES: [&str; 3] = ["opus", "sonnet", "haiku"];
/// The id of the first request, which opens the conversation.
const INITIALIZE: u64 = 1;

/// What ralph wants of the session.
#[derive(Debug)]
struct Wanted {
    folder: String,
    prompt: String,
    model: Option<String>,
    policy: Policy,
}

/// What a request was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Initialize,
    Open,
    Mode,
    Model,
    Prompt,
}

impl Request {
    const fn method(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Open => "session/new",
            Self::Mode => "session/set_mode",
            Self::Model => "choosing the model",
            Self::Prompt => "session/prompt",
        }
    }
}

#[derive(Debug)]
pub(super) struct AcpDriver {
    /// `None`: it reads a recording.
    wanted: Option<Wanted>,
    /// The id of the next request.
    next: u64,
    /// Requests without an answer.
    pending: Vec<(u64, Request)>,
    session: Option<String>,
    /// Texts of the user that wait for the end of the turn.
    said: VecDeque<String>,
    /// Texts of the user that were sent, and that nothing shows to have been read.
    on_their_way: VecDeque<String>,
    /// The agent takes a prompt while it works on another one, and goes on with both as one turn.
    queues: bool,
    is_cancelled: bool,
    turn: Turn,
    model: Option<String>,
    usage: Usage,
    denied: Vec<String>,
    outcome: Option<Outcome>,
    /// The final text of the last turn.
    text: String,
    /// How many lines were messages of the protocol, and how many were not.
    messages: u64,
    unreadable: u64,
}

/// What the agent reads first.
pub(super) fn opening() -> Vec<u8> {
    let none =
        json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
    let client = json!({ "name": "ralph", "version": env!("CARGO_PKG_VERSION") });
    let params =
        json!({ "protocolVersion": VERSION, "clientCapabilities": none, "clientInfo": client });
    rpc::request(INITIALIZE, "initialize", params)
}

impl AcpDriver {
    pub(super) fn new(spec: Option<&SessionSpec>) -> Self {
        let wanted = spec.map(|spec| Wanted {
            folder: spec.folder.to_string_lossy().into_owned(),
            prompt: match &spec.prompt {
                PromptBy::System { system, task } if system.text.trim().is_empty() => {
                    task.text.clone()
                }
                // The protocol has no system prompt.
                PromptBy::System { system, task } => format!("{}\n\n{}", system.text, task.text),
                PromptBy::Stdin(text) | PromptBy::Argument(text) => text.clone(),
            },
            model: spec.model.clone().filter(|model| !model.is_empty()),
            policy: Policy::of(spec),
        });
        Self {
            wanted,
            next: INITIALIZE + 1,
            pending: vec![(INITIALIZE, Request::Initialize)],
            session: None,
            said: VecDeque::new(),
            on_their_way: VecDeque::new(),
            queues: false,
            is_cancelled: false,
            turn: Turn::default(),
            model: None,
            usage: Usage::default(),
            denied: vec![],
            outcome: None,
            text: String::new(),
            messages: 0,
            unreadable: 0,
        }
    }

    /// Asks the agent for something of its session.
    fn ask(&mut self, request: Request, method: &str, mut params: Value, replies: &mut Vec<u8>) {
        if let Some(session) = &self.session {
            params["sessionId"] = json!(session);
        }
        replies.extend(rpc::request(self.next, method, params));
        self.pending.push((self.next, request));
        self.next += 1;
    }

    fn prompt(&mut self, text: &str, replies: &mut Vec<u8>) {
        let params = json!({ "prompt": [{ "type": "text", "text": text }] });
        self.ask(Request::Prompt, "session/prompt", params, replies);
    }

    /// What an answer belongs to.
    fn answered(&mut self, id: &Value) -> Option<Request> {
        let at = self.pending.iter().position(|(known, _)| Some(*known) == id.as_u64())?;
        Some(self.pending.remove(at).1)
    }

    fn response(
        &mut self,
        id: &Value,
        outcome: Result<Option<&RawValue>, RpcError>,
        events: &mut Vec<AgentEvent>,
        replies: &mut Vec<u8>,
    ) -> LineEffect {
        let request = match (self.answered(id), &outcome) {
            (Some(request), _) => request,
            // A recording does not show the requests.
            (None, Ok(result)) if self.wanted.is_none() && is_end_of_turn(*result) => {
                Request::Prompt
            }
            // An error without an id says that a message of ours was not understood.
            (None, Err(_)) if id.is_null() && self.outcome.is_none() => Request::Prompt,
            (None, _) => return LineEffect::Going,
        };
        let result = match outcome {
            Ok(result) => result,
            // The agent stays in the mode that it has, and asks.
            Err(_) if request == Request::Mode => {
                self.begin_if_ready(replies);
                return LineEffect::Going;
            }
            Err(error) => {
                let mut outcome = Outcome::of_error(&error, request.method());
                if request == Request::Model && outcome.class != EndClass::Auth {
                    outcome.class = EndClass::UnknownModel;
                }
                self.outcome = Some(outcome);
                return LineEffect::Over;
            }
        };
        match request {
            Request::Initialize => self.initialized(result, events, replies),
            Request::Open => self.opened(result, replies),
            Request::Mode | Request::Model => {
                self.begin_if_ready(replies);
                LineEffect::Going
            }
            Request::Prompt => self.turn_ended(result, events, replies),
        }
    }

    fn initialized(
        &mut self,
        result: Option<&RawValue>,
        events: &mut Vec<AgentEvent>,
        replies: &mut Vec<u8>,
    ) -> LineEffect {
        let result: Value = rpc::get(result).unwrap_or_default();
        let of_claude = &result["agentCapabilities"]["_meta"]["claudeCode"];
        self.queues = of_claude["promptQueueing"] == json!(true);
        let is_claude = of_claude.is_object();
        let version = result["agentInfo"]["version"].as_str().map(str::to_owned);
        events.push(AgentEvent::Started { model: None, version });
        match result["protocolVersion"].as_u64() {
            Some(VERSION) => {}
            version => {
                let version = version.map_or("no version".to_owned(), |it| format!("version {it}"));
                let detail = format!(
                    "the agent speaks {version} of the Agent Client Protocol, and ralph version {VERSION}"
                );
                self.outcome = Some(Outcome::new(EndClass::Malformed, detail));
                return LineEffect::Over;
            }
        }
        if let Some(wanted) = &self.wanted {
            let mut params = json!({ "cwd": wanted.folder, "mcpServers": [] });
            if is_claude {
                let options = claude_options(&wanted.policy);
                params["_meta"] = json!({ "claudeCode": { "options": options } });
            }
            self.ask(Request::Open, "session/new", params, replies);
        }
        LineEffect::Going
    }

    fn opened(&mut self, result: Option<&RawValue>, replies: &mut Vec<u8>) -> LineEffect {
        let opened: Opened = rpc::get(result).unwrap_or_default();
        if opened.session_id.is_empty() {
            let detail = "the agent opened a session without an id";
            self.outcome = Some(Outcome::new(EndClass::Malformed, detail));
            return LineEffect::Over;
        }
        self.model = opened.model().map(str::to_owned);
        self.session = Some(opened.session_id.clone());
        let Some(wanted) = &self.wanted else { return LineEffect::Going };
        let modes = opened.modes();
        let mode = wanted.policy.mode(&modes).and_then(|mode| opened.choose_mode(mode));
        // A size of which the settings name no model is the agent's own choice, unless it calls a model so.
        let is_known = |model: &&String| !SIZES.contains(&model.as_str()) || opened.offers(model);
        let model = wanted.model.as_ref().filter(is_known);
        let choice = model.and_then(|model| opened.choose_model(model));
        if let (Some(model), Some(_)) = (model, &choice) {
            self.model = Some(model.clone());
        }
        for (request, choice) in [(Request::Mode, mode), (Request::Model, choice)] {
            if let Some((method, params)) = choice {
                self.ask(request, method, params, replies);
            }
        }
        self.begin_if_ready(replies);
        LineEffect::Going
    }

    /// Sends the prompt once nothing has to be chosen any more.
    fn begin_if_ready(&mut self, replies: &mut Vec<u8>) {
        if self.pending.is_empty()
            && let Some(wanted) = &mut self.wanted
        {
            let prompt = std::mem::take(&mut wanted.prompt);
            self.turn.begin();
            self.prompt(&prompt, replies);
        }
    }

    /// ralph asked for it; nothing shows whether a recorded one did.
    fn may_be_cancelled(&self) -> bool {
        self.is_cancelled || self.wanted.is_none()
    }

    fn turn_ended(
        &mut self,
        result: Option<&RawValue>,
        events: &mut Vec<AgentEvent>,
        replies: &mut Vec<u8>,
    ) -> LineEffect {
        let result: Value = rpc::get(result).unwrap_or_default();
        self.arrived(events);
        self.count(&result);
        if self.is_prompted() {
            // Another prompt was sent meanwhile: the agent goes on with it.
            return LineEffect::Going;
        }
        self.text = std::mem::take(&mut self.turn.text);
        let reason = result["stopReason"].as_str().unwrap_or_default();
        let outcome = Outcome::of_turn(reason, &self.text);
        let outcome = self.turn.failure().unwrap_or(outcome);
        let went_well = matches!(outcome.class, EndClass::Completed | EndClass::Empty);
        self.outcome = Some(outcome);
        events.push(AgentEvent::Result { duration_ms: None, usage: self.usage });
        match self.said.pop_front().filter(|_| went_well && !self.is_cancelled) {
            Some(text) => {
                self.outcome = None;
                self.turn.begin();
                self.prompt(&text, replies);
                self.on_their_way.push_back(text);
                LineEffect::Going
            }
            None => LineEffect::Result,
        }
    }

    /// A prompt waits for the end of its turn.
    fn is_prompted(&self) -> bool {
        self.pending.iter().any(|(_, request)| *request == Request::Prompt)
    }

    /// The agent has read the texts that were sent.
    fn arrived(&mut self, events: &mut Vec<AgentEvent>) {
        let texts = self.on_their_way.drain(..);
        events.extend(texts.map(|text| AgentEvent::UserMessage { text }));
    }

    /// What a turn used.
    fn count(&mut self, result: &Value) {
        let quota = &result["_meta"]["quota"];
        let (usage, rough) = (&result["usage"], &quota["token_count"]);
        let tokens = |fields: &[&str], from: &Value| -> u64 {
            fields.iter().filter_map(|field| from[*field].as_u64()).sum()
        };
        let (input, output) = match usage.is_object() {
            true => {
                let read = tokens(&["inputTokens", "cachedReadTokens", "cachedWriteTokens"], usage);
                // Some count thoughts among the output, and some beside it.
                let all = usage["totalTokens"].as_u64();
                let output = all.and_then(|all| all.checked_sub(read));
                (read, output.unwrap_or_else(|| tokens(&["outputTokens"], usage)))
            }
            false => (tokens(&["input_tokens"], rough), tokens(&["output_tokens"], rough)),
        };
        self.usage.input_tokens += input;
        self.usage.output_tokens += output;
        self.usage.cost_micro_usd = self.turn.cost_micro_usd;
        let model = quota["model_usage"][0]["model"].as_str().map(str::to_owned);
        if let Some(model) = self.turn.model.take().or(model) {
            self.model = Some(model);
        }
    }

    fn request(
        &mut self,
        id: &Value,
        method: &str,
        params: Option<&RawValue>,
        events: &mut Vec<AgentEvent>,
        replies: &mut Vec<u8>,
    ) {
        let policy = self.wanted.as_ref().map(|wanted| &wanted.policy);
        let ("session/request_permission", Some(policy)) = (method, policy) else {
            return replies.extend(rpc::not_served(id, method));
        };
        let asked: Asked = rpc::get(params).unwrap_or_default();
        let (answer, is_allowed) = policy.answer(&asked);
        replies.extend(rpc::reply(id, answer));
        self.turn.tool_call(&asked.tool_call, events);
        if !is_allowed {
            let tool = tool_name(&asked.tool_call);
            if self.denied.len() < MAX_DENIED && !self.denied.contains(&tool) {
                self.denied.push(tool.clone());
            }
            events.push(AgentEvent::Denied { tool });
        }
    }
}

/// Options that only the adapter of Claude Code knows: no model is asked what the user may want next, and a verifier gets
/// no instructions, settings and servers of the tree that it judges.
fn claude_options(policy: &Policy) -> Value {
    match policy {
        Policy::Only { judges: true, .. } => {
            json!({ "promptSuggestions": false, "settingSources": ["user"] })
        }
        _ => json!({ "promptSuggestions": false }),
    }
}

/// Whether a result is that of a prompt.
fn is_end_of_turn(result: Option<&RawValue>) -> bool {
    #[derive(Deserialize)]
    struct End {
        #[serde(rename = "stopReason")]
        _stop_reason: String,
    }
    rpc::get::<End>(result).is_some()
}

impl Driver for AcpDriver {
    fn line(
        &mut self,
        line: &[u8],
        cut: bool,
        events: &mut Vec<AgentEvent>,
        replies: &mut Vec<u8>,
    ) -> LineEffect {
        let line = line.trim_ascii();
        if line.is_empty() {
            return LineEffect::Going;
        }
        let incoming = if cut { None } else { Incoming::read(line) };
        let Some(incoming) = incoming else {
            self.unreadable += 1;
            return LineEffect::Going;
        };
        self.messages += 1;
        match incoming {
            Incoming::Notification { method, params } => {
                if method == "session/update" {
                    if !self.queues {
                        // It works on one prompt at a time, so what it does now is about the last one.
                        self.arrived(events);
                    }
                    let params: Value = rpc::get(params).unwrap_or_default();
                    self.turn.update(&params, events);
                }
                LineEffect::Going
            }
            Incoming::Request { id, method, params } => {
                self.request(&id, &method, params, events, replies);
                LineEffect::Going
            }
            Incoming::Response { id, outcome } => self.response(&id, outcome, events, replies),
        }
    }

    fn say(&mut self, text: &str) -> Option<Vec<u8>> {
        if self.outcome.is_some() || self.is_cancelled {
            return None;
        }
        let mut words = vec![];
        if self.queues && self.is_prompted() {
            self.prompt(text, &mut words);
            self.on_their_way.push_back(text.to_owned());
        } else {
            // The turn that runs ends first: then this is the next prompt.
            self.said.push_back(text.to_owned());
        }
        Some(words)
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        let session = self.session.as_ref()?;
        self.is_cancelled = true;
        Some(rpc::notification("session/cancel", json!({ "sessionId": session })))
    }

    fn set_display_active(&mut self, is_active: bool) {
        self.turn.is_unheard = !is_active;
    }

    fn end(self: Box<Self>, end: &ProcessEnd, stderr_tail: &str) -> SessionEnd {
        let is_ours = matches!(end, ProcessEnd::NotStarted { .. } | ProcessEnd::Stopped);
        let gave_up = matches!(end, ProcessEnd::Silent { .. } | ProcessEnd::TimedOut { .. });
        // An agent that was too slow and then agreed to stop was not cancelled by the user.
        let is_void =
            |outcome: &Outcome| is_ours || gave_up && outcome.class == EndClass::Cancelled;
        let may_be_cancelled = self.may_be_cancelled();
        let outcome = match self.outcome.filter(|outcome| !is_void(outcome)) {
            Some(cancelled) if cancelled.class == EndClass::Cancelled && !may_be_cancelled => {
                Outcome::new(EndClass::Crash, "the agent cancelled its turn by itself")
            }
            Some(outcome) => outcome,
            None => {
                let (mut class, mut detail) = unfinished(end, stderr_tail);
                if class == EndClass::Crash && self.messages == 0 && self.unreadable > 0 {
                    class = EndClass::Malformed;
                    detail
                        .push_str("; the program printed no message of the Agent Client Protocol");
                } else if self.unreadable > 0 {
                    detail.push_str(&format!("; {} lines could not be parsed", self.unreadable));
                }
                Outcome { class, detail }
            }
        };
        let is_good = outcome.class == EndClass::Completed;
        let refused = match self.denied.as_slice() {
            tools if is_good && !tools.is_empty() => format!("refused: {}", tools.join(", ")),
            _ => outcome.detail,
        };
        SessionEnd {
            class: outcome.class,
            text: if is_good { self.text } else { String::new() },
            detail: refused,
            usage: self.usage,
            model: self.model,
            denied: self.denied,
            resets_at: None,
        }
    }
}

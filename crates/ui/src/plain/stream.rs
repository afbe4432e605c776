//! The output of an agent while it works, line by line. Text comes in pieces and is shown when its line is
//! complete, so that two agents in parallel never share a line.

use ralph_core::agent::AgentEvent;
use ralph_core::text::printable;
use ralph_core::view::words;

use crate::line::{TextLine, wrap};
use crate::style::{Meaning, TextStyle};
use crate::units::duration;

/// The longest line that is collected before it is shown, in bytes.
const LONGEST: usize = 16 * 1024;
/// How many lines of a failed tool are shown.
const ERROR_LINES: usize = 5;
/// Where there is no terminal to fit, tool inputs are cut here.
const WIDTH: usize = 100;

/// The style of lines, and the width that they may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fit {
    pub(crate) style: TextStyle,
    pub(crate) room: Option<usize>,
}

impl Fit {
    /// For files.
    pub(crate) const PLAIN: Self = Self { style: TextStyle::PLAIN, room: None };
}

/// The output of one slot's agent.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pending: String,
    meaning: Option<Meaning>,
    model: Option<String>,
    spoke: bool,
    begun: bool,
    fresh: bool,
    blank: bool,
}

impl Stream {
    /// Whether any text of the agent was shown.
    pub(crate) const fn spoke(&self) -> bool {
        self.spoke
    }

    /// The lines that an event completes.
    pub(crate) fn event(&mut self, event: &AgentEvent, verbose: bool, fit: Fit) -> Vec<String> {
        let mut lines = match event {
            AgentEvent::Text { text } => {
                self.spoke = true;
                return self.words(Meaning::Speech, text, fit);
            }
            AgentEvent::Thinking { text } => {
                return self.words(Meaning::Thinking, text, fit);
            }
            AgentEvent::Unknown { .. } if !verbose => return vec![],
            _ => self.end(fit),
        };
        let mut line =
            |line: TextLine| lines.push(line.fit(fit.style, Some(fit.room.unwrap_or(WIDTH))));
        match event {
            AgentEvent::Text { .. } | AgentEvent::Thinking { .. } => {}
            AgentEvent::Started { version, .. } => {
                if let (true, Some(version)) = (verbose, version) {
                    line(TextLine::new().add(Meaning::Faint, format!("agent version {version}")));
                }
            }
            AgentEvent::Message { model, .. } => {
                // Once for each model, not for each message.
                if !model.is_empty() && self.model.as_ref() != Some(model) {
                    line(TextLine::new().add(Meaning::Model, model));
                    self.model = Some(model.clone());
                }
            }
            AgentEvent::ToolStarted { name, input, .. } => {
                let name = TextLine::new().add(Meaning::Tool, format!("→ {name}")).plain(" ");
                line(name.flexible(Some(Meaning::Faint), input));
            }
            AgentEvent::ToolEnded { is_error: true, text, .. } => {
                let safe = printable(text);
                let output: Vec<&str> =
                    safe.lines().filter(|output| !output.trim().is_empty()).collect();
                for output in output.iter().take(ERROR_LINES) {
                    let output = output.replace('\t', "    ");
                    line(
                        TextLine::new()
                            .add(Meaning::Bad, "│ ")
                            .flexible(Some(Meaning::Bad), output),
                    );
                }
                if output.len() > ERROR_LINES {
                    let more = (output.len() - ERROR_LINES) as u64;
                    let more = format!("│ … {}", words::count(more, "more line"));
                    line(TextLine::new().add(Meaning::Faint, more));
                }
            }
            AgentEvent::Retrying { attempt, delay_ms, status, error } => {
                let status = status.map(|code| format!("HTTP {code} ")).unwrap_or_default();
                let text = format!(
                    "the agent retries its request in {} (try {attempt}): {status}{error}",
                    duration(*delay_ms)
                );
                line(TextLine::new().flexible(Some(Meaning::Warning), text));
            }
            AgentEvent::Denied { tool } if verbose => {
                line(TextLine::new().add(Meaning::Warning, format!("denied: {tool}")));
            }
            AgentEvent::UserMessage { text } => {
                let from = TextLine::new().add(Meaning::Name, "you").plain(" ");
                line(from.flexible(None, text));
            }
            AgentEvent::Unknown { kind } => {
                line(TextLine::new().add(Meaning::Faint, format!("unknown event: {kind}")));
            }
            // Cost and turns are shown when the session has ended: they are also in the journal.
            AgentEvent::ToolEnded { .. }
            | AgentEvent::Denied { .. }
            | AgentEvent::Result { .. } => {}
        }
        lines
    }

    /// Whether an unfinished line is pending and nothing was added since the last call: the agent pauses,
    /// and the line is shown as it is.
    pub(crate) fn rests(&mut self) -> bool {
        !std::mem::take(&mut self.fresh) && !self.pending.is_empty()
    }

    /// The rest of an unfinished line.
    pub(crate) fn end(&mut self, fit: Fit) -> Vec<String> {
        let Some(meaning) = self.meaning.take() else { return vec![] };
        let pending = std::mem::take(&mut self.pending);
        let lines = self.shown(meaning, &pending, fit);
        self.blank = false;
        self.begun = false;
        lines
    }

    fn words(&mut self, meaning: Meaning, text: &str, fit: Fit) -> Vec<String> {
        let mut lines = Vec::new();
        if self.meaning != Some(meaning) {
            lines = self.end(fit);
            self.meaning = Some(meaning);
        }
        self.pending.push_str(text);
        self.fresh = true;
        let whole = match self.pending.rfind('\n') {
            Some(at) => at + 1,
            None if self.pending.len() > LONGEST => self.pending.len(),
            None => return lines,
        };
        let rest = self.pending.split_off(whole);
        let ready = std::mem::replace(&mut self.pending, rest);
        lines.extend(self.shown(meaning, &ready, fit));
        lines
    }

    /// Shows blank lines only between text, and never two in a row.
    fn shown(&mut self, meaning: Meaning, text: &str, Fit { style, room }: Fit) -> Vec<String> {
        let mut lines = Vec::new();
        // Without colors nothing else would mark thoughts.
        let mark = if meaning == Meaning::Thinking && !style.color { "~ " } else { "" };
        for line in wrap(text, room.map(|room| room.saturating_sub(mark.len()))) {
            if line.is_empty() {
                self.blank = true;
                continue;
            }
            if std::mem::take(&mut self.blank) && self.begun {
                lines.push(String::new());
            }
            self.begun = true;
            lines.push(style.paint(meaning, format!("{mark}{line}")));
        }
        lines
    }
}

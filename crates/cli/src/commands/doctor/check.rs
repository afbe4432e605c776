//! One line of `ralph doctor`.

use ralph_core::text::{printable, printable_line};
use ralph_ui::style::{Meaning, TextStyle};
use serde::Serialize;

use crate::error::CliError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    /// It works, but the user should know something about it.
    Warn,
    /// The loop cannot work like this.
    Fail,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Check {
    name: String,
    pub(super) state: State,
    says: String,
    /// How to fix it, each a sentence or a command.
    remedy: Vec<String>,
    /// Details: a source line with its caret, or the end of a program's output.
    #[serde(skip_serializing_if = "String::is_empty")]
    output: String,
}

impl Check {
    fn new(name: impl Into<String>, state: State, says: impl Into<String>) -> Self {
        let says = printable_line(&says.into()).into_owned();
        Self { name: name.into(), state, says, remedy: vec![], output: String::new() }
    }

    pub(super) fn ok(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self::new(name, State::Ok, says)
    }

    pub(super) fn warn(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self::new(name, State::Warn, says)
    }

    pub(super) fn fail(name: impl Into<String>, says: impl Into<String>) -> Self {
        Self::new(name, State::Fail, says)
    }

    pub(super) fn error(name: impl Into<String>, error: &CliError) -> Self {
        let (message, excerpt, hints) = error.parts();
        hints.iter().fold(Self::fail(name, message).output(excerpt), Self::remedy)
    }

    pub(super) fn remedy(mut self, what: impl AsRef<str>) -> Self {
        self.remedy.push(printable_line(what.as_ref()).into_owned());
        self
    }

    /// Adds the last lines of a program's output.
    pub(super) fn output(mut self, text: &str) -> Self {
        const LINES: usize = 8;
        let text = printable(text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        self.output = lines[lines.len().saturating_sub(LINES)..].join("\n");
        self
    }

    pub(super) fn lines(&self, style: TextStyle) -> String {
        let (word, meaning) = match self.state {
            State::Ok => ("ok  ", Meaning::Good),
            State::Warn => ("warn", Meaning::Warning),
            State::Fail => ("fail", Meaning::Bad),
        };
        let word = style.paint(meaning, word);
        let mut text = format!("{word}  {:<11} {}\n", self.name, self.says);
        for line in self.output.lines() {
            text.push_str(&format!("        {} {line}\n", style.paint(Meaning::Faint, "|")));
        }
        for remedy in &self.remedy {
            text.push_str(&format!("        {} {remedy}\n", style.paint(Meaning::Name, "do:")));
        }
        text
    }
}

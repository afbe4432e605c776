//! A run as lines: what `ralph build` shows on stderr, on a terminal and in a pipe.
//!
//! [`PlainReporter`] prints each fact when it comes, the text of agents between them, and on a
//! terminal a progress line below them. Without a terminal there are no cursor codes,
//! without colors no escape codes at all. Text from agents, tasks and gates is made safe first.

mod conversation;
mod facts;
mod gates;
mod progress;
mod screen;
pub(crate) mod start;
pub(crate) mod stream;
pub(crate) mod summary;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use ralph_core::agent::AgentEvent;
use ralph_core::run::{RunEvent, SlotId};
use ralph_core::time::{Timestamp, Zone};
use ralph_core::view::{Reporter, RunView};

use crate::line::TextLine;
use crate::style::{Meaning, TextStyle};
use facts::Ending;
use screen::Screen;
use stream::{Fit, Stream};

pub use conversation::Conversation;
pub use summary::{spent, summary};

/// The shortest time between two updates of the progress line, in milliseconds.
const REDRAW_MS: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Verbosity {
    /// The start, the result of each task, and the summary.
    Quiet,
    /// Also what agents and gates print.
    #[default]
    Normal,
    /// Also details for debugging.
    Verbose,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Colors and width.
    pub style: TextStyle,
    pub verbosity: Verbosity,
    /// Whether there is a progress line. It needs a terminal.
    pub progress: bool,
    /// The time zone of the reader.
    pub zone: Zone,
    /// The folder of the project: paths below it are shown from there. Empty when not known.
    pub root: String,
}

impl Options {
    /// For pipes, files and tests.
    pub const PLAIN: Self = Self {
        style: TextStyle::PLAIN,
        verbosity: Verbosity::Normal,
        progress: false,
        zone: Zone::UTC,
        root: String::new(),
    };
}

/// Shows a run as lines.
#[derive(Debug)]
pub struct PlainReporter<W> {
    screen: Screen<W>,
    options: Options,
    view: RunView,
    streams: BTreeMap<SlotId, Stream>,
    endings: BTreeMap<SlotId, Vec<Ending>>,
    commits: BTreeMap<SlotId, String>,
    cut_off: BTreeSet<SlotId>,
    /// Where the last line says that output is missing.
    gaps: BTreeSet<SlotId>,
    level_reported: bool,
    plan_reported: bool,
    conversation: Option<Conversation>,
    now: Timestamp,
    drawn: Timestamp,
}

impl<W: Write> PlainReporter<W> {
    /// Shows what is left, and returns the first write error.
    pub fn close(&mut self) -> io::Result<()> {
        self.finish();
        self.screen.take_failure().map_or(Ok(()), Err)
    }

    pub fn new(out: W, options: Options) -> Self {
        Self {
            screen: Screen::new(out),
            options,
            view: RunView::default(),
            streams: BTreeMap::new(),
            endings: BTreeMap::new(),
            commits: BTreeMap::new(),
            cut_off: BTreeSet::new(),
            gaps: BTreeSet::new(),
            level_reported: true,
            plan_reported: true,
            conversation: None,
            now: Timestamp::default(),
            drawn: Timestamp::default(),
        }
    }

    pub const fn view(&self) -> &RunView {
        &self.view
    }

    /// Takes the new width of the terminal.
    pub const fn resize(&mut self, width: usize) {
        if self.options.style.width.is_some() {
            self.options.style.width = Some(width);
        }
    }

    fn take_in(&mut self, event: &RunEvent) {
        self.now = self.now.max(event.at);
        self.view.apply(event);
        self.fact(&event.fact);
    }

    fn show(&mut self) {
        let alive = self.view.run.is_some() && self.view.outcome.is_none();
        let wanted = self.options.progress && self.options.style.is_terminal() && alive;
        let line = wanted.then(|| progress::progress(&self.view, self.now, self.options.style));
        self.drawn = self.now;
        self.screen.show(line);
    }

    const fn style(&self) -> TextStyle {
        self.options.style
    }

    fn is(&self, least: Verbosity) -> bool {
        self.options.verbosity >= least
    }

    /// A line from the left edge.
    fn top(&mut self, line: &TextLine) {
        let text = line.show(self.style());
        self.screen.line(&text);
    }

    fn lines(&mut self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            self.screen.line(&line);
        }
    }

    /// The prefix of a slot's lines: the number of the iteration, where several slots run.
    fn margin(&self, slot: SlotId) -> TextLine {
        match self.view.slot(slot) {
            Some(slot) if self.view.is_parallel() => {
                TextLine::new().add(Meaning::Faint, format!("{:>2}│ ", slot.iteration))
            }
            _ => TextLine::new().plain("  "),
        }
    }

    /// The width that a slot's lines may have.
    fn room(&self, slot: SlotId) -> Option<usize> {
        let margin = self.margin(slot).width();
        self.style().width.map(|width| width.saturating_sub(margin))
    }

    fn slot_fit(&self, slot: SlotId) -> Fit {
        Fit { style: self.style(), room: self.room(slot) }
    }

    /// A line of a slot.
    fn beside(&mut self, slot: SlotId, line: &TextLine) {
        let text = line.fit(self.style(), self.room(slot));
        self.beside_all(slot, [text]);
    }

    /// Lines of a slot that fit already.
    fn beside_all(&mut self, slot: SlotId, lines: impl IntoIterator<Item = String>) {
        let margin = self.margin(slot).show(self.style());
        for line in lines {
            self.screen.line(format!("{margin}{line}").trim_end());
        }
    }
}

impl<W: Write> Reporter for PlainReporter<W> {
    fn event(&mut self, event: &RunEvent) {
        if let Some(conversation) = self.conversation.clone() {
            return self.converse(&conversation, event);
        }
        self.take_in(event);
        self.show();
    }

    fn skip(&mut self, event: &RunEvent) {
        self.take_in(event);
        self.screen.discard();
    }

    fn agent(&mut self, slot: SlotId, at: Timestamp, event: &AgentEvent) {
        self.now = self.now.max(at);
        self.view.on_agent_event(slot, event, self.now);
        self.gaps.remove(&slot);
        if self.conversation.is_some() && !self.is(Verbosity::Verbose) {
            return self.show();
        }
        if !self.is(Verbosity::Normal) {
            return;
        }
        let (fit, verbose) = (self.slot_fit(slot), self.is(Verbosity::Verbose));
        let lines = self.streams.entry(slot).or_default().event(event, verbose, fit);
        self.beside_all(slot, lines);
        if self.screen.has_lines() {
            self.show();
        }
    }

    fn missed(&mut self, slot: SlotId) {
        let is_shown = self.is(Verbosity::Normal) && self.conversation.is_none();
        if is_shown && self.gaps.insert(slot) {
            self.end_words(slot);
            self.beside(
                slot,
                &TextLine::new().add(Meaning::Faint, "… some output is missing here"),
            );
            self.show();
        }
    }

    fn tick(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        let resting: Vec<SlotId> = self
            .streams
            .iter_mut()
            .filter_map(|(slot, stream)| stream.rests().then_some(*slot))
            .collect();
        for slot in resting {
            self.end_words(slot);
        }
        if self.now.millis_since(self.drawn) >= REDRAW_MS {
            self.show();
        }
    }

    fn finish(&mut self) {
        let slots: Vec<SlotId> = self.streams.keys().copied().collect();
        for slot in slots {
            self.end_words(slot);
        }
        self.screen.show(None);
    }

    fn is_broken(&self) -> bool {
        self.screen.has_failed()
    }
}

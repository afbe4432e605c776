//! A run as lines of JSON, for programs: what `--ui json` writes on stdout.
//!
//! Two kinds of lines, each whole and flushed at once:
//! - a line of the journal, byte for byte as it is in `events.jsonl`; it has a `seq`;
//! - `{"v":1,"run":…,"kind":"agent","slot":0,"iteration":3,"event":"text","text":…}`: an event of an
//!   agent while it works. It has no `seq` and no `at`: it is not in the journal, and a reader that
//!   joins late never sees it.

use std::collections::BTreeMap;
use std::io::Write;

use ralph_core::agent::AgentEvent;
use ralph_core::ids::RunId;
use ralph_core::run::{Fact, RunEvent, SlotId};
use ralph_core::time::Timestamp;
use ralph_core::view::Reporter;
use serde::Serialize;

#[derive(Serialize)]
struct AgentLine<'a> {
    v: u32,
    run: Option<&'a RunId>,
    kind: &'static str,
    slot: SlotId,
    iteration: u32,
    #[serde(flatten)]
    event: &'a AgentEvent,
}

/// Writes a run as lines of JSON.
#[derive(Debug)]
pub struct JsonReporter<W> {
    out: W,
    run: Option<RunId>,
    iterations: BTreeMap<SlotId, u32>,
    broken: bool,
}

impl<W: Write> JsonReporter<W> {
    /// A display that writes to `out`.
    pub const fn new(out: W) -> Self {
        Self { out, run: None, iterations: BTreeMap::new(), broken: false }
    }

    /// Whether a line could not be written: the reader is gone.
    pub const fn is_broken(&self) -> bool {
        self.broken
    }
}

/// Writes a value and a line break in one go; `false` when that failed.
fn write_line(out: &mut impl Write, value: &impl Serialize) -> bool {
    let Ok(mut line) = serde_json::to_vec(value) else { return false };
    line.push(b'\n');
    out.write_all(&line).and_then(|()| out.flush()).is_ok()
}

impl<W: Write> Reporter for JsonReporter<W> {
    fn event(&mut self, event: &RunEvent) {
        self.run = Some(event.run.clone());
        if let Fact::IterationStarted { slot, iteration, .. } = &event.fact {
            self.iterations.insert(*slot, *iteration);
        }
        if !self.broken {
            self.broken = !write_line(&mut self.out, event);
        }
    }

    fn agent(&mut self, slot: SlotId, event: &AgentEvent) {
        let iteration = self.iterations.get(&slot).copied().unwrap_or(0);
        let run = self.run.as_ref();
        let line = AgentLine { v: RunEvent::VERSION, run, kind: "agent", slot, iteration, event };
        if !self.broken {
            self.broken = !write_line(&mut self.out, &line);
        }
    }

    fn tick(&mut self, _now: Timestamp) {}

    fn finish(&mut self) {
        let _ = self.out.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn facts_are_the_lines_of_the_journal_and_agents_come_between() {
        let events = sample::run();
        let mut out = Vec::new();
        let mut reporter = JsonReporter::new(&mut out);
        for event in &events {
            reporter.event(event);
            if matches!(event.fact, Fact::SessionStarted { .. }) {
                reporter.agent(0, &AgentEvent::Text { text: "Hello,\nworld".into() });
            }
        }
        reporter.finish();
        assert!(!reporter.is_broken());
        let text = String::from_utf8(out).unwrap();
        let (agent, journal): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.contains(r#""kind":"agent""#));
        let read: Vec<RunEvent> =
            journal.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read, events);
        let written: Vec<String> =
            events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        assert_eq!(journal, written);
        assert_eq!(
            agent[0],
            r#"{"v":1,"run":"r-4qz7k2ma","kind":"agent","slot":0,"iteration":1,"event":"text","text":"Hello,\nworld"}"#
        );
    }

    #[test]
    fn a_reader_that_went_away_ends_the_writing_and_nothing_else() {
        let mut room = [0; 10];
        let mut reporter = JsonReporter::new(&mut room[..]);
        for event in sample::run() {
            reporter.event(&event);
        }
        assert!(reporter.is_broken());
    }
}

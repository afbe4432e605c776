//! A run as lines of JSON, for programs: what `--ui json` writes on stdout.
//!
//! Two kinds of lines, each whole and flushed at once:
//! - a line of the journal, byte for byte as it is in `events.jsonl`; it has a `seq`;
//! - `{"v":1,"run":…,"at":…,"kind":"agent","slot":0,"iteration":3,"role":"worker","task":…,"session":…,
//!   "event":"text","text":…}`: an event of an agent while it works. It has no `seq`: it is not in the
//!   journal, and a reader that joins late never sees it.

use std::collections::BTreeMap;
use std::io::Write;

use ralph_core::agent::AgentEvent;
use ralph_core::ids::{RunId, TaskId};
use ralph_core::run::{Fact, RunEvent, SlotId};
use ralph_core::time::{Timestamp, millis};
use ralph_core::view::Reporter;
use serde::Serialize;

#[derive(Serialize)]
struct AgentLine<'a> {
    v: u32,
    run: Option<&'a RunId>,
    #[serde(with = "millis")]
    at: Timestamp,
    kind: &'static str,
    slot: SlotId,
    #[serde(flatten)]
    session: &'a SessionNow,
    #[serde(flatten)]
    event: &'a AgentEvent,
}

/// The session that runs in a slot.
#[derive(Debug, Default, Serialize)]
struct SessionNow {
    iteration: u32,
    role: Role,
    /// `None` where the agent picks its task.
    task: Option<TaskId>,
    /// The name of its raw output, without the ending.
    session: Option<String>,
}

/// What the agent of a session does.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    #[default]
    Worker,
    Planner,
    Verifier,
}

#[derive(Debug)]
pub struct JsonReporter<W> {
    out: W,
    run: Option<RunId>,
    /// Whether the run writes a plan.
    plans: bool,
    sessions: BTreeMap<SlotId, SessionNow>,
    /// A line could not be written: the reader is gone.
    broken: bool,
}

impl<W: Write> JsonReporter<W> {
    /// A display that writes to `out`.
    pub const fn new(out: W) -> Self {
        Self { out, run: None, plans: false, sessions: BTreeMap::new(), broken: false }
    }

    /// Follows which session runs in which slot.
    fn follow(&mut self, fact: &Fact) {
        match fact {
            Fact::RunStarted { policy, .. } => self.plans = policy.mode == "plan",
            Fact::IterationStarted { slot, iteration, task, .. } => {
                let role = if self.plans { Role::Planner } else { Role::Worker };
                let task = task.as_ref().map(|task| task.id.clone());
                let session = SessionNow { iteration: *iteration, role, task, session: None };
                self.sessions.insert(*slot, session);
            }
            Fact::Verifying { slot, .. } => {
                self.sessions.entry(*slot).or_default().role = Role::Verifier;
            }
            Fact::SessionStarted { slot, log } => {
                let name = log.rsplit('/').next().unwrap_or(log);
                let name = name.strip_suffix(".ndjson").unwrap_or(name);
                self.sessions.entry(*slot).or_default().session = Some(name.to_owned());
            }
            _ => {}
        }
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
        self.follow(&event.fact);
        if !self.broken {
            self.broken = !write_line(&mut self.out, event);
        }
    }

    fn skip(&mut self, event: &RunEvent) {
        self.run = Some(event.run.clone());
        self.follow(&event.fact);
    }

    fn agent(&mut self, slot: SlotId, at: Timestamp, event: &AgentEvent) {
        let (run, session) = (self.run.as_ref(), &*self.sessions.entry(slot).or_default());
        let line = AgentLine { v: RunEvent::VERSION, run, at, kind: "agent", slot, session, event };
        if !self.broken {
            self.broken = !write_line(&mut self.out, &line);
        }
    }

    fn finish(&mut self) {
        let _ = self.out.flush();
    }

    fn is_broken(&self) -> bool {
        self.broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;

    #[test]
    fn facts_are_the_lines_of_the_journal_and_agents_come_between() {
        let events = sample::run();
        let mut out = Vec::new();
        let mut reporter = JsonReporter::new(&mut out);
        for event in &events {
            reporter.event(event);
            if matches!(event.fact, Fact::SessionStarted { .. }) {
                let text = AgentEvent::Text { text: "Hello,\nworld".into() };
                reporter.agent(0, Timestamp::from_millis(1_500), &text);
            }
        }
        reporter.finish();
        assert!(!reporter.broken);
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
            r#"{"v":1,"run":"r-4qz7k2ma","at":"1970-01-01T00:00:01.500Z","kind":"agent","slot":0,"iteration":1,"role":"worker","task":"t-2kq7m3ab","session":"iteration-001-1","event":"text","text":"Hello,\nworld"}"#
        );
    }

    #[test]
    fn the_verifier_has_its_own_role_and_session() {
        let mut out = Vec::new();
        let mut reporter = JsonReporter::new(&mut out);
        let model = None;
        for fact in [
            Fact::SessionStarted { slot: 1, log: "logs/r/iteration-007.ndjson".into() },
            Fact::Verifying { slot: 1, agent: "claude".into(), model },
            Fact::SessionStarted { slot: 1, log: "logs/r/iteration-007.verifier.ndjson".into() },
        ] {
            reporter.follow(&fact);
        }
        reporter.agent(1, Timestamp::default(), &AgentEvent::Text { text: "It holds.".into() });
        let line: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!((&line["role"], &line["task"]), (&"verifier".into(), &serde_json::Value::Null));
        assert_eq!(line["session"], "iteration-007.verifier");
    }

    #[test]
    fn a_reader_that_went_away_ends_the_writing_and_nothing_else() {
        let mut room = [0; 10];
        let mut reporter = JsonReporter::new(&mut room[..]);
        for event in sample::run() {
            reporter.event(&event);
        }
        assert!(reporter.broken);
    }
}

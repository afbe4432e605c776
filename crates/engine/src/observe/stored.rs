//! A run from its files: the facts of its journal, and between them what its agents said, from their raw output. Both
//! were cleaned of secrets when they were written.
//!
//! Raw output has no times: the events of a session are spread evenly between its start and its end.

use std::collections::{HashMap, VecDeque};
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::agent::AgentEvent;
use ralph_core::run::{Fact, RunEvent, SlotId};
use ralph_core::time::Timestamp;
use ralph_core::view::part::{LogFilter, Part};
use ralph_core::view::stream::{EventSource, Next, Observation, Observed};

use crate::agents;
use crate::run_files::{VERIFIER_LOG, journal};
use crate::untrusted::open_own;

/// The agents whose output the logs of a run hold.
#[derive(Debug, Clone, Default)]
struct LoggedAgents {
    builder: String,
    verifier: Option<String>,
    /// The agent of each slot's iteration, and of each log, where a run has several.
    of_slots: HashMap<SlotId, String>,
    of_logs: HashMap<String, String>,
}

impl LoggedAgents {
    fn of<'a>(journal: impl IntoIterator<Item = &'a RunEvent>) -> Self {
        let mut agents = Self::default();
        journal.into_iter().for_each(|event| agents.follow(&event.fact));
        agents
    }

    fn follow(&mut self, fact: &Fact) {
        match fact {
            Fact::RunStarted { agent, policy, .. } => {
                self.builder.clone_from(agent);
                self.verifier = policy.verify.as_ref().map(|verifier| verifier.agent.clone());
            }
            Fact::IterationStarted { slot, agent: Some(agent), .. } => {
                self.of_slots.insert(*slot, agent.clone());
            }
            Fact::SessionStarted { slot, log } => {
                if let Some(agent) = self.of_slots.get(slot) {
                    self.of_logs.insert(log.clone(), agent.clone());
                }
            }
            _ => {}
        }
    }

    /// The agent that wrote this log.
    fn of_log(&self, path: &str) -> &str {
        let verifier = self.verifier.as_deref().filter(|_| path.ends_with(VERIFIER_LOG));
        verifier.or(self.of_logs.get(path).map(String::as_str)).unwrap_or(&self.builder)
    }
}

/// What an agent said in a session, from its raw output, and whether the end of that is missing. Nothing where the journal
/// names no agent.
fn said(log: &Path, agent: &str) -> (Vec<AgentEvent>, bool) {
    let mut driver = match agents::find(agent) {
        Some(profile) => (profile.driver)(None),
        None if agent.is_empty() => return (vec![], false),
        // An agent by config prints text.
        None => agents::command::driver(),
    };
    let Ok(file) = open_own(log, OpenOptions::new().read(true)) else { return (vec![], false) };
    let (mut events, mut reader, mut line) = (vec![], BufReader::new(file), vec![]);
    let mut is_cut = false;
    // A line without its end is still being written.
    while reader.read_until(b'\n', &mut line).is_ok()
        && line.pop_if(|last| *last == b'\n').is_some()
    {
        is_cut |= line.starts_with(br#"{"type":"ralph","cut_after":"#);
        driver.line(&line, false, &mut events, &mut vec![]);
        line.clear();
    }
    (events, is_cut)
}

/// What an agent said in a session that is being shown, with its times.
struct Session {
    /// The place of the fact that ended it.
    end: usize,
    output: VecDeque<(Timestamp, Observed)>,
}

/// The stream of a run from its files. A run that is still active is shown as far as it has come.
pub struct StoredSource {
    journal: Arc<[RunEvent]>,
    agents: LoggedAgents,
    /// Whose output is read.
    part: LogFilter,
    joined: bool,
    left: bool,
    /// The place of the next fact.
    next: usize,
    sessions: Vec<Session>,
}

impl StoredSource {
    /// All facts of this journal, and what the agents said in a part of the run.
    pub fn new(journal: Arc<[RunEvent]>, part: Part) -> Self {
        let agents = LoggedAgents::of(journal.iter());
        let (joined, left) = (false, false);
        let part = LogFilter::new(part);
        Self { journal, agents, part, joined, left, next: 0, sessions: vec![] }
    }

    /// The whole run of a journal.
    pub fn facts(journal: &Path) -> io::Result<Self> {
        Ok(Self::new(journal::read(journal)?.into(), Part::Whole))
    }

    fn step(&mut self) -> Option<Observed> {
        if !std::mem::replace(&mut self.joined, true) {
            return Some(Observed::Joined { name: String::new() });
        }
        let until = self.journal.get(self.next).map(|event| event.at);
        if let Some(output) = self.output_before(until) {
            return Some(output);
        }
        let Some(event) = self.journal.get(self.next).cloned() else {
            return (!std::mem::replace(&mut self.left, true)).then_some(Observed::Left);
        };
        let wanted = self.part.admits(&event);
        if let (true, Fact::SessionStarted { slot, log }) = (wanted, &event.fact) {
            let session = self.session(*slot, log, event.at);
            self.sessions.push(session);
        }
        self.next += 1;
        Some(Observed::Fact { event })
    }

    /// The next output of an agent that comes before the next fact, which has this time.
    fn output_before(&mut self, until: Option<Timestamp>) -> Option<Observed> {
        self.sessions.retain(|session| !session.output.is_empty());
        let next = self.next;
        let is_due = |session: &&mut Session| {
            let first = session.output.front().map(|(at, _)| *at);
            session.end <= next || until.is_none() || first < until
        };
        let due = self.sessions.iter_mut().filter(is_due);
        let first = due.min_by_key(|session| session.output.front().map(|(at, _)| *at))?;
        Some(first.output.pop_front()?.1)
    }

    fn session(&self, slot: SlotId, log: &str, start: Timestamp) -> Session {
        let after = self.journal.iter().enumerate().skip(self.next + 1);
        let ending = after.clone().find(|(_, event)| ends(&event.fact, slot));
        let (end, at) = match ending {
            Some((end, event)) => (end, event.at),
            None => (self.journal.len(), self.journal.last().map_or(start, |last| last.at)),
        };
        let (events, is_cut) = said(Path::new(log), self.agents.of_log(log));
        let count = events.len() as u64 + 1;
        let spread = |number: u64| start.plus_millis(at.millis_since(start) / count * number);
        let said = events.into_iter().zip(1..).map(|(event, number)| {
            let at = spread(number);
            (at, Observed::Agent { slot, at, event })
        });
        let missed = is_cut.then_some((at, Observed::Missed { slot }));
        Session { end, output: said.chain(missed).collect() }
    }
}

/// Whether a fact ends the session of a slot.
fn ends(fact: &Fact, slot: SlotId) -> bool {
    match fact {
        Fact::SessionEnded { .. }
        | Fact::Verified { .. }
        | Fact::Unverified { .. }
        | Fact::SessionStarted { .. }
        | Fact::IterationStarted { .. }
        | Fact::IterationEnded { .. }
        | Fact::SlotFreed { .. } => fact.slot() == Some(slot),
        Fact::RunStarted { .. } | Fact::RunEnded { .. } => true,
        _ => false,
    }
}

impl EventSource for StoredSource {
    fn next(&mut self, _wait: Duration) -> Next {
        self.step().map_or(Next::Over, |what| Next::Seen(Observation { of: 0, what }))
    }
}

#[cfg(test)]
mod tests;

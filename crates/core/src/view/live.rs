//! The fold of a [stream](super::stream): all of its runs as users see them, with what the agents said last. The TUI and
//! the page show this.

use std::collections::VecDeque;

use serde::{Serialize, Serializer};

use super::run_view::RunView;
use super::stream::{Observation, Observed, RunNumber};
use crate::agent::AgentEvent;
use crate::run::{Class, Fact, GateReport, RunEvent, SlotId};
use crate::time::Timestamp;

/// How much of an agent's output is kept for each slot, in bytes of text.
const KEPT: usize = 256 * 1024;
/// How many entries are kept for each slot.
const ENTRIES: usize = 2_000;
/// How much of a single text is kept: the end of what a model says, the beginning of what a tool prints.
const LONGEST: usize = 32 * 1024;

/// The runs of a stream, by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct LiveView {
    pub runs: Vec<LiveRun>,
}

/// A run of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct LiveRun {
    /// Its branch, where the stream has several runs.
    pub name: String,
    pub view: RunView,
    /// What the agent of each slot said, by the number of the slot.
    pub transcripts: Vec<Transcript>,
    /// Its process has ended.
    pub left: bool,
}

/// What the agent of a slot said and did last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Transcript {
    pub entries: VecDeque<Entry>,
    /// How many entries came before those that are kept. An entry's number is this plus its place.
    pub dropped: u64,
    #[serde(skip)]
    bytes: usize,
}

/// One thing in a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub at: Timestamp,
    #[serde(flatten)]
    pub what: Said,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub enum Said {
    /// A session begins here; `verifier` says whose.
    Session {
        verifier: bool,
        title: String,
    },
    Text {
        text: String,
    },
    Thinking {
        text: String,
    },
    Tool {
        #[serde(skip)]
        id: String,
        name: String,
        input: String,
        /// What it printed, if the agent has said so.
        result: Option<String>,
        is_error: bool,
        /// It has ended, or the session that called it has.
        is_over: bool,
    },
    Denied {
        tool: String,
    },
    /// A message of the user.
    Told {
        text: String,
    },
    Retrying {
        attempt: u32,
        delay_ms: u64,
        error: String,
    },
    /// A gate has checked the work, or the verifier has.
    Gate {
        report: GateReport,
    },
    /// The iteration has ended.
    Ended {
        /// By the name that attempts have; journals name some otherwise.
        #[serde(serialize_with = "as_attempts_do")]
        class: Class,
        detail: String,
    },
    /// Some output is missing here.
    Missed,
}

impl Said {
    /// How many bytes of text it has.
    fn bytes(&self) -> usize {
        match self {
            Self::Session { title: text, .. }
            | Self::Text { text }
            | Self::Thinking { text }
            | Self::Denied { tool: text }
            | Self::Told { text }
            | Self::Ended { detail: text, .. }
            | Self::Retrying { error: text, .. } => text.len(),
            Self::Gate { report } => report.name.len() + report.digest.len(),
            Self::Tool { name, input, result, .. } => {
                name.len() + input.len() + result.as_ref().map_or(0, String::len)
            }
            Self::Missed => 0,
        }
    }
}

impl LiveView {
    /// Takes in what comes next.
    pub fn apply(&mut self, seen: &Observation) {
        let run = self.run_mut(seen.of);
        match &seen.what {
            // Also where a replay starts over.
            Observed::Joined { name } => {
                *run = LiveRun { name: name.clone(), ..LiveRun::default() };
            }
            Observed::Fact { event } => run.fact(event),
            Observed::Agent { slot, at, event } => {
                run.view.on_agent_event(*slot, event, *at);
                run.transcript(*slot).agent(event, *at);
            }
            Observed::Missed { slot } => {
                let at = run.view.last_at;
                run.transcript(*slot).missed(at);
            }
            Observed::Left => run.left = true,
        }
    }

    fn run_mut(&mut self, number: RunNumber) -> &mut LiveRun {
        let number = number as usize;
        if self.runs.len() <= number {
            self.runs.resize_with(number + 1, LiveRun::default);
        }
        &mut self.runs[number]
    }

    /// The slots that work, with the number of their run: what the screen has a pane for.
    pub fn busy(&self) -> impl Iterator<Item = (RunNumber, SlotId)> {
        self.runs
            .iter()
            .zip(0..)
            .flat_map(|(run, number)| run.view.busy().map(move |(slot, _)| (number, slot)))
    }

    /// Whether every run of the stream has ended.
    pub fn is_over(&self) -> bool {
        !self.runs.is_empty() && self.runs.iter().all(LiveRun::has_ended)
    }
}

impl LiveRun {
    /// It has recorded its outcome, or its process is gone.
    pub fn has_ended(&self) -> bool {
        self.left || self.view.outcome.is_some()
    }

    /// What the agent of a slot said.
    pub fn said(&self, slot: SlotId) -> Option<&Transcript> {
        self.transcripts.get(slot as usize)
    }

    fn fact(&mut self, event: &RunEvent) {
        self.view.apply(event);
        match &event.fact {
            Fact::SessionStarted { slot, .. } => {
                let verifier =
                    self.view.slot(*slot).is_some_and(|slot| slot.doing == super::Doing::Verifying);
                let task = self.view.slot(*slot).and_then(|slot| slot.task.as_ref());
                let title = task.map(|task| task.title.clone()).unwrap_or_default();
                let begins = Said::Session { verifier, title };
                self.transcript(*slot).push(Entry { at: event.at, what: begins });
            }
            Fact::MessageGiven { slot, message, live: true, .. } => {
                let told = Said::Told { text: message.text.clone() };
                self.transcript(*slot).push(Entry { at: event.at, what: told });
            }
            Fact::SessionEnded { slot, .. } => self.transcript(*slot).session_ended(),
            Fact::Judged { slot, gates, .. } => {
                for report in gates {
                    self.checked(*slot, event.at, report.clone());
                }
            }
            Fact::Verified { slot, report } => {
                self.transcript(*slot).session_ended();
                if report.obstacle().is_none() {
                    self.checked(*slot, event.at, report.judged());
                }
            }
            Fact::IterationEnded { slot, class, detail, .. } => {
                let ended = Said::Ended { class: *class, detail: beginning(detail).to_owned() };
                self.transcript(*slot).push(Entry { at: event.at, what: ended });
            }
            _ => {}
        }
    }

    fn checked(&mut self, slot: SlotId, at: Timestamp, report: GateReport) {
        self.transcript(slot).push(Entry { at, what: Said::Gate { report } });
    }

    fn transcript(&mut self, slot: SlotId) -> &mut Transcript {
        let slot = slot as usize;
        if self.transcripts.len() <= slot {
            self.transcripts.resize_with(slot + 1, Transcript::default);
        }
        &mut self.transcripts[slot]
    }
}

impl Transcript {
    /// The number of the next entry.
    pub fn next_number(&self) -> u64 {
        self.dropped + self.entries.len() as u64
    }

    fn agent(&mut self, event: &AgentEvent, at: Timestamp) {
        match event {
            AgentEvent::Text { text } => self.speak(text, at, false),
            AgentEvent::Thinking { text } => self.speak(text, at, true),
            AgentEvent::ToolStarted { id, name, input } => {
                let (id, name) = (id.clone(), name.clone());
                let input = beginning(input).to_owned();
                self.push(Entry {
                    at,
                    what: Said::Tool {
                        id,
                        name,
                        input,
                        result: None,
                        is_error: false,
                        is_over: false,
                    },
                });
            }
            AgentEvent::ToolEnded { id, is_error, text } => self.tool_ended(id, *is_error, text),
            AgentEvent::Denied { tool } => {
                self.push(Entry { at, what: Said::Denied { tool: tool.clone() } });
            }
            AgentEvent::Retrying { attempt, delay_ms, error, .. } => {
                let what = Said::Retrying {
                    attempt: *attempt,
                    delay_ms: *delay_ms,
                    error: beginning(error).to_owned(),
                };
                self.push(Entry { at, what });
            }
            // The run records messages of the user as facts.
            AgentEvent::UserMessage { .. }
            | AgentEvent::Started { .. }
            | AgentEvent::Message { .. }
            | AgentEvent::Result { .. }
            | AgentEvent::Unknown { .. } => {}
        }
    }

    /// Words that continue the last ones are one text.
    fn speak(&mut self, more: &str, at: Timestamp, thinks: bool) {
        if more.is_empty() {
            return;
        }
        let last = self.entries.back_mut().map(|entry| &mut entry.what);
        match (last, thinks) {
            (Some(Said::Text { text }), false) | (Some(Said::Thinking { text }), true)
                if text.len() + more.len() <= LONGEST =>
            {
                text.push_str(more);
                self.bytes += more.len();
                self.shrink();
            }
            _ => {
                let text = ending(more).to_owned();
                let what = if thinks { Said::Thinking { text } } else { Said::Text { text } };
                self.push(Entry { at, what });
            }
        }
    }

    /// The newest open call of this id. Some agents name no id: then the newest open call.
    fn tool_ended(&mut self, ended: &str, failed: bool, printed: &str) {
        let open = self.entries.iter_mut().rev().find_map(|entry| match &mut entry.what {
            Said::Tool { id, result: result @ None, is_error, is_over, .. }
                if id == ended || ended.is_empty() =>
            {
                Some((result, is_error, is_over))
            }
            _ => None,
        });
        let Some((result, is_error, is_over)) = open else { return };
        *is_over = true;
        let printed = beginning(printed);
        *result = Some(printed.to_owned());
        *is_error = failed;
        self.bytes += printed.len();
        self.shrink();
    }

    /// The session has ended: none of its tools runs any more.
    fn session_ended(&mut self) {
        let of_session = self.entries.iter_mut().rev().map(|entry| &mut entry.what);
        for said in of_session.take_while(|said| !matches!(said, Said::Session { .. })) {
            if let Said::Tool { is_over, .. } = said {
                *is_over = true;
            }
        }
    }

    fn missed(&mut self, at: Timestamp) {
        if self.entries.back().is_none_or(|entry| entry.what != Said::Missed) {
            self.push(Entry { at, what: Said::Missed });
        }
    }

    fn push(&mut self, entry: Entry) {
        self.bytes += entry.what.bytes();
        self.entries.push_back(entry);
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.entries.len() > 1 && (self.bytes > KEPT || self.entries.len() > ENTRIES) {
            let Some(gone) = self.entries.pop_front() else { return };
            self.bytes -= gone.what.bytes();
            self.dropped += 1;
        }
    }
}

fn as_attempts_do<S: Serializer>(class: &Class, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(class.as_str())
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

fn ending(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(LONGEST))..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{EndClass, ProcessEnd, SessionEnd, Signals};
    use crate::run::SessionReport;

    fn agent(event: AgentEvent) -> Observation {
        let at = Timestamp::from_millis(7);
        Observation { of: 0, what: Observed::Agent { slot: 0, at, event } }
    }

    fn text(text: &str) -> AgentEvent {
        AgentEvent::Text { text: text.to_owned() }
    }

    fn said(live: &LiveView) -> Vec<&Said> {
        live.runs[0].transcripts[0].entries.iter().map(|entry| &entry.what).collect()
    }

    #[test]
    fn words_that_follow_each_other_are_one_text() {
        let mut live = LiveView::default();
        for event in [text("Hel"), text("lo"), AgentEvent::Thinking { text: "Hm".to_owned() }] {
            live.apply(&agent(event));
        }
        let (hello, hm) = ("Hello".to_owned(), "Hm".to_owned());
        assert_eq!(said(&live), [&Said::Text { text: hello }, &Said::Thinking { text: hm }]);
    }

    #[test]
    fn a_result_goes_to_its_call() {
        let mut live = LiveView::default();
        for id in ["a", "b"] {
            let (id, name) = (id.to_owned(), "Run".to_owned());
            live.apply(&agent(AgentEvent::ToolStarted { id, name, input: "ls".to_owned() }));
        }
        let (id, text) = ("a".to_owned(), "no such file".to_owned());
        live.apply(&agent(AgentEvent::ToolEnded { id, is_error: true, text }));
        let ended = said(&live)
            .iter()
            .map(|one| matches!(one, Said::Tool { result: Some(_), is_error: true, .. }))
            .collect::<Vec<_>>();
        assert_eq!(ended, [true, false]);
    }

    /// Not every agent reports the result of each of its tools, and none does that is killed.
    #[test]
    fn no_tool_runs_after_its_session() {
        let fact = |seq, fact| {
            let (v, run, at) =
                (RunEvent::VERSION, "r-abcd2345".parse().unwrap(), Timestamp::default());
            Observation {
                of: 0,
                what: Observed::Fact { event: RunEvent { v, run, seq, at, fact } },
            }
        };
        let call = |name: &str| {
            let (id, name, input) = (name.to_owned(), name.to_owned(), String::new());
            agent(AgentEvent::ToolStarted { id, name, input })
        };
        let begins = |seq| fact(seq, Fact::SessionStarted { slot: 0, log: String::new() });
        let report = SessionReport {
            end: SessionEnd::of(EndClass::Crash, ""),
            process: ProcessEnd::Stopped,
            signals: Signals::default(),
            requests: vec![],
            held: vec![],
            notes: vec![],
            duration_ms: 0,
            leftovers: 0,
        };
        let ends = fact(2, Fact::SessionEnded { slot: 0, report });
        let mut live = LiveView::default();
        for seen in [begins(1), call("a"), ends, begins(3), call("b")] {
            live.apply(&seen);
        }
        let runs: Vec<bool> = said(&live)
            .iter()
            .filter_map(|one| match one {
                Said::Tool { is_over, .. } => Some(!is_over),
                _ => None,
            })
            .collect();
        assert_eq!(runs, [false, true]);
    }

    #[test]
    fn what_is_kept_is_bounded_and_numbered() {
        let mut live = LiveView::default();
        for number in 0..5_000 {
            let (id, name) = (number.to_string(), "Run".to_owned());
            live.apply(&agent(AgentEvent::ToolStarted { id, name, input: "x".repeat(1_000) }));
        }
        let transcript = &live.runs[0].transcripts[0];
        assert!(transcript.bytes <= KEPT && transcript.entries.len() <= ENTRIES);
        assert_eq!(transcript.next_number(), 5_000);
        assert_eq!(
            transcript.bytes,
            transcript.entries.iter().map(|entry| entry.what.bytes()).sum::<usize>()
        );
        live.apply(&agent(text(&"é".repeat(KEPT))));
        assert!(live.runs[0].transcripts[0].bytes <= KEPT);
    }

    #[test]
    fn missing_output_is_marked_once() {
        let mut live = LiveView::default();
        for _ in 0..3 {
            live.apply(&Observation { of: 0, what: Observed::Missed { slot: 0 } });
        }
        assert_eq!(said(&live), [&Said::Missed]);
    }
}

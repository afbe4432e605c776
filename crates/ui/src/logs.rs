//! A past run, shown as it was: the same display over its journal.

use std::io::{self, Write};

use ralph_core::agent::AgentEvent;
use ralph_core::run::{Fact, RunEvent, SlotId};
use ralph_core::view::Reporter;

use crate::plain::{Options, PlainReporter};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Whole,
    /// One iteration, with every session that had its number.
    Iteration(u32),
}

/// Shows a journal on `out`, and fails where it cannot be written. `said` returns the agent's events of the
/// session whose raw log has that path; without any, the final text of the session is shown instead.
pub fn show(
    journal: &[RunEvent],
    part: Part,
    options: Options,
    out: impl Write,
    mut events_of: impl FnMut(&str) -> Vec<AgentEvent>,
) -> io::Result<()> {
    let mut reporter = PlainReporter::new(out, Options { progress: false, ..options });
    let mut shown = LogFilter::new(part);
    for event in journal {
        if !shown.admits(event) {
            reporter.skip(event);
            continue;
        }
        reporter.event(event);
        if let Fact::SessionStarted { slot, log } = &event.fact {
            for reported in events_of(log) {
                reporter.agent(*slot, &reported);
            }
        }
    }
    reporter.close()
}

/// Decides which events belong to a part. Ask it about every event of a journal, in order.
#[derive(Debug)]
pub struct LogFilter {
    part: Part,
    /// The slots in which the iteration runs.
    slots: Vec<SlotId>,
    /// The slot of the last event that had one: facts without a slot belong to it.
    last: Option<SlotId>,
}

impl LogFilter {
    /// For a journal from its first event on.
    pub const fn new(part: Part) -> Self {
        Self { part, slots: vec![], last: None }
    }

    /// Whether what an agent says in this slot now belongs to the part.
    pub fn admits_slot(&self, slot: SlotId) -> bool {
        self.part == Part::Whole || self.slots.contains(&slot)
    }

    /// Whether the next event belongs to the part.
    pub fn admits(&mut self, event: &RunEvent) -> bool {
        let Part::Iteration(wanted) = self.part else { return true };
        let slot = event.fact.slot();
        if let (Fact::IterationStarted { iteration, .. }, Some(slot)) = (&event.fact, slot) {
            self.slots.retain(|other| *other != slot);
            if *iteration == wanted {
                self.slots.push(slot);
            }
        }
        self.last = slot.or(self.last);
        let inside = self.last.is_some_and(|slot| self.slots.contains(&slot));
        if let (Fact::IterationEnded { .. }, Some(slot)) = (&event.fact, slot) {
            self.slots.retain(|other| *other != slot);
        }
        let after = matches!(
            event.fact,
            Fact::StopDecided { .. }
                | Fact::Publishing
                | Fact::Published { .. }
                | Fact::Watching { .. }
                | Fact::Reviewed { .. }
                | Fact::RunEnded { .. }
        );
        inside && !after
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample::{self, SampleEvent, replay};

    /// What each session said, by the path of its log.
    fn events_by_log(reported: &[SampleEvent]) -> Vec<(String, Vec<AgentEvent>)> {
        let mut sessions: Vec<(String, Vec<AgentEvent>)> = Vec::new();
        for reported in reported {
            match reported {
                SampleEvent::Event(RunEvent { fact: Fact::SessionStarted { log, .. }, .. }) => {
                    sessions.push((log.clone(), vec![]));
                }
                SampleEvent::Agent(_, event) => sessions.last_mut().unwrap().1.push(event.clone()),
                SampleEvent::Event(_) => {}
            }
        }
        sessions
    }

    fn live(reported: &[SampleEvent]) -> String {
        let mut out = Vec::new();
        replay(reported, &mut PlainReporter::new(&mut out, Options::PLAIN));
        String::from_utf8(out).unwrap()
    }

    fn render(
        journal: &[RunEvent],
        part: Part,
        options: Options,
        events_of: impl FnMut(&str) -> Vec<AgentEvent>,
    ) -> String {
        let mut out = Vec::new();
        show(journal, part, options, &mut out, events_of).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn facts(reported: &[SampleEvent]) -> Vec<SampleEvent> {
        reported
            .iter()
            .filter(|reported| matches!(reported, SampleEvent::Event(_)))
            .cloned()
            .collect()
    }

    #[test]
    fn a_replay_is_what_was_shown_live() {
        let reported = sample::busy_day();
        let sessions = events_by_log(&reported);
        let replay = render(&sample::journal(&reported), Part::Whole, Options::PLAIN, |log| {
            let session = sessions.iter().find(|(path, _)| path == log);
            session.map(|(_, events)| events.clone()).unwrap_or_default()
        });
        // Except the text that the user interrupted: its place is not in the journal.
        let same = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(same(&replay), same(&live(&reported)));
        let until_told = |text: &str| text.split("\n── 6 ──").next().map(str::to_owned);
        assert_eq!(until_told(&replay), until_told(&live(&reported)));
    }

    /// The journal alone gives every line of ours; of the agent's words it keeps the last.
    #[test]
    fn without_raw_logs_only_the_words_of_agents_are_missing() {
        let reported = sample::busy_day();
        let replay = render(&sample::journal(&reported), Part::Whole, Options::PLAIN, |_| vec![]);
        assert_eq!(replay, live(&facts(&reported)));
        let live = live(&reported);
        for line in replay.lines() {
            assert!(live.lines().any(|shown| shown == line), "{line}");
        }
        let missing: Vec<&str> =
            live.lines().filter(|line| !replay.lines().any(|shown| shown == *line)).collect();
        let ours = |line: &&&str| !line.starts_with("  ") || line.starts_with("  ✓");
        assert_eq!(missing.iter().find(ours), None);
        assert!(replay.contains("  The form is there and tested.\n"));
    }

    #[test]
    fn one_iteration_is_shown_alone_with_all_its_sessions() {
        let journal = sample::run();
        let text = render(&journal, Part::Iteration(5), Options::PLAIN, |_| vec![]);
        assert_eq!(text.matches("── 5 ── ").count(), 2, "{text}");
        assert_eq!(text.matches("── ").count(), 4 + 2, "{text}");
        assert!(text.contains("✗ retry    t-q3nd5yhc") && text.contains("usage limit"));
        assert!(!text.contains("ralph build") && !text.contains("Stopped"), "{text}");
        let text = render(&journal, Part::Iteration(7), Options::PLAIN, |_| vec![]);
        assert_eq!(text, "");
    }

    #[test]
    fn one_iteration_of_two_side_by_side() {
        let journal = sample::journal(&sample::two_slots());
        let text = render(&journal, Part::Iteration(2), Options::PLAIN, |_| vec![]);
        assert!(text.contains("t-7hq2mz4a") && !text.contains("t-2kq7m3ab"), "{text}");
    }
}

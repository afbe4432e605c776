//! A past run, shown as it was: the same display over its journal.

use std::time::Duration;

use ralph_core::agent::AgentEvent;
use ralph_core::run::{RunEvent, SlotId};
use ralph_core::time::Timestamp;
use ralph_core::view::Reporter;
pub use ralph_core::view::part::{LogFilter, Part};
use ralph_core::view::stream::{EventSource, Next, Observed};

/// How long a display waits for the stream before its clock moves.
const MOMENT: Duration = Duration::from_millis(250);

/// A display that can show a part of a run.
pub trait PartReporter: Reporter {
    /// Counts an event without showing it.
    fn skip(&mut self, event: &RunEvent);

    /// An event of an agent, with its own time.
    fn agent_at(&mut self, slot: SlotId, event: &AgentEvent, at: Timestamp);

    /// Whether its reader is gone: there is no use in showing more.
    fn is_broken(&self) -> bool;
}

/// Shows a part of the first run of a stream, until the stream is over or the display has lost its reader.
pub fn show(source: &mut dyn EventSource, part: Part, display: &mut impl PartReporter) {
    let mut shown = LogFilter::new(part);
    let mut now = Timestamp::default();
    while !display.is_broken() {
        let seen = match source.next(MOMENT) {
            Next::Over => break,
            Next::Quiet => {
                display.tick(now);
                continue;
            }
            Next::Seen(seen) => seen,
        };
        match seen.what {
            _ if seen.of > 0 => {}
            Observed::Fact { event } => {
                now = now.max(event.at);
                match shown.admits(&event) {
                    true => display.event(&event),
                    false => display.skip(&event),
                }
            }
            Observed::Agent { slot, at, event } if shown.admits_slot(slot) => {
                now = now.max(at);
                display.agent_at(slot, &event, at);
            }
            Observed::Missed { slot } if shown.admits_slot(slot) => display.missed(slot),
            Observed::Agent { .. }
            | Observed::Joined { .. }
            | Observed::Missed { .. }
            | Observed::Left => {}
        }
    }
    display.finish();
}

#[cfg(test)]
mod tests {
    use ralph_core::view::stream::Observation;

    use super::*;
    use crate::plain::{Options, PlainReporter};
    use crate::tests::sample::{self, SampleEvent, replay};

    /// These events as a stream.
    struct Recorded(std::vec::IntoIter<SampleEvent>);

    impl EventSource for Recorded {
        fn next(&mut self, _wait: Duration) -> Next {
            let what = match self.0.next() {
                Some(SampleEvent::Event(event)) => Observed::Fact { event },
                Some(SampleEvent::Agent(slot, event)) => {
                    Observed::Agent { slot, at: Timestamp::default(), event }
                }
                None => return Next::Over,
            };
            Next::Seen(Observation { of: 0, what })
        }
    }

    fn live(reported: &[SampleEvent]) -> String {
        let mut out = Vec::new();
        replay(reported, &mut PlainReporter::new(&mut out, Options::PLAIN));
        String::from_utf8(out).unwrap()
    }

    fn render(reported: Vec<SampleEvent>, part: Part) -> String {
        let mut out = Vec::new();
        let mut reporter = PlainReporter::new(&mut out, Options::PLAIN);
        show(&mut Recorded(reported.into_iter()), part, &mut reporter);
        reporter.close().unwrap();
        drop(reporter);
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
        assert_eq!(render(reported.clone(), Part::Whole), live(&reported));
    }

    /// The journal alone gives every line of ours; of the agent's words it keeps the last.
    #[test]
    fn without_raw_logs_only_the_words_of_agents_are_missing() {
        let reported = sample::busy_day();
        let replay = render(facts(&reported), Part::Whole);
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
        let journal: Vec<SampleEvent> = sample::run().into_iter().map(SampleEvent::Event).collect();
        let text = render(journal.clone(), Part::Iteration(5));
        assert_eq!(text.matches("── 5 ── ").count(), 2, "{text}");
        assert_eq!(text.matches("── ").count(), 4 + 2, "{text}");
        assert!(text.contains("✗ retry    t-q3nd5yhc") && text.contains("usage limit"));
        assert!(!text.contains("ralph build") && !text.contains("Stopped"), "{text}");
        assert_eq!(render(journal, Part::Iteration(7)), "");
    }

    #[test]
    fn one_iteration_of_two_side_by_side_has_its_own_output() {
        let text = render(sample::two_slots(), Part::Iteration(2));
        assert!(text.contains("t-7hq2mz4a") && !text.contains("t-2kq7m3ab"), "{text}");
        let said = |slot: SlotId| {
            sample::two_slots().into_iter().find_map(move |event| match event {
                SampleEvent::Agent(of, AgentEvent::Text { text }) if of == slot => Some(text),
                _ => None,
            })
        };
        let first_line = |text: String| text.trim().lines().next().unwrap_or_default().to_owned();
        for (slot, expected) in [(0, false), (1, true)] {
            if let Some(line) = said(slot).map(first_line) {
                assert_eq!(text.contains(&line), expected, "{slot}: {line}\n{text}");
            }
        }
    }

    #[test]
    fn output_that_is_missing_is_marked_once_for_each_gap() {
        struct Given(std::vec::IntoIter<Observed>);
        impl EventSource for Given {
            fn next(&mut self, _wait: Duration) -> Next {
                self.0.next().map_or(Next::Over, |what| Next::Seen(Observation { of: 0, what }))
            }
        }
        let missed = || Observed::Missed { slot: 0 };
        let text = |text: &str| Observed::Agent {
            slot: 0,
            at: Timestamp::default(),
            event: AgentEvent::Text { text: text.to_owned() },
        };
        let stream = vec![text("One"), missed(), missed(), text("two."), missed()];
        let mut out = Vec::new();
        let mut reporter = PlainReporter::new(&mut out, Options::PLAIN);
        show(&mut Given(stream.into_iter()), Part::Whole, &mut reporter);
        drop(reporter);
        let gap = "… some output is missing here";
        let shown = String::from_utf8(out).unwrap();
        let lines: Vec<&str> =
            shown.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        assert_eq!(lines, ["One", gap, "two.", gap]);
    }

    #[test]
    fn a_display_without_a_reader_ends_the_stream() {
        let mut room = [0; 10];
        let mut reporter = crate::jsonl::JsonReporter::new(&mut room[..], Timestamp::default);
        let mut stream = Recorded(sample::busy_day().into_iter());
        show(&mut stream, Part::Whole, &mut reporter);
        assert!(stream.0.len() > 0);
    }
}

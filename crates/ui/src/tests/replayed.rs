//! A past run, shown as it was: the same display over its stream.

use std::time::Duration;

use ralph_core::agent::AgentEvent;
use ralph_core::run::SlotId;
use ralph_core::time::Timestamp;
use ralph_core::view::part::Part;
use ralph_core::view::show;
use ralph_core::view::stream::{EventSource, Next, Observation, Observed};

use super::sample::{self, SampleEvent, replay};
use crate::jsonl::JsonReporter;
use crate::plain::{Options, PlainReporter};

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
    show(&mut Recorded(reported.into_iter()), part, &mut reporter, |last| last);
    reporter.close().unwrap();
    drop(reporter);
    String::from_utf8(out).unwrap()
}

fn facts(reported: &[SampleEvent]) -> Vec<SampleEvent> {
    reported.iter().filter(|reported| matches!(reported, SampleEvent::Event(_))).cloned().collect()
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
    show(&mut Given(stream.into_iter()), Part::Whole, &mut reporter, |last| last);
    drop(reporter);
    let gap = "… some output is missing here";
    let shown = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = shown.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, ["One", gap, "two.", gap]);
}

#[test]
fn a_display_without_a_reader_ends_the_stream() {
    let mut room = [0; 10];
    let mut reporter = JsonReporter::new(&mut room[..]);
    let mut stream = Recorded(sample::busy_day().into_iter());
    show(&mut stream, Part::Whole, &mut reporter, |last| last);
    assert!(stream.0.len() > 0);
}

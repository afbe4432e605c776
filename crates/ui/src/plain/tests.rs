//! What users see. The gallery is made of snapshots: look at them.

mod ends;

use ralph_core::agent::{SessionEnd, Usage};
use ralph_core::run::{Cancel, Class, Control, Fact, Notice, StopReason, Wait};
use ralph_core::task::Status;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::tests::sample::{self, SampleEvent, Tape, replay};

fn shown(reported: &[SampleEvent], options: Options) -> String {
    let mut out = Vec::new();
    replay(reported, &mut PlainReporter::new(&mut out, options));
    String::from_utf8(out).unwrap()
}

fn options(color: bool, width: usize) -> Options {
    let style = TextStyle { color, width: Some(width) };
    Options { style, root: "/home/ann/shop".into(), ..Options::PLAIN }
}

/// Escape codes, made readable.
fn visible(text: &str) -> String {
    text.replace('\u{1b}', "␛").replace('\r', "␍")
}

#[test]
fn gallery_of_a_busy_day_without_colors() {
    insta::assert_snapshot!(shown(&sample::busy_day(), options(false, 80)));
}

#[test]
fn gallery_of_a_busy_day_in_colors() {
    insta::assert_snapshot!(visible(&shown(&sample::busy_day(), options(true, 80))));
}

#[test]
fn gallery_of_a_busy_day_on_a_narrow_terminal() {
    insta::assert_snapshot!(shown(&sample::busy_day(), options(false, 50)));
}

#[test]
fn gallery_of_two_sessions_side_by_side() {
    insta::assert_snapshot!(shown(&sample::two_slots(), options(false, 80)));
}

#[test]
fn gallery_of_a_quiet_run() {
    let quiet = Options { verbosity: Verbosity::Quiet, ..options(false, 80) };
    insta::assert_snapshot!(shown(&sample::busy_day(), quiet));
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    for width in [40, 50, 80, 120] {
        for reported in [sample::busy_day(), sample::two_slots(), hostile()] {
            let verbose = Options { verbosity: Verbosity::Verbose, ..options(false, width) };
            for line in shown(&reported, verbose).lines() {
                assert!(line.width() <= width, "{} > {width}: {line}", line.width());
            }
        }
    }
}

/// S1-28: thinking dim, text in the terminal's own color, model purple, tool cyan with dim input, tool errors red and
/// at most five lines, duration and cost green.
#[test]
fn s1_28_each_kind_of_event_has_its_color() {
    let text = shown(&sample::busy_day(), options(true, 80));
    let has = |part: &str| assert!(text.contains(part), "{part:?} is missing");
    has("\u{1b}[2mThe router has no /login yet.");
    has("\n  The form is there and tested.");
    has("\u{1b}[35mclaude-sonnet-4-5");
    has("\u{1b}[36m→ Read\u{1b}[0m \u{1b}[2msrc/routes/signup.rs");
    has("\u{1b}[1m\u{1b}[31merror[E0425]: cannot find function `verify` in this scope");
    has("\u{1b}[32m1m 34s · $0.08 · 12 turns");
    let red = text.lines().filter(|line| line.contains("\u{1b}[31m│ ")).count();
    assert_eq!(red, 5, "lines of the tool that failed");
    assert!(!text.contains("aborting due to"));
}

/// F60: times were UTC and did not say so.
#[test]
fn times_are_in_the_zone_of_the_reader_with_its_name() {
    let zone = Zone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    let text = shown(&sample::busy_day(), Options { zone, ..options(false, 80) });
    assert!(text.contains("usage limit, until 06:00:00 CET ("), "{text}");
    let zone = Zone::posix("<-11>11").unwrap();
    let text = shown(&sample::busy_day(), Options { zone, ..options(false, 80) });
    assert!(text.contains("until 18:00:00 -11 ("), "{text}");
}

/// F61: the excerpt was the head of the log and did not say where the rest is.
#[test]
fn a_failing_gate_shows_ten_lines_and_where_the_whole_output_is() {
    let mut tape = Tape::new(1, 1);
    tape.begin(0, 1, "t-1", "A title", 1);
    let digest: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    tape.judged(0, vec![sample::red("unit", 9_100, 101, &digest)]);
    let text = shown(&tape.events, options(false, 80));
    assert!(text.contains("  │ line 10\n") && !text.contains("line 11"), "{text}");
    let path = ".ralph/logs/session-20261115-024500/iteration-002.gate-unit.log";
    assert!(text.contains(&format!("      log {path}\n")), "{text}");
    let mut tape = Tape::new(1, 1);
    tape.begin(0, 1, "t-1", "A title", 1);
    tape.judged(0, vec![sample::red("unit", 9_100, 101, "left: 1\n\nOutput:\ncompiling")]);
    let text = shown(&tape.events, options(false, 80));
    assert!(text.contains("  │ left: 1\n      log ") && !text.contains("compiling"), "{text}");
}

/// S1-27: the log is a link on a terminal with colors, a plain path elsewhere.
#[test]
fn s1_27_the_log_is_a_link_on_a_terminal() {
    let reported = sample::busy_day();
    let link = "\u{1b}]8;;file:///home/ann/shop/.ralph/logs/session-20261115-024500/iteration-001-1.ndjson\u{1b}\\";
    assert!(shown(&reported, options(true, 80)).contains(link));
    let path = "  log .ralph/logs/session-20261115-024500/iteration-001-1.ndjson\n";
    for plain in [options(false, 80), Options { root: "/home/ann/shop/".into(), ..Options::PLAIN }]
    {
        let text = shown(&reported, plain);
        assert!(text.contains(path) && !text.contains('\u{1b}'));
    }
    let piped = Options { style: TextStyle { color: true, width: None }, ..Options::PLAIN };
    assert!(!shown(&reported, piped).contains("\u{1b}]8"));
}

#[test]
fn a_link_cannot_be_broken_out_of() {
    let mut tape = Tape::new(1, 1);
    let log = "/tmp/a\u{1b}\\b c;é/x.ndjson".to_owned();
    tape.fact(Fact::SessionStarted { slot: 0, log });
    let text = shown(&tape.events, options(true, 80));
    assert!(text.contains("file:///tmp/a%1B%5Cb%20c%3B%C3%A9/x.ndjson\u{1b}\\"), "{text:?}");
}

const EVIL: &str = "evil\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]52;c;cm0gLXJm\u{1b}\\\u{9b}31m\u{202e}\u{2066}\u{7f}\u{8}\u{0}\u{200b}\rtext";

/// A run in which every text that is not ours is hostile.
fn hostile() -> Vec<SampleEvent> {
    let mut tape = Tape::new(1, 3);
    let output = EVIL.repeat(30);
    for notice in [
        Notice::Other { text: EVIL.into() },
        Notice::Level { level: EVIL.into(), text: EVIL.into() },
        Notice::Denied { tools: vec![EVIL.into(), "a\nb".into()] },
        Notice::WrongId { named: vec![EVIL.into()], held: vec![] },
        Notice::Promise { text: EVIL.into() },
    ] {
        tape.notice(notice);
    }
    tape.begin(0, 1, "t-1", &output, 2);
    tape.says(0, AgentEvent::Message { model: EVIL.into(), usage: Usage::default() });
    tape.text(0, EVIL).text(0, "\u{1b}").text(0, "[31m split");
    tape.says(0, AgentEvent::Thinking { text: output.clone() });
    tape.tool(0, EVIL, &output);
    tape.says(0, AgentEvent::ToolEnded { id: EVIL.into(), is_error: true, text: output.clone() });
    tape.says(0, AgentEvent::Denied { tool: EVIL.into() });
    tape.says(0, AgentEvent::Unknown { kind: EVIL.into() });
    let retrying =
        AgentEvent::Retrying { attempt: 1, delay_ms: 5, status: None, error: output.clone() };
    tape.says(0, retrying);
    tape.end(0, "t-1", SessionEnd::of(ralph_core::agent::EndClass::Crash, EVIL), 10);
    tape.changed(0, &[EVIL, "b", "c", "d"]);
    tape.judged(0, vec![sample::red(EVIL, 10, 1, &output)]);
    tape.settle(0, 1, "t-1", &output, Class::Red, Status::Failed, &output, 10);
    tape.stop(StopReason::AgentFailed { why: EVIL.into(), class: None }, 0, 1)
}

#[test]
fn hostile_text_cannot_drive_the_terminal() {
    let verbose = Options { verbosity: Verbosity::Verbose, ..options(false, 80) };
    for options in [options(false, 80), verbose, Options::PLAIN] {
        let text = shown(&hostile(), options);
        let strange = |c: &char| {
            (c.is_control() && *c != '\n')
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        };
        assert_eq!(text.chars().find(strange), None);
        assert!(text.contains("eviltext split"), "{text}");
        assert!(!text.contains("owned") && !text.contains("[2J"), "{text}");
    }
}

#[test]
fn the_last_line_is_rewritten_and_goes_away() {
    let mut out = Vec::new();
    let progress = Options { progress: true, ..options(false, 80) };
    let mut reporter = PlainReporter::new(&mut out, progress);
    let mut tape = Tape::new(1, 4);
    tape.count(|_| {}).begin(0, 1, "t-2kq7m3ab", "Add the login form", 1);
    let start = tape.events.clone();
    for reported in &start {
        if let SampleEvent::Event(event) = reported {
            reporter.event(event);
        }
    }
    let began = reporter.view().began_at;
    reporter.tick(began.plus_millis(63_000));
    // The first is too early.
    reporter.tick(began.plus_millis(63_050));
    reporter.tick(began.plus_millis(63_200));
    reporter.agent(0, Timestamp::default(), &AgentEvent::Text { text: "Hello.\n".into() });
    reporter.finish();
    let text = visible(&String::from_utf8(out).unwrap());
    let tail = text.split_once("iteration-001-1.ndjson\n").unwrap().1;
    let drawn: Vec<&str> = tail.split("␍␛[2K").collect();
    assert_eq!(
        drawn,
        [
            "t-2kq7m3ab working 0s · 0s total · 0/4 done · sonnet",
            "t-2kq7m3ab working 1m 02s · 1m 03s total · 0/4 done · sonnet",
            "t-2kq7m3ab working 1m 03s · 1m 03s total · 0/4 done · sonnet",
            "  Hello.\nt-2kq7m3ab working 1m 03s · 1m 03s total · 0/4 done · sonnet",
            "",
        ]
    );
}

#[test]
fn without_a_terminal_nothing_is_rewritten() {
    let mut out = Vec::new();
    let piped = Options { progress: true, ..Options::PLAIN };
    let mut reporter = PlainReporter::new(&mut out, piped);
    for event in sample::run() {
        reporter.event(&event);
        reporter.tick(event.at.plus_millis(5_000));
    }
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains(['\r', '\u{1b}']));
    assert_eq!(text.matches("Stopped: cancelled.").count(), 1);
}

#[test]
fn the_last_line_counts_down_a_wait() {
    let mut tape = Tape::new(1, 4);
    let now = Timestamp::parse("2026-11-15T02:45:10Z").unwrap();
    let wait = Wait::Limit { class: Class::UsageWindow, streak: 1, reset_known: true, agent: None };
    tape.count(|_| {});
    tape.fact(Fact::WaitStarted { slot: 0, wait, until: Some(now.plus_millis(7_500_000)) });
    let view = RunView::of(&sample::journal(&tape.events));
    let line =
        |width| progress::progress(&view, now, TextStyle { color: false, width: Some(width) });
    assert_eq!(line(80), "usage limit: 2h 05m 00s left · 10s total · 0/4 done");
    assert_eq!(line(30), "usage limit: 2h 05m 00s left");
}

#[test]
fn a_run_that_stops_after_its_session_shows_how_long_the_session_has_run() {
    let cancel = |level| Fact::ControlReceived { control: Control::Cancel(level) };
    let mut tape = Tape::new(1, 4);
    tape.count(|_| {});
    tape.begin(0, 1, "t-2kq7m3ab", "Title", 1);
    tape.fact(cancel(Cancel::AfterSession));
    let text = shown(&tape.events, Options::PLAIN);
    let sentence = "\n  Stopping after this session. Press Ctrl-C again to kill it.\n";
    assert!(text.contains(sentence), "{text}");
    let view = RunView::of(&sample::journal(&tape.events));
    let now = view.last_at.plus_millis(75_000);
    let line =
        |width| progress::progress(&view, now, TextStyle { color: false, width: Some(width) });
    let first = "Stopping after this session · t-2kq7m3ab working 1m 15s";
    assert!(line(80).starts_with(&format!("{first} · 1m 15s total")), "{}", line(80));
    assert_eq!(line(57), first);
    // Level by level, and to whoever wants to read little.
    tape.fact(cancel(Cancel::Now)).fact(cancel(Cancel::AfterTask));
    let quiet = Options { verbosity: Verbosity::Quiet, ..Options::PLAIN };
    let text = shown(&tape.events, quiet);
    assert_eq!(text.matches("  Stopping now. ralph interrupts the session").count(), 2, "{text}");
    assert!(!text.contains("after this task"), "a lower level takes nothing back: {text}");
}

#[test]
fn a_run_that_stops_between_sessions_has_nothing_to_wait_for() {
    let mut tape = Tape::new(1, 4);
    tape.fact(Fact::ControlReceived { control: Control::Cancel(Cancel::AfterSession) });
    let text = shown(&tape.events, Options::PLAIN);
    assert!(!text.contains("Stopping"), "{text}");
}

#[test]
fn words_are_shown_when_the_agent_makes_a_pause() {
    let mut out = Vec::new();
    let mut reporter = PlainReporter::new(&mut out, options(false, 80));
    let mut tape = Tape::new(1, 1);
    tape.begin(0, 1, "t-1", "Title", 1);
    for event in sample::journal(&tape.events) {
        reporter.event(&event);
    }
    let now = reporter.view().last_at;
    reporter.agent(0, Timestamp::default(), &AgentEvent::Text { text: "no end of ".into() });
    reporter.tick(now.plus_millis(1000));
    reporter.agent(0, Timestamp::default(), &AgentEvent::Text { text: "line".into() });
    reporter.tick(now.plus_millis(2000));
    reporter.tick(now.plus_millis(3000));
    reporter.agent(0, Timestamp::default(), &AgentEvent::Text { text: "next".into() });
    reporter.tick(now.plus_millis(4000));
    let text = String::from_utf8(out).unwrap();
    assert!(text.ends_with("\n  no end of line\n"), "{text}");
}

#[test]
fn verbose_shows_what_quiet_and_normal_leave_out() {
    let mut reported = sample::busy_day();
    let SampleEvent::Event(last) = reported[0].clone() else { panic!("the first is an event") };
    let anomaly = Fact::Anomaly { input: "settled".into(), phase: "Free".into() };
    reported.push(SampleEvent::Event(RunEvent { fact: anomaly, ..last }));
    let verbose = Options { verbosity: Verbosity::Verbose, ..options(false, 80) };
    let (normal, verbose) = (shown(&reported, options(false, 80)), shown(&reported, verbose));
    for text in ["slot 0 looks at the plan", "ignored settled", "agent version 2.1.0"] {
        assert!(verbose.contains(text) && !normal.contains(text), "{text}");
    }
}

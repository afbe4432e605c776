//! What the display costs: nothing while nothing happens, and little while agents print a lot.

use ralph_core::agent::AgentEvent;
use ralph_core::time::Timestamp;
use ralph_core::view::stream::{Observation, Observed};

use super::fake::{Fake, is_second_gate};
use crate::tests::sample;
use crate::tui::bench::Display;

/// Milliseconds of processor time of this thread, where the system says so.
#[cfg(target_os = "linux")]
fn used() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e6
}

/// Ten seconds of a megabyte a second, in pieces of a model's size and with tools between them.
#[cfg(target_os = "linux")]
#[test]
fn ten_megabytes_in_ten_seconds_take_little_time() {
    const SECONDS: usize = 10;
    const PICTURES: usize = 15;
    let mut fake = Fake::new(120, 40);
    fake.has_plan();
    fake.sees_until(&sample::busy_day(), is_second_gate);
    let piece = "Look at the parser: it reads a line and then another.\nNext word by word ";
    let pieces = (1 << 20) / PICTURES / piece.len();
    let at = Timestamp::default();
    let observe = |event| Observation { of: 0, what: Observed::Agent { slot: 0, at, event } };
    let words = observe(AgentEvent::Text { text: piece.to_owned() });
    let id = || "x".to_owned();
    let input = "cargo test".to_owned();
    let begun = observe(AgentEvent::ToolStarted { id: id(), name: "Bash".to_owned(), input });
    let ended =
        observe(AgentEvent::ToolEnded { id: id(), is_error: false, text: "ok\n".repeat(4_000) });
    let before = used();
    for picture in 0..SECONDS * PICTURES {
        for _ in 0..pieces {
            fake.state.seen(&words);
        }
        if picture % 5 == 0 {
            fake.state.seen(&begun);
            fake.state.seen(&ended);
        }
        fake.draw();
    }
    let share = (used() - before) / (SECONDS as f64 * 1000.0);
    // Without optimization everything takes several times as long.
    let most = if cfg!(debug_assertions) { 0.20 } else { 0.05 };
    assert!(share < most, "{:.1} % of a processor", share * 100.0);
}

#[test]
fn where_nothing_changes_nothing_is_written() {
    let mut fake = Fake::new(120, 40);
    fake.has_plan();
    fake.sees_until(&sample::busy_day(), is_second_gate);
    let next = fake.state.now.plus_millis(1_000);
    let mut display = Display::of(fake.state, (120, 40)).unwrap();
    assert!(display.draw().unwrap() > 1_000);
    assert_eq!(display.draw().unwrap(), 0);
    assert!(display.tick(next));
    let clock = display.draw().unwrap();
    assert!((1..200).contains(&clock), "only the times change: {clock} bytes");
    assert!(!display.tick(next.plus_millis(10)), "the same second");
}

#[test]
fn the_clock_does_not_tick_once_the_run_has_ended() {
    let mut fake = Fake::new(120, 40);
    fake.sees(&sample::busy_day());
    let next = fake.state.now.plus_millis(5_000);
    assert!(!fake.state.tick(next));
}

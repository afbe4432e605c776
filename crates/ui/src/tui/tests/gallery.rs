//! Pictures of the display.

use ratatui::crossterm::event::KeyCode;
use ratatui::style::{Color, Modifier};
use serde_json::json;

use super::fake::{Fake, REJECT, RESET, is_cancelled, is_second_gate, of};
use crate::tests::sample;
use crate::tui::state::Reply;

/// A run whose second task just failed its gates.
fn at_work(width: u16, height: u16) -> Fake {
    let mut fake = Fake::new(width, height);
    fake.has_plan();
    fake.sees_until(&sample::busy_day(), is_second_gate);
    fake
}

#[test]
fn gallery_of_a_run_on_a_small_terminal() {
    insta::assert_snapshot!(at_work(80, 24).shown());
}

#[test]
fn gallery_of_a_run_on_a_larger_terminal() {
    insta::assert_snapshot!(at_work(120, 40).shown());
}

#[test]
fn gallery_of_a_run_on_a_huge_terminal() {
    insta::assert_snapshot!(at_work(200, 50).shown());
}

#[test]
fn gallery_of_two_sessions_side_by_side() {
    let mut fake = Fake::new(200, 50);
    fake.has_plan();
    let events = sample::two_slots();
    fake.sees(&events[..events.len() / 2]);
    insta::assert_snapshot!(fake.shown());
}

#[test]
fn gallery_of_two_sessions_in_tabs() {
    let mut fake = Fake::new(80, 24);
    fake.has_plan();
    let events = sample::two_slots();
    fake.sees(&events[..events.len() / 2]);
    fake.press(KeyCode::Char('z'));
    fake.press(KeyCode::Char(']'));
    insta::assert_snapshot!(fake.shown());
}

#[test]
fn gallery_of_a_run_that_has_ended() {
    let mut fake = Fake::new(80, 24);
    fake.has_plan();
    fake.sees(&sample::busy_day());
    insta::assert_snapshot!(fake.shown());
}

#[test]
fn gallery_of_a_repository_without_runs() {
    let mut fake = Fake::new(80, 24);
    fake.state.replied(Reply::Plan(vec![]));
    insta::assert_snapshot!(fake.shown());
}

#[test]
fn gallery_of_an_answer() {
    let mut fake = at_work(80, 24);
    fake.press(KeyCode::Char('a'));
    fake.types("30 days");
    insta::assert_snapshot!(fake.shown());
}

#[test]
fn gallery_of_an_approval() {
    let mut fake = at_work(80, 24);
    for key in [KeyCode::Char('n'), KeyCode::Down, KeyCode::Enter] {
        fake.press(key);
    }
    insta::assert_snapshot!(fake.shown());
}

#[test]
fn gallery_of_a_cancel() {
    let mut fake = at_work(80, 24);
    fake.press_ctrl('c');
    insta::assert_snapshot!(fake.shown());
}

#[test]
fn gallery_of_the_help() {
    let mut fake = at_work(120, 40);
    fake.press(KeyCode::Char('?'));
    insta::assert_snapshot!(fake.shown());
}

#[test]
fn gallery_of_a_task() {
    let mut fake = at_work(120, 40);
    fake.state.plan.go_to(&of(REJECT));
    fake.press(KeyCode::Enter);
    let page = json!({
        "id": REJECT,
        "title": "Reject wrong passwords without telling which part was wrong",
        "status": "done",
        "feature": "login",
        "description": "Both cases answer 401 with the same text.",
        "blockers": [{"id": "t-2kq7m3ab", "status": "done", "title": "Add the login form"}],
        "dependents": [],
        "questions": [{"id": "q-1", "text": "Which text?", "answer": "wrong name or password"}],
        "attempts": [
            {"number": 1, "id": "a-1", "model": "sonnet", "duration_ms": 72_000,
             "end": {"outcome": "red", "detail": "gate test failed (exit code 101)", "said": "Both cases answer 401 now.",
                     "input_tokens": 18_000, "output_tokens": 700, "cost_micro_usd": 80_000}},
            {"number": 2, "id": "a-2", "model": "sonnet", "duration_ms": 47_000,
             "end": {"outcome": "done", "detail": "", "said": "", "input_tokens": 0, "output_tokens": 0,
                     "cost_micro_usd": 60_000}},
        ],
        "evidence": [
            {"attempt": "a-1", "judge": "test", "verdict": "fail", "duration_ms": 9_100,
             "digest": "assertion `left == right` failed\n  left: \"no such user\""},
            {"attempt": "a-2", "judge": "test", "verdict": "pass", "duration_ms": 12_100, "digest": ""},
            {"attempt": "a-2", "judge": "verifier", "verdict": "pass", "duration_ms": 4_000,
             "digest": "The text is the same in both cases."},
        ],
    });
    fake.state.replied(Reply::Task(of(REJECT), Ok(page)));
    insta::assert_snapshot!(fake.shown());
}

#[test]
fn gallery_of_the_work_of_a_task() {
    let mut fake = at_work(80, 24);
    fake.state.plan.go_to(&of(RESET));
    fake.press(KeyCode::Char('d'));
    let diff = "diff --git a/src/mail.rs b/src/mail.rs\nindex 1..2 100644\n--- a/src/mail.rs\n+++ b/src/mail.rs\n@@ -1,2 +1,2 @@\n use lettre;\n-old();\n+new();\n";
    fake.state.replied(Reply::Diff(of(RESET), Ok(diff.to_owned())));
    insta::assert_snapshot!(fake.shown());
    let cells = fake.cells();
    let added = cells.content().iter().find(|cell| cell.symbol() == "+" && cell.fg == Color::Green);
    assert!(added.is_some(), "lines that came are green");
}

#[test]
fn gallery_of_a_terminal_that_is_too_small() {
    insta::assert_snapshot!(at_work(40, 10).shown());
}

#[test]
fn a_picture_has_only_colors_that_every_theme_can_show() {
    let mut fake = Fake::new(120, 40);
    fake.has_plan();
    fake.sees_until(&sample::busy_day(), is_cancelled);
    let cells = fake.cells();
    for cell in cells.content() {
        let safe = [
            Color::Reset,
            Color::Red,
            Color::Green,
            Color::Yellow,
            Color::Cyan,
            Color::Magenta,
            Color::Blue,
        ];
        assert!(safe.contains(&cell.fg), "{cell:?}");
        assert_eq!(cell.bg, Color::Reset, "{cell:?}");
    }
    assert!(cells.content().iter().any(|cell| cell.fg != Color::Reset));
}

#[test]
fn without_colors_there_are_signs_and_a_reversed_selection() {
    let mut fake = at_work(80, 24);
    fake.state.palette.color = false;
    let cells = fake.cells();
    assert!(cells.content().iter().all(|cell| cell.fg == Color::Reset));
    assert!(cells.content().iter().any(|cell| cell.modifier.contains(Modifier::REVERSED)));
    let text = fake.shown();
    assert!(["✓", "✗", "?"].iter().all(|sign| text.contains(sign)), "{text}");
}

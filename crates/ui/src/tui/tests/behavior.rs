//! What keys and events do.

use ralph_core::agent::AgentEvent;
use ralph_core::run::{Cancel, RunEvent};
use ralph_core::task::ShownStatus;
use ratatui::crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::fake::{FORM, Fake, REMEMBER, RESET, is_cancelled, is_second_gate, of};
use crate::ports::{Refused, UserAction};
use crate::tests::sample::{self, SampleEvent};
use crate::tui::keys::GROUPS;
use crate::tui::overlay::Overlay;
use crate::tui::panes::PaneId;
use crate::tui::state::{Focus, Reply, Request};

fn running() -> Fake {
    let mut fake = Fake::new(80, 24);
    fake.has_plan();
    fake.sees_until(&sample::busy_day(), is_second_gate);
    fake.draw();
    fake
}

fn selected(fake: &Fake) -> &str {
    fake.state.plan.selected().unwrap().id.as_str()
}

#[test]
fn the_selection_follows_the_work_until_the_user_chooses() {
    let mut fake = running();
    assert_eq!(selected(&fake), "t-7hq2mz4a");
    fake.press(KeyCode::Up);
    fake.sees(&sample::busy_day());
    assert_eq!(selected(&fake), FORM);
}

#[test]
fn a_question_is_answered() {
    let mut fake = running();
    fake.press(KeyCode::Char('a'));
    assert!(fake.types("30 dayz").is_empty());
    fake.press(KeyCode::Backspace);
    fake.types("s");
    let request = fake.press(KeyCode::Enter);
    let Some(Request::Perform(UserAction::Answer { question, text })) = request else {
        panic!("{request:?}")
    };
    assert_eq!((question.as_str(), text.as_str()), ("q-5ohb2kdx", "30 days"));
    assert_eq!(fake.state.overlay, None);
    fake.state.replied(Reply::Done(Ok("answered; the task goes on".to_owned())));
    assert!(fake.shown().contains("answered; the task goes on"));
}

#[test]
fn an_empty_answer_is_not_sent() {
    let mut fake = running();
    fake.press(KeyCode::Char('a'));
    assert_eq!(fake.press(KeyCode::Enter), None);
    assert!(fake.state.overlay.is_some());
    fake.press(KeyCode::Esc);
    assert!(fake.state.overlay.is_none());
}

#[test]
fn work_is_approved_and_rejected_with_a_reason() {
    let mut fake = running();
    let open = [KeyCode::Char('n'), KeyCode::Down, KeyCode::Enter];
    for key in open {
        fake.press(key);
    }
    let task = of(RESET);
    assert_eq!(
        fake.press(KeyCode::Char('y')),
        Some(Request::Perform(UserAction::Approve { task: task.clone() }))
    );
    for key in open {
        fake.press(key);
    }
    fake.press(KeyCode::Char('x'));
    fake.types("no test");
    let why = "no test".to_owned();
    assert_eq!(
        fake.press(KeyCode::Enter),
        Some(Request::Perform(UserAction::Reject { task, why }))
    );
}

#[test]
fn what_stops_work_asks_first() {
    let mut fake = running();
    fake.state.plan.go_to(&of(REMEMBER));
    let task = of(REMEMBER);
    for (key, action) in [
        ('s', UserAction::Skip { task: task.clone() }),
        ('r', UserAction::Retry { task: task.clone() }),
        ('o', UserAction::Reopen { task: task.clone() }),
        ('y', UserAction::Approve { task }),
    ] {
        assert_eq!(fake.press(KeyCode::Char(key)), None);
        assert!(matches!(fake.state.overlay, Some(Overlay::Confirm { .. })), "{key}");
        fake.press(KeyCode::Esc);
        fake.press(KeyCode::Char(key));
        assert_eq!(fake.press(KeyCode::Enter), Some(Request::Perform(action)));
    }
}

#[test]
fn ctrl_c_asks_how_to_cancel_and_then_quits() {
    let mut fake = running();
    assert_eq!(fake.press_ctrl('c'), None);
    let after = Cancel::AfterSession;
    assert_eq!(fake.press(KeyCode::Enter), Some(Request::Perform(UserAction::Cancel { after })));
    fake.press_ctrl('c');
    fake.press(KeyCode::Down);
    let after = Cancel::Now;
    assert_eq!(fake.press(KeyCode::Enter), Some(Request::Perform(UserAction::Cancel { after })));
    fake.press_ctrl('c');
    assert_eq!(fake.press_ctrl('c'), Some(Request::Quit));
    let mut ended = Fake::new(80, 24);
    ended.sees(&sample::busy_day());
    assert_eq!(ended.press_ctrl('c'), Some(Request::Quit), "nothing runs");
}

#[test]
fn pause_is_resume_while_the_run_is_paused() {
    let mut fake = running();
    let pause = |fake: &mut Fake| fake.press(KeyCode::Char('p'));
    assert_eq!(pause(&mut fake), Some(Request::Perform(UserAction::Pause)));
    fake.state.live.runs[0].view.paused = true;
    assert_eq!(pause(&mut fake), Some(Request::Perform(UserAction::Resume)));
}

#[test]
fn a_refusal_is_shown_with_its_hint() {
    let mut fake = running();
    let message = "no run is active here".to_owned();
    let hints = vec!["start one: ralph build".to_owned()];
    fake.state.replied(Reply::Done(Err(Refused { message, hints, missing: false })));
    assert!(fake.shown().contains("no run is active here (start one: ralph build)"));
}

#[test]
fn tasks_are_searched_and_filtered() {
    let mut fake = running();
    fake.press(KeyCode::Char('/'));
    fake.types("mail");
    fake.press(KeyCode::Enter);
    assert_eq!(selected(&fake), RESET);
    assert!(fake.shown().contains("1 of 6: “mail”"));
    fake.press(KeyCode::Esc);
    fake.press(KeyCode::Char('f'));
    for _ in 0..4 {
        fake.press(KeyCode::Down);
    }
    fake.press(KeyCode::Enter);
    assert_eq!(fake.state.plan.filter(), Some(ShownStatus::Waiting));
    assert_eq!(selected(&fake), REMEMBER);
}

#[test]
fn a_session_scrolls_and_follows_again() {
    let mut fake = running();
    fake.press(KeyCode::Right);
    let pane = PaneId::Slot(0, 0);
    assert_eq!(fake.state.panes.anchor(pane), None);
    fake.press(KeyCode::Up);
    assert!(fake.state.panes.anchor(pane).is_some());
    let before = fake.shown();
    let text = "more and more\n".repeat(40);
    fake.state.seen(&observed(AgentEvent::Text { text }));
    assert_eq!(fake.shown(), before, "what the user reads stays");
    fake.press(KeyCode::Char('G'));
    assert_eq!(fake.state.panes.anchor(pane), None);
    assert!(fake.shown().contains("more and more"));
    fake.press(KeyCode::Char('g'));
    assert!(fake.shown().contains("session: Add the login form"));
    fake.press(KeyCode::Char('/'));
    fake.types("nowhere");
    fake.press(KeyCode::Enter);
    assert!(fake.shown().contains("not found in this session"));
    for _ in 0..30 {
        fake.press(KeyCode::PageDown);
    }
    assert_eq!(fake.state.panes.anchor(pane), None);
}

fn observed(event: AgentEvent) -> ralph_core::view::stream::Observation {
    use ralph_core::view::stream::{Observation, Observed};
    Observation { of: 0, what: Observed::Agent { slot: 0, at: Default::default(), event } }
}

#[test]
fn a_click_selects_and_the_wheel_scrolls() {
    let mut fake = running();
    let mouse = |fake: &mut Fake, kind, column, row| {
        let modifiers = KeyModifiers::NONE;
        fake.state.mouse(MouseEvent { kind, column, row, modifiers });
        fake.draw();
    };
    let click = MouseEventKind::Down(MouseButton::Left);
    mouse(&mut fake, click, 3, 4);
    assert_eq!(selected(&fake), FORM);
    mouse(&mut fake, click, 60, 10);
    assert_eq!(fake.state.focus, Focus::Panes);
    mouse(&mut fake, MouseEventKind::ScrollUp, 60, 10);
    assert!(fake.state.panes.anchor(PaneId::Slot(0, 0)).is_some());
    mouse(&mut fake, click, 10, 22);
    assert!(matches!(fake.state.overlay, Some(Overlay::Needs { .. })));
}

#[test]
fn a_summary_appears_when_the_run_ends_and_stays() {
    let mut fake = Fake::new(80, 24);
    fake.sees_until(&sample::busy_day(), is_cancelled);
    assert_eq!(fake.state.focused_pane(), Some(PaneId::Slot(0, 0)));
    fake.sees(&sample::busy_day());
    assert_eq!(fake.state.focused_pane(), Some(PaneId::Summary(0)));
    fake.state.over = true;
    assert!(fake.shown().contains("Next: "));
}

/// Text that tries to drive the terminal, in every place.
#[test]
fn hostile_text_stays_text() {
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}evil\u{0}\u{8}\r";
    let mut events = sample::busy_day();
    for event in &mut events {
        if let SampleEvent::Event(event) = event {
            let text = serde_json::to_string(event).unwrap();
            let evil = serde_json::to_string(evil).unwrap();
            let text = text.replace("Add the login form", evil.trim_matches('"'));
            *event = serde_json::from_str::<RunEvent>(&text).unwrap();
        }
    }
    let mut fake = Fake::new(120, 40);
    fake.has_plan();
    fake.sees_until(&events, is_second_gate);
    for event in [
        AgentEvent::Text { text: evil.to_owned() },
        AgentEvent::Thinking { text: evil.to_owned() },
        AgentEvent::ToolStarted { id: evil.into(), name: evil.into(), input: evil.into() },
        AgentEvent::ToolEnded { id: evil.into(), is_error: true, text: evil.into() },
        AgentEvent::Denied { tool: evil.to_owned() },
    ] {
        fake.state.seen(&observed(event));
    }
    let (message, hints) = (evil.to_owned(), vec![evil.to_owned()]);
    fake.state.replied(Reply::Done(Err(Refused { message, hints, missing: false })));
    fake.draw();
    assert!(fake.shown().contains("evil"));
    for cell in fake.cells().content() {
        let drives = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{200b}');
        assert!(!cell.symbol().contains(drives), "{:?}", cell.symbol());
    }
}

/// Whatever the user presses, at whatever size, the display goes on.
#[test]
fn random_keys_and_sizes_never_panic() {
    let keys: Vec<KeyCode> = GROUPS
        .iter()
        .flat_map(|(_, rows)| rows.iter())
        .flat_map(|row| row.keys.iter().copied())
        .chain([KeyCode::Backspace, KeyCode::Delete, KeyCode::Char('ö'), KeyCode::F(5)])
        .collect();
    for seed in 0..12 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut fake = Fake::new(100, 30);
        let events = if seed % 2 == 0 { sample::busy_day() } else { sample::two_slots() };
        let mut events = events.chunks(5);
        for _ in 0..250 {
            match dice.u8(0..20) {
                0 => fake.resize(dice.u16(1..220), dice.u16(1..60)),
                1 | 2 => fake.sees(events.next().unwrap_or_default()),
                3 => fake.has_plan(),
                4 => {
                    let (column, row) = (dice.u16(0..220), dice.u16(0..60));
                    let click = MouseEventKind::Down(MouseButton::Left);
                    let kind =
                        dice.choice([click, MouseEventKind::ScrollUp, MouseEventKind::ScrollDown]);
                    let (kind, modifiers) = (kind.unwrap(), KeyModifiers::NONE);
                    fake.state.mouse(MouseEvent { kind, column, row, modifiers });
                }
                5 => {
                    fake.press_ctrl(*dice.choice(&['c', 'u', 'd', 'a', 'e', 'w']).unwrap());
                }
                6 => fake.state.paste("a text\nof two lines"),
                _ => {
                    fake.press(*dice.choice(&keys).unwrap());
                }
            }
            fake.draw();
        }
    }
}

//! A replay on the screen: a control in memory takes what the keys ask for.

use std::sync::{Mutex, MutexGuard};

use ralph_core::agent::AgentEvent;
use ralph_core::run::RunEvent;
use ralph_core::time::Timestamp;
use ralph_core::view::playback::{PlaybackControl, Position, Speed, Timeline};
use ralph_core::view::stream::{Observation, Observed};
use ratatui::crossterm::event::KeyCode;

use super::fake::{FORM, Fake};
use crate::tests::sample::{self, SampleEvent};
use crate::tui::panes::PaneId;
use crate::tui::replay::{CONTROLS_NOTHING, Replay};
use crate::tui::state::{Focus, Request};

struct Control {
    timeline: Timeline,
    position: Mutex<Position>,
}

impl Control {
    fn locked(&self) -> MutexGuard<'_, Position> {
        self.position.lock().unwrap()
    }
}

impl PlaybackControl for Control {
    fn timeline(&self) -> Timeline {
        self.timeline.clone()
    }

    fn position(&self) -> Position {
        self.locked().clone()
    }

    fn set_speed(&self, speed: Speed) {
        self.locked().speed = speed;
    }

    fn pause(&self, paused: bool) {
        self.locked().paused = paused;
    }

    fn seek(&self, to: Timestamp) {
        self.locked().at = to;
    }
}

/// A replay of the busy day, which has been shown in full.
struct Test {
    fake: Fake,
    control: Control,
}

impl Test {
    fn new() -> Self {
        let facts = sample::busy_day().into_iter().filter_map(|event| match event {
            SampleEvent::Event(event) => Some(event),
            SampleEvent::Agent(..) => None,
        });
        let timeline = Timeline::of(&facts.collect::<Vec<RunEvent>>());
        let (at, speed) = (timeline.last, Speed::NORMAL);
        let position = Mutex::new(Position { at, speed, paused: false, ended: false });
        let control = Control { timeline, position };
        let mut fake = Fake::new(100, 30);
        fake.state.replay = Some(Replay::of(&control));
        fake.has_plan();
        fake.sees(&sample::busy_day());
        let mut test = Self { fake, control };
        test.played();
        test
    }

    fn played(&mut self) {
        self.fake.state.played(self.control.position());
    }

    fn press(&mut self, code: KeyCode) {
        match self.fake.press(code) {
            Some(Request::Play(play)) => play.ask(&self.control),
            None => {}
            other => panic!("{other:?}"),
        }
        self.played();
    }

    fn types(&mut self, text: &str) {
        text.chars().for_each(|letter| self.press(KeyCode::Char(letter)));
    }

    fn at(&self) -> Timestamp {
        self.control.position().at
    }

    #[track_caller]
    fn shows(&mut self, text: &str) {
        let shown = self.fake.shown();
        assert!(shown.contains(text), "{text:?} is not in\n{shown}");
    }
}

#[test]
fn a_replay_pauses_and_changes_its_speed() {
    let mut test = Test::new();
    test.shows("replay playing · 1×");
    test.shows("100%");
    test.types(" ");
    test.shows("replay paused · 1×");
    test.shows("Space go on");
    test.types("++-+");
    test.shows("replay paused · 5×");
    test.types("p");
    test.shows("replay playing · 5×");
}

#[test]
fn keys_jump_to_iterations_tenths_and_places() {
    let mut test = Test::new();
    let timeline = test.control.timeline();
    let begins: Vec<Timestamp> = timeline.iterations.iter().map(|(_, at)| *at).collect();
    test.types("5");
    test.shows(" 50%");
    test.types("0");
    assert_eq!(test.at(), timeline.first);
    test.press(KeyCode::Right);
    test.press(KeyCode::Right);
    assert_eq!(test.at(), begins[1]);
    test.press(KeyCode::Left);
    assert_eq!(test.at(), begins[0]);
    test.types("g2");
    test.press(KeyCode::Enter);
    assert_eq!(test.at(), begins[1]);
    test.shows(&format!("iteration 2 of {}", begins.len()));
    test.types("g99");
    test.press(KeyCode::Enter);
    test.shows("the run has no such iteration");
    assert_eq!(test.at(), begins[1]);
}

#[test]
fn durations_are_those_of_the_record() {
    let mut test = Test::new();
    test.types("0");
    let first = test.control.timeline().first;
    assert_eq!(test.fake.state.now, first);
    test.control.locked().at = first.plus_millis(3_000);
    assert!(test.fake.state.played(test.control.position()), "another second");
    assert!(!test.fake.state.played(test.control.position()));
    test.control.locked().ended = true;
    assert!(test.fake.state.played(test.control.position()));
    test.shows("replay at its end");
    test.shows("Space start over");
    test.control.locked().at = test.control.timeline().last;
    test.played();
    test.types(" ");
    assert_eq!(test.at(), first, "at its end it starts over");
}

#[test]
fn a_replay_controls_nothing() {
    let mut test = Test::new();
    for key in ["c", "s", "r", "o", "a", "y", "x", "m", "n"] {
        test.types(key);
        assert_eq!(test.fake.state.overlay, None, "{key}");
        test.shows(CONTROLS_NOTHING);
        test.press(KeyCode::Down);
    }
    let hints = test.fake.shown();
    for hidden in ["m message", "s skip", "r retry", "c cancel", "(n)"] {
        assert!(!hints.contains(hidden), "{hidden}: {hints}");
    }
    let opened = test.fake.press(KeyCode::Enter);
    assert!(matches!(opened, Some(Request::Task(_))), "{opened:?}");
    test.types("y");
    test.shows(CONTROLS_NOTHING);
    test.press(KeyCode::Esc);
    test.types("?");
    test.shows("The replay");
    test.press(KeyCode::Esc);
    assert_eq!(test.fake.press_ctrl('c'), Some(Request::Quit));
}

#[test]
fn what_the_user_has_chosen_survives_a_jump_back() {
    let mut test = Test::new();
    let pane = PaneId::Slot(0, 0);
    test.fake.state.plan.go_to(&super::fake::of(FORM));
    test.fake.state.plan.chosen = true;
    test.types("z");
    test.fake.state.panes.focus(pane);
    test.fake.state.focus = Focus::Panes;
    test.fake.draw();
    test.press(KeyCode::Up);
    assert!(test.fake.state.panes.anchor(pane).is_some());
    let joined = Observed::Joined { name: String::new() };
    test.fake.state.seen(&Observation { of: 0, what: joined });
    test.shows("Add the login form");
    let events = sample::busy_day();
    test.fake.sees(&events[..events.len() / 2]);
    let state = &test.fake.state;
    assert_eq!(state.focused_pane(), Some(pane));
    assert_eq!(state.panes.anchor(pane), None, "the place was one of more text");
    assert!(state.panes.zoomed && state.focus == Focus::Panes);
    assert_eq!(state.plan.selected().unwrap().id.as_str(), FORM);
    let (slot, at) = (0, Timestamp::default());
    let event = AgentEvent::Text { text: "Once more.".to_owned() };
    test.fake.state.seen(&Observation { of: 0, what: Observed::Agent { slot, at, event } });
    test.shows("Once more.");
}

#[test]
fn gallery_of_a_replay() {
    let mut test = Test::new();
    let events = sample::busy_day();
    let joined = Observed::Joined { name: String::new() };
    test.fake.state.seen(&Observation { of: 0, what: joined });
    test.fake.sees(&events[..events.len() / 2]);
    test.types("+++5 ");
    let shown = test.fake.shown();
    test.types("?");
    insta::assert_snapshot!(format!("{shown}\n{}", test.fake.shown()));
}

//! A repository in memory, and a display of it.

use ralph_core::TaskId;
use ralph_core::ids::QuestionId;
use ralph_core::run::{Class, Fact};
use ralph_core::task::{Counts, Status, Task};
use ralph_core::text::Title;
use ralph_core::time::{Timestamp, Zone};
use ralph_core::view::QuestionView;
use ralph_core::view::stream::{Observation, Observed};
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use crate::status::{State as RunState, StatusPage, WaitingTask};
use crate::tests::sample::{SampleEvent, id};
use crate::tui::draw;
use crate::tui::screen::Screen;
use crate::tui::state::{Reply, Request, State};

pub(super) const FORM: &str = "t-2kq7m3ab";
pub(super) const REJECT: &str = "t-7hq2mz4a";
pub(super) const REMEMBER: &str = "t-m4xw6tfe";
pub(super) const RESET: &str = "t-q3nd5yhc";

pub(super) fn task(name: &str, title: &str, status: Status) -> Task {
    let mut task = Task::new(id(name), Title::new(title).unwrap(), Timestamp::default());
    task.status = status;
    task
}

/// The plan of the sample run.
pub(super) fn plan() -> Vec<Task> {
    let mut login = task("t-login", "Login", Status::Pending);
    login.neighbors.children = 4;
    let child = |name: &str, title: &str, status| {
        let mut task = task(name, title, status);
        task.parent = Some(id("t-login"));
        task
    };
    let mut reject =
        child(REJECT, "Reject wrong passwords without telling which part was wrong", Status::Done);
    reject.retry_count = 1;
    let mut reset = child(RESET, "Send a mail to reset the password", Status::Pending);
    reset.deps = vec![id(FORM), id(REMEMBER)];
    reset.neighbors.open_blockers = 1;
    reset.reason = Some("ended with signal 11 and no result".to_owned());
    vec![
        login,
        child(FORM, "Add the login form", Status::Done),
        reject,
        child(REMEMBER, "Remember the session", Status::Waiting),
        reset,
        task("t-audit", "Log every login in the audit table", Status::Failed),
    ]
}

pub(super) fn page() -> StatusPage {
    let text = "How long is a session to be remembered: a day, as the spec says, or 30 days?";
    let question = QuestionId::new("q-5ohb2kdx").unwrap();
    StatusPage {
        state: RunState::Stopped,
        run: None,
        counts: Counts::default(),
        forecast: None,
        level: None,
        questions: vec![QuestionView { id: question, task: id(REMEMBER), text: text.to_owned() }],
        waiting: vec![WaitingTask {
            task: id(RESET),
            reason: "it changes protected files (ralph.toml)".to_owned(),
            approval: true,
        }],
        lanes: vec![],
        last_error: None,
        commits: vec![],
        next: vec![],
        now: Timestamp::default(),
    }
}

/// A display and its terminal.
pub(super) struct Fake {
    pub(super) state: State,
    screen: Screen<TestBackend>,
}

impl Fake {
    pub(super) fn new(width: u16, height: u16) -> Self {
        let root = "/home/ann/shop".to_owned();
        let began = Timestamp::parse("2026-11-15T02:45:00Z").unwrap();
        let screen = Screen::new(TestBackend::new(width, height)).unwrap();
        Self { state: State::new(root, Zone::UTC, began, true), screen }
    }

    /// Sees a run.
    pub(super) fn sees(&mut self, events: &[SampleEvent]) {
        let mut at = self.state.now;
        for event in events {
            let what = match event {
                SampleEvent::Event(event) => {
                    at = event.at;
                    Observed::Fact { event: event.clone() }
                }
                SampleEvent::Agent(slot, event) => {
                    Observed::Agent { slot: *slot, at, event: event.clone() }
                }
            };
            self.state.seen(&Observation { of: 0, what });
        }
        self.state.tick(at.plus_millis(12_000));
    }

    /// Sees a run until this fact comes.
    pub(super) fn sees_until(&mut self, events: &[SampleEvent], stop: impl Fn(&Fact) -> bool) {
        let is_end =
            |event: &SampleEvent| matches!(event, SampleEvent::Event(event) if stop(&event.fact));
        let end = events.iter().position(is_end).unwrap_or(events.len());
        self.sees(&events[..end]);
    }

    pub(super) fn has_plan(&mut self) {
        self.state.replied(Reply::Plan(plan()));
        self.state.replied(Reply::Status(Box::new(page())));
    }

    pub(super) fn types(&mut self, text: &str) -> Vec<Request> {
        text.chars().filter_map(|letter| self.press(KeyCode::Char(letter))).collect()
    }

    pub(super) fn press(&mut self, code: KeyCode) -> Option<Request> {
        let request = self.state.key(&KeyEvent::new(code, KeyModifiers::NONE));
        self.draw();
        request
    }

    pub(super) fn press_ctrl(&mut self, letter: char) -> Option<Request> {
        let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        self.state.key(&key)
    }

    pub(super) fn draw(&mut self) {
        let state = &self.state;
        self.state.places = self.screen.draw(|buffer| draw::draw(state, buffer)).unwrap();
    }

    pub(super) fn resize(&mut self, width: u16, height: u16) {
        self.screen.backend_mut().resize(width, height);
        self.screen.renew().unwrap();
        self.draw();
    }

    /// What is on the terminal.
    pub(super) fn shown(&mut self) -> String {
        self.draw();
        text_of(self.screen.backend().buffer())
    }

    /// The picture, with the colors of its cells.
    pub(super) fn cells(&mut self) -> Buffer {
        self.draw();
        self.screen.backend().buffer().clone()
    }
}

/// The rows of a buffer, without spaces at their ends.
pub(super) fn text_of(buffer: &Buffer) -> String {
    let Rect { width, height, .. } = *buffer.area();
    let mut text = String::new();
    for y in 0..height {
        let mut row = String::new();
        let mut x = 0;
        while x < width {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += unicode_width::UnicodeWidthStr::width(symbol).max(1) as u16;
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

pub(super) fn is_cancelled(fact: &Fact) -> bool {
    matches!(fact, Fact::ControlReceived { .. })
}

pub(super) fn is_second_gate(fact: &Fact) -> bool {
    matches!(fact, Fact::IterationEnded { class: Class::Red, .. })
}

pub(super) fn of(task: &str) -> TaskId {
    id(task)
}

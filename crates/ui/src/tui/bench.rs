//! The display without a terminal: what it draws is counted. For the benchmark and for tests; not part of the program.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use ralph_core::task::Task;
use ralph_core::time::{Timestamp, Zone};
use ralph_core::view::stream::Observation;
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

use super::draw;
use super::screen::Screen;
use super::state::{Reply, State};

/// The screen of `ralph watch`, of a fixed size.
pub struct Display {
    state: State,
    screen: Screen<Fixed>,
    written: Counter,
}

impl Display {
    pub fn new(size: (u16, u16), now: Timestamp) -> io::Result<Self> {
        Self::of(State::new("/home/ann/shop".to_owned(), Zone::UTC, now, true), size)
    }

    pub(super) fn of(state: State, (width, height): (u16, u16)) -> io::Result<Self> {
        let written = Counter::default();
        let terminal = CrosstermBackend::new(written.clone());
        let screen = Screen::new(Fixed { terminal, size: Size::new(width, height) })?;
        Ok(Self { state, screen, written })
    }

    /// Shows these tasks as the plan.
    pub fn plan(&mut self, tasks: Vec<Task>) {
        self.state.replied(Reply::Plan(tasks));
    }

    pub fn seen(&mut self, seen: &Observation) {
        self.state.seen(seen);
    }

    /// Whether something on the screen shows the new time.
    pub fn tick(&mut self, now: Timestamp) -> bool {
        self.state.tick(now)
    }

    /// Draws a picture; how many bytes that wrote.
    pub fn draw(&mut self) -> io::Result<usize> {
        let before = *self.written.0.borrow();
        let state = &self.state;
        self.state.places = self.screen.draw(|buffer| draw::draw(state, buffer))?;
        Ok(*self.written.0.borrow() - before)
    }
}

/// Counts what reaches the terminal.
#[derive(Clone, Default)]
struct Counter(Rc<RefCell<usize>>);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0.borrow_mut() += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal of a fixed size.
struct Fixed {
    terminal: CrosstermBackend<Counter>,
    size: Size,
}

impl Backend for Fixed {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.terminal.draw(content)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.terminal.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.terminal.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.terminal.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.terminal.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size, pixels: Size::default() })
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.terminal)
    }
}

//! What the display costs: nothing while nothing happens, and little while agents print a lot.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use ralph_core::agent::AgentEvent;
use ralph_core::time::Timestamp;
use ralph_core::view::stream::{Observation, Observed};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

use super::fake::{Fake, is_second_gate};
use crate::tests::sample;
use crate::tui::draw;
use crate::tui::screen::Screen;

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
struct Fixed(CrosstermBackend<Counter>);

impl Backend for Fixed {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.0.draw(content)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.0.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.0.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.0.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.0.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        Ok(Size::new(120, 40))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: Size::new(120, 40), pixels: Size::default() })
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.0)
    }
}

#[test]
fn where_nothing_changes_nothing_is_written() {
    let written = Counter::default();
    let backend = Fixed(CrosstermBackend::new(written.clone()));
    let mut screen = Screen::new(backend).unwrap();
    let mut fake = Fake::new(120, 40);
    fake.has_plan();
    fake.sees_until(&sample::busy_day(), is_second_gate);
    let mut draw = |fake: &Fake| {
        let before = *written.0.borrow();
        screen.draw(|buffer| draw::draw(&fake.state, buffer)).unwrap();
        *written.0.borrow() - before
    };
    assert!(draw(&fake) > 1_000);
    assert_eq!(draw(&fake), 0);
    let next = fake.state.now.plus_millis(1_000);
    assert!(fake.state.tick(next));
    let clock = draw(&fake);
    assert!((1..200).contains(&clock), "only the times change: {clock} bytes");
    assert!(!fake.state.tick(next.plus_millis(10)), "the same second");
}

#[test]
fn the_clock_does_not_tick_once_the_run_has_ended() {
    let mut fake = Fake::new(120, 40);
    fake.sees(&sample::busy_day());
    let next = fake.state.now.plus_millis(5_000);
    assert!(!fake.state.tick(next));
}

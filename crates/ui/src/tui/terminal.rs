//! The terminal while the display has it: the other screen, keys without echo, the mouse. Whatever ends the display, also a
//! panic, the terminal is given back as it was.

use std::io::{self, Stdout, Write, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// The display has the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOKED: Once = Once::new();

/// Gives the terminal back when it is dropped.
pub(super) struct Taken(());

impl Taken {
    pub(super) fn take() -> io::Result<(Self, CrosstermBackend<io::BufWriter<Stdout>>)> {
        HOOKED.call_once(|| {
            let next = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                next(panic);
            }));
        });
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let taken = Self(());
        execute!(stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)?;
        // One write for each picture.
        let out = io::BufWriter::with_capacity(64 * 1024, stdout());
        Ok((taken, CrosstermBackend::new(out)))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// A terminal that is gone takes none of this, and nothing is left to do then.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(
            stdout(),
            DisableBracketedPaste,
            DisableMouseCapture,
            LeaveAlternateScreen,
            Show
        );
        let _ = stdout().flush();
        let _ = disable_raw_mode();
    }
}

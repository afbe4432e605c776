//! What is on the terminal: writes only the cells that differ from what it shows, and nothing at all where none does.

use std::io;

use ratatui::backend::Backend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

pub(super) struct Screen<B> {
    backend: B,
    shown: Buffer,
    next: Buffer,
    cursor: Option<Position>,
}

impl<B: Backend> Screen<B>
where
    B::Error: Send + Sync + 'static,
{
    pub(super) fn new(backend: B) -> io::Result<Self> {
        let area = Rect::from((Position::ORIGIN, backend.size().map_err(io::Error::other)?));
        let mut screen =
            Self { backend, shown: Buffer::empty(area), next: Buffer::empty(area), cursor: None };
        screen.backend.hide_cursor().map_err(io::Error::other)?;
        screen.backend.clear().map_err(io::Error::other)?;
        Ok(screen)
    }

    /// The terminal has changed its size, or what it shows is not what was written: everything is drawn again.
    pub(super) fn renew(&mut self) -> io::Result<()> {
        let area = Rect::from((Position::ORIGIN, self.backend.size().map_err(io::Error::other)?));
        self.shown = Buffer::empty(area);
        self.next = Buffer::empty(area);
        self.backend.clear().map_err(io::Error::other)
    }

    /// Shows what `draw` puts into an empty buffer, with the cursor where it says.
    pub(super) fn draw<R>(
        &mut self,
        draw: impl FnOnce(&mut Buffer) -> (Option<Position>, R),
    ) -> io::Result<R> {
        self.next.reset();
        let (cursor, result) = draw(&mut self.next);
        self.write(cursor).map_err(io::Error::other)?;
        self.cursor = cursor;
        std::mem::swap(&mut self.shown, &mut self.next);
        Ok(result)
    }

    fn write(&mut self, cursor: Option<Position>) -> Result<(), B::Error> {
        let changes = self.shown.diff(&self.next);
        let written = !changes.is_empty();
        if written {
            self.backend.draw(changes.into_iter())?;
        }
        // Where a cell was written, the cursor has left its place.
        let moved = cursor != self.cursor || (written && cursor.is_some());
        match cursor {
            Some(at) if moved => {
                self.backend.set_cursor_position(at)?;
                self.backend.show_cursor()?;
            }
            None if moved => self.backend.hide_cursor()?,
            _ => {}
        }
        match written || moved {
            true => self.backend.flush(),
            false => Ok(()),
        }
    }

    #[cfg(test)]
    pub(super) const fn backend(&self) -> &B {
        &self.backend
    }

    #[cfg(test)]
    pub(super) const fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }
}

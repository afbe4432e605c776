//! Rows of colored text in a buffer. Every text goes through the sanitizing of `ralph-core` here, so that none of it can
//! drive the terminal, and gets its color by what it means.

use anstyle::{AnsiColor, Effects, Style as Ansi};
use ralph_core::text::printable_line;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthStr;

use crate::columns::cut;
use crate::style::Meaning;

/// How text looks: in colors, or only bold and dim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tui) struct Palette {
    pub(in crate::tui) color: bool,
}

impl Palette {
    fn of(self, ansi: Ansi) -> Style {
        let mut style = Style::default();
        let effects = ansi.get_effects();
        if effects.contains(Effects::BOLD) {
            style = style.add_modifier(Modifier::BOLD);
        }
        if effects.contains(Effects::DIMMED) {
            style = style.add_modifier(Modifier::DIM);
        }
        match ansi.get_fg_color() {
            Some(anstyle::Color::Ansi(color)) if self.color => style.fg(named(color)),
            _ => style,
        }
    }
}

const fn named(color: AnsiColor) -> Color {
    match color {
        AnsiColor::Red | AnsiColor::BrightRed => Color::Red,
        AnsiColor::Green | AnsiColor::BrightGreen => Color::Green,
        AnsiColor::Yellow | AnsiColor::BrightYellow => Color::Yellow,
        AnsiColor::Blue | AnsiColor::BrightBlue => Color::Blue,
        AnsiColor::Magenta | AnsiColor::BrightMagenta => Color::Magenta,
        AnsiColor::Cyan | AnsiColor::BrightCyan => Color::Cyan,
        // These vanish on some themes: text keeps the color of the terminal.
        AnsiColor::Black | AnsiColor::BrightBlack | AnsiColor::White | AnsiColor::BrightWhite => {
            Color::Reset
        }
    }
}

/// A style after a code that changes it.
fn changed(style: Ansi, code: &str) -> Ansi {
    const COLORS: [AnsiColor; 8] = [
        AnsiColor::Black,
        AnsiColor::Red,
        AnsiColor::Green,
        AnsiColor::Yellow,
        AnsiColor::Blue,
        AnsiColor::Magenta,
        AnsiColor::Cyan,
        AnsiColor::White,
    ];
    let color = |at: usize| style.fg_color(Some(COLORS[at].into()));
    match code.parse() {
        Ok(0_usize) => Ansi::new(),
        Ok(1) => style.bold(),
        Ok(2) => style.dimmed(),
        Ok(code @ 30..=37) => color(code - 30),
        Ok(code @ 90..=97) => color(code - 90),
        _ => style,
    }
}

/// One row of parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::tui) struct Row {
    parts: Vec<(Ansi, String)>,
}

impl Row {
    pub(in crate::tui) fn new() -> Self {
        Self::default()
    }

    pub(in crate::tui) fn of(meaning: impl Into<Option<Meaning>>, text: impl AsRef<str>) -> Self {
        Self::new().add(meaning, text)
    }

    #[must_use]
    pub(in crate::tui) fn add(
        mut self,
        meaning: impl Into<Option<Meaning>>,
        text: impl AsRef<str>,
    ) -> Self {
        let text = printable_line(text.as_ref());
        if !text.is_empty() {
            let style = meaning.into().map_or(Ansi::new(), Meaning::style);
            self.parts.push((style, text.into_owned()));
        }
        self
    }

    /// A line that another display has painted with the codes of `style`, which are the only ones in it.
    pub(in crate::tui) fn of_painted(line: &str) -> Self {
        let mut row = Self::new();
        let mut style = Ansi::new();
        let mut parts = line.split("\u{1b}[");
        let first = parts.next().unwrap_or_default();
        let rest = parts.map(|part| part.split_once('m').unwrap_or(("", part)));
        for (code, text) in std::iter::once(("", first)).chain(rest) {
            style = changed(style, code);
            let text = printable_line(text);
            if !text.is_empty() {
                row.parts.push((style, text.into_owned()));
            }
        }
        row
    }

    /// Both, one after the other.
    #[must_use]
    pub(in crate::tui) fn join(mut self, other: &Self) -> Self {
        self.parts.extend_from_slice(&other.parts);
        self
    }

    pub(in crate::tui) fn text(&self) -> String {
        self.parts.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[must_use]
    pub(in crate::tui) fn plain(self, text: impl AsRef<str>) -> Self {
        self.add(None, text)
    }

    /// Adds a text that gets the cells between what is there already and `reserved` cells at the end of `width`.
    #[must_use]
    pub(in crate::tui) fn fit(
        self,
        meaning: impl Into<Option<Meaning>>,
        text: &str,
        width: usize,
        reserved: usize,
    ) -> Self {
        let room = width.saturating_sub(self.width() + reserved);
        let text = cut(&printable_line(text), room);
        if room == 0 { self } else { self.add(meaning, text) }
    }

    pub(in crate::tui) fn width(&self) -> usize {
        self.parts.iter().map(|(_, text)| text.width()).sum()
    }

    /// Writes the row into a buffer, no wider than `width`; the rest of the row keeps its style.
    pub(in crate::tui) fn draw(
        &self,
        buffer: &mut Buffer,
        (x, y): (u16, u16),
        width: u16,
        palette: Palette,
    ) {
        if y >= buffer.area.bottom() || x >= buffer.area.right() {
            return;
        }
        let mut at = x;
        let end = x.saturating_add(width).min(buffer.area.right());
        for (style, text) in &self.parts {
            if at >= end {
                return;
            }
            let room = usize::from(end - at);
            let shown = cut(text, room);
            let (next, _) = buffer.set_stringn(at, y, shown, room, palette.of(*style));
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;

    use super::*;

    #[test]
    fn text_cannot_drive_the_terminal() {
        let row = Row::new().plain("a\u{1b}[2Jb").add(Meaning::Bad, "\u{9b}31mc\u{202e}\rd\n");
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        row.draw(&mut buffer, (0, 0), 12, Palette { color: true });
        let shown: String = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
        assert_eq!(shown.trim_end(), "abcd");
    }

    #[test]
    fn no_color_is_white_or_black_and_without_colors_there_is_none() {
        let all = [Meaning::Good, Meaning::Bad, Meaning::Warning, Meaning::Active, Meaning::Model];
        for meaning in all {
            let color = Palette { color: true }.of(meaning.style()).fg;
            assert!(!matches!(color, Some(Color::White | Color::Black | Color::Gray)));
            assert_eq!(Palette { color: false }.of(meaning.style()).fg, None);
        }
    }

    #[test]
    fn painted_lines_keep_their_colors() {
        let row = Row::of_painted("a \u{1b}[1m\u{1b}[31mred\u{1b}[0m b");
        let bold_red = AnsiColor::Red.on_default().bold();
        let part = |style, text: &str| (style, text.to_owned());
        let (plain, red) = (Ansi::new(), bold_red);
        assert_eq!(row.parts, [part(plain, "a "), part(red, "red"), part(plain, " b")]);
    }
}

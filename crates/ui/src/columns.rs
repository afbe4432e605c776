//! Aligned columns. Widths are counted in terminal cells, so wide letters stay aligned.

use ralph_core::text::printable_line;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::style::{Meaning, TextStyle};

/// One cell of a table. Its text cannot drive a terminal, wherever it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    meaning: Option<Meaning>,
}

impl Cell {
    pub fn new(text: impl Into<String>) -> Self {
        Self::meaning(text, None)
    }

    pub fn meaning(text: impl Into<String>, meaning: Option<Meaning>) -> Self {
        Self { text: printable_line(&text.into()).into_owned(), meaning }
    }
}

/// Rows of equally many cells below a heading. `flexible` is the column that is cut when the terminal
/// is narrow.
pub fn table(headings: &[&str], flexible: usize, rows: &[Vec<Cell>], style: TextStyle) -> String {
    let mut widths: Vec<usize> = headings.iter().map(|heading| heading.width()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.width());
        }
    }
    if let Some(terminal) = style.width {
        let others: usize =
            widths.iter().enumerate().filter(|(i, _)| *i != flexible).map(|(_, w)| w + 2).sum();
        widths[flexible] = widths[flexible].min(terminal.saturating_sub(others).max(16));
    }
    let mut text = String::new();
    let heading: Vec<Cell> =
        headings.iter().map(|heading| Cell::meaning(*heading, Some(Meaning::Faint))).collect();
    for row in std::iter::once(&heading).chain(rows) {
        let mut line = String::new();
        let last = row.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
        for (index, (cell, width)) in row.iter().zip(&widths).enumerate().take(last + 1) {
            let shown = cut(&cell.text, *width);
            let padding = if index == last { 0 } else { width - shown.width() + 2 };
            line.push_str(&style.paint(cell.meaning, &shown));
            line.extend(std::iter::repeat_n(' ', padding));
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The text, cut to `width` cells with a mark that something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 1;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        if used > width {
            break;
        }
        shown.push(letter);
    }
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_a_cell_cannot_drive_a_terminal() {
        let rows = [vec![Cell::new("a\u{202e}b\u{1b}[2Jc\u{200b}\nd")]];
        let text = table(&["X"], 0, &rows, TextStyle::PLAIN);
        assert_eq!(text.lines().count(), 2, "{text:?}");
        let drives = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{200b}');
        assert!(!text.contains(drives), "{text:?}");
    }

    #[test]
    fn wide_letters_keep_their_columns() {
        let rows = [
            vec![Cell::new("a"), Cell::new("設計"), Cell::new("x")],
            vec![Cell::new("bb"), Cell::new("plan"), Cell::new("y")],
        ];
        let text = table(&["ID", "TITLE", "BY"], 1, &rows, TextStyle::PLAIN);
        assert_eq!(text, "ID  TITLE  BY\na   設計   x\nbb  plan   y\n");
    }

    #[test]
    fn only_the_flexible_column_is_cut() {
        let rows = [vec![Cell::new("t-1"), Cell::new("a title that is far too long to fit here")]];
        let style = TextStyle { color: false, width: Some(24) };
        let text = table(&["ID", "TITLE"], 1, &rows, style);
        assert_eq!(text, "ID   TITLE\nt-1  a title that is fa…\n");
        assert_eq!(cut("設計設計", 5), "設計…");
    }
}

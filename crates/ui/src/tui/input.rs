//! A line of text that the user types.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The longest text that can be typed or pasted, in bytes.
const LONGEST: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Input {
    text: String,
    /// Where the cursor is, in bytes.
    at: usize,
}

/// A change of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    Insert(char),
    Backspace,
    Delete,
    /// Back to the beginning of the word.
    EraseWord,
    EraseAll,
    Left,
    Right,
    Start,
    End,
}

impl Input {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), at: text.len() }
    }

    /// Adds a text that was pasted; its lines become one.
    pub(super) fn paste(&mut self, text: &str) {
        let line = ralph_core::text::printable_line(text);
        line.chars().for_each(|letter| self.edit(Edit::Insert(letter)));
    }

    pub(super) fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Insert(letter) if letter.is_control() || self.text.len() >= LONGEST => {}
            Edit::Insert(letter) => {
                self.text.insert(self.at, letter);
                self.at += letter.len_utf8();
            }
            Edit::Backspace => self.erase_from(self.before()),
            Edit::Delete => {
                let from = self.at;
                self.at = self.after();
                self.erase_from(from);
            }
            Edit::EraseWord => {
                let head = self.text[..self.at].trim_end();
                let from = head.rfind(' ').map_or(0, |space| space + 1);
                self.erase_from(from);
            }
            Edit::EraseAll => self.erase_from(0),
            Edit::Left => self.at = self.before(),
            Edit::Right => self.at = self.after(),
            Edit::Start => self.at = 0,
            Edit::End => self.at = self.text.len(),
        }
    }

    fn erase_from(&mut self, from: usize) {
        self.text.drain(from..self.at);
        self.at = from;
    }

    fn before(&self) -> usize {
        self.text[..self.at].char_indices().next_back().map_or(0, |(index, _)| index)
    }

    fn after(&self) -> usize {
        self.at + self.text[self.at..].chars().next().map_or(0, char::len_utf8)
    }

    /// The part of the line that fits `width` cells, and the cell of the cursor in it.
    pub(super) fn window(&self, width: usize) -> (String, usize) {
        let head = self.text[..self.at].width();
        let skip = (head + 1).saturating_sub(width);
        let (mut passed, mut shown) = (0, String::new());
        for letter in self.text.chars() {
            let own = letter.width().unwrap_or(0);
            if passed >= skip && passed + own <= skip + width {
                shown.push(letter);
            }
            passed += own;
        }
        (shown, head - skip.min(head))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_typed_and_erased_where_the_cursor_is() {
        let mut input = Input::default();
        input.paste("30 days\nor ö\u{1b}[2J");
        assert_eq!(input.text(), "30 days or ö");
        for edit in [Edit::Backspace, Edit::EraseWord, Edit::Start, Edit::Delete, Edit::End] {
            input.edit(edit);
        }
        assert_eq!(input.text(), "0 days ");
        input.edit(Edit::Insert('x'));
        assert_eq!(input.window(4), ("ys x".to_owned()[1..].to_owned(), 3));
        input.edit(Edit::EraseAll);
        assert_eq!((input.text(), input.window(9)), ("", (String::new(), 0)));
    }
}

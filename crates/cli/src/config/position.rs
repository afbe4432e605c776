//! Places in a file, and errors that show the line with a caret under what is wrong.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use unicode_width::UnicodeWidthChar;

use super::value::hidden;
use crate::error::CliError;

/// A place in a file. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePosition {
    /// The file, as it is shown to the user.
    pub path: PathBuf,
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

/// Something in the configuration that does not stop ralph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warning {
    pub message: String,
    pub place: Option<FilePosition>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Why the configuration cannot be used.
pub(super) fn invalid(message: String) -> CliError {
    CliError::failed(message).hint("see every setting and what it means: ralph config defaults")
}

/// The text of one file, with its lines counted.
#[derive(Debug)]
pub(super) struct Source<'a> {
    path: &'a Path,
    text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> Source<'a> {
    pub(super) fn new(path: &'a Path, text: &'a str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { path, text, line_starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    pub(super) fn place(&self, offset: usize) -> FilePosition {
        let offset = self.text.floor_char_boundary(offset);
        let index = self.line_starts.partition_point(|start| *start <= offset) - 1;
        let before = &self.text[self.line_starts[index]..offset];
        let column = seen(before).count() + 1;
        FilePosition { path: self.path.to_owned(), line: index + 1, column }
    }

    pub(super) fn warning(&self, span: &Range<usize>, message: String) -> Warning {
        Warning { message, place: Some(self.place(span.start)) }
    }

    /// An error about the part of the text in `span`. A span over several lines is marked on the
    /// first; an empty one gets one caret.
    pub(super) fn error(&self, span: &Range<usize>, message: String) -> CliError {
        let place = self.place(span.start);
        let from = self.line_starts[place.line - 1];
        let line = self.text[from..].split('\n').next().unwrap_or_default();
        let line = line.strip_suffix('\r').unwrap_or(line);
        let start = line.floor_char_boundary(self.text.floor_char_boundary(span.start) - from);
        let end = line.ceil_char_boundary(span.end.saturating_sub(from).max(start));
        let before = printed_width(&line[..start]);
        let carets = printed_width(&line[start..end]).max(1);
        let line: String = seen(line).map(printed).collect();
        let number = place.line.to_string();
        let (margin, line) = (number.len(), line.trim_end());
        let excerpt = format!(
            "{0:margin$}--> {place}\n{0:margin$} |\n{number} | {line}\n{0:margin$} | {0:before$}{0:^<carets$}",
            ""
        );
        invalid(message).excerpt(excerpt)
    }
}

/// The characters of a line, without the byte order mark that some editors put at the start of a file.
fn seen(line: &str) -> impl Iterator<Item = char> {
    line.strip_prefix('\u{feff}').unwrap_or(line).chars()
}

/// What is printed for a character. A tab becomes one blank, so that its width does not depend on its column;
/// characters that would control the terminal are replaced.
fn printed(ch: char) -> char {
    match ch {
        '\t' => ' ',
        _ if hidden(ch) => '\u{fffd}',
        _ => ch,
    }
}

fn printed_width(text: &str) -> usize {
    seen(text).map(|ch| printed(ch).width().unwrap_or_default()).sum()
}

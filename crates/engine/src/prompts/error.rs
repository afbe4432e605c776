//! Why a template cannot be used, with the line and column in its file.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use minijinja::ErrorKind;
use ralph_core::nearest::nearest;
use unicode_width::UnicodeWidthChar;

use super::limits::Forbidden;

#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}:{line} is not UTF-8 text", path.display())]
    NotText {
        path: PathBuf,
        /// The first line with something else in it.
        line: usize,
    },
    #[error("{0}")]
    Fault(Box<TemplateFault>),
}

/// Something wrong in a template. Displays as a sentence and the line with a caret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFault {
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// One sentence.
    pub message: String,
    pub hint: Option<String>,
    /// The line, ready to print.
    pub excerpt: String,
    /// How many columns of the terminal come before the caret.
    before: usize,
    carets: usize,
}

impl TemplateFault {
    pub(super) fn new(path: &Path, text: &str, error: &minijinja::Error) -> Self {
        let span = span(text, error);
        let (message, hint) = words(error, &text[span.clone()]);
        Self::at(path, text, span, message, hint)
    }

    /// A template with something in it that no prompt may have.
    pub(super) fn forbidden(path: &Path, text: &str, found: Forbidden) -> Self {
        let (start, end) = (found.span.start_offset as usize, found.span.end_offset as usize);
        let end = text.floor_char_boundary(end);
        let span = text.floor_char_boundary(start).min(end)..end;
        Self::at(path, text, span, found.message, None)
    }

    fn at(
        path: &Path,
        text: &str,
        span: Range<usize>,
        message: String,
        hint: Option<String>,
    ) -> Self {
        let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let line = text[start..].split('\n').next().unwrap_or_default();
        let line = line.strip_suffix('\r').unwrap_or(line);
        let from = line.floor_char_boundary(span.start - start);
        let to = line.floor_char_boundary((span.end - start).min(line.len())).max(from);
        Self {
            path: path.to_owned(),
            line: text[..start].matches('\n').count() + 1,
            column: line[..from].chars().count() + 1,
            message,
            hint,
            excerpt: line.chars().map(printed).collect::<String>().trim_end().to_owned(),
            before: width(&line[..from]),
            carets: width(&line[from..to]).max(1),
        }
    }
}

/// Where the error is. Without a range of its own it is the whole line.
fn span(text: &str, error: &minijinja::Error) -> Range<usize> {
    if let Some(range) = error.range() {
        let end = text.floor_char_boundary(range.end);
        return text.floor_char_boundary(range.start).min(end)..end;
    }
    let line = error.line().unwrap_or(1).max(1) - 1;
    let start = match line {
        0 => 0,
        _ => text.match_indices('\n').nth(line - 1).map_or(text.len(), |(at, _)| at + 1),
    };
    let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    start..end
}

fn words(error: &minijinja::Error, named: &str) -> (String, Option<String>) {
    let braces = "for literal braces, put {% raw %}...{% endraw %} around them";
    if error.kind() == ErrorKind::UndefinedError {
        let name: String = named.chars().map(printed).take(60).collect();
        let hint = match nearest(&name, super::VARIABLES, 1).first() {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("the variables are {}; {braces}", super::VARIABLES.join(", ")),
        };
        return (format!("there is no variable {name}"), Some(hint));
    }
    if let Some(limit) = super::limits::words(error) {
        return (limit, None);
    }
    let message = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    let is_syntax = error.kind() == ErrorKind::SyntaxError;
    (message, is_syntax.then(|| braces.to_owned()))
}

impl std::error::Error for TemplateFault {}

impl fmt::Display for TemplateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, column, message, excerpt, before, carets, hint } = self;
        let number = line.to_string();
        let margin = number.len();
        let path = path.display();
        write!(f, "{message}")?;
        write!(f, "\n{:margin$}--> {path}:{line}:{column}", "")?;
        write!(f, "\n{:margin$} |", "")?;
        write!(f, "\n{number} | {excerpt}")?;
        write!(f, "\n{:margin$} | {:before$}{:^<carets$}", "", "", "")?;
        match hint {
            Some(hint) => write!(f, " {hint}"),
            None => Ok(()),
        }
    }
}

/// The printed form of a character: a tab is one blank, so that its width does not depend on its column;
/// control characters are replaced.
fn printed(c: char) -> char {
    match c {
        '\t' => ' ',
        _ if c.is_control() => '\u{fffd}',
        _ => c,
    }
}

fn width(text: &str) -> usize {
    text.chars().map(|c| printed(c).width().unwrap_or(1)).sum()
}

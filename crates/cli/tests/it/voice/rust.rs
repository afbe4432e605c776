//! Rust code in pieces: its string literals, with the call that each is an argument of, and its doc comments.

use super::passage::Passage;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TextKind {
    String,
    /// All lines of one doc comment.
    Doc,
}

/// Calls whose arguments users read. Calls inside of them are passed over, but not macros.
const CALLS: [&str; 13] = [
    "CliError::failed(",
    "CliError::run_failed(",
    "CliError::usage(",
    "CliError::refused(",
    "CliError::new(",
    "run_failed!(",
    "failed!(",
    "usage!(",
    "refused!(",
    "no_plan!(",
    ".hint(",
    ".near(",
    "#[error(",
];

#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) kind: TextKind,
    /// The call of [`CALLS`] that it is an argument of.
    pub(crate) call: Option<&'static str>,
    /// Below `#[cfg(test)]`.
    pub(crate) in_test: bool,
    pub(super) passage: Passage,
}

impl Piece {
    pub(crate) fn text(&self) -> String {
        self.passage.text()
    }
}

/// The strings and the doc comments of a file, in order.
pub(crate) fn pieces(source: &str) -> Vec<Piece> {
    let mut lexer = Lexer {
        chars: source.chars().collect(),
        at: 0,
        line: 1,
        braces: 0,
        brackets: 0,
        calls: vec![],
        test: Test::No,
        comment: None,
        pieces: Vec::new(),
    };
    while lexer.at < lexer.chars.len() {
        lexer.step();
    }
    lexer.end_comment();
    lexer.pieces
}

/// Whether the code is that of tests.
#[derive(Clone, Copy, PartialEq)]
enum Test {
    No,
    /// The attribute was read, inside so many brackets; its item has not begun.
    Next(usize),
    /// In the braces of the item, which are so deep.
    Inside(usize),
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    braces: usize,
    /// Round and square ones.
    brackets: usize,
    /// The calls and macros that are open: how many brackets are around each, and the call of [`CALLS`].
    calls: Vec<(usize, Option<&'static str>)>,
    test: Test,
    /// The doc comment that may go on: its mark, its last line, and what it says.
    comment: Option<(String, usize, Passage)>,
    pieces: Vec<Piece>,
}

impl Lexer {
    fn starts_with(&self, text: &str) -> bool {
        let mut rest = self.chars[self.at..].iter();
        text.chars().all(|letter| rest.next() == Some(&letter))
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Takes the next character.
    fn next(&mut self) -> Option<char> {
        let letter = self.peek(0)?;
        self.at += 1;
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    fn push(&mut self, kind: TextKind, passage: Passage) {
        let call = self.calls.last().and_then(|(_, call)| *call);
        self.pieces.push(Piece { kind, call, in_test: self.test != Test::No, passage });
    }

    fn end_comment(&mut self) {
        if let Some((_, _, passage)) = self.comment.take() {
            self.push(TextKind::Doc, passage);
        }
    }

    fn step(&mut self) {
        let Some(letter) = self.peek(0) else { return };
        if self.starts_with("//") {
            return self.line_comment();
        }
        if letter.is_whitespace() {
            self.next();
            return;
        }
        self.end_comment();
        if self.starts_with("/*") {
            return self.block_comment();
        }
        if let Some((hashes, quote)) = self.raw_string() {
            self.at += quote + 1;
            return self.read_raw(hashes);
        }
        match letter {
            '"' => self.read_string(),
            '\'' => self.read_char(),
            _ if letter.is_alphanumeric() || letter == '_' => {
                while self.peek(0).is_some_and(|c| c.is_alphanumeric() || c == '_') {
                    self.at += 1;
                }
            }
            _ if self.starts_with("#[cfg(test)]") || self.starts_with("#[cfg(all(test") => {
                if self.test == Test::No {
                    self.test = Test::Next(self.brackets);
                }
                self.at += 1;
            }
            _ => self.punctuation(letter),
        }
    }

    fn punctuation(&mut self, letter: char) {
        self.at += 1;
        match letter {
            '(' | '[' => {
                self.brackets += 1;
                self.open_call();
            }
            ')' | ']' => {
                self.calls.pop_if(|(around, _)| *around == self.brackets);
                self.brackets = self.brackets.saturating_sub(1);
            }
            '{' => {
                self.braces += 1;
                if matches!(self.test, Test::Next(_)) {
                    self.test = Test::Inside(self.braces);
                }
            }
            '}' => {
                if matches!(self.test, Test::Next(_)) || self.test == Test::Inside(self.braces) {
                    self.test = Test::No;
                }
                self.braces = self.braces.saturating_sub(1);
            }
            // The item was a line, a field or an arm.
            ';' | ',' if self.test == Test::Next(self.brackets) => self.test = Test::No,
            _ => {}
        }
    }

    /// Notes the call whose opening bracket was just read.
    fn open_call(&mut self) {
        let ends_with = |text: &str| {
            let mut before = self.chars[..self.at].iter().rev();
            text.chars().rev().all(|letter| before.next() == Some(&letter))
        };
        let known = CALLS.iter().find(|call| ends_with(call)).copied();
        let before = self.at.checked_sub(2).and_then(|at| self.chars.get(at));
        let is_call = before.is_some_and(|letter| letter.is_alphanumeric() || *letter == '_');
        if known.is_some() || is_call {
            self.calls.push((self.brackets, known));
        }
    }

    fn line_comment(&mut self) {
        let rest = self.chars[self.at..].iter();
        let text: String = rest.take_while(|letter| **letter != '\n').collect();
        self.at += text.chars().count();
        let is_doc = text.starts_with("//!") || text.starts_with("///");
        if !is_doc || text.starts_with("////") {
            return self.end_comment();
        }
        let (mark, body) = text.split_at(3);
        let body = body.strip_prefix(' ').unwrap_or(body);
        let goes_on = self.comment.as_ref();
        if goes_on.is_none_or(|(known, last, _)| known != mark || last + 1 != self.line) {
            self.end_comment();
            self.comment = Some((mark.to_owned(), self.line, Passage::default()));
        }
        let Some((_, last, passage)) = &mut self.comment else { return };
        *last = self.line;
        passage.push_str(body, self.line);
        passage.push('\n', self.line);
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        loop {
            if self.starts_with("/*") {
                depth += 1;
                self.at += 2;
            } else if self.starts_with("*/") {
                depth -= 1;
                self.at += 2;
            } else if self.next().is_none() {
                return;
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// How many `#` a raw string begins with that starts here, and how far its quote is.
    fn raw_string(&self) -> Option<(usize, usize)> {
        let prefix = usize::from(matches!(self.peek(0), Some('b' | 'c')));
        if self.peek(prefix) != Some('r') {
            return None;
        }
        let rest = self.chars[self.at + prefix + 1..].iter();
        let hashes = rest.take_while(|letter| **letter == '#').count();
        let quote = prefix + 1 + hashes;
        (self.peek(quote) == Some('"')).then_some((hashes, quote))
    }

    fn read_raw(&mut self, hashes: usize) {
        let end = format!("\"{}", "#".repeat(hashes));
        let mut passage = Passage::default();
        while !self.starts_with(&end) {
            let line = self.line;
            let Some(letter) = self.next() else { break };
            passage.push(letter, line);
        }
        self.at += end.len();
        self.push(TextKind::String, passage);
    }

    fn read_string(&mut self) {
        self.at += 1;
        let mut passage = Passage::default();
        while let Some(letter) = self.next() {
            match letter {
                '"' => break,
                '\\' => self.escape(&mut passage),
                '\n' => passage.push('\n', self.line - 1),
                _ => passage.push(letter, self.line),
            }
        }
        self.push(TextKind::String, passage);
    }

    fn escape(&mut self, passage: &mut Passage) {
        match self.next() {
            // The string goes on behind the indentation of the next line.
            Some('\n') => {
                while self.peek(0).is_some_and(char::is_whitespace) {
                    self.next();
                }
            }
            Some('n') => passage.push('\n', self.line),
            Some('t' | 'r' | '0') => passage.push(' ', self.line),
            Some('x') => {
                self.at += 2;
                passage.push(' ', self.line);
            }
            Some('u') => {
                while self.next().is_some_and(|letter| letter != '}') {}
                passage.push('…', self.line);
            }
            Some(letter) => passage.push(letter, self.line),
            None => {}
        }
    }

    /// A character, or the `'` of a lifetime.
    fn read_char(&mut self) {
        match (self.peek(1), self.peek(2)) {
            (Some('\\'), _) => {
                self.at += 3;
                while self.next().is_some_and(|letter| letter != '\'') {}
            }
            (_, Some('\'')) => self.at += 3,
            _ => self.at += 1,
        }
    }
}

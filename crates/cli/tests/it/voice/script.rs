//! The page in pieces: the strings, templates and comments of its scripts, and what its HTML shows. Regular expressions
//! and markup are no words.

use super::passage::{CODE, Passage};
use super::rust::TextKind;

/// A string or a text of the page, or a comment.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) kind: TextKind,
    pub(super) passage: Passage,
}

/// The words behind which a `/` begins a regular expression.
const BEFORE_A_REGEX: [&str; 6] = ["return", "typeof", "case", "of", "in", "await"];
/// The attributes of HTML that users read or hear.
const SHOWN: [&str; 5] = ["title", "aria-label", "placeholder", "alt", "content"];

/// The strings, templates and comments of a script.
pub(super) fn of_script(source: &str) -> Vec<Piece> {
    let mut lexer = Lexer::new(source);
    lexer.code(false);
    lexer.pieces
}

/// The comments, the texts and the attributes of a page.
pub(super) fn of_html(source: &str) -> Vec<Piece> {
    let mut lexer = Lexer::new(source);
    lexer.html();
    lexer.pieces
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    /// The last letter of code that is no blank, and the word that it ends.
    last: Option<char>,
    word: String,
    pieces: Vec<Piece>,
}

impl Lexer {
    fn new(source: &str) -> Self {
        let chars = source.chars().collect();
        Self { chars, at: 0, line: 1, last: None, word: String::new(), pieces: Vec::new() }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, letter)| self.peek(ahead) == Some(letter))
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek(0)?;
        self.at += 1;
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.next();
        }
    }

    fn push(&mut self, kind: TextKind, passage: Passage) {
        self.pieces.push(Piece { kind, passage });
    }

    /// Adds the letters up to a mark, and takes the mark.
    fn until(&mut self, mark: &str, passage: &mut Passage) {
        while !self.starts_with(mark) {
            let line = self.line;
            let Some(letter) = self.next() else { return };
            passage.push(letter, line);
        }
        self.skip(mark.chars().count());
    }

    /// Code, up to the brace that ends it in a template.
    fn code(&mut self, in_template: bool) {
        let mut depth = 0_usize;
        while let Some(letter) = self.peek(0) {
            match letter {
                '/' if self.starts_with("//") => self.line_comment(),
                '/' if self.starts_with("/*") => self.block_comment(),
                '/' if self.begins_regex() => self.regex(),
                '\'' | '"' => self.string(letter),
                '`' => self.template(),
                '}' if in_template && depth == 0 => {
                    self.next();
                    return;
                }
                _ => {
                    depth += usize::from(letter == '{');
                    depth -= usize::from(letter == '}' && depth > 0);
                    self.next();
                    self.note(letter);
                }
            }
        }
    }

    fn note(&mut self, letter: char) {
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
        if letter.is_whitespace() {
            return;
        }
        let goes_on = self.at >= 2 && self.chars.get(self.at - 2).is_some_and(|one| is_part(*one));
        if !is_part(letter) || !goes_on {
            self.word.clear();
        }
        if is_part(letter) {
            self.word.push(letter);
        }
        self.last = Some(letter);
    }

    fn begins_regex(&self) -> bool {
        let is_value = |letter: char| letter.is_alphanumeric() || "_$)]}'".contains(letter);
        BEFORE_A_REGEX.contains(&self.word.as_str()) || !self.last.is_some_and(is_value)
    }

    fn regex(&mut self) {
        let mut in_class = false;
        self.next();
        while let Some(letter) = self.next() {
            match letter {
                '\\' => self.skip(1),
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => break,
                '\n' => break,
                _ => {}
            }
        }
        self.note('\'');
    }

    /// All comments of whole lines that follow each other are one text.
    fn line_comment(&mut self) {
        let mut passage = Passage::default();
        loop {
            self.skip(2);
            self.until("\n", &mut passage);
            passage.push('\n', self.line - 1);
            let blanks = self.chars[self.at..].iter().take_while(|letter| **letter == ' ').count();
            let at = self.at;
            self.at += blanks;
            if !self.starts_with("//") {
                self.at = at;
                break;
            }
        }
        self.push(TextKind::Doc, passage);
    }

    fn block_comment(&mut self) {
        let mut passage = Passage::default();
        self.skip(2);
        let mut is_first = true;
        while !self.starts_with("*/") {
            let line = self.line;
            let Some(letter) = self.next() else { break };
            match letter {
                // The stars that begin a line.
                '*' if is_first => passage.push(' ', line),
                _ => passage.push(letter, line),
            }
            is_first = letter == '\n' || (is_first && (letter == '*' || letter.is_whitespace()));
        }
        self.skip(2);
        self.push(TextKind::Doc, passage);
    }

    fn string(&mut self, quote: char) {
        let mut passage = Passage::default();
        self.next();
        while let Some(letter) = self.peek(0).filter(|letter| *letter != quote) {
            let line = self.line;
            self.next();
            match letter {
                '\\' => self.escape(&mut passage),
                _ => passage.push(letter, line),
            }
        }
        self.next();
        self.note('\'');
        self.push(TextKind::String, passage);
    }

    /// A template is one text; what stands in its places is a word, and read by itself.
    fn template(&mut self) {
        let mut passage = Passage::default();
        self.next();
        while let Some(letter) = self.peek(0).filter(|letter| *letter != '`') {
            let line = self.line;
            if self.starts_with("${") {
                self.skip(2);
                passage.push(CODE, line);
                self.last = None;
                self.code(true);
                continue;
            }
            self.next();
            match letter {
                '\\' => self.escape(&mut passage),
                _ => passage.push(letter, line),
            }
        }
        self.next();
        self.note('\'');
        self.push(TextKind::String, passage);
    }

    fn escape(&mut self, passage: &mut Passage) {
        let line = self.line;
        match self.next() {
            Some('n') => passage.push('\n', line),
            Some('t' | 'r' | '0' | '\n') => passage.push(' ', line),
            Some('u') => {
                let braced = self.peek(0) == Some('{');
                match braced {
                    true => self.until("}", &mut Passage::default()),
                    false => self.skip(4),
                }
                passage.push('…', line);
            }
            Some(letter) => passage.push(letter, line),
            None => {}
        }
    }

    fn html(&mut self) {
        while self.peek(0).is_some() {
            if self.starts_with("<!--") {
                let mut passage = Passage::default();
                self.skip(4);
                self.until("-->", &mut passage);
                self.push(TextKind::Doc, passage);
            } else if self.peek(0) == Some('<') {
                self.tag();
            } else {
                self.shown();
            }
        }
    }

    /// A tag with its attributes. What is inside of a script or a style is not shown.
    fn tag(&mut self) {
        self.next();
        let mut name = String::new();
        while let Some(letter) = self.peek(0).filter(|letter| *letter != '>') {
            self.next();
            if letter != '"' {
                name.push(letter);
                continue;
            }
            let mut passage = Passage::default();
            self.until("\"", &mut passage);
            let attribute = name.trim_end_matches('=').rsplit([' ', '\n']).next();
            if attribute.is_some_and(|attribute| SHOWN.contains(&attribute)) {
                self.push(TextKind::String, passage);
            }
        }
        self.next();
        let name = name.split([' ', '\n']).next().unwrap_or_default();
        if ["script", "style"].contains(&name) {
            self.until(&format!("</{name}>"), &mut Passage::default());
        }
    }

    /// The text up to the next tag.
    fn shown(&mut self) {
        let mut passage = Passage::default();
        while let Some(letter) = self.peek(0).filter(|letter| *letter != '<') {
            let line = self.line;
            self.next();
            match letter {
                '&' => {
                    self.until(";", &mut Passage::default());
                    passage.push(' ', line);
                }
                _ => passage.push(letter, line),
            }
        }
        if !passage.text().trim().is_empty() {
            self.push(TextKind::String, passage);
        }
    }
}

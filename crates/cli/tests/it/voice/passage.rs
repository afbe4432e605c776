//! A passage of text with the line of each character: its prose, without code, and the words in it.

/// Stands for a piece of code that was taken out. It is a word, and no rule names it.
pub(super) const CODE: char = '§';

/// A string, a comment or a page.
#[derive(Clone, Debug, Default)]
pub(super) struct Passage {
    chars: Vec<char>,
    lines: Vec<usize>,
}

/// A word of a passage.
#[derive(Debug)]
pub(super) struct Word {
    /// In lower case, without a possessive `'s`.
    pub(super) text: String,
    /// Part of a path, a flag, a variable or a key: a name, which no rule is about.
    pub(super) is_name: bool,
    /// Only blanks are between the previous word and this one.
    pub(super) joined: bool,
    start: usize,
    end: usize,
}

impl Passage {
    pub(super) fn of(text: &str) -> Self {
        let mut passage = Self::default();
        passage.push_str(text, 1);
        passage
    }

    pub(super) fn push(&mut self, letter: char, line: usize) {
        self.chars.push(letter);
        self.lines.push(line);
    }

    /// Adds a text that begins on this line.
    pub(super) fn push_str(&mut self, text: &str, mut line: usize) {
        for letter in text.chars() {
            self.push(letter, line);
            line += usize::from(letter == '\n');
        }
    }

    pub(super) fn text(&self) -> String {
        self.chars.iter().collect()
    }

    pub(super) fn has_blanks(&self) -> bool {
        self.chars.iter().any(|letter| letter.is_whitespace())
    }

    /// The line of a word.
    pub(super) fn line(&self, word: &Word) -> usize {
        self.lines[word.start]
    }

    /// The line on which the passage begins.
    pub(super) fn first_line(&self) -> usize {
        self.lines.first().copied().unwrap_or(1)
    }

    /// The text from one word to another.
    pub(super) fn between(&self, first: &Word, last: &Word) -> String {
        let text: String = self.chars[first.start..last.end].iter().collect();
        let text = text.replace(['*', '[', ']'], "");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// A page or a comment without code blocks, inline code, targets of links and variables.
    pub(super) fn of_markdown(mut self) -> Self {
        self.hide_blocks();
        self.hide_inline_code();
        self.hide_targets();
        self.hide_variables();
        self
    }

    /// A string without inline code and placeholders.
    pub(super) fn of_string(mut self) -> Self {
        self.hide_inline_code();
        self.hide_variables();
        self
    }

    /// The comments of a TOML file.
    pub(super) fn of_toml(mut self) -> Self {
        let mut start = 0;
        while start < self.chars.len() {
            let end = self.end_of_line(start);
            if self.first_letters(start, 1) == "#" {
                let mark = self.find(start, &['#']).unwrap_or(start);
                self.hide(mark, mark + 1, ' ');
            } else {
                self.hide(start, end, ' ');
            }
            start = end + 1;
        }
        self.of_markdown()
    }

    fn hide(&mut self, from: usize, to: usize, by: char) {
        for letter in &mut self.chars[from..to] {
            if *letter != '\n' {
                *letter = by;
            }
        }
    }

    fn end_of_line(&self, from: usize) -> usize {
        self.find(from, &['\n']).unwrap_or(self.chars.len())
    }

    fn find(&self, from: usize, wanted: &[char]) -> Option<usize> {
        let at = self.chars.get(from..)?.windows(wanted.len()).position(|found| found == wanted)?;
        Some(from + at)
    }

    /// The first letters of a line behind its indentation.
    fn first_letters(&self, line: usize, count: usize) -> String {
        let rest = self.chars[line..].iter();
        rest.skip_while(|letter| **letter == ' ').take(count).collect()
    }

    fn hide_blocks(&mut self) {
        let mut fence = None;
        let mut start = 0;
        while start < self.chars.len() {
            let end = self.end_of_line(start);
            let mark = self.first_letters(start, 3);
            match &fence {
                None if mark == "```" || mark == "~~~" => fence = Some(mark),
                None => {
                    start = end + 1;
                    continue;
                }
                Some(open) if *open == mark => fence = None,
                Some(_) => {}
            }
            self.hide(start, end, ' ');
            // A phrase does not go on behind a block.
            if end > start {
                self.chars[start] = '|';
            }
            start = end + 1;
        }
    }

    fn hide_inline_code(&mut self) {
        let mut at = 0;
        while at < self.chars.len() {
            let ticks = self.ticks(at);
            if ticks == 0 {
                at += 1;
                continue;
            }
            let paragraph = self.find(at, &['\n', '\n']).unwrap_or(self.chars.len());
            let mut close = at + ticks;
            while close < paragraph && self.ticks(close) != ticks {
                close += self.ticks(close).max(1);
            }
            if close < paragraph {
                self.hide(at, close + ticks, CODE);
                at = close;
            }
            at += ticks;
        }
    }

    fn ticks(&self, at: usize) -> usize {
        self.chars[at..].iter().take_while(|letter| **letter == '`').count()
    }

    fn hide_targets(&mut self) {
        let mut at = 0;
        while let Some(start) = self.find(at, &[']', '(']) {
            let end = self.find(start, &[')']).unwrap_or(start + 1);
            self.hide(start, end + 1, ' ');
            at = start + 1;
        }
    }

    /// `{name}`, `{name:>8}`, `{{ name }}` and `{% if name %}`.
    fn hide_variables(&mut self) {
        let mut at = 0;
        while let Some(start) = self.find(at, &['{']) {
            at = start + 1;
            let second = self.chars.get(start + 1).copied();
            let end = match second {
                Some('{') => self.find(start, &['}', '}']).map(|end| end + 2),
                Some('%') => self.find(start, &['%', '}']).map(|end| end + 2),
                _ => self.end_of_placeholder(start),
            };
            let Some(end) = end.filter(|end| end - start < 80) else { continue };
            self.hide(start, end, CODE);
            at = end;
        }
    }

    fn end_of_placeholder(&self, start: usize) -> Option<usize> {
        let is_name = |letter: &char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
        let name = self.chars[start + 1..].iter().take_while(|letter| is_name(letter)).count();
        let mut end = start + 1 + name;
        if self.chars.get(end) == Some(&':') {
            end += self.chars[end..].iter().take_while(|c| !matches!(c, '{' | '}' | '\n')).count();
        }
        (self.chars.get(end) == Some(&'}')).then_some(end + 1)
    }

    /// The words, in order.
    pub(super) fn words(&self) -> Vec<Word> {
        let is_letter = |at: usize| {
            self.chars.get(at).is_some_and(|c| c.is_alphanumeric() || *c == CODE)
                || (at > 0
                    && matches!(self.chars.get(at), Some('\'' | '’'))
                    && self.chars[at - 1].is_alphanumeric()
                    && self.chars.get(at + 1).is_some_and(|c| c.is_alphanumeric()))
        };
        let mut words: Vec<Word> = Vec::new();
        let mut at = 0;
        while at < self.chars.len() {
            if !is_letter(at) {
                at += 1;
                continue;
            }
            let start = at;
            while is_letter(at) {
                at += 1;
            }
            let text: String = self.chars[start..at].iter().collect();
            let text = text.to_lowercase().replace('’', "'");
            let gap = &self.chars[words.last().map_or(0, |word| word.end)..start];
            words.push(Word {
                text: text.strip_suffix("'s").unwrap_or(&text).to_owned(),
                is_name: self.is_name(start, at),
                joined: !words.is_empty() && joins(gap),
                start,
                end: at,
            });
        }
        words
    }

    fn is_name(&self, start: usize, end: usize) -> bool {
        let at = |index: Option<usize>| index.and_then(|i| self.chars.get(i)).copied();
        let letter = |found: Option<char>| found.is_some_and(char::is_alphanumeric);
        let (before, behind) = (at(start.checked_sub(1)), at(Some(end)));
        let (first, last) = (at(start.checked_sub(2)), at(Some(end + 1)));
        let led = match before {
            Some('_' | '/' | '\\' | '$' | '@' | '<' | '=') => true,
            Some('.') => first != Some('.'),
            Some('-') => first == Some('-') || first.is_none_or(char::is_whitespace),
            Some(':') => first == Some(':'),
            _ => false,
        };
        let followed = match behind {
            Some('_' | '/' | '\\' | '=' | '>' | '(') => true,
            Some('.') => letter(last),
            Some(':') => last == Some(':'),
            _ => false,
        };
        led || followed
    }
}

/// Whether a phrase goes on over these characters: blanks and the marks of emphasis and links, but no empty line.
fn joins(gap: &[char]) -> bool {
    let empty_line = gap.iter().filter(|letter| **letter == '\n').count() > 1;
    let blank = |letter: &char| letter.is_whitespace() || matches!(letter, '*' | '[' | ']');
    !empty_line && gap.iter().all(blank)
}

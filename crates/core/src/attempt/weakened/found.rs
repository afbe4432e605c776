//! The tests that a file holds.

use std::collections::BTreeSet;
use std::ops::Range;

use super::assertions::{Asserted, assertions, literals, words};
use super::language::Language;
use super::mask::{Masked, mask};

/// Words of tests that run over a table of cases.
const TABLES: [&str; 12] = [
    "parametrize",
    "each",
    "case",
    "rstest",
    "test_case",
    "Theory",
    "TestCase",
    "ParameterizedTest",
    "range",
    "DataProvider",
    "arguments",
    "for",
];

/// A test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Test {
    /// With the groups that it lies in.
    pub(super) name: String,
    /// Its own name.
    pub(super) leaf: String,
    /// It does not run.
    pub(super) skipped: bool,
    /// What it does, in lines without white space and without comments.
    pub(super) lines: Vec<String>,
    pub(super) asserted: Asserted,
    /// It runs over cases.
    pub(super) table: bool,
    pub(super) literals: BTreeSet<String>,
    /// The names that it has, of what it may call.
    pub(super) words: BTreeSet<String>,
}

/// The tests of a file.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) tests: Vec<Test>,
    /// How many of them say that they alone are to run.
    pub(super) only: usize,
}

/// A piece of a file that is a test or a group of tests.
#[derive(Debug)]
struct Piece {
    name: String,
    is_group: bool,
    skipped: bool,
    /// From its marks to its end.
    whole: Range<usize>,
    body: Range<usize>,
}

/// Finds the tests of a text.
pub(super) fn tests(text: &str, language: Language) -> Found {
    let masked = mask(text, language.syntax());
    let mut source = Source { language, masked: &masked, pieces: vec![], only: 0 };
    match language {
        Language::Script => source.calls(),
        Language::Python | Language::Ruby | Language::Elixir => source.indented(),
        _ => source.attributed(),
    }
    let all_skipped = source.is_all_skipped();
    let tests = source.pieces.iter().filter(|piece| !piece.is_group);
    Found { tests: tests.map(|piece| source.test(piece, all_skipped)).collect(), only: source.only }
}

struct Source<'a> {
    language: Language,
    masked: &'a Masked,
    pieces: Vec<Piece>,
    only: usize,
}

impl<'a> Source<'a> {
    fn test(&self, piece: &Piece, all_skipped: bool) -> Test {
        let around: Vec<&Piece> = self
            .pieces
            .iter()
            .filter(|group| group.is_group && group.body.contains(&piece.whole.start))
            .collect();
        let groups = around.iter().map(|group| group.name.as_str());
        let name: Vec<&str> = groups.chain([piece.name.as_str()]).collect();
        let (code, bare) =
            (&self.masked.code[piece.body.clone()], &self.masked.bare[piece.body.clone()]);
        let whole = &self.masked.bare[piece.whole.clone()];
        let asserted = self.asserted(piece, code, bare);
        let named: BTreeSet<String> = words(&self.masked.code[piece.whole.clone()])
            .map(|(_, word)| word.to_owned())
            .collect();
        Test {
            name: name.join(" > "),
            leaf: piece.name.clone(),
            skipped: all_skipped || piece.skipped || around.iter().any(|group| group.skipped),
            lines: bare
                .lines()
                .map(|line| line.split_whitespace().collect::<String>())
                .filter(|line| !line.is_empty())
                .collect(),
            asserted,
            table: TABLES.iter().any(|word| named.contains(*word)),
            literals: literals(whole),
            words: named,
        }
    }

    fn asserted(&self, piece: &Piece, code: &str, bare: &str) -> Asserted {
        let mut asserted = assertions(code, bare, self.language);
        let marks = &self.masked.code[piece.whole.start..piece.body.start];
        if marks.contains("should_panic") {
            asserted.real.push("should_panic".to_owned());
        }
        asserted
    }

    /// The whole file is skipped, by a mark of the module.
    fn is_all_skipped(&self) -> bool {
        self.masked.code.lines().map(str::trim).any(|line| match self.language {
            Language::Python => line.starts_with("pytestmark") && skips(line, self.language),
            Language::Elixir => line.starts_with("@moduletag") && skips(line, self.language),
            _ => false,
        })
    }

    /// Where the bracket at `open` is closed.
    fn closed(&self, open: usize) -> usize {
        let mut depth = 0i32;
        for (offset, byte) in self.masked.code.as_bytes()[open..].iter().enumerate() {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return open + offset + 1;
            }
        }
        self.masked.code.len()
    }

    /// The lines of the file, and where they begin.
    fn lines(&self) -> Vec<(usize, &'a str)> {
        let mut at = 0;
        let lines = self.masked.code.split_inclusive('\n').map(|line| {
            let start = at;
            at += line.len();
            (start, line.trim_end_matches(['\n', '\r']))
        });
        lines.collect()
    }

    /// Functions between brackets, told by the marks above them or by their names.
    fn attributed(&mut self) {
        let mut marks: Option<usize> = None;
        let mut skip_to = 0;
        for (start, line) in self.lines() {
            let mut at = start + line.len() - line.trim_start().len();
            if at < skip_to || line.trim().is_empty() {
                continue;
            }
            let end = start + line.len();
            while let Some(after) = self.mark(at).filter(|_| at < end) {
                marks.get_or_insert(at);
                let rest = &self.masked.code[after.min(end)..end];
                at = after.max(end - rest.trim_start().len());
            }
            if at >= end {
                skip_to = at;
                continue;
            }
            let marked = marks.take().unwrap_or(at);
            if let Some(piece) = self.declared(marked, at, end) {
                self.pieces.push(piece);
            }
        }
    }

    /// The end of the mark that begins here.
    fn mark(&self, at: usize) -> Option<usize> {
        let code = &self.masked.code;
        let rest = &code[at..];
        let open = match self.language {
            Language::Rust | Language::Php if rest.starts_with("#[") => at + 1,
            Language::CSharp if rest.starts_with('[') => at,
            Language::Jvm | Language::Swift if rest.starts_with('@') => {
                let name = rest[1..].find(|c: char| !(c.is_alphanumeric() || "_.:".contains(c)));
                let end = at + 1 + name.unwrap_or(rest.len() - 1);
                if !code[end..].starts_with('(') {
                    return Some(end);
                }
                end
            }
            _ => return None,
        };
        Some(self.closed(open))
    }

    /// The test or the group that is declared on a line.
    fn declared(&self, marked: usize, at: usize, end: usize) -> Option<Piece> {
        let code = &self.masked.code;
        let line = &code[at..end];
        let marks = &code[marked..at];
        let named = &self.masked.bare[marked..at];
        let is_group = words(line).any(|(_, word)| matches!(word, "class" | "object" | "struct"));
        let name_at = match is_group {
            true => words(line).skip_while(|(_, word)| *word != "class").nth(1)?.0,
            false => function_name(line, self.language)?,
        };
        let name = words(&line[name_at..]).next()?.1.to_owned();
        if !is_group && !self.is_test(&name, marks, line) {
            return None;
        }
        let from = at + name_at;
        let params = code[from..].find(['(', '{']).map(|offset| from + offset)?;
        let after = if code.as_bytes()[params] == b'(' { self.closed(params) } else { params };
        let stop = code[after..].find(['{', ';']).map_or(code.len(), |offset| after + offset);
        // A body that is one expression ends with its line.
        let close = match code.as_bytes().get(stop) {
            Some(b'{') => self.closed(stop),
            _ => stop,
        };
        let body = after..close.max(after);
        let skipped = marked_skipped(named, marks, self.language)
            || (!is_group && skips_itself(&code[body.clone()], self.language));
        Some(Piece { name, is_group, skipped, whole: marked..body.end, body })
    }

    fn is_test(&self, name: &str, marks: &str, line: &str) -> bool {
        let has = |names: &[&str]| mark_names(marks).any(|mark| names.contains(&mark));
        match self.language {
            Language::Rust => mark_names(marks).any(|mark| {
                matches!(mark, "test" | "rstest" | "test_case" | "quickcheck")
                    || mark.ends_with("_test")
            }),
            Language::Go => {
                line.starts_with("func")
                    && ["Test", "Fuzz", "Example"].iter().any(|start| name.starts_with(start))
            }
            Language::Swift => has(&["Test"]) || name.starts_with("test"),
            Language::Php => has(&["Test"]) || name.starts_with("test"),
            Language::Jvm => {
                has(&["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "Property"])
            }
            Language::CSharp => {
                has(&["Fact", "Theory", "Test", "TestCase", "TestMethod", "DataTestMethod"])
            }
            _ => false,
        }
    }

    /// Calls that take a name and a function.
    fn calls(&mut self) {
        let code = &self.masked.code;
        for (at, word) in words(code) {
            let (is_group, marked) = match word {
                "describe" | "context" | "suite" => (true, ""),
                "it" | "test" | "specify" => (false, ""),
                "xdescribe" | "xcontext" => (true, "skip"),
                "xit" | "xtest" => (false, "skip"),
                "fdescribe" => (true, "only"),
                "fit" => (false, "only"),
                _ => continue,
            };
            let before = code[..at].trim_end();
            if before.ends_with('.') || before.ends_with("function") {
                continue;
            }
            let mut end = at + word.len();
            let mut modes = vec![marked];
            while let Some(rest) = code[end..].strip_prefix('.') {
                let Some((0, mode)) = words(rest).next() else { break };
                modes.push(mode);
                end += 1 + mode.len();
                if mode == "each" {
                    end = self.after_table(end);
                }
            }
            if !code[end..].starts_with('(') {
                continue;
            }
            let Some(name) = quoted(&self.masked.bare[end + 1..]) else { continue };
            let close = self.closed(end);
            let has = |names: &[&str]| modes.iter().any(|mode| names.contains(mode));
            self.only += usize::from(has(&["only"]));
            let skipped = has(&["skip", "todo", "failing", "fails"]);
            let body = end..close;
            self.pieces.push(Piece { name, is_group, skipped, whole: at..close, body });
        }
    }

    /// Where the cases of an `each` end.
    fn after_table(&self, at: usize) -> usize {
        match self.masked.code.as_bytes().get(at) {
            Some(b'(') => self.closed(at),
            Some(b'`') => {
                let rest = &self.masked.code[at + 1..];
                rest.find('`').map_or(self.masked.code.len(), |end| at + 1 + end + 1)
            }
            _ => at,
        }
    }

    /// Declarations whose bodies stand further to the right.
    fn indented(&mut self) {
        let lines = self.lines();
        let mut marks: Option<usize> = None;
        let mut skip_to = 0;
        for (index, (start, line)) in lines.iter().enumerate() {
            let trimmed = line.trim_start();
            let at = start + line.len() - trimmed.len();
            if at < skip_to || trimmed.is_empty() {
                continue;
            }
            if trimmed.starts_with('@') {
                marks.get_or_insert(at);
                if let Some(open) = line.find('(').map(|offset| start + offset) {
                    skip_to = self.closed(open);
                }
                continue;
            }
            let marked = marks.take().unwrap_or(at);
            if let Some(piece) = self.indented_piece(&lines[index..], marked, at) {
                self.pieces.push(piece);
            }
        }
    }

    fn indented_piece(
        &mut self,
        lines: &[(usize, &str)],
        marked: usize,
        at: usize,
    ) -> Option<Piece> {
        let (start, line) = lines[0];
        let end = start + line.len();
        let head = &self.masked.code[at..end];
        let bare = &self.masked.bare[at..end];
        let (name, is_group, prefix) = header(head, bare, self.language)?;
        self.only += usize::from(prefix == Some('f') || bare.contains("focus: true"));
        let marks = &self.masked.code[marked..at];
        let opens = head.find('(').filter(|_| self.language == Language::Python);
        let header_end = opens.map_or(end, |open| self.closed(at + open).max(end));
        let indent = at - start;
        let mut close = header_end;
        for (start, line) in lines.iter().skip(1).filter(|(start, _)| *start >= header_end) {
            let trimmed = line.trim_start();
            if !trimmed.is_empty() && line.len() - trimmed.len() <= indent {
                break;
            }
            if !trimmed.is_empty() {
                close = start + line.len();
            }
        }
        // What is done on the line itself: `it { … }`, `def test_a(): …`.
        let body = match opens {
            Some(_) => self.closed(at + opens.unwrap_or(0))..close,
            None => at + head.find(" do").or(head.find('{')).unwrap_or(0)..close,
        };
        let body = body.start.min(body.end)..body.end;
        let below = end.min(body.end)..body.end;
        let skipped = prefix == Some('x')
            || marks.split('@').any(|mark| skips(mark, self.language))
            || (self.language == Language::Ruby
                && (bare.contains("skip: true") || bare.contains(", :skip")))
            || (!is_group && skips_itself(&self.masked.code[below], self.language));
        Some(Piece { name, is_group, skipped, whole: marked..body.end, body })
    }
}

/// Where the name of a function begins, on the line that declares it.
fn function_name(line: &str, language: Language) -> Option<usize> {
    let known = language.function_words();
    let mut all = words(line);
    if let Some((at, word)) = all.find(|(_, word)| known.contains(word)) {
        // A method of Go has its receiver first.
        let rest = &line[at + word.len()..];
        return words(rest).next().map(|(offset, _)| at + word.len() + offset);
    }
    // Java and C# write the type first: the name stands before the bracket.
    if !matches!(language, Language::Jvm | Language::CSharp) {
        return None;
    }
    let open = line.find('(')?;
    words(&line[..open]).last().map(|(at, _)| at)
}

/// The last parts of the names of marks: `test` for `#[tokio::test(flavor = …)]`.
fn mark_names(marks: &str) -> impl Iterator<Item = &str> {
    marks.split(['#', '@', '[', ',']).filter_map(|mark| {
        let mark = mark.trim_start_matches(['[', ' ', '\n', '\t']);
        let end = mark.find(|c: char| !(c.is_alphanumeric() || "_:.".contains(c)));
        let path = &mark[..end.unwrap_or(mark.len())];
        path.rsplit([':', '.']).next().filter(|name| !name.is_empty())
    })
}

/// Whether marks above a declaration keep it from running. Conditions are no reason to alarm anybody.
fn marked_skipped(named: &str, marks: &str, language: Language) -> bool {
    let has = |name: &str| mark_names(marks).any(|mark| mark == name);
    match language {
        Language::Rust => marks.lines().any(|line| line.trim().starts_with("#[ignore")),
        Language::Jvm => has("Disabled") || has("Ignore"),
        Language::CSharp => has("Ignore") || named.contains("Skip =") || named.contains("Skip="),
        Language::Swift => marks.contains(".disabled("),
        _ => false,
    }
}

/// Whether one mark or line keeps tests from running.
fn skips(mark: &str, language: Language) -> bool {
    let all: Vec<&str> = words(mark).map(|(_, word)| word).collect();
    let has = |name: &str| all.contains(&name);
    match language {
        Language::Python => has("skip") || has("xfail") || has("expectedFailure"),
        _ => has("skip"),
    }
}

/// Whether the first statements of a body say that the rest is not to run.
fn skips_itself(body: &str, language: Language) -> bool {
    let calls: &[&str] = match language {
        Language::Go => &["t.Skip(", "t.Skipf(", "t.SkipNow("],
        Language::Python => {
            &["pytest.skip(", "self.skipTest(", "pytest.xfail(", "raise unittest.SkipTest"]
        }
        Language::Ruby => &["skip", "pending"],
        Language::Php => &["$this->markTestSkipped(", "$this->markTestIncomplete("],
        Language::Swift => &["throw XCTSkip"],
        Language::CSharp => &["Assert.Ignore(", "Assert.Inconclusive("],
        _ => &[],
    };
    let first = body.trim_start().trim_start_matches('{');
    let mut lines = first.lines().map(str::trim).filter(|line| !line.is_empty() && *line != ":");
    let Some(line) = lines.next() else { return false };
    let returns = line == "return" || line.starts_with("return;");
    let word = line.split([' ', '(', ';']).next().unwrap_or_default();
    let is_call = calls.iter().any(|call| match language {
        Language::Ruby => word == *call,
        _ => line.starts_with(call),
    });
    is_call || (returns && lines.next().is_some_and(|line| line != "}"))
}

/// The name of what a line declares, whether it is a group, and the letter that stands before it.
fn header(head: &str, bare: &str, language: Language) -> Option<(String, bool, Option<char>)> {
    let mut all = words(head).map(|(_, word)| word);
    let first = all.next()?;
    if language != Language::Elixir {
        let first = if first == "async" { all.next()? } else { first };
        if first == "def" {
            let name = all.next().filter(|name| name.starts_with("test"))?;
            return Some((name.to_owned(), false, None));
        }
        if first == "class" {
            return Some((all.next()?.to_owned(), true, None));
        }
    }
    let prefix = first.chars().next().filter(|_| {
        matches!(first, "xit" | "xdescribe" | "xcontext" | "xspecify" | "fit" | "fdescribe")
    });
    let word = if prefix.is_some() { &first[1..] } else { first };
    let is_group = match (language, word) {
        (Language::Ruby, "describe" | "context") | (Language::Elixir, "describe") => true,
        (Language::Ruby, "it" | "specify" | "scenario" | "example" | "test")
        | (Language::Elixir, "test") => false,
        _ => return None,
    };
    let opens = head.trim_end();
    if !(opens.ends_with("do") || opens.contains(" do ") || opens.contains('{')) {
        return None;
    }
    // Something that is no word may stand before it.
    let (_, rest) = bare.split_once(first)?;
    let rest = rest.trim_start_matches([' ', '(']);
    let name = quoted(rest).unwrap_or_else(|| rest.split_whitespace().collect());
    Some((name, is_group, prefix))
}

/// What stands in the quotes that a text begins with.
fn quoted(text: &str) -> Option<String> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let end = text[1..].find(quote)?;
    Some(text[1..=end].to_owned())
}

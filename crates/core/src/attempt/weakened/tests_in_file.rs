//! The tests that a file holds.

use std::ops::Range;

use super::assertions::{assertions, words};
use super::language::Language;
use super::mask::{Masked, mask};

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
    /// How many assertions it has that can fail.
    pub(super) asserts: usize,
}

/// The tests of a file.
#[derive(Debug, Default)]
pub(super) struct TestsInFile {
    pub(super) tests: Vec<Test>,
    /// Some of them say that they alone are to run.
    pub(super) only: bool,
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
pub(super) fn tests(text: &str, language: Language) -> TestsInFile {
    let masked = mask(text, language.syntax());
    let mut source = Source { language, masked: &masked, pieces: vec![], only: false };
    match language {
        Language::Script => source.calls(),
        Language::Python => source.indented(),
        Language::Rust | Language::Go => source.attributed(),
    }
    let all_skipped = source.is_all_skipped(text);
    let tests = source.pieces.iter().filter(|piece| !piece.is_group);
    TestsInFile {
        tests: tests.map(|piece| source.test(piece, all_skipped)).collect(),
        only: source.only,
    }
}

struct Source<'a> {
    language: Language,
    masked: &'a Masked,
    pieces: Vec<Piece>,
    only: bool,
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
        let code = self.reached(code);
        let marks = &self.masked.code[piece.whole.start..piece.body.start];
        let panics = usize::from(marks.contains("should_panic"));
        Test {
            name: name.join(" > "),
            leaf: piece.name.clone(),
            skipped: all_skipped || piece.skipped || around.iter().any(|group| group.skipped),
            lines: bare
                .lines()
                .map(|line| line.split_whitespace().collect::<String>())
                .filter(|line| !line.is_empty())
                .collect(),
            asserts: assertions(code, &bare[..code.len()], self.language).real.len() + panics,
        }
    }

    /// What of a body runs: up to a `return` that nothing stands above.
    fn reached<'b>(&self, code: &'b str) -> &'b str {
        let mut depth = 0i32;
        let mut indent = None;
        let mut at = 0;
        for line in code.split_inclusive('\n') {
            let trimmed = line.trim();
            let word = trimmed.trim_end_matches(';');
            let is_top = match self.language {
                Language::Python => {
                    let own = line.len() - line.trim_start().len();
                    let is_code = at > 0 && !trimmed.is_empty();
                    is_code && *indent.get_or_insert(own) == own
                }
                // A body begins with its own bracket; that of a call with the call's.
                _ => depth <= if self.language == Language::Script { 2 } else { 1 },
            };
            if word == "return" && is_top {
                return &code[..at];
            }
            for byte in line.bytes() {
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth -= 1,
                    _ => {}
                }
            }
            at += line.len();
        }
        code
    }

    /// The whole file is skipped, by a mark of the module.
    fn is_all_skipped(&self, text: &str) -> bool {
        let mut lines = self.masked.code.lines();
        match self.language {
            Language::Python => lines.any(|line| {
                let marked = line.starts_with("pytestmark") && skips(line);
                marked || line.starts_with("pytest.skip(") || line.starts_with("__test__ = False")
            }),
            Language::Rust => {
                lines.any(|line| NEVER.iter().any(|never| line.starts_with(&format!("#![{never}"))))
            }
            // Go reads these comments before the package, and builds nothing.
            Language::Go => {
                text.lines().take_while(|line| !line.starts_with("package ")).any(|line| {
                    line.trim_end() == "//go:build ignore" || line.trim_end() == "//go:build never"
                })
            }
            Language::Script => false,
        }
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

    /// Functions between brackets, recognized by the marks above them or by their names.
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
        let is_mark = self.language == Language::Rust && self.masked.code[at..].starts_with("#[");
        is_mark.then(|| self.closed(at + 1))
    }

    /// The test or the group that is declared on a line.
    fn declared(&self, marked: usize, at: usize, end: usize) -> Option<Piece> {
        let code = &self.masked.code;
        let line = &code[at..end];
        let marks = &code[marked..at];
        // A module of tests that is left out takes its tests along.
        let is_group =
            self.language == Language::Rust && words(line).any(|(_, word)| word == "mod");
        let name_at = match is_group {
            true => words(line).skip_while(|(_, word)| *word != "mod").nth(1)?.0,
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
        let skipped = marked_skipped(marks, self.language)
            || (!is_group && skips_itself(&code[body.clone()], self.language));
        Some(Piece { name, is_group, skipped, whole: marked..body.end, body })
    }

    fn is_test(&self, name: &str, marks: &str, line: &str) -> bool {
        match self.language {
            Language::Rust => mark_names(marks).any(|mark| {
                matches!(mark, "test" | "rstest" | "test_case" | "quickcheck")
                    || mark.ends_with("_test")
            }),
            Language::Go => {
                line.starts_with("func")
                    && ["Test", "Fuzz", "Example"].iter().any(|start| name.starts_with(start))
            }
            Language::Script | Language::Python => false,
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
            self.only |= has(&["only"]);
            let body = end..close;
            let options: String = self.masked.code[body.clone()]
                .split("=>")
                .next()
                .unwrap_or_default()
                .split_whitespace()
                .collect();
            let skipped = has(&["skip", "todo", "failing", "fails"])
                || options.contains("{skip:true")
                || options.contains(",skip:true")
                || (!is_group && skips_itself(&self.masked.code[body.clone()], self.language));
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
        let (name, is_group) = header(head)?;
        let marks = &self.masked.code[marked..at];
        let opens = head.find('(');
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
        // What is done on the line itself: `def test_a(): …`.
        let body = opens.map_or(end, |open| self.closed(at + open))..close;
        let body = body.start.min(body.end)..body.end;
        let below = &self.masked.code[end.min(body.end)..body.end];
        let skipped = marks.split('@').any(skips)
            || (!is_group && skips_itself(below, self.language))
            || (is_group && below.lines().any(|line| line.trim() == "__test__ = False"));
        Some(Piece { name, is_group, skipped, whole: marked..body.end, body })
    }
}

/// Conditions that never hold.
const NEVER: [&str; 4] = ["cfg(any())", "cfg(FALSE)", "cfg(false)", "cfg(not(test))"];

/// Where the name of a function begins, on the line that declares it.
fn function_name(line: &str, language: Language) -> Option<usize> {
    let declares = if language == Language::Go { "func" } else { "fn" };
    let (at, word) = words(line).find(|(_, word)| *word == declares)?;
    let rest = &line[at + word.len()..];
    words(rest).next().map(|(offset, _)| at + word.len() + offset)
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

/// Whether marks above a declaration keep it from running. Conditions that may hold are not reported.
fn marked_skipped(marks: &str, language: Language) -> bool {
    let never = |line: &str| NEVER.iter().any(|never| line.starts_with(&format!("#[{never}")));
    let is_skip = |line: &str| line.starts_with("#[ignore") || never(line);
    language == Language::Rust && marks.lines().any(|line| is_skip(line.trim()))
}

/// Whether a mark or a line of Python keeps tests from running.
fn skips(mark: &str) -> bool {
    let all: Vec<&str> = words(mark).map(|(_, word)| word).collect();
    let has = |name: &str| all.contains(&name);
    has("skip") || has("xfail") || has("expectedFailure") || (has("skipif") && has("True"))
}

/// Whether the first statements of a body say that the rest is not to run.
fn skips_itself(body: &str, language: Language) -> bool {
    let calls: &[&str] = match language {
        Language::Go => &["t.Skip(", "t.Skipf(", "t.SkipNow("],
        Language::Python => {
            &["pytest.skip(", "self.skipTest(", "pytest.xfail(", "raise unittest.SkipTest"]
        }
        Language::Script => &["this.skip()", "t.skip(", "ctx.skip(", "context.skip("],
        Language::Rust => &[],
    };
    let mut lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    // The line of the bracket that opens the body does nothing yet.
    let first = match language {
        Language::Python => lines.next(),
        _ => lines.nth(1),
    };
    first.is_some_and(|line| calls.iter().any(|call| line.starts_with(call)))
}

/// The name of what a line of Python declares, and whether it is a group.
fn header(head: &str) -> Option<(String, bool)> {
    let mut all = words(head).map(|(_, word)| word);
    let first = all.next()?;
    let first = if first == "async" { all.next()? } else { first };
    match first {
        "def" => {
            let name = all.next().filter(|name| name.starts_with("test"))?;
            Some((name.to_owned(), false))
        }
        "class" => Some((all.next()?.to_owned(), true)),
        _ => None,
    }
}

/// What stands in the quotes that a text begins with.
fn quoted(text: &str) -> Option<String> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let end = text[1..].find(quote)?;
    Some(text[1..=end].to_owned())
}

//! The tests that a file holds.

use std::ops::Range;

use super::assertions::{assertions, nesting, squeezed, words};
use super::language::Language;
use super::mask::{Masked, mask};

#[derive(Debug)]
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
    /// Where its marks begin.
    start: usize,
    body: Range<usize>,
}

/// Finds the tests of a text.
pub(super) fn tests(text: &str, language: Language) -> TestsInFile {
    let masked = mask(text, language);
    let mut source = Source { language, masked: &masked, pieces: vec![], only: false };
    match language {
        Language::Script => source.calls(),
        _ => source.declarations(),
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
        let is_around = |group: &&Piece| group.is_group && group.body.contains(&piece.start);
        let around: Vec<&Piece> = self.pieces.iter().filter(is_around).collect();
        let groups = around.iter().map(|group| group.name.as_str());
        let name: Vec<&str> = groups.chain([piece.name.as_str()]).collect();
        let bare = &self.masked.bare[piece.body.clone()];
        let code = self.reached(&self.masked.code[piece.body.clone()]);
        let marks = &self.masked.code[piece.start..piece.body.start];
        let panics = usize::from(marks.contains("should_panic"));
        Test {
            name: name.join(" > "),
            leaf: piece.name.clone(),
            skipped: all_skipped || piece.skipped || around.iter().any(|group| group.skipped),
            lines: bare.lines().map(squeezed).filter(|line| !line.is_empty()).collect(),
            asserts: assertions(code, &bare[..code.len()], self.language).0 + panics,
        }
    }

    /// What of a body runs: up to a `return` that nothing stands above.
    fn reached<'b>(&self, code: &'b str) -> &'b str {
        let mut depth = 0;
        let mut indent = None;
        let mut at = 0;
        for line in code.split_inclusive('\n') {
            let is_top = match self.language {
                Language::Python => {
                    let own = line.len() - line.trim_start().len();
                    at > 0 && !line.trim().is_empty() && *indent.get_or_insert(own) == own
                }
                // A body begins with its own bracket; that of a call with the call's.
                Language::Script => depth <= 2,
                Language::Rust | Language::Go => depth <= 1,
            };
            if is_top && line.trim().trim_end_matches(';') == "return" {
                return &code[..at];
            }
            depth += line.bytes().map(nesting).sum::<i32>();
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
            Language::Rust => lines.any(|line| never(line, "#![")),
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
        let mut depth = 0;
        for (offset, byte) in self.masked.code.as_bytes()[open..].iter().enumerate() {
            depth += nesting(*byte);
            if depth == 0 {
                return open + offset + 1;
            }
        }
        self.masked.code.len()
    }

    /// Declarations that begin a line, recognized by the marks above them or by their names.
    fn declarations(&mut self) {
        let code = &self.masked.code;
        let mut from = 0;
        let lines = code.split_inclusive('\n').map(|line| {
            let start = from;
            from += line.len();
            (start, line.trim_end_matches(['\n', '\r']))
        });
        let lines: Vec<(usize, &str)> = lines.collect();
        let mut marks: Option<usize> = None;
        let mut skip_to = 0;
        for (index, (start, line)) in lines.iter().enumerate() {
            let end = start + line.len();
            let mut at = start + indent(line);
            if at < skip_to || at == end {
                continue;
            }
            while at < end
                && let Some(after) = self.mark(at, end)
            {
                marks.get_or_insert(at);
                at = after.max(end - code[after.min(end)..end].trim_start().len());
            }
            if at >= end {
                skip_to = at;
                continue;
            }
            let marked = marks.take().unwrap_or(at);
            self.pieces.extend(self.declared(&lines[index..], marked, at));
        }
    }

    /// The end of the mark that begins here.
    fn mark(&self, at: usize, end: usize) -> Option<usize> {
        let rest = &self.masked.code[at..];
        match self.language {
            Language::Rust if rest.starts_with("#[") => Some(self.closed(at + 1)),
            Language::Python if rest.starts_with('@') => {
                let open = self.masked.code[at..end].find('(');
                Some(open.map_or(end, |open| self.closed(at + open).max(end)))
            }
            _ => None,
        }
    }

    /// The test or the group that is declared at `at`, on the first of the lines.
    fn declared(&self, lines: &[(usize, &str)], marked: usize, at: usize) -> Option<Piece> {
        let code = &self.masked.code;
        let (start, line) = lines[0];
        let end = start + line.len();
        let marks = &code[marked..at];
        let (name_at, name, is_group) = declaration(&code[at..end], marks, self.language)?;
        let body = match self.language {
            Language::Python => {
                let from = code[at..end].find('(').map_or(end, |open| self.closed(at + open));
                let inside = lines[1..]
                    .iter()
                    .filter(|(start, line)| *start >= from && indent(line) < line.len())
                    .take_while(|(_, line)| indent(line) > at - start);
                from..inside.last().map_or(from.max(end), |(start, line)| start + line.len())
            }
            _ => {
                let from = at + name_at;
                let params = from + code[from..].find(['(', '{'])?;
                let after =
                    if code.as_bytes()[params] == b'(' { self.closed(params) } else { params };
                let stop =
                    code[after..].find(['{', ';']).map_or(code.len(), |offset| after + offset);
                // A body that is one expression ends with its line.
                let has_block = code.as_bytes().get(stop) == Some(&b'{');
                after..if has_block { self.closed(stop) } else { stop }
            }
        };
        let inside = &code[body.clone()];
        let skipped = marked_skipped(marks, self.language)
            || match is_group {
                true => inside.lines().any(|line| line.trim() == "__test__ = False"),
                false => skips_itself(inside, self.language),
            };
        Some(Piece { name: name.to_owned(), is_group, skipped, start: marked, body })
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
            let options = squeezed(code[body.clone()].split("=>").next().unwrap_or_default());
            let skipped = has(&["skip", "todo", "failing", "fails"])
                || options.contains("{skip:true")
                || options.contains(",skip:true")
                || (!is_group && skips_itself(&code[body.clone()], self.language));
            self.pieces.push(Piece { name, is_group, skipped, start: at, body });
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
}

/// Conditions that never hold.
const NEVER: [&str; 4] = ["cfg(any())", "cfg(FALSE)", "cfg(false)", "cfg(not(test))"];

/// Whether a line is a mark with such a condition.
fn never(line: &str, opening: &str) -> bool {
    let condition = line.strip_prefix(opening);
    condition.is_some_and(|condition| NEVER.iter().any(|never| condition.starts_with(never)))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Where the name of what a line declares begins, the name, and whether it is a group of tests.
fn declaration<'l>(
    line: &'l str,
    marks: &str,
    language: Language,
) -> Option<(usize, &'l str, bool)> {
    let words: Vec<(usize, &str)> = words(line).collect();
    let after = |keyword: &str| {
        let at = words.iter().position(|(_, word)| *word == keyword)?;
        words.get(at + 1).copied()
    };
    let is_test_mark = |mark: &str| {
        matches!(mark, "test" | "rstest" | "test_case" | "quickcheck") || mark.ends_with("_test")
    };
    let (group, (at, name)) = match language {
        // A module of tests that is left out takes its tests along.
        Language::Rust => match after("mod") {
            Some(module) => (true, module),
            None => (false, after("fn").filter(|_| mark_names(marks).any(is_test_mark))?),
        },
        Language::Go => {
            let is_test = |name: &str| {
                ["Test", "Fuzz", "Example"].iter().any(|start| name.starts_with(start))
            };
            (false, after("func").filter(|(_, name)| line.starts_with("func") && is_test(name))?)
        }
        Language::Python => {
            let first = usize::from(words.first()?.1 == "async");
            let name = words.get(first + 1).copied();
            match words.get(first)?.1 {
                "def" => (false, name.filter(|(_, name)| name.starts_with("test"))?),
                "class" => (true, name?),
                _ => return None,
            }
        }
        Language::Script => return None,
    };
    Some((at, name, group))
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
    match language {
        Language::Python => marks.split('@').any(skips),
        _ => marks
            .lines()
            .map(str::trim)
            .any(|line| line.starts_with("#[ignore") || never(line, "#[")),
    }
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
    // The line that the body begins on does nothing yet.
    let first = body.lines().map(str::trim).filter(|line| !line.is_empty()).nth(1);
    first.is_some_and(|line| calls.iter().any(|call| line.starts_with(call)))
}

/// What stands in the quotes that a text begins with.
fn quoted(text: &str) -> Option<String> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let end = text[1..].find(quote)?;
    Some(text[1..=end].to_owned())
}

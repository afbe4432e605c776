//! The first failing assertion of an output, with the lines around it: what a digest begins with. Where no line is an
//! assertion it is the first error, else the first line that mentions a failure.

use std::collections::VecDeque;

use super::line::is_error;
use super::names::failing_test;

/// How many lines before an assertion belong to it at most; an empty line ends them sooner.
const BEFORE: usize = 2;
/// How many lines it has at most, without empty ones.
const LINES: usize = 10;

/// What a line says about a failure, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Weight {
    #[default]
    Nothing,
    /// A word such as "failed".
    Mention,
    Error,
    Assertion,
}

#[derive(Debug, Default)]
pub(super) struct FirstFailure {
    weight: Weight,
    lines: Vec<(usize, String)>,
    /// How many lines it had when it was found.
    first: usize,
    /// The next lines belong to it.
    open: bool,
    /// It has a stack frame already; one is enough.
    stack: bool,
    /// Go prints logs and failures in the same form; the line after them says which it was.
    unsure: bool,
    before: VecDeque<(usize, String)>,
}

impl FirstFailure {
    /// Takes the next clean line; `number` is its place in the output.
    pub(super) fn take(&mut self, number: usize, line: &str) {
        let text = line.trim();
        if self.unsure && (text.starts_with("--- PASS") || text.starts_with("--- SKIP")) {
            let before = std::mem::take(&mut self.before);
            *self = Self { before, ..Self::default() };
        }
        self.unsure &= !text.starts_with("--- ");
        let weight = weigh(text);
        if weight > self.weight {
            self.weight = weight;
            self.lines = self.lines_before(weight);
            (self.open, self.stack) = (true, false);
            let mut before = self.before.iter();
            let has_failed = before.any(|(_, line)| line.trim().starts_with("--- FAIL"));
            self.unsure = text.contains("_test.go:") && !has_failed;
            self.lines.push((number, line.to_owned()));
            self.first = self.lines.len();
        } else if self.open {
            self.go_on(number, line);
        }
        if text.is_empty() || is_ruler(text) {
            self.before.clear();
        } else {
            self.before.push_back((number, line.to_owned()));
            if self.before.len() > BEFORE {
                self.before.pop_front();
            }
        }
    }

    /// What comes before: the name of the test or the source line of an assertion, the file of a lint.
    fn lines_before(&self, weight: Weight) -> Vec<(usize, String)> {
        let most = match weight {
            Weight::Assertion => BEFORE,
            Weight::Mention => 1,
            Weight::Error | Weight::Nothing => 0,
        };
        let names_test = |(_, line): &(usize, String)| {
            line.starts_with("=== RUN") || failing_test(line).is_some()
        };
        let named = self.before.iter().rposition(names_test).unwrap_or(0);
        let first = self.before.len().saturating_sub(most).max(named);
        self.before.iter().skip(first).cloned().collect()
    }

    fn go_on(&mut self, number: usize, line: &str) {
        let text = line.trim();
        // A heading that is underlined.
        if is_ruler(text) && self.lines.len() == self.first {
            return;
        }
        let is_stack = text.starts_with("at ") || text.starts_with("0: ");
        let full = self.lines.iter().filter(|(_, line)| !line.is_empty()).count() >= LINES;
        if full || ends(text) || (is_stack && self.stack) {
            self.open = false;
            return;
        }
        self.stack |= is_stack;
        self.lines.push((number, line.to_owned()));
    }

    /// Its lines with their places, in at most `most` bytes.
    pub(super) fn finish(mut self, most: usize) -> Vec<(usize, String)> {
        let mut used = 0;
        let fits = |(_, line): &&(usize, String)| {
            used += line.len() + 1;
            used <= most
        };
        let count = self.lines.iter().take_while(fits).count();
        self.lines.truncate(count);
        while self.lines.last().is_some_and(|(_, line)| line.is_empty()) {
            self.lines.pop();
        }
        self.lines
    }
}

fn weigh(text: &str) -> Weight {
    let lower = text.to_ascii_lowercase();
    let starts = [
        "e   ",
        "panic: ",
        "expect(",
        "assert.",
        "failed asserting",
        "failure/error:",
        "expected equality of",
    ];
    let holds = [
        " panicked at ",
        "assertion `",
        "assertion failed",
        "assertionerror",
        "assertionfailederror",
        "_test.go:",
        ".equal() failure",
    ];
    let is_sum = lower.contains("0 fail") || lower.contains("0 error") || lower.ends_with(" ok");
    if starts.iter().any(|word| lower.starts_with(word))
        || holds.iter().any(|word| lower.contains(word)) && !lower.ends_with(" ok")
    {
        Weight::Assertion
    } else if is_error(text) {
        Weight::Error
    } else if !is_sum && ["fail", "error"].iter().any(|word| lower.contains(word)) {
        Weight::Mention
    } else {
        Weight::Nothing
    }
}

/// Whether the line belongs to what comes after a failure.
fn ends(text: &str) -> bool {
    let starts = [
        "stack backtrace",
        "note: ",
        "failures:",
        "test result:",
        "running ",
        "finished in",
        "[info]",
        "fail\t",
        "ok ",
        "results:",
        "tests:",
        "time:",
        "test suites:",
    ];
    let lower = text.to_ascii_lowercase();
    is_ruler(text)
        || lower == "fail"
        || lower.ends_with(" ok")
        || starts.iter().any(|word| lower.starts_with(word))
        || failing_test(text).is_some()
}

/// A line that separates: `----- test stdout -----`, `=====`, `⎯⎯⎯⎯[1/1]⎯`.
fn is_ruler(text: &str) -> bool {
    let is_bar = |c: char| matches!(c, '-' | '=' | '_' | '─' | '⎯' | '*' | '#' | '~');
    text.chars().take(4).filter(|c| is_bar(*c)).count() == 4
}

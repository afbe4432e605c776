//! The digest of a failing gate's output, for the user and the next session: the failing assertion, the names of
//! failing tests, the first errors, the end of the output. Bounded, the same for the same output, made in one pass.

mod failure;
pub(super) mod line;
mod names;
mod passed;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use self::failure::FirstFailure;
use self::names::{GoEvent, Runners};
use self::passed::Passed;
use super::budget::beginning;

/// The default length of a digest, in bytes.
pub const DEFAULT_MAX: usize = 4_000;

/// How many failing tests are named at most.
const MAX_NAMES: usize = 50;
/// How many names are remembered; beyond that they are only counted.
const MAX_KNOWN: usize = 10_000;
/// How many lines under an error belong to it at most; an empty line ends it sooner.
const MAX_BLOCK: usize = 10;
/// The line between what failed and the rest of the output.
pub const OUTPUT: &str = "Output:";

/// An output with no more lines is shown in its order.
const SHORT: usize = 8;
/// Space for a line that says how many lines are left out.
const MARK: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Digest {
    /// Every failing test that was named, in the order of the output.
    pub failing: Vec<String>,
    /// There were more of them than are remembered.
    pub more: bool,
    /// How many tests passed; `None` where the output does not say.
    pub passed: Option<u32>,
    /// The failing assertion; empty where there is none, or the output is short.
    failure: String,
    head: String,
    rest: String,
    max: usize,
}

impl Digest {
    /// The lines that matter, the failing assertion first, in at most as many bytes as were allowed.
    pub fn text(&self) -> String {
        self.cut(&[&self.failure, &self.head, &self.rest])
    }

    /// The same under another beginning, which says which failures are new: the assertion may be of an old one.
    pub(super) fn under(&self, head: &str) -> String {
        self.cut(&[head, &self.failure, &self.rest])
    }

    fn cut(&self, parts: &[&str]) -> String {
        let all = parts.concat();
        beginning(all.trim_end(), self.max).trim_end().to_owned()
    }

    /// How many bytes were allowed.
    pub(super) const fn max(&self) -> usize {
        self.max
    }
}

/// The lines of `output` that matter, in at most `max` bytes.
pub fn digest(output: &str, max: usize) -> String {
    read(output, max).text()
}

/// Reads an output; its text will have at most `max` bytes.
pub fn read(output: &str, max: usize) -> Digest {
    let mut seen = OutputScan { max, last_was_empty: true, ..OutputScan::default() };
    for raw in output.lines() {
        seen.raw(raw);
    }
    seen.finish()
}

/// A heading and names below it, in about `room` bytes; what is left out is counted. Nothing without
/// names.
pub(super) fn list(heading: &str, names: &[String], room: usize) -> String {
    let mut lines = String::new();
    let mut more = names.len().saturating_sub(MAX_NAMES);
    for name in names.iter().take(MAX_NAMES) {
        let line = format!("- {name}\n");
        if lines.len() + line.len() + MARK > room {
            more += 1;
        } else {
            lines.push_str(&line);
        }
    }
    match (lines.is_empty(), more) {
        (true, _) => lines,
        (false, 0) => format!("{heading}:\n{lines}\n"),
        (false, more) => format!("{heading}:\n{lines}- and {more} more\n\n"),
    }
}

/// The last part of a name with several. Some runners name a test twice: by itself, and below its suite
/// or its crate.
fn leaf(name: &str) -> Option<&str> {
    let below_suite = name.rsplit_once(" › ").or_else(|| name.rsplit_once(" > "));
    let in_crate =
        || name.split_once(' ').filter(|(_, test)| test.contains("::") && !test.contains(' '));
    below_suite.or_else(in_crate).map(|(_, leaf)| leaf)
}

/// What is remembered of the lines until now: no more than a few times `max`, however many come.
#[derive(Default)]
struct OutputScan {
    max: usize,
    /// How many lines came, without repeated empty ones.
    lines: usize,
    last_was_empty: bool,
    runners: Runners,
    passed: Passed,
    failure: FirstFailure,
    names: Vec<String>,
    known: BTreeSet<String>,
    /// The last parts of names that have several.
    leaves: BTreeSet<String>,
    more_names: bool,
    errors: Vec<(usize, String)>,
    error_bytes: usize,
    heads: BTreeSet<String>,
    /// How many more lines belong to the error that was begun.
    block: usize,
    tail: VecDeque<String>,
    tail_bytes: usize,
}

impl OutputScan {
    fn raw(&mut self, raw: &str) {
        if let Some(event) = GoEvent::read(raw) {
            if let Some(name) = event.failed() {
                self.name(&line::clean(name));
            }
            if event.passed() {
                self.passed.one();
            }
            for line in event.output.lines() {
                self.take_text(&line::clean(line));
            }
            return;
        }
        for (name, message) in self.runners.take_xml(raw) {
            self.name(&line::clean(&name));
            self.take(&line::clean(&format!("error: {name}: {message}")));
        }
        self.take(&line::clean(raw));
    }

    fn take(&mut self, line: &str) {
        self.passed.take(line);
        self.take_text(line);
    }

    fn take_text(&mut self, line: &str) {
        if line.is_empty() && self.last_was_empty {
            return;
        }
        self.last_was_empty = line.is_empty();
        if let Some(name) = self.runners.take(line) {
            self.name(&name);
        }
        self.error(line);
        self.failure.take(self.lines, line);
        self.tail_bytes += line.len() + 1;
        self.tail.push_back(line.to_owned());
        // One line too many is kept, to know whether all of the output is there.
        while self.tail.len() > 1 && self.tail_bytes - self.tail[0].len() > self.max {
            self.tail_bytes -= self.tail[0].len() + 1;
            self.tail.pop_front();
        }
        self.lines += 1;
    }

    fn name(&mut self, name: &str) {
        if name.is_empty() || self.known.contains(name) || self.leaves.contains(name) {
            return;
        }
        if self.known.len() >= MAX_KNOWN {
            self.more_names = true;
            return;
        }
        self.known.insert(name.to_owned());
        let leaf = leaf(name);
        if let Some(leaf) = leaf.filter(|leaf| self.leaves.insert((*leaf).to_owned()))
            && self.known.contains(leaf)
            && let Some(bare) = self.names.iter_mut().find(|known| *known == leaf)
        {
            name.clone_into(bare);
            return;
        }
        self.names.push(name.to_owned());
    }

    fn error(&mut self, line: &str) {
        if line::is_error(line) {
            let fits = self.error_bytes <= self.max / 2;
            // Compilers repeat themselves for every target.
            self.block = if fits && self.heads.insert(line.to_owned()) { 1 + MAX_BLOCK } else { 0 };
        }
        if line.is_empty() {
            self.block = 0;
        }
        if self.block > 0 {
            self.block -= 1;
            self.error_bytes += line.len() + 1;
            self.errors.push((self.lines, line.to_owned()));
        }
    }

    fn finish(mut self) -> Digest {
        let found = std::mem::take(&mut self.failure);
        let above = match self.lines > SHORT {
            true => found.finish(self.max / 3),
            false => vec![],
        };
        let mut failure: String = above.iter().map(|(_, line)| format!("{line}\n")).collect();
        failure.extend((!above.is_empty()).then_some('\n'));
        let above: BTreeSet<usize> = above.into_iter().map(|(index, _)| index).collect();
        // In at most half of the room.
        let head = list("Failing tests", &self.names, self.max.saturating_sub(failure.len()) / 2);
        let mut rest = match failure.is_empty() {
            true => String::new(),
            false => format!("{OUTPUT}\n"),
        };
        let left = self.max.saturating_sub(head.len() + failure.len() + rest.len());
        let mut next = 0;
        for (index, line) in self.choose(left, &above) {
            let missing = (next..index).filter(|index| !above.contains(index)).count();
            if missing > 0 {
                rest.push_str(&format!("[... {missing} lines left out]\n"));
            }
            rest.push_str(line);
            rest.push('\n');
            next = index + 1;
        }
        let passed = self.passed.total();
        Digest {
            failing: self.names,
            more: self.more_names,
            passed,
            failure,
            head,
            rest,
            max: self.max,
        }
    }

    /// Which lines to show, by their number, without those that are shown above: errors in at most half of the
    /// space, then from the end backwards.
    fn choose(&self, left: usize, above: &BTreeSet<usize>) -> BTreeMap<usize, &str> {
        let first_of_tail = self.lines - self.tail.len();
        let mut chosen = BTreeMap::new();
        let mut used = 0;
        if first_of_tail > 0 || self.tail_bytes > left {
            used = 2 * MARK;
            let mut before = None;
            for (index, line) in self.errors.iter().filter(|(index, _)| !above.contains(index)) {
                let gap = before.is_some_and(|before| before + 1 != *index);
                let cost = line.len() + 1 + if gap { MARK } else { 0 };
                if used + cost > left / 2 {
                    break;
                }
                used += cost;
                before = Some(*index);
                chosen.insert(*index, line.as_str());
            }
        }
        for (offset, line) in self.tail.iter().enumerate().rev() {
            let index = first_of_tail + offset;
            if chosen.contains_key(&index) || above.contains(&index) {
                continue;
            }
            if used + line.len() + 1 > left {
                break;
            }
            used += line.len() + 1;
            chosen.insert(index, line);
        }
        chosen
    }
}

#[cfg(test)]
mod tests;

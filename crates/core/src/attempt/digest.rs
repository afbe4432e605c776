//! What the next session is told about a gate that was red: the names of failing tests, the first
//! errors, the end of the output. Bounded, the same for the same output, one pass over it.

mod line;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::budget::beginning;

/// How long a digest is unless told otherwise, in bytes.
pub const DEFAULT_MAX: usize = 4_000;

/// How many failing tests are named at most.
const MAX_NAMES: usize = 50;
/// How many names are told apart; beyond that they are only counted.
const MAX_KNOWN: usize = 10_000;
/// How many lines under an error belong to it at most; an empty line ends it sooner.
const MAX_BLOCK: usize = 10;
/// Room for a line that says how many lines are left out.
const MARK: usize = 40;

/// The lines of `output` that matter, in at most `max` bytes.
pub fn digest(output: &str, max: usize) -> String {
    let mut seen = Seen::new(max);
    for raw in output.lines() {
        seen.take(&line::clean(raw));
    }
    seen.compose()
}

/// What is remembered of the lines until now: no more than a few times `max`, however many come.
struct Seen {
    max: usize,
    /// How many lines came, without repeated empty ones.
    lines: usize,
    last_was_empty: bool,
    names: Vec<String>,
    known: BTreeSet<String>,
    more_names: usize,
    errors: Vec<(usize, String)>,
    error_bytes: usize,
    heads: BTreeSet<String>,
    /// How many more lines belong to the error that was begun.
    block: usize,
    tail: VecDeque<String>,
    tail_bytes: usize,
}

impl Seen {
    fn new(max: usize) -> Self {
        Self {
            max,
            lines: 0,
            last_was_empty: true,
            names: vec![],
            known: BTreeSet::new(),
            more_names: 0,
            errors: vec![],
            error_bytes: 0,
            heads: BTreeSet::new(),
            block: 0,
            tail: VecDeque::new(),
            tail_bytes: 0,
        }
    }

    fn take(&mut self, line: &str) {
        if line.is_empty() && self.last_was_empty {
            return;
        }
        self.last_was_empty = line.is_empty();
        if let Some(name) = line::failing_test(line) {
            self.name(name);
        }
        self.error(line);
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
        if self.known.contains(name) {
            return;
        }
        if self.known.len() < MAX_KNOWN {
            self.known.insert(name.to_owned());
        }
        if self.names.len() < MAX_NAMES {
            self.names.push(name.to_owned());
        } else {
            self.more_names += 1;
        }
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

    fn compose(self) -> String {
        let head = self.head();
        let left = self.max.saturating_sub(head.len());
        let chosen = self.choose(left);
        let mut all = head;
        let mut next = 0;
        for (index, line) in chosen {
            if index > next {
                all.push_str(&format!("[... {} lines left out]\n", index - next));
            }
            all.push_str(line);
            all.push('\n');
            next = index + 1;
        }
        beginning(all.trim_end(), self.max).trim_end().to_owned()
    }

    /// The failing tests, in at most half of the room.
    fn head(&self) -> String {
        let mut head = String::new();
        let mut more = self.more_names;
        for name in &self.names {
            let line = format!("- {name}\n");
            if head.len() + line.len() + MARK > self.max / 2 {
                more += 1;
            } else {
                head.push_str(&line);
            }
        }
        match (head.is_empty(), more) {
            (true, _) => head,
            (false, 0) => format!("Failing tests:\n{head}\n"),
            (false, more) => format!("Failing tests:\n{head}- and {more} more\n\n"),
        }
    }

    /// Which lines to show, by their number: errors in at most half of the room, then from the end
    /// backwards.
    fn choose(&self, left: usize) -> BTreeMap<usize, &str> {
        let first_of_tail = self.lines - self.tail.len();
        let mut chosen = BTreeMap::new();
        let mut used = 0;
        if first_of_tail > 0 || self.tail_bytes > left {
            used = 2 * MARK;
            let mut before = None;
            for (index, line) in &self.errors {
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
            if chosen.contains_key(&index) {
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

//! Tests that a change makes weaker: deleted, removed, skipped, or without what they asserted.
//!
//! A test that was renamed, moved with what it does, or made a case of a table is not weaker. What is
//! found is told to people; nothing is refused for it.

mod assertions;
mod found;
mod language;
mod mask;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use self::found::{Found, Test};
use self::language::{Language, is_named_like_tests};

pub use self::language::may_hold_tests;

/// How alike two bodies are that are the same test under another name, in parts of a hundred.
const ALIKE: usize = 60;
/// How many lines below its declaration belong to a helper.
const HELPER_LINES: usize = 40;

/// A file of a change.
#[derive(Debug, Clone, Copy)]
pub struct ChangedFile<'a> {
    /// Its name.
    pub path: &'a str,
    /// What it held; `None` when it was not there.
    pub before: Option<&'a str>,
    /// What it holds; `None` when it is gone.
    pub after: Option<&'a str>,
}

/// Something that is weaker than before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weakening {
    /// The file.
    pub path: String,
    /// What became of it.
    pub how: How,
}

/// In which way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// The file is gone, with so many tests that are nowhere else.
    Deleted(usize),
    /// This test is gone.
    Removed(String),
    /// This test does not run any more.
    Skipped(String),
    /// Only some tests of the file run.
    Narrowed,
    /// This test asserts less: so many before, so many now.
    Lost(String, usize, usize),
    /// This test asserts what is always true.
    Trivial(String),
}

impl fmt::Display for Weakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.how {
            How::Deleted(0) => write!(f, "{path} was deleted"),
            How::Deleted(1) => write!(f, "{path} was deleted with its test"),
            How::Deleted(tests) => write!(f, "{path} was deleted with {tests} tests"),
            How::Removed(test) => write!(f, "{path}: {test} was removed"),
            How::Skipped(test) => write!(f, "{path}: {test} is skipped now"),
            How::Narrowed => write!(f, "{path}: only some of its tests run now"),
            How::Lost(test, before, 0) => {
                write!(f, "{path}: {test} asserts nothing now ({before} before)")
            }
            How::Lost(test, before, after) => {
                write!(f, "{path}: {test} asserts less now ({after}, {before} before)")
            }
            How::Trivial(test) => write!(f, "{path}: {test} asserts what is always true"),
        }
    }
}

/// What `files` make weaker, in the order of the files and their tests.
pub fn find(files: &[ChangedFile<'_>]) -> Vec<Weakening> {
    let sides: Vec<Side<'_>> = files.iter().map(Side::of).collect();
    let mut matched = Matched::of(&sides);
    matched.pair();
    let mut found = Vec::new();
    for (index, side) in sides.iter().enumerate() {
        side.told(index, &matched, &mut found);
    }
    found
}

/// A changed file and the tests that it had and has.
struct Side<'a> {
    file: &'a ChangedFile<'a>,
    before: Found,
    after: Found,
}

impl<'a> Side<'a> {
    fn of(file: &'a ChangedFile<'a>) -> Self {
        let language = Language::of(file.path);
        let read = |text: Option<&str>| match (text, language) {
            (Some(text), Some(language)) => found::tests(text, language),
            _ => Found::default(),
        };
        Self { file, before: read(file.before), after: read(file.after) }
    }

    fn told(&self, index: usize, matched: &Matched<'_>, found: &mut Vec<Weakening>) {
        let path = self.file.path;
        let mut tell = |how| found.push(Weakening { path: path.to_owned(), how });
        if self.file.after.is_none() {
            let tests = &self.before.tests;
            let gone = (0..tests.len()).filter(|at| matched.is_gone((index, *at))).count();
            let unread =
                tests.is_empty() && is_named_like_tests(path) && !matched.is_moved(self.file);
            if gone > 0 || unread {
                tell(How::Deleted(gone));
            }
        }
        if self.after.only > self.before.only {
            tell(How::Narrowed);
        }
        for (at, test) in self.before.tests.iter().enumerate() {
            match matched.now((index, at)) {
                Some(now) => {
                    if let Some(how) = weaker(test, now, matched) {
                        tell(how);
                    }
                }
                None if self.file.after.is_some() && matched.is_gone((index, at)) => {
                    tell(How::Removed(test.name.clone()));
                }
                None => {}
            }
        }
    }
}

/// In which way a test is weaker than it was.
fn weaker(before: &Test, now: &Test, matched: &Matched<'_>) -> Option<How> {
    let name = now.name.clone();
    if now.skipped && !before.skipped {
        return Some(How::Skipped(name));
    }
    let (had, has) = (before.asserted.real.len(), now.asserted.real.len());
    if has >= had {
        return None;
    }
    if now.asserted.trivial > before.asserted.trivial {
        return Some(How::Trivial(name));
    }
    let most = has * 2 < had && had - has >= 2;
    if (has > 0 && !most) || matched.calls_helper(before, now) {
        return None;
    }
    // Many small assertions may have become a large one, or a table.
    let lost = before.asserted.real.iter().filter(|line| !now.asserted.real.contains(line));
    let values: BTreeSet<String> = lost.flat_map(|line| assertions::literals(line)).collect();
    let kept = has > 0 && !values.is_empty() && values.is_subset(&now.literals);
    (!kept).then_some(How::Lost(name, had, has))
}

/// The number of a file, and of a test in it.
type At = (usize, usize);

/// Which test is which, before and after.
struct Matched<'a> {
    sides: &'a [Side<'a>],
    /// Where a test of before is now.
    now: BTreeMap<At, At>,
    /// Tests of after that were not there before.
    new: BTreeSet<At>,
    /// Tests of before that are in others now.
    taken_in: BTreeSet<At>,
    /// Assertions of after that the same tests had not before, and how many.
    spare: BTreeMap<&'a str, usize>,
}

impl<'a> Matched<'a> {
    /// Pairs the tests that have kept file and name.
    fn of(sides: &'a [Side<'a>]) -> Self {
        let mut now = BTreeMap::new();
        let mut new = BTreeSet::new();
        for (index, side) in sides.iter().enumerate() {
            let mut there: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
            for (at, test) in side.after.tests.iter().enumerate().rev() {
                there.entry(&test.name).or_default().push(at);
                new.insert((index, at));
            }
            for (at, test) in side.before.tests.iter().enumerate() {
                if let Some(found) = there.get_mut(test.name.as_str()).and_then(Vec::pop) {
                    now.insert((index, at), (index, found));
                    new.remove(&(index, found));
                }
            }
        }
        Self { sides, now, new, taken_in: BTreeSet::new(), spare: BTreeMap::new() }
    }

    /// Finds what was moved, renamed, or taken in by another test.
    fn pair(&mut self) {
        let all = |side: (usize, &Side<'_>)| {
            (0..side.1.before.tests.len()).map(move |at| (side.0, at)).collect::<Vec<_>>()
        };
        let gone: Vec<At> = self.sides.iter().enumerate().flat_map(all).collect();
        let likeness: [fn(&Test, &Test) -> bool; 3] = [
            |old, new| old.lines == new.lines && !old.lines.is_empty(),
            |old, new| old.leaf == new.leaf,
            |old, new| alike(old, new) >= ALIKE,
        ];
        for is_like in likeness {
            for at in
                gone.iter().filter(|at| !self.now.contains_key(at)).copied().collect::<Vec<_>>()
            {
                let old = self.before(at);
                let new = self.new.iter().copied().find(|new| is_like(old, self.after(*new)));
                if let Some(new) = new {
                    self.new.remove(&new);
                    self.now.insert(at, new);
                }
            }
        }
        self.count_spare();
        for at in gone {
            if !self.now.contains_key(&at) && (self.take_in(at) || self.is_case(at)) {
                self.taken_in.insert(at);
            }
        }
    }

    fn count_spare(&mut self) {
        for line in self.sides.iter().flat_map(|side| &side.after.tests).flat_map(real) {
            *self.spare.entry(line).or_default() += 1;
        }
        let kept: Vec<&Test> = self.now.keys().map(|at| self.before(*at)).collect();
        for line in kept.into_iter().flat_map(real) {
            if let Some(count) = self.spare.get_mut(line.as_str()) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// Everything that the test asserted is asserted by others now, which did not before.
    fn take_in(&mut self, at: At) -> bool {
        let sides = self.sides;
        let lines = &sides[at.0].before.tests[at.1].asserted.real;
        let mut spare = self.spare.clone();
        for line in lines {
            let left = spare.get_mut(line.as_str()).filter(|left| **left > 0);
            let Some(left) = left else { return false };
            *left -= 1;
        }
        let any = !lines.is_empty();
        if any {
            self.spare = spare;
        }
        any
    }

    /// A table of the same file, new or larger, has all its values.
    fn is_case(&self, at: At) -> bool {
        let test = self.before(at);
        let lines = &test.asserted.real;
        let values: BTreeSet<String> =
            lines.iter().flat_map(|line| assertions::literals(line)).collect();
        let side = &self.sides[at.0];
        let had: BTreeMap<&str, &Test> =
            side.before.tests.iter().map(|test| (test.name.as_str(), test)).collect();
        values.len() >= 2
            && side.after.tests.iter().filter(|test| test.table && !test.skipped).any(|table| {
                let grown = had
                    .get(table.name.as_str())
                    .is_none_or(|old| old.literals.len() < table.literals.len());
                grown && !table.asserted.real.is_empty() && values.is_subset(&table.literals)
            })
    }

    fn before(&self, (file, test): At) -> &'a Test {
        &self.sides[file].before.tests[test]
    }

    fn after(&self, (file, test): At) -> &'a Test {
        &self.sides[file].after.tests[test]
    }

    fn now(&self, at: At) -> Option<&'a Test> {
        self.now.get(&at).map(|now| self.after(*now))
    }

    fn is_gone(&self, at: At) -> bool {
        !self.now.contains_key(&at) && !self.taken_in.contains(&at)
    }

    /// The same text is in another file now.
    fn is_moved(&self, file: &ChangedFile<'_>) -> bool {
        let new = self.sides.iter().map(|side| side.file).filter(|file| file.before.is_none());
        new.into_iter().any(|new| new.after == file.before)
    }

    /// The test calls something new, which asserts.
    fn calls_helper(&self, before: &Test, now: &Test) -> bool {
        let new = now.words.difference(&before.words);
        new.into_iter().any(|name| {
            self.sides.iter().any(|side| {
                let (Some(text), Some(language)) = (side.file.after, Language::of(side.file.path))
                else {
                    return false;
                };
                helper_asserts(text, name, language)
            })
        })
    }
}

/// Whether a text declares this name, with assertions below.
fn helper_asserts(text: &str, name: &str, language: Language) -> bool {
    let declares = |line: &str| {
        let mut words = assertions::words(line).map(|(_, word)| word);
        let known = language.function_words();
        words.any(|word| known.contains(&word) || matches!(word, "const" | "let" | "void"))
            && words.next() == Some(name)
    };
    let mut lines = text.lines().skip_while(|line| !declares(line)).take(HELPER_LINES);
    let Some(first) = lines.next() else { return false };
    let rest: Vec<&str> =
        std::iter::once(first.split_once('(').map_or("", |(_, rest)| rest)).chain(lines).collect();
    let masked = mask::mask(&rest.join("\n"), language.syntax());
    !assertions::assertions(&masked.code, &masked.bare, language).real.is_empty()
}

fn real(test: &Test) -> &[String] {
    &test.asserted.real
}

/// How many lines two tests share, in parts of a hundred of the longer one.
fn alike(one: &Test, other: &Test) -> usize {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &one.lines {
        *left.entry(line).or_default() += 1;
    }
    let is_shared = |line: &&String| {
        let count = left.get_mut(line.as_str()).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    };
    let longer = one.lines.len().max(other.lines.len()).max(1);
    other.lines.iter().filter(is_shared).count() * 100 / longer
}

#[cfg(test)]
mod tests;

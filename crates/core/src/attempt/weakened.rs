//! Tests that a change makes weaker, in three ways: a test is gone, a test is skipped, or a test has fewer
//! assertions that can fail. Rust, Python, JavaScript, TypeScript and Go are read.
//!
//! A test that was renamed or moved is not weaker. ralph reports what it finds; it rejects no work for it.

mod assertions;
mod language;
mod mask;
mod tests_in_file;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use self::language::Language;
use self::tests_in_file::{Test, TestsInFile};

pub use self::language::may_hold_tests;

/// How alike two bodies are that are the same test under another name, in parts of a hundred.
const ALIKE: usize = 60;

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
    /// What happened to it.
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
}

impl fmt::Display for Weakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.how {
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
        side.report_weakening(index, &matched, &mut found);
    }
    found
}

/// A changed file and the tests that it had and has.
struct Side<'a> {
    file: &'a ChangedFile<'a>,
    before: TestsInFile,
    after: TestsInFile,
}

impl<'a> Side<'a> {
    fn of(file: &'a ChangedFile<'a>) -> Self {
        let language = Language::of(file.path).filter(|_| may_hold_tests(file.path));
        let read = |text: Option<&str>| match (text, language) {
            (Some(text), Some(language)) => tests_in_file::tests(text, language),
            _ => TestsInFile::default(),
        };
        Self { file, before: read(file.before), after: read(file.after) }
    }

    fn report_weakening(&self, index: usize, matched: &Matched<'_>, found: &mut Vec<Weakening>) {
        let path = self.file.path;
        let mut report = |how| found.push(Weakening { path: path.to_owned(), how });
        if self.after.only && !self.before.only {
            report(How::Narrowed);
        }
        let mut gone = Vec::new();
        for (at, test) in self.before.tests.iter().enumerate() {
            match matched.now((index, at)) {
                None => gone.push(test.name.clone()),
                Some(now) if now.skipped && !test.skipped => {
                    report(How::Skipped(now.name.clone()));
                }
                Some(now) if now.asserts < test.asserts => {
                    report(How::Lost(now.name.clone(), test.asserts, now.asserts));
                }
                Some(_) => {}
            }
        }
        match self.file.after {
            None if !gone.is_empty() => report(How::Deleted(gone.len())),
            _ => gone.into_iter().for_each(|name| report(How::Removed(name))),
        }
    }
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
        Self { sides, now, new }
    }

    /// Finds what was moved or renamed.
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
            let left = gone.iter().filter(|at| !self.now.contains_key(at)).copied();
            for at in left.collect::<Vec<_>>() {
                let old = &self.sides[at.0].before.tests[at.1];
                let new = self.new.iter().copied().find(|new| is_like(old, self.after(*new)));
                if let Some(new) = new {
                    self.new.remove(&new);
                    self.now.insert(at, new);
                }
            }
        }
    }

    fn after(&self, (file, test): At) -> &'a Test {
        &self.sides[file].after.tests[test]
    }

    fn now(&self, at: At) -> Option<&'a Test> {
        self.now.get(&at).map(|now| self.after(*now))
    }
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

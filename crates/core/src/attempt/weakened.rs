//! Tests that a change makes weaker, in three ways: a test is gone, a test is skipped, or a test has fewer
//! assertions that can fail. Rust, Python, JavaScript, TypeScript and Go are read.
//!
//! A test that was renamed or moved is not weaker. ralph reports what it finds; it rejects no work for it.

mod assertions;
mod language;
mod mask;
mod tests_in_file;

use std::collections::BTreeMap;

use self::language::Language;
use self::tests_in_file::{Test, TestsInFile};

pub use self::language::may_hold_tests;

/// How alike two bodies are that are the same test under another name, in parts of a hundred.
const ALIKE: usize = 60;

/// A file of a change.
#[derive(Debug, Clone, Copy)]
pub struct ChangedFile<'a> {
    pub path: &'a str,
    /// What it held; `None` when it was not there.
    pub before: Option<&'a str>,
    /// What it holds; `None` when it is gone.
    pub after: Option<&'a str>,
}

/// What `files` make weaker, a sentence each, in the order of the files and their tests.
pub fn find(files: &[ChangedFile<'_>]) -> Vec<String> {
    let read = |path: &str, text: Option<&str>| {
        let language = Language::of(path).filter(|_| may_hold_tests(path));
        text.zip(language).map(|(text, language)| tests_in_file::tests(text, language))
    };
    let sides = |file: &ChangedFile<'_>| {
        [file.before, file.after].map(|text| read(file.path, text).unwrap_or_default())
    };
    let sides: Vec<[TestsInFile; 2]> = files.iter().map(sides).collect();
    let old: Vec<InFile<'_>> =
        sides.iter().enumerate().flat_map(|(n, of)| in_file(n, &of[0])).collect();
    let new: Vec<InFile<'_>> =
        sides.iter().enumerate().flat_map(|(n, of)| in_file(n, &of[1])).collect();
    let now = paired(&old, new);
    let mut found = Vec::new();
    for (number, (file, [before, after])) in files.iter().zip(&sides).enumerate() {
        let path = file.path;
        if after.only && !before.only {
            found.push(format!("{path}: only some of its tests run now"));
        }
        let mut gone = Vec::new();
        for ((_, test), now) in old.iter().zip(&now).filter(|((of, _), _)| *of == number) {
            match now {
                None => gone.push(&test.name),
                Some(now) if now.skipped && !test.skipped => {
                    found.push(format!("{path}: {} is skipped now", now.name));
                }
                Some(now) if now.asserts < test.asserts => {
                    let (name, before) = (&now.name, test.asserts);
                    found.push(match now.asserts {
                        0 => format!("{path}: {name} asserts nothing now ({before} before)"),
                        after => {
                            format!("{path}: {name} asserts less now ({after}, {before} before)")
                        }
                    });
                }
                Some(_) => {}
            }
        }
        match (file.after, gone.len()) {
            (None, 0) => {}
            (None, 1) => found.push(format!("{path} was deleted with its test")),
            (None, tests) => found.push(format!("{path} was deleted with {tests} tests")),
            _ => found.extend(gone.iter().map(|name| format!("{path}: {name} was removed"))),
        }
    }
    found
}

/// A test, and the number of its file.
type InFile<'a> = (usize, &'a Test);

fn in_file(number: usize, tests: &TestsInFile) -> impl Iterator<Item = InFile<'_>> {
    tests.tests.iter().map(move |test| (number, test))
}

/// What happened to each old test. Those that kept file and name count first, then what was moved or renamed.
fn paired<'a>(old: &[InFile<'a>], mut new: Vec<InFile<'a>>) -> Vec<Option<&'a Test>> {
    let likeness: [fn(&InFile<'_>, &InFile<'_>) -> bool; 4] = [
        |old, new| old.0 == new.0 && old.1.name == new.1.name,
        |old, new| old.1.lines == new.1.lines && !old.1.lines.is_empty(),
        |old, new| old.1.leaf == new.1.leaf,
        |old, new| alike(old.1, new.1) >= ALIKE,
    ];
    let mut now = vec![None; old.len()];
    for is_like in likeness {
        for (old, now) in old.iter().zip(&mut now).filter(|(_, now)| now.is_none()) {
            let at = new.iter().position(|new| is_like(old, new));
            *now = at.map(|at| new.remove(at).1);
        }
    }
    now
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

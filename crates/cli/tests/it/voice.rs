//! ralph's words: what users, agents and developers read is plain English of the field. The rules and the exceptions
//! are tables; names in the code are not part of this.

use std::collections::BTreeSet;

use crate::env;

mod exceptions;
mod matching;
mod passage;
mod rules;
pub(crate) mod rust;
mod script;
mod sources;
mod tests;

use exceptions::{EXCEPTIONS, Exception};
use matching::{Index, Match};
use rules::{EMPTY_COMMENTS, RULES, Scope};
use sources::{Reader, Source};

/// A place that a rule forbids.
#[derive(Debug)]
struct Hit {
    file: String,
    line: usize,
    words: String,
    shown: String,
    say: &'static str,
}

impl std::fmt::Display for Hit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, line, words, shown, say } = self;
        write!(f, "{file}:{line}: \"{words}\"; say instead: {say}\n    {shown}")
    }
}

/// Looks for the rules, and remembers which exceptions were needed.
struct Search {
    rules: Index,
    exceptions: Index,
    hits: Vec<Hit>,
    needed: BTreeSet<usize>,
}

impl Search {
    fn new() -> Self {
        let (mut rules, mut exceptions) = (Index::default(), Index::default());
        for (number, rule) in RULES.iter().enumerate() {
            rule.not.iter().for_each(|pattern| rules.add(number, pattern));
        }
        for (number, exception) in EXCEPTIONS.iter().enumerate() {
            exceptions.add(number, exception.words);
        }
        Self { rules, exceptions, hits: Vec::new(), needed: BTreeSet::new() }
    }

    /// Everything there is to read.
    fn of_everything() -> Self {
        let mut search = Self::new();
        sources::in_the_repository().iter().for_each(|source| search.read(source));
        sources::of_help(&mut env()).iter().for_each(|source| search.read(source));
        search
    }

    fn read(&mut self, source: &Source) {
        let (passage, file) = (&source.passage, &source.file);
        let hit = |line: usize, words: String, say| {
            let shown = source.whole.lines().nth(line - 1).unwrap_or_default().trim().to_owned();
            Hit { file: file.clone(), line, words, shown, say }
        };
        if source.reader == Reader::Programmer {
            let text = passage.text();
            let text = text.trim().trim_end_matches('.');
            if EMPTY_COMMENTS.contains(&text.to_lowercase().as_str()) {
                let say = "something, or leave the comment out";
                self.hits.push(hit(passage.first_line(), text.to_owned(), say));
            }
        }
        let (words, found) = self.rules.matches(passage);
        let in_scope = |found: &&Match| {
            RULES[found.number].scope == Scope::Everywhere || source.reader == Reader::User
        };
        let found: Vec<&Match> = found.iter().filter(in_scope).collect();
        if found.is_empty() {
            return;
        }
        let (_, mut allowed) = self.exceptions.matches(passage);
        allowed.retain(|exception| concerns(&EXCEPTIONS[exception.number], file));
        for found in found {
            let end = found.first + found.length;
            let around = allowed.iter().filter(|exception| {
                exception.first <= found.first && end <= exception.first + exception.length
            });
            let around: Vec<usize> = around.map(|exception| exception.number).collect();
            if around.is_empty() {
                let first = &words[found.first];
                let text = passage.between(first, &words[end - 1]);
                self.hits.push(hit(passage.line(first), text, RULES[found.number].say));
            }
            self.needed.extend(around);
        }
    }
}

/// Whether an exception is about this file.
fn concerns(exception: &Exception, file: &str) -> bool {
    match exception.file.split_once('*') {
        None => exception.file == file,
        Some((start, end)) => {
            file.strip_prefix(start).is_some_and(|rest| rest.strip_suffix(end).is_some())
        }
    }
}

#[test]
fn users_agents_and_developers_read_plain_words() {
    let hits = Search::of_everything().hits;
    let report: String = hits.iter().map(|hit| format!("{hit}\n")).collect();
    assert!(
        report.is_empty(),
        "words that ralph does not use; an exception goes into voice/exceptions.rs\n{report}"
    );
}

#[test]
fn every_exception_is_needed_and_has_a_reason() {
    let search = Search::of_everything();
    for (number, Exception { file, words, reason }) in EXCEPTIONS.iter().enumerate() {
        assert!(!reason.is_empty(), "{file}: \"{words}\" has no reason");
        assert!(search.needed.contains(&number), "nothing needs the exception {file}: \"{words}\"");
    }
}

//! Finds the patterns of the rules in passages.

use std::collections::HashMap;

use super::passage::{Passage, Word};

/// A pattern of [`super::rules`], parsed.
#[derive(Debug)]
pub(super) struct Pattern {
    not_before: Vec<&'static str>,
    words: Vec<Vec<&'static str>>,
    not_behind: Vec<&'static str>,
}

impl Pattern {
    pub(super) fn parse(text: &'static str) -> Self {
        let mut pattern = Self { not_before: vec![], words: vec![], not_behind: vec![] };
        for word in text.split(' ') {
            match word.strip_prefix('!') {
                None => pattern.words.push(word.split('|').collect()),
                Some(words) if pattern.words.is_empty() => {
                    pattern.not_before = words.split('|').collect();
                }
                Some(words) => pattern.not_behind = words.split('|').collect(),
            }
        }
        assert!(!pattern.words.is_empty() && pattern.words[0] != ["*"], "{text}");
        pattern
    }

    /// How many words it takes from here on; `None` if it does not match.
    pub(super) fn length_at(&self, words: &[Word], at: usize) -> Option<usize> {
        let matches = self.words.iter().enumerate().all(|(index, choices)| {
            words.get(at + index).is_some_and(|word| {
                let named = *choices != ["*"] && word.is_name;
                !named && (index == 0 || word.joined) && is_one_of(word, choices)
            })
        });
        let end = at + self.words.len();
        let next = words.get(end).filter(|word| word.joined);
        let previous = at.checked_sub(1).and_then(|at| words.get(at));
        let previous = previous.filter(|_| words[at].joined);
        let excluded = previous.is_some_and(|word| is_one_of(word, &self.not_before))
            || (!self.not_behind.is_empty()
                && next.is_none_or(|word| is_one_of(word, &self.not_behind)));
        (matches && !excluded).then_some(self.words.len())
    }
}

fn is_one_of(word: &Word, choices: &[&str]) -> bool {
    choices.iter().any(|choice| match choice.strip_suffix('*') {
        Some(beginning) => word.text.starts_with(beginning),
        None => word.text == *choice,
    })
}

/// Many patterns, by the word that they begin with.
#[derive(Default)]
pub(super) struct Index {
    patterns: Vec<(usize, Pattern)>,
    by_word: HashMap<&'static str, Vec<usize>>,
    by_beginning: Vec<(&'static str, usize)>,
}

/// A match: the number that its pattern was added with, the first word and how many there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Match {
    pub(super) number: usize,
    pub(super) first: usize,
    pub(super) length: usize,
}

impl Index {
    pub(super) fn add(&mut self, number: usize, text: &'static str) {
        let pattern = Pattern::parse(text);
        for choice in &pattern.words[0] {
            match choice.strip_suffix('*') {
                Some(beginning) => self.by_beginning.push((beginning, self.patterns.len())),
                None => self.by_word.entry(*choice).or_default().push(self.patterns.len()),
            }
        }
        self.patterns.push((number, pattern));
    }

    /// Every match. Of those of one number that overlap, the first.
    pub(super) fn matches(&self, passage: &Passage) -> (Vec<Word>, Vec<Match>) {
        let words = passage.words();
        let mut found: Vec<Match> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let begun = self.by_beginning.iter().filter(|(start, _)| word.text.starts_with(start));
            let exact = self.by_word.get(word.text.as_str()).into_iter().flatten();
            for pattern in exact.copied().chain(begun.map(|(_, pattern)| *pattern)) {
                let (number, pattern) = &self.patterns[pattern];
                let Some(length) = pattern.length_at(&words, at) else { continue };
                let inside = |m: &Match| m.number == *number && at < m.first + m.length;
                if !found.iter().rev().take(8).any(inside) {
                    found.push(Match { number: *number, first: at, length });
                }
            }
        }
        (words, found)
    }
}

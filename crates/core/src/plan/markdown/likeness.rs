//! How alike two titles are, as a person would say.

use std::collections::HashSet;

/// Only so many characters of a title are compared letter by letter.
const MOST_LETTERS: usize = 80;

/// Words that say nothing about what a task is.
const SMALL: [&str; 12] =
    ["a", "an", "and", "for", "in", "of", "on", "the", "to", "with", "that", "by"];

/// A title without what does not make it another one: case, white space, emphasis, punctuation at
/// the ends of words, comments.
pub(super) fn plain(title: &str) -> String {
    let mut text = String::with_capacity(title.len());
    let mut rest = title;
    while let Some((before, behind)) = rest.split_once("<!--") {
        text.push_str(before);
        text.push(' ');
        rest = behind.split_once("-->").map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    let is_edge = |c: char| {
        matches!(
            c,
            '*' | '_'
                | '`'
                | '~'
                | '.'
                | ','
                | ':'
                | ';'
                | '!'
                | '?'
                | '…'
                | '"'
                | '\''
                | '('
                | ')'
        )
    };
    let words = text.split_whitespace().map(|word| word.trim_matches(is_edge));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() { title.trim().to_lowercase() } else { words.join(" ").to_lowercase() }
}

/// A plain title, ready to be compared with many others.
#[derive(Debug)]
pub(super) struct Words<'t> {
    title: &'t str,
    words: HashSet<&'t str>,
}

impl<'t> Words<'t> {
    pub(super) fn of(title: &'t str) -> Self {
        let is_edge = |c: char| !c.is_alphanumeric();
        let all = title.split(is_edge).filter(|word| !word.is_empty());
        let mut words: HashSet<&str> = all.clone().filter(|word| !SMALL.contains(word)).collect();
        if words.is_empty() {
            words = all.collect();
        }
        Self { title, words }
    }

    /// From 0, nothing in common, to 1.
    pub(super) fn likeness(&self, other: &Self) -> f64 {
        let shared = self.words.intersection(&other.words).count() as f64;
        let (own, theirs) = (self.words.len() as f64, other.words.len() as f64);
        let dice = if shared > 0.0 { 2.0 * shared / (own + theirs) } else { 0.0 };
        // A half of a title that was split is contained in it.
        let least = own.min(theirs);
        let contained = if least >= 2.0 { 0.8 * shared / least } else { 0.0 };
        let words = dice.max(contained);
        // Letters only help where words are nearly the same: plurals, endings, slips.
        if shared == 0.0 && least > 2.0 {
            return words;
        }
        let start = |title: &'t str| -> &'t str {
            title.char_indices().nth(MOST_LETTERS).map_or(title, |(end, _)| &title[..end])
        };
        words.max(strsim::normalized_levenshtein(start(self.title), start(other.title)))
    }
}

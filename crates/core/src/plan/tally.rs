//! Counts what a format cannot represent, for the report after an import or export.

use std::collections::BTreeMap;

/// Sentences such as "labels of 3 issues", each said once with its count.
#[derive(Debug, Default)]
pub(in crate::plan) struct Tally {
    counts: BTreeMap<Phrase, usize>,
}

/// What stands before the count, the noun that is counted, and what stands after it.
type Phrase = (String, String, &'static str);

impl Tally {
    /// Counts one more of `before` _n_ `noun` `after`.
    pub(in crate::plan) fn add(
        &mut self,
        before: impl Into<String>,
        noun: impl Into<String>,
        after: &'static str,
    ) {
        *self.counts.entry((before.into(), noun.into(), after)).or_default() += 1;
    }

    /// Counts one more `noun` that loses `what`, if it `has` it.
    pub(in crate::plan) fn lost(&mut self, has: bool, what: &str, noun: &str) {
        if has {
            self.add(format!("{what} of "), noun, "");
        }
    }

    /// The sentences, in alphabetical order.
    pub(in crate::plan) fn sentences(self) -> Vec<String> {
        let sentence = |((before, noun, after), count): (Phrase, usize)| {
            let plural = if count == 1 { "" } else { "s" };
            let noun = match noun.strip_suffix('y') {
                Some(stem) if count > 1 => format!("{stem}ies"),
                _ => format!("{noun}{plural}"),
            };
            format!("{before}{count} {noun}{after}")
        };
        self.counts.into_iter().map(sentence).collect()
    }
}

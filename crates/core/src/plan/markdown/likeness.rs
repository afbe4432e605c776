//! How alike two titles are to a reader.

/// How many words of a title are compared.
const MOST_WORDS: usize = 24;

/// Words that say nothing about what a task is.
const SMALL: [&str; 12] =
    ["a", "an", "and", "for", "in", "of", "on", "the", "to", "with", "that", "by"];

/// Words that many tasks begin with: they say half as much as others.
const COMMON: [&str; 15] = [
    "add",
    "build",
    "change",
    "create",
    "define",
    "fix",
    "handle",
    "implement",
    "improve",
    "make",
    "set",
    "support",
    "update",
    "use",
    "write",
];

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
    let is_edge = |c: char| "*_`~.,:;!?…\"'()".contains(c);
    let words = text.split_whitespace().map(|word| word.trim_matches(is_edge));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() { title.trim().to_lowercase() } else { words.join(" ").to_lowercase() }
}

/// A plain title, ready to be compared with many others.
#[derive(Debug)]
pub(super) struct Words<'t> {
    /// Each word once.
    words: Vec<&'t str>,
}

impl<'t> Words<'t> {
    pub(super) fn of(title: &'t str) -> Self {
        let all = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut words: Vec<&str> = Vec::new();
        for word in all.clone().filter(|word| !SMALL.contains(word)).take(MOST_WORDS) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        if words.is_empty() {
            words = all.take(MOST_WORDS).collect();
        }
        Self { words }
    }

    /// From 0, nothing in common, to 1.
    pub(super) fn likeness(&self, other: &Self) -> f64 {
        let mut left: Vec<Option<&str>> = other.words.iter().copied().map(Some).collect();
        let mut take = |same: &dyn Fn(&str) -> bool| {
            let found = left.iter_mut().find(|word| word.is_some_and(same));
            found.and_then(Option::take)
        };
        // Words that are the same come before those that are nearly so.
        let mut unpaired = Vec::new();
        let mut shared = 0.0;
        for word in &self.words {
            match take(&|found| found == *word) {
                Some(_) => shared += weight(word),
                None => unpaired.push(*word),
            }
        }
        for word in unpaired {
            shared += take(&|found| nearly(word, found)).map_or(0.0, |_| weight(word));
        }
        if shared == 0.0 {
            return 0.0;
        }
        let total = |words: &Self| words.words.iter().map(|word| weight(word)).sum::<f64>();
        let (own, theirs) = (total(self), total(other));
        let dice = 2.0 * shared / (own + theirs);
        // A half of a title that was split is contained in it.
        let contained = match self.words.len().min(other.words.len()) {
            0..=1 => 0.0,
            _ => 0.8 * shared / own.min(theirs),
        };
        // "Part 3" and "part 4" are two tasks however alike they are.
        let numbers = |words: &Self| -> Vec<&str> {
            let mut all: Vec<&str> = words.words.iter().copied().filter(|w| has_digit(w)).collect();
            all.sort_unstable();
            all
        };
        let (own, theirs) = (numbers(self), numbers(other));
        let other_number = !own.is_empty() && !theirs.is_empty() && own != theirs;
        dice.max(contained).min(1.0) * if other_number { 0.65 } else { 1.0 }
    }
}

fn weight(word: &str) -> f64 {
    if COMMON.contains(&word) { 0.5 } else { 1.0 }
}

fn has_digit(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}

/// Whether two words are one with another ending or a slip in it.
fn nearly(a: &str, b: &str) -> bool {
    if a.chars().next() != b.chars().next() || has_digit(a) || has_digit(b) {
        return false;
    }
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    (short.len() >= 4 && long.starts_with(short)) || strsim::normalized_levenshtein(a, b) >= 0.75
}

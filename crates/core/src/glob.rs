//! Patterns of paths, read as git reads those of a `.gitignore`.

mod pattern;

use pattern::Pattern;
pub use pattern::PatternError;

/// A list of patterns. Later ones win, and one with `!` in front takes out what earlier ones matched.
///
/// A pattern without a slash, or with one only at its end, matches a name at any depth; any other is read
/// from the top. One that matches a folder matches everything in it. Unlike in git, a file can be taken out
/// whose folder is matched: git does not look into folders that it ignores, which is no reason here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Reads them; one that could not match anything is refused.
    pub fn read<T: AsRef<str>>(
        patterns: impl IntoIterator<Item = T>,
    ) -> Result<Self, PatternError> {
        patterns
            .into_iter()
            .map(|text| Pattern::read(text.as_ref()))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn matches(&self, path: &str) -> bool {
        let fitting = self.0.iter().rev().find(|pattern| pattern.matches(path));
        fitting.is_some_and(|pattern| !pattern.negated)
    }
}

/// Whether a path could fit a pattern of the one list and a pattern of the other.
pub fn any_meet(one: &[String], other: &[String]) -> bool {
    one.iter().any(|pattern| other.iter().any(|beside| may_meet(pattern, beside)))
}

/// Whether a path could fit both patterns. In doubt it could: patterns are compared by what they say for
/// certain.
fn may_meet(one: &str, other: &str) -> bool {
    let (one, other) = (all_below(one, other), all_below(other, one));
    // meet[b]: the rest of the one, from its part a on, and of the other, from b on, could fit one path.
    let mut later: Vec<bool> = Vec::new();
    for a in (0..=one.len()).rev() {
        let mut meet = vec![false; other.len() + 1];
        for b in (0..=other.len()).rev() {
            let any = |parts: &[&str], at: usize| parts.get(at) == Some(&"**");
            meet[b] = match (one.get(a), other.get(b)) {
                (None, None) => true,
                _ if any(&one, a) && later[b] => true,
                _ if any(&other, b) && meet[b + 1] => true,
                (Some(_), Some(_)) if any(&one, a) => meet[b + 1],
                (Some(_), Some(_)) if any(&other, b) => later[b],
                (Some(x), Some(y)) => later[b + 1] && names_may_meet(x, y),
                _ => false,
            };
        }
        later = meet;
    }
    later.first().copied().unwrap_or(true)
}

/// The parts of a pattern, and everything below what it fits. Beside one that fits at any depth, a last
/// name with a dot is that of a file: `*.rs` and `*.md` would meet in a folder `a.rs` otherwise.
fn all_below<'p>(pattern: &'p str, beside: &str) -> Vec<&'p str> {
    let plain = |pattern: &'p str| pattern.trim_start_matches("./").trim_end_matches('/');
    let pattern = pattern.trim();
    let is_folder = pattern.ends_with('/');
    let pattern = plain(pattern);
    let from_top = pattern.contains('/');
    let beside_any_depth = !beside.trim().trim_end_matches('/').contains('/');
    let last = pattern.rsplit('/').next().unwrap_or_default();
    let is_file = !is_folder && beside_any_depth && last.contains('.');
    let first = (!from_top).then_some("**");
    let below = (!is_file).then_some("**");
    first.into_iter().chain(pattern.trim_start_matches('/').split('/')).chain(below).collect()
}

/// By the plain letters at the beginning and at the end of two names.
fn names_may_meet(one: &str, other: &str) -> bool {
    const SPECIAL: [char; 5] = ['*', '?', '[', '{', '\\'];
    let is_plain = |name: &str| !name.contains(SPECIAL);
    match (is_plain(one), is_plain(other)) {
        (true, true) => one == other,
        (true, false) if !other.contains('{') => may_fit(other, one),
        (false, true) if !one.contains('{') => may_fit(one, other),
        _ => {
            let head = |name: &str| name.find(SPECIAL).unwrap_or(name.len());
            let (a, b) = (&one[..head(one)], &other[..head(other)]);
            let tail = |name: &str| name.rfind(['*', '?', ']', '}']).map_or(0, |at| at + 1);
            let (c, d) = (&one[tail(one)..], &other[tail(other)..]);
            (a.starts_with(b) || b.starts_with(a)) && (c.ends_with(d) || d.ends_with(c))
        }
    }
}

/// What cannot be read is in doubt, too.
fn may_fit(pattern: &str, name: &str) -> bool {
    Pattern::read(pattern).map_or(true, |pattern| pattern.matches_entry(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Patterns::read([pattern]).unwrap().matches(path)
    }

    #[test]
    fn patterns_are_read_as_git_reads_them() {
        for (pattern, path, fits) in [
            ("*.snap", "a.snap", true),
            ("*.snap", "deep/down/a.snap", true),
            ("/*.snap", "deep/a.snap", false),
            ("tests/", "tests/a/b.rs", true),
            ("tests/", "src/tests/b.rs", true),
            ("tests/", "tests", false),
            ("tests", "tests", true),
            ("tests/*.rs", "tests/a.rs", true),
            ("tests/*.rs", "x/tests/a.rs", false),
            ("tests/*.rs", "tests/a/b.rs", false),
            ("tests/**/*.rs", "tests/a/b/c.rs", true),
            ("tests/**/*.rs", "tests/c.rs", true),
            ("**/golden", "a/b/golden/file", true),
            ("a/**", "a/b/c", true),
            ("a/**", "b/a/c", false),
            ("Cargo.lock", "sub/Cargo.lock", true),
            ("ci?.yml", "ci2.yml", true),
            ("ci[0-9].yml", "ci2.yml", true),
            ("ci[!0-9].yml", "ci2.yml", false),
            ("ci[]x].yml", "ci].yml", true),
            ("ci[]-a].yml", "ci^.yml", true),
            ("a[[:digit:]].rs", "a7.rs", true),
            ("a[[:digit:]].rs", "ab.rs", false),
            ("a[^[:alpha:]_].rs", "a_.rs", false),
            ("a[\\]]b", "a]b", true),
            ("a[\\]]b", "axb", false),
            ("a[b-]", "a-", true),
            ("a[[:]", "a:", true),
            ("a[!/]b", "a/b", false),
            ("?", "é", false),
            ("??", "é", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a*b*c", "aXbbYc", true),
            ("a*b*c", "aXbbY", false),
            ("a ", "a", true),
            ("a\\ ", "a ", true),
            (" a", "a", false),
            ("\\#a", "#a", true),
            ("\\!a", "!a", true),
            ("a/**/b", "a/b", true),
            ("**", "a/b", true),
            ("é*", "été", true),
        ] {
            assert_eq!(matches(pattern, path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_that_can_match_nothing_is_refused() {
        for (pattern, says) in [
            ("", "it is empty"),
            ("/", "it is empty"),
            ("!", "it is empty"),
            ("  ", "it is empty"),
            ("#tests", "a comment"),
            ("[x", "a [ without its ]"),
            ("a[", "a [ without its ]"),
            ("a[]", "a [ without its ]"),
            ("a[b\\", "a [ without its ]"),
            ("a[[:digit", "a [ without its ]"),
            ("a[[:digits:]]", "[:digits:] is not a class"),
            ("a\\", "a backslash"),
            ("./tests", "no path in a repository"),
            ("../tests", "no path in a repository"),
            ("tests//a", "no path in a repository"),
            ("tests/./a", "no path in a repository"),
        ] {
            let refused = Patterns::read([pattern]).unwrap_err().to_string();
            assert!(refused.contains(says), "{pattern}: {refused}");
        }
        assert!(Patterns::read(["tests/.*", "..a/", "a/...", "***"]).is_ok());
    }

    #[test]
    fn later_patterns_win_and_some_take_out() {
        let patterns = Patterns::read(["tests/", "!tests/new/", "golden.txt"]).unwrap();
        assert!(patterns.matches("tests/old.rs"));
        assert!(!patterns.matches("tests/new/a.rs"));
        assert!(patterns.matches("tests/new/golden.txt"));
        assert!(!Patterns::default().matches("a"));
    }

    #[test]
    fn patterns_meet_unless_they_cannot() {
        for (one, other, meet) in [
            ("src/a.rs", "src/a.rs", true),
            ("src/a.rs", "src/b.rs", false),
            ("src/", "src/a/b.rs", true),
            ("src/**", "docs/**", false),
            ("src/*.rs", "src/*.md", false),
            ("src/*.rs", "src/a*", true),
            ("src/a*", "src/b*", false),
            ("*.rs", "docs/x.md", false),
            ("*.rs", "docs/x.rs", true),
            ("*.rs", "docs", true),
            ("**/x", "a/b/x/y", true),
            ("a/**/x", "a/x", true),
            ("./src/a.rs", "src/a.rs", true),
            ("/src", "src/a.rs", true),
            ("src/{a,b}.rs", "src/a.rs", true),
            ("src/{a,b}.rs", "docs/a.rs", false),
            ("a/b/c", "a/b", true),
            ("*.rs", "*.md", false),
            ("v1.2", "v1.2/a.md", true),
        ] {
            assert_eq!(may_meet(one, other), meet, "{one} {other}");
            assert_eq!(may_meet(other, one), meet, "{other} {one}");
        }
    }

    #[test]
    fn many_stars_are_no_trouble() {
        let pattern = "*a".repeat(50);
        assert!(!matches(&pattern, &"a".repeat(49)));
        assert!(!matches(&format!("{pattern}b"), &"a".repeat(5_000)));
    }
}

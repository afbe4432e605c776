//! Patterns of paths, read as git reads those of a `.gitignore`.

/// Whether a path fits one of the patterns. Later patterns win, and one with `!` in front takes out.
///
/// A pattern without a slash, or with one only at its end, fits a name at any depth; any other is read
/// from the top. One that fits a folder fits everything in it.
pub fn any_matches(patterns: &[String], path: &str) -> bool {
    let mut fits = false;
    for pattern in patterns {
        match pattern.strip_prefix('!') {
            Some(pattern) => fits = fits && !matches(pattern, path),
            None => fits = fits || matches(pattern, path),
        }
    }
    fits
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
        (true, false) if !other.contains('{') => fits_name(other, one),
        (false, true) if !one.contains('{') => fits_name(one, other),
        _ => {
            let head = |name: &str| name.find(SPECIAL).unwrap_or(name.len());
            let (a, b) = (&one[..head(one)], &other[..head(other)]);
            let tail = |name: &str| name.rfind(['*', '?', ']', '}']).map_or(0, |at| at + 1);
            let (c, d) = (&one[tail(one)..], &other[tail(other)..]);
            (a.starts_with(b) || b.starts_with(a)) && (c.ends_with(d) || d.ends_with(c))
        }
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    let pattern = pattern.trim();
    let (pattern, folders_only) = match pattern.strip_suffix('/') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    if pattern.is_empty() {
        return false;
    }
    let from_top = pattern.contains('/');
    let mut parts: Vec<&str> = pattern.trim_start_matches('/').split('/').collect();
    if !from_top {
        parts.insert(0, "**");
    }
    let names: Vec<&str> = path.split('/').collect();
    let longest = if folders_only { names.len() - 1 } else { names.len() };
    (1..=longest).any(|length| fits_parts(&parts, &names[..length]))
}

/// Part by part; `**` stands for any number of folders.
fn fits_parts(parts: &[&str], names: &[&str]) -> bool {
    // fits[n]: the parts so far fit the first n names.
    let mut fits = vec![false; names.len() + 1];
    fits[0] = true;
    for part in parts {
        let mut next = vec![false; names.len() + 1];
        for at in 0..=names.len() {
            next[at] = match *part {
                "**" => fits[at] || (at > 0 && next[at - 1]),
                part => at > 0 && fits[at - 1] && fits_name(part, names[at - 1]),
            };
        }
        fits = next;
    }
    fits[names.len()]
}

/// One name: `*` is any text, `?` any letter, `[a-z]` one of a set.
fn fits_name(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match one(&pattern[at..], name[in_name]) {
            Fit::Star => {
                star = Some((at + 1, in_name));
                at += 1;
            }
            Fit::Letter(length) => {
                at += length;
                in_name += 1;
            }
            // The last star takes in one letter more.
            Fit::No => match star {
                Some((after, taken)) => {
                    star = Some((after, taken + 1));
                    (at, in_name) = (after, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

enum Fit {
    Star,
    /// The letter fits this much of the pattern.
    Letter(usize),
    No,
}

fn one(pattern: &[char], letter: char) -> Fit {
    match pattern {
        ['*', ..] => Fit::Star,
        ['?', ..] => Fit::Letter(1),
        ['\\', plain, ..] => {
            if *plain == letter {
                Fit::Letter(2)
            } else {
                Fit::No
            }
        }
        ['[', rest @ ..] => match rest.iter().skip(1).position(|c| *c == ']') {
            Some(end) if is_in(&rest[..=end], letter) => Fit::Letter(end + 3),
            Some(_) => Fit::No,
            None => {
                if letter == '[' {
                    Fit::Letter(1)
                } else {
                    Fit::No
                }
            }
        },
        [plain, ..] if *plain == letter => Fit::Letter(1),
        _ => Fit::No,
    }
}

/// Whether a letter is in the set that is written between brackets.
fn is_in(set: &[char], letter: char) -> bool {
    let (set, wanted) = match set {
        ['!' | '^', rest @ ..] => (rest, false),
        set => (set, true),
    };
    let mut rest = set;
    let mut found = false;
    loop {
        rest = match rest {
            [from, '-', to, rest @ ..] => {
                found |= (*from..=*to).contains(&letter);
                rest
            }
            [only, rest @ ..] => {
                found |= *only == letter;
                rest
            }
            [] => return found == wanted,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("[x", "[x", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a*b*c", "aXbbYc", true),
            ("a*b*c", "aXbbY", false),
            ("", "a", false),
            ("/", "a", false),
            ("é*", "été", true),
        ] {
            assert_eq!(matches(pattern, path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn later_patterns_win_and_some_take_out() {
        let patterns = ["tests/".to_owned(), "!tests/new/".to_owned()];
        assert!(any_matches(&patterns, "tests/old.rs"));
        assert!(!any_matches(&patterns, "tests/new/a.rs"));
        assert!(!any_matches(&[], "a"));
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

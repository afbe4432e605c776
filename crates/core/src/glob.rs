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
    fn many_stars_are_no_trouble() {
        let pattern = "*a".repeat(50);
        assert!(!matches(&pattern, &"a".repeat(49)));
        assert!(!matches(&format!("{pattern}b"), &"a".repeat(5_000)));
    }
}

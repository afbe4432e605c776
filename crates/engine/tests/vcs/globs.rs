//! Patterns of protected files against git itself: both read every pattern in the same way.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use ralph_core::glob::Patterns;

use crate::kit::Repo;

/// What git ignores, of paths below folders that have a pattern each. One call for all of them.
fn ignored(repo: &Repo, asked: &[String]) -> BTreeSet<String> {
    let mut git = Command::new("git")
        .args(["check-ignore", "--no-index", "-z", "--stdin"])
        .current_dir(repo.place())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = git.stdin.take().unwrap();
    let text = asked.join("\0");
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()).unwrap());
    let output = git.wait_with_output().unwrap();
    writer.join().unwrap();
    // It says no when it finds none.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let found = output.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    found.map(|path| String::from_utf8(path.to_vec()).unwrap()).collect()
}

/// Each pattern and path on which git and [`Patterns`] disagree. What [`Patterns`] refuses must match nothing
/// in git either.
fn disagreements(patterns: &[String], paths: &[String]) -> Vec<String> {
    let repo = Repo::unborn();
    let mut asked = Vec::new();
    for (number, pattern) in patterns.iter().enumerate() {
        repo.write(format!("p{number}/.gitignore"), format!("{pattern}\n"));
        asked.extend(paths.iter().map(|path| format!("p{number}/{path}")));
    }
    let ignored = ignored(&repo, &asked);
    let mut found = Vec::new();
    for (number, pattern) in patterns.iter().enumerate() {
        let ours = Patterns::read([pattern]);
        for path in paths {
            let theirs = ignored.contains(&format!("p{number}/{path}"));
            let same = ours.as_ref().map_or(!theirs, |ours| ours.matches(path) == theirs);
            if !same {
                found.push(format!("{pattern:?} on {path:?}: git {theirs}, we read {ours:?}"));
            }
        }
    }
    found
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn patterns_with_classes_escapes_and_stars_match_what_git_matches() {
    let patterns = owned(&[
        "a[[:digit:]].rs",
        "a[\\]]b",
        "a[]]b",
        "a[^]]b",
        "a[!a-c]b",
        "a[a\\-c]b",
        "[[:punct:]]*",
        "[[:digits:]]",
        "[[:digit]",
        "a**b",
        "a**/b",
        "**/b",
        "a/**",
        "a/**/b",
        "a/**b",
        "**a/b",
        "/a",
        "/a/",
        "a/",
        "a/b/",
        "\\a",
        "a\\",
        "a ",
        "a\\ ",
        "*/b",
        "a/*",
        "?",
        "??",
        "[x",
        "./a",
        "a//b",
        "#a",
        "\\#a",
    ]);
    let paths = owned(&[
        "a1.rs", "ab.rs", "a]b", "axb", "adb", "a-b", "abb", "#a", "ab", "a", "a ", "b", "a/b",
        "a/x/b", "a/x/y/b", "ax/b", "a/bx", "a/bx/c", "x/a", "x/a/b", "x/b", "a/b/c", "é", "[x",
        "a\\",
    ]);
    assert_eq!(disagreements(&patterns, &paths), Vec::<String>::new());
}

fn pattern() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec!["a", "b", "c", "1", "-", "_", "]", "A", "é", ".", " "]),
        6 => prop::sample::select(vec!["*", "**", "?", "/", "**/", "/**", "/**/", "\\", "***"]),
        4 => prop::sample::select(vec![
            "[", "[!", "[^", "]", "[]", "[a-c]", "[!b]", "[a\\]]", "[[:digit:]]", "[^[:alpha:]]", "[:",
            "[[:", ":]", "[a-", "\\]", "[]-a]", "[--1]", "[[:space:]b]", "[b-a]",
        ]),
    ];
    let pattern = prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat());
    // An empty part matches no name; ralph refuses such a pattern, and git reads it in its own way.
    pattern.prop_filter("no empty part", |text| !text.contains("//"))
}

fn path() -> impl Strategy<Value = String> {
    let letters = vec!["a", "b", "c", "1", "-", "_", "]", "[", "A", "é", "*", "\\", "!", ":", " "];
    let name = prop::collection::vec(prop::sample::select(letters), 1..4)
        .prop_map(|letters| letters.concat());
    prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn random_patterns_match_what_git_matches(
        patterns in prop::collection::vec(pattern(), 100),
        paths in prop::collection::vec(path(), 60),
    ) {
        let found = disagreements(&patterns, &paths);
        let matching = |pattern| Patterns::read([pattern]).is_ok_and(|p| paths.iter().any(|path| p.matches(path)));
        prop_assert!(patterns.iter().any(matching), "something matches");
        prop_assert!(found.is_empty(), "{} in all:\n{}", found.len(), found[..found.len().min(20)].join("\n"));
    }
}

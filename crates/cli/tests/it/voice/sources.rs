//! Everything that users, agents and developers read: where it is, and who reads it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ralph_testkit::TestEnv;

use super::passage::Passage;
use super::rust::{Piece, TextKind, pieces};
use super::script;
use crate::named_tests::crates;
use crate::reference::commands;

/// Pages about the code, beside those in `docs/design`.
const FOR_DEVELOPERS: [&str; 6] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/acceptance.md",
    "docs/faults.md",
    "docs/fuzzing.md",
    "docs/regressions.md",
];

/// A passage and its place.
pub(super) struct Source {
    /// The path from the root of the repository, or the command whose help it is.
    pub(super) file: String,
    /// The whole text of the file, for messages.
    pub(super) whole: Rc<str>,
    pub(super) reader: Reader,
    pub(super) passage: Passage,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reader {
    /// Or an agent.
    User,
    /// Of a page.
    Developer,
    /// Of a doc comment.
    Programmer,
}

/// The root of the repository.
fn root() -> PathBuf {
    crates().parent().unwrap().to_owned()
}

/// The files below a folder, in order, by their paths from the root.
fn files(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap()
}

/// Strings and doc comments of all crates, the prompts and settings beside them, the page in the browser, and all pages.
pub(super) fn in_the_repository() -> Vec<Source> {
    let mut sources = Vec::new();
    for name in ["cli", "core", "engine", "testkit", "ui", "web"] {
        for file in files(&format!("crates/{name}/src")) {
            match Path::new(&file).extension().and_then(|extension| extension.to_str()) {
                Some("rs") => sources.extend(of_rust(&file)),
                Some("md") => sources.push(page(file)),
                Some("toml") => {
                    let whole: Rc<str> = read(&file).into();
                    let passage = Passage::of(&whole).of_toml();
                    sources.push(Source { file, whole, reader: Reader::User, passage });
                }
                _ => {}
            }
        }
    }
    for file in files("crates/web/page") {
        if file.ends_with(".js") || file.ends_with(".html") {
            let whole = read(&file);
            sources.extend(of_the_page(&file, &whole));
        }
    }
    let docs = files("docs").into_iter().filter(|file| file.ends_with(".md"));
    let pages = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(str::to_owned);
    sources.extend(docs.chain(pages).map(page));
    sources
}

fn page(file: String) -> Source {
    let about_code = FOR_DEVELOPERS.contains(&file.as_str()) || file.starts_with("docs/design/");
    let reader = if about_code { Reader::Developer } else { Reader::User };
    let whole: Rc<str> = read(&file).into();
    let passage = Passage::of(&whole).of_markdown();
    Source { file, whole, reader, passage }
}

/// The doc comments, and the strings that are not those of tests. A string without a blank is a name: a key, a
/// path, a word of a protocol.
fn of_rust(file: &str) -> Vec<Source> {
    let is_test = file.ends_with("/tests.rs")
        || file.contains("/tests/")
        || file.starts_with("crates/testkit/");
    let whole: Rc<str> = read(file).into();
    let source = |reader, passage| {
        Some(Source { file: file.to_owned(), whole: Rc::clone(&whole), reader, passage })
    };
    let of = |piece: Piece| match piece.kind {
        TextKind::Doc => source(Reader::Programmer, piece.passage.of_markdown()),
        TextKind::String if is_test || piece.in_test || !piece.passage.has_blanks() => None,
        TextKind::String => source(Reader::User, piece.passage.of_string()),
    };
    pieces(&whole).into_iter().filter_map(of).collect()
}

/// What the page in the browser says, and the comments of its scripts. As in Rust, a string without a blank is a name.
pub(super) fn of_the_page(file: &str, text: &str) -> Vec<Source> {
    let whole: Rc<str> = text.into();
    let source = |reader, passage| {
        Some(Source { file: file.to_owned(), whole: Rc::clone(&whole), reader, passage })
    };
    let is_html = file.ends_with(".html");
    let of = |piece: script::Piece| match piece.kind {
        TextKind::Doc => source(Reader::Programmer, piece.passage.of_markdown()),
        TextKind::String if !is_html && !piece.passage.has_blanks() => None,
        TextKind::String => source(Reader::User, piece.passage.of_string()),
    };
    let pieces = if is_html { script::of_html(text) } else { script::of_script(text) };
    pieces.into_iter().filter_map(of).collect()
}

/// The help of every command, as the binary prints it. A line that several commands print is read once.
pub(super) fn of_help(env: &mut TestEnv) -> Vec<Source> {
    env.set("COLUMNS", "100");
    let mut calls = Vec::new();
    commands(env, &[], &mut calls);
    calls.push(vec!["exit-codes".to_owned()]);
    let mut seen: HashSet<String> = HashSet::new();
    let of = |words: Vec<String>| {
        let words = words.iter().map(String::as_str);
        let call: Vec<&str> = ["help"].into_iter().chain(words).collect();
        let whole: Rc<str> = env.ralph(&call).success().into();
        let mut text = String::new();
        for line in whole.lines().map(str::trim_end) {
            let known = !line.is_empty() && !seen.insert(line.to_owned());
            text.push_str(if known { "|" } else { line });
            text.push('\n');
        }
        let passage = Passage::of(&text).of_string();
        Source { file: format!("ralph {}", call.join(" ")), whole, reader: Reader::User, passage }
    };
    calls.into_iter().map(of).collect()
}

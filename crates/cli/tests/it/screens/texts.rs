//! Every text of an error is shown in a row, or has a reason not to be. The texts are read from the code: the arguments
//! of `CliError` and of its hints, and the sentences of the errors below.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::not_shown::NOT_SHOWN;
use super::{is_typed, rows};
use crate::voice::rust::{TextKind, pieces};

/// Where errors are that users see as they are.
const SENTENCES: [&str; 14] = [
    "core/src/branch.rs",
    "core/src/forge/hosts.rs",
    "core/src/glob/pattern.rs",
    "core/src/ids.rs",
    "core/src/net/endpoint.rs",
    "core/src/net/host.rs",
    "core/src/run/lanes.rs",
    "core/src/task/edit.rs",
    "core/src/task/refusal.rs",
    "core/src/text.rs",
    "engine/src/features.rs",
    "engine/src/ports/project_error.rs",
    "engine/src/ports/store.rs",
    "engine/src/project.rs",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn code_of(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            code_of(&path, into);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            into.push(path);
        }
    }
}

/// What a line begins with that shows a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Error,
    /// Behind "Build failed:", or the name of another command.
    Run,
    Hint,
    Anywhere,
}

/// A text in the code, and where it is shown.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Text {
    place: Place,
    text: String,
}

impl Text {
    /// The parts between its placeholders.
    fn parts(&self) -> Vec<String> {
        let (mut parts, mut inside) = (vec![String::new()], false);
        let mut letters = self.text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '{' | '}' if !inside && letters.peek() == Some(&letter) => {
                    letters.next();
                    parts.last_mut().unwrap().push(letter);
                }
                '{' => inside = true,
                '}' => {
                    inside = false;
                    parts.push(String::new());
                }
                _ if inside => {}
                _ => parts.last_mut().unwrap().push(letter),
            }
        }
        parts
    }

    /// It says something itself.
    fn has_words(&self) -> bool {
        let is_word = |word: &str| word.chars().filter(|c| c.is_alphabetic()).count() > 2;
        self.parts().iter().any(|part| part.split_whitespace().any(is_word))
    }

    fn is_in(&self, line: &str) -> bool {
        // Lines of a branch begin with its name.
        let line = line.split_once("│ ").map_or(line, |(_, rest)| rest);
        let line = match self.place {
            Place::Error => line.strip_prefix("error: "),
            Place::Run => line
                .strip_prefix("error: ")
                .and_then(|line| line.split_once(" failed: "))
                .map(|(_, message)| message),
            Place::Hint => line.strip_prefix("  hint: "),
            Place::Anywhere => Some(line),
        };
        let (Some(line), parts) = (line, self.parts()) else { return false };
        let whole = self.place != Place::Anywhere;
        if whole && !(line.starts_with(&parts[0]) && line.ends_with(parts.last().unwrap())) {
            return false;
        }
        let mut rest = line;
        parts.iter().all(|part| match rest.split_once(part.as_str()) {
            Some((_, behind)) => {
                rest = behind;
                true
            }
            None => false,
        })
    }
}

/// Every text in the code.
fn texts() -> BTreeSet<Text> {
    let mut files = vec![];
    code_of(&crates().join("cli/src"), &mut files);
    files.extend(SENTENCES.iter().map(|file| crates().join(file)));
    let mut texts = BTreeSet::new();
    for file in files {
        let code = std::fs::read_to_string(&file).unwrap();
        let strings = pieces(&code).into_iter().filter(|piece| piece.kind == TextKind::String);
        for piece in strings.filter(|piece| !piece.in_test) {
            let place = match piece.call {
                Some("#[error(") => Place::Anywhere,
                Some(".hint(" | ".near(") => Place::Hint,
                Some("CliError::run_failed(" | "run_failed!(") => Place::Run,
                Some(_) => Place::Error,
                None => continue,
            };
            let text = Text { place, text: piece.text() };
            if text.has_words() {
                texts.insert(text);
            }
        }
    }
    texts
}

#[test]
fn every_error_is_shown_in_a_row_or_has_a_reason() {
    let mut shown = String::new();
    for entry in std::fs::read_dir(rows()).unwrap() {
        shown.push_str(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    let lines: Vec<&str> =
        shown.lines().filter(|line| !is_typed(line) && !line.starts_with('#')).collect();
    let is_shown = |text: &Text| lines.iter().any(|line| text.is_in(line));
    let all = texts();
    assert!(all.len() > 250, "only {} texts were found", all.len());
    let (shown, missing): (Vec<&Text>, Vec<&Text>) = all.iter().partition(|text| is_shown(text));
    let has_reason = |text: &Text| NOT_SHOWN.iter().any(|(known, _)| *known == text.text);
    let missing: Vec<&&Text> = missing.iter().filter(|text| !has_reason(text)).collect();
    assert!(
        missing.is_empty(),
        "no row in screens/rows/ shows these, and not_shown.rs has no reason: {missing:#?}"
    );
    for (text, reason) in NOT_SHOWN {
        assert!(!reason.is_empty(), "{text:?} has no reason");
        assert!(all.iter().any(|known| known.text == *text), "not in the code: {text:?}");
        assert!(!shown.iter().any(|known| known.text == *text), "shown in a row: {text:?}");
    }
}

//! The pages about the loop say what the code does.

use std::path::Path;

use ralph_core::run::{Becomes, Breaker, CLASSES, Fact, Retry, RunEvent};
use ralph_engine::prompts::VARIABLES;
use serde_json::Value;

use crate::env;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The names of the variants of `Fact` as they are in a journal, from its source.
fn kinds() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src/run/fact.rs");
    let source = std::fs::read_to_string(path).unwrap();
    let body = source.split("pub enum Fact {\n").nth(1).unwrap().split("\n}\n").next().unwrap();
    let variant = |line: &str| {
        let name = line.strip_prefix("    ")?.split([' ', ',']).next()?;
        name.starts_with(char::is_uppercase).then(|| name.to_owned())
    };
    let snake = |name: String| {
        let mut snake = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() && !snake.is_empty() {
                snake.push('_');
            }
            snake.extend(letter.to_lowercase());
        }
        snake
    };
    // A line of a newer version is no kind of its own.
    body.lines().filter_map(variant).map(snake).filter(|kind| kind != "unknown").collect()
}

#[test]
fn every_kind_of_the_journal_is_documented_with_an_example_that_can_be_read() {
    let text = page("journal.md");
    let sections: Vec<&str> = text.split("\n### `").skip(1).collect();
    let mut documented = Vec::new();
    for section in sections {
        let kind = section.split('`').next().unwrap();
        documented.push(kind.to_owned());
        let line = section.split("```json\n").nth(1).unwrap().lines().next().unwrap();
        let event: RunEvent = serde_json::from_str(line).unwrap_or_else(|e| panic!("{kind}: {e}"));
        assert_ne!(event.fact, Fact::Unknown, "{kind}");
        // What is written is what was read: no field is missing and none is made up.
        let example: Value = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), example, "{kind}");
        assert_eq!(example["kind"], kind);
        for name in example.as_object().unwrap().keys() {
            let common = ["v", "run", "seq", "at", "kind"].contains(&name.as_str());
            assert!(common || section.contains(&format!("`{name}`")), "{kind}: {name} is not told");
        }
    }
    let (mut known, mut prompt) = (kinds(), documented);
    assert!(known.len() > 25, "{known:?}");
    known.sort();
    prompt.sort();
    assert_eq!(prompt, known);
}

#[test]
fn the_table_of_ends_is_that_of_the_code() {
    let text = page("loop.md");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| `") && line.matches('|').count() == 7)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), CLASSES.len());
    for (row, class) in rows.iter().zip(CLASSES) {
        let becomes = match class.becomes {
            Becomes::Done => "done",
            Becomes::Pending => "open",
            Becomes::Failed => "failed",
            Becomes::Waiting => "waiting",
            Becomes::Untouched => "untouched",
        };
        let retry = match class.retry {
            Retry::No => "no",
            Retry::Yes => "yes",
            Retry::WhereAgentPicks => "`pick`",
            Retry::UnlessGraph => "not `dag`",
        };
        let breaker = match class.breaker {
            Breaker::Reset => "0",
            Breaker::Add => "+1",
            Breaker::Same => "same",
        };
        let counts = if class.counts { "yes" } else { "no" };
        let name = format!("`{}`", class.class);
        assert_eq!(
            [row[0], row[2], row[3], row[4], row[5]],
            [&name, becomes, retry, breaker, counts]
        );
    }
}

#[test]
fn every_variable_of_a_template_is_documented() {
    let text = page("prompts.md");
    let table = text.split("\n## Variables\n").nth(1).unwrap().split("\n\n`rules`").next().unwrap();
    let mut prompt: Vec<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    prompt.sort_unstable();
    assert_eq!(prompt, VARIABLES);
}

/// Commands that the pages tell people to type exist.
#[test]
fn the_pages_name_only_commands_that_there_are() {
    let env = env();
    let help = env.ralph(&["help"]).success();
    let commands = help.split_once("\nCommands:\n").unwrap().1;
    let known: Vec<&str> =
        commands.lines().filter_map(|line| line.trim().split(' ').next()).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(root).unwrap();
    let pages = ["loop.md", "prompts.md", "journal.md", "init.md", "cassette.md", "README.md"];
    for text in pages.map(page).iter().chain([&readme]) {
        for typed in code(text).iter().filter_map(|code| code.strip_prefix("ralph ")) {
            let word = typed.split(' ').next().unwrap();
            let plain = word.chars().all(|c| c.is_ascii_lowercase());
            assert!(!plain || known.contains(&word), "ralph {typed}");
        }
    }
}

/// What stands in code blocks, line by line, and between back quotes.
fn code(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            found.push(line);
        } else {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found
}

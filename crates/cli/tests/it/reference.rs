//! The reference pages are what the binary prints. `RALPH_BLESS=1 cargo test -p ralph reference`
//! writes them anew.

use std::path::Path;

use crate::env;

fn same_as_page(page: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    if std::env::var_os("RALPH_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/{page} is not what ralph prints; run: RALPH_BLESS=1 cargo test -p ralph reference"
    );
}

/// The words of every command, from the help texts themselves.
pub(crate) fn commands(
    env: &ralph_testkit::TestEnv,
    words: &[String],
    found: &mut Vec<Vec<String>>,
) {
    let mut call = vec!["help"];
    call.extend(words.iter().map(String::as_str));
    let help = env.ralph(&call).success();
    found.push(words.to_vec());
    let Some((_, list)) = help.split_once("\nCommands:\n") else {
        return;
    };
    for line in list.lines().take_while(|line| !line.is_empty()) {
        if let Some(name) = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')) {
            let mut next = words.to_vec();
            next.push(name.split(' ').next().unwrap().to_owned());
            commands(env, &next, found);
        }
    }
}

#[test]
fn the_command_reference_is_the_help_text() {
    let mut env = env();
    env.set("COLUMNS", "100");
    let mut all = Vec::new();
    commands(&env, &[], &mut all);
    assert!(all.len() > 30, "{all:?}");
    let mut page = String::from("# Commands\n\nEvery command as `ralph help` prints it.\n");
    for words in all {
        let mut call = vec!["help"];
        call.extend(words.iter().map(String::as_str));
        let help = env.ralph(&call).success();
        assert!(
            words.is_empty() || help.contains("Example"),
            "ralph {} has no example",
            words.join(" ")
        );
        let name = format!("ralph {}", words.join(" "));
        page.push_str(&format!("\n## {}\n\n```text\n{}\n```\n", name.trim_end(), trimmed(&help)));
    }
    same_as_page("cli.md", &page);
}

fn trimmed(text: &str) -> String {
    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_exit_codes_are_the_table_of_the_binary() {
    let table = env().ralph(&["help", "exit-codes"]).success();
    same_as_page("exit-codes.md", &format!("# Exit codes\n\n```text\n{}\n```\n", trimmed(&table)));
}

#[test]
fn the_settings_are_those_of_the_binary() {
    let env = env();
    same_as_page("config.md", &env.ralph(&["config", "reference"]).success());
    same_as_page("ralph.schema.json", &env.ralph(&["config", "schema"]).success());
}

#[test]
fn completions_and_manual_pages_are_made() {
    let env = env();
    for shell in ["powershell", "elvish"] {
        assert!(env.ralph(&["completions", shell]).success().contains("plan-sync"), "{shell}");
    }
    assert!(env.ralph(&["man"]).success().contains(".TH ralph 1"));
    assert!(env.ralph(&["man", "task", "claim"]).success().contains("lease"));
    let output = env.ralph(&["help", "tsk"]).failure(64);
    assert!(output.contains("did you mean task?"), "{output}");
    assert!(env.ralph(&["--version"]).success().starts_with("ralph 0."));
    assert!(env.ralph(&["task", "claim", "--help"]).success().contains("Example:"));
}

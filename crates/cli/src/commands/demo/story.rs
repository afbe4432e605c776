//! The files of the demo's repository, and the script of its agent.

use std::path::{Path, PathBuf};

use ralph_engine::git::git;

use crate::error::Done;

/// The plan: ids, titles, and the task that each waits for.
pub(super) const TASKS: [(&str, &str, Option<&str>); 3] = [
    ("greet", "Greet the user by name", None),
    ("loud", "Add an option --loud", Some("greet")),
    ("usage", "Without a name, print usage and fail", Some("loud")),
];

/// The task whose first attempt a gate rejects.
pub(super) const RED: &str = "loud";
/// The task whose first attempt the verifier rejects.
pub(super) const REFUTED: &str = "usage";

/// The files of the repository.
const FILES: [(&str, &str); 4] = [
    ("README.md", "# greet\n\nGreets you by name.\n"),
    ("test.sh", include_str!("test.sh")),
    ("docs.sh", include_str!("docs.sh")),
    ("ralph.toml", include_str!("ralph.toml")),
];

/// Five sessions, four of them verified. The second forgets the README, which a gate reports to the third; the
/// fourth forgets the exit code, which the verifier reports to the fifth.
const SESSIONS: &str = include_str!("agent.jsonl");

pub(super) fn user_config(folder: &Path) -> PathBuf {
    folder.join("config.toml")
}

pub(super) fn prepare(folder: &Path, repo: &Path) -> Done {
    std::fs::create_dir(repo)?;
    let cassette = folder.join("agent.jsonl");
    std::fs::write(&cassette, SESSIONS)?;
    // The path may contain any character; a JSON string is also a TOML string.
    let path = serde_json::Value::from(cassette.display().to_string());
    // A repository must not choose the program that runs.
    std::fs::write(user_config(folder), format!("[agent.script]\npath = {path}\n"))?;
    for (name, text) in FILES {
        std::fs::write(repo.join(name), text)?;
    }
    // Override the user's global git settings: no hook, no signature and no template here.
    git(repo, &["init", "--quiet", "--template="])?;
    let settings = [
        ("user.name", "ralph demo"),
        ("user.email", "demo@localhost"),
        ("commit.gpgsign", "false"),
        ("core.hooksPath", "/dev/null"),
        ("core.autocrlf", "false"),
    ];
    for (name, value) in settings {
        git(repo, &["config", name, value])?;
    }
    git(repo, &["add", "--all"])?;
    git(repo, &["commit", "--quiet", "--message", "A repository with a test and no program"])?;
    Ok(())
}

//! The files of the demo's repository, and the script of its agent.

use std::path::{Path, PathBuf};

use ralph_engine::git::git;
use serde_json::{Value, json};

use crate::error::{CliError, Done};

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

const SETTINGS: &str = r#"[agent]
name = "script"

[completion]
claims = "confirm"

[[gate]]
name = "test"
command = "sh test.sh"

[[gate]]
name = "docs"
command = "sh docs.sh"
"#;

const TEST: &str = r#"# Tests for the features that the program has so far.
check() {
    if [ "$2" = "$3" ]; then echo "ok: $1"; else
        echo "FAILED: $1: expected '$3', got '$2'"
        failed=1
    fi
}
[ -f greet.sh ] || { echo "FAILED: there is no greet.sh"; exit 1; }
check "greets by name" "$(sh greet.sh Ada)" "Hello, Ada!"
grep -q -e --loud greet.sh && check "greets loudly" "$(sh greet.sh --loud Ada)" "HELLO, ADA!"
grep -q usage: greet.sh && check "prints usage" "$(sh greet.sh 2>&1)" "usage: greet.sh [--loud] NAME"
[ -z "$failed" ]
"#;

const DOCS: &str = r#"# Every option of the program is in the README.
for option in $(grep -o -e '--[a-z]*' greet.sh | sort -u); do
    grep -q -e "$option" README.md || { echo "FAILED: README.md does not mention $option"; failed=1; }
done
[ -z "$failed" ]
"#;

const README: &str = "# greet\n\nGreets you by name.\n";
const README_LOUD: &str = "# greet\n\nGreets you by name; with --loud in capital letters.\n";

const GREET: &str = "echo \"Hello, $1!\"\n";
const LOUD: &str = r#"[ "$1" = --loud ] && { shift; loud=yes; }
text="Hello, $1!"
[ "$loud" ] && text=$(echo "$text" | tr a-z A-Z)
echo "$text"
"#;
const USAGE: &str = r#"[ "$1" = --loud ] && { shift; loud=yes; }
[ "$1" ] || { echo "usage: greet.sh [--loud] NAME" >&2; exit 64; }
text="Hello, $1!"
[ "$loud" ] && text=$(echo "$text" | tr a-z A-Z)
echo "$text"
"#;

pub(super) fn user_config(folder: &Path) -> PathBuf {
    folder.join("config.toml")
}

pub(super) fn prepare(folder: &Path, repo: &Path) -> Done {
    std::fs::create_dir(repo)?;
    let cassette = folder.join("agent.jsonl");
    std::fs::write(&cassette, text(&sessions()))?;
    // The path may contain any character; a JSON string is also a TOML string.
    let path = serde_json::to_string(&cassette.display().to_string()).map_err(io)?;
    // A repository must not choose the program that runs.
    std::fs::write(user_config(folder), format!("[agent.script]\npath = {path}\n"))?;
    let files =
        [("README.md", README), ("test.sh", TEST), ("docs.sh", DOCS), ("ralph.toml", SETTINGS)];
    for (name, text) in files {
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

fn io(error: serde_json::Error) -> CliError {
    CliError::from(std::io::Error::from(error))
}

fn text(steps: &[Value]) -> String {
    steps.iter().map(|step| format!("{step}\n")).collect()
}

/// Five sessions, four of them verified. The second forgets the README, which a gate reports to the third; the
/// fourth forgets the exit code, which the verifier reports to the fifth.
fn sessions() -> Vec<Value> {
    let mut steps = Vec::new();
    let mut step = |step: Value| steps.push(step);
    let say = |text: &str| json!({"do": "say", "text": text});
    let write = |path: &str, text: &str| json!({"do": "write", "path": path, "text": text});
    let run = |words: &[&str]| json!({"do": "run", "argv": words});
    let usage = |input: u32, output: u32, usd: f64| json!({"do": "usage", "input": input, "output": output, "usd": usd});

    step(json!({"do": "session"}));
    step(json!({"do": "think", "text": "There is a test, and no program yet."}));
    step(write("greet.sh", GREET));
    step(run(&["sh", "test.sh"]));
    step(usage(4_200, 310, 0.018));
    step(say("greet.sh greets by name.\n<task-done>{id}</task-done>"));

    step(json!({"do": "session"}));
    step(usage(2_100, 60, 0.006));
    step(say("It greets the given name.\n<verify-pass/>"));

    step(json!({"do": "session"}));
    step(write("greet.sh", LOUD));
    step(run(&["sh", "greet.sh", "--loud", "Ada"]));
    step(usage(5_100, 420, 0.022));
    step(say("--loud works, I am done.\n<task-done>{id}</task-done>"));

    step(json!({"do": "session"}));
    step(json!({"do": "think", "text": "The gate says: README.md does not mention --loud."}));
    step(write("README.md", README_LOUD));
    step(run(&["sh", "docs.sh"]));
    step(usage(5_600, 190, 0.019));
    step(say("The README now documents --loud.\n<task-done>{id}</task-done>"));

    step(json!({"do": "session"}));
    step(usage(2_400, 70, 0.007));
    step(say("Loud, and documented.\n<verify-pass/>"));

    step(json!({"do": "session"}));
    step(write("greet.sh", &USAGE.replace("exit 64", "exit")));
    step(run(&["sh", "test.sh"]));
    step(usage(4_900, 350, 0.020));
    step(say("Without a name it prints its usage.\n<task-done>{id}</task-done>"));

    step(json!({"do": "session"}));
    step(run(&["sh", "-c", "sh greet.sh; echo \"exit code $?\""]));
    step(usage(2_500, 90, 0.008));
    step(say("<verify-fail>without a name it exits with 0, but it must fail</verify-fail>"));

    step(json!({"do": "session"}));
    step(write("greet.sh", USAGE));
    step(usage(4_700, 280, 0.019));
    step(say("Now it fails, with exit code 64.\n<task-done>{id}</task-done>"));

    step(json!({"do": "session"}));
    step(run(&["sh", "-c", "sh greet.sh; echo \"exit code $?\""]));
    step(usage(2_500, 60, 0.007));
    step(say("It prints its usage and fails.\n<verify-pass/>"));
    steps
}

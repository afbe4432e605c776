//! `ralph recover`.

use ralph_core::TaskId;
use ralph_core::ids::RunId;
use ralph_engine::ports::{Vcs, Workspaces};
use ralph_engine::project::Project;
use ralph_engine::vcs::GitVcs;
use ralph_testkit::TestEnv;

use crate::env;

/// A repository with a commit.
fn committed() -> TestEnv {
    let env = env();
    env.git(&["config", "user.name", "Tester"]);
    env.git(&["config", "user.email", "tester@example.org"]);
    env.write("a.txt", "a\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "first"]);
    env
}

/// Leaves work on two files as an attempt of a task: saved, and out of the worktree.
fn leave(env: &TestEnv, task: &str, attempt: u32) {
    let vcs = GitVcs::new(Project::find(&env.repo()).unwrap()).unwrap();
    let base = vcs.begin(&RunId::new("r-1").unwrap(), None).unwrap();
    env.write("a.txt", format!("{task} {attempt}\n"));
    env.write("new/b.txt", format!("{task} {attempt}\n"));
    let work = vcs.candidate(&base).unwrap();
    vcs.save(&base, &work, &TaskId::new(task).unwrap(), attempt).unwrap().unwrap();
    let candidate = vcs.candidate(&base).unwrap();
    vcs.put_back(&base, &candidate).unwrap();
}

fn read(env: &TestEnv, path: &str) -> String {
    std::fs::read_to_string(env.repo().join(path)).unwrap()
}

#[test]
fn saved_work_is_listed_and_brought_back() {
    let env = committed();
    let empty = env.ralph(&["recover"]);
    assert_eq!((empty.stderr.as_str(), empty.code), ("no saved work\n", 0));
    assert_eq!(empty.success(), "");
    assert_eq!(env.json(&["recover"]), serde_json::json!([]));
    env.task(&["add", "Parse the file", "--id", "parse"]);
    leave(&env, "parse", 1);
    leave(&env, "parse", 2);
    leave(&env, "not-in-the-plan", 1);
    let list = env.ralph(&["recover"]).success();
    let rows: Vec<&str> = list.lines().collect();
    assert_eq!(rows.len(), 4);
    assert!(rows[0].starts_with("TASK "), "{list}");
    let row = rows.iter().find(|row| row.starts_with("parse ")).unwrap();
    assert!(row.contains("  2  ") && row.ends_with("Parse the file"), "{list}");
    assert!(list.contains("unfinished work on not-in-the-plan, attempt 1"), "{list}");
    let json: serde_json::Value = ralph_testkit::data(&env.ralph(&["recover", "--json"]).success());
    let first = json.as_array().unwrap().iter().find(|w| w["task"] == "parse").unwrap();
    assert_eq!(first["ref"], "refs/ralph/wip/parse/2");
    assert_eq!(first["files"], serde_json::json!(["a.txt", "new/b.txt"]));
    assert_eq!(first["title"], "Parse the file");

    let back = env.ralph(&["recover", "parse"]);
    assert!(back.stderr.contains("restored 2 files of parse, attempt 2"), "{}", back.stderr);
    assert!(back.stderr.contains("git diff") && back.stderr.contains("refs/ralph/wip/parse/2"));
    assert_eq!(back.success(), "a.txt\nnew/b.txt\n");
    assert_eq!(read(&env, "new/b.txt"), "parse 2\n");
    let again = env.json(&["recover", "parse", "--attempt", "2"]);
    assert_eq!(again["restored"], serde_json::json!([]));
    assert_eq!(again["unchanged"], serde_json::json!(["a.txt", "new/b.txt"]));
}

#[test]
fn nothing_is_overwritten_and_the_hints_can_be_typed() {
    let env = committed();
    leave(&env, "parse", 1);
    env.write("a.txt", "mine\n");
    let output = env.ralph(&["recover", "parse"]).failure(1);
    assert!(output.contains("a file is in the way of refs/ralph/wip/parse/1"), "{output}");
    assert!(output.contains("  a.txt is not committed"), "{output}");
    assert!(output.contains("git diff refs/ralph/wip/parse/1 -- a.txt"), "{output}");
    assert!(output.contains("git stash -u"), "{output}");
    assert_eq!(read(&env, "a.txt"), "mine\n");
    assert!(!env.repo().join("new").exists());
    assert!(env.git(&["diff", "refs/ralph/wip/parse/1", "--", "a.txt"]).contains("-parse 1"));
    env.git(&["commit", "--quiet", "-am", "mine"]);
    let output = env.ralph(&["recover", "parse"]).failure(1);
    assert!(output.contains("a.txt has been committed since"), "{output}");
    assert!(output.contains("git cherry-pick --no-commit -m 1 refs/ralph/wip/parse/1"), "{output}");
}

#[test]
fn what_is_not_saved_is_reported() {
    let env = committed();
    let output = env.ralph(&["recover", "parse"]).failure(1);
    assert!(output.contains("nothing is saved for parse"), "{output}");
    leave(&env, "parse", 1);
    leave(&env, "parse", 2);
    let output = env.ralph(&["recover", "prase"]).failure(1);
    assert!(output.contains("did you mean parse?"), "{output}");
    let output = env.ralph(&["recover", "parse", "--attempt", "7"]).failure(1);
    assert!(output.contains("attempt 7 of parse") && output.contains("attempts: 1, 2"), "{output}");
    env.ralph(&["recover", "a b"]).failure(1);
    assert_eq!(env.ralph(&["recover", "--attempt", "1"]).code, 64);
    assert_eq!(env.ralph(&["recover", "parse", "--attempt", "x"]).code, 64);
}

#[test]
fn variables_of_a_git_hook_lead_nowhere_else() {
    // Inside a hook git names its repository and its index in the environment.
    let mut env = committed();
    leave(&env, "parse", 1);
    let index = env.folder().join("other-index");
    env.set("GIT_DIR", "/nowhere");
    env.set("GIT_INDEX_FILE", index.to_str().unwrap());
    assert_eq!(env.ralph(&["recover", "parse"]).success(), "a.txt\nnew/b.txt\n");
    assert!(!index.exists());
}

#[test]
fn a_damaged_store_does_not_hide_saved_work() {
    let env = committed();
    env.task(&["add", "Parse the file", "--id", "parse"]);
    leave(&env, "parse", 1);
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", env.store().display()));
    }
    std::fs::write(env.store(), "no database at all ".repeat(100)).unwrap();
    env.ralph(&["task", "list"]).failure(1);
    let list = env.ralph(&["recover"]).success();
    assert!(list.contains("unfinished work on parse"), "{list}");
    assert_eq!(env.ralph(&["recover", "parse"]).success(), "a.txt\nnew/b.txt\n");
}

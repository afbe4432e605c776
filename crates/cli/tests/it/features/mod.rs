//! `ralph feature`: its files and rows, and the way from an idea to tasks.

mod bad_input;
mod building;
mod claude;
mod interview;
mod planning;
pub(crate) mod terminal;

use ralph_testkit::{Ran, TestEnv};

use crate::env;
use crate::looping::{
    again, cassette, classes, gate_step, journal, of_kind, only_says, project, run_file, runs, say,
    session, sh, show, start, status, subjects, wait_for, works, write,
};

const SPEC: &str = ".ralph/features/login/spec.md";
const PLAN: &str = ".ralph/features/login/plan.md";
const INTERVIEW: &str = ".ralph/features/login/interview.toml";
const PROPOSED: &str = ".ralph/features/login/proposed.jsonl";

/// The options of a call that plays the cassette.
const SCRIPTED: [&str; 4] = ["--agent", "script", "--set", "agent.script.path=../cassette.jsonl"];

/// A repository with the feature `login`, whose spec and plan somebody wrote and committed.
fn planned() -> TestEnv {
    let env = project(&[]);
    env.ralph(&["feature", "create", "login"]).success();
    env.write(SPEC, "# login\n\nPeople log in by mail.\n");
    env.write(PLAN, "# Plan: login\n\n1. The mailer\n2. The form\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "login"]);
    env
}

/// `ralph feature …` with these sessions.
fn feature(env: &TestEnv, sessions: &[&str], words: &[&str]) -> Ran {
    cassette(env, sessions);
    feature_again(env, words)
}

/// The same, with the cassette as it stands.
fn feature_again(env: &TestEnv, words: &[&str]) -> Ran {
    env.ralph(&[&["feature"], words, &SCRIPTED].concat())
}

fn read(env: &TestEnv, name: &str) -> String {
    std::fs::read_to_string(env.repo().join(name)).unwrap()
}

/// A file beside the repository, in which a session noted something.
fn noted(env: &TestEnv, name: &str) -> String {
    std::fs::read_to_string(env.note(name)).unwrap()
}

/// How many sessions the newest run had.
fn sessions(env: &TestEnv) -> usize {
    of_kind(&journal(env), "session_started").len()
}

/// The run must have ended with this code; what it printed and said.
#[track_caller]
fn ended(ran: Ran, code: i32) -> (String, String) {
    assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    (ran.stdout, ran.stderr)
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in:\n{text}");
}

#[track_caller]
fn has_not(text: &str, part: &str) {
    assert!(!text.contains(part), "{part:?} is in:\n{text}");
}

#[test]
fn a_feature_has_files_rows_and_tasks() {
    let env = env();
    let made = env.ralph(&["feature", "create", "login-form"]);
    let paths: Vec<&str> = made.stdout.lines().collect();
    assert!(paths[0].ends_with(".ralph/features/login-form/spec.md"), "{paths:?}");
    assert!(std::fs::read_to_string(paths[0]).unwrap().starts_with("# login-form\n"));
    assert!(std::fs::read_to_string(paths[1]).unwrap().starts_with("# Plan: login-form\n"));
    env.task(&["add", "Form", "--id", "form", "--feature", "login-form"]);
    let list = env.ralph(&["feature", "list"]).success();
    assert!(list.contains("login-form  f-") && list.contains("1 open, 0 active"), "{list}");
    let shown = env.ralph(&["feature", "show", "login-form"]).success();
    assert!(shown.contains("spec.md") && shown.contains("form  open  Form"), "{shown}");
    let json: serde_json::Value =
        ralph_testkit::data(&env.ralph(&["feature", "show", "login-form", "--json"]).success());
    assert!(json["spec_text"].as_str().unwrap().contains("## Goal"));
    assert!(
        env.git(&["status", "--porcelain"]).contains(".ralph/"),
        "feature files may be committed"
    );
}

#[test]
fn creating_again_keeps_what_was_written() {
    let env = env();
    let spec = env.write(".ralph/features/login/spec.md", "my own words\n");
    let made = env.ralph(&["feature", "create", "login"]);
    assert!(made.stderr.contains("kept "), "{}", made.stderr);
    assert_eq!(std::fs::read_to_string(spec).unwrap(), "my own words\n");
    let output = env.ralph(&["feature", "create", "login"]).failure(1);
    assert!(output.contains("feature login already exists"), "{output}");
}

#[test]
fn deleting_asks_first_and_keeps_the_files() {
    let env = env();
    env.ralph(&["feature", "create", "login"]).success();
    env.task(&["add", "Form", "--id", "form", "--feature", "login"]);
    let output = env.ralph(&["feature", "delete", "login"]).failure(2);
    assert!(output.contains("an unfinished task") && output.contains("--confirm"), "{output}");
    let gone = env.ralph(&["feature", "delete", "login", "--confirm"]);
    assert_eq!(gone.stdout, "form\n");
    assert!(env.repo().join(".ralph/features/login/spec.md").exists());
    env.ralph(&["feature", "delete", "login"]).failure(2);
    env.ralph(&["feature", "create", "login"]).success();
}

#[test]
fn bad_names_and_near_names() {
    let env = env();
    for name in ["", "a/b", "..", ".x", "a b", "caf\u{e9}"] {
        env.ralph(&["feature", "create", name]).failure(1);
    }
    env.ralph(&["feature", "create", "login"]).success();
    let output = env.ralph(&["feature", "show", "logn"]).failure(2);
    assert!(output.contains("did you mean login?"), "{output}");
    let output = env.ralph(&["task", "add", "T", "--feature", "logn"]).failure(2);
    assert!(
        output.contains("did you mean login?") && output.contains("ralph feature create logn"),
        "{output}"
    );
}

//! `ralph build` with markdown plans, `ralph plan` and `ralph prompt`: the real binary, real git, scripted
//! agents and the real Claude Code.

mod bad_input;
mod checklist;
mod claude;
mod editing;
mod interleaved;
mod killed;
mod leaving;
mod marks;
mod plan_mode;
mod progress;
mod prompt_files;
mod prompt_mode;
mod requests;

use std::sync::atomic::{AtomicUsize, Ordering};

use ralph_testkit::{Ran, TestEnv, wait_until};
use serde_json::Value;

use crate::looping::{
    PATIENCE, again, argv, build, cassette, classes, gate_step, journal, of_kind, only_says,
    project, run_file, runs, say, session, sessions_of, sh, stand_in, start, subjects, touch,
    wait_for, write,
};

/// A progress file with two phases and three tasks.
const PROGRESS: &str = "# Progress: Greeter

## Status
In Progress

## Analysis
Three words are missing.

## Tasks
### Phase 1: Words
- [ ] Write one
- [ ] Write two

### Phase 2: More
- [ ] Write three

## Testing Strategy
By hand.

## Completed This Iteration

## Recent Attempts

## Iteration Log
| Iteration | Started | Duration | Tasks Completed | Notes |
|---|---|---|---|---|
";

/// A checklist with two tasks.
const CHECKLIST: &str = "# Greeter

- [ ] Write one
- [ ] Write two
";

/// A repository with this file, committed.
fn with_plan(name: &str, text: &str) -> TestEnv {
    let env = project(&[]);
    commit_file(&env, name, text);
    env
}

fn with_progress() -> TestEnv {
    with_plan("progress.md", PROGRESS)
}

fn with_checklist() -> TestEnv {
    with_plan("implementation_plan.md", CHECKLIST)
}

fn commit_file(env: &TestEnv, name: &str, text: &str) {
    env.write(name, text);
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", name]);
}

/// One gate, committed.
fn gate(env: &TestEnv, command: &str) {
    let text = format!("[[gate]]\nname = \"check\"\ncommand = {command:?}\n");
    commit_file(env, "ralph.toml", &text);
}

fn read(env: &TestEnv, name: &str) -> String {
    std::fs::read_to_string(env.repo().join(name)).unwrap()
}

/// A plan with these tasks ticked.
fn ticked(text: &str, tasks: &[&str]) -> String {
    tasks.iter().fold(text.to_owned(), |text, task| {
        let open = format!("- [ ] {task}\n");
        assert!(text.contains(&open), "{task} is not open in {text}");
        text.replace(&open, &format!("- [x] {task}\n"))
    })
}

/// Which tasks of a plan are ticked.
fn ticks(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.trim_start().strip_prefix("- [x] ")).collect()
}

/// A step that ticks a task with an editor of lines.
fn tick(plan: &str, task: &str) -> String {
    sh(&format!("sed -i 's/^- \\[ \\] {task}$/- [x] {task}/' {plan}"))
}

/// A session that writes a file and prints the progress file with these tasks ticked.
fn prints(file: &str, tasks: &[&str]) -> String {
    session(&[write(file, "work\n"), say(&ticked(PROGRESS, tasks))])
}

/// A session that writes a file and ticks a task in the checklist.
fn checks(file: &str, task: &str) -> String {
    session(&[write(file, "work\n"), tick("implementation_plan.md", task), say("One step done.")])
}

/// Why the newest run stopped.
fn stop(env: &TestEnv) -> String {
    let journal = journal(env);
    let ended = of_kind(&journal, "run_ended");
    ended[0]["outcome"]["reason"]["stop"].as_str().unwrap().to_owned()
}

/// How many sessions the newest run had.
fn sessions(env: &TestEnv) -> usize {
    of_kind(&journal(env), "session_started").len()
}

/// The readable log of the newest run.
fn log(env: &TestEnv) -> String {
    std::fs::read_to_string(runs(env).pop().unwrap().with_extension("log")).unwrap()
}

/// The tasks of the store: title and status.
fn tasks(env: &TestEnv) -> Vec<(String, String)> {
    let listed: Vec<Value> = ralph_testkit::data(&env.task(&["list", "--json"]));
    let word = |task: &Value, key: &str| task[key].as_str().unwrap().to_owned();
    listed.iter().map(|task| (word(task, "title"), word(task, "status"))).collect()
}

/// Runs `job` for every number below `count`, two at a time; what they complained of.
fn in_pairs(count: usize, job: impl Fn(usize) -> Option<String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let numbers = || std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
    let work = || numbers().take_while(|n| *n < count).filter_map(&job).collect::<Vec<String>>();
    std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in:\n{text}");
}

#[track_caller]
fn has_not(text: &str, part: &str) {
    assert!(!text.contains(part), "{part:?} is in:\n{text}");
}

/// The run must have ended with this code; what it said.
#[track_caller]
fn output_of(ran: Ran, code: i32) -> String {
    assert_eq!(ran.code, code, "{}", ran.stderr);
    assert_eq!(ran.stdout, "", "a run prints no data");
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran.stderr
}

//! `ralph loop` over the branches of a plan: the real binary, real git, and an agent that behaves by branch.

mod bad_input;
mod claude;
mod commits;
mod ends;
mod killed;
#[cfg(target_os = "linux")]
mod own_git;
mod places;
mod plan;
mod pull_requests;
mod side_by_side;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_testkit::{Ran, TestEnv};
use serde_json::Value;

use crate::looping::project;

const PLAN: &str = "IMPLEMENTATION_PLAN.md";

/// Two branches with two tasks each.
const TWO: &str = "# Plan

## Branch: one
Goal: The first thing
Base: main

- [ ] Write a
  Because people ask for it.
- [ ] Write b

## Branch: two
Goal: The second thing

- [ ] Write c
- [ ] Write d
";

/// A repository with this plan, committed.
pub(crate) fn with_plan(text: &str) -> TestEnv {
    let env = project(&[]);
    env.write(PLAN, text);
    env.git(&["add", "-A"]);
    env.git(&["commit", "--quiet", "-m", "plan"]);
    env
}

/// A plan in which each of these branches has one task, with these lines above it.
pub(crate) fn branches(list: &[(&str, &str)]) -> String {
    let section = |(name, fields): &(&str, &str)| {
        format!("## Branch: {name}\nGoal: Do {name}\n{fields}\n- [ ] Work on {name}\n\n")
    };
    list.iter().map(section).collect()
}

/// An agent in place of Claude Code. `body` is bash; it finds `$b`, the branch; `$k`, the number of the
/// session on it; `$id` and `$title` of its task; `$prompt`, the file with its prompt; `$here`, a folder for
/// notes; and `result TEXT`.
pub(crate) fn agent(env: &mut TestEnv, body: &str) -> PathBuf {
    let here = env.note("agent");
    std::fs::create_dir_all(here.join("bin")).unwrap();
    let script = format!(
        r#"#!/bin/bash
if [ "$1" = --version ]; then echo "2.1.999 (Claude Code)"; exit 0; fi
here={here}
b=$(git symbolic-ref --short HEAD); f=${{b//\//-}}
k=$(($(cat $here/count.$f 2>/dev/null || echo 0) + 1)); echo $k > $here/count.$f
prompt=$here/prompt.$f.$k; cat > $prompt
id=$(sed -n 's/^- id: `\(.*\)`$/\1/p' $prompt | head -1)
title=$(sed -n 's/^- title: //p' $prompt | head -1)
echo "$b $title" >> $here/order
ralph() {{ {ralph} "$@"; }}
result() {{
  echo '{{"type":"system","subtype":"init","session_id":"s","model":"claude-fake","claude_code_version":"2.1.999"}}'
  echo '{{"type":"assistant","message":{{"id":"m'$k'","model":"claude-fake","content":[{{"type":"text","text":"'"$1"'"}}],"usage":{{"input_tokens":3,"output_tokens":5}}}}}}'
  echo '{{"type":"result","subtype":"success","is_error":false,"duration_ms":7,"num_turns":1,"result":"'"$1"'","stop_reason":"end_turn","terminal_reason":"completed","total_cost_usd":0.01,"usage":{{"input_tokens":3,"output_tokens":5}},"permission_denials":[]}}'
}}
works() {{ echo "$title" > "$(echo "$title" | tr ' /' '--').txt"; }}
done_() {{ result "<task-done>$id</task-done>"; }}
{body}
"#,
        here = here.display(),
        ralph = crate::RALPH,
    );
    let program = here.join("bin/claude");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    env.set("PATH", &format!("{}:{path}", here.join("bin").display()));
    here
}

/// An agent that does its tasks and commits them.
const COMMITS: &str = "works; git add -A; git commit -qm \"$title\"; done_";
/// An agent that does its tasks and leaves them uncommitted.
const LEAVES: &str = "works; done_";

/// `ralph loop build` with these arguments.
fn build(env: &TestEnv, extra: &[&str]) -> Ran {
    env.ralph(&[&["loop", "build"][..], extra].concat())
}

/// The run must have ended with this code; what it said.
#[track_caller]
fn output_of(ran: Ran, code: i32) -> String {
    assert_eq!(ran.code, code, "{}", ran.stderr);
    assert_eq!(ran.stdout, "", "a run prints no data");
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran.stderr
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in:\n{text}");
}

#[track_caller]
fn has_not(text: &str, part: &str) {
    assert!(!text.contains(part), "{part:?} is in:\n{text}");
}

fn plan(env: &TestEnv) -> String {
    std::fs::read_to_string(env.repo().join(PLAN)).unwrap()
}

/// The titles of the ticked tasks.
fn ticks(env: &TestEnv) -> Vec<String> {
    let text = plan(env);
    let ticked = text.lines().filter_map(|line| line.trim_start().strip_prefix("- [x] "));
    ticked.map(str::to_owned).collect()
}

/// The subjects of the commits that a branch has beyond main, oldest first.
fn subjects(env: &TestEnv, branch: &str) -> Vec<String> {
    let range = format!("main..{branch}");
    let printed = env.git(&["log", "--reverse", "--format=%s", &range]);
    printed.lines().map(str::to_owned).collect()
}

/// The files that a branch changes.
fn changed(env: &TestEnv, branch: &str) -> Vec<String> {
    let printed = env.git(&["diff", "--name-only", &format!("main...{branch}")]);
    printed.lines().map(str::to_owned).collect()
}

fn worktree(env: &TestEnv, branch: &str) -> PathBuf {
    env.repo().join(".worktrees").join(branch)
}

fn note(here: &Path, name: &str) -> String {
    std::fs::read_to_string(here.join(name)).unwrap_or_default()
}

/// The journals of all runs: the branch of each, and its events.
fn journals(env: &TestEnv) -> Vec<(String, Vec<Value>)> {
    let mut found = Vec::new();
    for folder in crate::looping::runs(env) {
        let text = std::fs::read_to_string(folder.join("events.jsonl")).unwrap_or_default();
        let events: Vec<Value> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let target = events.iter().find(|event| event["kind"] == "run_started");
        let target = target.map(|event| event["target"].as_str().unwrap().to_owned());
        found.push((target.unwrap_or_default(), events));
    }
    found
}

/// Why the runs of a branch stopped, oldest first.
fn stops(env: &TestEnv, branch: &str) -> Vec<String> {
    let of_branch = journals(env).into_iter().filter(|(target, _)| target == branch);
    let ended = |(_, events): (String, Vec<Value>)| {
        let ended = events.iter().find(|event| event["kind"] == "run_ended")?;
        Some(ended["outcome"]["reason"]["stop"].as_str().unwrap().to_owned())
    };
    of_branch.filter_map(ended).collect()
}

//! What must hold when a story has ended.

use std::collections::BTreeSet;

use super::story::{MINE, TASKS, World};
use crate::looping::show;

/// What does not hold.
pub(super) fn violations(world: &World) -> Vec<String> {
    let mut wrong = commits(world);
    wrong.extend(users_files(world));
    wrong.extend(work(world));
    wrong.extend(costs(world));
    wrong
}

/// Commits that ralph made, or a session did: their task, and their hash. Titles are ids here.
fn of_tasks(world: &World) -> Vec<(String, String)> {
    let log = world.env.git(&["log", "--format=%H %s"]);
    let task = |subject: &str| {
        let loops =
            subject.strip_prefix("build: iteration ").and_then(|rest| rest.split_once(" - "));
        loops.map(|(_, title)| title).or(subject.strip_prefix("own ")).map(str::to_owned)
    };
    log.lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(hash, subject)| Some((task(subject)?, hash.to_owned())))
        .collect()
}

/// Each commit has only what its own task's sessions wrote.
fn commits(world: &World) -> Vec<String> {
    let mut wrong = vec![];
    for (task, hash) in of_tasks(world) {
        let changed = world.env.git(&["show", "--format=", "--name-only", &hash]);
        for path in changed.lines() {
            let own = path.starts_with(&format!("{task}-"));
            if path == "shared.txt" {
                let change = world.env.git(&["show", "--format=", "-U0", &hash, "--", path]);
                let added =
                    change.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++"));
                let foreign: Vec<&str> =
                    added.filter(|line| !line.starts_with(&format!("+{task} "))).collect();
                if !foreign.is_empty() {
                    wrong.push(format!("the commit of {task} has lines of another: {foreign:?}"));
                }
            } else if !own {
                wrong.push(format!("the commit of {task} has {path}"));
            }
        }
    }
    wrong
}

/// What the user wrote is where it was, as it was, and ralph committed none of it.
fn users_files(world: &World) -> Vec<String> {
    let mut wrong = vec![];
    for (path, text) in &world.users {
        let now = std::fs::read_to_string(world.env.repo().join(path)).unwrap_or_default();
        if now != *text {
            wrong.push(format!("the user's {} is {now:?}", path.display()));
        }
    }
    let committed = world.env.git(&["show", &format!("HEAD:{MINE}")]);
    if committed != "the user's\n" {
        wrong.push(format!("{MINE} was committed: {committed:?}"));
    }
    wrong
}

/// What sessions of a done task wrote is in the branch or saved for it, and nothing of a task lies around.
fn work(world: &World) -> Vec<String> {
    let env = &world.env;
    let mut wrong = vec![];
    let head: BTreeSet<String> =
        env.git(&["ls-tree", "-r", "--name-only", "HEAD"]).lines().map(str::to_owned).collect();
    for task in TASKS {
        let status = show(env, task)["status"].as_str().unwrap().to_owned();
        let written = std::fs::read_to_string(env.note(&format!("written.{task}")));
        let refs = format!("refs/ralph/wip/{task}");
        let refs = env.git(&["for-each-ref", "--format=%(refname)", &refs]);
        let saved: BTreeSet<String> = refs
            .lines()
            .flat_map(|name| {
                let tree = env.git(&["ls-tree", "-r", "--name-only", name]);
                tree.lines().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        for path in written.unwrap_or_default().lines() {
            // A later session of the task may have removed what was red.
            let removed = env.repo().join(path).symlink_metadata().is_err();
            let kept = head.contains(path) || saved.contains(path);
            if status == "done" && !kept && !removed {
                wrong
                    .push(format!("{path} of the done task {task} is neither committed nor saved"));
            }
        }
    }
    let users: BTreeSet<String> =
        world.users.keys().map(|path| path.display().to_string()).collect();
    for line in env.git(&["status", "--porcelain"]).lines() {
        let path = line[3..].to_owned();
        if !users.contains(&path) {
            wrong.push(format!("left in the tree when every task has ended: {line}"));
        }
    }
    wrong
}

/// What the report says that it cost is what the journals say, also of runs that were killed.
fn costs(world: &World) -> Vec<String> {
    let usage = |report: &serde_json::Value| report["end"]["usage"]["cost_micro_usd"].as_u64();
    let text: u64 = world
        .journals()
        .iter()
        .filter(|event| event["kind"] == "session_ended" || event["kind"] == "verified")
        .filter_map(|event| usage(&event["report"]))
        .sum();
    let report = world.env.ralph(&["report", "--json"]).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap_or_default();
    let reported = report["data"]["total"]["cost_micro_usd"].as_u64().unwrap_or(0);
    let mut wrong = vec![];
    if reported != text {
        wrong.push(format!("the report: {reported} micro-USD, and {text} in the journals"));
    }
    wrong
}

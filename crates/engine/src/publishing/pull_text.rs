//! What the text of a pull request is made from: the commits of its branch, and its tasks with their attempts and
//! evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ralph_core::forge::{Commit, TaskLine, Words};
use ralph_core::records::Attempt;
use ralph_core::task::{Status, Task};
use ralph_core::view::report::Total;
use ralph_core::{TaskId, Timestamp};

use super::PublishSetup;
use crate::git::Git;
use crate::ports::{Filter, GitError, Scope, Store, StoreError};

/// The commits that the branch has beyond its base, the oldest first; `None` where the base is not
/// known here.
pub(crate) fn commits(
    folder: &Path,
    setup: &PublishSetup,
    branch: &str,
) -> Result<Option<Vec<Commit>>, GitError> {
    let PublishSetup { pr_remote: remote, base, .. } = setup;
    for name in [format!("refs/remotes/{remote}/{base}"), format!("refs/heads/{base}")] {
        let known = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
        match Git::plumbing(folder, &known).run() {
            Ok(_) => {}
            Err(GitError::Failed { .. }) => continue,
            Err(error) => return Err(error),
        }
        let range = format!("{name}..refs/heads/{branch}");
        let form = "--format=%H %s";
        let log = ["log", "--reverse", "--no-decorate", form, "--end-of-options", &range];
        let printed = Git::plumbing(folder, &log).run()?;
        let text = String::from_utf8_lossy(&printed);
        let commit = |line: &str| {
            let (id, subject) = line.split_once(' ').unwrap_or((line, ""));
            Commit { id: id.to_owned(), subject: subject.to_owned() }
        };
        return Ok(Some(text.lines().map(commit).collect()));
    }
    Ok(None)
}

/// The pull request text about the tasks of the branch, from the store.
pub(crate) fn words(
    store: &mut dyn Store,
    setup: &PublishSetup,
    scope: &Scope,
    branch: &str,
    commits: Vec<Commit>,
) -> Result<Words, StoreError> {
    let mut attempts: BTreeMap<TaskId, Vec<Attempt>> = BTreeMap::new();
    for attempt in store.history(Timestamp::default())? {
        attempts.entry(attempt.task.clone()).or_default().push(attempt);
    }
    let mut tasks: Vec<(Task, Vec<Attempt>)> = vec![];
    for task in match scope {
        Scope::Task(id) => vec![store.get(id)?],
        _ => store.list(&Filter::of(scope))?,
    } {
        let tried = attempts.remove(&task.id).unwrap_or_default();
        tasks.push((task, tried));
    }
    // A store has tasks of other branches, too: those whose commits are not on this one.
    let here: BTreeSet<&str> = commits.iter().map(|commit| commit.id.as_str()).collect();
    let made_here = |(task, attempts): &(Task, Vec<Attempt>)| {
        let mut made = attempts.iter().filter_map(|one| one.end.as_ref()?.commit.as_deref());
        task.status != Status::Done || made.any(|commit| here.contains(commit))
    };
    if *scope == Scope::All && tasks.iter().any(made_here) {
        tasks.retain(made_here);
    }
    let mut evidence = vec![];
    for (task, _) in &tasks {
        evidence.extend(store.evidence(&task.id)?);
    }
    evidence.sort_by_key(|found| found.at);
    let line = |(task, attempts): &(Task, Vec<Attempt>)| TaskLine {
        id: task.id.clone(),
        title: task.title.to_string(),
        status: task.status,
        reason: attempts
            .iter()
            .rev()
            .find_map(|attempt| attempt.end.as_ref())
            .map(|end| end.detail.clone())
            .unwrap_or_default(),
    };
    Ok(Words {
        branch: branch.to_owned(),
        goal: setup.goal.clone(),
        tasks: tasks.iter().map(line).collect(),
        evidence,
        commits,
        spent: Total::of(tasks.iter().flat_map(|(_, attempts)| attempts)),
    })
}

//! Checks ralph's worktrees: intact, or what a crash left of them.

use std::path::Path;
use std::time::Duration;

use ralph_engine::project::Project;
use ralph_engine::worktrees::{Condition, Inspected, Worktrees};

use super::check::Check;
use crate::error::{CliError, quoted};

fn worktrees(project: &Project, folder: &Path) -> Worktrees {
    Worktrees::new(project, folder).with_patience(Duration::from_secs(1))
}

/// A line for the intact ones, and one for each that is not.
pub(super) fn inspect(project: &Project, folder: &Path) -> Vec<Check> {
    let all = match worktrees(project, folder).inspect() {
        Ok(all) => all,
        Err(error) => return vec![Check::error("worktrees", &CliError::from(error))],
    };
    let good = |one: &&Inspected| matches!(one.condition, Condition::Whole | Condition::AtWork);
    let whole = all.iter().filter(good).count();
    let says = match whole {
        0 => "ralph has no worktrees".to_owned(),
        1 => "1 worktree of ralph is intact".to_owned(),
        n => format!("{n} worktrees of ralph are intact"),
    };
    let bad: Vec<Check> = all.iter().filter_map(broken).collect();
    if whole == 0 && !bad.is_empty() {
        return bad;
    }
    std::iter::once(Check::ok("worktrees", says)).chain(bad).collect()
}

fn broken(one: &Inspected) -> Option<Check> {
    let (branch, path) = (&one.branch, one.path.display());
    let says = match one.condition {
        Condition::Whole | Condition::AtWork => return None,
        Condition::HalfMade => format!("the worktree of {branch} is half-made: {path}"),
        Condition::Gone => {
            format!("the folder of the worktree of {branch} is gone: {path}")
        }
        Condition::HalfRemoved => format!("the worktree of {branch} is half-removed: {path}"),
        Condition::Forgotten => format!("git no longer knows the worktree of {branch}: {path}"),
        Condition::Persons => {
            format!("your own worktree is in the way of the one for {branch}: {path}")
        }
        Condition::Outside => {
            format!("a marker in .ralph/worktrees names a folder that is not a worktree: {path}")
        }
    };
    let check = Check::warn("worktrees", says);
    Some(match one.condition {
        Condition::Forgotten => check.remedy(format!("look inside: ls {}", quoted(&one.path))),
        Condition::Persons => check.remedy("move it: git worktree move"),
        Condition::Outside => check.remedy("find the marker and remove it: ls .ralph/worktrees"),
        _ => check.remedy("ralph doctor --fix"),
    })
}

/// Removes worktrees that were never usable, or whose work is saved. Returns what it did.
pub(super) fn fix(project: &Project, folder: &Path) -> Vec<String> {
    let worktrees = worktrees(project, folder);
    let all = worktrees.inspect().unwrap_or_default();
    let remove = |one: &Inspected| match worktrees.remove(&one.branch) {
        Ok(Some(removed)) => Some(match removed.saved {
            None => format!("removed the remains of the worktree {}", removed.path.display()),
            Some(wip) => {
                let (path, name) = (removed.path.display(), wip.saved.name);
                format!("removed the remains of the worktree {path}; its work is saved in {name}")
            }
        }),
        // The check reports it.
        Ok(None) | Err(_) => None,
    };
    all.iter().filter(|one| one.condition.is_debris()).filter_map(remove).collect()
}

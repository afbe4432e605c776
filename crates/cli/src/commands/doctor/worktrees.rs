//! The worktrees that ralph made: whole, or what a crash left of them.

use std::path::Path;
use std::time::Duration;

use ralph_engine::project::Project;
use ralph_engine::vcs::worktree::{Condition, Inspected, Worktrees};

use super::check::Check;
use crate::error::{CliError, quoted};

fn worktrees(project: &Project, folder: &Path) -> Worktrees {
    Worktrees::new(project, folder).with_patience(Duration::from_secs(1))
}

/// A line for those that are whole, and one for each that is not.
pub(super) fn look(project: &Project, folder: &Path) -> Vec<Check> {
    let all = match worktrees(project, folder).inspect() {
        Ok(all) => all,
        Err(error) => return vec![Check::error("worktrees", &CliError::from(error))],
    };
    let good = |one: &&Inspected| matches!(one.condition, Condition::Whole | Condition::AtWork);
    let whole = all.iter().filter(good).count();
    let says = match whole {
        0 => "none of ralph's".to_owned(),
        1 => "1 of ralph's is in order".to_owned(),
        n => format!("{n} of ralph's are in order"),
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
        Condition::HalfMade => format!("that of {branch} is half-made: {path}"),
        Condition::Gone => {
            format!("that of {branch} is remembered, but its folder is gone: {path}")
        }
        Condition::HalfRemoved => format!("that of {branch} is half-removed: {path}"),
        Condition::Forgotten => format!("that of {branch} is not known to git any more: {path}"),
        Condition::Persons => format!("in the place of that of {branch} is one of yours: {path}"),
        Condition::Outside => {
            format!("a marker in .ralph/worktrees names a folder that is not one: {path}")
        }
    };
    let check = Check::warn("worktrees", says);
    Some(match one.condition {
        Condition::Forgotten => {
            check.remedy(format!("see what is in it: ls {}", quoted(&one.path)))
        }
        Condition::Persons => check.remedy("move it: git worktree move"),
        Condition::Outside => check.remedy("look for it, and remove it: ls .ralph/worktrees"),
        _ => check.remedy("ralph doctor --fix"),
    })
}

/// Removes what is left of those that nobody can have worked in, or whose work is saved; what was done.
pub(super) fn fix(project: &Project, folder: &Path) -> Vec<String> {
    let worktrees = worktrees(project, folder);
    let all = worktrees.inspect().unwrap_or_default();
    let remove = |one: &Inspected| match worktrees.remove(&one.branch) {
        Ok(Some(removed)) => Some(match removed.saved {
            None => format!("removed the rest of the worktree {}", removed.path.display()),
            Some(wip) => {
                let (path, name) = (removed.path.display(), wip.saved.name);
                format!("removed the rest of the worktree {path}; its work is {name}")
            }
        }),
        // It is told by the check.
        Ok(None) | Err(_) => None,
    };
    all.iter().filter(|one| one.condition.is_debris()).filter_map(remove).collect()
}

//! Which commit and branch are checked out, read from git's files: no process is started, so it can
//! be asked between any two steps.

use std::io;
use std::path::{Path, PathBuf};

use super::{Git, GitError, GitResult};
use crate::ports::Operation;
use crate::project::Project;
use crate::untrusted::{LARGE, read_through_links};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    /// Without `refs/heads/`; `None` for a detached HEAD.
    pub(crate) branch: Option<String>,
    /// `None` on a branch without commits.
    pub(crate) head: Option<String>,
}

impl Position {
    pub(crate) fn branch_words(&self) -> &str {
        self.branch.as_deref().unwrap_or("a detached HEAD")
    }
}

/// Reads what is checked out in the worktree.
pub(crate) fn position(project: &Project) -> GitResult<Position> {
    let own = project.own_git_dir()?;
    match read_position(&own, &project.git_dir)? {
        Some(at) => Ok(at),
        None => ask(&project.worktree, &own),
    }
}

/// The same from a git directory of a worktree and the one that it shares; `None` when the files are not
/// enough.
pub(crate) fn read_position(own: &Path, common: &Path) -> GitResult<Option<Position>> {
    let text = read(&own.join("HEAD"))?.unwrap_or_default();
    let Some(name) = text.strip_prefix("ref:").map(str::trim) else {
        let id = object_id(text.trim());
        return Ok(id.map(|id| Position { branch: None, head: Some(id) }));
    };
    // Where refs are not files (reftable), HEAD holds a name that no ref can have.
    if name.ends_with(".invalid") {
        return Ok(None);
    }
    let branch = Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned());
    match resolve(common, name, 5) {
        Ok(head) => Ok(Some(Position { branch, head })),
        Err(Unclear) => Ok(None),
    }
}

/// What git leaves in the directory of a worktree while it is in the middle of something, what that is, and
/// how to end it.
const OPERATIONS: [(&str, Operation); 8] = [
    (
        "MERGE_HEAD",
        Operation { what: "a merge", end: "git merge --continue", abort: "git merge --abort" },
    ),
    ("rebase-merge", REBASE),
    (
        "rebase-apply/applying",
        Operation { what: "git am", end: "git am --continue", abort: "git am --abort" },
    ),
    ("rebase-apply", REBASE),
    (
        "CHERRY_PICK_HEAD",
        Operation {
            what: "a cherry-pick",
            end: "git cherry-pick --continue",
            abort: "git cherry-pick --abort",
        },
    ),
    (
        "REVERT_HEAD",
        Operation { what: "a revert", end: "git revert --continue", abort: "git revert --abort" },
    ),
    (
        "sequencer/todo",
        Operation {
            what: "a cherry-pick or revert",
            end: "git cherry-pick --continue",
            abort: "git cherry-pick --quit",
        },
    ),
    (
        "BISECT_LOG",
        Operation { what: "a bisect", end: "git bisect reset", abort: "git bisect reset" },
    ),
];
const REBASE: Operation =
    Operation { what: "a rebase", end: "git rebase --continue", abort: "git rebase --abort" };

/// What git is in the middle of in this worktree.
pub(crate) fn operation(own: &Path) -> Option<Operation> {
    OPERATIONS.iter().find(|(name, _)| own.join(name).exists()).map(|(_, found)| *found)
}

/// The files are not enough; ask git.
struct Unclear;

fn resolve(common: &Path, name: &str, depth: u8) -> Result<Option<String>, Unclear> {
    let depth = depth.checked_sub(1).ok_or(Unclear)?;
    // A name that is not UTF-8 could be confused with another one here.
    let is_text = !name.contains('\u{fffd}');
    if !is_text || !name.starts_with("refs/") || name.split('/').any(|part| part == "..") {
        return Err(Unclear);
    }
    // A loose ref wins over a packed one.
    if let Some(text) = read(&common.join(name)).map_err(|_| Unclear)? {
        return match text.strip_prefix("ref:") {
            Some(next) => resolve(common, next.trim(), depth),
            None => object_id(text.trim()).map(Some).ok_or(Unclear),
        };
    }
    let packed = read(&common.join("packed-refs")).map_err(|_| Unclear)?.unwrap_or_default();
    let line = packed.lines().find_map(|line| {
        let (id, packed) = line.split_once(' ')?;
        (packed == name).then_some(id)
    });
    match line {
        Some(id) => object_id(id).map(Some).ok_or(Unclear),
        None => Ok(None),
    }
}

/// The same by git, in a worktree with this git directory.
pub(crate) fn ask(worktree: &Path, own: &Path) -> GitResult<Position> {
    let quiet = |arguments: &[&'static str]| {
        Git::plumbing(worktree, arguments).env("GIT_DIR", own).answer()
    };
    let branch = quiet(&["symbolic-ref", "-q", "HEAD"])?;
    let branch = branch.map(|name| name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned());
    Ok(Position { branch, head: quiet(&["rev-parse", "-q", "--verify", "HEAD"])? })
}

/// A whole id of an object.
pub(crate) fn object_id(text: &str) -> Option<String> {
    let right = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    right.then(|| text.to_owned())
}

fn read(path: &Path) -> GitResult<Option<String>> {
    // Git follows links here, and a session may have put anything in their place.
    match read_through_links(path, LARGE) {
        // Names of packed refs may be any bytes; those that matter here compare as they are.
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if is_absence(&error) => Ok(None),
        Err(source) => Err(GitError::File { path: PathBuf::from(path), source }),
    }
}

/// A branch `a` can be absent because `a/` is a folder, and `a/b` because `a` is a file.
fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | IsADirectory | NotADirectory)
}

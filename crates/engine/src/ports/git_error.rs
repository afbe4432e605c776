//! Why version control failed.

use std::path::PathBuf;
use std::{fmt, io};

use super::worktree_refusal::WorktreeRefusal;
use crate::project::ProjectError;

/// Why a version control operation failed. Nothing that belongs to the user was changed,
/// unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("git cannot be started: {0}")]
    NotStarted(#[source] io::Error),
    /// Git failed.
    #[error("git {verb} failed: {message}")]
    Failed {
        /// What it was asked to do.
        verb: String,
        /// What it said.
        message: String,
    },
    /// Git answered something that ralph does not understand.
    #[error("git {verb} gave an unexpected answer: {answer:?}")]
    Odd {
        /// What it was asked to do.
        verb: String,
        /// What it answered.
        answer: String,
    },
    /// The repository's settings point git to another place than before.
    #[error("{key} in the repository's git config {why}")]
    Led {
        /// The setting.
        key: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Git does not know who commits.
    #[error("git does not know who you are: {message}")]
    NoIdentity {
        /// What it said.
        message: String,
    },
    /// The branch got a commit since the candidate was written.
    #[error("the branch moved from {} to {} in the meantime", named(.expected), named(.found))]
    HeadMoved {
        /// Where it was.
        expected: Option<String>,
        /// Where it is.
        found: Option<String>,
    },
    /// The worktree was switched to another branch since the run began.
    #[error("the worktree is on {} now, not on {}", branch(.found), branch(.expected))]
    OtherBranch {
        /// The branch that the run works on; `None` for a detached HEAD.
        expected: Option<String>,
        /// The branch that is checked out.
        found: Option<String>,
    },
    /// Git is in the middle of something that changes the worktree.
    #[error("{} is in progress in this worktree; finish it first ({}, or {})", operation.what, operation.end, operation.abort)]
    InProgress {
        /// What it is.
        operation: Operation,
    },
    /// The index has conflicts.
    #[error(
        "{path} has unresolved conflicts in the index; resolve them first (git status, git add {path})"
    )]
    Unmerged {
        /// The first file.
        path: String,
    },
    /// Another git holds a lock, or one that crashed has left it.
    #[error("another git is running, or a crashed one left {}", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// One of the user's hooks failed.
    #[error("the {hook} hook failed: {message}")]
    Hook {
        /// Its name.
        hook: String,
        /// How it ended and what it said.
        message: String,
    },
    /// One of the user's hooks changed the files to commit: the result was never judged.
    #[error("the {hook} hook changed the files to commit")]
    HookChanged {
        /// Its name.
        hook: String,
    },
    /// A sandboxed program of ralph's failed.
    #[error("{what} failed: {message}")]
    Boxed {
        /// What it was.
        what: &'static str,
        /// What it said.
        message: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A worktree of a branch cannot be made or removed.
    #[error(transparent)]
    Worktree(#[from] WorktreeRefusal),
    /// There is no branch that work could land on.
    #[error("work in several worktrees needs a branch to land on: {why}")]
    NoTrunk {
        /// Why there is none, and what to type.
        why: &'static str,
    },
    /// The repository is not as it was when it was found.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// Git is too old.
    #[error("git {found} is too old; ralph needs {floor} or later")]
    TooOld {
        /// The installed version.
        found: String,
        /// The oldest supported version.
        floor: Version,
    },
}

fn named(commit: &Option<String>) -> &str {
    commit.as_deref().map_or("no commit", |id| id.get(..12).unwrap_or(id))
}

fn branch(name: &Option<String>) -> String {
    name.as_deref().map_or_else(|| "a detached HEAD".to_owned(), |name| format!("branch {name}"))
}

/// Something that git is in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub what: &'static str,
    /// The command that finishes it.
    pub end: &'static str,
    /// The command that gives it up.
    pub abort: &'static str,
}

/// The first two numbers of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first one.
    pub major: u32,
    /// The second one.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

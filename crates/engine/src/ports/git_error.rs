//! Why version control failed.

use std::path::PathBuf;
use std::{fmt, io};

use super::project_error::ProjectError;
use super::worktree_refusal::WorktreeRefusal;

/// Why a version control operation failed. Nothing that belongs to the user was changed,
/// unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git cannot be started: {0}")]
    NotStarted(#[source] io::Error),
    #[error("git {verb} failed: {message}")]
    Failed { verb: String, message: String },
    #[error("git {verb} gave an unexpected answer: {answer:?}")]
    Odd { verb: String, answer: String },
    #[error("{key} in the repository's git config {why}")]
    Led { key: String, why: &'static str },
    #[error("git does not know who you are: {message}")]
    NoIdentity { message: String },
    #[error("the branch moved from {} to {} in the meantime", named(.expected), named(.found))]
    HeadMoved { expected: Option<String>, found: Option<String> },
    #[error("the worktree is on {} now, not on {}", branch(.found), branch(.expected))]
    OtherBranch {
        /// The branch that the run works on; `None` for a detached HEAD.
        expected: Option<String>,
        found: Option<String>,
    },
    #[error("{} is in progress in this worktree; finish it first ({}, or {})", operation.what, operation.end, operation.abort)]
    InProgress { operation: Operation },
    #[error(
        "{path} has unresolved conflicts in the index; resolve them first (git status, git add {path})"
    )]
    Unmerged { path: String },
    #[error("another git is running, or a crashed one left {}", path.display())]
    Busy { path: PathBuf },
    #[error("the {hook} hook failed: {message}")]
    Hook { hook: String, message: String },
    /// One of the user's hooks changed the files to commit: the result was never judged.
    #[error("the {hook} hook changed the files to commit")]
    HookChanged { hook: String },
    /// A sandboxed program of ralph's failed.
    #[error("{what} failed: {message}")]
    Boxed { what: &'static str, message: String },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Worktree(#[from] WorktreeRefusal),
    #[error("work in several worktrees needs a branch to land on: {why}")]
    NoTrunk {
        /// Why there is none, and what to type.
        why: &'static str,
    },
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error("git {found} is too old; ralph needs {floor} or later")]
    TooOld { found: String, floor: Version },
}

/// What version control answers.
pub type GitResult<T> = Result<T, GitError>;

fn named(commit: &Option<String>) -> &str {
    commit.as_deref().map_or("no commit", |id| id.get(..12).unwrap_or(id))
}

fn branch(name: &Option<String>) -> String {
    name.as_deref().map_or_else(|| "a detached HEAD".to_owned(), |name| format!("branch {name}"))
}

/// Something that git is in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    pub what: &'static str,
    pub end: &'static str,
    pub abort: &'static str,
}

/// The first two numbers of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

//! What is asked of a server for pull requests, and what it answers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::forge::{ForgeKind, Pull, Words};

#[derive(Debug, Clone, Copy)]
pub struct PullRequest<'a> {
    pub words: &'a Words,
    pub base: &'a str,
    /// The file for its text, if you have to open it yourself.
    pub draft: &'a Path,
    /// The page for a new one that the server printed when the branch was pushed.
    pub link: Option<&'a str>,
}

/// What a server knows of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Survey {
    Asked {
        pulls: Vec<Pull>,
        /// For each of them the ref of its last commit, which outlives the branch.
        head_refs: Vec<String>,
    },
    Unasked {
        /// Why, as the middle of a sentence.
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    Created(Link),
    Updated(Link),
    Unchanged(Link),
    /// It exists, someone else wrote it, and ralph leaves it as it is.
    Theirs(Link),
    /// There is no transport to the server from here: you have to do it.
    Manually(ManualSteps),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub number: u64,
    pub page: String,
}

/// What you can do where ralph cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManualSteps {
    /// Why ralph cannot, as the middle of a sentence.
    pub why: String,
    /// What to type; may be empty.
    pub command: String,
    /// The page on which it can be done instead; may be empty.
    pub page: String,
    /// The file with the text, which the command reads.
    pub draft: PathBuf,
}

/// Why a branch has no pull request that is up to date. No variant carries a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    #[error("there is no remote `{remote}`: `git remote add {remote} <url>`, or set git.remote")]
    NoRemote { remote: String },
    #[error("the remote `{remote}` is not a repository on a server: {url}; set git.remote")]
    NoAddress {
        remote: String,
        /// Its address, without credentials.
        url: String,
    },
    #[error("GITHUB_API_URL is {url:?}: it must begin with https://")]
    BadApi {
        /// Its value, without credentials.
        url: String,
    },
    #[error(
        "the remotes `{push}` and `{pr}` are on different servers: set git.push_remote and git.pr_remote"
    )]
    TwoServers { push: String, pr: String },
    #[error("{host} did not accept the token (401): {remedy}")]
    Unauthorized { host: String, remedy: String },
    #[error(
        "{host} denied access (403: {message}): give the token write access to pull requests of {repo}"
    )]
    Forbidden { host: String, repo: String, message: String },
    #[error("{host} limits requests; try again {when}")]
    RateLimited {
        host: String,
        when: String,
        /// How long it asks to wait, where it says so.
        wait: Option<Duration>,
    },
    #[error(
        "{host} has no repository {repo}, or the token has no access to it (404): see git.remote"
    )]
    NotFound { host: String, repo: String },
    #[error("{repo} on {host} has moved: `git remote set-url` with its new address")]
    Moved { host: String, repo: String },
    #[error(
        "`{branch}` has no commits beyond `{base}`, so there is nothing to open a pull request for"
    )]
    NoCommits { branch: String, base: String },
    #[error("{host} does not have the branch `{branch}`: push it first")]
    NoBranch { host: String, branch: String },
    #[error("{host} does not have the base branch `{base}`: set git.pr_base")]
    NoBase { host: String, base: String },
    #[error("{host} refused the pull request ({status}: {message})")]
    Refused { host: String, status: u16, message: String },
    #[error("{host} failed ({status}): try again later")]
    Server { host: String, status: u16 },
    #[error("{host} cannot be reached: {message}")]
    Network { host: String, message: String },
    #[error("{host} did not answer as {kind} does: {message}")]
    Odd { host: String, kind: ForgeKind, message: String },
    #[error("it was interrupted")]
    Interrupted,
    #[error("{what}: {message}")]
    Local { what: String, message: String },
}

impl ForgeError {
    /// Whether the server has such a pull request already.
    pub fn is_duplicate(&self) -> bool {
        matches!(self, Self::Refused { status: 409 | 422, message, .. } if message.contains("already exists"))
    }

    /// `Some` if a retry may help, with how long the server asks to wait.
    pub fn passes_after(&self) -> Option<Option<Duration>> {
        match self {
            Self::RateLimited { wait, .. } => Some(*wait),
            Self::Server { .. } | Self::Network { .. } => Some(None),
            _ => None,
        }
    }
}

//! The interface to a server for pull requests: which ones a branch has, and creating or updating one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::forge::{Feedback, ForgeKind, Pull, Words};

/// A pull request as it should be.
#[derive(Debug, Clone, Copy)]
pub struct PullRequest<'a> {
    /// Its text, and its branch.
    pub words: &'a Words,
    /// The branch that it goes to.
    pub base: &'a str,
    /// The file for its text, if you have to open it yourself.
    pub draft: &'a Path,
    /// The page for a new one that the server printed when the branch was pushed.
    pub link: Option<&'a str>,
}

/// What a server knows of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Survey {
    /// The server was asked.
    Asked {
        /// The pull requests of the branch in any state.
        pulls: Vec<Pull>,
        /// For each of them the ref of its last commit, which outlives the branch.
        head_refs: Vec<String>,
    },
    /// ralph cannot ask the server.
    Unasked {
        /// Why, as the middle of a sentence.
        why: String,
    },
}

/// The outcome of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// It was opened.
    Created(Link),
    /// It existed and was updated.
    Updated(Link),
    /// It existed and was up to date.
    Unchanged(Link),
    /// It exists, someone else wrote it, and ralph leaves it as it is.
    Theirs(Link),
    /// There is no transport to the server from here: you have to do it.
    Manually(ManualSteps),
}

/// Where a pull request is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub number: u64,
    /// Its page.
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
    /// There is no such remote.
    #[error("there is no remote `{remote}`: `git remote add {remote} <url>`, or set git.remote")]
    NoRemote {
        /// Its name.
        remote: String,
    },
    /// The remote is not a repository on a server.
    #[error("the remote `{remote}` is not a repository on a server: {url}; set git.remote")]
    NoAddress {
        /// Its name.
        remote: String,
        /// Its address, without credentials.
        url: String,
    },
    /// The variable with another API address is invalid.
    #[error("GITHUB_API_URL is {url:?}: it must begin with https://")]
    BadApi {
        /// Its value, without credentials.
        url: String,
    },
    /// Branches and pull requests would be on two servers.
    #[error(
        "the remotes `{push}` and `{pr}` are on different servers: set git.push_remote and git.pr_remote"
    )]
    TwoServers {
        /// The remote that branches are pushed to.
        push: String,
        /// The remote that pull requests go to.
        pr: String,
    },
    /// The token is wrong or has run out.
    #[error("{host} did not accept the token (401): {remedy}")]
    Unauthorized {
        /// The server.
        host: String,
        /// What to do about it.
        remedy: String,
    },
    /// The token is valid but lacks the permission.
    #[error(
        "{host} denied access (403: {message}): give the token write access to pull requests of {repo}"
    )]
    Forbidden {
        /// The server.
        host: String,
        /// The repository.
        repo: String,
        /// What the server said.
        message: String,
    },
    /// There were too many requests.
    #[error("{host} limits requests; try again {when}")]
    RateLimited {
        /// The server.
        host: String,
        /// When it does.
        when: String,
        /// How long it asks to wait, where it says so.
        wait: Option<Duration>,
    },
    /// There is no such repository, or the token has no access to it.
    #[error(
        "{host} has no repository {repo}, or the token has no access to it (404): see git.remote"
    )]
    NotFound {
        /// The server.
        host: String,
        /// The repository.
        repo: String,
    },
    /// The repository has another name now.
    #[error("{repo} on {host} has moved: `git remote set-url` with its new address")]
    Moved {
        /// The server.
        host: String,
        /// The repository.
        repo: String,
    },
    /// The branch has nothing that the base does not have.
    #[error(
        "`{branch}` has no commits beyond `{base}`, so there is nothing to open a pull request for"
    )]
    NoCommits {
        /// The branch.
        branch: String,
        /// Where it should go.
        base: String,
    },
    /// The server does not know the branch.
    #[error("{host} does not have the branch `{branch}`: push it first")]
    NoBranch {
        /// The server.
        host: String,
        /// The branch.
        branch: String,
    },
    /// The server does not know the branch to go to.
    #[error("{host} does not have the base branch `{base}`: set git.pr_base")]
    NoBase {
        /// The server.
        host: String,
        /// The branch.
        base: String,
    },
    /// The server refused what we sent for another reason.
    #[error("{host} refused the pull request ({status}: {message})")]
    Refused {
        /// The server.
        host: String,
        /// The status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// The server is broken.
    #[error("{host} failed ({status}): try again later")]
    Server {
        /// The server.
        host: String,
        /// The status.
        status: u16,
    },
    /// The server was not reached.
    #[error("{host} cannot be reached: {message}")]
    Network {
        /// The server.
        host: String,
        /// What the program said.
        message: String,
    },
    /// The answer is not one of this kind of server.
    #[error("{host} did not answer as {kind} does: {message}")]
    Odd {
        /// The server.
        host: String,
        /// What it should be.
        kind: ForgeKind,
        /// The beginning of it.
        message: String,
    },
    /// ralph was asked to stop.
    #[error("it was interrupted")]
    Interrupted,
    /// A program or a file that is needed does not work.
    #[error("{what}: {message}")]
    Local {
        /// The file or program.
        what: String,
        /// What the system said.
        message: String,
    },
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

/// A server for pull requests. Calls block and are not for threads of an async runtime.
pub trait Forge: Send + Sync {
    /// The pull requests of a branch in any state. Changes nothing.
    fn survey(&self, branch: &str) -> Result<Survey, ForgeError>;

    /// Ensures that the branch, which is already pushed, has one open pull request with this text.
    /// Opens one, or updates one that ralph opened; text from users stays. Calling it twice changes nothing.
    fn publish(&self, wanted: &PullRequest<'_>) -> Result<Published, ForgeError>;

    /// The state of a pull request, the checks of a commit, and what reviewers said. Changes nothing.
    fn feedback(
        &self,
        number: u64,
        commit: &str,
        with_comments: bool,
    ) -> Result<(Pull, Feedback), ForgeError>;

    /// The log of a check, by the resource that [`Self::feedback`] named.
    fn log(&self, resource: &str) -> Result<String, ForgeError>;
}

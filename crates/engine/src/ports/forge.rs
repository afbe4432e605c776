//! What is asked of a server for pull requests: that a branch has one, and that it is up to date.

use std::path::{Path, PathBuf};

use ralph_core::forge::Words;

/// A pull request as it should be.
#[derive(Debug, Clone, Copy)]
pub struct PullRequest<'a> {
    /// What it tells, and of which branch.
    pub words: &'a Words,
    /// The branch that it goes to.
    pub base: &'a str,
    /// Where its text is left for a person who has to open it by hand.
    pub draft: &'a Path,
}

/// What became of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// It was opened.
    Created(Link),
    /// It was there and was changed.
    Updated(Link),
    /// It was there and said all of it.
    Unchanged(Link),
    /// It was there, a person wrote it, and it stays as it is.
    Theirs(Link),
    /// There is no way to the server from here: a person has to do it.
    ByHand(ByHand),
}

/// Where a pull request is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub number: u64,
    /// Its page.
    pub page: String,
}

/// What a person can do where ralph cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByHand {
    /// Why ralph cannot, as the middle of a sentence.
    pub why: String,
    /// What to type.
    pub command: String,
    /// The page on which it can be done instead.
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
    /// The remote is no repository on a server.
    #[error("the remote `{remote}` names no repository on a GitHub server: {url}; set git.remote")]
    NoAddress {
        /// Its name.
        remote: String,
        /// Its address, without credentials.
        url: String,
    },
    /// The variable for another address of the API is not one.
    #[error("GITHUB_API_URL is {url:?}: it must begin with https://")]
    BadApi {
        /// Its value, without credentials.
        url: String,
    },
    /// The token is wrong or has run out.
    #[error(
        "{host} did not accept the token (401): `gh auth login --hostname {host}`, or set GH_TOKEN anew"
    )]
    Unauthorized {
        /// The server.
        host: String,
    },
    /// The token is right and may not.
    #[error(
        "{host} does not allow it (403: {said}): give the token write access to pull requests of {repo}"
    )]
    Forbidden {
        /// The server.
        host: String,
        /// The repository.
        repo: String,
        /// What the server said.
        said: String,
    },
    /// There were too many requests.
    #[error("{host} takes no more requests for now; try again {when}")]
    RateLimited {
        /// The server.
        host: String,
        /// When it does.
        when: String,
    },
    /// There is no such repository, or it is not ours to see.
    #[error(
        "there is no repository {repo} on {host}, or the token may not see it (404): see git.remote"
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
    #[error("{host} does not have the branch `{base}` to go to: set git.pr_base")]
    NoBase {
        /// The server.
        host: String,
        /// The branch.
        base: String,
    },
    /// The server refused what we sent for another reason.
    #[error("{host} refused the pull request ({status}: {said})")]
    Refused {
        /// The server.
        host: String,
        /// The status.
        status: u16,
        /// What it said.
        said: String,
    },
    /// The server is broken.
    #[error("{host} has a problem ({status}): try again later")]
    Server {
        /// The server.
        host: String,
        /// The status.
        status: u16,
    },
    /// The server was not reached.
    #[error("{host} cannot be reached: {said}")]
    Network {
        /// The server.
        host: String,
        /// What the program said.
        said: String,
    },
    /// What came back is no answer.
    #[error("{host} answered something that is no answer of GitHub: {said}")]
    Odd {
        /// The server.
        host: String,
        /// The beginning of it.
        said: String,
    },
    /// We were told to stop.
    #[error("it was interrupted")]
    Interrupted,
    /// A program or a file that is needed does not work.
    #[error("{what}: {said}")]
    Local {
        /// Which.
        what: String,
        /// What the system said.
        said: String,
    },
}

/// A server for pull requests. Calls block and are not for threads of an async runtime.
pub trait Forge: Send + Sync {
    /// Sees to it that the branch, which is pushed already, has one open pull request with these words.
    /// Opens one, or brings one of ours up to date; what people wrote stays. Asking twice changes nothing.
    fn publish(&self, wanted: &PullRequest<'_>) -> Result<Published, ForgeError>;
}

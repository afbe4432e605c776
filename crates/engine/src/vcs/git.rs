//! The one constructor of git commands. Nothing else in ralph starts git.

use std::path::Path;
use std::process::{Command, Stdio};

/// Why git did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("git cannot be started: {0}")]
    NotStarted(#[source] std::io::Error),
    /// Git said no.
    #[error("git {verb} failed: {message}")]
    Failed {
        /// What it was asked to do.
        verb: String,
        /// What it said.
        message: String,
    },
}

/// Runs git in `folder` and returns what it printed. Arguments are never seen by a shell; the locale
/// and the absence of prompts are pinned.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts git")]
pub fn git(folder: &Path, arguments: &[&str]) -> Result<String, GitError> {
    let output = Command::new("git")
        .current_dir(folder)
        .args(arguments)
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .output()
        .map_err(GitError::NotStarted)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    Err(GitError::Failed {
        verb: arguments.first().copied().unwrap_or_default().to_owned(),
        message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

//! Tests whether commits can be signed, without leaving anything behind.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use ralph_core::text::printable_line;

use super::{Git, GitError, GitResult, git};
use crate::process::{Captured, Stop, capture};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signing {
    Off,
    Works,
    Broken(String),
}

/// Tries to sign, with this key or with the one in the user's settings. Never prompts: a key that needs a typed
/// passphrase does not work for a program.
pub fn signing(
    folder: &Path,
    key: &str,
    environment: &[(OsString, OsString)],
    patience: Duration,
) -> GitResult<Signing> {
    let asked = git(folder, &["config", "--type=bool", "--get", "commit.gpgsign"]);
    let on = match asked {
        Ok(answer) => answer == "true",
        Err(GitError::Failed { .. }) => false,
        Err(error) => return Err(error),
    };
    if !on && key.is_empty() {
        return Ok(Signing::Off);
    }
    let objects = tempfile::tempdir()
        .map_err(|source| GitError::File { path: std::env::temp_dir(), source })?;
    let call = |arguments: &[&str], input: &'static [u8]| -> GitResult<Captured> {
        let call = Git::new(folder, arguments).input(input).as_ralph();
        let call = call.env("GIT_OBJECT_DIRECTORY", objects.path());
        Ok(capture(&call.spec(environment)?, patience, Stop::never()))
    };
    let tree = call(&["hash-object", "-t", "tree", "-w", "/dev/null"], b"")?;
    let tree = String::from_utf8_lossy(&tree.stdout).trim().to_owned();
    let sign = format!("-S{key}");
    let done = call(&["commit-tree", &sign, &tree], b"ralph: a try\n")?;
    Ok(match done.end {
        ProcessEnd::Exited { code: 0 } => Signing::Works,
        ProcessEnd::TimedOut { .. } => {
            Signing::Broken(format!("it timed out after {}s", patience.as_secs()))
        }
        _ => Signing::Broken(signing_error(&done.stderr)),
    })
}

/// The complaint of the program that signs, which comes before that of git.
fn signing_error(stderr: &str) -> String {
    let line = |line: &&str| !line.trim().is_empty() && !line.starts_with("hint:");
    let first = stderr.lines().find(line).unwrap_or("git gave no reason");
    let shown = printable_line(first.trim()).into_owned();
    shown.strip_prefix("error: ").unwrap_or(&shown).trim_end_matches(['.', '?', ':']).to_owned()
}

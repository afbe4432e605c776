//! Runs ralph's own programs, and git, in a sandbox.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::agent::ProcessEnd;

use super::SessionGitDir;
use crate::git::{GitError, GitResult};
use crate::host::host;
use crate::ports::{Bind, Jail};
use crate::process::{CommandSpec, Stop, capture};

/// This program, in every sandbox.
pub(crate) const RALPH: &str = "/run/ralph/bin/ralph";
/// The default search path for programs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How often ralph tries to create a sandbox, and how bubblewrap reports a failure.
const TRIES: u32 = 3;
const NO_BOX: &str = "bwrap: Can't ";
/// How long a look may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// How programs of the loop are sandboxed.
#[derive(Debug, Clone)]
pub struct GitSandbox {
    pub jail: Arc<dyn Jail>,
    /// What programs outside of it find in their environment: that of the user.
    pub environment: Vec<(OsString, OsString)>,
    pub patience: Duration,
}

impl GitSandbox {
    pub fn new(jail: Arc<dyn Jail>, environment: Vec<(OsString, OsString)>) -> Self {
        Self { jail, environment, patience: PATIENCE }
    }
}

pub(crate) fn inside(sandbox: &GitSandbox) -> Vec<(OsString, OsString)> {
    // What looks at a session's work must not be a program that the session wrote.
    let path =
        host().environment(&sandbox.environment).into_iter().find(|(name, _)| name == "PATH");
    let path = path.map_or_else(|| PATH.into(), |(_, value)| value);
    let mut environment = vec![("PATH".into(), path), ("HOME".into(), "/tmp".into())];
    environment.push(("LC_ALL".into(), "C".into()));
    environment.extend(SessionGitDir::environment());
    environment
}

/// The message for a program that ended without output.
fn exit_words(code: i32) -> String {
    format!("exit code {code}")
}

/// Whether a program said no, and nothing else.
pub(crate) fn is_no(error: &GitError) -> bool {
    matches!(error, GitError::Boxed { message, .. } if *message == exit_words(1))
}

/// Runs a program in a sandbox and returns what it printed.
pub(crate) fn run(
    what: &'static str,
    sandbox: &GitSandbox,
    spec: &CommandSpec,
    binds: &[Bind],
) -> GitResult<Vec<u8>> {
    let mut again = TRIES;
    loop {
        again -= 1;
        let wrapped = sandbox.jail.wrap(spec.clone(), binds);
        match finish(what, sandbox.patience, &wrapped) {
            // A path that should be hidden was removed at this moment.
            Err(GitError::Boxed { message, .. }) if again > 0 && message.starts_with(NO_BOX) => {}
            done => return done,
        }
    }
}

/// Runs a program to its end and returns what it printed.
fn finish(what: &'static str, limit: Duration, spec: &CommandSpec) -> GitResult<Vec<u8>> {
    // A thread of its own: the caller may be inside a runtime.
    let ran =
        std::thread::scope(|scope| scope.spawn(|| capture(spec, limit, Stop::never())).join().ok());
    let Some(ran) = ran else {
        return Err(GitError::Boxed { what, message: "it crashed".to_owned() });
    };
    let message = match ran.end {
        ProcessEnd::Exited { code: 0 } => return Ok(ran.stdout),
        ProcessEnd::NotStarted { error } => {
            return Err(GitError::NotStarted(io::Error::other(error)));
        }
        ProcessEnd::TimedOut { .. } => format!("timed out after {}s", limit.as_secs()),
        ProcessEnd::Exited { code } if ran.stderr.trim().is_empty() => exit_words(code),
        end => match ran.stderr.trim() {
            "" => format!("{end:?}"),
            output => output.to_owned(),
        },
    };
    Err(GitError::Boxed { what, message })
}

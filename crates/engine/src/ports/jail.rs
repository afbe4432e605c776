//! The loop's interface to the sandbox for its own programs that read what sessions wrote: git on their files, and
//! the user's hooks.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::program::{CommandSpec, Probe};

/// The uid and gid that sandboxed programs of root have: some agents refuse to do anything as root.
pub const USER_OF_ROOT: u32 = 1000;

/// A place that is shown in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    pub from: PathBuf,
    pub to: PathBuf,
    pub writable: bool,
}

impl Bind {
    /// Shown where it is, to be read.
    pub fn readable(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { from: path.clone(), to: path, writable: false }
    }

    /// Shown where it is, to be changed.
    pub fn writable(path: impl Into<PathBuf>) -> Self {
        Self { writable: true, ..Self::readable(path) }
    }

    /// Shown elsewhere, to be read.
    pub fn at(self, to: impl Into<PathBuf>) -> Self {
        Self { to: to.into(), ..self }
    }
}

/// A sandbox for programs of the loop.
///
/// # Contract
/// - The program has no network, sees the system read-only, an empty `/tmp` and `/run`, and nothing of the
///   store, the secrets of the user, or other worktrees; it dies with whoever started it.
/// - `binds` come on top, in this order: a later one covers an earlier one. Those that are not there
///   are an error of the program's start.
/// - This program is there as `/run/ralph/bin/ralph`, and `/usr/bin/git` as ever.
/// - The environment is what the command says.
pub trait Jail: Send + Sync + fmt::Debug {
    fn wrap(&self, command: CommandSpec, binds: &[Bind]) -> CommandSpec;
}

/// The sandbox of commit hooks where it has no mounts, and so no [`Jail`].
pub trait HookSandbox: Send + Sync + fmt::Debug {
    /// Runs a hook to its end, as gates run. It may write in the worktree and in `scratch`.
    fn run(&self, hook: CommandSpec, worktree: &Path, scratch: &Path, limit: Duration) -> HookEnd;
}

#[derive(Debug)]
pub struct HookEnd {
    pub probe: Probe,
    /// What it did to git's settings, undone, each in a sentence.
    pub notes: Vec<String>,
}

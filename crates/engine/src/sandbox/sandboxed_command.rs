//! A program that is to run in a sandbox: its kind, and which parts of a run it sees.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ports::{Bind, SandboxMounts};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramKind {
    Session,
    /// A gate or a setup command.
    Judge,
    /// An agent that verifies.
    Verifier,
    /// A program of the loop's own that looks at what sessions wrote.
    Helper,
}

impl ProgramKind {
    /// Whether nothing may reach it that a session wrote outside of the tree.
    pub(super) fn judges(self) -> bool {
        matches!(self, Self::Judge | Self::Verifier)
    }
}

#[derive(Debug, Clone)]
pub struct SandboxedCommand {
    pub kind: ProgramKind,
    pub worktree: PathBuf,
    /// What it may change: the worktree, or a checkout of it. The worktree is not shown otherwise.
    pub writable: Vec<PathBuf>,
    /// What else it is shown, a later one over an earlier one.
    pub binds: Vec<Bind>,
    /// What of the above it may only read. What is not there is left out.
    pub read_only: Vec<PathBuf>,
    pub environment: Vec<(OsString, OsString)>,
    /// Temporary folders that must exist while it runs.
    pub held: Vec<Arc<tempfile::TempDir>>,
    /// Where its caches are, instead of those that all gates share.
    pub caches: Option<PathBuf>,
}

impl SandboxedCommand {
    pub fn in_worktree(kind: ProgramKind, worktree: &Path) -> Self {
        Self {
            kind,
            worktree: worktree.to_owned(),
            writable: vec![worktree.to_owned()],
            binds: vec![],
            read_only: vec![],
            environment: vec![],
            held: vec![],
            caches: None,
        }
    }

    pub(crate) fn show(&mut self, shown: SandboxMounts) {
        self.held.extend(shown.held);
        self.binds.extend(shown.binds);
        self.read_only.extend(shown.read_only);
        self.environment.extend(shown.environment);
    }
}

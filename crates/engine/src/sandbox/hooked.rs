//! Commit hooks where sessions work on the real git directory: they run like gates, because a session can have
//! written them.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::ports::{HookEnd, HookSandbox};
use crate::ports::{Probe, ProbeEnd};
use crate::probe;
use crate::process::CommandSpec;
use crate::sandbox::{ProgramKind, Sandbox, SandboxedCommand};

/// The sandbox of a run, for hooks.
pub struct Hooked(Arc<Sandbox>);

impl Hooked {
    /// `None` where hooks run beside the session's own git directory, in a sandbox with mounts.
    pub fn of(sandbox: &Arc<Sandbox>) -> Option<Arc<dyn HookSandbox>> {
        (!sandbox.mounts()).then(|| Arc::new(Self(Arc::clone(sandbox))) as Arc<dyn HookSandbox>)
    }
}

impl fmt::Debug for Hooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hooked").field(&self.0.level()).finish()
    }
}

impl HookSandbox for Hooked {
    fn run(&self, hook: CommandSpec, worktree: &Path, scratch: &Path, limit: Duration) -> HookEnd {
        let mut sandboxed = SandboxedCommand::in_worktree(ProgramKind::Judge, worktree);
        sandboxed.writable.push(scratch.to_owned());
        let wrapped = match self.0.wrap(hook, &sandboxed) {
            Ok(wrapped) => wrapped,
            Err(error) => {
                let end =
                    ProbeEnd::NotStarted(format!("the sandbox could not be created: {error}"));
                let probe = Probe { end, output: String::new(), took: Duration::ZERO };
                return HookEnd { probe, notes: vec![] };
            }
        };
        let probe = probe::finish(&wrapped.command, limit);
        HookEnd { probe, notes: wrapped.put_right() }
    }
}

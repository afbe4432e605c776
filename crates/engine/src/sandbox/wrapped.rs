//! A sandboxed command while it runs, and what its end means.

use std::path::PathBuf;

use ralph_core::Timestamp;
use ralph_core::agent::ProcessEnd;

use super::guard::Guard;
use super::network_attachment::NetworkAttachment;
use super::stages::{FAILED, SAYS};
use super::state::OwnState;
use super::{seatbelt, set_id};
use crate::process::{CommandSpec, Ended};

/// A command that runs in a sandbox, and what must exist as long as it runs.
#[derive(Debug)]
pub struct Wrapped {
    pub command: CommandSpec,
    pub(super) sandboxed: bool,
    pub(super) states: Vec<OwnState>,
    /// The folder of a verifier's state, which goes away with it.
    pub(super) _state: Option<tempfile::TempDir>,
    pub(super) line: Option<NetworkAttachment>,
    pub(super) guard: Option<Guard>,
    /// Where the program may have left files, and since when.
    pub(super) left: (Vec<PathBuf>, Timestamp),
    #[cfg(target_os = "linux")]
    pub(super) _groups: super::cgroup::Groups,
    pub(super) _profile: Option<seatbelt::ProfileFile>,
}

/// Whether a failure to create a sandbox is temporary.
pub fn is_fleeting(error: &str) -> bool {
    error.starts_with("the sandbox could not be created: Can't ")
}

impl Wrapped {
    /// Restores git settings that the program changed, where it had the real ones, and removes set-ID bits from
    /// files. Call it before any git runs outside.
    pub fn put_right(&self) -> Vec<String> {
        let put_back = self.guard.as_ref().map(Guard::restore);
        let mut output = match put_back {
            None => vec![],
            Some(Ok(reported)) => reported,
            Some(Err(error)) => vec![format!("git settings could not be restored: {error}")],
        };
        output.extend(set_id::strip(&self.left.0, self.left.1));
        output
    }

    pub fn refusals(&self) -> Vec<String> {
        self.line.as_ref().map(NetworkAttachment::refusals).unwrap_or_default()
    }

    /// How the program itself ended, translated from how the processes around it ended.
    pub fn program_end(&self, mut ended: Ended) -> Ended {
        if !self.sandboxed {
            return ended;
        }
        let says = |prefix: &str| {
            let line = ended.stderr_tail.lines().find(|line| line.starts_with(prefix))?;
            Some(line[prefix.len()..].to_owned())
        };
        ended.end = match ended.end {
            ProcessEnd::Exited { code: FAILED } if says(SAYS).is_some() => {
                ProcessEnd::NotStarted { error: says(SAYS).unwrap_or_default() }
            }
            ProcessEnd::Exited { code: 1 }
                if ended.stdout_bytes == 0 && says("bwrap: ").is_some() =>
            {
                let why = says("bwrap: ").unwrap_or_default();
                ProcessEnd::NotStarted { error: format!("the sandbox could not be created: {why}") }
            }
            ProcessEnd::Exited { code: code @ 129..=159 } => {
                ProcessEnd::Signalled { signal: code - 128 }
            }
            end => end,
        };
        ended
    }
}

impl Drop for Wrapped {
    fn drop(&mut self) {
        for state in &self.states {
            // If this fails, the agent itself asks for a login again.
            let _ = state.take_back();
        }
    }
}

//! Runs the user's setup command in a new worktree, once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::branch::BranchName;

use crate::ports::ProbeEnd;
use crate::ports::{GitError, SandboxMounts};
use crate::probe;
use crate::process::{CommandSpec, Stdin};
use crate::project::write_privately;
use crate::sandbox::{ProgramKind, Sandbox, SandboxedCommand};
use crate::worktrees::Worktrees;

/// How long it may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(3600);

/// Why a worktree is not prepared.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeSetupError {
    /// ralph was asked to stop.
    #[error("it was interrupted")]
    Interrupted,
    /// The command failed.
    #[error("git.worktree.setup {how}; see {}", log.display())]
    Failed {
        /// How it ended.
        how: String,
        /// The file with its output.
        log: PathBuf,
    },
    /// It went well, and that could not be written down.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Runs the command in the worktree of a branch, and remembers when it went well.
pub fn run_worktree_setup(
    worktrees: &Worktrees,
    branch: &BranchName,
    command: &str,
    folder: &Path,
    environment: &[(OsString, OsString)],
    (sandbox, shown): (&Sandbox, SandboxMounts),
    log: &Path,
) -> Result<(), WorktreeSetupError> {
    let mut env = environment.to_vec();
    env.push(("RALPH_GATE".into(), "setup".into()));
    let command = CommandSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        folder: folder.to_owned(),
        env,
        stdin: Stdin::default(),
    };
    let mut sandboxed = SandboxedCommand::in_worktree(ProgramKind::Judge, folder);
    sandboxed.show(shown);
    let failed = |how: String| WorktreeSetupError::Failed { how, log: log.to_owned() };
    let in_sandbox = sandbox.wrap(command, &sandboxed);
    let in_sandbox =
        in_sandbox.map_err(|error| failed(format!("could not be sandboxed: {error}")))?;
    let ran = probe::run_spec(&in_sandbox.command, TIMEOUT);
    // It is only there to be looked at.
    let _ = write_privately(log, &ran.output);
    let how = match ran.end {
        ProbeEnd::Exited(0) => return Ok(worktrees.mark_set_up(branch)?),
        ProbeEnd::Interrupted => return Err(WorktreeSetupError::Interrupted),
        ProbeEnd::Exited(code) => format!("exited with code {code}"),
        ProbeEnd::TimedOut => "timed out after 1h".to_owned(),
        ProbeEnd::NotStarted(error) => format!("could not be started: {error}"),
    };
    Err(failed(how))
}

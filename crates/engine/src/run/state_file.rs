//! `.ralph/state.toml`: what a run leaves for the next one in the same worktree. A projection of the
//! state of the loop, rewritten whole and atomically.

use std::io;
use std::path::{Path, PathBuf};

use ralph_core::Timestamp;
use ralph_core::ids::RunId;
use ralph_core::run::{Resume, RunState, StopReason};
use serde::{Deserialize, Serialize};

use crate::project::write_privately;

/// The contents, in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFile {
    /// A run is at work, or was when it was cut off.
    pub active: bool,
    /// Iterations that it counted.
    pub iteration: u32,
    /// `build`, `plan` or `prompt`.
    pub mode: String,
    /// When it began.
    pub started_at: Timestamp,
    /// When its last iteration ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_iteration_at: Option<Timestamp>,
    /// Its limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Errors so far.
    pub error_count: u32,
    /// Errors in a row.
    pub consecutive_errors: u32,
    /// The last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The last commit that was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_commit: Option<String>,
    /// What was checked out when the file was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_head: Option<String>,
    /// Iterations in a row without a change.
    pub idle_iterations: u32,
    /// Its name.
    pub run: RunId,
    /// Its process.
    pub pid: u32,
    /// When that process started, in the system's own count.
    pub pid_started: u64,
    /// Where it listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_socket: Option<PathBuf>,
    /// It ended as a run does; `false` for one that goes on at the next start.
    #[serde(default)]
    pub finished: bool,
}

/// Who writes the file.
#[derive(Debug, Clone)]
pub struct Writer {
    /// The file.
    pub path: PathBuf,
    /// The run.
    pub run: RunId,
    /// Our process.
    pub pid: u32,
    /// When it started.
    pub pid_started: u64,
    /// Where we listen.
    pub control_socket: Option<PathBuf>,
}

impl Writer {
    /// The state as it stands in the file.
    pub fn text(&self, state: &RunState, head: Option<String>) -> io::Result<String> {
        let ended = state.ended;
        let finished = ended && !state.stop.as_ref().is_some_and(StopReason::is_interruption);
        let file = StateFile {
            active: !ended,
            iteration: state.counted,
            mode: state.policy.mode.clone(),
            started_at: state.started_at,
            last_iteration_at: state.last_iteration_at,
            max_iterations: state.policy.max_sessions,
            error_count: state.error_count,
            consecutive_errors: state.consecutive_errors,
            last_error: state.last_error.as_deref().map(first_line),
            last_commit: state.last_commit.clone(),
            last_head: head,
            idle_iterations: state.idle_iterations,
            run: self.run.clone(),
            pid: self.pid,
            pid_started: self.pid_started,
            control_socket: self.control_socket.clone().filter(|_| !ended),
            finished,
        };
        toml::to_string(&file).map_err(io::Error::other)
    }

    /// Writes the file.
    pub fn write(&self, text: &str) -> io::Result<()> {
        write_privately(&self.path, text)
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(400).collect()
}

/// Reads the file; `None` when there is none.
pub fn read(path: &Path) -> io::Result<Option<StateFile>> {
    match std::fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text).map(Some).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl StateFile {
    /// What the next run in `mode` takes up; `None` after a run that ended as runs do.
    pub fn resume(&self, mode: &str) -> Option<Resume> {
        (!self.finished && self.mode == mode).then(|| Resume {
            run: self.run.clone(),
            iteration: self.iteration,
            started_at: self.started_at,
            error_count: self.error_count,
            consecutive_errors: self.consecutive_errors,
            last_error: self.last_error.clone(),
            last_commit: self.last_commit.clone(),
            // Sessions of a run that was killed may have committed after this was written.
            last_head: self.last_head.clone().filter(|_| !self.active),
            idle_iterations: self.idle_iterations,
        })
    }
}

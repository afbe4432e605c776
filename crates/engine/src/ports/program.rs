//! A program to run, and how a short run of it ended. Data only: `process` and `probe` run it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program to run. No shell ever sees it.
#[derive(Debug, Clone, Default)]
pub struct CommandSpec {
    /// The program: a path, or a name to be found on the `PATH` of `env`.
    pub program: OsString,
    pub args: Vec<OsString>,
    pub folder: PathBuf,
    /// Its whole environment: ralph adds nothing but the [`Mark`](crate::process::Mark).
    pub env: Vec<(OsString, OsString)>,
    /// What it reads; then its standard input is closed. Nothing at all is `/dev/null`.
    pub stdin: Vec<u8>,
}

impl CommandSpec {
    /// A program without input.
    pub(crate) fn new<A: Into<OsString>>(
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = A>,
        folder: &Path,
        env: Vec<(OsString, OsString)>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { program: program.into(), args, folder: folder.to_owned(), env, stdin: vec![] }
    }
}

/// How a short run of a program ended.
#[derive(Debug)]
pub enum ProbeEnd {
    /// By itself, with this code; 128 and more for a signal.
    Exited(i32),
    /// It ran for too long and was killed with everything it had started.
    TimedOut,
    Interrupted,
    NotStarted(String),
}

/// One short run of a program.
#[derive(Debug)]
pub struct Probe {
    pub end: ProbeEnd,
    /// The end of what it printed, on both streams.
    pub output: String,
    pub took: Duration,
}

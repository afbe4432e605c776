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
    pub stdin: Stdin,
}

/// What a program reads on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// This; then it is closed. Nothing at all is `/dev/null`.
    Text(Vec<u8>),
    /// This to begin with. Then it stays open for replies, until the program has said its last word.
    Conversation(Vec<u8>),
}

impl Stdin {
    /// What the program reads first.
    pub fn opening(&self) -> &[u8] {
        match self {
            Self::Text(bytes) | Self::Conversation(bytes) => bytes,
        }
    }

    /// Whether there is nothing to read, now and later.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Self::Text(bytes) if bytes.is_empty())
    }
}

impl Default for Stdin {
    fn default() -> Self {
        Self::Text(vec![])
    }
}

impl From<Vec<u8>> for Stdin {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Text(bytes)
    }
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
        Self {
            program: program.into(),
            args,
            folder: folder.to_owned(),
            env,
            stdin: Stdin::default(),
        }
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

//! Limits how much a session can make ralph store or read. A session can print, write and ask without end; each
//! thing that it feeds has a limit here, and docs/limits.md says what happens at it.

/// What ralph keeps of what an agent prints, per session, in bytes.
pub(crate) const RAW_LOG: usize = 256 << 20;

/// How many notes a session may write into the logs of tasks.
pub const NOTES: usize = 200;

/// How long these may be together, in bytes.
pub const NOTES_TEXT: usize = 1 << 20;

/// How many tasks a session may propose for a feature.
pub const PROPOSALS: usize = 1_000;

/// How many open files a run needs.
pub const OPEN_FILES: u64 = 128;

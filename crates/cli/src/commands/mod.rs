//! One file per command: an `XArgs` whose documentation is the help text, and a `cmd_x`.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod export;
pub(crate) mod feature;
pub(crate) mod help;
pub(crate) mod import;
pub(crate) mod man;
pub(crate) mod overview;
pub(crate) mod task;

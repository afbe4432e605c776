//! One file per command: an `XArgs` whose documentation is the help text, and a `cmd_x`.

pub(crate) mod answer;
pub(crate) mod build;
pub(crate) mod clean;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod control;
pub(crate) mod crash_points;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod feature;
pub(crate) mod help;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod logs;
pub(crate) mod loop_;
pub(crate) mod man;
pub(crate) mod overview;
pub(crate) mod plan;
pub(crate) mod prompt;
pub(crate) mod recover;
pub(crate) mod report;
pub(crate) mod script_agent;
pub(crate) mod status;
pub(crate) mod task;

//! What users and programs see. Everything here turns values of `ralph-core` into text; nothing
//! here opens a file, asks a question or changes anything.
//!
//! | module | owns |
//! |---|---|
//! | [`plain`] | a run as lines on a terminal or in a pipe |
//! | [`lanes`] | several runs on one screen |
//! | [`jsonl`] | a run as lines of JSON |
//! | [`session_log`] | a run as the readable log file |
//! | [`status`] | the state of the run and the plan on one page |
//! | [`report`] | what attempts cost, as tables |
//! | [`ports`] | what a display with a screen of its own asks of the program around it |
//! | [`tui`] | all runs of a repository on the whole screen |
//! | [`dry_run`] | what a run would do |
//! | [`tasks`] | tasks as a table, a tree, a page, markdown-KV and JSON |
//! | [`style`] | colors by meaning |
//! | [`columns`] | aligned text, cut to the width of the terminal |
//! | [`mod@line`] | a line of colored parts that fits, and wrapped text |
//! | [`units`] | durations, money and tokens in words |

pub mod columns;
pub mod dry_run;
pub mod jsonl;
pub mod lanes;
pub mod line;
pub mod plain;
pub mod ports;
pub mod report;
pub mod runs;
pub mod session_log;
pub mod status;
pub mod style;
pub mod tasks;
#[cfg(test)]
mod tests;
pub mod tui;
pub mod units;

//! The supervisor against agents with every bad habit.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::disallowed_methods, reason = "tests start programs and wait")]

mod conversation;
mod ends;
mod kit;
#[cfg(target_os = "linux")]
mod leftovers;
mod output;
#[cfg(target_os = "linux")]
mod process_tree;

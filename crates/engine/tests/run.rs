//! Whole runs of the loop without a process: version control in memory, programs that answer at once, and a clock that
//! jumps over every wait.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]

#[path = "run/ends.rs"]
mod ends;
#[path = "run/judging.rs"]
mod judging;
#[path = "run/kit.rs"]
mod kit;
#[path = "run/waits.rs"]
mod waits;

//! Ways out of the box, really tried: the real binary, and an agent that does its worst.
//!
//! The agent of these runs starts this very program once more, with [`attempts::go`] as the only test: so
//! what is tried, what must come of it, and what the page about the box says are one table.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::disallowed_methods, reason = "tests start programs, read the clock and wait")]
#![expect(unsafe_code, reason = "system calls that nobody wraps are tried too")]

mod attempts;
mod caches;
mod claude;
mod commands;
mod git;
mod levels;
mod limits;
mod network;
mod page;
mod sessions;
mod signals;
mod world;

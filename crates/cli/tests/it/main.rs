//! ralph from the outside: the real binary in a hermetic repository.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::disallowed_methods, reason = "tests start programs, read the clock and wait")]

mod acceptance;
mod bad_input;
mod concurrency;
mod config;
mod demo;
mod faults;
mod features;
mod interchange;
mod reference;
mod shape;
mod tasks;

use ralph_testkit::TestEnv;

/// The ralph under test.
const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

fn env() -> TestEnv {
    TestEnv::new(RALPH)
}

//! The proxy and the bridge of a box with real sockets, curl and git. The box itself is in the tests of
//! the testkit.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::disallowed_methods, reason = "tests start programs and read the environment")]

#[path = "network/hostile.rs"]
mod hostile;
#[path = "network/kit.rs"]
mod kit;
#[path = "network/limits.rs"]
mod limits;
#[path = "network/names.rs"]
mod names;
#[path = "network/programs.rs"]
mod programs;
#[path = "network/streams.rs"]
mod streams;

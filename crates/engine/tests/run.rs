//! Whole runs of the loop without a process: version control in memory, programs that answer at once, and a clock that
//! jumps over every wait.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]

#[path = "run/approving.rs"]
mod approving;
#[path = "run/baseline.rs"]
mod baseline;
#[path = "run/budgets.rs"]
mod budgets;
#[path = "run/controls.rs"]
mod controls;
#[path = "run/ends.rs"]
mod ends;
#[path = "run/gates.rs"]
mod gates;
#[path = "run/graph.rs"]
mod graph;
#[path = "run/judging.rs"]
mod judging;
#[path = "run/kit.rs"]
mod kit;
#[path = "run/learning.rs"]
mod learning;
#[path = "run/picking.rs"]
mod picking;
#[path = "run/plays.rs"]
mod plays;
#[path = "run/signals.rs"]
mod signals;
#[path = "run/telling.rs"]
mod telling;
#[path = "run/verifying.rs"]
mod verifying;
#[path = "run/waits.rs"]
mod waits;
#[path = "run/watching.rs"]
mod watching;
#[path = "run/weakened.rs"]
mod weakened;

//! ralph from the outside: the real binary in a hermetic repository.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::disallowed_methods, reason = "tests start programs, read the clock and wait")]

mod acceptance;
mod acceptance_page;
mod acp;
mod bad_input;
mod branches;
mod check_script;
mod claude_code;
mod cleaning;
mod completing;
mod concurrency;
mod config;
mod conformance;
mod demo;
mod doctor;
mod documented;
mod effects;
mod faults;
pub(crate) mod features;
mod history;
mod hooks;
mod host_programs;
mod init;
mod interchange;
mod json;
mod judging;
mod kill;
mod looping;
mod named_tests;
mod one_plan;
mod ownership;
mod pages;
mod parallel;
mod plans;
mod publishing;
mod real_agents;
mod recovering;
mod reference;
mod regressions_page;
mod remains;
mod resuming;
mod reviewing;
mod sandboxed;
mod screens;
mod script_agent;
mod shape;
mod socket;
mod status_and_logs;
mod task_scripts;
mod tasks;
mod threat_page;
mod trusting;
mod tui;
mod voice;
mod web;

use ralph_testkit::TestEnv;

/// The ralph under test.
const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

fn env() -> TestEnv {
    TestEnv::new(RALPH)
}

//! `ralph`: arguments in, exit code out; everything else is in the modules.

// First: their macros are for the others.
#[macro_use]
mod error;
#[macro_use]
mod commands;

mod app;
mod approvals;
mod arguments;
mod attach;
mod board;
mod config;
mod detection;
mod environment;
mod error_codes;
mod exit_codes;
mod history;
mod launch;
mod output;
mod patience;
mod session_requests;
mod status_query;
mod subprocess_entry;
mod task_session;
mod trust;
mod wiring;

pub fn main() -> std::process::ExitCode {
    let environment = environment::Environment::read();
    match subprocess_entry::run(&environment) {
        Some(code) => code,
        None => app::run(&environment).code().into(),
    }
}

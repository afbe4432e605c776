//! `ralph`: the binary. Arguments in, exit code out; everything else is in the modules.

mod app;
mod commands;
pub mod config;
mod environment;
mod error;
mod error_codes;
mod exit_codes;
mod following;
mod history;
mod launch;
mod output;
mod session_requests;
mod stage;
mod standing;
mod trust;
mod wire;

fn main() -> std::process::ExitCode {
    let environment = environment::Environment::read();
    match stage::run(&environment) {
        Some(code) => code,
        None => app::run(&environment).into(),
    }
}

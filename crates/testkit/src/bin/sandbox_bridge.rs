//! The inside of a sandbox for tests: a bridge to a socket, and a program that finds it.
//!
//! `sandbox_bridge SOCKET PORT,PORT… PROGRAM [ARGUMENT…]`; `-` for no port.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for tests may stop")]
#![expect(clippy::disallowed_methods, reason = "it starts a program")]

use std::path::PathBuf;
use std::process::Command;

use ralph_engine::sandbox::net::bridge;

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let socket = PathBuf::from(arguments.next().unwrap());
    let ports = arguments.next().unwrap().into_string().unwrap();
    let ports: Vec<u16> = ports.split(',').filter_map(|port| port.parse().ok()).collect();
    let program = arguments.next().unwrap();
    let bridge = bridge::listen(&ports).unwrap();
    let variables = bridge::variables(bridge.port());
    std::thread::spawn(move || bridge.serve(&socket));
    let status = Command::new(program).args(arguments).envs(variables).status().unwrap();
    std::process::exit(status.code().unwrap_or(1));
}

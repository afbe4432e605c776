//! The server over real sockets, in front of a repository that is not there.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should stop")]

mod actions;
mod asking;
mod client;
mod fake;
mod frozen;
mod hostile;
mod live;
mod many;
mod recorded;
mod words;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use client::Client;
use fake::Fake;
use ralph_web::{Access, Server};

const FULL: &str = "full-full-full-full-full-full-00";
const LOOK: &str = "look-look-look-look-look-look-00";

/// A server in front of this repository.
fn serve(fake: &Fake) -> Client {
    serve_as(fake, Access { full: Some(FULL.to_owned()), read_only: LOOK.to_owned() })
}

fn serve_as(fake: &Fake, access: Access) -> Client {
    let server = Server::bind(IpAddr::V4(Ipv4Addr::LOCALHOST), Some(0)).unwrap();
    let client = Client { port: server.port() };
    let ports = Arc::new(fake.clone());
    std::thread::spawn(move || server.run(ports, access));
    client
}

//! Resolves names to addresses. ralph is linked so that it cannot use the C library's resolver, so it
//! asks a program of the system, which knows the hosts file, the name servers and what a VPN changed.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use ralph_core::agent::ProcessEnd;
use tokio::sync::Semaphore;

use crate::host::host;
use crate::process::{CommandSpec, Mark, Stop, Watch, captured};

const PROGRAM: &str = "getent";
/// How long a look-up may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between asking the program to end and killing it.
const GRACE: Duration = Duration::from_secs(1);
const AT_ONCE: usize = 8;
/// The most addresses that are taken from an answer.
const MOST: usize = 16;

pub type Addresses<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves names. Asked once for each connection; the answer is checked and then dialed, so a later answer
/// makes no difference.
pub trait Resolver: Send + Sync + 'static {
    /// The addresses of a name in the order in which they are to be tried; none where it has none.
    fn resolve<'a>(&'a self, name: &'a str) -> Addresses<'a>;
}

/// `getent ahosts NAME`.
#[derive(Debug)]
pub struct Getent {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
    turns: Semaphore,
}

impl Getent {
    /// `environment` is the whole one of the program; its `PATH` says where the program is.
    pub fn new(environment: Vec<(OsString, OsString)>) -> Self {
        let environment = host().environment(&environment);
        let program = host().find_by(&environment, PROGRAM);
        let program = program.unwrap_or_else(|| PROGRAM.into());
        Self { program, environment, turns: Semaphore::new(AT_ONCE) }
    }

    async fn ask(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let _turn = self.turns.acquire().await.map_err(io::Error::other)?;
        let (args, env) = (["ahosts", name], self.environment.clone());
        let spec = CommandSpec::new(&self.program, args, Path::new("/"), env);
        let watch =
            Watch { grace: GRACE, drain: GRACE, line_cap: 4096, ..Watch::timeout(PATIENCE) };
        let mark = Mark::new(&spec.folder, 0);
        let ended = captured(&spec, &watch, &mark, Stop::never()).await;
        match ended.end {
            ProcessEnd::Exited { code: 0 } => {
                Ok(addresses(&String::from_utf8_lossy(&ended.stdout)))
            }
            // The name is not known.
            ProcessEnd::Exited { code: 2 } => Ok(vec![]),
            ProcessEnd::NotStarted { error } => Err(io::Error::other(error)),
            ProcessEnd::TimedOut { .. } => Err(io::ErrorKind::TimedOut.into()),
            ended => Err(io::Error::other(format!("getent: {ended:?}"))),
        }
    }
}

impl Resolver for Getent {
    fn resolve<'a>(&'a self, name: &'a str) -> Addresses<'a> {
        Box::pin(self.ask(name))
    }
}

/// The first word of each line, each address once. A sandbox may reach no address with a zone (`fe80::1%eth0`).
fn addresses(printed: &str) -> Vec<IpAddr> {
    let mut found = Vec::new();
    for address in printed.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()) {
        if found.len() < MOST && !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_the_program_is_read() {
        let printed = "2606:4700::1111 STREAM one.example\n2606:4700::1111 DGRAM  \n\
                       1.1.1.1         STREAM \nfe80::1%eth0    STREAM \n\ngarbage\n\u{fffd}\n";
        let expected: [IpAddr; 2] =
            ["2606:4700::1111".parse().unwrap(), "1.1.1.1".parse().unwrap()];
        assert_eq!(addresses(printed), expected);
    }
}

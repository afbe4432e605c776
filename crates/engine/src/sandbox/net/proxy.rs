//! The proxy: accepts connections, enforces limits, shuts down, and records refused connections.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use ralph_core::net::{Host, Refused, Rules};
use rustix::process::{Resource, getrlimit};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::connection::{Incoming, serve};
use super::http;
use super::resolver::Resolver;

/// How many refusals are kept; the rest is counted.
const KEPT: usize = 100;
/// How many connections may wait for one of the others to end. Those beyond wait in the system.
const WAITING: usize = 64;
/// Pause before the next accept when the system cannot take another connection: no event reports when it can.
const PAUSE: Duration = Duration::from_millis(50);

/// The most connections of all proxies of this process. Each uses two file descriptors, and sandboxed programs
/// must not leave the loop without any.
static ROOM: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(mount_plan(getrlimit(Resource::Nofile).current)));

/// Connections for half of the files that a process may have open.
fn mount_plan(files: Option<u64>) -> usize {
    let connections =
        files.map_or(usize::MAX, |files| usize::try_from(files / 4).unwrap_or(usize::MAX));
    connections.clamp(16, 4096)
}

#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of the head of a request.
    pub head_bytes: usize,
    /// Time for it.
    pub head: Duration,
    /// Time for looking a name up, and for connecting, each.
    pub dial: Duration,
    /// Connections at once. They may be idle for as long as they like.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 16 << 10,
            head: Duration::from_secs(10),
            dial: Duration::from_secs(20),
            connections: 256,
        }
    }
}

/// A proxy on a unix socket that lets through what the rules allow. It speaks HTTP (`CONNECT`, and
/// requests for `http://`) and SOCKS 5. Ends with its value, and ends every connection with it.
#[derive(Debug)]
pub struct Proxy {
    socket: PathBuf,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

pub(super) struct Shared {
    pub(super) rules: Rules,
    pub(super) resolver: Box<dyn Resolver>,
    pub(super) limits: Limits,
    refusals: Mutex<Refusals>,
}

#[derive(Debug, Default)]
struct Refusals {
    count: u64,
    kept: Vec<(String, u16, String)>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn refused(&self, host: &Host, port: u16, why: &Refused) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.count += 1;
        let refusal = (host.to_string(), port, why.to_string());
        if refusals.kept.len() < KEPT && !refusals.kept.contains(&refusal) {
            refusals.kept.push(refusal);
        }
    }
}

impl Proxy {
    /// Starts on a socket that is not there yet, in the runtime of the caller.
    pub fn start(rules: Rules, socket: &Path, resolver: impl Resolver) -> io::Result<Self> {
        Self::start_with(rules, socket, resolver, Limits::default())
    }

    pub fn start_with(
        rules: Rules,
        socket: &Path,
        resolver: impl Resolver,
        limits: Limits,
    ) -> io::Result<Self> {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let listener = UnixListener::bind(socket)?;
        // From here on the file is ours to remove.
        let shared = Arc::new(Shared {
            rules,
            resolver: Box::new(resolver),
            limits,
            refusals: Mutex::default(),
        });
        let accepting = runtime.spawn(accept(listener, Arc::clone(&shared))).abort_handle();
        let proxy = Self { socket: socket.to_owned(), shared, accepting };
        fs::set_permissions(socket, Permissions::from_mode(0o600))?;
        Ok(proxy)
    }

    /// What was refused, in the order in which it came: host, port, and one sentence why. Each is reported once,
    /// and no more than a hundred are kept.
    pub fn refusals(&self) -> Vec<(String, u16, String)> {
        self.shared.refusals.lock().unwrap_or_else(PoisonError::into_inner).kept.clone()
    }

    pub fn refused(&self) -> u64 {
        self.shared.refusals.lock().unwrap_or_else(PoisonError::into_inner).count
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        // It may be gone with its folder.
        let _ = fs::remove_file(&self.socket);
    }
}

/// Accepts until it is aborted. All connections are its own, so they end with it.
async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    let most = shared.limits.connections;
    let slots = Arc::new(Semaphore::new(most));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= most + WAITING {
            connections.join_next().await;
            continue;
        }
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(attend(stream, Arc::clone(&shared), Arc::clone(&slots)));
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Serves a client when it is its turn.
async fn attend(stream: UnixStream, shared: Arc<Shared>, slots: Arc<Semaphore>) {
    let turn = async { (slots.acquire().await, ROOM.acquire().await) };
    let Ok((Ok(_slot), Ok(_mount_plan))) = timeout(shared.limits.head, turn).await else {
        let sentence = "too many connections are open";
        let answer = http::answer("503 Service Unavailable", sentence);
        return Incoming::new(stream).part(&answer).await;
    };
    serve(stream, &shared).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sandboxes_leave_the_loop_half_of_its_files() {
        for (files, expected) in
            [(Some(1024), 256), (Some(256), 64), (Some(0), 16), (Some(1 << 20), 4096), (None, 4096)]
        {
            assert_eq!(mount_plan(files), expected, "{files:?}");
        }
        assert_eq!(mount_plan(Some(1024)), Limits::default().connections);
    }
}

//! The sandbox side of the network: a small process that listens on loopback, where programs expect the proxy, and
//! copies their connections to the proxy's unix socket.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connection::Incoming;
use super::http;
use crate::process::runtime;

/// Connections at once. Those beyond wait in the system.
const CONNECTIONS: usize = 320;
/// How long the answer of the proxy may take, and how long it may be: the proxy has its own limits, which
/// are well below.
const ANSWER: Duration = Duration::from_secs(60);
const ANSWER_BYTES: usize = 16 << 10;
/// Pause before the next accept when the system cannot take another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Listens in the sandbox and does not serve yet.
#[derive(Debug)]
pub struct Bridge {
    port: u16,
    doors: Vec<Door>,
}

#[derive(Debug)]
struct Door {
    listener: TcpListener,
    /// The port of the machine outside that it leads to; `None` for the proxy itself.
    leads_to: Option<u16>,
}

/// Listens on a free port for the proxy, and on each of `ports` for the same port of the machine outside.
///
/// A port that the sandbox may not have (those below 1024, mostly) is left out: programs reach it through the proxy.
pub fn listen(ports: &[u16]) -> io::Result<Bridge> {
    let mut doors = vec![];
    // The free port comes last: it must not be one of these.
    for &port in ports {
        match bind(Ipv4Addr::LOCALHOST.into(), port) {
            Ok(listener) => doors.push(Door { listener, leads_to: Some(port) }),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
            Err(error) => {
                let text = format!("the sandbox cannot listen on port {port}: {error}");
                return Err(io::Error::new(error.kind(), text));
            }
        }
        // Not every machine has IPv6.
        if let Ok(listener) = bind(Ipv6Addr::LOCALHOST.into(), port) {
            doors.push(Door { listener, leads_to: Some(port) });
        }
    }
    let listener = bind(Ipv4Addr::LOCALHOST.into(), 0)?;
    let port = listener.local_addr()?.port();
    doors.push(Door { listener, leads_to: None });
    Ok(Bridge { port, doors })
}

fn bind(address: IpAddr, port: u16) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((address, port))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The variables by which programs in the sandbox find the proxy.
///
/// Loopback is left out: it is the sandbox's own, a server that a test starts must be found there, and the
/// ports that are listed are there too.
pub fn variables(port: u16) -> Vec<(&'static str, String)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let direct = "localhost,.localhost,127.0.0.1,::1".to_owned();
    let mut variables = vec![];
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
    {
        variables.push((name, proxy.clone()));
    }
    for name in ["NO_PROXY", "no_proxy"] {
        variables.push((name, direct.clone()));
    }
    variables.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
    variables
}

impl Bridge {
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Serves until the process ends; it returns only with an error. It blocks: give it a thread.
    pub fn serve(self, socket: &Path) -> io::Result<()> {
        runtime()?.block_on(async {
            let mount_plan = Arc::new(Semaphore::new(CONNECTIONS));
            let socket: Arc<Path> = socket.into();
            let mut doors = JoinSet::new();
            for door in self.doors {
                let listener = tokio::net::TcpListener::from_std(door.listener)?;
                let (mount_plan, socket) = (Arc::clone(&mount_plan), Arc::clone(&socket));
                doors.spawn(attend(listener, door.leads_to, mount_plan, socket));
            }
            doors.join_all().await;
            Ok(())
        })
    }
}

async fn attend(
    listener: tokio::net::TcpListener,
    leads_to: Option<u16>,
    mount_plan: Arc<Semaphore>,
    socket: Arc<Path>,
) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&mount_plan).acquire_owned().await else { return };
        let socket = Arc::clone(&socket);
        tokio::spawn(async move {
            // A client whose connection breaks sees just that.
            let _ = carry(client, &socket, leads_to).await;
            drop(place);
        });
    }
}

async fn carry(mut client: TcpStream, socket: &Path, leads_to: Option<u16>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut proxy = Incoming::new(UnixStream::connect(socket).await?);
    if let Some(port) = leads_to {
        proxy.stream.write_all(http::connect_to(port).as_bytes()).await?;
        let head = timeout(ANSWER, proxy.head(ANSWER_BYTES)).await?;
        if !head.is_ok_and(|head| http::is_open(&head)) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
    }
    proxy.join(&mut client).await
}

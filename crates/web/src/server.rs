//! The listening socket, its links, and the thread that answers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use ralph_ui::ports::Ports;

use crate::access::{Access, Names};
use crate::connection;
use crate::routes::{App, router};

/// The first port that is tried where none is asked for.
pub const FIRST_PORT: u16 = 4650;
/// How many are tried.
const PORTS: u16 = 100;
/// Threads for answers that may wait.
const THREADS: usize = 6;

/// A server that listens, and answers once it runs.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens at an address: on this port, or else on the first free one from [`FIRST_PORT`].
    pub fn bind(listen: IpAddr, port: Option<u16>) -> io::Result<Self> {
        let listener = match port {
            Some(port) => TcpListener::bind((listen, port))?,
            None => first_free(listen)?,
        };
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The address to open, with a token.
    pub fn link(&self, token: &str) -> String {
        let address = match self.address.ip() {
            ip if ip.is_unspecified() => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), self.port()),
            _ => self.address,
        };
        format!("http://{address}/?token={token}")
    }

    /// Answers until the process ends. It runs on this thread.
    pub fn run(self, ports: Arc<dyn Ports>, access: Access) -> io::Result<()> {
        self.serve(ports, access, std::future::pending())
    }

    /// Answers until Ctrl-C.
    pub fn run_until_interrupted(self, ports: Arc<dyn Ports>, access: Access) -> io::Result<()> {
        self.serve(ports, access, async {
            // Where signals cannot be heard, they end the process by themselves.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    fn serve(
        self,
        ports: Arc<dyn Ports>,
        access: Access,
        end: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(THREADS)
            .build()?;
        let names = Names { listen: self.address.ip() };
        let app = App::new(ports, access, (names, self.port()));
        let answered = runtime.block_on(async {
            tokio::select! {
                failed = connection::answer(self.listener, router(app)) => failed,
                () = end => Ok(()),
            }
        });
        runtime.shutdown_background();
        answered
    }
}

fn first_free(listen: IpAddr) -> io::Result<TcpListener> {
    let mut last = TcpListener::bind((listen, FIRST_PORT));
    for port in FIRST_PORT + 1..FIRST_PORT + PORTS {
        match &last {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                last = TcpListener::bind((listen, port));
            }
            _ => break,
        }
    }
    last
}

//! A proxy with rules, names that lead where a test wants, and servers on loopback.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ralph_core::net::{Policy, Rules};
use ralph_engine::sandbox::net::{Addresses, Limits, Proxy, Resolver, bridge};
use tokio::runtime::Runtime;

/// Long enough for a loaded machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// Where a name leads, given how often it was asked before.
pub(crate) type Leads = fn(&str, usize) -> Vec<IpAddr>;

pub(crate) struct World {
    runtime: Runtime,
    pub(crate) folder: tempfile::TempDir,
    proxy: Option<Proxy>,
    asked: Arc<Mutex<Vec<String>>>,
}

struct Names {
    leads: Leads,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Resolver for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> Addresses<'a> {
        let mut asked = self.asked.lock().unwrap();
        let before = asked.iter().filter(|known| *known == name).count();
        asked.push(name.to_owned());
        let addresses = (self.leads)(name, before);
        Box::pin(async move { Ok(addresses) })
    }
}

pub(crate) fn rules(entries: &[&str]) -> Rules {
    let entries = entries.iter().map(|entry| entry.parse().unwrap()).collect();
    Rules::new(Policy::Allowlist, entries, vec![])
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

impl World {
    /// Every name leads to this machine.
    pub(crate) fn new(entries: &[&str]) -> Self {
        Self::with(entries, |_, _| vec![Ipv4Addr::LOCALHOST.into()], Limits::default())
    }

    pub(crate) fn with(entries: &[&str], leads: Leads, limits: Limits) -> Self {
        let asked = Arc::default();
        let names = Names { leads, asked: Arc::clone(&asked) };
        Self { asked, ..Self::with_resolver(entries, names, limits) }
    }

    pub(crate) fn with_resolver(entries: &[&str], resolver: impl Resolver, limits: Limits) -> Self {
        let runtime = runtime();
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("proxy");
        let entered = runtime.enter();
        let proxy = Proxy::start_with(rules(entries), &socket, resolver, limits).unwrap();
        drop(entered);
        Self { runtime, folder, proxy: Some(proxy), asked: Arc::default() }
    }

    pub(crate) fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().unwrap()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("proxy")
    }

    /// Ends the proxy. Its runtime goes on.
    pub(crate) fn end(&mut self) {
        self.proxy = None;
        let _ = &self.runtime;
    }

    /// The names that were looked up.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn client(&self) -> UnixStream {
        let client = UnixStream::connect(self.socket()).unwrap();
        client.set_read_timeout(Some(SOON)).unwrap();
        client
    }

    /// A client that has said something.
    pub(crate) fn saying(&self, bytes: impl AsRef<[u8]>) -> UnixStream {
        let mut client = self.client();
        client.write_all(bytes.as_ref()).unwrap();
        client
    }

    /// The whole answer to a request.
    pub(crate) fn answer(&self, request: &str) -> String {
        all(&mut self.saying(request))
    }

    /// The head of the answer to a wish for a tunnel, and the tunnel.
    pub(crate) fn tunnel(&self, target: &str) -> (String, UnixStream) {
        let mut client = self.saying(format!("CONNECT {target} HTTP/1.1\r\n\r\n"));
        (head(&mut client), client)
    }

    /// A bridge to the proxy in this process; its port. It lives as long as the test.
    pub(crate) fn bridge(&self) -> u16 {
        let bridge = bridge::listen(&[]).unwrap();
        let (port, socket) = (bridge.port(), self.socket());
        std::thread::spawn(move || bridge.serve(&socket));
        port
    }
}

/// Everything that comes.
pub(crate) fn all(stream: &mut impl Read) -> String {
    let mut bytes = vec![];
    stream.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Everything up to the empty line.
pub(crate) fn head(stream: &mut impl Read) -> String {
    let mut bytes = vec![];
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).unwrap()
}

/// So many bytes.
pub(crate) fn some<const N: usize>(stream: &mut impl Read) -> [u8; N] {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

/// A server on loopback that does this with each of its connections, each on a thread.
pub(crate) fn server_at(
    address: IpAddr,
    port: u16,
    handle: impl Fn(TcpStream) + Send + Sync + Clone + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind((address, port)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handle = handle.clone();
            std::thread::spawn(move || handle(stream));
        }
    });
    address
}

pub(crate) fn server(handle: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> SocketAddr {
    server_at(Ipv4Addr::LOCALHOST.into(), 0, handle)
}

/// Says everything back until its client has ended.
pub(crate) fn echo(mut stream: TcpStream) {
    let mut reader = stream.try_clone().unwrap();
    let _ = std::io::copy(&mut reader, &mut stream);
}

/// Answers a request with what it got.
pub(crate) fn mirror(mut stream: TcpStream) {
    let request = head(&mut stream);
    let length = request.len();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{request}");
    let _ = stream.write_all(answer.as_bytes());
}

//! The network, where a box is to have none.

use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use super::{Attempt, lets, no};

const PATIENCE: Duration = Duration::from_secs(2);

pub(super) const ALL: &[Attempt] = &[
    lets("tcp", "a program of the machine, by TCP", |aim| {
        tcp(([127, 0, 0, 1], aim.port("tcp")).into())
    }),
    lets("udp", "the same by UDP", |aim| {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.send_to(b"escaped", ("127.0.0.1", aim.port("udp")))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.recv(&mut [0; 16]).map(drop)
    }),
    lets("dns", "a name by the server for names", |_| {
        let resolver = std::fs::read_to_string("/etc/resolv.conf")?;
        let server = resolver.lines().find_map(|line| line.strip_prefix("nameserver "));
        let server = server.ok_or_else(|| no("there is none"))?.trim();
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        let question = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03org\x00\x00\x01\x00\x01";
        socket.send_to(question, (server, 53))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.recv(&mut [0; 512]).map(drop)
    }),
    lets("metadata", "the service that tells a machine its keys", |_| {
        tcp(([169, 254, 169, 254], 80).into())
    }),
    lets("elsewhere", "a machine elsewhere", |_| tcp(([192, 0, 2, 1], 443).into())),
];

fn tcp(address: SocketAddr) -> io::Result<()> {
    TcpStream::connect_timeout(&address, PATIENCE).map(drop)
}

//! Connects to a host: resolves its name once, checks every address, and dials the address that was checked.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use ralph_core::net::{Host, Refused, Rules};
use thiserror::Error;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::resolver::Resolver;

/// How many addresses of a host are tried.
const TRIED: usize = 4;

#[derive(Debug, Error)]
pub(super) enum DialError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("{0} has no address")]
    Unknown(Host),
    #[error("{host} could not be looked up: {source}")]
    LookUp { host: Host, source: io::Error },
    #[error("{host}:{port} at {address} did not answer: {source}")]
    Unreachable { host: Host, port: u16, address: IpAddr, source: io::Error },
}

/// Connects to a host within `limit`, and as much again for looking it up.
pub(super) async fn dial(
    rules: &Rules,
    resolver: &dyn Resolver,
    host: &Host,
    port: u16,
    limit: Duration,
) -> Result<TcpStream, DialError> {
    rules.may_ask(host, port)?;
    let addresses = match (host.fixed(), host) {
        (Some(addresses), _) => addresses,
        (None, Host::Name(name)) => look_up(resolver, host, name, limit).await?,
        (None, Host::Address(address)) => vec![*address],
    };
    let mut refused = None;
    let mut allowed = vec![];
    for address in addresses {
        match rules.may_dial(host, port, address, is_own(address)) {
            Ok(()) => allowed.push(address),
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    allowed.truncate(TRIED);
    let each = limit / u32::try_from(allowed.len().max(1)).unwrap_or(1);
    let mut failed = None;
    for address in allowed {
        match timeout(each, connect(SocketAddr::new(address, port))).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(source)) => failed = Some((address, source)),
            Err(_) => failed = Some((address, io::ErrorKind::TimedOut.into())),
        }
    }
    let host = host.clone();
    Err(match (failed, refused) {
        (Some((address, source)), _) => DialError::Unreachable { host, port, address, source },
        (None, Some(why)) => why.into(),
        (None, None) => DialError::Unknown(host),
    })
}

async fn look_up(
    resolver: &dyn Resolver,
    host: &Host,
    name: &str,
    limit: Duration,
) -> Result<Vec<IpAddr>, DialError> {
    let looked_up = match timeout(limit, resolver.resolve(name)).await {
        Ok(looked_up) => looked_up,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    };
    looked_up.map_err(|source| DialError::LookUp { host: host.clone(), source })
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Streams may be silent for as long as they like, but a peer that is gone is noticed.
    socket.set_keepalive(true)?;
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Whether an address is one of this machine. Nothing is sent to find out.
fn is_own(address: IpAddr) -> bool {
    // Reserved for documentation, so nobody has them.
    let (any, nobodys): (IpAddr, IpAddr) = match address {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into()),
        IpAddr::V6(_) => {
            (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into())
        }
    };
    // A machine can listen only at its own addresses, unless it is configured to allow any.
    let can_listen = |address| UdpSocket::bind((address, 0)).is_ok();
    if can_listen(address) && !can_listen(nobodys) {
        return true;
    }
    // A socket that is connected to its own machine has the same address at both ends.
    let local = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    local.is_ok_and(|local| local.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_knows_its_own_addresses() {
        for (text, expected) in
            [("127.0.0.1", true), ("127.0.0.9", true), ("192.0.2.77", false), ("1.1.1.1", false)]
        {
            assert_eq!(is_own(text.parse().unwrap()), expected, "{text}");
        }
    }
}

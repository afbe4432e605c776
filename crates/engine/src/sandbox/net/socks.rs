//! The part of SOCKS 5 that the proxy speaks: no password, CONNECT only. No I/O.

use std::net::IpAddr;

use ralph_core::net::{Host, HostError};

/// The first byte of everything.
pub(super) const VERSION: u8 = 5;
/// The only accepted login method: none.
pub(super) const NO_LOGIN: u8 = 0;
/// The answer where a client offers only others.
pub(super) const NO_WAY_IN: [u8; 2] = [VERSION, 0xff];
/// The answer where it may continue.
pub(super) const COME_IN: [u8; 2] = [VERSION, NO_LOGIN];
/// The command to connect.
pub(super) const CONNECT: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Code {
    Succeeded = 0,
    Failed = 1,
    NotAllowed = 2,
    HostUnreachable = 4,
    Refused = 5,
    UnknownCommand = 7,
    UnknownAddress = 8,
}

pub(super) fn answer(code: Code) -> [u8; 10] {
    [VERSION, code as u8, 0, 1, 0, 0, 0, 0, 0, 0]
}

/// How many bytes the address has, given its kind and the byte behind it; `None` for an unknown kind. A
/// name has its length in front.
pub(super) fn address_length(kind: u8, next: u8) -> Option<usize> {
    match kind {
        1 => Some(4),
        3 => Some(1 + usize::from(next)),
        4 => Some(16),
        _ => None,
    }
}

/// The host that the bytes of an address name.
pub(super) fn host(kind: u8, bytes: &[u8]) -> Result<Host, HostError> {
    let address = match kind {
        1 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        4 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    };
    if let Some(address) = address {
        return Ok(Host::Address(address.to_canonical()));
    }
    let name = bytes.get(1..).unwrap_or_default();
    Host::parse(std::str::from_utf8(name).map_err(|_| HostError::NotAscii)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_all_three_kinds() {
        let parse = |text| Host::parse(text).unwrap();
        assert_eq!(host(1, &[127, 0, 0, 1]), Ok(parse("127.0.0.1")));
        assert_eq!(host(3, b"\x0bExample.com"), Ok(parse("example.com")));
        assert_eq!(host(3, b"\x09127.0.0.1"), Ok(parse("127.0.0.1")));
        let mut mapped = [0; 16];
        mapped[10..].copy_from_slice(&[0xff, 0xff, 10, 0, 0, 1]);
        assert_eq!(host(4, &mapped), Ok(parse("10.0.0.1")));
        assert_eq!(host(3, b"\x00"), Err(HostError::Missing));
        assert_eq!(host(3, b"\x02\xff\xfe"), Err(HostError::NotAscii));
        assert_eq!(address_length(3, 11), Some(12));
        assert_eq!(address_length(2, 11), None);
    }
}

//! One entry of `sandbox.network.allowed`: which host, on which ports.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use core::str::FromStr;

use thiserror::Error;

use super::host::{Host, HostError, LOOPBACK};

/// The ports of an entry that names none.
const WEB: [u16; 2] = [80, 443];

/// Who may be reached: `example.com`, `*.example.com`, `example.com:8443`, `192.168.1.5`, `[::1]:8080`,
/// `localhost:3000`. Without a port it is 80 and 443.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    host: Pattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Pattern {
    Only(Host),
    /// Every name below this one, and not the name itself.
    Below(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EndpointError {
    #[error(
        "`{text}` is the address of a page; write the host alone, like example.com or example.com:8443"
    )]
    Url { text: String },
    /// `*` alone, or over all names of a top level.
    #[error("`{text}` would allow almost everything; name a host, or set the network to allow-all")]
    TooBroad { text: String },
    #[error("`{text}` has a star that is not its whole first part; write *.example.com")]
    Star { text: String },
    #[error("`{text}` does not end with a port from 1 to 65535")]
    Port { text: String },
    #[error("`{text}` names no host: {why}")]
    Host { text: String, why: HostError },
}

impl Endpoint {
    /// An entry for a host and a port, as the loop adds it for what its agent needs.
    pub fn new(host: Host, port: u16) -> Self {
        Self { host: Pattern::Only(host), port: Some(port) }
    }

    /// Whether the entry names this host, by itself or as one below its star, and this port.
    pub fn allows(&self, host: &Host, port: u16) -> bool {
        self.has_port(port)
            && match (&self.host, host) {
                (Pattern::Only(only), host) => only == host,
                (Pattern::Below(domain), Host::Name(name)) => name
                    .strip_suffix(domain.as_str())
                    .and_then(|rest| rest.strip_suffix('.'))
                    .is_some_and(|below| !below.is_empty()),
                (Pattern::Below(_), Host::Address(_)) => false,
            }
    }

    /// Whether the entry names this very address and port. `localhost` and what is below it name
    /// `127.0.0.1` and `::1`: they are the same place.
    pub fn allows_address(&self, address: IpAddr, port: u16) -> bool {
        let address = address.to_canonical();
        self.allows(&Host::Address(address), port)
            || self.has_port(port) && self.is_loopback_name() && LOOPBACK.contains(&address)
    }

    /// The port on this machine that the entry names, where it names one.
    pub fn loopback_port(&self) -> Option<u16> {
        let is_here = match &self.host {
            Pattern::Only(Host::Address(address)) => LOOPBACK.contains(address),
            _ => self.is_loopback_name(),
        };
        self.port.filter(|_| is_here)
    }

    fn is_loopback_name(&self) -> bool {
        match &self.host {
            Pattern::Only(host) => host.is_loopback_name(),
            Pattern::Below(domain) => Host::Name(domain.clone()).is_loopback_name(),
        }
    }

    fn has_port(&self, port: u16) -> bool {
        self.port.map_or_else(|| WEB.contains(&port), |only| only == port)
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let owned = || text.to_owned();
        if text.contains(['/', '@', '?', '#']) {
            return Err(EndpointError::Url { text: owned() });
        }
        let (host, port) = split(text).ok_or_else(|| EndpointError::Port { text: owned() })?;
        let wrong = |why| EndpointError::Host { text: owned(), why };
        if host == "*" {
            return Err(EndpointError::TooBroad { text: owned() });
        }
        let Some(domain) = host.strip_prefix("*.") else {
            if host.contains('*') {
                return Err(EndpointError::Star { text: owned() });
            }
            return Ok(Self { host: Pattern::Only(Host::parse(host).map_err(wrong)?), port });
        };
        if domain.contains('*') {
            return Err(EndpointError::Star { text: owned() });
        }
        match Host::parse(domain).map_err(wrong)? {
            Host::Address(_) => Err(EndpointError::Star { text: owned() }),
            Host::Name(domain) if domain.contains('.') || domain == "localhost" => {
                Ok(Self { host: Pattern::Below(domain), port })
            }
            Host::Name(_) => Err(EndpointError::TooBroad { text: owned() }),
        }
    }
}

/// Host and port; `None` where what looks like a port is none.
fn split(text: &str) -> Option<(&str, Option<u16>)> {
    // An address of IPv6 without brackets is all colons.
    if text.parse::<Ipv6Addr>().is_ok() || (text.starts_with('[') && text.ends_with(']')) {
        return Some((text, None));
    }
    match text.rsplit_once(':') {
        None => Some((text, None)),
        Some((host, port)) => Some((host, Some(read_port(port)?))),
    }
}

/// A port as it is written: digits and nothing else, and not zero.
fn read_port(text: &str) -> Option<u16> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_plain && *port != 0)
}

impl fmt::Display for Endpoint {
    /// As it would be written in the settings.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Pattern::Only(host) => write!(f, "{host}")?,
            Pattern::Below(domain) => write!(f, "*.{domain}")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

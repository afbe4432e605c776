//! What a client names: a name or an address. Nothing is looked up here.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

/// The longest name that there is.
const LONGEST: usize = 253;
/// The longest part of a name.
const LONGEST_LABEL: usize = 63;

/// A host as it is compared: a name in small letters without its last dot, or an address without disguise.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name. It may be written in no other way.
    Name(String),
    /// An address. An IPv4 address that is written as IPv6 (`::ffff:10.0.0.1`) is the IPv4 address.
    Address(IpAddr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HostError {
    #[error("the host is missing")]
    Missing,
    #[error("the name is longer than {LONGEST} letters, or a part of it than {LONGEST_LABEL}")]
    TooLong,
    #[error("a part of the name is empty")]
    EmptyPart,
    /// Clients send the form with `xn--`, so an entry with other letters would never fit.
    #[error("the name has letters beyond ASCII; write it in the form that starts with xn--")]
    NotAscii,
    #[error("the name has a letter that is not in names: {0:?}")]
    Letter(char),
    /// A program could read it as an option, and it is not a valid name anyway.
    #[error("a part of the name begins or ends with a hyphen")]
    Hyphen,
    /// `127.1`, `0x7f000001`, `2130706433`: some programs read an address here.
    #[error(
        "the name ends with a number but is not an address; write addresses in full, like 127.0.0.1"
    )]
    Numeric,
    #[error("an address in brackets is one of IPv6, like [::1]")]
    Brackets,
}

impl Host {
    /// Reads a host without its port. An address of IPv6 may have its brackets.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if text.is_empty() {
            return Err(HostError::Missing);
        }
        if text.starts_with('[') || text.ends_with(']') {
            let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let address = inner.and_then(|inner| inner.parse::<Ipv6Addr>().ok());
            let address = address.ok_or(HostError::Brackets)?;
            return Ok(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Address(address.to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        check_name(name)?;
        Ok(Self::Name(name.to_ascii_lowercase()))
    }

    /// The addresses of a host that needs no look-up: an address is its own, and `localhost` and what is
    /// below it are this machine, whatever a name server says.
    pub fn fixed(&self) -> Option<Vec<IpAddr>> {
        match self {
            Self::Address(address) => Some(vec![*address]),
            Self::Name(_) if self.is_loopback_name() => Some(LOOPBACK.to_vec()),
            Self::Name(_) => None,
        }
    }

    /// Whether it is `localhost` or a name below it.
    pub fn is_loopback_name(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Self::Address(_) => false,
        }
    }
}

/// What `localhost` is, in the order in which it is tried.
pub(super) const LOOPBACK: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

fn check_name(name: &str) -> Result<(), HostError> {
    if name.is_empty() {
        return Err(HostError::EmptyPart);
    }
    if !name.is_ascii() {
        return Err(HostError::NotAscii);
    }
    if name.len() > LONGEST {
        return Err(HostError::TooLong);
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err(HostError::EmptyPart);
        }
        if label.len() > LONGEST_LABEL {
            return Err(HostError::TooLong);
        }
        let is_known = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if let Some(letter) = label.chars().find(|c| !is_known(c)) {
            return Err(HostError::Letter(letter));
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Err(HostError::Hyphen);
        }
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
    let is_hexadecimal = last
        .strip_prefix("0x")
        .or_else(|| last.strip_prefix("0X"))
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_number || is_hexadecimal { Err(HostError::Numeric) } else { Ok(()) }
}

impl fmt::Display for Host {
    /// As it stands before a port.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

//! Addresses that no name may lead to: this machine, its network, and what answers only from inside.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

words! {
    /// What is special about an address.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum AddressKind {
        Loopback = "an address of this machine",
        /// This link; services of a cloud with its keys answer there.
        LinkLocal = "a link-local address",
        Metadata = "a metadata service",
        Unspecified = "no address at all",
        Multicast = "a multicast address",
        Broadcast = "a broadcast address",
        Private = "an address of a private network",
        /// The network of a provider, and of some VPNs.
        Shared = "an address of a shared network",
        Reserved = "a reserved address",
    }
}

/// The metadata service of most clouds.
const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
/// The same over IPv6, on EC2.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
/// The same on Alibaba Cloud, in the shared range.
const METADATA_SHARED: Ipv4Addr = Ipv4Addr::new(100, 100, 100, 200);
/// What Azure talks with its machines by. It is in no special range.
const WIRE_SERVER: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// What is special about an address, in whatever form it is written; `None` for a public one.
pub fn forbidden(address: IpAddr) -> Option<AddressKind> {
    match address {
        IpAddr::V4(address) => forbidden_v4(address),
        IpAddr::V6(address) => forbidden_v6(address),
    }
}

fn forbidden_v4(address: Ipv4Addr) -> Option<AddressKind> {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        _ if [METADATA, METADATA_SHARED, WIRE_SERVER].contains(&address) => {
            Some(AddressKind::Metadata)
        }
        (0, ..) => Some(AddressKind::Unspecified),
        (127, ..) => Some(AddressKind::Loopback),
        (169, 254, _) => Some(AddressKind::LinkLocal),
        (10, ..) | (172, 16..=31, _) | (192, 168, _) => Some(AddressKind::Private),
        (100, 64..=127, _) => Some(AddressKind::Shared),
        (192, 0, 0) => Some(AddressKind::Reserved),
        (224..=239, ..) => Some(AddressKind::Multicast),
        (255, 255, 255) if address == Ipv4Addr::BROADCAST => Some(AddressKind::Broadcast),
        (240..=255, ..) => Some(AddressKind::Reserved),
        _ => None,
    }
}

fn forbidden_v6(address: Ipv6Addr) -> Option<AddressKind> {
    let s = address.segments();
    match s[0] {
        _ if address == METADATA_V6 => return Some(AddressKind::Metadata),
        _ if address.is_unspecified() => return Some(AddressKind::Unspecified),
        _ if address.is_loopback() => return Some(AddressKind::Loopback),
        0xfe80..=0xfebf => return Some(AddressKind::LinkLocal),
        // Site-local: given up, and still routed inside some networks. Unique local.
        0xfec0..=0xfeff | 0xfc00..=0xfdff => return Some(AddressKind::Private),
        0xff00..=0xffff => return Some(AddressKind::Multicast),
        _ => {}
    }
    // The local prefix of NAT64: who runs it decides where the IPv4 address stands.
    if s[..3] == [0x64, 0xff9b, 1] {
        return Some(AddressKind::Private);
    }
    embedded(s).into_iter().flatten().find_map(forbidden_v4)
}

/// The IPv4 addresses that an address of IPv6 may stand for.
fn embedded(s: [u16; 8]) -> [Option<Ipv4Addr>; 3] {
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    let last = v4(s[6], s[7]);
    match s {
        // Mapped, compatible and translated addresses.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => {
            [Some(last), None, None]
        }
        // NAT64.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => [Some(last), None, None],
        // 6to4, which may carry an ISATAP address too.
        [0x2002, high, low, ..] => [Some(v4(high, low)), isatap(s), None],
        // Teredo: the server, and the client with its bits turned round.
        [0x2001, 0, high, low, ..] => [Some(v4(high, low)), Some(v4(!s[6], !s[7])), None],
        _ => [isatap(s), None, None],
    }
}

/// The IPv4 address in an interface of ISATAP, under any prefix.
fn isatap(s: [u16; 8]) -> Option<Ipv4Addr> {
    let is_one = matches!(s[4], 0 | 0x200) && s[5] == 0x5efe;
    is_one.then(|| Ipv4Addr::from((u32::from(s[6]) << 16) | u32::from(s[7])))
}

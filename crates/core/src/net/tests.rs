//! The rules of the network as tables and properties.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

fn entry(text: &str) -> Endpoint {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn host(text: &str) -> Host {
    Host::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn listed(entries: &[&str]) -> Rules {
    Rules::new(Policy::Allowlist, entries.iter().map(|text| entry(text)).collect(), vec![])
}

#[test]
fn an_entry_allows_its_host_and_nothing_that_looks_like_it() {
    for (pattern, asked, port, expected) in [
        ("example.com", "example.com", 443, true),
        ("example.com", "example.com", 80, true),
        ("example.com", "example.com", 8443, false),
        ("example.com", "EXAMPLE.Com", 443, true),
        ("Example.COM.", "example.com", 443, true),
        ("example.com", "example.com.", 443, true),
        ("example.com", "www.example.com", 443, false),
        ("example.com", "evil-example.com", 443, false),
        ("example.com", "evilexample.com", 443, false),
        ("example.com", "example.com.evil.org", 443, false),
        ("example.com", "example.co", 443, false),
        ("example.com:8443", "example.com", 8443, true),
        ("example.com:8443", "example.com", 443, false),
        ("*.example.com", "a.example.com", 443, true),
        ("*.example.com", "a.b.example.com", 80, true),
        ("*.example.com", "A.EXAMPLE.com.", 80, true),
        ("*.example.com", "example.com", 443, false),
        ("*.example.com", "evil-example.com", 443, false),
        ("*.example.com", "a.example.com.evil.org", 443, false),
        ("*.example.com:22", "a.example.com", 22, true),
        ("*.example.com:22", "a.example.com", 443, false),
        ("192.168.1.5", "192.168.1.5", 80, true),
        ("192.168.1.5:8080", "192.168.1.5", 8080, true),
        ("192.168.1.5:8080", "192.168.1.50", 8080, false),
        ("192.168.1.5:8080", "::ffff:192.168.1.5", 8080, true),
        ("[::1]:8080", "::1", 8080, true),
        ("[::1]:8080", "[0:0:0:0:0:0:0:1]", 8080, true),
        ("2001:db8::1", "[2001:DB8::1]", 443, true),
        ("[2001:db8::1]", "2001:db8::1", 443, true),
        ("localhost:3000", "localhost", 3000, true),
        ("xn--bcher-kva.example", "XN--BCHER-KVA.example", 443, true),
        ("my_host.example", "my_host.example", 443, true),
    ] {
        let allows = entry(pattern).allows(&host(asked), port);
        assert_eq!(allows, expected, "{pattern} and {asked}:{port}");
    }
}

#[test]
fn a_bad_entry_is_one_clear_sentence() {
    for (text, says) in [
        ("", "names no host: the host is missing"),
        ("https://example.com", "is the address of a page"),
        ("example.com/path", "is the address of a page"),
        ("me@example.com", "is the address of a page"),
        ("*", "would allow almost everything"),
        ("*:443", "would allow almost everything"),
        ("*.com", "would allow almost everything"),
        ("*.*.example.com", "has a star that is not its whole first part"),
        ("api*.example.com", "has a star that is not its whole first part"),
        ("*.127.0.0.1", "has a star that is not its whole first part"),
        ("example.com:", "does not end with a port from 1 to 65535"),
        ("example.com:0", "does not end with a port"),
        ("example.com:+80", "does not end with a port"),
        ("example.com:65536", "does not end with a port"),
        ("example.com:https", "does not end with a port"),
        ("[::1]:x", "does not end with a port"),
        ("[::1", "an address in brackets is one of IPv6"),
        ("[example.com]", "an address in brackets is one of IPv6"),
        ("[127.0.0.1]:80", "an address in brackets is one of IPv6"),
        ("[fe80::1%eth0]", "an address in brackets is one of IPv6"),
        ("a..b", "a part of the name is empty"),
        (".example.com", "a part of the name is empty"),
        ("bücher.example", "the form that starts with xn--"),
        ("exa mple.com", "has a letter that is not in names: ' '"),
        ("-rf.example.com", "begins or ends with a hyphen"),
        ("127.1", "write addresses in full"),
        ("2130706433", "write addresses in full"),
        ("0x7f000001", "write addresses in full"),
        ("1.2.3.4.5", "write addresses in full"),
    ] {
        let error = text.parse::<Endpoint>().expect_err(text).to_string();
        assert!(error.contains(says), "{text}: {error}");
        assert!(error.starts_with(&format!("`{text}` ")) && !error.contains('\n'), "{error}");
    }
    let long = format!("{}.example.com", "a".repeat(64));
    assert!(long.parse::<Endpoint>().unwrap_err().to_string().contains("longer than 253"));
}

#[test]
fn special_addresses_are_known_in_every_form() {
    for (text, kind) in [
        ("127.0.0.1", AddressKind::Loopback),
        ("127.255.3.4", AddressKind::Loopback),
        ("::1", AddressKind::Loopback),
        ("0.0.0.0", AddressKind::Unspecified),
        ("0.1.2.3", AddressKind::Unspecified),
        ("::", AddressKind::Unspecified),
        ("169.254.169.254", AddressKind::Metadata),
        ("fd00:ec2::254", AddressKind::Metadata),
        ("100.100.100.200", AddressKind::Metadata),
        ("168.63.129.16", AddressKind::Metadata),
        ("169.254.1.1", AddressKind::LinkLocal),
        ("fe80::1", AddressKind::LinkLocal),
        ("febf::1", AddressKind::LinkLocal),
        ("fec0::1", AddressKind::Private),
        ("10.0.0.1", AddressKind::Private),
        ("172.16.0.1", AddressKind::Private),
        ("172.31.255.255", AddressKind::Private),
        ("192.168.0.1", AddressKind::Private),
        ("fc00::1", AddressKind::Private),
        ("fd12:3456::1", AddressKind::Private),
        ("100.64.0.1", AddressKind::Shared),
        ("100.127.255.255", AddressKind::Shared),
        ("224.0.0.1", AddressKind::Multicast),
        ("239.255.255.255", AddressKind::Multicast),
        ("ff02::1", AddressKind::Multicast),
        ("255.255.255.255", AddressKind::Broadcast),
        ("240.0.0.1", AddressKind::Reserved),
        ("192.0.0.192", AddressKind::Reserved),
        ("::ffff:127.0.0.1", AddressKind::Loopback),
        ("::ffff:169.254.169.254", AddressKind::Metadata),
        ("::ffff:0:10.0.0.1", AddressKind::Private),
        ("::10.0.0.1", AddressKind::Private),
        ("64:ff9b::169.254.169.254", AddressKind::Metadata),
        ("64:ff9b:1::8.8.8.8", AddressKind::Private),
        ("2002:7f00:1::", AddressKind::Loopback),
        ("2002:a9fe:a9fe::1", AddressKind::Metadata),
        ("2001:0:808:808::f5ff:fffe", AddressKind::Private),
        ("2001:0:7f00:1::f7f7:f7f7", AddressKind::Loopback),
        ("2001:db8::5efe:10.0.0.1", AddressKind::Private),
        ("2001:db8::200:5efe:127.0.0.1", AddressKind::Loopback),
    ] {
        assert_eq!(forbidden(ip(text)), Some(kind), "{text}");
    }
    for text in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.167.0.1",
        "100.63.0.1",
        "100.128.0.1",
        "169.253.1.1",
        "223.255.255.255",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
    ] {
        assert_eq!(forbidden(ip(text)), None, "{text}");
    }
}

#[test]
fn a_name_leads_only_to_public_addresses() {
    let rules = listed(&["example.com", "*.example.org"]);
    for name in ["example.com", "www.example.org"] {
        let name = host(name);
        assert_eq!(rules.may_dial(&name, 443, ip("1.1.1.1"), false), Ok(()));
        for bad in ["127.0.0.1", "::1", "169.254.169.254", "10.0.0.1", "fd00::1", "::ffff:10.0.0.1"]
        {
            let refused = rules.may_dial(&name, 443, ip(bad), false);
            assert!(matches!(refused, Err(Refused::Address { .. })), "{name} {bad}: {refused:?}");
        }
        let refused = rules.may_dial(&name, 443, ip("1.1.1.1"), true);
        assert!(matches!(refused, Err(Refused::Own { .. })), "{refused:?}");
    }
    let refused = rules.may_dial(&host("other.example"), 443, ip("1.1.1.1"), false);
    assert!(matches!(refused, Err(Refused::NotListed { .. })), "{refused:?}");
}

#[test]
fn an_address_that_is_listed_may_be_dialled_by_itself_and_by_a_listed_name() {
    let rules = listed(&["nas.example", "192.168.1.5"]);
    assert_eq!(rules.may_ask(&host("192.168.1.5"), 443), Ok(()));
    assert_eq!(rules.may_dial(&host("192.168.1.5"), 443, ip("192.168.1.5"), false), Ok(()));
    assert_eq!(rules.may_dial(&host("nas.example"), 443, ip("192.168.1.5"), false), Ok(()));
    assert!(rules.may_dial(&host("nas.example"), 443, ip("192.168.1.6"), false).is_err());
    assert!(rules.may_ask(&host("192.168.1.5"), 22).is_err());
    assert!(rules.may_ask(&host("192.168.1.6"), 443).is_err());
}

#[test]
fn this_machine_is_reached_only_on_ports_that_are_listed() {
    let rules = listed(&["localhost:3000", "127.0.0.1:4000", "[::1]:5000", "app.localhost:6000"]);
    for (asked, port, expected) in [
        ("localhost", 3000, true),
        ("127.0.0.1", 3000, true),
        ("::1", 3000, true),
        ("localhost", 4000, true),
        ("127.0.0.1", 4000, true),
        ("::1", 4000, false),
        ("localhost", 5000, true),
        ("127.0.0.1", 5000, false),
        ("app.localhost", 6000, true),
        ("127.0.0.1", 3001, false),
        ("127.0.0.2", 3000, false),
        ("localhost", 80, false),
        ("localhost.example.com", 3000, false),
    ] {
        assert_eq!(rules.may_ask(&host(asked), port).is_ok(), expected, "{asked}:{port}");
    }
    let local = host("localhost");
    assert_eq!(local.fixed().unwrap(), [ip("127.0.0.1"), ip("::1")]);
    assert_eq!(rules.may_dial(&local, 4000, ip("127.0.0.1"), true), Ok(()));
    assert!(rules.may_dial(&local, 4000, ip("::1"), true).is_err());
    assert!(rules.may_dial(&local, 3000, ip("10.0.0.1"), false).is_err());
    assert_eq!(rules.loopback_ports(), [3000, 4000, 5000, 6000]);
    assert_eq!(listed(&["localhost", "127.0.0.2:9", "example.com:9"]).loopback_ports(), [0_u16; 0]);
}

#[test]
fn a_closed_network_has_only_what_the_loop_needs() {
    let rules =
        Rules::new(Policy::Deny, vec![entry("example.com")], vec![entry("api.example.net:443")]);
    assert_eq!(rules.may_ask(&host("api.example.net"), 443), Ok(()));
    let refused = rules.may_ask(&host("example.com"), 443).unwrap_err();
    assert!(refused.to_string().contains("sandbox.network is deny"), "{refused}");
    let open = Rules::new(Policy::AllowAll, vec![], vec![]);
    assert_eq!(open.may_dial(&host("localhost"), 1, ip("127.0.0.1"), true), Ok(()));
}

#[test]
fn refusals_name_host_and_rule() {
    let rules = listed(&["example.com"]);
    let says = |refused: Result<(), Refused>| refused.unwrap_err().to_string();
    let not_listed = says(rules.may_ask(&host("evil.org"), 443));
    assert_eq!(
        not_listed,
        "evil.org:443 is not in the list of allowed hosts (sandbox.network.allowed)"
    );
    let address = says(rules.may_dial(&host("example.com"), 80, ip("10.1.2.3"), false));
    assert_eq!(
        address,
        "example.com:80 leads to 10.1.2.3, an address of a private network; such an address must \
         be in sandbox.network.allowed itself"
    );
}

fn name() -> impl Strategy<Value = String> {
    "[a-z0-9]([a-z0-9_-]{0,8}[a-z0-9])?(\\.[a-z]([a-z0-9-]{0,6}[a-z0-9])?){1,3}"
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from(bits))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from(bits))),
    ]
}

proptest! {
    #[test]
    fn no_text_breaks_the_readers(text in "\\PC{0,60}") {
        if let Ok(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
        }
        if let Ok(entry) = text.parse::<Endpoint>() {
            prop_assert_eq!(entry.to_string().parse::<Endpoint>(), Ok(entry));
        }
    }

    #[test]
    fn an_entry_reads_back_as_it_is_shown(name in name(), below: bool, port in proptest::option::of(1..=u16::MAX)) {
        let star = if below { "*." } else { "" };
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let text = format!("{star}{name}{port}");
        prop_assert_eq!(entry(&text).to_string(), text);
    }

    #[test]
    fn a_star_fits_exactly_what_ends_with_dot_and_domain(domain in name(), asked in name(), port in prop_oneof![Just(443), Just(80), any::<u16>()]) {
        let fits = asked.ends_with(&format!(".{domain}")) && [80, 443].contains(&port);
        let (only, star) = (entry(&domain), entry(&format!("*.{domain}")));
        prop_assert_eq!(star.allows(&host(&asked), port), fits);
        let below = host(&format!("{asked}.{domain}"));
        prop_assert!(star.allows(&below, 443));
        prop_assert!(!only.allows(&below, 443));
        let behind = host(&format!("{domain}.{asked}"));
        prop_assert!(!only.allows(&behind, 443));
        let glued = host(&format!("x{domain}"));
        prop_assert!(!star.allows(&glued, 443) && !only.allows(&glued, 443));
    }

    #[test]
    fn whatever_a_listed_name_leads_to_is_public(name in name(), address in address(), is_own: bool) {
        let rules = listed(&[&name]);
        let dialled = rules.may_dial(&host(&name), 443, address, is_own).is_ok();
        let local = host(&name).is_loopback_name();
        prop_assert!(local || dialled == (forbidden(address).is_none() && !is_own));
    }

    #[test]
    fn disguises_of_an_ipv4_address_are_as_forbidden_as_it_is(bits: u32) {
        let plain = Ipv4Addr::from(bits);
        let kind = forbidden(IpAddr::V4(plain));
        let [a, b, c, d] = plain.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        prop_assert_eq!(forbidden(IpAddr::V6(plain.to_ipv6_mapped())), kind);
        let nat64 = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
        let six_to_four = Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1);
        let translated = Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low);
        for form in [nat64, six_to_four, translated] {
            prop_assert_eq!(forbidden(IpAddr::V6(form)), kind, "{}", form);
        }
    }

    #[test]
    fn an_address_is_reached_only_when_it_is_listed(address in address(), other in address(), port in 1..=u16::MAX) {
        let address = address.to_canonical();
        let rules = Rules::new(Policy::Allowlist, vec![Endpoint::new(Host::Address(address), port)], vec![]);
        prop_assert!(rules.may_dial(&Host::Address(address), port, address, false).is_ok());
        let same = other.to_canonical() == address;
        prop_assert_eq!(rules.may_ask(&Host::Address(other.to_canonical()), port).is_ok(), same);
    }
}

//! Who is refused, by what rule, and that a name leads nowhere else than to what was checked.

use std::ffi::OsString;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use ralph_engine::sandbox::net::{Getent, Limits, Resolver};

use crate::kit::{World, echo, head, runtime, server, server_at, some};

fn quick() -> Limits {
    Limits { dial: Duration::from_millis(500), ..Limits::default() }
}

#[test]
fn what_is_not_listed_is_refused_in_a_sentence_and_reported() {
    let port = server(echo).port();
    let world = World::new(&["example.com"]);
    for (request, host, to) in [
        ("CONNECT evil.org:443", "evil.org", 443),
        ("CONNECT evil-example.com:443", "evil-example.com", 443),
        ("CONNECT example.com.evil.org:443", "example.com.evil.org", 443),
        ("CONNECT example.com:22", "example.com", 22),
        ("GET http://evil.org/", "evil.org", 80),
        ("GET http://[::1]/", "[::1]", 80),
        (&format!("CONNECT 127.0.0.1:{port}"), "127.0.0.1", port),
        (&format!("CONNECT localhost:{port}"), "localhost", port),
        ("CONNECT 169.254.169.254:80", "169.254.169.254", 80),
        ("CONNECT [::ffff:169.254.169.254]:80", "169.254.169.254", 80),
    ] {
        let answer = world.answer(&format!("{request} HTTP/1.1\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{request}: {answer}");
        let sentence = format!(
            "ralph: {host}:{to} is not in the list of allowed hosts (sandbox.network.allowed)\n"
        );
        assert!(answer.ends_with(&sentence), "{request}: {answer}");
        let refusals = world.proxy().refusals();
        assert!(refusals.iter().any(|(h, p, _)| (h.as_str(), *p) == (host, to)), "{refusals:?}");
    }
    assert_eq!(world.proxy().refused(), 10);
    assert_eq!(world.proxy().refusals().len(), 9, "the same is told once");
    assert!(world.asked().is_empty(), "nothing is looked up for who is refused");
}

#[test]
fn socks_refuses_in_its_own_words() {
    let world = World::new(&["example.com"]);
    let mut client = world.saying([5, 1, 0]);
    assert_eq!(some::<2>(&mut client), [5, 0]);
    client.write_all(b"\x05\x01\x00\x01\xa9\xfe\xa9\xfe\x00\x50").unwrap();
    assert_eq!(some::<10>(&mut client)[..2], [5, 2]);
    let mut client = world.saying([5, 1, 0]);
    some::<2>(&mut client);
    client.write_all(b"\x05\x03\x00\x01\x08\x08\x08\x08\x00\x35").unwrap();
    assert_eq!(some::<10>(&mut client)[..2], [5, 7], "there is no UDP");
    let mut client = world.saying([5, 1, 2]);
    assert_eq!(some::<2>(&mut client), [5, 0xff], "there is no login");
    let refusals = world.proxy().refusals();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert_eq!((refusals[0].0.as_str(), refusals[0].1), ("169.254.169.254", 80));
}

#[test]
fn a_listed_name_does_not_lead_inside() {
    let inside: [(&str, &str); 6] = [
        ("a", "169.254.169.254"),
        ("b", "127.0.0.1"),
        ("c", "192.168.0.1"),
        ("d", "fd00:ec2::254"),
        ("e", "::ffff:127.0.0.1"),
        ("f", "64:ff9b::a9fe:a9fe"),
    ];
    let leads = |name: &str, _| -> Vec<IpAddr> {
        let address = match name.as_bytes()[0] {
            b'a' => "169.254.169.254",
            b'b' => "127.0.0.1",
            b'c' => "192.168.0.1",
            b'd' => "fd00:ec2::254",
            b'e' => "::ffff:127.0.0.1",
            _ => "64:ff9b::a9fe:a9fe",
        };
        vec![address.parse().unwrap()]
    };
    let world = World::with(&["*.example.com"], leads, quick());
    for (name, _) in inside {
        let (head, _) = world.tunnel(&format!("{name}.example.com:443"));
        assert!(head.starts_with("HTTP/1.1 403 "), "{name}: {head}");
    }
    let refusals = world.proxy().refusals();
    assert_eq!(refusals.len(), inside.len(), "{refusals:?}");
    assert!(refusals[0].2.contains("leads to 169.254.169.254, a metadata service"), "{refusals:?}");
    assert!(refusals[4].2.contains("leads to 127.0.0.1, an address of this machine"));
}

/// The machine's own public address leads to the machine as loopback does. Where it has only loopback
/// there is nothing to try.
#[test]
fn a_listed_name_does_not_lead_to_this_machine_by_its_other_addresses() {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    let mine = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr());
    let Some(IpAddr::V4(mine)) = mine.ok().map(|address| address.ip()) else {
        return ralph_testkit::skip("own addresses: this machine has only loopback");
    };
    static MINE: std::sync::OnceLock<Ipv4Addr> = std::sync::OnceLock::new();
    MINE.get_or_init(|| mine);
    let leads = |_: &str, _| vec![IpAddr::from(*MINE.get().unwrap())];
    let world = World::with(&["example.com"], leads, quick());
    let (head, _) = world.tunnel("example.com:443");
    assert!(head.starts_with("HTTP/1.1 403 "), "{mine}: {head}");
}

#[test]
fn the_address_that_was_checked_is_the_one_that_is_dialled() {
    let port = server(|mut stream| stream.write_all(b"first").unwrap()).port();
    server_at(Ipv4Addr::new(127, 0, 0, 2).into(), port, |mut stream| {
        stream.write_all(b"other").unwrap();
    });
    // The name leads to the first at first, and elsewhere whenever it is asked again.
    let leads = |_: &str, before| {
        let last = if before == 0 { 1 } else { 2 };
        vec![IpAddr::from(Ipv4Addr::new(127, 0, 0, last))]
    };
    let entries = [format!("a.example:{port}"), format!("127.0.0.1:{port}")];
    let world = World::with(&[&entries[0], &entries[1]], leads, Limits::default());
    let (head, mut client) = world.tunnel(&format!("a.example:{port}"));
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(&some::<5>(&mut client), b"first");
    assert_eq!(world.asked(), ["a.example"], "it is asked once");
    let (head, _) = world.tunnel(&format!("A.example.:{port}"));
    assert!(head.starts_with("HTTP/1.1 403 "), "the next connection is checked anew: {head}");
}

#[test]
fn a_public_answer_is_dialled_and_not_what_comes_after_it() {
    let port = server(echo).port();
    // Kept for documents: nobody is there.
    let leads = |_: &str, before| -> Vec<IpAddr> {
        let address = if before == 0 { "192.0.2.1" } else { "127.0.0.1" };
        vec![address.parse().unwrap()]
    };
    let world = World::with(&[&format!("a.example:{port}")], leads, quick());
    let (head, _) = world.tunnel(&format!("a.example:{port}"));
    assert!(head.starts_with("HTTP/1.1 50"), "{head}");
    assert_eq!(world.asked().len(), 1);
    assert_eq!(world.proxy().refused(), 0);
}

#[test]
fn of_several_addresses_only_the_allowed_are_tried() {
    let port = server(|mut stream| stream.write_all(b"hello").unwrap()).port();
    server_at(Ipv4Addr::new(127, 0, 0, 3).into(), port, |mut stream| {
        stream.write_all(b"not listed").unwrap();
    });
    let leads = |_: &str, _| -> Vec<IpAddr> {
        ["127.0.0.3", "10.0.0.1", "127.0.0.1"].map(|text| text.parse().unwrap()).to_vec()
    };
    let entries = [format!("a.example:{port}"), format!("127.0.0.1:{port}")];
    let world = World::with(&[&entries[0], &entries[1]], leads, Limits::default());
    let (_, mut client) = world.tunnel(&format!("a.example:{port}"));
    assert_eq!(&some::<5>(&mut client), b"hello");
}

#[test]
fn a_server_that_is_not_there_is_not_a_refusal() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let world = World::with(&[&free.to_string(), "gone.example"], |_, _| vec![], quick());
    let answer = world.answer(&format!("CONNECT {free} HTTP/1.1\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    let answer = world.answer("CONNECT gone.example:443 HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.ends_with("ralph: gone.example has no address\n"), "{answer}");
    assert_eq!(world.proxy().refused(), 0);
}

fn path() -> Vec<(OsString, OsString)> {
    vec![("PATH".into(), std::env::var_os("PATH").unwrap())]
}

/// A `getent` of our own; the environment to find it by.
fn stand_in(script: &str) -> (tempfile::TempDir, Vec<(OsString, OsString)>) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("getent");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let mut path = folder.path().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    (folder, vec![("PATH".into(), path)])
}

#[test]
fn the_system_looks_names_up() {
    let runtime = runtime();
    if !std::process::Command::new("getent")
        .args(["ahosts", "localhost"])
        .output()
        .is_ok_and(|o| o.status.success())
    {
        return ralph_testkit::skip("looking names up: there is no getent that knows localhost");
    }
    let found = runtime.block_on(Getent::new(path()).resolve("localhost")).unwrap();
    assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    let (_folder, environment) = stand_in("echo \"$#\" \"$@\" > \"$0.said\"; exit 2");
    let none = runtime.block_on(Getent::new(environment).resolve("a.example")).unwrap();
    assert!(none.is_empty());
    let output = std::fs::read_to_string(_folder.path().join("getent.said")).unwrap();
    assert_eq!(output, "2 ahosts a.example\n");
    let nowhere = vec![("PATH".into(), "/nonexistent".into())];
    let missing = runtime.block_on(Getent::new(nowhere).resolve("a.example")).unwrap_err();
    assert!(missing.to_string().contains("getent"), "{missing}");
}

#[test]
fn a_name_by_the_system_is_checked_like_any_other() {
    let (_folder, environment) = stand_in("echo '169.254.169.254 STREAM metadata.example'");
    let world = World::with_resolver(&["metadata.example"], Getent::new(environment), quick_look());
    let (head, _) = world.tunnel("metadata.example:80");
    assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
}

/// Enough for a program to start on a loaded machine.
fn quick_look() -> Limits {
    Limits { dial: Duration::from_secs(20), ..Limits::default() }
}

#[test]
fn a_look_up_that_hangs_is_given_up() {
    let (_folder, environment) = stand_in("exec sleep 300");
    let world = World::with_resolver(&["a.example"], Getent::new(environment), quick());
    let mut client = world.saying("CONNECT a.example:443 HTTP/1.1\r\n\r\n");
    let head = head(&mut client);
    assert!(head.starts_with("HTTP/1.1 504 "), "{head}");
}

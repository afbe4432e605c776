//! Any bytes at all: nothing hangs beyond its limits, nothing breaks, and who comes after is served.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ralph_engine::sandbox::net::Limits;

use crate::kit::{World, echo, server, some};

fn heads() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..400),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(|tail| [
            vec![5, 1, 0, 5, 1, 0],
            tail
        ]
        .concat()),
        "(GET|POST|CONNECT) [ -~]{0,60} HTTP/1\\.[01]\r\n([ -~]{0,20}\r\n){0,3}\r\n"
            .prop_map(String::into_bytes),
        "(GET http://|CONNECT )[a-z0-9.:@\\[\\]/-]{0,30} HTTP/1\\.1\r\n\r\n[ -~]{0,20}"
            .prop_map(String::into_bytes),
    ]
}

#[test]
fn random_bytes_end_and_leave_the_proxy_whole() {
    let place = server(echo).to_string();
    let limits = Limits { head: Duration::from_millis(200), ..Limits::default() };
    let world = World::with(&[&place], |_, _| vec![], limits);
    let config = Config { cases: 200, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&(heads(), any::<bool>()), |(bytes, half_closed)| {
            let mut client = world.client();
            // The proxy may have hung up by now, and that is an answer.
            let _ = client.write_all(&bytes);
            if half_closed {
                let _ = client.shutdown(Shutdown::Write);
            }
            let mut answer = vec![];
            let ended = client.read_to_end(&mut answer);
            let is_late = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
            prop_assert!(!is_late, "it hangs: {:?}", String::from_utf8_lossy(&bytes));
            prop_assert!(!answer.starts_with(b"HTTP/1.1 200"));
            Ok(())
        })
        .unwrap();
    let (head, mut client) = world.tunnel(&place);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    client.write_all(b"hello").unwrap();
    assert_eq!(&some::<5>(&mut client), b"hello");
}

#[test]
fn binary_is_answered_and_closed() {
    let world = World::new(&["example.com"]);
    for bytes in [&b"\x16\x03\x01\x02\x00\x01"[..], b"\x04\x01\x00\x50", b"\0\0\0\0", b"\xff\xfe"] {
        let mut client = world.saying(bytes);
        let mut answer = vec![];
        client.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{bytes:?}: {answer}");
        assert!(answer.ends_with("ralph: this proxy speaks HTTP and SOCKS 5\n"), "{answer}");
    }
}

#[test]
fn clients_that_leave_at_once_are_no_trouble() {
    let place = server(echo).to_string();
    let world = World::new(&[&place]);
    for cut in [0, 1, 10, 40] {
        for _ in 0..50 {
            let request = format!("CONNECT {place} HTTP/1.1\r\nHost: somebody\r\n\r\n");
            drop(world.saying(&request.as_bytes()[..cut.min(request.len())]));
        }
    }
    let (head, _) = world.tunnel(&place);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
}

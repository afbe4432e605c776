//! What a client may take: bytes, time and connections.

use std::io::{Read, Write};
use std::time::Duration;

use ralph_engine::sandbox::net::Limits;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::kit::{World, all, echo, head, server, some};

fn impatient() -> Limits {
    Limits { head: Duration::from_millis(300), ..Limits::default() }
}

#[test]
fn a_slow_head_is_given_up() {
    let world = World::with(&["example.com"], |_, _| vec![], impatient());
    for beginning in ["", "GET http://exam", "\x05", "\x05\x02\x01"] {
        let mut client = world.saying(beginning);
        let answer = all(&mut client);
        assert!(answer.starts_with("HTTP/1.1 408 "), "{beginning:?}: {answer}");
    }
}

#[test]
fn a_byte_now_and_then_does_not_win_time() {
    let world = World::with(&["example.com"], |_, _| vec![], impatient());
    let mut client = world.client();
    client.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut answer = vec![];
    let mut chunk = [0; 4096];
    for sent in 0.. {
        assert!(sent < 3000, "it is still waiting for more");
        let _ = client.write_all(b"G");
        match client.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    assert!(answer.starts_with(b"HTTP/1.1 408 "), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn a_giant_head_is_refused_and_the_answer_still_arrives() {
    let world = World::new(&["example.com"]);
    let giant = format!("GET http://example.com/ HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(500_000));
    let answer = world.answer(&giant);
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let nearly = format!("GET http://evil.org/ HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(16_000));
    let answer = world.answer(&nearly);
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

#[test]
fn three_hundred_connections_at_once_are_all_served() {
    // Both ends of each are in this process.
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).unwrap();
    let place = server(echo).to_string();
    let world = World::new(&[&place]);
    std::thread::scope(|scope| {
        for number in 0..300_u32 {
            let (world, place) = (&world, &place);
            scope.spawn(move || {
                let (head, mut client) = world.tunnel(place);
                assert!(head.starts_with("HTTP/1.1 200 "), "{number}: {head}");
                client.write_all(&number.to_be_bytes()).unwrap();
                assert_eq!(some::<4>(&mut client), number.to_be_bytes());
            });
        }
    });
}

#[test]
fn more_than_the_limit_are_refused_and_a_free_slot_is_taken() {
    let place = server(echo).to_string();
    let limits = Limits { connections: 4, head: Duration::from_secs(1), ..Limits::default() };
    let world = World::with(&[&place], |_, _| vec![], limits);
    let mut held: Vec<_> = (0..4).map(|_| world.tunnel(&place).1).collect();
    let mut one_more = world.client();
    let answer = all(&mut one_more);
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("too many connections are open"), "{answer}");
    // A tunnel that was silent all the time still works.
    held[0].write_all(b"still here").unwrap();
    assert_eq!(&some::<10>(&mut held[0]), b"still here");
    held.pop();
    let mut client = world.saying(format!("CONNECT {place} HTTP/1.1\r\n\r\n"));
    assert!(head(&mut client).starts_with("HTTP/1.1 200 "));
}

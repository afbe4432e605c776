//! Clients that want to use up the server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::fake::Fake;
use crate::serve;

#[test]
fn connections_that_say_nothing_shut_out_nobody() {
    let server = serve(&Fake::new());
    let mut viewer = server.watch();
    viewer.find("view", |_| true);
    let mut idle: Vec<TcpStream> = Vec::new();
    for round in 0..500 {
        let mut stream = server.connect();
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nX-Slow: ");
        idle.push(stream);
        if round % 100 == 99 {
            assert_eq!(server.get("/api/status").status, 200, "{round}");
        }
    }
    // Whoever has shown the token stays.
    viewer.0.get_ref().set_nonblocking(true).unwrap();
    let mut byte = [0];
    let read = viewer.0.get_mut().read(&mut byte);
    assert!(!matches!(read, Ok(0)), "{read:?}");
}

#[test]
fn slow_headers_end_a_connection() {
    let server = serve(&Fake::new());
    let mut idle = server.connect();
    let mut slow = server.connect();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n").unwrap();
    let mut rest = Vec::new();
    for stream in [&mut slow, &mut idle] {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.read_to_end(&mut rest).unwrap();
    }
}

#[test]
fn endless_headers_are_refused() {
    let server = serve(&Fake::new());
    let mut stream = server.connect();
    let _ = stream.write_all(b"GET / HTTP/1.1\r\n");
    let line = format!("X-Long: {}\r\n", "x".repeat(4_000));
    let ended = (0..100).any(|_| stream.write_all(line.as_bytes()).is_err());
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    let refused = String::from_utf8_lossy(&reply).starts_with("HTTP/1.1 431");
    assert!(ended || refused);
    assert_eq!(server.get("/api/status").status, 200);
}

#[test]
fn what_is_not_http_is_refused() {
    let server = serve(&Fake::new());
    for bytes in [
        &b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"[..],
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"* * *\r\n\r\n",
    ] {
        let mut stream = server.connect();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        let reply = String::from_utf8_lossy(&reply);
        assert!(reply.is_empty() || reply.starts_with("HTTP/1.1 4"), "{reply}");
    }
    assert_eq!(server.get("/api/status").status, 200);
}

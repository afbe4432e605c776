//! What is allowed works: tunnels, requests and SOCKS, both ways, to the last byte.

use std::io::{Read, Write};
use std::net::{Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;

use ralph_engine::sandbox::net::Proxy;

use crate::kit::{SOON, World, all, echo, head, mirror, rules, server, server_at, some};

#[test]
fn a_tunnel_carries_bytes_both_ways() {
    let port = server(echo).port();
    let world = World::new(&[&format!("127.0.0.1:{port}")]);
    let (head, mut client) = world.tunnel(&format!("127.0.0.1:{port}"));
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    let mut writer = client.try_clone().unwrap();
    let sent = bytes.clone();
    let writing = std::thread::spawn(move || {
        writer.write_all(&sent).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut back = vec![];
    client.read_to_end(&mut back).unwrap();
    writing.join().unwrap();
    assert!(back == bytes, "{} bytes came back", back.len());
    assert_eq!(world.proxy().refused(), 0);
}

#[test]
fn bytes_that_come_with_the_head_belong_to_the_tunnel() {
    let port = server(echo).port();
    let world = World::new(&[&format!("localhost:{port}")]);
    let request = format!("CONNECT localhost:{port} HTTP/1.1\r\nA: b\r\n\r\nearly");
    let mut client = world.saying(request);
    assert!(head(&mut client).starts_with("HTTP/1.1 200 "));
    assert_eq!(&some::<5>(&mut client), b"early");
}

#[test]
fn an_end_is_passed_on_and_the_other_side_goes_on() {
    let counting = server(|mut stream| {
        let mut bytes = vec![];
        stream.read_to_end(&mut bytes).unwrap();
        write!(stream, "{} bytes", bytes.len()).unwrap();
    });
    let (reported, heard) = mpsc::channel();
    let first_ended = server(move |mut stream| {
        stream.write_all(b"my part").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        reported.send(all(&mut stream)).unwrap();
    });
    let (one, other) = (counting.to_string(), first_ended.to_string());
    let world = World::new(&[&one, &other]);
    let (_, mut client) = world.tunnel(&one);
    client.write_all(&[7; 12345]).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(all(&mut client), "12345 bytes");
    let (_, mut client) = world.tunnel(&other);
    assert_eq!(all(&mut client), "my part");
    client.write_all(b"your part").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(heard.recv_timeout(SOON).unwrap(), "your part");
}

#[test]
fn a_bridge_passes_ends_on_too() {
    let counting = server(|mut stream| {
        let bytes = all(&mut stream);
        write!(stream, "{} bytes", bytes.len()).unwrap();
    });
    let world = World::new(&[&counting.to_string()]);
    let mut client = TcpStream::connect(("127.0.0.1", world.bridge())).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    write!(client, "CONNECT {counting} HTTP/1.1\r\n\r\n").unwrap();
    assert!(head(&mut client).starts_with("HTTP/1.1 200 "));
    client.write_all(&[b'x'; 12345]).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(all(&mut client), "12345 bytes");
    // Without a proxy a client just ends.
    let mut world = world;
    let port = world.bridge();
    world.end();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    assert_eq!(all(&mut client), "");
}

#[test]
fn a_plain_request_reaches_its_server_in_the_usual_form() {
    let place = server(mirror).to_string();
    let world = World::new(&[&place]);
    let answer = world.answer(&format!(
        "GET http://{place}/a/b?c HTTP/1.1\r\nHost: elsewhere.example\r\nX-One: 1\r\n\
         Proxy-Connection: keep-alive\r\n\r\n"
    ));
    let expected =
        format!("GET /a/b?c HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\nX-One: 1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with(&expected), "{answer}");
}

#[test]
fn a_body_goes_along() {
    let place = server(|mut stream| {
        let request = head(&mut stream);
        if !request.starts_with("POST / HTTP/1.1\r\n") {
            return;
        }
        let body = some::<100_000>(&mut stream);
        let is_whole = body.iter().all(|byte| *byte == b'x');
        write!(stream, "HTTP/1.1 204 No Content\r\nX-Whole: {is_whole}\r\n\r\n").unwrap();
    });
    let world = World::new(&[&place.to_string()]);
    let body = "x".repeat(100_000);
    let answer = world
        .answer(&format!("POST http://{place} HTTP/1.1\r\nContent-Length: 100000\r\n\r\n{body}"));
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    assert!(answer.contains("X-Whole: true"), "{answer}");
}

#[test]
fn an_answer_is_the_last_even_where_the_server_would_go_on() {
    // It takes as many requests as there are, as servers do, whatever it is told.
    let place = server(|mut stream| {
        loop {
            head(&mut stream);
            let interim = "HTTP/1.1 100 Continue\r\n\r\n";
            let answer = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok";
            write!(stream, "{interim}{answer}").unwrap();
        }
    });
    let world = World::new(&[&place.to_string()]);
    let request = |path| format!("GET http://{place}/{path} HTTP/1.1\r\n\r\n");
    let mut client = world.saying(request("one") + &request("two"));
    assert_eq!(head(&mut client), "HTTP/1.1 100 Continue\r\n\r\n");
    let expected = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n";
    assert_eq!(head(&mut client), expected);
    assert_eq!(&some::<2>(&mut client), b"ok");
    // The second request goes nowhere; once the client has ended, so does everything.
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(all(&mut client), "");
}

#[test]
fn a_second_request_behind_a_body_reaches_nobody() {
    // It answers with everything that it got.
    let place = server(|mut stream| {
        let got = all(&mut stream);
        let length = got.len();
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{got}");
    });
    let world = World::new(&[&place.to_string()]);
    let second = "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n";
    for (headers, body) in [
        ("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n", "0\r\nA: b\r\n\r\n"),
        ("Content-Length: 5\r\nConnection: keep-alive\r\n", "hello"),
        ("Host: other.example\r\nHost: third.example\r\n", ""),
    ] {
        let request = format!("POST http://{place}/ HTTP/1.1\r\n{headers}\r\n{body}{second}");
        let mut client = world.saying(request);
        client.shutdown(Shutdown::Write).unwrap();
        let answer = all(&mut client);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{headers}: {answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{headers}: {answer}");
        assert!(!answer.contains("example"), "{headers}: {answer}");
    }
}

#[test]
fn a_request_of_unclear_length_reaches_nobody() {
    let place = server(echo);
    let world = World::new(&[&place.to_string()]);
    for headers in [
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked\r\n , identity\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "A: b\nTransfer-Encoding: chunked\r\n",
    ] {
        let request = format!("POST http://{place}/ HTTP/1.1\r\n{headers}\r\n0\r\n\r\n");
        let answer = world.answer(&request);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{headers}: {answer}");
    }
    // Chunks that are none are noticed when they come, and end the connection.
    let mut client = world.saying(format!(
        "POST http://{place}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\nGET / HTTP/1.1\r\n\r\n"
    ));
    let mut got = vec![];
    let _ = client.read_to_end(&mut got);
    assert!(!String::from_utf8_lossy(&got).contains("GET /"), "{got:?}");
}

#[test]
fn socks_takes_names_and_addresses() {
    let port = server(echo).port();
    let six = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    let entry = format!("localhost:{port}");
    let world = World::new(&[&entry]);
    let number = port.to_be_bytes();
    let mut requests = vec![
        [&[5, 1, 0, 1, 127, 0, 0, 1][3..], &number].concat(),
        [b"\x03\x09localhost".as_slice(), &number].concat(),
        [b"\x03\x09127.0.0.1".as_slice(), &number].concat(),
    ];
    if six {
        server_at(Ipv6Addr::LOCALHOST.into(), port, echo);
        requests.push([[4].as_slice(), &Ipv6Addr::LOCALHOST.octets(), &number].concat());
    }
    for request in requests {
        let mut client = world.saying([5, 2, 2, 0]);
        assert_eq!(some::<2>(&mut client), [5, 0]);
        client.write_all(&[&[5, 1, 0], request.as_slice()].concat()).unwrap();
        assert_eq!(some::<10>(&mut client)[..2], [5, 0], "{request:?}");
        client.write_all(b"hello").unwrap();
        assert_eq!(&some::<5>(&mut client), b"hello");
    }
}

#[test]
fn the_end_of_the_proxy_ends_everything() {
    let (reported, ends) = mpsc::channel();
    let place = server(move |mut stream| {
        let mut bytes = vec![];
        let _ = stream.read_to_end(&mut bytes);
        reported.send(bytes).unwrap();
    });
    let mut world = World::new(&[&place.to_string()]);
    let (_, mut client) = world.tunnel(&place.to_string());
    client.write_all(b"half a word").unwrap();
    let waiting = world.client();
    let socket = world.socket();
    assert!(socket.exists());
    world.end();
    assert!(!socket.exists());
    for mut client in [client, waiting] {
        // What was not read yet makes the end a reset.
        let end = client.read(&mut [0]);
        let is_over = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(matches!(&end, Ok(0)) || end.as_ref().is_err_and(is_over), "{end:?}");
    }
    ends.recv_timeout(SOON).unwrap();
    assert!(std::os::unix::net::UnixStream::connect(&socket).is_err());
}

#[test]
fn a_socket_is_for_its_user_and_needs_a_runtime_and_a_free_place() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new(&["example.com"]);
    let mode = std::fs::metadata(world.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let nobody = || ralph_engine::sandbox::net::Getent::new(vec![]);
    let outside = Proxy::start(rules(&[]), &world.folder.path().join("other"), nobody());
    assert!(outside.unwrap_err().to_string().contains("runtime"));
    let runtime = crate::kit::runtime();
    let _entered = runtime.enter();
    let taken = Proxy::start(rules(&[]), &world.socket(), nobody());
    assert_eq!(taken.unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    assert!(world.socket().exists(), "what belongs to somebody else stays");
}

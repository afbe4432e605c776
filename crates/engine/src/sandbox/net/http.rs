//! HTTP between a client and a proxy: parses request headers and writes answers. No I/O.

use ralph_core::net::{Host, HostError};
use thiserror::Error;

/// Where a head ends.
pub(super) const END: &[u8] = b"\r\n\r\n";

/// Headers that are between a client and its proxy, and `Host`, which is rewritten: it has to name who is
/// really asked.
const OURS: [&str; 9] = [
    "host",
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
];

/// Where a client wants to go, and how.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Journey {
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) language: Language,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// A tunnel by HTTP.
    Connect,
    /// One HTTP request: the header that the server is to get, and its body.
    Forward(Vec<u8>, Body),
    Socks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Bytes(u64),
    /// Chunks, the last of which is empty.
    Chunked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(in crate::sandbox) enum Malformed {
    #[error("this is a proxy, but the request is not a proxy request")]
    NotForProxies,
    #[error("the request line is not HTTP/1.1")]
    RequestLine,
    #[error("the request has a malformed header")]
    Header,
    #[error("the request names no host and port")]
    Target,
    #[error("the request names an invalid host: {0}")]
    Host(HostError),
    #[error("the proxy forwards only http://; everything else needs CONNECT")]
    Scheme,
    #[error("the length of the request is ambiguous")]
    Length,
}

pub(super) fn read(head: &[u8]) -> Result<Journey, Malformed> {
    let text = head.strip_suffix(END).ok_or(Malformed::RequestLine)?;
    let mut lines = split_lines(text);
    let line = lines.next().and_then(|line| std::str::from_utf8(line).ok());
    let mut words = line.ok_or(Malformed::RequestLine)?.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Malformed::RequestLine);
    };
    let is_token = !method.is_empty() && method.bytes().all(is_token_byte);
    let is_visible = target.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_token || !is_visible || !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return Err(Malformed::RequestLine);
    }
    let headers: Vec<&[u8]> = lines.collect();
    if !headers.iter().all(|line| name_of(line).is_some()) {
        return Err(Malformed::Header);
    }
    if method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        return Ok(Journey { host, port, language: Language::Connect });
    }
    if target.starts_with('/') || target == "*" {
        return Err(Malformed::NotForProxies);
    }
    let (scheme, rest) = target.split_once("://").ok_or(Malformed::Target)?;
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(Malformed::Scheme);
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (place, path) = rest.split_at(end);
    let path = path.split('#').next().unwrap_or_default();
    let (host, port) = authority(place, Some(80))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let shown = if port == 80 { String::new() } else { format!(":{port}") };
    let mut head =
        format!("{method} {slash}{path} {version}\r\nHost: {host}{shown}\r\nConnection: close\r\n")
            .into_bytes();
    for line in headers {
        let name = name_of(line).unwrap_or_default();
        if !OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours.as_bytes())) {
            head.extend_from_slice(line);
            head.extend_from_slice(b"\r\n");
        }
    }
    head.extend_from_slice(b"\r\n");
    let language = Language::Forward(head, body_of(text, version)?);
    Ok(Journey { host, port, language })
}

/// The body after a header. Where a server could read another length, the end of its request would be the start
/// of an unchecked one: such a request is refused.
fn body_of(text: &[u8], version: &str) -> Result<Body, Malformed> {
    let (mut length, mut chunked) = (None, false);
    for line in split_lines(text).skip(1) {
        let name = name_of(line).unwrap_or_default();
        let value = line.get(name.len() + 1..).unwrap_or_default().trim_ascii();
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if chunked || !value.eq_ignore_ascii_case(b"chunked") || version != "HTTP/1.1" {
                return Err(Malformed::Length);
            }
            chunked = true;
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            let is_plain = value.iter().all(u8::is_ascii_digit);
            let value = std::str::from_utf8(value).ok().and_then(|value| value.parse::<u64>().ok());
            let value = value.filter(|_| is_plain).ok_or(Malformed::Length)?;
            if length.is_some_and(|length| length != value) {
                return Err(Malformed::Length);
            }
            length = Some(value);
        }
    }
    match (chunked, length) {
        (true, Some(_)) => Err(Malformed::Length),
        (true, None) => Ok(Body::Chunked),
        (false, length) => Ok(Body::Bytes(length.unwrap_or(0))),
    }
}

/// `host:port`; an IPv6 address has brackets. No user name: it is not needed here, and programs do not agree
/// where it ends.
pub(in crate::sandbox) fn authority(
    text: &str,
    usual: Option<u16>,
) -> Result<(Host, u16), Malformed> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            let is_plain = port.bytes().all(|byte| byte.is_ascii_digit());
            let port = match (port, usual) {
                ("", Some(usual)) => Some(usual),
                _ => port.parse().ok().filter(|port| is_plain && *port != 0),
            };
            (host, port)
        }
        _ => (text, usual),
    };
    let port = port.ok_or(Malformed::Target)?;
    // Without brackets the last part of an address of IPv6 would be taken for a port.
    if host.contains(':') && !host.starts_with('[') {
        return Err(Malformed::Target);
    }
    Ok((Host::parse(host).map_err(Malformed::Host)?, port))
}

/// The lines, without their ends. A line has no other kind of end in it, or the caller does not accept it as a header.
fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let now = rest?;
        match now.windows(2).position(|pair| pair == b"\r\n") {
            Some(at) => {
                rest = Some(&now[at + 2..]);
                Some(&now[..at])
            }
            None => {
                rest = None;
                Some(now)
            }
        }
    })
}

/// The name of a header; `None` for any other line. A continuation line is not a header: no client sends them,
/// and servers do not agree about them.
pub(super) fn name_of(line: &[u8]) -> Option<&[u8]> {
    let at = line.iter().position(|byte| *byte == b':')?;
    let name = &line[..at];
    let is_whole = !line.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0));
    (!name.is_empty() && name.iter().copied().all(is_token_byte) && is_whole).then_some(name)
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

pub(super) const OPEN: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// An answer of the proxy itself: one sentence.
pub(super) fn answer(status: &str, sentence: &str) -> Vec<u8> {
    let body = format!("ralph: {sentence}\n");
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// How a bridge asks for a port of the machine outside.
pub(super) fn connect_to(port: u16) -> String {
    format!("CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n")
}

pub(super) fn is_open(head: &[u8]) -> bool {
    head.starts_with(b"HTTP/1.1 200 ")
}

/// Where the head of a server's answer ends. Not all of them end their lines as they should.
pub(super) fn end_of_answer(bytes: &[u8]) -> Option<usize> {
    let lines = |(at, byte): (usize, &u8)| (*byte == b'\n').then_some(at + 1);
    bytes.iter().enumerate().filter_map(lines).find_map(|next| match bytes.get(next..)? {
        [b'\n', ..] => Some(next + 1),
        [b'\r', b'\n', ..] => Some(next + 2),
        _ => None,
    })
}

/// Whether it is the head of an answer with another one behind it.
pub(super) fn is_interim(head: &[u8]) -> bool {
    is_answer(head) && head.get(9) == Some(&b'1')
}

/// Whether it is the head of an answer at all.
fn is_answer(head: &[u8]) -> bool {
    head.starts_with(b"HTTP/1.") && head.get(8) == Some(&b' ')
}

/// The header of an answer, which says that it is the last on its connection. Otherwise a client sends its next
/// request on the same one, and that may be for another host. Anything but HTTP stays as it is.
pub(super) fn last_answer(head: &[u8]) -> Vec<u8> {
    if !is_answer(head) {
        return head.to_vec();
    }
    let mut lines =
        head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut last = lines.next().unwrap_or_default().to_vec();
    last.extend_from_slice(b"\r\nConnection: close\r\n");
    for line in lines.filter(|line| !line.is_empty()) {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        let between = ["connection", "keep-alive", "proxy-connection"];
        if !between.iter().any(|ours| name.eq_ignore_ascii_case(ours.as_bytes())) {
            last.extend_from_slice(line);
            last.extend_from_slice(b"\r\n");
        }
    }
    last.extend_from_slice(b"\r\n");
    last
}

/// Where a head ends in what has come, given how much was looked at before.
pub(super) fn end_of_head(bytes: &[u8], looked_at: usize) -> Option<usize> {
    let from = looked_at.saturating_sub(END.len() - 1);
    let found = bytes.get(from..)?.windows(END.len()).position(|window| window == END)?;
    Some(from + found + END.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Host {
        Host::parse(text).unwrap()
    }

    fn forwarded(head: &str) -> (Host, u16, String) {
        match read(head.as_bytes()).unwrap() {
            Journey { host, port, language: Language::Forward(head, _) } => {
                (host, port, String::from_utf8(head).unwrap())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tunnels_name_host_and_port() {
        for (target, name, port) in [
            ("example.com:443", "example.com", 443),
            ("EXAMPLE.com.:8443", "example.com", 8443),
            ("127.0.0.1:80", "127.0.0.1", 80),
            ("[::1]:80", "::1", 80),
            ("[::ffff:10.0.0.1]:80", "10.0.0.1", 80),
        ] {
            let request = read(format!("CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
            let tunnel = Journey { host: host(name), port, language: Language::Connect };
            assert_eq!(request, Ok(tunnel), "{target}");
        }
    }

    #[test]
    fn a_request_goes_on_in_the_form_that_servers_read() {
        let (to, port, head) = forwarded(
            "GET http://Example.com:8080/a?b=c HTTP/1.1\r\nHost: other.org\r\nAccept: */*\r\n\
             Proxy-Connection: keep-alive\r\nconnection: keep-alive\r\n\
             Proxy-Authorization: Basic eDp5\r\n\r\n",
        );
        assert_eq!((to, port), (host("example.com"), 8080));
        assert_eq!(
            head,
            "GET /a?b=c HTTP/1.1\r\nHost: example.com:8080\r\nConnection: close\r\n\
             Accept: */*\r\n\r\n"
        );
        for (target, path, shown) in [
            ("http://a.example", "/", "a.example"),
            ("HTTP://a.example/", "/", "a.example"),
            ("http://a.example:/x#y", "/x", "a.example"),
            ("http://a.example?q=http://b.example/", "/?q=http://b.example/", "a.example"),
            ("http://[::1]/", "/", "[::1]"),
        ] {
            let (_, port, head) = forwarded(&format!("GET {target} HTTP/1.0\r\n\r\n"));
            assert_eq!(port, 80, "{target}");
            let expected =
                format!("GET {path} HTTP/1.0\r\nHost: {shown}\r\nConnection: close\r\n\r\n");
            assert_eq!(head, expected, "{target}");
        }
    }

    #[test]
    fn what_is_no_request_for_a_proxy_is_reported() {
        for (head, why) in [
            ("GET / HTTP/1.1\r\n\r\n", Malformed::NotForProxies),
            ("OPTIONS * HTTP/1.1\r\n\r\n", Malformed::NotForProxies),
            ("GET https://a.example/ HTTP/1.1\r\n\r\n", Malformed::Scheme),
            ("GET file:///etc/passwd HTTP/1.1\r\n\r\n", Malformed::Scheme),
            ("GET http:/// HTTP/1.1\r\n\r\n", Malformed::Host(HostError::Missing)),
            ("GET http://a.example:80@evil.org/ HTTP/1.1\r\n\r\n", Malformed::Target),
            (
                "GET http://a.example@evil.org/ HTTP/1.1\r\n\r\n",
                Malformed::Host(HostError::Letter('@')),
            ),
            (
                "GET http://a.example\\.evil.org/ HTTP/1.1\r\n\r\n",
                Malformed::Host(HostError::Letter('\\')),
            ),
            ("CONNECT a.example HTTP/1.1\r\n\r\n", Malformed::Target),
            ("CONNECT a.example: HTTP/1.1\r\n\r\n", Malformed::Target),
            ("CONNECT a.example:0 HTTP/1.1\r\n\r\n", Malformed::Target),
            ("CONNECT a.example:+1 HTTP/1.1\r\n\r\n", Malformed::Target),
            ("CONNECT ::1:80 HTTP/1.1\r\n\r\n", Malformed::Target),
            ("CONNECT [::1] HTTP/1.1\r\n\r\n", Malformed::Target),
            ("CONNECT 127.1:80 HTTP/1.1\r\n\r\n", Malformed::Host(HostError::Numeric)),
            ("CONNECT a.example:80 HTTP/2.0\r\n\r\n", Malformed::RequestLine),
            ("CONNECT a.example:80\r\n\r\n", Malformed::RequestLine),
            ("CONNECT  a.example:80 HTTP/1.1\r\n\r\n", Malformed::RequestLine),
            ("GET http://a.example/\nx HTTP/1.1\r\n\r\n", Malformed::RequestLine),
            ("GET http://a.example/ HTTP/1.1\r\nno header\r\n\r\n", Malformed::Header),
            ("GET http://a.example/ HTTP/1.1\r\nA: b\r\n c\r\n\r\n", Malformed::Header),
            ("GET http://a.example/ HTTP/1.1\r\nA: b\nHost: c\r\n\r\n", Malformed::Header),
            ("GET http://a.example/ HTTP/1.1\r\nHost : c\r\n\r\n", Malformed::Header),
        ] {
            assert_eq!(read(head.as_bytes()), Err(why), "{head:?}");
        }
    }

    #[test]
    fn a_request_says_how_long_it_is() {
        for (headers, expected) in [
            ("", Ok(Body::Bytes(0))),
            ("Content-Length: 12\r\n", Ok(Body::Bytes(12))),
            ("content-length:12\r\nContent-Length: 12\r\n", Ok(Body::Bytes(12))),
            ("Content-Length: 12\r\nContent-Length: 13\r\n", Err(Malformed::Length)),
            ("Content-Length: 0\r\nContent-Length: 13\r\n", Err(Malformed::Length)),
            ("Content-Length: 12, 12\r\n", Err(Malformed::Length)),
            ("Content-Length: -1\r\n", Err(Malformed::Length)),
            ("Content-Length: +1\r\n", Err(Malformed::Length)),
            ("Content-Length: \r\n", Err(Malformed::Length)),
            ("Transfer-Encoding: chunked\r\n", Ok(Body::Chunked)),
            ("transfer-encoding:\tChunked \r\n", Ok(Body::Chunked)),
            ("Transfer-Encoding: gzip, chunked\r\n", Err(Malformed::Length)),
            ("Transfer-Encoding: identity\r\n", Err(Malformed::Length)),
            ("Transfer-Encoding: \u{b}chunked\r\n", Err(Malformed::Length)),
            (
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                Err(Malformed::Length),
            ),
            ("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", Err(Malformed::Length)),
            ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", Err(Malformed::Length)),
        ] {
            let head = format!("POST http://a.example/ HTTP/1.1\r\n{headers}\r\n");
            let body = read(head.as_bytes()).map(|request| match request.language {
                Language::Forward(_, body) => body,
                other => panic!("{other:?}"),
            });
            assert_eq!(body, expected, "{headers:?}");
        }
    }

    #[test]
    fn chunks_are_not_of_the_older_http() {
        let head = b"POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(read(head), Err(Malformed::Length));
    }

    #[test]
    fn an_answer_says_that_it_is_the_last() {
        let head =
            b"HTTP/1.1 200 OK\r\nA: b\r\nconnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n";
        assert_eq!(end_of_answer(head), Some(head.len()));
        let expected = "HTTP/1.1 200 OK\r\nConnection: close\r\nA: b\r\n\r\n";
        assert_eq!(String::from_utf8(last_answer(head)).unwrap(), expected);
        let bare = b"HTTP/1.1 200 OK\nA: b\n\nbody";
        assert_eq!(end_of_answer(bare), Some(bare.len() - 4));
        assert_eq!(last_answer(&bare[..bare.len() - 4]), expected.as_bytes());
        assert_eq!(last_answer(b"ICY 200 OK\r\n\r\n"), b"ICY 200 OK\r\n\r\n");
        assert!(is_interim(b"HTTP/1.1 100 Continue\r\n\r\n"));
        assert!(!is_interim(b"HTTP/1.1 200 OK\r\n\r\n"));
        assert_eq!(end_of_answer(b"HTTP/1.1 200 OK\r\nA: b\r\n\r"), None);
    }

    #[test]
    fn a_head_ends_where_it_ends_however_it_comes() {
        let bytes = b"GET / HTTP/1.1\r\nA: b\r\n\r\nbody";
        let whole = end_of_head(bytes, 0);
        assert_eq!(whole, Some(bytes.len() - 4));
        for cut in 0..bytes.len() - 4 {
            assert_eq!(end_of_head(&bytes[..cut], 0), None);
            assert_eq!(end_of_head(bytes, cut), whole, "{cut}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes: Vec<u8>, method in "(GET|CONNECT) ", tail in "[ -~\r\n]{0,80}") {
            let _ = read(&bytes);
            let _ = end_of_head(&bytes, bytes.len() / 2);
            let _ = (end_of_answer(&bytes), last_answer(&bytes), is_interim(&bytes));
            let _ = read(format!("{method}{tail}\r\n\r\n").as_bytes());
        }

        /// Exactly one header goes to a server: nobody can hide a second request in the first.
        #[test]
        fn what_is_forwarded_is_one_head(path in "[!-~]{0,40}", headers in "([A-Za-z: \r\n\t]{0,30}\r\n){0,4}") {
            let head = format!("GET http://a.example/{path} HTTP/1.1\r\n{headers}\r\n");
            let end = end_of_head(head.as_bytes(), 0).unwrap();
            if let Ok(Journey { language: Language::Forward(head, _), .. }) = read(&head.as_bytes()[..end]) {
                proptest::prop_assert_eq!(end_of_head(&head, 0), Some(head.len()));
                let hosts = split_lines(&head).filter(|line| line.to_ascii_lowercase().starts_with(b"host:"));
                proptest::prop_assert_eq!(hosts.count(), 1);
            }
        }
    }
}

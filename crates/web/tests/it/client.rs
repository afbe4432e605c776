//! A client that sends exactly what a test wants.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::FULL;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    pub(crate) port: u16,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let begin = format!("\n{name}: ");
        let (_, rest) = self.headers.split_once(&begin)?;
        rest.lines().next()
    }
}

impl Client {
    pub(crate) fn host(self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn origin(self) -> String {
        format!("http://{}", self.host())
    }

    pub(crate) fn connect(self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Sends a request with these lines, and reads the reply to its end.
    pub(crate) fn send(self, first: &str, lines: &[String], body: &str) -> Reply {
        let mut stream = self.connect();
        let lines = lines.iter().map(|line| format!("{line}\r\n")).collect::<String>();
        let length = body.len();
        // A reply may come, and the connection end, before all is sent.
        let _ = stream.write_all(
            format!("{first} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{lines}\r\n{body}").as_bytes(),
        );
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let headers = head.to_ascii_lowercase().replace('\r', "");
        let body = match headers.contains("transfer-encoding: chunked") {
            true => unchunked(body),
            false => body.to_owned(),
        };
        Reply { status, headers, body }
    }

    /// A request of the page, with the token of the whole server.
    pub(crate) fn get(self, path: &str) -> Reply {
        self.get_as(path, FULL)
    }

    pub(crate) fn get_as(self, path: &str, token: &str) -> Reply {
        let cookie = format!("Cookie: ralph_{}={token}", self.port);
        self.send(&format!("GET {path}"), &[format!("Host: {}", self.host()), cookie], "")
    }

    /// An action of the page.
    pub(crate) fn post(self, body: &str) -> Reply {
        self.post_with(&[], FULL, body)
    }

    /// The same with other lines beside or instead of the usual ones.
    pub(crate) fn post_with(self, other: &[&str], token: &str, body: &str) -> Reply {
        let usual = [
            format!("Host: {}", self.host()),
            format!("Origin: {}", self.origin()),
            format!("Cookie: ralph_{}={token}", self.port),
            "Content-Type: application/json".to_owned(),
        ];
        let name = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
        let kept = usual.into_iter().filter(|line| other.iter().all(|one| name(one) != name(line)));
        let lines = kept.chain(other.iter().map(|line| (*line).to_owned()));
        let lines: Vec<String> = lines.filter(|line| !line.ends_with(": -")).collect();
        self.send("POST /api/action", &lines, body)
    }

    /// A viewer of what happens now.
    pub(crate) fn watch(self) -> Viewer {
        let mut stream = self.connect();
        let host = self.host();
        write!(
            stream,
            "GET /api/live HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {FULL}\r\n\r\n"
        )
        .unwrap();
        Viewer(BufReader::new(stream))
    }
}

fn unchunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        text.push_str(rest.get(..length).unwrap_or(rest));
        body = rest.get(length + 2..).unwrap_or_default();
    }
    text
}

pub(crate) struct Viewer(pub(crate) BufReader<TcpStream>);

impl Viewer {
    /// The next event: its name and its data. `None` at the end.
    pub(crate) fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(text) = line.strip_prefix("event: ") {
                name = text.trim_end().to_owned();
            }
            if let Some(text) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(text).unwrap()));
            }
        }
    }

    /// The next event of this name that passes.
    pub(crate) fn find(&mut self, wanted: &str, passes: impl Fn(&Value) -> bool) -> Value {
        loop {
            let (name, data) = self.next().expect("the stream goes on");
            if name == wanted && passes(&data) {
                return data;
            }
        }
    }
}

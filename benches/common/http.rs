//! A client of the page, and the least server that answers the same.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use crate::common::RALPH;

/// The token of every server here.
pub(crate) const TOKEN: &str = "a-token-for-the-benchmark-alone";

/// Reads an answer to its end: the status line, the headers and the body.
pub(crate) fn get(port: u16, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    ask(&mut stream, port, path, "close");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let status = &answer[..answer.len().min(15)];
    assert!(status.starts_with(b"HTTP/1.1 200"), "{path}: {}", String::from_utf8_lossy(&answer));
    answer
}

/// A connection that follows what happens.
pub(crate) fn follow(port: u16) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    ask(&mut stream, port, "/api/live", "keep-alive");
    stream
}

fn ask(stream: &mut TcpStream, port: u16, path: &str, connection: &str) {
    let lines = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: {connection}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    );
    stream.write_all(lines.as_bytes()).unwrap();
}

/// The port in the first link that comes.
pub(crate) fn port_of(lines: &mut impl BufRead) -> u16 {
    let mut text = String::new();
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "no link: {text}");
        if let Some((_, rest)) = line.split_once("http://127.0.0.1:") {
            return rest.split('/').next().unwrap().parse().unwrap();
        }
        text.push_str(&line);
    }
}

/// `ralph serve`, until it is dropped.
pub(crate) struct Serving {
    child: Child,
    pub(crate) port: u16,
}

impl Serving {
    pub(crate) fn start(repo: &Path) -> Self {
        let mut ralph = Command::new(RALPH);
        ralph.arg("-C").arg(repo).arg("serve").env("RALPH_SERVE_TOKEN", TOKEN);
        ralph.env("XDG_RUNTIME_DIR", repo.join(".git")).env_remove("RALPH_SOCKET");
        let mut child = ralph.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let port = port_of(&mut BufReader::new(child.stdout.take().unwrap()));
        Self { child, port }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers each request with bytes that it has ready, a thread for each connection.
pub(crate) fn floor(answers: HashMap<String, Vec<u8>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answers = Arc::new(answers);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, answers) = (stream.unwrap(), Arc::clone(&answers));
            std::thread::spawn(move || answer(stream, &answers));
        }
    });
    port
}

fn answer(stream: TcpStream, answers: &HashMap<String, Vec<u8>>) {
    let mut lines = BufReader::new(&stream);
    let (mut first, mut line) = (String::new(), String::new());
    lines.read_line(&mut first).unwrap();
    while lines.read_line(&mut line).unwrap() > 2 {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap();
    (&stream).write_all(&answers[path]).unwrap();
}

//! As much HTTP/1.1 as one agent on this machine needs: whole requests in, whole answers or chunks
//! out.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A request without what only the server knows.
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Reads a request; `None` when the client has left.
pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Option<Head>> {
    let first = line(from)?;
    if first.is_empty() {
        return Ok(None);
    }
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = vec![];
    loop {
        let line = line(from)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let find = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
    let body = if find("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        chunks(from)?
    } else {
        let length = find("content-length").map_or(Ok(0), str::parse::<usize>);
        let mut body = vec![0; length.map_err(|_| ErrorKind::InvalidData)?];
        from.read_exact(&mut body)?;
        body
    };
    Ok(Some(Head { method: method.to_owned(), path: path.to_owned(), headers, body }))
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn chunks(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = vec![];
    loop {
        let size = line(from)?;
        let size = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16);
        let size = size.map_err(|_| ErrorKind::InvalidData)?;
        from.take(size as u64).read_to_end(&mut body)?;
        line(from)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Where an answer goes.
pub(crate) struct Answer<'a>(pub(crate) &'a TcpStream);

impl Answer<'_> {
    /// A whole answer.
    pub(crate) fn json(
        &mut self,
        status: u16,
        headers: &[(String, String)],
        body: &Value,
    ) -> io::Result<()> {
        let body = body.to_string();
        let mut text = head(status, "application/json", headers);
        text += &format!("content-length: {}\r\n\r\n{body}", body.len());
        self.0.write_all(text.as_bytes())
    }

    /// A whole answer that is not JSON.
    pub(crate) fn text(
        &mut self,
        status: u16,
        headers: &[(String, String)],
        body: &str,
    ) -> io::Result<()> {
        let mut text = head(status, "text/plain", headers);
        text += &format!("content-length: {}\r\n\r\n{body}", body.len());
        self.0.write_all(text.as_bytes())
    }

    /// Half of a whole answer.
    pub(crate) fn half(&mut self, body: &Value) -> io::Result<()> {
        let body = body.to_string();
        let mut text = head(200, "application/json", &[]);
        text += &format!("content-length: {}\r\n\r\n", body.len());
        text += &body[..body.floor_char_boundary(body.len() / 2)];
        self.0.write_all(text.as_bytes())
    }

    /// The beginning of a stream.
    pub(crate) fn stream(&mut self) -> io::Result<()> {
        let head = head(200, "text/event-stream", &[]) + "transfer-encoding: chunked\r\n\r\n";
        self.0.write_all(head.as_bytes())
    }

    /// A piece of a stream; an empty one ends it.
    pub(crate) fn chunk(&mut self, text: &str) -> io::Result<()> {
        self.0.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
    }

    /// Ends the connection here and now.
    pub(crate) fn cut(&mut self) -> io::Result<()> {
        self.0.shutdown(Shutdown::Both)
    }

    /// Waits, at most until the client leaves; then it is an error. `None` waits for that alone.
    pub(crate) fn wait(&mut self, time: Option<Duration>) -> io::Result<()> {
        if time == Some(Duration::ZERO) {
            return Ok(());
        }
        self.0.set_read_timeout(time)?;
        // The client has nothing to say before it is answered: what comes is its end.
        let seen = self.0.peek(&mut [0]);
        self.0.set_read_timeout(None)?;
        match seen {
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(()),
            Err(e) => Err(e),
            Ok(_) => Err(ErrorKind::ConnectionAborted.into()),
        }
    }
}

fn head(status: u16, kind: &str, headers: &[(String, String)]) -> String {
    let mut text = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text
}

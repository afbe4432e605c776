//! One connection to the proxy, from its first byte to its last. The first byte tells HTTP from SOCKS.

use std::io;
use std::time::Duration;

use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional_with_sizes,
};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::chunks::Chunks;
use super::dial::{DialError, dial};
use super::http::{self, Body, Journey, Language};
use super::proxy::Shared;
use super::socks::{self, Code};

/// How much is copied at once, each way.
const CHUNK: usize = 32 << 10;
/// The longest head of an answer that is looked at. A longer one is passed on as it is.
const ANSWER: usize = 64 << 10;
/// How much is still read from a client that was refused, and for how long: it may not have sent all of
/// its request yet, and would lose the answer if the connection just ended.
const LEFT_OVER: u64 = 1 << 20;
const LINGER: Duration = Duration::from_secs(2);

type Refusal = Vec<u8>;

/// Serves a client to its end. Errors go to the client.
pub(super) async fn serve(stream: UnixStream, shared: &Shared) {
    let mut incoming = Incoming::new(stream);
    let journey = match timeout(shared.limits.head, read_request(&mut incoming, shared)).await {
        Ok(Ok(journey)) => journey,
        Ok(Err(Some(word))) => return incoming.part(&word).await,
        Ok(Err(None)) => return,
        Err(_) => {
            let seconds = shared.limits.head.as_secs();
            let sentence = format!("the request timed out after {seconds}s");
            return incoming.part(&http::answer("408 Request Timeout", &sentence)).await;
        }
    };
    let Journey { host, port, language } = journey;
    let limit = shared.limits.dial;
    let dialled = dial(&shared.rules, shared.resolver.as_ref(), &host, port, limit).await;
    let server = match dialled {
        Ok(server) => server,
        Err(error) => {
            if let DialError::Refused(why) = &error {
                shared.refused(&host, port, why);
            }
            return incoming.part(&sorry(&language, &error)).await;
        }
    };
    let _ = travel(incoming, server, language).await;
}

/// Reads the request of a client. `Err(None)`: it disconnected, or speaks an unknown protocol.
async fn read_request<S: AsyncRead + AsyncWrite + Unpin>(
    incoming: &mut Incoming<S>,
    shared: &Shared,
) -> Result<Journey, Option<Refusal>> {
    let first = incoming.peek().await.map_err(|_| None)?;
    if first == socks::VERSION {
        return read_socks_request(incoming).await;
    }
    let refuse = |status, sentence: &str| Some(http::answer(status, sentence));
    if !first.is_ascii_alphabetic() {
        return Err(refuse("400 Bad Request", "this proxy speaks HTTP and SOCKS 5"));
    }
    let most = shared.limits.head_bytes;
    let head = incoming.head(most).await.map_err(|error| match error {
        NoHead::Gone => None,
        NoHead::TooLong => {
            let sentence = format!("the request header is longer than {most} bytes");
            refuse("431 Request Header Fields Too Large", &sentence)
        }
    })?;
    http::read(&head).map_err(|why| refuse("400 Bad Request", &why.to_string()))
}

async fn read_socks_request<S: AsyncRead + AsyncWrite + Unpin>(
    incoming: &mut Incoming<S>,
) -> Result<Journey, Option<Refusal>> {
    let gone = |_| None;
    let say = |code| Some(socks::answer(code).to_vec());
    let greeting = incoming.take(2).await.map_err(gone)?;
    let ways = incoming.take(usize::from(greeting[1])).await.map_err(gone)?;
    if !ways.contains(&socks::NO_LOGIN) {
        return Err(Some(socks::NO_WAY_IN.to_vec()));
    }
    incoming.stream.write_all(&socks::COME_IN).await.map_err(gone)?;
    let request = incoming.take(4).await.map_err(gone)?;
    let (version, command, kind) = (request[0], request[1], request[3]);
    if version != socks::VERSION {
        return Err(say(Code::Failed));
    }
    if command != socks::CONNECT {
        return Err(say(Code::UnknownCommand));
    }
    let next = incoming.peek().await.map_err(gone)?;
    let length = socks::address_length(kind, next).ok_or_else(|| say(Code::UnknownAddress))?;
    let address = incoming.take(length).await.map_err(gone)?;
    let port = incoming.take(2).await.map_err(gone)?;
    let port = u16::from_be_bytes([port[0], port[1]]);
    let host = socks::host(kind, &address).map_err(|_| say(Code::Failed))?;
    Ok(Journey { host, port, language: Language::Socks })
}

/// Why there is no connection, in the protocol of the client.
fn sorry(language: &Language, error: &DialError) -> Refusal {
    let is_late = |source: &io::Error| source.kind() == io::ErrorKind::TimedOut;
    if let Language::Socks = language {
        let code = match error {
            DialError::Refused(_) => Code::NotAllowed,
            DialError::Unreachable { source, .. }
                if source.kind() == io::ErrorKind::ConnectionRefused =>
            {
                Code::Refused
            }
            _ => Code::HostUnreachable,
        };
        return socks::answer(code).to_vec();
    }
    let status = match error {
        DialError::Refused(_) => "403 Forbidden",
        DialError::LookUp { source, .. } | DialError::Unreachable { source, .. }
            if is_late(source) =>
        {
            "504 Gateway Timeout"
        }
        _ => "502 Bad Gateway",
    };
    http::answer(status, &error.to_string())
}

/// Confirms the connection to the client, and copies from then on.
async fn travel<S: AsyncRead + AsyncWrite + Unpin>(
    mut incoming: Incoming<S>,
    mut server: TcpStream,
    language: Language,
) -> io::Result<()> {
    match language {
        Language::Connect => incoming.stream.write_all(http::OPEN).await?,
        Language::Socks => {
            incoming.stream.write_all(&socks::answer(Code::Succeeded)).await?;
        }
        Language::Forward(head, body) => return forward(incoming, server, &head, body).await,
    }
    incoming.join(&mut server).await
}

/// One request and its answer. It is over when the server has ended, whatever the client still sends.
async fn forward<S: AsyncRead + AsyncWrite + Unpin>(
    incoming: Incoming<S>,
    server: TcpStream,
    head: &[u8],
    body: Body,
) -> io::Result<()> {
    let Incoming { stream, buffer } = incoming;
    let (client, mut to_client) = tokio::io::split(stream);
    let (server, mut to_server) = server.into_split();
    let asking = async {
        to_server.write_all(head).await?;
        let mut client = buffer.chain(client);
        match body {
            Body::Chunked => copy_chunks(&mut client, &mut to_server).await?,
            Body::Bytes(count) => {
                tokio::io::copy(&mut (&mut client).take(count), &mut to_server).await?;
            }
        }
        // Another request would not be for this server. A client that goes is still seen.
        tokio::io::copy(&mut client, &mut tokio::io::sink()).await?;
        to_server.shutdown().await
    };
    let answering = async {
        answer(server, &mut to_client).await?;
        to_client.shutdown().await
    };
    tokio::pin!(answering);
    tokio::select! {
        answered = &mut answering => answered,
        asked = asking => match asked {
            Ok(()) => answering.await,
            // The end of the request is unknown, so the server gets no more of it.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(error),
            // A server may answer before it has heard everything, and hang up.
            Err(_) => timeout(LINGER, answering).await?,
        }
    }
}

/// Passes on a body in chunks, and not a byte behind it.
async fn copy_chunks(
    client: &mut (impl AsyncRead + Unpin),
    server: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut chunks = Chunks::default();
    let mut buffer = vec![0; CHUNK];
    while !chunks.is_over() {
        let count = client.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        let taken = chunks.take(&buffer[..count])?;
        server.write_all(&buffer[..taken]).await?;
    }
    Ok(())
}

/// Passes an answer on, which is made to say that it is the last.
async fn answer(
    mut server: impl AsyncRead + Unpin,
    client: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut buffer = vec![];
    loop {
        let Some(end) = http::end_of_answer(&buffer) else {
            if buffer.len() >= ANSWER || server.read_buf(&mut buffer).await? == 0 {
                break;
            }
            continue;
        };
        let head: Vec<u8> = buffer.drain(..end).collect();
        if !http::is_interim(&head) {
            client.write_all(&http::last_answer(&head)).await?;
            break;
        }
        client.write_all(&head).await?;
    }
    client.write_all(&buffer).await?;
    tokio::io::copy(&mut server, client).await?;
    Ok(())
}

/// What has come, and where more comes from.
pub(super) struct Incoming<S> {
    pub(super) stream: S,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum NoHead {
    TooLong,
    Gone,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Incoming<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, buffer: vec![] }
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// The next byte, which stays.
    async fn peek(&mut self) -> io::Result<u8> {
        loop {
            match self.buffer.first() {
                Some(byte) => return Ok(*byte),
                None => self.more().await?,
            }
        }
    }

    /// The next bytes, exactly so many.
    async fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < count {
            self.more().await?;
        }
        Ok(self.buffer.drain(..count).collect())
    }

    /// Everything up to and with the empty line. What came behind it stays.
    pub(super) async fn head(&mut self, most: usize) -> Result<Vec<u8>, NoHead> {
        let mut looked_at = 0;
        loop {
            match http::end_of_head(&self.buffer, looked_at) {
                Some(end) if end <= most => return Ok(self.buffer.drain(..end).collect()),
                Some(_) => return Err(NoHead::TooLong),
                None if self.buffer.len() >= most => return Err(NoHead::TooLong),
                None => looked_at = self.buffer.len(),
            }
            self.more().await.map_err(|_| NoHead::Gone)?;
        }
    }

    /// Sends the last answer and closes, without losing it for a client that still sends.
    pub(super) async fn part(mut self, word: &[u8]) {
        let output = async {
            self.stream.write_all(word).await?;
            self.stream.shutdown().await?;
            let mut rest = self.stream.take(LEFT_OVER);
            tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
        };
        let _ = timeout(LINGER, output).await;
    }

    /// Copies both ways until both have ended. The end of one side is passed on, and the other continues.
    pub(super) async fn join<T>(&mut self, other: &mut T) -> io::Result<()>
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        other.write_all(&self.buffer).await?;
        copy_bidirectional_with_sizes(&mut self.stream, other, CHUNK, CHUNK).await?;
        Ok(())
    }
}

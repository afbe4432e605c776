//! Accepts connections, reads one line each and answers. No client can delay another one, whatever it does.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use super::SocketError;
use super::protocol::{MAX_LINE, PATIENCE};

/// The most connections at a time; the others wait. File descriptors are few, and an agent must not be able to
/// use up those of the loop.
const AT_ONCE: usize = 64;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoLine {
    #[error("the request ends in the middle of its line")]
    Half,
    #[error("the request is longer than {MAX_LINE} bytes")]
    TooLong,
    #[error("the request did not arrive within {} seconds", PATIENCE.as_secs())]
    TooLate,
    /// The caller has disconnected.
    #[error("the caller is gone")]
    Gone,
}

/// The request in a line, or why there is none.
pub(super) fn request<T: DeserializeOwned>(line: Result<Vec<u8>, NoLine>) -> Result<T, String> {
    let line = line.map_err(|error| error.to_string())?;
    serde_json::from_slice(&line).map_err(|error| format!("not a request: {error}"))
}

/// Both halves of a connection, after its request was read.
pub(super) struct Connection {
    pub(super) read: OwnedReadHalf,
    pub(super) write: OwnedWriteHalf,
}

impl Connection {
    /// Writes one line and closes. It does not wait for a caller that does not read.
    pub(super) async fn answer(mut self, reply: &impl Serialize) {
        let Ok(mut line) = serde_json::to_vec(reply) else { return };
        line.push(b'\n');
        let sent = async {
            self.write.write_all(&line).await?;
            self.write.shutdown().await
        };
        let _ = tokio::time::timeout(PATIENCE, sent).await;
    }
}

/// A socket that is being served. Dropping this ends it.
#[derive(Debug)]
pub(super) struct Server {
    task: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

impl Server {
    /// Accepts no more requests and lets the current ones finish, up to this time.
    pub(super) async fn finish(mut self, at_most: Duration) {
        self.stop.take();
        let _ = tokio::time::timeout(at_most, &mut self.task).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers on a socket. Each request goes to `handle`, in a task of its own.
pub(super) fn serve<F, R>(path: &Path, handle: F) -> Result<Server, SocketError>
where
    F: Fn(Result<Vec<u8>, NoLine>, Connection) -> R + Clone + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let listener = UnixListener::bind(path).map_err(SocketError::at(path))?;
    // No other user may enter its folder either; but its mode says so, too.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
        .map_err(SocketError::at(path))?;
    let (stop, stopped) = oneshot::channel();
    Ok(Server { task: tokio::spawn(accept(listener, handle, stopped)), stop: Some(stop) })
}

async fn accept<F, R>(listener: UnixListener, handle: F, mut stopped: oneshot::Receiver<()>)
where
    F: Fn(Result<Vec<u8>, NoLine>, Connection) -> R + Clone + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let free = Arc::new(Semaphore::new(AT_ONCE));
    let mut served = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stopped => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let handle = handle.clone();
                served.spawn(async move {
                    one(stream, handle).await;
                    drop(permit);
                });
            }
            // Out of file descriptors: others must close some first, and no event reports when.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        while served.try_join_next().is_some() {}
    }
    drop(listener);
    while served.join_next().await.is_some() {}
}

async fn one<F, R>(stream: UnixStream, handle: F)
where
    F: Fn(Result<Vec<u8>, NoLine>, Connection) -> R,
    R: Future<Output = ()>,
{
    let (mut read, write) = stream.into_split();
    let line = tokio::time::timeout(PATIENCE, read_line(&mut read)).await;
    match line.unwrap_or(Err(NoLine::TooLate)) {
        Err(NoLine::Gone) => {}
        line => handle(line, Connection { read, write }).await,
    }
}

/// Reads up to the first line break. Everything after it is ignored.
async fn read_line(from: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, NoLine> {
    let mut line = Vec::with_capacity(1024);
    loop {
        let before = line.len();
        let room = (MAX_LINE - before) as u64;
        match (&mut *from).take(room.min(64 * 1024)).read_buf(&mut line).await {
            Ok(0) if before == 0 => return Err(NoLine::Gone),
            Ok(0) => return Err(NoLine::Half),
            Ok(_) => {}
            Err(_) => return Err(NoLine::Gone),
        }
        if let Some(at) = line[before..].iter().position(|byte| *byte == b'\n') {
            line.truncate(before + at);
            return Ok(line);
        }
        if line.len() >= MAX_LINE {
            return Err(NoLine::TooLong);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_is_read_up_to_its_break_and_no_further_than_the_limit() {
        let read = async |bytes: &[u8]| read_line(&mut &*bytes).await;
        assert_eq!(read(b"abc\ndef").await, Ok(b"abc".to_vec()));
        assert_eq!(read(b"\n").await, Ok(vec![]));
        assert_eq!(read(b"").await, Err(NoLine::Gone));
        assert_eq!(read(b"abc").await, Err(NoLine::Half));
        let mut long = vec![b'x'; MAX_LINE - 1];
        long.push(b'\n');
        assert_eq!(read(&long).await.map(|line| line.len()), Ok(MAX_LINE - 1));
        long.insert(0, b'x');
        assert_eq!(read(&long).await, Err(NoLine::TooLong));
        assert_eq!(read(&vec![0xff; 3 * MAX_LINE]).await, Err(NoLine::TooLong));
    }
}

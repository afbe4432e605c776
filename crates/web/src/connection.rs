//! Connections. A client that sends its headers slowly, does not read its answers or opens many connections loses its own:
//! others are always let in.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, net};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::{Sleep, sleep};

use crate::routes::Known;

/// How many connections there are at most.
const MOST: usize = 200;
/// How long a client may take for the headers of a request, or stay idle between two.
const HEADERS: Duration = Duration::from_secs(10);
/// How long a client may read nothing while an answer waits.
const READS: Duration = Duration::from_secs(30);
/// How much of an answer, and of the headers of a request, is kept in memory.
const BUFFER: usize = 64 * 1024;
/// How many headers a request may have.
const MOST_HEADERS: usize = 100;

/// Answers connections until the process ends.
pub(crate) async fn answer(listener: net::TcpListener, router: Router) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_buf_size(BUFFER)
        .max_headers(MOST_HEADERS);
    let open = Open::default();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            // No more files may be open: some will be closed.
            Err(_) => {
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        if !open.has_room() {
            continue;
        }
        let _ = stream.set_nodelay(true);
        let known = Known::default();
        let routes = router.clone().layer(axum::Extension(known.clone()));
        let stream = TokioIo::new(Patient { stream, waits: None });
        let served = http.serve_connection(stream, TowerToHyperService::new(routes));
        let task = tokio::spawn(async move {
            let _ = served.await;
        });
        open.add(task.abort_handle(), known);
    }
}

/// The open connections, the oldest first.
#[derive(Default)]
struct Open(Mutex<VecDeque<(AbortHandle, Known)>>);

impl Open {
    /// Makes space for one more: the oldest that has shown no token goes.
    fn has_room(&self) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(task, _)| !task.is_finished());
        if all.len() < MOST {
            return true;
        }
        let stranger = all.iter().position(|(_, Known(known))| !known.load(Ordering::Relaxed));
        let gone = stranger.and_then(|at| all.remove(at));
        gone.inspect(|(task, _)| task.abort()).is_some()
    }

    fn add(&self, task: AbortHandle, known: Known) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back((task, known));
    }
}

/// A connection that ends when the client reads nothing for too long.
struct Patient {
    stream: TcpStream,
    /// Since something waits to be written.
    waits: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn or_too_slow<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(READS)));
        waits.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.or_too_slow(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
